use lanai_krm::package::{Diff, Error, File, Mode, Package};
use lanai_types::{ByteSize, Limits, PathLimits};

use super::{package, path, texts};

fn refused(files: &[&str], new: &str) -> String {
    let files: Vec<_> = files.iter().map(|path| (*path, "")).collect();
    let mut package = package(&files);
    let before = package.clone();
    let error = package.insert(path(new), File::from_text("new")).unwrap_err();
    assert_eq!(package, before, "a refused change changes nothing");
    error.to_string()
}

#[test]
fn a_file_is_not_where_a_folder_is() {
    assert_eq!(refused(&["a/b"], "a"), "file \"a\" cannot be where the folder of \"a/b\" is");
    assert_eq!(refused(&["a-", "a.b", "a/b"], "a"), "file \"a\" cannot be where the folder of \"a/b\" is");
    assert_eq!(refused(&["a"], "a/b"), "file \"a/b\" cannot be below \"a\", which is a file");
    assert_eq!(refused(&["a/b"], "a/b/c/d"), "file \"a/b/c/d\" cannot be below \"a/b\", which is a file");
    let mut package = package(&[("a", ""), ("ab/c", "")]);
    assert_eq!(
        package.insert(path("a.b"), File::from_text("")),
        Ok(None),
        "names that begin alike are no folders"
    );
    assert_eq!(package.insert(path("abc"), File::from_text("")), Ok(None));
}

#[test]
fn entries_are_checked() {
    let refused = |paths: &[&str]| {
        let entries = paths.iter().map(|path| (*path, File::from_text("")));
        Package::from_entries(entries, Limits::DEFAULT).unwrap_err().to_string()
    };
    assert_eq!(refused(&["../a"]), "path \"../a\" has a segment \".\" or \"..\"");
    assert_eq!(refused(&["/a"]), "path \"/a\" is absolute; paths are relative to the package");
    assert_eq!(
        refused(&[".git/config"]),
        "path \".git/config\" leads into a git repository's own folder on some file systems"
    );
    assert_eq!(refused(&["a", "a"]), "path \"a\" is there twice");
    assert_eq!(refused(&["a", "a/b"]), "file \"a/b\" cannot be below \"a\", which is a file");
}

#[test]
fn files_are_replaced_removed_and_renamed() {
    let mut package = package(&[("a", "1"), ("d/b", "22")]);
    assert_eq!(package.bytes(), 3);
    assert_eq!(package.insert(path("a"), File::from_text("333")), Ok(Some(File::from_text("1"))));
    assert_eq!((package.bytes(), package.len()), (5, 2));
    assert_eq!(package.rename(&path("a"), path("a/x/y")), Ok(()), "a file can go below its old path");
    assert_eq!(package.rename(&path("d/b"), path("d/b")), Ok(()));
    assert_eq!(package.rename(&path("a/x/y"), path("d/b")), Err(Error::Exists(path("d/b"))));
    assert_eq!(package.rename(&path("no"), path("yes")), Err(Error::NoSuchFile(path("no"))));
    let before = package.clone();
    assert!(matches!(package.rename(&path("a/x/y"), path("d")), Err(Error::IsFolder { .. })));
    assert_eq!((package.bytes(), &package), (5, &before), "a refused change changes nothing");
    assert_eq!(texts(&package), [("a/x/y", "333"), ("d/b", "22")]);
    assert_eq!(package.remove(&path("d/b")), Some(File::from_text("22")));
    assert_eq!(package.remove(&path("d/b")), None);
    assert_eq!((package.bytes(), package.len(), package.is_empty()), (3, 1, false));
}

