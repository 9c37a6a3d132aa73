use lanai_types::{SafePath, safe_path::Error};
use proptest::prelude::*;

fn path(raw: &str) -> SafePath {
    SafePath::try_from(raw).expect("a safe path")
}

fn check(raw: &str, expected: Result<(), &str>) {
    let actual = SafePath::try_from(raw).map(|_| ()).map_err(|error| error.to_string());
    assert_eq!(actual, expected.map_err(str::to_owned), "{raw:?}");
}

#[test]
fn paths_that_are_safe() {
    let paths = [
        "Kptfile",
        "a/b/c.yaml",
        ".gitignore",
        ".gitattributes",
        ".github/x.yaml",
        "git",
        "git~",
        "git~1x",
        "xgit~1",
        "a.git",
        "..a",
        "a..",
        "...",
        " ",
        "-",
        "~",
        "a:b",
        "ünï/日本.yaml",
        "a\u{200c}b",
        "%2e%2e",
        "a b.yaml",
    ];
    for raw in paths {
        check(raw, Ok(()));
    }
}

#[test]
fn paths_that_leave_the_package() {
    check("", Err(r#"path "" is empty"#));
    check("/", Err(r#"path "/" is absolute; paths are relative to the package"#));
    check("/etc/passwd", Err(r#"path "/etc/passwd" is absolute; paths are relative to the package"#));
    check(".", Err(r#"path "." has a segment "." or "..""#));
    check("..", Err(r#"path ".." has a segment "." or "..""#));
    check("a/../b", Err(r#"path "a/../b" has a segment "." or "..""#));
    check("a/./b", Err(r#"path "a/./b" has a segment "." or "..""#));
    check("a//b", Err(r#"path "a//b" has an empty segment"#));
    check("a/", Err(r#"path "a/" has an empty segment"#));
    check(r"a\..\b", Err(r#"path "a\\..\\b" has a backslash"#));
    check(r"C:\x", Err(r#"path "C:\\x" has a backslash"#));
}

#[test]
fn paths_with_characters_that_nobody_sees() {
    for character in ['\0', '\u{1}', '\n', '\u{1b}', '\u{1f}', '\u{7f}', '\u{80}', '\u{85}', '\u{9f}'] {
        let raw = format!("a{character}b");
        assert_eq!(SafePath::try_from(raw.as_str()), Err(Error::ControlCharacter(raw)));
    }
    check("a\0b", Err(r#"path "a\x00b" has a control character"#));
}

#[test]
fn paths_into_a_repository_in_any_disguise() {
    let segments = [
        ".git",
        ".GIT",
        ".Git",
        ".git.",
        ".git ",
        ".git. . .",
        ".git...",
        "git~1",
        "GIT~1",
        "Git~2",
        "git~1.",
        "git~1 ",
        "git~1:x",
        "g\u{200c}it~1",
        ".g\u{200c}it",
        "\u{feff}.git",
        ".git\u{202e}",
        ".gi\u{206f}T",
        ".git:",
        ".git:x",
        ".git::$INDEX_ALLOCATION",
        ".git ::$DATA",
        ".GIT.:x:y",
        ".g\u{200d}it. :x",
    ];
    for segment in segments {
        for raw in [
            segment.to_owned(),
            format!("{segment}/config"),
            format!("a/{segment}"),
            format!("a/{segment}/b"),
        ] {
            assert_eq!(SafePath::try_from(raw.as_str()), Err(Error::DotGit(raw)));
        }
    }
}

#[test]
fn parts_of_a_path() {
    let deep = path("a/b.d/c.tar.gz");
    assert_eq!(deep.file_name(), "c.tar.gz");
    assert_eq!(deep.extension(), Some("gz"));
    assert_eq!(deep.parent(), Some(path("a/b.d")));
    assert_eq!(deep.components().collect::<Vec<_>>(), ["a", "b.d", "c.tar.gz"]);
    assert_eq!(path("Kptfile").parent(), None);
    assert_eq!(path("Kptfile").file_name(), "Kptfile");
    assert_eq!(path("a.d/Kptfile").extension(), None);
    assert_eq!(path(".hidden").extension(), None);
    assert_eq!(path(".hidden.yaml").extension(), Some("yaml"));
    assert_eq!(path("a.").extension(), Some(""));
}

#[test]
fn whole_segments_count_in_prefixes() {
    let folder = path("a/b");
    for (raw, starts, rest) in [
        ("a/b", true, None),
        ("a/b/c", true, Some("c")),
        ("a/b/c/d", true, Some("c/d")),
        ("a/bc", false, None),
        ("a", false, None),
        ("x/a/b", false, None),
    ] {
        assert_eq!(path(raw).starts_with(&folder), starts, "{raw}");
        assert_eq!(path(raw).strip_prefix(&folder), rest.map(path), "{raw}");
    }
}

#[test]
fn paths_are_ordered_by_bytes() {
    let mut paths: Vec<_> = ["b", "a/c", "a-b", "a/b/x", "a", "ü", "B", "a.b"].map(path).to_vec();
    paths.sort();
    let sorted: Vec<_> = paths.iter().map(SafePath::as_str).collect();
    assert_eq!(sorted, ["B", "a", "a-b", "a.b", "a/b/x", "a/c", "b", "ü"]);
}

#[test]
fn the_wire_form_is_the_text_and_is_checked() {
    assert_eq!(serde_json::to_string(&path("a/b")).unwrap(), r#""a/b""#);
    assert_eq!(serde_json::from_str::<SafePath>(r#""a/\u0062""#).unwrap(), path("a/b"));
    let error = serde_json::from_str::<SafePath>(r#""a/../b""#).unwrap_err();
    assert!(error.to_string().starts_with(r#"path "a/../b" has a segment"#), "{error}");
}

/// Text made of the pieces that the rules speak about.
fn pieces() -> impl Strategy<Value = String> {
    let pieces = [
        "a", "b.yaml", "/", "/", ".", "..", ".git", "GIT", "git~1", "~1", "\u{200c}", "\u{feff}", ":", " ",
        "\\", "\0", "\u{7f}", "\u{85}", "ü", "$DATA",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..8).prop_map(|pieces| pieces.concat())
}

/// Says in other words what must not be in a path: what is left of a segment, when everything that a file system might
/// drop is dropped, is not `.git`.
fn is_harmless(segment: &str) -> bool {
    let (before_colon, _) = segment.split_once(':').unwrap_or((segment, ""));
    let mut left: String = before_colon.chars().filter(char::is_ascii).collect();
    while left.ends_with(['.', ' ']) {
        left.pop();
    }
    !left.eq_ignore_ascii_case(".git") && !left.eq_ignore_ascii_case("git~1")
}

proptest! {
    #[test]
    fn any_text_is_a_path_or_an_error_and_paths_keep_the_rules(raw in prop_oneof![any::<String>(), pieces()]) {
        if let Ok(path) = SafePath::try_from(raw.as_str()) {
            prop_assert_eq!(path.as_str(), &raw);
            prop_assert_eq!(path.to_string().parse(), Ok(path.clone()));
            prop_assert!(!raw.contains(['\\', '\0']) && !raw.contains(char::is_control));
            for segment in raw.split('/') {
                prop_assert!(!["", ".", ".."].contains(&segment) && segment.len() <= 255);
                // A segment with other letters may become `.git` only in this test's eyes.
                if segment.chars().all(|c| c.is_ascii() || "\u{200c}\u{feff}".contains(c)) {
                    prop_assert!(is_harmless(segment), "{:?}", segment);
                }
            }
        }
    }

    #[test]
    fn what_is_joined_can_be_taken_apart(a in "[a-z]{1,4}(/[a-z.]{0,3}[a-z]){0,3}", b in "[a-z]{1,4}(/[a-z]{1,4}){0,3}") {
        let (folder, below) = (path(&a), path(&b));
        let joined = folder.join(&below).unwrap();
        prop_assert!(joined.starts_with(&folder));
        prop_assert_eq!(joined.strip_prefix(&folder), Some(below.clone()));
        prop_assert_eq!(joined.file_name(), below.file_name());
        prop_assert_eq!(joined.components().count(), folder.components().count() + below.components().count());
        let parent = joined.parent().unwrap();
        prop_assert_eq!(parent.join(&path(joined.file_name())), Ok(joined));
    }
}
