//! The values are those that kpt gives, but for the rows of the table in `docs/upgrades.md`.
//!
//! Answers of kpt are kept in `kpt/answers.txt`. `scripts/oracle-merge.sh` asks it again.

mod ask;
mod cases;
mod files;
mod rows;
mod variants;

use std::collections::{BTreeMap, BTreeSet};

use lanai_krm::package::{OtherYaml, ReadOptions};
use lanai_krm::{Package, Resource};
use lanai_merge::{Options, three_way};

use cases::{Case, cases};
use files::{Answer, Kept};

const ANSWERS: &str = include_str!("kpt/answers.txt");
const PAGE: &str = include_str!("../../../../docs/upgrades.md");

/// What a package means, the marks of a merge, what its Kptfile says about its origin, and a Kptfile that kpt made aside.
fn meaning(package: &Package) -> BTreeMap<String, String> {
    let options = ReadOptions { other_yaml: OtherYaml::Included, ..ReadOptions::default() };
    let mut all = BTreeMap::new();
    for found in package.resources(options).unwrap() {
        let mut resource = found.resource;
        resource.remove_annotation("internal.kpt.dev/upstream-identifier").unwrap();
        let is_root = found.path.as_str() == "Kptfile";
        for key in ["upstream", "upstreamLock"].into_iter().filter(|_| is_root) {
            resource.edit(|document| document.root_mut().remove(key).map(|_| ())).unwrap();
        }
        let name = if is_root { String::new() } else { resource.name().unwrap_or_default().into_owned() };
        all.insert(format!("{} {name}", found.path), sorted(&resource));
    }
    for (path, file) in package.iter() {
        if !lanai_krm::package::is_resource_name(path.file_name()) {
            all.insert(path.to_string(), String::from_utf8_lossy(file.content()).into_owned());
        }
    }
    all.retain(|name, value| name != "Kptfile " || !value.ends_with("\"metadata\":{\"name\":\"local\"}}"));
    all
}

/// The resource as JSON with sorted keys.
fn sorted(resource: &Resource) -> String {
    let value: serde_json::Value = resource.root().deserialize().unwrap();
    sort(value).to_string()
}

fn sort(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => {
            let sorted: BTreeMap<String, serde_json::Value> =
                map.into_iter().map(|(key, value)| (key, sort(value))).collect();
            serde_json::Value::Object(sorted.into_iter().collect())
        }
        serde_json::Value::Array(items) => serde_json::Value::Array(items.into_iter().map(sort).collect()),
        other => other,
    }
}

/// Whether ours means what kpt's does, and both.
fn compare(case: &Case, answer: &Answer) -> Result<(), String> {
    let [original, upstream, local] = case.sides.each_ref().map(files::Files::package);
    let options = Options { strategy: case.strategy.parse().unwrap(), ..Options::default() };
    let ours = three_way(&original, &upstream, &local, &options);
    match (ours, answer) {
        (Ok(ours), Answer::Files(files)) => {
            let (ours, theirs) = (meaning(&ours.package), meaning(&files.package()));
            if ours == theirs { Ok(()) } else { Err(format!("ours: {ours:#?}\nkpt's: {theirs:#?}")) }
        }
        (Ok(_), Answer::Stopped(why)) => Err(format!("kpt stops: {why}")),
        (Err(error), Answer::Files(_)) => Err(format!("we stop: {error}")),
        (Err(_), Answer::Stopped(_)) => Ok(()),
    }
}

#[test]
fn values_are_those_of_kpt() {
    let answers = files::read(ANSWERS);
    let mut wrong = Vec::new();
    for case in cases() {
        let Some(answer) = answers.get(case.name) else {
            wrong.push(format!("{}: there is no answer", case.name));
            continue;
        };
        let Kept { digest, answer } = answer;
        if *digest != case.digest() {
            wrong
                .push(format!("{}: the case has changed; scripts/oracle-merge.sh asks kpt again", case.name));
            continue;
        }
        match (compare(&case, answer), case.row) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some(row)) => {
                wrong.push(format!("{}: no difference, though {row:?} says so", case.name));
            }
            (Err(difference), None) => wrong.push(format!("{}: {difference}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Each row has a case that shows it, and each case that differs has a row.
#[test]
fn differences_are_in_the_table() {
    let (_, table) = PAGE.split_once("## What kpt does otherwise\n").expect("the page has the table");
    let rows: BTreeSet<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next())
        .filter(|row| *row != "case")
        .collect();
    let cases = cases();
    let by_value = cases.iter().filter_map(|case| case.row);
    let shown: BTreeSet<&str> = by_value.chain(rows::SHOWN.iter().map(|one| one.row)).collect();
    assert_eq!(rows.difference(&shown).collect::<Vec<_>>(), Vec::<&&str>::new(), "rows without a case");
    assert_eq!(shown.difference(&rows).collect::<Vec<_>>(), Vec::<&&str>::new(), "cases without a row");
    assert!(cases.len() >= 90);
}