#[test]
fn limits_hold_on_their_edges() {
    let limits = Limits {
        max_files: 2,
        max_document: ByteSize::bytes(3),
        max_opaque: ByteSize::bytes(4),
        max_stream: ByteSize::bytes(6),
        path: PathLimits { max_depth: 2, max_bytes: 5, max_segment_bytes: 4 },
        ..Limits::DEFAULT
    };
    let mut package = Package::new(limits);
    let mut insert = |at: &str, text: &str| package.insert(path(at), File::from_text(text)).map(|_| ());
    assert_eq!(
        insert("a", "12345"),
        Err(Error::FileTooLarge { path: path("a"), size: 5, limit: ByteSize::bytes(4) })
    );
    let resources = path(".yml");
    assert_eq!(
        insert(".yml", "1234"),
        Err(Error::FileTooLarge { path: resources, size: 4, limit: ByteSize::bytes(3) })
    );
    assert_eq!(insert("a", "1234"), Ok(()));
    assert_eq!(insert("b", "123"), Err(Error::TooLarge { limit: ByteSize::bytes(6) }));
    assert!(matches!(insert("a/b/c", ""), Err(Error::Path(_))), "depth");
    assert!(matches!(insert("abc/de", ""), Err(Error::Path(_))), "length");
    assert!(matches!(insert("abcde", ""), Err(Error::Path(_))), "segment");
    assert_eq!(insert("bcd/e", "12"), Ok(()), "exactly as deep, as long and as much as allowed");
    assert_eq!(insert("c", ""), Err(Error::TooManyFiles { limit: 2 }));
    assert_eq!(insert("a", "4321"), Ok(()), "replacing needs no room");
    assert_eq!(
        Error::TooManyFiles { limit: 2 }.to_string(),
        "the package has more than the 2 files that are allowed"
    );
    assert_eq!(
        Error::TooLarge { limit: ByteSize::mib(2) }.to_string(),
        "the package has more than the 2 MiB that are allowed"
    );
}

#[test]
fn orders_are_those_of_git_and_of_kpt() {
    let files = ["d.yaml", "d/x", "Kptfile", "d-e", "a.yaml", "d/X", "Z/Kptfile", "d/x.d/y"];
    let package = package(&files.map(|path| (path, "")));
    let git: Vec<_> = package.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(git, ["Kptfile", "Z/Kptfile", "a.yaml", "d-e", "d.yaml", "d/X", "d/x", "d/x.d/y"]);
    let kpt: Vec<_> = package.walk().into_iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(kpt, ["Kptfile", "Z/Kptfile", "a.yaml", "d/X", "d/x", "d/x.d/y", "d-e", "d.yaml"]);
}

#[test]
fn names_that_differ_in_case_are_reported() {
    let files = ["A/x", "a/X", "a/y", "b", "B", "É", "é", "c/d/e", "c/D/f", "c/g"];
    let package = package(&files.map(|path| (path, "")));
    let found: Vec<Vec<String>> = package
        .case_collisions()
        .into_iter()
        .map(|collision| collision.spellings.iter().map(ToString::to_string).collect())
        .collect();
    assert_eq!(
        found,
        [vec!["A", "a"], vec!["A/x", "a/X"], vec!["B", "b"], vec!["c/D", "c/d"], vec!["É", "é"]]
    );
}

#[test]
fn text_is_told_from_other_bytes() {
    assert_eq!(File::from_text("é").text(), Some("é"));
    assert_eq!(File::regular(*b"\xff").text(), None);
    assert_eq!(File::regular(*b"a\0").text(), None);
    assert_eq!(File::new(*b"target", Mode::Symlink).text(), None, "a link has a target, not a text");
}

#[test]
fn differences_are_by_content_and_mode() {
    let mut old = package(&[("a", "1"), ("b", "1"), ("c", "1"), ("d", "1")]);
    let new = package(&[("a", "1"), ("b", "2"), ("d", "1"), ("e", "1")]);
    old.insert(path("d"), File::new(*b"1", Mode::Executable)).unwrap();
    let expected =
        Diff { added: vec![path("e")], removed: vec![path("c")], changed: vec![path("b"), path("d")] };
    assert_eq!(old.diff(&new), expected);
    assert!(old.diff(&old.clone()).is_empty());
}
