//! `lanai rpkg upgrade --discover`: what could be upgraded.

use serde_json::Value;

use super::ancestry::Revisions;
use super::args::Upgrade;
use super::server::{Server, name_of, number, text};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::table;

pub(super) fn run(upgrade: &Upgrade, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let all = Revisions::load(server, io)?;
    let chosen: Vec<&Value> = match &upgrade.source {
        Some(name) => {
            let found = all.by_name.get(name);
            vec![found.ok_or_else(|| {
                Failure::of(Code::NotFound, format!("could not find package revision {name}"))
            })?]
        }
        None => all.by_name.values().collect(),
    };
    let text = match upgrade.discover.as_str() {
        "upstream" => upstream(&all, &chosen),
        "downstream" => downstream(&all, &chosen),
        _ => {
            return Err(Failure::of(
                Code::Usage,
                "argument for 'discover' must be one of 'upstream' or 'downstream'",
            ));
        }
    };
    io.print(&text)?;
    Ok(Exit::Success)
}

/// For each revision, the newer ones of its upstream.
fn upstream(all: &Revisions, chosen: &[&Value]) -> String {
    let row = |object: &&Value| {
        let upstream = all.upstream(object);
        let repository = upstream.map(|upstream| text(&upstream["spec"], "repository")).unwrap_or_default();
        let newer: Vec<String> = upstream
            .into_iter()
            .flat_map(|upstream| {
                all.siblings(upstream).into_iter().filter(move |other| number(other) > number(upstream))
            })
            .map(|newer| format!("v{}", number(newer)))
            .collect();
        let newer = if newer.is_empty() { "No update available".to_owned() } else { newer.join(", ") };
        vec![name_of(object).to_owned(), repository.to_owned(), newer]
    };
    table::text(
        &["PACKAGE REVISION", "UPSTREAM REPOSITORY", "UPSTREAM UPDATES"],
        chosen.iter().map(row).collect(),
    )
}

/// For each upstream, the revisions that were made of an older one.
fn downstream(all: &Revisions, chosen: &[&Value]) -> String {
    let mut rows = Vec::new();
    for object in all.by_name.values().filter(|object| number(object) >= 0) {
        let Some(upstream) = all.upstream(object) else { continue };
        let siblings = all.siblings(upstream);
        let is_chosen = chosen.len() == all.by_name.len()
            || chosen.iter().any(|chosen| siblings.iter().any(|sibling| name_of(sibling) == name_of(chosen)));
        let Some(newest) = siblings.last().filter(|newest| is_chosen && number(newest) > number(upstream))
        else {
            continue;
        };
        let update = format!("v{}->v{}", number(upstream), number(newest));
        rows.push(vec![name_of(newest).to_owned(), name_of(object).to_owned(), update]);
    }
    if rows.is_empty() {
        return "All downstream packages are up to date.\n".into();
    }
    rows.sort();
    table::text(&["PACKAGE REVISION", "DOWNSTREAM PACKAGE", "DOWNSTREAM UPDATE"], rows)
}
