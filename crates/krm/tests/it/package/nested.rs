use lanai_krm::package::{File, Folder, Mode};

use super::{package, path};

fn at(raw: &str) -> Folder {
    if raw == "." { Folder::Root } else { Folder::At(path(raw)) }
}

fn names(folders: impl IntoIterator<Item = Folder>) -> Vec<String> {
    folders.into_iter().map(|folder| folder.to_string()).collect()
}

#[test]
fn packages_are_found_in_the_order_of_segments() {
    let files =
        ["Kptfile", "a/Kptfile", "a-b/Kptfile", "a/c/d/Kptfile", "B/Kptfile", "m/n/Kptfile", "z/Kptfile/x"];
    let package = package(&files.map(|path| (path, "")));
    assert_eq!(names(package.package_roots()), [".", "B", "a", "a/c/d", "a-b", "m/n"]);
    assert_eq!(names(package.direct_subpackages(&Folder::Root)), ["B", "a", "a-b", "m/n"]);
    assert_eq!(names(package.direct_subpackages(&at("a"))), ["a/c/d"]);
    assert_eq!(names(package.direct_subpackages(&at("a/c/d"))), [""; 0]);
    assert_eq!(names(package.direct_subpackages(&at("m"))), ["m/n"], "of a folder that is no package, too");
}

#[test]
fn the_deepest_package_owns_a_file() {
    let files = ["Kptfile", "a/Kptfile", "a/b/c.yaml", "ab/c.yaml", "a.yaml", "a/d/Kptfile", "a/d/e/f"];
    let package = package(&files.map(|path| (path, "")));
    let owner = |file: &str| package.owner(&path(file)).to_string();
    assert_eq!(owner("a/b/c.yaml"), "a");
    assert_eq!(owner("a/Kptfile"), "a");
    assert_eq!(owner("ab/c.yaml"), ".", "a name that begins like a package's is not in it");
    assert_eq!(owner("a.yaml"), ".");
    assert_eq!(owner("a/d/e/f"), "a/d");
    assert_eq!(owner("a/new/file"), "a", "files that are to be written have an owner");
}

#[test]
fn a_link_makes_no_package() {
    let mut package = package(&[("Kptfile", "")]);
    package.insert(path("a/Kptfile"), File::new(*b"../Kptfile", Mode::Symlink)).unwrap();
    assert_eq!(names(package.package_roots()), ["."]);
    assert_eq!(package.owner(&path("a/b")), Folder::Root);
}

#[test]
fn without_any_kptfile_the_root_owns_all() {
    let package = package(&[("a/b", "")]);
    assert!(package.package_roots().is_empty());
    assert_eq!(package.owner(&path("a/b")), Folder::Root);
}
