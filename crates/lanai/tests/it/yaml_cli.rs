//! `lanai yaml`, as people run it: the real binary, in a folder of its own.

mod pages;
mod told;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::errors::without_code;
use crate::repository::{read, root};

const IMAGE: &str = "spec.template.spec.containers[name=app].image";

/// A folder with files, in which commands run.
struct Folder {
    place: TempDir,
}

/// What a command left behind.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().expect("a temporary folder can be made");
        for (name, text) in files {
            fs::write(place.path().join(name), text).expect("a file can be written there");
        }
        Self { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        read(&self.path(name))
    }

    /// Runs `lanai yaml` with a text as standard input, and nothing in the environment but what is given. Codes of errors are left
    /// out: a test of their own looks at them.
    fn run(&self, arguments: &[&str], input: &str, environment: &[(&str, &str)]) -> Seen {
        let seen = self.run_whole(arguments, input, environment);
        Seen { stderr: without_code(&seen.stderr), ..seen }
    }

    #[allow(clippy::disallowed_methods, reason = "this is the test that runs the binary")]
    fn run_whole(&self, arguments: &[&str], input: &str, environment: &[(&str, &str)]) -> Seen {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
            .arg("yaml")
            .args(arguments)
            .current_dir(self.place.path())
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built");
        // A command that does not read its input may be gone already.
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("the command ends");
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Seen { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    #[track_caller]
    fn check(&self, arguments: &[&str], code: i32, stdout: &str, stderr: &str) {
        let seen = self.run(arguments, "", &[]);
        let expected = Seen { code: Some(code), stdout: stdout.into(), stderr: stderr.into() };
        assert_eq!(seen, expected, "{arguments:?}");
    }

    /// The names of all files, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.place.path()).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into())
            .collect();
        names.sort();
        names
    }
}

/// Runs `lanai yaml set f.yaml` on a text and compares the file with `after`; nothing may be printed.
#[track_caller]
fn check_set(before: &str, arguments: &[&str], after: &str) {
    let folder = Folder::with(&[("f.yaml", before)]);
    folder.check(&[&["set", "f.yaml"], arguments].concat(), 0, "", "");
    assert_eq!(folder.text("f.yaml"), after, "{arguments:?}");
    assert_eq!(folder.names(), ["f.yaml"], "nothing else is left in the folder");
}

/// Runs a command that must fail, and leave the file as it is.
#[track_caller]
fn check_failure(text: &str, arguments: &[&str], code: i32, stderr: &str) {
    let folder = Folder::with(&[("f.yaml", text)]);
    folder.check(arguments, code, "", stderr);
    assert_eq!(folder.text("f.yaml"), text, "{arguments:?}");
    assert_eq!(folder.names(), ["f.yaml"], "nothing else is left in the folder");
}

fn demo() -> Folder {
    Folder::with(&[("deployment.yaml", &read(&root().join("demo/deployment.yaml")))])
}

