use std::{fmt::Display, str::FromStr};

use lanai_types::{
    BlobId, ByteSize, CommitId, FencingNumber, GitObjectId, LeaseId, Namespace, ObjectName, ResourceVersion,
    RevisionNumber, Sha256Digest, TreeId, Uid, quote::Quoted, revision_number::Meaning,
};
use proptest::prelude::*;

/// A text that is read and written back as it was, or the error.
fn check<T: FromStr + Display>(raw: &str, expected: Result<(), &str>)
where
    T::Err: Display,
{
    let actual = raw.parse::<T>().map(|value| value.to_string()).map_err(|error| error.to_string());
    assert_eq!(actual, expected.map(|()| raw.to_owned()).map_err(str::to_owned));
}

const SHA1: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
const SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn digests() {
    let digest = format!("sha256:{SHA256}");
    check::<Sha256Digest>(&digest, Ok(()));
    check::<Sha256Digest>("sha512:00", Err(r#"digest "sha512:00" does not start with "sha256:""#));
    check::<Sha256Digest>(
        "sha256:00",
        Err(r#"digest "sha256:00" does not have 64 lower-case hexadecimal digits"#),
    );
    assert!(digest.to_uppercase().replace("SHA", "sha").parse::<Sha256Digest>().is_err());
    assert!(format!("{digest}0").parse::<Sha256Digest>().is_err());

    let parsed: Sha256Digest = digest.parse().unwrap();
    assert_eq!(parsed.to_hex(), SHA256);
    assert_eq!(Sha256Digest::from_hex(SHA256), Ok(parsed));
    assert_eq!(Sha256Digest::from_bytes(*parsed.as_bytes()), parsed);
    assert!(Sha256Digest::from_hex(&digest).is_err());
}

#[test]
fn git_ids() {
    check::<GitObjectId>(SHA1, Ok(()));
    check::<GitObjectId>(SHA256, Ok(()));
    check::<CommitId>(SHA1, Ok(()));
    check::<TreeId>(SHA1, Ok(()));
    check::<BlobId>(SHA1, Ok(()));
    check::<CommitId>(
        "main",
        Err(
            r#""main" is not a git object id: it takes 40 (or, with SHA-256, 64) lower-case hexadecimal digits"#,
        ),
    );
    for raw in ["", &SHA1[1..], &SHA1.to_uppercase(), &format!("{SHA1}0"), &"ü".repeat(20)] {
        assert!(raw.parse::<GitObjectId>().is_err(), "{raw:?}");
    }
    let id: GitObjectId = SHA1.parse().unwrap();
    assert_eq!(id.short(), "da39a3e");
    assert!(!id.is_null());
    assert!("0".repeat(40).parse::<GitObjectId>().unwrap().is_null());
    assert_eq!(CommitId::new(id).object_id(), id);
    assert_eq!(format!("{:?}", TreeId::new(id)), format!("TreeId({SHA1})"));
    assert_eq!(id.as_bytes().len(), 20);
}

#[test]
fn resource_versions() {
    check::<ResourceVersion>("0", Ok(()));
    check::<ResourceVersion>("18446744073709551615", Ok(()));
    for raw in ["", "00", "01", "+1", "-1", "1 ", " 1", "0x1", "18446744073709551616", "a.b.1234"] {
        let error = format!(
            r#"resource version "{raw}" is not a decimal number below 2^64 without sign or leading zeros"#
        );
        check::<ResourceVersion>(raw, Err(&error));
    }
    assert_eq!(ResourceVersion::ZERO.next(), Some(ResourceVersion::new(1)));
    assert_eq!(ResourceVersion::new(u64::MAX).next(), None);
    assert_eq!(serde_json::to_string(&ResourceVersion::new(7)).unwrap(), r#""7""#);
    assert_eq!(serde_json::from_str::<ResourceVersion>(r#""7""#).unwrap().get(), 7);
    assert!(serde_json::from_str::<ResourceVersion>(r#""07""#).is_err());
}

#[test]
fn revision_numbers() {
    let number = |n: i64| RevisionNumber::try_from(n).unwrap();
    assert_eq!(number(-1).meaning(), Meaning::Unnumbered);
    assert_eq!(number(0).meaning(), Meaning::Unpublished);
    assert_eq!(number(1).meaning(), Meaning::Published);
    assert!(RevisionNumber::try_from(-2).is_err());
    assert_eq!(serde_json::to_string(&number(3)).unwrap(), "3");
    assert_eq!(serde_json::from_str::<RevisionNumber>("-1").unwrap(), RevisionNumber::UNNUMBERED);
    assert!(serde_json::from_str::<RevisionNumber>("-2").is_err());

    assert_eq!(RevisionNumber::next_after([]), Some(RevisionNumber::FIRST));
    assert_eq!(RevisionNumber::next_after([number(-1), number(0)]), Some(number(1)));
    assert_eq!(RevisionNumber::next_after([number(3), number(-1), number(7), number(0)]), Some(number(8)));
    assert_eq!(RevisionNumber::next_after([number(i64::MAX)]), None);
}

#[test]
fn revision_numbers_in_tags() {
    for (tag, number) in [
        ("v1", 1),
        ("v12", 12),
        ("v9223372036854775807", i64::MAX),
        ("v9223372036854775808", -1),
        ("v0", -1),
        ("v01", -1),
        ("v+1", -1),
        ("v-1", -1),
        ("v1.2", -1),
        ("v", -1),
        ("1", -1),
        ("V1", -1),
        ("", -1),
    ] {
        let read = RevisionNumber::of_tag(tag);
        assert_eq!(read.get(), number, "{tag}");
        assert_eq!(read.tag(), (number > 0).then(|| tag.to_owned()), "{tag}");
    }
    assert_eq!(RevisionNumber::UNPUBLISHED.tag(), None);
}

#[test]
fn fencing_numbers_grow() {
    let next = FencingNumber::FIRST.next().unwrap();
    assert!(next > FencingNumber::FIRST);
    assert_eq!(FencingNumber::new(u64::MAX).next(), None);
    assert_eq!(serde_json::to_string(&next).unwrap(), "2");
    assert_eq!(LeaseId::new(5).to_string(), "5");
}

/// Values that Porch's golden files pin.
#[test]
fn uids_of_package_revisions() {
    let uid = |namespace: &str, name: &str| {
        let namespace = Namespace::try_from(namespace).unwrap();
        Uid::of_package_revision(&namespace, &ObjectName::parse(name).unwrap()).to_string()
    };
    assert_eq!(uid("rpkg-init", "git.init-package.init-1"), "45ee0692-730a-51b2-9a1d-ad4f4ad55dc8");
    assert_eq!(uid("rpkg-copy", "git.basens-edit.copy-2"), "dc403caa-3f59-5a61-8a79-adcdf40bc52a");
    assert_eq!(uid("rpkg-push", "git.test-package.push"), "0e7dd104-514e-5455-b077-6f196b04165c");
    assert_ne!(uid("a", "git.test-package.push"), uid("b", "git.test-package.push"));
}

#[test]
fn uids() {
    check::<Uid>("45ee0692-730a-51b2-9a1d-ad4f4ad55dc8", Ok(()));
    for raw in [
        "",
        "45ee0692730a51b29a1dad4f4ad55dc8",
        "{45ee0692-730a-51b2-9a1d-ad4f4ad55dc8}",
        "45EE0692-730a-51b2-9a1d-ad4f4ad55dc8",
        "urn:uuid:45ee0692-730a-51b2-9a1d-ad4f4ad55dc8",
    ] {
        let error = format!(r#"uid "{raw}" is not a UUID in its lower-case form with hyphens"#);
        check::<Uid>(raw, Err(&error));
    }
}

#[test]
fn byte_sizes_are_exact() {
    for (raw, bytes, shown) in [
        ("0", 0, "0 B"),
        ("1", 1, "1 B"),
        ("1023 B", 1023, "1023 B"),
        ("1024B", 1024, "1 KiB"),
        ("1536 KiB", 1_572_864, "1536 KiB"),
        ("10MiB", 10_485_760, "10 MiB"),
        ("10Mi", 10_485_760, "10 MiB"),
        ("1 Ki", 1_024, "1 KiB"),
        ("6291456", 6_291_456, "6 MiB"),
        ("0007 GiB", 7_516_192_768, "7 GiB"),
        ("3 TiB", 3_298_534_883_328, "3 TiB"),
        ("18446744073709551615", u64::MAX, "18446744073709551615 B"),
    ] {
        let size: ByteSize = raw.parse().unwrap();
        assert_eq!(size.get(), bytes, "{raw}");
        assert_eq!(size.to_string(), shown, "{raw}");
    }
    assert_eq!(ByteSize::kib(1).get(), 1 << 10);
    assert_eq!(ByteSize::mib(1).get(), 1 << 20);
    assert_eq!(ByteSize::gib(1).get(), 1 << 30);
    assert_eq!(ByteSize::gib(u32::MAX).get(), u64::from(u32::MAX) << 30);
}

#[test]
fn texts_that_are_not_byte_sizes() {
    let number =
        |raw| format!(r#"size "{raw}" is not a whole number with an optional unit, such as "10 MiB""#);
    let unit = |raw| format!(r#"size "{raw}" has no unit of B, KiB, MiB, GiB, TiB"#);
    let large = |raw| format!(r#"size "{raw}" is too large: it does not fit into 64 bits"#);
    for raw in ["", "MiB", "-1", "+1", " 1", "٣"] {
        check::<ByteSize>(raw, Err(&number(raw)));
    }
    for raw in ["1.5 MiB", "1 MB", "1 mib", "1  MiB", "1 ", "1 MiB "] {
        check::<ByteSize>(raw, Err(&unit(raw)));
    }
    for raw in ["18446744073709551616", "16777216 TiB"] {
        check::<ByteSize>(raw, Err(&large(raw)));
    }
}

#[test]
fn quotes_are_those_of_go() {
    for (raw, quoted) in [
        ("plain", r#""plain""#),
        ("", r#""""#),
        ("a\"b\\c", r#""a\"b\\c""#),
        ("\u{7}\u{8}\u{c}\n\r\t\u{b}", r#""\a\b\f\n\r\t\v""#),
        ("\0\u{1b}\u{7f}", r#""\x00\x1b\x7f""#),
        ("\u{85}\u{200c}\u{feff}\u{a0}", r#""\u0085\u200c\ufeff\u00a0""#),
        ("\u{e0001}", r#""\U000e0001""#),
        ("ü日本e\u{301}'", "\"ü日本e\u{301}'\""),
    ] {
        assert_eq!(Quoted(raw).to_string(), quoted);
    }
}

/// What every parser promises: no panic, and what it reads is what it writes.
fn reads_what_it_writes<T: FromStr + Display + PartialEq + std::fmt::Debug>(raw: &str) {
    if let Ok(value) = raw.parse::<T>() {
        assert_eq!(value.to_string().parse::<T>().ok(), Some(value));
    }
}

proptest! {
    #[test]
    fn any_text_is_an_id_or_an_error(
        raw in prop_oneof![any::<String>(), "[0-9a-fA-F]{38,42}", "(sha256:)?[0-9a-f]{62,66}", "[0-9]{1,21} ?([KMGT]i)?B?",
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"],
    ) {
        reads_what_it_writes::<Sha256Digest>(&raw);
        reads_what_it_writes::<GitObjectId>(&raw);
        reads_what_it_writes::<CommitId>(&raw);
        reads_what_it_writes::<ResourceVersion>(&raw);
        reads_what_it_writes::<ByteSize>(&raw);
        reads_what_it_writes::<Uid>(&raw);
        let _ = RevisionNumber::of_tag(&raw);
        prop_assert!(!Quoted(&raw).to_string().contains(char::is_control));
    }

    #[test]
    fn values_are_read_as_they_were_written(sha1: [u8; 20], bytes: [u8; 32], number: u64, uid: [u8; 16]) {
        let digest = Sha256Digest::from_bytes(bytes);
        prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        for id in [GitObjectId::from_sha1(sha1), GitObjectId::from_sha256(bytes)] {
            prop_assert_eq!(id.to_string().parse(), Ok(id));
        }
        let version = ResourceVersion::new(number);
        prop_assert_eq!(version.to_string().parse(), Ok(version));
        for size in [ByteSize::bytes(number), ByteSize::bytes(number >> 20 << 20)] {
            prop_assert_eq!(size.to_string().parse(), Ok(size));
        }
        let uid = Uid::from_bytes(uid);
        prop_assert_eq!(uid.to_string().parse(), Ok(uid));
        prop_assert_eq!(Uid::from_bytes(*uid.as_bytes()), uid);
    }
}
