//! The arrows between the crates point the way that `ARCHITECTURE.md` draws them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository::{read, root};

/// Each crate and the crates that it may depend on; what those may depend on is allowed to it as well.
/// The same table, with a line about each crate, stands in `ARCHITECTURE.md`.
const ARROWS: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("heap", &[]),
    ("yaml", &["types"]),
    ("krm", &["yaml"]),
    ("openapi", &[]),
    ("cel", &[]),
    ("merge", &["krm", "openapi"]),
    ("folder", &["types", "krm"]),
    ("functions", &["krm"]),
    ("schema", &["functions", "openapi"]),
    ("starlark", &["functions"]),
    ("gatekeeper", &["functions", "schema"]),
    ("catalog", &["types"]),
    ("evaluate", &["krm"]),
    ("wasm", &["evaluate"]),
    ("runner", &["evaluate", "functions", "schema", "starlark", "gatekeeper", "wasm", "catalog", "process"]),
    ("remote", &["evaluate", "process"]),
    ("render", &["krm", "evaluate", "cel"]),
    ("process", &["types"]),
    ("store", &["types"]),
    ("repository", &["types", "krm", "process"]),
    ("api", &["types", "krm", "openapi", "cel"]),
    ("apply", &["api"]),
    ("engine", &["merge", "render", "repository", "store", "api"]),
    ("runtimes", &["engine", "runner", "remote"]),
    ("executor", &["api", "catalog", "runner"]),
    ("controllers", &["api", "engine"]),
    ("apiserver", &["api", "apply", "store", "engine"]),
    ("serve", &["apiserver", "controllers"]),
    ("web", &["api", "engine"]),
    ("demo", &["repository"]),
    ("cli", &["engine", "executor", "folder", "remote", "demo"]),
    ("lanai", &["cli", "serve", "runtimes", "web", "heap"]),
    ("testkit", &["functions"]),
];

/// A crate's name and the crates of ours that it names as normal or build dependencies.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn the_crates_keep_to_the_arrows() {
    let graph: Graph = crate_folders()
        .iter()
        .map(|folder| {
            let manifest = read(&folder.join("Cargo.toml"));
            let name = folder_name(folder);
            assert!(
                manifest.contains(&format!("name = \"{}\"\n", package(&name))),
                "the folder crates/{name} holds the package \"{}\"",
                package(&name)
            );
            (name, dependencies(&manifest))
        })
        .collect();
    assert!(graph.contains_key("lanai"), "the crates were found");
    let wrong = check(&graph);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_crate_stands_in_the_architecture() {
    let document = read(&root().join("ARCHITECTURE.md"));
    let described = ARROWS.iter().map(|(name, _)| (*name).to_owned());
    let there = crate_folders().into_iter().map(|folder| folder_name(&folder));
    let missing: BTreeSet<_> =
        described.chain(there).filter(|name| !document.contains(&format!("| `{name}` |"))).collect();
    assert!(missing.is_empty(), "add to the table of ARCHITECTURE.md: {missing:?}");
}

/// A workspace dependency under another name would hide an arrow.
#[test]
fn no_crate_of_ours_has_a_second_name() {
    let manifest = read(&root().join("Cargo.toml"));
    for line in manifest.lines() {
        let Some((_, path)) = line.split_once("path = \"crates/") else { continue };
        let folder = path.split('"').next().expect("splitting yields at least one part");
        let key = line.split('=').next().expect("splitting yields at least one part").trim();
        assert_eq!(key, package(folder), "in the workspace's Cargo.toml: {line}");
    }
}

#[test]
fn every_arrow_of_the_table_leads_to_a_crate_of_the_table_and_none_leads_back() {
    for (name, direct) in ARROWS {
        for target in *direct {
            assert!(ARROWS.iter().any(|(other, _)| other == target), "{name} -> {target}");
        }
        assert!(!reachable(direct).contains(name), "{name} leads back to itself");
    }
}

#[test]
fn what_the_table_implies_is_allowed() {
    assert_eq!(
        check(&graph(&[("krm", &["yaml", "types"]), ("cli", &["yaml", "merge", "process"])])),
        [""; 0]
    );
}

#[test]
fn a_turned_arrow_is_refused() {
    assert_eq!(
        check(&graph(&[("yaml", &["types", "krm"]), ("krm", &["yaml"])])),
        ["crate \"yaml\" must not depend on \"krm\": the arrow points the other way"]
    );
}

#[test]
fn an_arrow_that_is_not_drawn_is_refused() {
    assert_eq!(
        check(&graph(&[("cli", &["web"]), ("merge", &["store"])])),
        [
            "crate \"cli\" must not depend on \"web\": ARCHITECTURE.md draws no such arrow",
            "crate \"merge\" must not depend on \"store\": ARCHITECTURE.md draws no such arrow",
        ]
    );
}