#[test]
fn values_are_printed() {
    let folder = demo();
    let check = |path: &str, expected: &str| folder.check(&["get", "deployment.yaml", path], 0, expected, "");
    check(IMAGE, "registry.example.com/shop:v1.4.2\n");
    check("metadata.annotations[\"example.com/reviewed\"]", "yes\n");
    check("metadata.annotations.example\\.com/notes", "folded text, with a # that is not a comment\n");
    check("spec.template.spec.containers[-1].name", "logs\n");
    check("spec.template.spec.containers[0].env[0].value", "it's open\n");
    check("metadata.labels", "{app: shop,  tier: 'front'}\n");
    check(
        "spec.template.spec.containers",
        "\
# The one that serves.
- name: app
  image: registry.example.com/shop:v1.4.2   # pinned; see the runbook
  env:
      - name: GREETING
        value: 'it''s open'
      - {name: WORKERS, value: \"08\"}

# Ships the logs.
- image: \"registry.example.com/logs:2\"
  name: logs
",
    );
    check(".", &folder.text("deployment.yaml"));
}

#[test]
fn values_are_printed_as_yaml_and_json() {
    let text = "a: &x {n: 1, s: \"08\", f: 1.5, t: true, e: }\nb:\n- *x\n- <<: *x\n  n: 2\n";
    let folder = Folder::with(&[("f.yaml", text)]);
    folder.check(&["get", "f.yaml", "a.s", "-o", "yaml"], 0, "\"08\"\n", "");
    folder.check(&["get", "f.yaml", "a.s", "-o", "json"], 0, "\"08\"\n", "");
    folder.check(&["get", "f.yaml", "b[1].s"], 0, "08\n", "");
    folder.check(&["get", "f.yaml", "b", "--output=yaml"], 0, "- *x\n- <<: *x\n  n: 2\n", "");
    let json: &str = "{\n  \"n\": 1,\n  \"s\": \"08\",\n  \"f\": 1.5,\n  \"t\": true,\n  \"e\": null\n}\n";
    folder.check(&["get", "f.yaml", "b[0]", "-o", "json"], 0, json, "");
    let seen = folder.run(&["get", "f.yaml", "b[1]", "-o", "json"], "", &[]);
    assert!(seen.stdout.contains("\"n\": 2") && seen.stdout.contains("\"t\": true"), "{seen:?}");
}

#[test]
fn numbers_keep_their_digits_in_json() {
    let text = "big: 12345678901234567890123\nsmall: 1.50\nhex: 0x1f\nold: 012\nl: [1e3, {a: -0.10}]\nno: []\nno2: {}\n";
    let folder = Folder::with(&[("f.yaml", text), ("inf.yaml", "a: 1\nb: [1, -.inf]\nc: .NaN\n")]);
    let json = "{\n  \"big\": 12345678901234567890123,\n  \"small\": 1.50,\n  \"hex\": 31,\n  \"old\": 10,\n  \"l\": [\n    1e3,\n    \
                {\n      \"a\": -0.10\n    }\n  ],\n  \"no\": [],\n  \"no2\": {}\n}\n";
    folder.check(&["get", "f.yaml", ".", "-o", "json"], 0, json, "");
    let refused = |path: &str, number: &str, line: usize| {
        let why = format!("error: inf.yaml: line {line}: JSON has no word for the number \"{number}\"\n");
        folder.check(&["get", "inf.yaml", path, "-o", "json"], 1, "", &why);
    };
    refused(".", "-.inf", 2);
    refused("c", ".NaN", 3);
    folder.check(&["get", "inf.yaml", "a", "-o", "json"], 0, "1\n", "");
}

#[test]
fn an_alias_is_printed_as_what_it_stands_for() {
    let folder = Folder::with(&[("f.yaml", "a: &x \"08\"\nb: *x\nc: &m\n  d: *x\ne: *m\n")]);
    folder.check(&["get", "f.yaml", "b", "-o", "yaml"], 0, "\"08\"\n", "");
    folder.check(&["get", "f.yaml", "a", "-o", "yaml"], 0, "&x \"08\"\n", "");
    folder.check(&["get", "f.yaml", "e"], 0, "d: *x\n", "");
}

#[test]
fn a_value_and_its_comment_take_the_place_of_one_beside_a_dash_or_an_anchor() {
    check_set("- # first step\n  name: a\n", &["[0]", "8", "--comment", "NEW"], "- 8 # NEW\n");
    check_set("x: &a # top\n  7 # la\n", &["x", "8", "--comment", "NEW"], "x: &a\n  8 # NEW\n");
    check_set("x: &a # top\ny: 1\n", &["x", "8", "--comment", "NEW"], "x: &a 8 # NEW\ny: 1\n");
}

#[test]
fn a_key_that_stands_twice_on_the_way_is_noted() {
    let folder = Folder::with(&[("f.yaml", "a:\n  x: 1\n\na:\n  z: 2\n")]);
    let note = "note: the key \"a\" stands more than once in a mapping; the first one was meant\n";
    folder.check(&["set", "f.yaml", "a.z", "3"], 0, "", note);
    assert_eq!(folder.text("f.yaml"), "a:\n  x: 1\n  z: 3\n\na:\n  z: 2\n");
}

#[test]
fn standard_input_is_read_and_edited_into_standard_output() {
    let folder = Folder::with(&[]);
    let check = |arguments: &[&str], input: &str, expected: &str| {
        let seen = folder.run(arguments, input, &[]);
        assert_eq!(
            seen,
            Seen { code: Some(0), stdout: expected.into(), stderr: String::new() },
            "{arguments:?}"
        );
    };
    check(&["get", "-", "a.b"], "a: {b: 1}\n", "1\n");
    check(&["set", "-", "a.b", "2"], "a: {b: 1}   # c\n", "a: {b: 2}   # c\n");
    check(
        &["set", "-", "a", "2", "--diff"],
        "a: 1\n",
        "--- standard input\n+++ standard input\n@@ -1 +1 @@\n-a: 1\n+a: 2\n",
    );
    check(&["set", "-", "a", "2", "--dry-run"], "a: 1\n", "");
    check(&["set", "-", "a", "--delete"], "a: 1\nb: 2\n", "b: 2\n");
    check(&["fmt", "-"], "a:   1\n", "a: 1\n");
}

#[test]
fn values_are_set_and_nothing_else_changes() {
    check_set("a: 1 # one\nb:   'x'\n", &["a", "2"], "a: 2 # one\nb:   'x'\n");
    check_set("a: 1\n", &["a", "-1"], "a: -1\n");
    check_set("a: 1\n", &["a", "true"], "a: true\n");
    check_set("a: x\n", &["a", "true", "--string"], "a: \"true\"\n");
    check_set("a: x\n", &["a", "\"3\""], "a: \"3\"\n");
    check_set("a: x\n", &["a", "{b: 1}"], "a: {b: 1}\n");
    check_set("a: x\n", &["a", "[1, 2]"], "a: [1, 2]\n");
    check_set("a: 1\n", &["b.c.d", "x"], "a: 1\nb:\n  c:\n    d: x\n");
    check_set(
        "a:\n- n: x\n  v: 1\n- n: y\n  v: 2\n",
        &["a[n=y].v", "3"],
        "a:\n- n: x\n  v: 1\n- n: y\n  v: 3\n",
    );
    check_set("a: 1\n", &["a", "2", "--comment", "why"], "a: 2 # why\n");
    check_set("a: [x]\n", &["a[0]", "--", "-y"], "a: [-y]\n");
    check_set("", &["a", "1"], "a: 1\n");
}

#[test]
fn items_are_appended_and_entries_deleted() {
    check_set("a:\n- x\n\nb: 1\n", &["a[]", "z"], "a:\n- x\n- z\n\nb: 1\n");
    check_set("a: [x]\n", &["a[+]", "z"], "a: [x, z]\n");
    check_set("a:\n- x\n", &["a[]", "z", "--comment", "# new"], "a:\n- x\n- z # new\n");
    check_set("a: 1\n# of b\nb: 2\nc: 3\n", &["b", "--delete"], "a: 1\nc: 3\n");
    check_set("a:\n- x\n- y\n", &["a[0]", "--delete"], "a:\n- y\n");
}

#[test]
fn a_dry_run_shows_and_changes_nothing() {
    let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
    let diff = "--- f.yaml\n+++ f.yaml\n@@ -1 +1 @@\n-a: 1\n+a: 2\n";
    folder.check(&["set", "f.yaml", "a", "2", "--diff", "--dry-run"], 0, diff, "");
    folder.check(&["set", "f.yaml", "a", "2", "--dry-run"], 0, "", "");
    assert_eq!(folder.text("f.yaml"), "a: 1\n");
    folder.check(&["set", "f.yaml", "a", "2", "--diff"], 0, diff, "");
    assert_eq!(folder.text("f.yaml"), "a: 2\n");
}

#[test]
fn what_is_there_already_is_said() {
    let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
    folder.check(
        &["set", "f.yaml", "a", "1"],
        0,
        "",
        "note: f.yaml has that value already; nothing was changed\n",
    );
}

#[test]
fn what_editing_had_to_do_is_said() {
    let folder = Folder::with(&[("f.yaml", "a: &x {b: 1}\nc: *x\n")]);
    let seen = folder.run(&["set", "f.yaml", "c.b", "2"], "", &[]);
    assert_eq!((seen.code, seen.stdout.as_str()), (Some(0), ""));
    assert!(seen.stderr.starts_with("note: ") && seen.stderr.contains("*x"), "{}", seen.stderr);
    assert_eq!(folder.text("f.yaml"), "a: &x {b: 1}\nc: {b: 2}\n");
}

#[test]
fn edits_at_the_same_time_all_arrive() {
    let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
    std::thread::scope(|scope| {
        for at in 0..8 {
            let folder = &folder;
            scope.spawn(move || {
                let seen = folder.run(&["set", "f.yaml", &format!("k{at}"), "1"], "", &[]);
                assert_eq!(seen.code, Some(0), "{}", seen.stderr);
            });
        }
    });
    let text = folder.text("f.yaml");
    for at in 0..8 {
        assert!(text.contains(&format!("k{at}: 1\n")), "{text}");
    }
}

#[test]
fn a_comment_goes_to_an_item_that_the_edit_renames() {
    let before = "l:\n- name: a\n- name: b # old\n";
    let arguments = ["l[name=b].name", "c", "--comment", "new"];
    check_set(before, &arguments, "l:\n- name: a\n- name: c # new\n");
}

#[test]
fn windows_line_ends_stay() {
    check_set("a: 1\r\nb: 2\r\n", &["a", "3"], "a: 3\r\nb: 2\r\n");
    check_set("a: 1\r\nb:\r\n  c: 2\r\n", &["b.d", "3"], "a: 1\r\nb:\r\n  c: 2\r\n  d: 3\r\n");
}

const TWO: &str = "kind: A\nmetadata: {name: x}\na: 1\n---\nkind: B\nmetadata: {name: y}\nb: 1\n";

#[test]
fn documents_are_chosen() {
    let folder = Folder::with(&[("f.yaml", TWO)]);
    folder.check(&["get", "f.yaml", "b"], 0, "1\n", "");
    folder.check(&["get", "f.yaml", "kind", "--document", "1"], 0, "B\n", "");
    folder.check(&["get", "f.yaml", "kind", "--document", "A/x"], 0, "A\n", "");
    check_set(TWO, &["b", "2"], &TWO.replace("b: 1", "b: 2"));
    check_set(TWO, &["c", "2", "--document", "A/x"], &TWO.replace("a: 1\n", "a: 1\nc: 2\n"));
    check_set(TWO, &["kind", "C", "--document", "1"], &TWO.replace("kind: B", "kind: C"));
}

#[test]
fn doubt_about_the_document_is_an_error_that_lists_them() {
    let list = "\n  0  A/x, line 1\n  1  B/y, line 5\n";
    let check = |arguments: &[&str], expected: &str| check_failure(TWO, arguments, 1, expected);
    check(
        &["get", "f.yaml", "kind"],
        &format!(
            "error: f.yaml has 2 documents with that path:{list}hint: choose one with --document and its number\n"
        ),
    );
    check(
        &["get", "f.yaml", "c"],
        &format!(
            "error: no document of f.yaml has c:{list}hint: look into one of them with --document and its number\n"
        ),
    );
    check(
        &["set", "f.yaml", "c", "1"],
        &format!(
            "error: no document of f.yaml has c:{list}\
             hint: choose the one to add it to with --document and its number\n"
        ),
    );
    check(
        &["get", "f.yaml", "a", "--document", "2"],
        &format!("error: f.yaml has no document 2; it has:{list}"),
    );
    check(
        &["get", "f.yaml", "a", "--document", "A/y"],
        &format!("error: f.yaml has no document A/y; it has:{list}"),
    );
    check(
        &["get", "f.yaml", "b", "--document", "0"],
        "error: f.yaml has no b: the root is a mapping without key \"b\"; it has: kind, metadata, a\n",
    );
}

#[test]
fn what_cannot_be_done_is_told_and_changes_nothing() {
    let text = "a: 1\nb: [x]\n";
    let check = |arguments: &[&str], expected: &str| check_failure(text, arguments, 1, expected);
    check(&["get", "g.yaml", "a"], "error: cannot read \"g.yaml\": there is no such file\n");
    check(&["set", "g.yaml", "a", "1"], "error: cannot read \"g.yaml\": there is no such file\n");
    check(&["get", ".", "a"], "error: cannot read \".\": it is a directory, where a file is needed\n");
    check(
        &["get", "f.yaml", "a.b"],
        "error: f.yaml has no a.b: a exists, it is the number 1, not a mapping with key \"b\"\n",
    );
    check(
        &["set", "f.yaml", "c", "--delete"],
        "error: f.yaml: cannot delete c: the root is a mapping without key \"c\"; it has: a, b\n",
    );
    check(
        &["set", "f.yaml", "a", "[1"],
        "error: VALUE is no YAML: line 1, column 3: the document ends inside of a flow collection: a closing bracket is \
         missing\n1 | [1\n  |   ^\n\
         hint: --string takes VALUE as text, whatever it looks like\n",
    );
    check(
        &["set", "f.yaml", "a", "#fff"],
        "error: VALUE is only a comment: write null for no value\n\
         hint: --string takes VALUE as text, whatever it looks like\n",
    );
    check(
        &["set", "f.yaml", ".", "--delete"],
        "error: f.yaml: cannot delete .: a document is never without a root\n",
    );
    check(&["set", "f.yaml", "a", "1", "--comment", "x\ny"], "error: the comment has more than one line\n");
    for arguments in
        [&["set", "f.yaml", "b[5]", "x"], &["set", "f.yaml", "a.c", "x"], &["set", "f.yaml", "a[]", "x"]]
    {
        let folder = Folder::with(&[("f.yaml", text)]);
        let seen = folder.run(arguments, "", &[]);
        let begins = format!("error: f.yaml: cannot set {}: ", arguments[2]);
        assert!(seen.code == Some(1) && seen.stderr.starts_with(&begins), "{seen:?}");
        assert_eq!(folder.text("f.yaml"), text);
    }
}

#[test]
fn what_is_not_yaml_is_shown() {
    check_failure(
        "a: 1\nb: [1, 2\nc: 3\n",
        &["set", "f.yaml", "a", "2"],
        1,
        "\
error: f.yaml: line 3, column 2: a comma or a closing bracket is missing before this key
3 | c: 3
  |  ^
",
    );
    let folder = Folder::with(&[]);
    fs::write(folder.path("f.yaml"), b"a: 1\nb: caf\xe9\n").expect("a file can be written there");
    folder.check(
        &["set", "f.yaml", "a", "2"],
        1,
        "",
        "error: f.yaml: line 2, column 7: the text is not UTF-8\n2 | b: caf\n  |       ^\nhint: save the file as UTF-8\n",
    );
}

#[test]
fn arguments_that_make_no_sense_exit_with_2() {
    let check = |arguments: &[&str], expected: &str| {
        let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
        let seen = folder.run(arguments, "", &[]);
        assert_eq!((seen.code, seen.stdout.as_str()), (Some(2), ""), "{seen:?}");
        assert!(seen.stderr.contains(expected), "{seen:?}");
        assert_eq!(folder.text("f.yaml"), "a: 1\n");
    };
    check(&["get", "f.yaml"], "<PATH>");
    check(
        &["get", "f.yaml", "a..b"],
        "column 3: a key is missing here; write `[\"\"]` for the empty key\n  a..b\n    ^",
    );
    check(
        &["get", "f.yaml", "a", "--document", "x"],
        "a document is named by its number, from 0, or as Kind/name",
    );
    check(&["set", "f.yaml", "a"], "<VALUE>");
    check(&["set", "f.yaml", "a", "1", "--delete"], "cannot be used with");
    check(&["set", "f.yaml", "a", "--dleete"], "unexpected argument '--dleete'");
    check(&["fmt"], "<FILE>");
}

#[test]
fn files_are_formatted() {
    let folder = Folder::with(&[("f.yaml", "a:   1\n"), ("g.yaml", "a: 1\n"), ("h.yaml", "a: [\n")]);
    folder.check(&["fmt", "f.yaml", "g.yaml", "--check"], 1, "f.yaml\n", "");
    folder.check(&["fmt", "g.yaml", "--check"], 0, "", "");
    let diff = "--- f.yaml\n+++ f.yaml\n@@ -1 +1 @@\n-a:   1\n+a: 1\n";
    folder.check(&["fmt", "f.yaml", "--diff", "--dry-run"], 0, diff, "");
    folder.check(&["fmt", "f.yaml", "g.yaml", "--dry-run"], 0, "f.yaml\n", "");
    assert_eq!(folder.text("f.yaml"), "a:   1\n");
    let seen = folder.run(&["fmt", "h.yaml", "f.yaml"], "", &[]);
    assert!(seen.code == Some(1) && seen.stderr.starts_with("error: h.yaml: line "), "{seen:?}");
    assert_eq!(folder.text("f.yaml"), "a: 1\n", "one bad file does not keep the others from being formatted");
}

#[test]
fn formatting_changes_no_value_unless_asked() {
    let scalar = "b: >-\n   x\n    y\n   z\n";
    for before in ["", "a: 1\na: 2\n", "? [q]\n: 1\n"] {
        let text = format!("{before}{scalar}");
        let folder = Folder::with(&[("f.yaml", text.as_str())]);
        let seen = folder.run(&["fmt", "f.yaml"], "", &[]);
        assert!(seen.code == Some(1) && seen.stderr.contains("a value changes"), "{seen:?}");
        assert_eq!(folder.text("f.yaml"), text);
        assert_eq!(folder.run(&["fmt", "f.yaml", "--lossy"], "", &[]).code, Some(0));
    }
}

#[test]
fn colours_are_for_terminals() {
    let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
    let arguments = ["set", "f.yaml", "a", "2", "--diff", "--dry-run"];
    let coloured = |environment: &[(&str, &str)]| {
        folder.run(&arguments, "", environment).stdout.contains("\u{1b}[31m-a: 1")
    };
    assert!(!coloured(&[]), "a pipe is no terminal");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn help_and_version_are_results() {
    let folder = Folder::with(&[]);
    let seen = folder.run(&["set", "--help"], "", &[]);
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""));
    assert!(seen.stdout.contains("--dry-run") && seen.stdout.contains("Usage: lanai yaml set"), "{seen:?}");
    let version = format!("lanai-yaml {}\n", env!("CARGO_PKG_VERSION"));
    folder.check(&["--version"], 0, &version, "");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with(&[("f.yaml", &format!("a: {}\n", "x".repeat(1 << 20)))]);
    assert_eq!(broken_pipe(&folder, &["get", "f.yaml", "a"]), (Some(0), String::new()));
    assert_eq!(broken_pipe(&folder, &["set", "f.yaml", "a", "z", "--diff"]), (Some(0), String::new()));
    assert_eq!(folder.text("f.yaml"), "a: z\n", "the edit is made all the same");
}

