//! A folder as a package.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use lanai_folder::{Error, Odd, OddKind, read};
use lanai_types::{ByteSize, Limits};

use crate::support::{Place, package};

#[test]
fn files_programs_and_links_are_read() {
    let files = package(&[("Kptfile", "k"), ("a/b.yaml", "b"), ("run*", "#!"), ("link@", "../../outside")]);
    assert_eq!(Place::with(&files).package(), files);
}

#[test]
fn nothing_is_read_through_a_link() {
    let place = Place::new();
    symlink("/", place.path("all")).unwrap();
    assert_eq!(place.package(), package(&[("all@", "/")]));
}

#[test]
fn what_is_no_part_of_the_package_is_told() {
    let place = Place::new();
    fs::create_dir_all(place.path("a/.git/objects")).unwrap();
    fs::create_dir(place.path("empty")).unwrap();
    fs::create_dir(place.path(".lanai-change")).unwrap();
    fs::write(place.path(".lanai-change-7.tmp"), "a file like any other").unwrap();
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    let contents = read(&place.root(), Limits::default()).unwrap();
    let odd = |path: &str, kind| Odd { path: place.path(path), kind };
    assert_eq!(
        contents.odd,
        [
            odd(".lanai-change", OddKind::Unfinished),
            odd("a/.git", OddKind::Git),
            odd("empty", OddKind::EmptyFolder),
            odd("socket", OddKind::Special),
        ]
    );
    assert_eq!(contents.package, package(&[(".lanai-change-7.tmp", "a file like any other")]));
}

#[test]
fn errors_name_the_file() {
    let place = Place::new();
    let check = |expected: String| {
        assert_eq!(read(&place.root(), Limits::default()).unwrap_err().to_string(), expected);
    };
    let root = place.root().display().to_string();
    fs::write(place.path("a\\b"), "").unwrap();
    check(format!("folder \"{root}\": path \"a\\\\b\" has a backslash"));
    fs::remove_file(place.path("a\\b")).unwrap();
    fs::write(place.root().join(OsStr::from_bytes(b"\xff")), "").unwrap();
    check(format!("the name of \"{root}/\u{fffd}\" is not UTF-8"));
    let missing = read(&place.path("nowhere"), Limits::default()).unwrap_err();
    assert!(matches!(missing, Error::Io { action: "read", .. }), "{missing}");
}

#[test]
fn a_file_that_is_too_large_is_named_with_its_size() {
    let place = Place::with(&package(&[("folder/big.yaml", "123456789")]));
    let limits = Limits { max_document: ByteSize::bytes(4), ..Limits::default() };
    assert_eq!(
        read(&place.root(), limits).unwrap_err().to_string(),
        format!(
            "folder \"{}\": file \"folder/big.yaml\" has 9 bytes, more than the 4 B that are allowed",
            place.root().display()
        )
    );
}

#[test]
fn limits_hold_on_their_edges() {
    let place = Place::with(&package(&[("a.yaml", "12345"), ("b", "1")]));
    let check = |limits: Limits, fits: bool| {
        let read = read(&place.root(), limits);
        assert_eq!(read.is_ok(), fits, "{read:?}");
    };
    check(Limits { max_document: ByteSize::bytes(5), ..Limits::default() }, true);
    check(Limits { max_document: ByteSize::bytes(4), ..Limits::default() }, false);
    check(Limits { max_opaque: ByteSize::bytes(1), ..Limits::default() }, true);
    check(Limits { max_opaque: ByteSize::bytes(0), ..Limits::default() }, false);
    check(Limits { max_stream: ByteSize::bytes(6), ..Limits::default() }, true);
    check(Limits { max_stream: ByteSize::bytes(5), ..Limits::default() }, false);
    check(Limits { max_files: 2, ..Limits::default() }, true);
    check(Limits { max_files: 1, ..Limits::default() }, false);
}
