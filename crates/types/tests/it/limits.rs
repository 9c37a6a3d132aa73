use lanai_types::{ByteSize, Limits, PathLimits, RefName, SafePath, YamlLimits, dns};

#[test]
fn the_defaults_are_the_documented_ones() {
    let limits = Limits::default();
    assert_eq!(limits.max_document, ByteSize::mib(10));
    assert_eq!(limits.max_opaque, ByteSize::gib(1));
    assert_eq!(limits.max_stream, ByteSize::mib(256));
    assert_eq!(limits.max_request_body.get(), 6_291_456);
    assert_eq!(limits.max_files, 100_000);
    assert_eq!(limits.path, PathLimits { max_bytes: 1024, max_depth: 64, max_segment_bytes: 255 });
    assert_eq!(
        limits.yaml,
        YamlLimits {
            max_bytes: 268_435_456,
            max_depth: 1_000,
            max_nodes: 20_000_000,
            max_expanded_nodes: 10_000_000,
            max_documents: 1_000_000,
        }
    );
}

#[test]
fn a_size_admits_exactly_itself() {
    assert!(ByteSize::kib(1).admits(1024));
    assert!(!ByteSize::kib(1).admits(1025));
}

/// A path of so many segments and bytes, with its extra bytes in the first segments.
fn path_of(segments: usize, bytes: usize) -> String {
    let mut parts = vec![1; segments];
    let mut left = bytes - (2 * segments - 1);
    for part in &mut parts {
        let extra = left.min(254);
        *part += extra;
        left -= extra;
    }
    parts.iter().map(|length| "x".repeat(*length)).collect::<Vec<_>>().join("/")
}

#[test]
fn paths_end_at_1024_bytes() {
    assert_eq!(path_of(6, 1024).len(), 1024);
    assert!(SafePath::try_from(path_of(6, 1024)).is_ok());
    let error = SafePath::try_from(path_of(6, 1025)).expect_err("one byte too many");
    assert!(matches!(error, lanai_types::safe_path::Error::TooLong { limit: 1024, .. }));
}

#[test]
fn paths_end_at_64_segments() {
    assert!(SafePath::try_from(path_of(64, 127)).is_ok());
    let error = SafePath::try_from(path_of(65, 129)).expect_err("one segment too many");
    assert!(matches!(error, lanai_types::safe_path::Error::TooDeep { limit: 64, .. }));
}

#[test]
fn segments_end_at_255_bytes_not_characters() {
    assert!(SafePath::try_from("x".repeat(255)).is_ok());
    assert!(SafePath::try_from(format!("{}x", "ü".repeat(127))).is_ok());
    let error = SafePath::try_from("ü".repeat(128)).expect_err("256 bytes");
    assert!(matches!(error, lanai_types::safe_path::Error::SegmentTooLong { limit: 255, .. }));
}

#[test]
fn joining_keeps_the_limits() {
    let long = SafePath::try_from(path_of(4, 1022)).unwrap();
    let a = SafePath::try_from("a").unwrap();
    let ab = SafePath::try_from("ab").unwrap();
    assert_eq!(long.join(&a).unwrap().as_str().len(), 1024);
    assert!(long.join(&ab).is_err());
}

#[test]
fn tighter_limits_hold_and_wider_ones_do_not() {
    let tight = PathLimits { max_bytes: 9, max_depth: 2, max_segment_bytes: 4 };
    for (path, is_ok) in [("abcd/efgh", true), ("abcde", false), ("a/b/c", false), ("abcd/efgh/", false)] {
        assert_eq!(SafePath::parse_within(path, &tight).is_ok(), is_ok, "{path}");
    }
    let wide = PathLimits { max_bytes: 9_999, max_depth: 999, max_segment_bytes: 999 };
    assert!(SafePath::parse_within(&"x".repeat(256), &wide).is_err());
    assert!(SafePath::parse_within(&path_of(65, 129), &wide).is_err());
}

#[test]
fn refs_end_at_1024_bytes() {
    let of = |bytes: usize| {
        let left = bytes - "refs/heads/".len();
        let name: String =
            (0..left).map(|at| if at % 200 == 199 && at + 1 < left { '/' } else { 'x' }).collect();
        RefName::branch(&name)
    };
    assert!(of(RefName::MAX_BYTES).is_ok());
    assert!(of(RefName::MAX_BYTES + 1).is_err());
}

#[test]
fn labels_end_at_63_and_subdomains_at_253() {
    assert!(dns::check_label(&"a".repeat(63)).is_ok());
    assert_eq!(
        dns::check_label(&"a".repeat(64)).unwrap_err().to_string(),
        "must be no more than 63 characters"
    );
    assert!(dns::check_subdomain(&"a".repeat(253)).is_ok());
    let error = dns::check_subdomain(&"a".repeat(254)).unwrap_err();
    assert_eq!(error.to_string(), "must be no more than 253 characters");
}
