use lanai_types::{Namespace, PackageName, RepositoryName, WorkspaceName, package_name};
use proptest::prelude::*;

pub const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DOTS: &str = "must not contain dots";
const SLASHES: &str = "consecutive '/' characters are not allowed";
const LONG: &str = "must be no more than 63 characters";

fn check_workspace(raw: &str, expected: Result<(), &str>) {
    let actual = WorkspaceName::try_from(raw).map(|name| name.to_string()).map_err(|error| error.to_string());
    assert_eq!(actual, expected.map(|()| raw.to_owned()).map_err(str::to_owned), "{raw:?}");
}

#[test]
fn workspaces() {
    for raw in ["v1", "a", "0", "a-b", "a--b", "main", &"x".repeat(63)] {
        check_workspace(raw, Ok(()));
    }
    for raw in ["", "-a", "a-", "A", "a_b", "a/b", "ü", "a b", ".a", "a.", "a..b", "a\n"] {
        check_workspace(raw, Err(LABEL));
    }
    check_workspace("v1.2", Err(DOTS));
    check_workspace(&"x".repeat(64), Err(LONG));
    check_workspace(&"X".repeat(64), Err(&format!("{LONG},{LABEL}")));
    check_workspace(&format!("{}.a", "x".repeat(64)), Err(&format!("{LONG},{DOTS}")));
}

#[test]
fn workspaces_found_in_git() {
    for raw in [
        "v1",
        "main",
        "v1.2",
        "v1.2.3",
        "v.1",
        &format!("v{}1", "1.".repeat(30)),
        &format!("v{}", "1".repeat(62)),
    ] {
        let name = WorkspaceName::imported(raw).expect("it may be found in git");
        assert_eq!(
            serde_json::from_str::<WorkspaceName>(&serde_json::to_string(&name).unwrap()).unwrap(),
            name
        );
    }
    for raw in ["", "v1.", "v1..2", "V1.2", "1.2", "a.b", "v1.2-rc", &format!("v{}", "1".repeat(63))] {
        assert!(WorkspaceName::imported(raw).is_err(), "{raw:?}");
    }
}

