//! The marks of a merge: what a resource was called upstream, so that it is known again when it has another name here.
//!
//! There is a comment on `metadata`, and an annotation that functions keep. Both are kpt's.

use std::fmt;

use lanai_yaml::NodeRef;

/// The annotation that remembers what a resource was called upstream: `group|kind|namespace|name`.
pub const UPSTREAM_IDENTIFIER: &str = "internal.kpt.dev/upstream-identifier";

const PREFIX: &str = "kpt-merge:";

/// What the comment says: namespace and name of a resource upstream. `Display` writes it, without the `#`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MergeMark {
    /// The namespace; empty where there is none.
    pub namespace: String,
    /// The name; empty for a resource that is marked though it has none.
    pub name: String,
}

impl MergeMark {
    /// Reads a comment; `None` for one that is no mark, or says nothing.
    pub fn parse(comment: &str) -> Option<Self> {
        let (namespace, name) = said(comment)?.split_once('/')?;
        Some(Self { namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// The mark on the `metadata` of a resource.
    pub fn of(root: NodeRef<'_>) -> Option<Self> {
        let (key, value) = root.own_entry("metadata")?;
        let comments = [value.line_comment(), key.line_comment()];
        comments.into_iter().flatten().find_map(|comment| Self::parse(&comment))
    }
}

/// Whether a comment is a mark, whatever it says.
pub fn is_mark(comment: &str) -> bool {
    said(comment).is_some()
}

fn said(comment: &str) -> Option<&str> {
    Some(comment.trim_start_matches(['#', ' ']).strip_prefix(PREFIX)?.trim())
}

impl fmt::Display for MergeMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX} {}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use lanai_yaml::Document;

    use super::*;

    fn check(comment: &str, expected: Option<(&str, &str)>) {
        let found = MergeMark::parse(comment);
        assert_eq!(found.as_ref().map(|mark| (&*mark.namespace, &*mark.name)), expected, "{comment}");
    }

    #[test]
    fn comments() {
        check("# kpt-merge: shop/web", Some(("shop", "web")));
        check("# kpt-merge: /web", Some(("", "web")));
        check("#kpt-merge:  /web  ", Some(("", "web")));
        check("# kpt-merge: shop/", Some(("shop", "")));
        check("# kpt-merge: a/b/c", Some(("a", "b/c")));
        check("# kpt-merge: web", None);
        check("# kpt-merged: /web", None);
        check("# see kpt-merge: /web", None);
        assert!(is_mark("# kpt-merge: web"));
        assert!(!is_mark("# mine"));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mark = MergeMark { namespace: "shop".into(), name: "web".into() };
        assert_eq!(mark.to_string(), "kpt-merge: shop/web");
        assert_eq!(MergeMark::parse(&format!("# {mark}")), Some(mark));
    }

    #[test]
    fn the_mark_of_a_resource() {
        let of = |text: &str| MergeMark::of(Document::parse(text).unwrap().root()).map(|mark| mark.name);
        assert_eq!(of("metadata: # kpt-merge: /a\n  name: b\n").as_deref(), Some("a"));
        assert_eq!(of("metadata: {name: b} # kpt-merge: /a\n").as_deref(), Some("a"));
        assert_eq!(of("# kpt-merge: /a\nmetadata:\n  name: b\n"), None);
        assert_eq!(of("kind: A\n"), None);
    }
}
