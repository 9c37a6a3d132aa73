//! Codes of errors: each has a page, each page a code, and people who called the program by its own name see them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use crate::demo::program;
use crate::repository::{read, root};

/// What stands before the code.
const MARK: &str = "more: lanai explain ";

/// A text without the lines that name codes, for tests that are about the words.
pub(crate) fn without_code(text: &str) -> String {
    if !text.contains(MARK) {
        return text.to_owned();
    }
    text.split_inclusive('\n').filter(|line| !line.starts_with(MARK)).collect()
}

fn lanai(arguments: &[&str]) -> Output {
    program(env!("CARGO_BIN_EXE_lanai")).args(arguments).output().expect("it runs")
}

fn printed(arguments: &[&str]) -> String {
    let output = lanai(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

#[test]
fn each_code_has_a_page_and_each_page_a_code() {
    let folder = root().join("docs/errors");
    let index = printed(&["explain"]);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(folder.join("README.md"), &index).expect("the page can be written");
    }
    assert_eq!(read(&folder.join("README.md")), index, "docs/errors/README.md; UPDATE=1 writes it");
    let rows = index.lines().filter_map(|line| line.strip_prefix("| ["));
    let codes: BTreeSet<String> = rows.filter_map(|row| Some(row.split_once(']')?.0.to_owned())).collect();
    let files = std::fs::read_dir(&folder).expect("a folder");
    let pages: BTreeSet<String> = files
        .filter_map(|file| {
            Some(file.expect("an entry").file_name().to_str()?.strip_suffix(".md")?.to_owned())
        })
        .filter(|page| page != "README")
        .collect();
    assert_eq!(codes, pages);
    for code in &codes {
        let page = printed(&["explain", code]);
        assert_eq!(page, read(&folder.join(format!("{code}.md"))));
        for link in page.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            assert!(folder.join(link).exists(), "{code} leads to {link}");
        }
    }
    let output = lanai(&["explain", "LNA9999"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no error \"LNA9999\"\nhint: "));
}

/// Runs a command that fails, in a folder with some files.
fn failing(name: &str, arguments: &[&str]) -> String {
    let desk = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = desk.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    };
    write("bad.yaml", "a: [\n");
    write("good.yaml", "a: 1\n");
    let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n";
    write("web/Kptfile", head);
    write("odd/Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  nam: web\n");
    write("unknown/Kptfile", &format!("{head}pipeline:\n  mutators:\n  - image: example.com/nothing:v1\n"));
    let fails = "  validators:\n  - image: starlark:v0.5\n    configPath: fail.yaml\n";
    write("fails/Kptfile", &format!("{head}pipeline:\n{fails}"));
    let script = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: no\nsource: |\n  fail('never')\n";
    write("fails/fail.yaml", script);
    let link = desk.path().join(name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lanai"), &link).expect("it is new");
    let output = program(Path::new(&link))
        .args(arguments)
        .current_dir(desk.path())
        .env_clear()
        .env("HOME", desk.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        // What this machine could run in containers must not make a difference.
        .env("KRM_FN_RUNTIME", "none")
        .output()
        .expect("it runs");
    assert_ne!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_code_of_an_error_is_that_of_its_cause() {
    let check = |arguments: &[&str], code: &str| {
        let told = failing("lanai", arguments);
        assert!(told.ends_with(&format!("\n{MARK}{code}\n")), "{arguments:?}: {code}\n{told}");
        assert_eq!(told.matches(MARK).count(), 1, "once: {told}");
    };
    check(&["yaml", "get"], "LNA1001");
    check(&["yaml", "get", "none.yaml", "a"], "LNA1101");
    check(&["yaml", "get", "bad.yaml", "a"], "LNA1103");
    check(&["yaml", "get", "good.yaml", "b"], "LNA1104");
    check(&["pkg", "diff", "none"], "LNA1101");
    check(&["pkg", "diff", "."], "LNA1201");
    check(&["pkg", "diff", "web"], "LNA1203");
    check(&["pkg", "update", "odd"], "LNA1202");
    check(&["pkg", "get", "a@b@c"], "LNA1206");
    check(&["pkg", "get", "/nowhere/repo.git/new@v1"], "LNA1403");
    check(&["pkg", "get", "http://127.0.0.1:9/repo.git/new@v1"], "LNA1401");
    check(&["fn", "render", "unknown"], "LNA1302");
    check(&["fn", "render", "fails"], "LNA1301");
    check(&["fn", "eval", "web", "--image", "https://x"], "LNA1303");
    check(&["fn", "render", "web", "-o", "web"], "LNA1102");
    check(&["rpkg", "get"], "LNA1501");
    check(&["rpkg", "get", "--server", "http://127.0.0.1:9"], "LNA1502");
    check(&["live", "apply"], "LNA1701");
    check(&["store", "verify", "nothing"], "LNA1601");
}

#[test]
fn the_version_is_asked_for_as_with_kpt() {
    assert_eq!(printed(&["version"]), format!("{}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn other_names_have_no_codes() {
    for (name, arguments) in [
        ("kpt", ["fn", "render", "unknown"].as_slice()),
        ("kpt", &["fn", "render", "fails"]),
        ("kpt", &["pkg", "diff", "none"]),
        ("kpt", &["live", "apply"]),
        ("kpt", &["nothing"]),
        ("porchctl", &["rpkg", "get"]),
        ("porchctl", &["nothing"]),
    ] {
        let told = failing(name, arguments);
        assert!(!told.contains("LNA"), "{name} {arguments:?}: {told}");
    }
}
