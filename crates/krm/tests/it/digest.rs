//! Git judges the digests.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use lanai_krm::digest;
use lanai_krm::package::{File, Mode, Package};
use lanai_types::Limits;
use proptest::prelude::*;

/// Runs git in a folder, away from the settings of the machine.
#[allow(clippy::disallowed_methods, reason = "git is the judge of this test; it is started by tests only")]
pub(crate) fn git(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git can be started");
    // A thread of its own feeds git, which may answer before it has read everything.
    let mut stdin = child.stdin.take().expect("it was piped");
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("git ends");
    feeder.join().expect("the feeder does not panic").expect("git reads its input");
    // `check-ignore` says with 1 that nothing is ignored.
    assert!(matches!(output.status.code(), Some(0 | 1)), "git {arguments:?}: {}", output.status);
    output.stdout
}

fn package(files: &[(&str, Mode, &str)]) -> Package {
    let entries = files.iter().map(|(path, mode, content)| (*path, File::new(content.as_bytes(), *mode)));
    Package::from_entries(entries, Limits::DEFAULT).unwrap()
}

/// The id that git gives to the files of a package.
fn by_git(package: &Package) -> String {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"], b"");
    for (path, file) in package.iter() {
        let at = folder.path().join(path.as_str());
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        if file.mode() == Mode::Symlink {
            symlink(std::str::from_utf8(file.content()).unwrap(), &at).unwrap();
            continue;
        }
        fs::write(&at, file.content()).unwrap();
        let permissions = if file.mode() == Mode::Executable { 0o755 } else { 0o644 };
        fs::set_permissions(&at, fs::Permissions::from_mode(permissions)).unwrap();
    }
    git(folder.path(), &["add", "--all", "--force"], b"");
    String::from_utf8(git(folder.path(), &["write-tree"], b"")).unwrap().trim().to_owned()
}

fn check(files: &[(&str, Mode, &str)]) {
    let package = package(files);
    assert_eq!(digest::tree_id(&package).unwrap().to_string(), by_git(&package), "{files:?}");
}

use Mode::{Executable, Regular, Symlink};

#[test]
fn ids_are_those_of_git() {
    check(&[("a", Regular, "")]);
    check(&[("Kptfile", Regular, "kind: Kptfile\n"), ("a.yaml", Regular, "a: 1\n")]);
    check(&[("run.sh", Executable, "#!/bin/sh\n"), ("data", Regular, "\0\u{ff}")]);
    check(&[("link", Symlink, "../outside/of everything"), ("d/link", Symlink, "link")]);
    check(&[("a/b/c/d/e", Regular, "deep"), ("a/b/c.yaml", Regular, "x"), ("a/b/c-d", Executable, "y")]);
    check(&[("é/ü", Regular, "1"), ("z", Regular, "2"), ("e/u", Regular, "3")]);
}

#[test]
fn entries_are_in_the_order_of_git() {
    // A folder counts as if its name ended in a slash: `a-b`, `a.b`, then `a/`, then `a0`.
    check(&[("a", Regular, "1"), ("a.b", Regular, "2"), ("a-b", Regular, "3"), ("a0", Regular, "4")]);
    check(&[("a/b", Regular, "1"), ("a.b", Regular, "2"), ("a-b", Regular, "3"), ("a0", Regular, "4")]);
    check(&[("a/b", Regular, "1"), ("a.b/c", Regular, "2"), ("a-b/c", Regular, "3"), ("ab/c", Regular, "4")]);
    check(&[("a/a/a", Regular, "1"), ("a/a.a", Regular, "2"), ("a/a-a", Regular, "3"), ("B", Regular, "4")]);
}

#[test]
fn the_empty_package_is_the_empty_tree() {
    let id = digest::tree_id(&Package::new(Limits::DEFAULT)).unwrap();
    assert_eq!(id.to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    assert_eq!(by_git(&Package::new(Limits::DEFAULT)), id.to_string());
}

#[test]
fn a_blob_is_that_of_git() {
    let folder = tempfile::tempdir().unwrap();
    let content = b"kind: ConfigMap\n".repeat(5_000);
    let id = git(folder.path(), &["hash-object", "--stdin"], &content);
    assert_eq!(digest::blob_id(&content).unwrap().to_string(), String::from_utf8(id).unwrap().trim());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_package_has_the_id_of_git(files in prop::collection::btree_map("[aA](/[ab.-]{0,2}x){0,2}", (".{0,6}", 0..3u8), 0..8)) {
        let mut package = Package::new(Limits::DEFAULT);
        for (path, (content, mode)) in files {
            let mode = [Regular, Executable, Symlink][usize::from(mode)];
            // Git knows no empty target, and none with a NUL.
            if mode == Symlink && (content.is_empty() || content.contains('\0')) {
                continue;
            }
            // Some are where a folder is; those stay out.
            drop(package.insert(path.parse().unwrap(), File::new(content.into_bytes(), mode)));
        }
        prop_assert_eq!(digest::tree_id(&package).unwrap().to_string(), by_git(&package));
    }
}

proptest! {
    #[test]
    fn the_digest_changes_with_the_content(
        left in prop::collection::btree_map("[ab]/[ab]", ("[xy]?", any::<bool>()), 0..4),
        right in prop::collection::btree_map("[ab]/[ab]", ("[xy]?", any::<bool>()), 0..4),
    ) {
        let [left, right] = [left, right].map(|files| {
            let file = |(content, executable): (String, bool)| {
                File::new(content.into_bytes(), if executable { Executable } else { Regular })
            };
            let entries = files.into_iter().map(|(path, content)| (path, file(content)));
            Package::from_entries(entries, Limits::DEFAULT).unwrap()
        });
        let same = digest::tree_id(&left) == digest::tree_id(&right);
        prop_assert_eq!(same, left == right);
        prop_assert_eq!(same, left.diff(&right).is_empty());
    }
}
