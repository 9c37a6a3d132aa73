//! `lanai rpkg log`: the revisions of a package, and what was done to each.

use serde_json::{Value, json};

use super::ancestry::{Origin, origin};
use super::args::Log;
use super::server::{Server, lifecycle, name_of, number, text};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::output;
use crate::pkg::Format;
use crate::table;

pub(super) fn run(log: &Log, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let (repository, package) = if let Some((repository, package)) = log.package.split_once('/') {
        (repository.to_owned(), package.to_owned())
    } else {
        let object = server.get(&log.package, io)?;
        let spec = &object["spec"];
        (text(spec, "repository").to_owned(), text(spec, "packageName").to_owned())
    };
    let fields = [("spec.repository", repository.as_str()), ("spec.packageName", package.as_str())];
    let mut found = server.list(&fields, None, io)?;
    // A name without folders means packages of that name in all folders.
    found.retain(|object| text(&object["spec"], "packageName") == package);
    if found.is_empty() {
        return Err(Failure::of(
            Code::NotFound,
            format!("there is no package \"{package}\" in the repository \"{repository}\""),
        ));
    }
    // Drafts are the newest, what stands on the branch is a copy of the last.
    found.sort_by_key(|object| match number(object) {
        0 => (i64::MIN, text(&object["metadata"], "creationTimestamp").to_owned()),
        number => (-number, String::new()),
    });
    let entries: Vec<Value> = found.iter().map(entry).collect();
    let shown = match log.output {
        Format::Table => {
            let row = |entry: &Value| {
                let fields = ["revision", "workspace", "lifecycle", "at", "by", "made", "name"];
                fields.iter().map(|field| text(entry, field).to_owned()).collect()
            };
            let header = ["REVISION", "WORKSPACE", "LIFECYCLE", "AT", "BY", "MADE", "NAME"];
            table::text(&header, entries.iter().map(row).collect())
        }
        Format::Yaml => output::yaml(&json!(entries))?,
        Format::Json => output::json(&json!(entries)) + "\n",
    };
    io.print(&shown)?;
    Ok(Exit::Success)
}

fn entry(object: &Value) -> Value {
    let status = &object["status"];
    let published = status["publishTimestamp"].as_str().or_else(|| status["publishedAt"].as_str());
    let revision = match number(object) {
        0 => "-".to_owned(),
        -1 => "branch".to_owned(),
        number => format!("v{number}"),
    };
    let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    json!({
        "revision": revision,
        "workspace": text(&object["spec"], "workspaceName"),
        "lifecycle": lifecycle(object),
        "at": dash(published.unwrap_or_else(|| text(&object["metadata"], "creationTimestamp"))),
        "by": dash(text(status, "publishedBy")),
        "made": made(object),
        "name": name_of(object),
    })
}

/// How a revision was made, and how often its content was changed then.
fn made(object: &Value) -> String {
    let how = match origin(object) {
        Origin::Nothing => {
            let tasks = object["spec"]["tasks"].as_array();
            let is_new = tasks.into_iter().flatten().any(|task| text(task, "type") == "init");
            if is_new { "new".to_owned() } else { "elsewhere".to_owned() }
        }
        Origin::Copy(name) => format!("copy of {name}"),
        Origin::Clone(name) => format!("clone of {name}"),
        Origin::Git(lock) => format!("clone of {}.git/{}@{}", lock.repo, lock.directory, lock.reference),
        Origin::Upgrade { local, new, .. } => format!("upgrade of {local} to {new}"),
    };
    let tasks = object["spec"]["tasks"].as_array();
    match tasks.into_iter().flatten().filter(|task| text(task, "type") == "render").count() {
        0 => how,
        1 => format!("{how}, changed once"),
        times => format!("{how}, changed {times} times"),
    }
}