#[test]
fn the_test_kit_is_for_tests_only() {
    assert_eq!(
        check(&graph(&[("lanai", &["testkit"])])),
        ["crate \"lanai\" must not depend on \"testkit\" outside `dev-dependencies`"]
    );
}

#[test]
fn an_unknown_crate_is_refused() {
    assert_eq!(
        check(&graph(&[("novelty", &[])])),
        ["crate \"novelty\" is new: add it to the table of ARCHITECTURE.md and to the one in this test"]
    );
}

#[test]
fn dependencies_are_found_however_they_are_written() {
    let manifest = r#"
[package]
name = "lanai-krm"

[dependencies]
lanai-yaml.workspace = true # not lanai-store
lanai-types = { workspace = true }
other = { package = "lanai-merge", path = "../merge" }
serde.workspace = true

[target.'cfg(target_os = "linux")'.dependencies]
lanai-process.workspace = true

[build-dependencies.lanai-functions]
workspace = true

[dev-dependencies]
lanai-testkit.workspace = true

[dev-dependencies.lanai-cli]
workspace = true

[lints]
workspace = true
"#;
    let found = dependencies(manifest);
    assert_eq!(found, ["functions", "merge", "process", "types", "yaml"].map(String::from).into());
    assert_eq!(dependencies("dependencies.lanai-api.workspace = true\n"), [String::from("api")].into());
}

/// Everything that is wrong with a graph, a line each, in the order of the crates.
fn check(graph: &Graph) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, depends_on) in graph {
        let Some((_, direct)) = ARROWS.iter().find(|(known, _)| known == name) else {
            wrong.push(format!(
                "crate \"{name}\" is new: add it to the table of ARCHITECTURE.md and to the one in this test"
            ));
            continue;
        };
        let allowed = reachable(direct);
        for target in depends_on.iter().filter(|target| !allowed.contains(target.as_str())) {
            wrong.push(refusal(name, target));
        }
    }
    wrong
}

fn refusal(name: &str, target: &str) -> String {
    if target == "testkit" {
        return format!("crate \"{name}\" must not depend on \"testkit\" outside `dev-dependencies`");
    }
    let turned = ARROWS.iter().any(|(known, direct)| *known == target && reachable(direct).contains(name));
    let why = if turned { "the arrow points the other way" } else { "ARCHITECTURE.md draws no such arrow" };
    format!("crate \"{name}\" must not depend on \"{target}\": {why}")
}

/// The crates at the end of these arrows, and of theirs.
fn reachable(direct: &[&'static str]) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut open = direct.to_vec();
    while let Some(name) = open.pop() {
        if found.insert(name) {
            open.extend(ARROWS.iter().filter(|(known, _)| *known == name).flat_map(|(_, further)| *further));
        }
    }
    found
}

/// The crates of ours that a manifest names in its normal and build dependencies, for any target.
///
/// Reads lines, not TOML: every word of such a section that is a name of ours counts, so it can find too much (a feature of
/// that name) but a rename hides nothing.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut in_section = false;
    for line in manifest.lines() {
        let line = line.split('#').next().expect("splitting yields at least one part").trim();
        let header = line.strip_prefix('[');
        if let Some(header) = header {
            in_section = names_dependencies(header.trim_end_matches(']'));
        }
        let key = line.split('=').next().expect("splitting yields at least one part");
        if in_section || (header.is_none() && names_dependencies(key)) {
            let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
            found.extend(words.filter_map(crate_name).map(String::from));
        }
    }
    found
}

fn names_dependencies(key: &str) -> bool {
    key.split('.').any(|part| matches!(part.trim(), "dependencies" | "build-dependencies"))
}

/// The name of a crate of ours as the table has it, from its name as a package.
fn crate_name(package: &str) -> Option<&str> {
    if package == "lanai" { Some(package) } else { package.strip_prefix("lanai-") }
}

fn package(name: &str) -> String {
    if name == "lanai" { name.to_owned() } else { format!("lanai-{name}") }
}

fn graph(crates: &[(&str, &[&str])]) -> Graph {
    crates
        .iter()
        .map(|(name, targets)| {
            ((*name).to_owned(), targets.iter().map(|&target| target.to_owned()).collect())
        })
        .collect()
}

fn crate_folders() -> Vec<PathBuf> {
    let crates = root().join("crates");
    let entries = fs::read_dir(&crates).expect("the workspace has a folder of crates");
    let paths = entries.map(|entry| entry.expect("the folder of crates can be read").path());
    paths.filter(|path| path.join("Cargo.toml").is_file()).collect()
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().expect("a crate's folder has a name").to_string_lossy().into_owned()
}
