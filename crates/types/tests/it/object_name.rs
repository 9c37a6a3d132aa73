use lanai_types::{
    ObjectName, PackageName, PackageObjectName, RepositoryName, WorkspaceName, object_name::Error,
};
use proptest::prelude::*;

use crate::names::LABEL;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Repository, path, package and workspace of a name.
fn check(name: &str, expected: [&str; 4]) {
    let parsed = ObjectName::parse(name).expect("a good name");
    let (package, workspace) = (parsed.package(), parsed.workspace());
    let actual = [parsed.repository().as_str(), package.path(), package.leaf(), workspace.as_str()];
    assert_eq!(actual, expected, "{name}");
    assert_eq!(ObjectName::compose(parsed.repository(), package, workspace), Ok(parsed.clone()));
    assert_eq!(parsed.to_string(), name);
}

#[test]
fn names_and_their_parts() {
    check("repo.pkg.ws", ["repo", "", "pkg", "ws"]);
    check("repo.a.b.pkg.ws", ["repo", "a/b", "pkg", "ws"]);
    check("repo.hello.v1", ["repo", "", "hello", "v1"]);
    check("repo.hello.v1.2", ["repo", "", "hello", "v1.2"]);
    check("repo.hello.v1.2.3", ["repo", "", "hello", "v1.2.3"]);
    check("repo.hello.v1.v1", ["repo", "hello", "v1", "v1"]);
    check("repo.hello.v1.2.3.v4.5.6", ["repo", "hello/v1/2", "3", "v4.5.6"]);
    check("repo.hello.v1.2x", ["repo", "hello", "v1", "2x"]);
    check("repo.hello.v1x.2", ["repo", "hello", "v1x", "2"]);
    check("v1.2.3", ["v1", "", "2", "3"]);
    check("1.2.3", ["1", "", "2", "3"]);
}

fn check_error(name: &str, expected: &str) {
    let error = ObjectName::parse(name).expect_err("a bad name");
    assert_eq!(error.to_string(), expected, "{name:?}");
}

#[test]
fn the_lines_about_bad_parts() {
    let head = "package revision kubernetes resource name invalid:\n";
    let repository = |v: &str| {
        format!("repository part \"{v}\" of object name invalid\nrepository name {v} invalid: {LABEL}\n")
    };
    let path =
        |v: &str| format!("package path part \"{v}\" of object name invalid\npath {v} invalid: {LABEL}\n");
    let package = |v: &str| {
        format!("package name part \"{v}\" of object name invalid\npackage name {v} invalid: {LABEL}\n")
    };
    let workspace = |v: &str| {
        format!(
            "workspace name part \"{v}\" of package revision name invalid\nworkspace name {v} invalid: {LABEL}\n"
        )
    };

    check_error("", &[head, &repository(""), &package(""), &workspace("")].concat());
    check_error("hello", &[head, &package(""), &workspace("")].concat());
    check_error("repo.ws", &[head, &package("")].concat());
    check_error("repo.v1.2", &[head, &package("")].concat());
    check_error("v.", &[head, &package(""), &workspace("")].concat());
    check_error("repo..", &[head, &package(""), &workspace("")].concat());
    check_error("repo.Upper.main", &[head, &package("Upper")].concat());
    check_error("R.A.P.W", &[head, &repository("R"), &path("A"), &package("P"), &workspace("W")].concat());
    check_error(
        "r.a..b.p.w",
        &[
            head,
            "package path part \"a//b\" of object name invalid\npath a//b invalid: consecutive '/' characters are not \
             allowed\n",
        ]
        .concat(),
    );
}

#[test]
fn the_lines_about_the_whole_name() {
    let text = |name: &str, why: &str| {
        format!(
            "package revision kubernetes resource name invalid:\npackage revision kubernetes name \"{name}\" \
             invalid\npackage revision kubernetes name {name} invalid: {why}\n"
        )
    };
    for name in ["repo..pkg.ws", "repo.a-.b.pkg.ws", "repo.pkg.v1..2"] {
        check_error(name, &text(name, SUBDOMAIN));
    }
    let x = "x".repeat(63);
    let longest = format!("{}.{x}.{x}.{x}", &x[2..]);
    assert_eq!(longest.len(), 253);
    assert!(ObjectName::parse(&longest).is_ok());
    let longer = format!("x{longest}");
    check_error(&longer, &text(&longer, "must be no more than 253 characters"));
}

