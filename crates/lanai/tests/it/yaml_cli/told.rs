//! What a user is told beside the result, and inputs that once went wrong in a user's hands.

use super::{Folder, check_set};

#[test]
fn a_path_that_two_places_answer_to_is_noted_when_it_is_read() {
    let text = "l:\n- {name: x, v: 1}\n- {name: x, v: 2}\ndup: 1\ndup: 2\nports:\n  8080: a\n  \"8080\": b\n";
    let folder = Folder::with(&[("d.yaml", text)]);
    let twice = |key: &str| {
        format!("note: the key \"{key}\" stands more than once in a mapping; the first one was meant\n")
    };
    let items = "note: 2 items of l have name=x; the first one was meant\n";
    folder.check(&["get", "d.yaml", "l[name=x].v"], 0, "1\n", items);
    folder.check(&["get", "d.yaml", "dup"], 0, "1\n", &twice("dup"));
    folder.check(&["get", "d.yaml", "ports[\"8080\"]"], 0, "a\n", &twice("8080"));
}

#[test]
fn a_merge_key_with_its_tag_is_the_same_also_beside_keys_that_stand_twice() {
    let text = "b: &b {x: 1}\nd1:\n  <<: *b\n  x: 2\ndup: 1\ndup: 2\n";
    let folder = Folder::with(&[("f.yaml", text)]);
    folder.check(&["fmt", "f.yaml"], 0, "", "");
    assert_eq!(folder.text("f.yaml"), text.replace("<<", "!!merge <<"));
}

#[test]
fn the_line_of_a_value_that_formatting_would_change_is_named() {
    let folder = Folder::with(&[("f.yaml", "a: 1\nb: >-\n   x\n    y\n   z\nc: 2\n")]);
    let seen = folder.run(&["fmt", "f.yaml"], "", &[]);
    assert!(seen.code == Some(1) && seen.stderr.contains("a value changes, line 2\n"), "{seen:?}");
}

#[test]
fn what_is_added_below_lone_comments_stays_below_them() {
    check_set("---\n# c\n", &["x", "1"], "---\n# c\nx: 1\n");
    check_set("---\n# Copyright\n\n# of x\n", &["x", "1"], "---\n# Copyright\n\n# of x\nx: 1\n");
    check_set("# c\n", &["x", "1"], "# c\nx: 1\n");
    check_set("---\n", &["x", "1"], "---\nx: 1\n");
}

#[test]
fn lines_that_were_folded_are_noted() {
    let folder = Folder::with(&[("cm.yaml", "data:\n  a: |\n    x\n")]);
    let note = "note: the lines of VALUE were folded into one, as YAML reads them; --string keeps them\n";
    folder.check(&["set", "cm.yaml", "data.a", "a=1\nb=2\n"], 0, "", note);
    folder.check(&["set", "cm.yaml", "data.a", "a=1\nb=2\n", "--string"], 0, "", "");
    assert_eq!(folder.text("cm.yaml"), "data:\n  a: |\n    a=1\n    b=2\n");
}

#[test]
fn a_key_that_json_has_no_word_for_is_named() {
    let folder = Folder::with(&[("n.yaml", "a:\n  ~: x\n")]);
    let said = "error: n.yaml: line 2: JSON has no word for a key that is null\n";
    folder.check(&["get", "n.yaml", ".", "-o", "json"], 1, "", said);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_before_it_is_read() {
    let folder = Folder::with(&[]);
    #[allow(clippy::disallowed_methods, reason = "a pipe with a name is made by the system's own command")]
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo is part of every system");
    let said = "error: cannot write \"pipe\": it is not a regular file\n";
    let hint = "  hint: use - to read standard input and write standard output\n";
    let seen = folder.run(&["set", "pipe", "a", "1"], "", &[]);
    assert_eq!(seen.code, Some(1), "{seen:?}");
    assert!(seen.stderr.contains(said.trim_end()) && seen.stderr.contains(hint.trim()), "{seen:?}");
}

#[test]
fn a_negative_number_of_a_document_is_explained() {
    let folder = Folder::with(&[("a.yaml", "a: 1\n")]);
    let seen = folder.run(&["get", "a.yaml", "a", "--document", "-1"], "", &[]);
    assert_eq!(seen.code, Some(2), "{seen:?}");
    assert!(seen.stderr.contains("a document is named by its number, from 0, or as Kind/name"), "{seen:?}");
}