/// Runs a command whose standard output nobody reads.
#[allow(clippy::disallowed_methods, reason = "this is the test that runs the binary")]
fn broken_pipe(folder: &Folder, arguments: &[&str]) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    drop(reader);
    let output = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .arg("yaml")
        .args(arguments)
        .current_dir(folder.place.path())
        .stdout(writer)
        .output()
        .expect("the binary was built");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into())
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn mode(folder: &Folder, name: &str) -> u32 {
        fs::metadata(folder.path(name)).expect("it is there").permissions().mode() & 0o7777
    }

    fn set_mode(folder: &Folder, name: &str, mode: u32) {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    #[test]
    fn permissions_stay() {
        for expected in [0o600, 0o640, 0o666, 0o755] {
            let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
            set_mode(&folder, "f.yaml", expected);
            folder.check(&["set", "f.yaml", "a", "2"], 0, "", "");
            assert_eq!(mode(&folder, "f.yaml"), expected);
        }
    }

    #[test]
    fn a_read_only_file_is_left_alone() {
        let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
        set_mode(&folder, "f.yaml", 0o444);
        let told = "error: cannot write \"f.yaml\": it is read-only\nhint: make it writable first, as with chmod u+w\n";
        folder.check(&["set", "f.yaml", "a", "2"], 1, "", told);
        folder.check(&["get", "f.yaml", "a"], 0, "1\n", "");
        assert_eq!(folder.names(), ["f.yaml"]);
    }

    #[test]
    fn the_target_of_a_link_is_edited() {
        let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
        symlink("f.yaml", folder.path("link.yaml")).expect("a link can be made");
        folder.check(&["set", "link.yaml", "a", "2"], 0, "", "");
        assert!(folder.path("link.yaml").is_symlink());
        assert_eq!(folder.text("f.yaml"), "a: 2\n");
    }

    #[test]
    fn a_file_is_replaced_and_one_that_does_not_change_is_not_touched() {
        let folder = Folder::with(&[("f.yaml", "a: 1\n")]);
        let inode = || fs::metadata(folder.path("f.yaml")).expect("it is there").ino();
        let first = inode();
        folder.check(&["set", "f.yaml", "a", "2", "--dry-run"], 0, "", "");
        folder.run(&["set", "f.yaml", "a", "1"], "", &[]);
        folder.run(&["fmt", "f.yaml"], "", &[]);
        assert_eq!(inode(), first);
        folder.check(&["set", "f.yaml", "a", "2"], 0, "", "");
        assert_ne!(inode(), first, "a new file has taken its name: nobody sees half of it");
    }
}

#[test]
fn what_people_may_not_expect_is_noted() {
    let text = "l:\n- name: x\n  v: 1\n- name: x\n  v: 2\na: &a {q: 1}\nb:\n  <<: *a\n";
    let folder = Folder::with(&[("f.yaml", text), ("twice.yaml", "c: {x: 1, x: 2}\nd: {x: 3}\n")]);
    let noted = |file: &str, path: &str, value: &str, note: &str| {
        let told = folder.run(&["set", file, path, value, "--dry-run"], "", &[]).stderr;
        assert!(told.contains(note), "{path}: {told}");
    };
    noted("f.yaml", "l[name=x].v", "9", "2 items of l have name=x; the first one was meant");
    noted("f.yaml", "a", "5", "the document can no longer be read as data: b: line 6, column 7: a merge key");
    noted(
        "twice.yaml",
        "c.x",
        "5",
        "the key \"x\" stands more than once in a mapping; the first one was meant",
    );
    noted("twice.yaml", "d.x", "...", "VALUE is empty: write null");
    let once = folder.run(&["set", "twice.yaml", "d.x", "5", "--dry-run"], "", &[]);
    assert_eq!(once.stderr, "", "it stands once in its mapping");
}
