//! Every dependency is chosen: `docs/dependencies.md` says why.

use std::collections::BTreeSet;

use crate::repository::{read, root};

#[test]
fn every_dependency_has_a_reason() {
    let used = declared(&read(&root().join("Cargo.toml")));
    let explained = explained(&read(&root().join("docs/dependencies.md")));
    assert!(used.contains("serde"), "the dependencies were found: {used:?}");
    let missing: Vec<_> = used.difference(&explained).collect();
    assert!(missing.is_empty(), "add to docs/dependencies.md, with a reason: {missing:?}");
    let gone: Vec<_> = explained.difference(&used).collect();
    assert!(gone.is_empty(), "take out of docs/dependencies.md: {gone:?}");
}

#[test]
fn what_is_declared_is_found() {
    let manifest = "[workspace.dependencies]\nlanai-yaml = { path = \"crates/yaml\" }\n\nclap = { version = \"4\" }\n\
                    # why\nmemchr = \"2\"\n\n[profile.dev]\ndebug = false\n";
    assert_eq!(declared(manifest), ["clap", "memchr"].map(String::from).into());
}

#[test]
fn what_is_explained_is_found() {
    let page = "## In the binary\n\n| crate | why |\n|---|---|\n| clap | arguments |\n\n## Tools\n\n| Go | oracle |\n";
    assert_eq!(explained(page), [String::from("clap")].into());
}

/// The crates of others that the workspace's manifest declares, one a line.
fn declared(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| *line != "[workspace.dependencies]").skip(1);
    let entries = section.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    let names = entries.filter_map(|line| line.split_once('=')).map(|(name, _)| name.trim());
    names.filter(|name| !name.starts_with("lanai-")).map(String::from).collect()
}

/// The crates in the tables of the page, up to the tools.
fn explained(page: &str) -> BTreeSet<String> {
    let rows = page.lines().take_while(|line| *line != "## Tools").filter_map(|line| line.strip_prefix("| "));
    let names = rows.filter_map(|row| row.split(" |").next()).filter(|name| *name != "crate");
    names.map(String::from).collect()
}