#[test]
fn names_that_would_be_read_differently_are_not_made() {
    let compose = |package: &str, workspace: &str| {
        ObjectName::compose(
            &RepositoryName::try_from("repo").unwrap(),
            &PackageName::try_from(package).unwrap(),
            &WorkspaceName::try_from(workspace).unwrap(),
        )
    };
    for (package, workspace) in [("v1", "2"), ("a/v1", "2"), ("a/v1/2", "3"), ("v0", "0")] {
        let error = compose(package, workspace).expect_err("it reads as a version");
        assert!(matches!(error, Error::Ambiguous { .. }), "{package} {workspace}: {error}");
    }
    let text = "package revision kubernetes resource name invalid:\nworkspace \"2\" of package \"v1\" makes the name \
                \"repo.v1.2\", which reads as a version of another package; choose a workspace that has more than \
                digits\n";
    assert_eq!(compose("v1", "2").unwrap_err().to_string(), text);
    for (package, workspace) in
        [("v1", "v2"), ("v1", "a"), ("v1/a", "2"), ("v", "2"), ("1", "2"), ("v1", "2a")]
    {
        let read = compose(package, workspace);
        // `v.2` also ends like a version.
        assert_eq!(read.is_ok(), package != "v", "{package} {workspace}");
    }
}

#[test]
fn packages_have_names_too() {
    let name = PackageObjectName::parse("repo.a.b.pkg").unwrap();
    assert_eq!((name.repository().as_str(), name.package().as_str()), ("repo", "a/b/pkg"));
    assert_eq!(PackageObjectName::compose(name.repository(), name.package()), Ok(name));
    let error = PackageObjectName::parse("repo").unwrap_err().to_string();
    let text = format!(
        "package kubernetes resource name invalid:\npackage name part \"\" of object name invalid\npackage name  invalid: \
         {LABEL}\n"
    );
    assert_eq!(error, text);
    let error = PackageObjectName::parse("repo.a-.b.c").unwrap_err().to_string();
    let text = format!(
        "package kubernetes resource name invalid:\npackage kubernetes name \"repo.a-.b.c\" invalid\npackage kubernetes \
         name repo.a-.b.c invalid: {SUBDOMAIN}\n"
    );
    assert_eq!(error, text);
}

#[test]
fn the_wire_form_is_the_text_and_is_checked() {
    let name = ObjectName::parse("repo.pkg.v1.2").unwrap();
    assert_eq!(serde_json::to_string(&name).unwrap(), r#""repo.pkg.v1.2""#);
    assert_eq!(serde_json::from_str::<ObjectName>(r#""repo.pkg.v1.2""#).unwrap(), name);
    assert!(serde_json::from_str::<ObjectName>(r#""repo.pkg""#).is_err());
}

fn pieces() -> impl Strategy<Value = String> {
    let pieces = ["a", "repo", "v", "v1", ".v2", "2", ".", ".", "-", "A", "/", "ü", "..", "\0"];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_a_name_or_an_error(raw in prop_oneof![any::<String>(), pieces(), "[a-z0-9.v-]{0,40}"]) {
        if let Ok(name) = ObjectName::parse(&raw) {
            prop_assert_eq!(name.as_str(), &raw);
            let again = ObjectName::compose(name.repository(), name.package(), name.workspace());
            prop_assert_eq!(again, Ok(name.clone()));
            prop_assert_eq!(PackageName::imported(name.package().as_str()), Ok(name.package().clone()));
            prop_assert_eq!(WorkspaceName::imported(name.workspace().as_str()), Ok(name.workspace().clone()));
            prop_assert_eq!(RepositoryName::try_from(name.repository().as_str()), Ok(name.repository().clone()));
        }
        if let Ok(name) = PackageObjectName::parse(&raw) {
            prop_assert_eq!(name.as_str(), &raw);
            prop_assert_eq!(PackageObjectName::compose(name.repository(), name.package()), Ok(name.clone()));
        }
    }

    /// For everything that the API creates, name and parts determine each other.
    #[test]
    fn parts_come_back_out_of_the_name(
        repository in "[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?",
        package in "(v?[0-9]|[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?)(/(v?[0-9]|[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?)){0,4}",
        workspace in "v?[0-9]|[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?",
    ) {
        let repository = RepositoryName::try_from(repository).unwrap();
        let package = PackageName::try_from(package).unwrap();
        let workspace = WorkspaceName::try_from(workspace).unwrap();
        match ObjectName::compose(&repository, &package, &workspace) {
            Ok(name) => {
                let read = ObjectName::parse(name.as_str()).unwrap();
                prop_assert_eq!(read.repository(), &repository);
                prop_assert_eq!(read.package(), &package);
                prop_assert_eq!(read.workspace(), &workspace);
            }
            Err(error) => {
                prop_assert!(matches!(error, Error::Ambiguous { .. }), "{}", error);
                prop_assert!(workspace.as_str().bytes().all(|byte| byte.is_ascii_digit()), "{}", error);
            }
        }
    }
}
