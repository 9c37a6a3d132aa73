//! Repositories as text, object by object. (What `git fast-export` writes forgets empty folders, and Porch leaves some.)

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::repository::git;

/// All refs and all that they lead to.
pub(super) fn dump(folder: &Path) -> String {
    let mut text = String::new();
    for line in git(folder, &["for-each-ref", "--format=%(objectname) %(refname)"], b"").lines() {
        let _ = writeln!(text, "ref {line}");
    }
    let listed = git(folder, &["rev-list", "--objects", "--no-object-names", "--all"], b"");
    let mut ids: Vec<_> = listed.lines().collect();
    ids.sort_unstable();
    let input = ids.join("\n") + "\n";
    let all = output(folder, &["cat-file", "--batch"], input.as_bytes());
    let mut rest = all.as_slice();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let header = std::str::from_utf8(&rest[..end]).expect("a header is text");
        let (id, tail) = header.split_once(' ').expect("an id");
        let (kind, size) = tail.split_once(' ').expect("a kind and a size");
        let size: usize = size.parse().expect("a size");
        let raw = &rest[end + 1..end + 1 + size];
        let content = match kind {
            "tree" => entries(raw),
            _ => String::from_utf8(raw.to_vec()).expect("contents are texts"),
        };
        let _ = writeln!(text, "{kind} {id} {}\n{content}", content.len());
        rest = &rest[end + 2 + size..];
    }
    text
}

/// A tree as `git mktree` takes it.
fn entries(mut raw: &[u8]) -> String {
    let mut text = String::new();
    while let Some(zero) = raw.iter().position(|byte| *byte == 0) {
        let (mode, name) =
            std::str::from_utf8(&raw[..zero]).expect("names are texts").split_once(' ').expect("a mode");
        let kind = if mode == "40000" { "tree" } else { "blob" };
        let id = raw[zero + 1..zero + 21].iter().fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        });
        let _ = writeln!(text, "{mode} {kind} {id}\t{name}");
        raw = &raw[zero + 21..];
    }
    text
}

struct Object<'a> {
    kind: &'a str,
    id: &'a str,
    content: &'a str,
}

/// Makes in an empty repository what the text says; every object gets the id that it had.
pub(super) fn load(text: &str, folder: &Path) {
    let (mut refs, mut objects, mut rest) = (String::new(), Vec::new(), text);
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        let (kind, tail) = line.split_once(' ').expect("a kind");
        let (id, last) = tail.split_once(' ').expect("an id and a size or name");
        if kind == "ref" {
            let _ = writeln!(refs, "create {last} {id}");
            continue;
        }
        let size: usize = last.parse().expect("a size");
        objects.push(Object { kind, id, content: &rest[..size] });
        rest = &rest[size + 1..];
    }
    for kind in ["blob", "commit", "tag"] {
        write(folder, kind, &objects.iter().filter(|object| object.kind == kind).collect::<Vec<_>>());
    }
    let (empty, trees): (Vec<_>, _) =
        objects.iter().filter(|object| object.kind == "tree").partition(|tree| tree.content.is_empty());
    write(folder, "tree", &empty);
    let input: String = trees.iter().flat_map(|tree| [tree.content, "\n"]).collect();
    let written = git(folder, &["mktree", "--batch", "--missing"], input.as_bytes());
    assert!(trees.iter().map(|tree| tree.id).eq(written.lines()), "trees have other ids");
    git(folder, &["update-ref", "--stdin"], refs.as_bytes());
}

fn write(folder: &Path, kind: &str, objects: &[&Object]) {
    if objects.is_empty() {
        return;
    }
    let files = tempfile::tempdir().expect("a folder");
    let mut input = String::new();
    for object in objects {
        let path = files.path().join(object.id);
        std::fs::write(&path, object.content).expect("a file");
        let _ = writeln!(input, "{}", path.display());
    }
    let arguments = ["hash-object", "-w", "--no-filters", "-t", kind, "--stdin-paths"];
    let written = git(folder, &arguments, input.as_bytes());
    assert!(objects.iter().map(|object| object.id).eq(written.lines()), "{kind}s have other ids");
}

/// What git prints, to the byte.
fn output(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    #[allow(clippy::disallowed_methods, reason = "the judge is git itself")]
    let mut child = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git starts");
    child.stdin.take().expect("git has an input").write_all(input).expect("git reads");
    child.wait_with_output().expect("git ends").stdout
}