#[test]
fn repositories_and_namespaces() {
    assert!(RepositoryName::try_from("blueprints").is_ok());
    let error = RepositoryName::try_from("Blue").unwrap_err();
    assert_eq!(error.to_string(), format!("repository name Blue invalid: {LABEL}"));
    assert!(Namespace::try_from("porch-demo").is_ok());
    let error = Namespace::try_from("a.b").unwrap_err();
    assert_eq!(error.to_string(), r#"namespace "a.b" invalid: must not contain dots"#);
    assert!(serde_json::from_str::<Namespace>(r#""a.b""#).is_err());
}

fn check_package(raw: &str, expected: Result<&str, &str>) {
    let actual = PackageName::try_from(raw).map(|name| name.to_string()).map_err(|error| error.to_string());
    assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned), "{raw:?}");
}

#[test]
fn packages() {
    check_package("dns", Ok("dns"));
    check_package("platform/network/dns", Ok("platform/network/dns"));
    check_package("/a/b", Ok("a/b"));
    check_package("a/b/", Ok("a/b"));
    check_package("/a/", Ok("a"));
    check_package("", Err(LABEL));
    check_package("/", Err(LABEL));
    check_package("//", Err(&format!("{SLASHES},{LABEL}")));
    check_package("a//b", Err(SLASHES));
    check_package("//a", Err(SLASHES));
    check_package("a.b", Err(DOTS));
    check_package("a/b.c", Err(DOTS));
    check_package("a//b.c", Err(&format!("{SLASHES},{DOTS}")));
    check_package("..", Err(LABEL));
    check_package("a/../b", Err(LABEL));
    check_package("Upper", Err(LABEL));
    check_package("-a/b", Err(LABEL));
    check_package("a\0", Err(LABEL));
}

#[test]
fn a_hyphen_at_the_edge_of_a_segment_is_found() {
    check_package("a-/b", Err(&format!(r#"segment "a-": {LABEL}"#)));
    check_package("a/-b", Err(&format!(r#"segment "-b": {LABEL}"#)));
    check_package("a/-/b", Err(&format!(r#"segment "-": {LABEL}"#)));
    assert!(matches!(PackageName::try_from("a-/b"), Err(package_name::Error::Segment { .. })));
}

#[test]
fn all_segments_of_a_new_package_count_together() {
    let half = "x".repeat(31);
    check_package(&format!("{half}/{half}/y"), Ok(&format!("{half}/{half}/y")));
    check_package(&format!("{half}/{half}/yz"), Err(LONG));
}

#[test]
fn a_package_found_in_git_may_be_longer() {
    let (path, leaf) = ("x".repeat(63), "y".repeat(63));
    let raw = format!("{path}/{leaf}");
    assert!(PackageName::try_from(raw.as_str()).is_err());
    let name = PackageName::imported(&raw).unwrap();
    assert_eq!((name.path(), name.leaf()), (path.as_str(), leaf.as_str()));
    assert_eq!(serde_json::from_str::<PackageName>(&serde_json::to_string(&name).unwrap()).unwrap(), name);

    assert!(PackageName::imported(&format!("{path}x/{leaf}")).is_err());
    assert!(PackageName::imported(&format!("{path}/{leaf}y")).is_err());
    for raw in ["", "/", "a//b", "a-/b", "a.b", "a.b/c", "Upper", "a/Upper", "..", ".git/a"] {
        assert!(PackageName::imported(raw).is_err(), "{raw:?}");
    }
}

#[test]
fn the_deepest_package_has_a_folder() {
    let deepest = PackageName::imported(&format!("{}{}", "x/".repeat(63), "y".repeat(63))).unwrap();
    assert_eq!(deepest.segments().count(), 64);
    assert_eq!(deepest.folder().as_str(), deepest.as_str());
}

#[test]
fn parts_of_a_package() {
    let name = PackageName::try_from("a/b/c").unwrap();
    assert_eq!((name.path(), name.leaf()), ("a/b", "c"));
    assert_eq!(name.segments().collect::<Vec<_>>(), ["a", "b", "c"]);
    let top = PackageName::try_from("a").unwrap();
    assert_eq!((top.path(), top.leaf()), ("", "a"));
    assert!(name.is_inside(&top));
    assert!(!name.is_inside(&name));
    assert!(!PackageName::try_from("ab/c").unwrap().is_inside(&top));
}

/// Text made of the pieces that the rules speak about.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = ["a", "b1", "v1", "2", "/", "/", "-", ".", "A", "_", "ü", "\0", "v", " "];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..8).prop_map(|pieces| pieces.concat())
}

fn is_label(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.chars().all(|c| fine(c) || c == '-')
        && text.starts_with(fine)
        && text.ends_with(fine)
}

proptest! {
    #[test]
    fn any_text_is_a_name_or_an_error(raw in prop_oneof![any::<String>(), pieces(), "[a-z0-9/-]{0,70}"]) {
        prop_assert_eq!(RepositoryName::try_from(raw.as_str()).is_ok(), is_label(&raw));
        prop_assert_eq!(Namespace::try_from(raw.as_str()).is_ok(), is_label(&raw));
        prop_assert_eq!(WorkspaceName::try_from(raw.as_str()).is_ok(), is_label(&raw));
        if let Ok(name) = WorkspaceName::imported(&raw) {
            prop_assert_eq!(name.as_str(), &raw);
            prop_assert!(is_label(&raw.replace('.', "-")));
        }
        if let Ok(name) = PackageName::try_from(raw.as_str()) {
            prop_assert_eq!(PackageName::try_from(name.as_str()), Ok(name.clone()));
            prop_assert_eq!(PackageName::imported(&raw), Ok(name.clone()));
            prop_assert!(name.segments().all(is_label));
            prop_assert!(is_label(&name.as_str().replace('/', "")));
        }
        if let Ok(name) = PackageName::imported(&raw) {
            prop_assert_eq!(PackageName::imported(name.as_str()), Ok(name.clone()));
            prop_assert!(name.segments().all(is_label));
            let folder = name.folder();
            prop_assert_eq!(folder.as_str(), name.as_str());
        }
    }
}
