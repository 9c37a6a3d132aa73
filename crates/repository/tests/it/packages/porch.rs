//! Porch itself: what it writes is read right, and it reads what we write.
//!
//! `answers` holds repositories that Porch wrote, as text, and how Porch lists them; they are compared with our facts everywhere. Where
//! Porch's program is there (`make oracle`), it is asked again, and both work on the same repositories in turns.

mod agree;
mod cases;
mod program;
mod text;
mod turns;

use std::path::{Path, PathBuf};

use lanai_repository::packages::{Layout, Repository, Spec};
use serde::{Deserialize, Serialize};

use self::agree::{Listed, differences};
use self::cases::{CASES, Case};
use self::program::{Door, Porch};
use super::{Kind, World, snapshot};

/// One way to look at a repository, and what Porch saw.
#[derive(PartialEq, Serialize, Deserialize)]
struct Answer {
    branch: String,
    directory: String,
    listed: Vec<Listed>,
}

fn answers(case: &Case, extension: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/packages/porch/answers");
    folder.join(format!("{}.{extension}", case.name))
}

fn open(world: &World, branch: &str, directory: &str) -> Repository {
    let layout = Layout { branch: branch.parse().expect("a branch"), directory: crate::folder(directory) };
    let remote = world.address.parse().expect("an address");
    let credential = Some(lanai_repository::CredentialName("ns/git".to_owned()));
    world.all.open(Spec { remote, layout, credential, author: None }).expect("it opens")
}

fn url(world: &World) -> String {
    if world.address.contains("://") { world.address.clone() } else { format!("file://{}", world.address) }
}

fn check(case: &Case, world: &World, answers: &[Answer]) {
    for (view, answer) in case.views.iter().zip(answers) {
        let repository = open(world, view.branch, view.directory);
        let (_, seen) = snapshot(&repository);
        let found = differences(&seen, &answer.listed, &world.folder);
        let expected: Vec<_> = view.differs.iter().map(|deviation| deviation.line).collect();
        assert_eq!(found, expected, "{}: {} {}", case.name, view.branch, view.directory);
        assert!(!seen.revisions.is_empty(), "{}", case.name);
    }
}

#[test]
fn repositories_that_porch_wrote_are_read_right() {
    for case in CASES {
        let text = std::fs::read_to_string(answers(case, "txt")).expect("a repository");
        let kept = std::fs::read_to_string(answers(case, "json")).expect("answers");
        let kept: Vec<Answer> = serde_json::from_str(&kept).expect("answers");
        let views = case.views.iter().map(|view| (view.branch, view.directory));
        assert!(views.eq(kept.iter().map(|answer| (answer.branch.as_str(), answer.directory.as_str()))));
        let world = World::new(Kind::Near);
        text::load(&text, &world.folder);
        assert_eq!(text::dump(&world.folder), text, "{}", case.name);
        check(case, &world, &kept);
    }
}

/// Asks Porch to do all of it again. With `UPDATE=1` what it does and says is kept.
#[test]
fn porch_does_what_was_kept_of_it() {
    let Some(mut porch) = Porch::start("porch_does_what_was_kept_of_it") else { return };
    for case in CASES {
        let world = World::new(Kind::Near);
        (case.make)(&mut porch, &world);
        let mut now = Vec::new();
        for view in case.views {
            let (branch, directory) = (view.branch, view.directory);
            porch.open(&Door { url: &url(&world), branch, directory, more: serde_json::Value::Null });
            now.push(Answer {
                branch: branch.to_owned(),
                directory: directory.to_owned(),
                listed: porch.list(),
            });
        }
        if std::env::var_os("UPDATE").is_some() {
            let json = serde_json::to_string_pretty(&now).expect("it is JSON");
            std::fs::write(answers(case, "json"), json + "\n").expect("a file");
            std::fs::write(answers(case, "txt"), text::dump(&world.folder)).expect("a file");
        }
        check(case, &world, &now);
        let kept = std::fs::read_to_string(answers(case, "json")).expect("answers");
        let kept: Vec<Answer> = serde_json::from_str(&kept).expect("answers");
        assert!(shapes(&now) == shapes(&kept), "{}: Porch does it in another way now", case.name);
    }
}

/// What of an answer does not depend on the time.
fn shapes(answers: &[Answer]) -> Vec<String> {
    let listed = answers.iter().flat_map(|answer| &answer.listed);
    listed
        .map(|listed| {
            let Listed { package, workspace, revision, lifecycle, ref_name, .. } = listed;
            format!("{package} {workspace} {revision} {lifecycle} {ref_name}")
        })
        .collect()
}

/// Repositories that older versions of Porch and people made, among the tests of Porch. Nothing of them is kept here.
#[test]
fn repositories_of_porchs_own_tests_are_read_as_porch_reads_them() {
    let test = "repositories_of_porchs_own_tests_are_read_as_porch_reads_them";
    let Some(mut porch) = Porch::start(test) else { return };
    let Some(source) = std::env::var_os("LANAI_PORCH_SOURCE") else {
        lanai_testkit::skip(test, "LANAI_PORCH_SOURCE names no checkout of Porch");
        return;
    };
    let folder = Path::new(&source).join("pkg/externalrepo/git/testdata");
    let (mut found, mut count) = (Vec::new(), 0);
    for entry in std::fs::read_dir(folder).expect("tests of Porch") {
        let archive = entry.expect("an entry").path();
        if archive.extension().is_none_or(|extension| extension != "tar") {
            continue;
        }
        let world = World::new(Kind::Near);
        unpack(&archive, &world.folder);
        let name = archive.file_stem().expect("a name").to_string_lossy().into_owned();
        if !world.refs().iter().any(|name| name == "refs/heads/main") {
            continue;
        }
        porch.open(&Door { url: &url(&world), branch: "main", directory: "", more: serde_json::Value::Null });
        let (_, seen) = snapshot(&open(&world, "main", ""));
        count += seen.revisions.len();
        let lines = differences(&seen, &porch.list(), &world.folder);
        found.extend(lines.iter().map(|line| format!("{name}: {line}")));
    }
    // Where a package on the branch is not what was published last, we name who made the commit at the head.
    found.retain(|line| !line.contains(" main: time") && !line.contains(" main: author "));
    assert_eq!(found, [""; 0]);
    assert!(count > 40, "{count} revisions");
}

/// Fetches all refs of an archived work tree into a bare repository.
fn unpack(archive: &Path, into: &Path) {
    let scratch = tempfile::tempdir().expect("a folder");
    #[allow(clippy::disallowed_methods, reason = "the archive is one of tar")]
    let status = std::process::Command::new("tar")
        .args(["--no-same-owner", "-xf"])
        .arg(archive)
        .arg("-C")
        .arg(scratch.path())
        .status()
        .expect("tar starts");
    assert!(status.success(), "{}", archive.display());
    let from = scratch.path().to_str().expect("a plain name");
    crate::repository::git(into, &["fetch", "--quiet", "--update-head-ok", from, "+refs/*:refs/*"], b"");
}
