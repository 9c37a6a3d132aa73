use std::process::{Command, Stdio};

use lanai_types::{RefName, ref_name::Error};
use proptest::prelude::*;

/// What git itself says.
#[allow(clippy::disallowed_methods, reason = "the real git is the oracle of this test")]
fn git_accepts(name: &str) -> bool {
    let mut git = Command::new("git");
    let status = git.arg("check-ref-format").arg(name).stderr(Stdio::null()).status();
    status.expect("git is installed where the tests run").success()
}

fn check(name: &str, expected: Result<(), &str>) {
    let actual = RefName::try_from(name).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(actual, expected.map_err(str::to_owned), "{name:?}");
    if name.starts_with("refs/") && !name.contains('\0') {
        assert_eq!(git_accepts(name), actual.is_ok(), "git about {name:?}");
    }
}

#[test]
fn names_that_git_takes() {
    let names = [
        "refs/heads/main",
        "refs/heads/drafts/pkg/ws",
        "refs/tags/pkg/v1.2.3",
        "refs/x",
        "refs/heads/@",
        "refs/heads/a@b",
        "refs/heads/a{b",
        "refs/heads/{@",
        "refs/heads/-dash",
        "refs/heads/a.lockx",
        "refs/heads/lock",
        "refs/heads/a.b/c",
        "refs/heads/a./b",
        "refs/heads/ünï/\u{200c}",
        "refs/heads/]!#$%&'()+,;<=>`|\"",
    ];
    for name in names {
        check(name, Ok(()));
    }
}

#[test]
fn names_that_git_refuses_and_why() {
    check("refs/", Err(r#"ref "refs/" has an empty segment"#));
    check("refs//a", Err(r#"ref "refs//a" has an empty segment"#));
    check("refs/a/", Err(r#"ref "refs/a/" has an empty segment"#));
    check("refs/.a", Err(r#"ref "refs/.a" has a segment that begins with a dot"#));
    check("refs/a/.b", Err(r#"ref "refs/a/.b" has a segment that begins with a dot"#));
    check("refs/a.lock", Err(r#"ref "refs/a.lock" has a segment that ends with ".lock""#));
    check("refs/a.lock/b", Err(r#"ref "refs/a.lock/b" has a segment that ends with ".lock""#));
    check("refs/a..b", Err(r#"ref "refs/a..b" has two dots together"#));
    check("refs/a@{b", Err(r#"ref "refs/a@{b" has "@{""#));
    check("refs/a.", Err(r#"ref "refs/a." ends with a dot"#));
    check("refs/a b", Err(r#"ref "refs/a b" has the character ' ', which refs may not have"#));
    check("refs/a\tb", Err(r#"ref "refs/a\tb" has the character '\t', which refs may not have"#));
    check("refs/a\0b", Err(r#"ref "refs/a\x00b" has the character '\0', which refs may not have"#));
    for character in ['~', '^', ':', '?', '*', '[', '\\', '\u{7f}', '\u{1}', '\n'] {
        let name = format!("refs/heads/a{character}b");
        assert!(
            matches!(RefName::try_from(name.as_str()), Err(Error::Character { character: c, .. }) if c == character)
        );
        assert!(!git_accepts(&name), "git about {name:?}");
    }
}

#[test]
fn names_that_are_refused_although_git_takes_them() {
    let long = format!("refs/heads/{}", "a".repeat(RefName::MAX_SEGMENT_BYTES + 1));
    for name in
        ["refs/heads/main.LOCK", "refs/heads/\u{85}", "refs/heads/\u{200c}.git", "refs/heads/git~1", &long]
    {
        assert!(RefName::try_from(name).is_err(), "{name:?}");
    }
    let just = format!("refs/heads/{}", "a".repeat(RefName::MAX_SEGMENT_BYTES));
    assert!(RefName::try_from(just.as_str()).is_ok());
}

#[test]
fn names_that_are_not_full() {
    for name in ["", "main", "heads/main", "refs", "HEAD", "/refs/a", "Refs/heads/a", "@"] {
        assert_eq!(RefName::try_from(name), Err(Error::NotFull(name.to_owned())));
    }
}

#[test]
fn branches_and_tags_know_their_names() {
    let branch = RefName::branch("drafts/a/b").unwrap();
    assert_eq!(branch.as_str(), "refs/heads/drafts/a/b");
    assert_eq!((branch.branch_name(), branch.tag_name()), (Some("drafts/a/b"), None));
    let tag = RefName::tag("a/v1").unwrap();
    assert_eq!((tag.branch_name(), tag.tag_name()), (None, Some("a/v1")));
    assert_eq!(tag.components().collect::<Vec<_>>(), ["refs", "tags", "a", "v1"]);
    assert!(RefName::branch("").is_err());
    assert!(RefName::branch("../main").is_err());
}

#[test]
fn the_wire_form_is_the_text_and_is_checked() {
    let name = RefName::branch("main").unwrap();
    assert_eq!(serde_json::to_string(&name).unwrap(), r#""refs/heads/main""#);
    assert_eq!(serde_json::from_str::<RefName>(r#""refs/heads/main""#).unwrap(), name);
    assert!(serde_json::from_str::<RefName>(r#""refs/heads/a..b""#).is_err());
}

/// Text made of the pieces that the rules speak about, so that generated names come close to the edges.
fn tail() -> impl Strategy<Value = String> {
    let pieces = [
        "a", "b", "/", "/", ".", "..", ".lock", "lock", "@", "{", "@{", "~", "^", ":", "?", "*", "[", "\\",
        " ", "-", "\t", "\u{7f}", "\u{80}", "ü", "\u{200c}", "v1", "}",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn git_agrees_on_generated_names(tail in tail()) {
        let name = format!("refs/{tail}");
        let stricter = |error: &Error| matches!(error, Error::Lock(_) | Error::DotGit(_) | Error::LongSegment(_) | Error::Character { .. });
        match RefName::try_from(name.as_str()) {
            Ok(_) => prop_assert!(git_accepts(&name), "git refuses {:?}", name),
            Err(error) => prop_assert!(!git_accepts(&name) || stricter(&error), "{}", error),
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_a_name_or_an_error_and_names_keep_the_rules(
        raw in prop_oneof![any::<String>(), tail().prop_map(|tail| format!("refs/heads/{tail}"))],
    ) {
        if let Ok(name) = RefName::try_from(raw.as_str()) {
            prop_assert_eq!(name.as_str(), &raw);
            prop_assert_eq!(name.to_string().parse(), Ok(name.clone()));
            prop_assert!(raw.starts_with("refs/") && raw.len() <= RefName::MAX_BYTES);
            prop_assert!(["..", "@{", "//"].iter().all(|bad| !raw.contains(bad)), "{:?}", raw);
            prop_assert!(!raw.contains(|c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c)));
            prop_assert!(name.components().all(|part| !part.starts_with('.')));
            prop_assert!(![&raw, "/"].concat().contains(".lock/"));
        }
    }
}
