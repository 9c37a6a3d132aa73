//! The names under which objects are stored.

use std::fmt;
use std::str::FromStr;

use crate::error::Invalid;

/// The most bytes that each part of a key may have.
pub const MAX_PART: usize = 512;

/// The kind of an object, as Kubernetes writes a resource with its group: `packagerevisions.porch.kpt.dev`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(String);

impl Kind {
    /// Takes lower-case letters, digits, dots and dashes; at least one, at most [`MAX_PART`].
    pub fn new(raw: &str) -> Result<Self, Invalid> {
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        if raw.is_empty() || raw.len() > MAX_PART || !raw.bytes().all(fits) {
            let problem = "is not 1 to 512 lower-case letters, digits, dots and dashes";
            return Err(Invalid::Name { what: "kind", raw: raw.to_owned(), problem });
        }
        Ok(Self(raw.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of one object: kind, namespace and name.
///
/// Written `kind/namespace/name`; the namespace of an object that is in none is empty. Keys are ordered as the bytes of that text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(String);

impl Key {
    /// The key of an object in a namespace, or in none where that is empty.
    ///
    /// Namespaces and names are texts of at most [`MAX_PART`] bytes without slashes and control characters; a name has at least one.
    pub fn new(kind: &Kind, namespace: &str, name: &str) -> Result<Self, Invalid> {
        check_part("namespace", namespace)?;
        check_part("name", name)?;
        if name.is_empty() {
            return Err(Invalid::Name { what: "name", raw: String::new(), problem: "is empty" });
        }
        Ok(Self(format!("{kind}/{namespace}/{name}")))
    }

    /// The text of all three parts.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        self.part(0)
    }

    /// The namespace; empty for an object that is in none.
    pub fn namespace(&self) -> &str {
        self.part(1)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.part(2)
    }

    fn part(&self, at: usize) -> &str {
        self.0.split('/').nth(at).expect("a key is made of three parts")
    }
}

impl FromStr for Key {
    type Err = Invalid;

    fn from_str(raw: &str) -> Result<Self, Invalid> {
        let parts: Vec<&str> = raw.split('/').collect();
        let &[kind, namespace, name] = parts.as_slice() else {
            let problem = "does not have the form kind/namespace/name";
            return Err(Invalid::Name { what: "key", raw: raw.to_owned(), problem });
        };
        Self::new(&Kind::new(kind)?, namespace, name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

/// Keys that begin alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// All keys.
    pub const fn everything() -> Self {
        Self(String::new())
    }

    /// All objects of a kind.
    pub fn kind(kind: &Kind) -> Self {
        Self(format!("{kind}/"))
    }

    /// All objects of a kind in a namespace.
    pub fn namespace(kind: &Kind, namespace: &str) -> Result<Self, Invalid> {
        Self::names(kind, namespace, "")
    }

    /// All objects of a kind in a namespace whose names begin so.
    pub fn names(kind: &Kind, namespace: &str, beginning: &str) -> Result<Self, Invalid> {
        check_part("namespace", namespace)?;
        check_part("name", beginning)?;
        Ok(Self(format!("{kind}/{namespace}/{beginning}")))
    }

    /// True for keys that begin so.
    pub fn admits(&self, key: &Key) -> bool {
        key.as_str().starts_with(&self.0)
    }

    /// The first text that a key with this prefix can have.
    pub(crate) fn first(&self) -> &str {
        &self.0
    }

    /// A text behind all keys with this prefix, and before all others that are behind it.
    pub(crate) fn end(&self) -> String {
        // No key has a character above this one: it is the greatest, and stands for "whatever follows".
        format!("{}\u{10ffff}", self.0)
    }
}

fn check_part(what: &'static str, raw: &str) -> Result<(), Invalid> {
    let problem = if raw.len() > MAX_PART {
        "has more than 512 bytes"
    } else if raw.contains(|c: char| c == '/' || c == '\u{10ffff}' || c.is_control()) {
        "has a slash or a control character"
    } else {
        return Ok(());
    };
    Err(Invalid::Name { what, raw: raw.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_three_parts() {
        let key: Key = "secrets/shop/db".parse().unwrap();
        assert_eq!((key.kind(), key.namespace(), key.name()), ("secrets", "shop", "db"));
        let key: Key = "namespaces//shop".parse().unwrap();
        assert_eq!((key.kind(), key.namespace(), key.name()), ("namespaces", "", "shop"));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for raw in ["", "a/b", "a/b/", "A/b/c", "a/b/c/d", "a/b/c\n", "/b/c", "a/b/\u{10ffff}"] {
            assert!(raw.parse::<Key>().is_err(), "{raw:?}");
        }
    }

    #[test]
    fn parts_have_a_longest_length() {
        let kind = Kind::new(&"k".repeat(MAX_PART)).unwrap();
        assert!(Kind::new(&"k".repeat(MAX_PART + 1)).is_err());
        assert!(Key::new(&kind, &"n".repeat(MAX_PART), &"n".repeat(MAX_PART)).is_ok());
        assert!(Key::new(&kind, "", &"n".repeat(MAX_PART + 1)).is_err());
        assert!(Key::new(&kind, &"n".repeat(MAX_PART + 1), "n").is_err());
    }

    #[test]
    fn a_prefix_is_a_range_of_texts() {
        let kind = Kind::new("a").unwrap();
        for prefix in [Prefix::everything(), Prefix::kind(&kind), Prefix::names(&kind, "b", "c").unwrap()] {
            for raw in ["a/b/c", "a/b/cd", "a/b/d", "a/bc/c", "aa/b/c", "a//c", "b/b/c", "a/b/c\u{ffff}"] {
                let key: Key = raw.parse().unwrap();
                let in_range = *prefix.first() <= *key.as_str() && *key.as_str() < *prefix.end();
                assert_eq!(prefix.admits(&key), in_range, "{prefix:?} {key:?}");
            }
        }
    }
}
