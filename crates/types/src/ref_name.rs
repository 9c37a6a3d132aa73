//! Names of Git's refs.

use std::str::FromStr;

use crate::{
    dot_git,
    quote::Quoted,
    text::{text_access, text_forms},
};

/// The full name of a ref, such as `refs/heads/main`.
///
/// Starts with `refs/`, keeps all rules of `git check-ref-format`, and has no more than
/// [`MAX_BYTES`](Self::MAX_BYTES). Stricter than git where a ref may become a file: no control characters of any kind, no
/// segment that ends with `.lock` in any case or that can be taken for `.git`, none over
/// [`MAX_SEGMENT_BYTES`](Self::MAX_SEGMENT_BYTES).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(String);

/// Why a text is not the full name of a ref.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Does not start with `refs/`.
    #[error("ref {} does not start with \"refs/\"", Quoted(.0))]
    NotFull(String),
    /// More bytes than allowed.
    #[error("ref {} has {} bytes, more than the {} that are allowed", Quoted(.0), .0.len(), RefName::MAX_BYTES)]
    TooLong(String),
    /// Two slashes together, or one at the end.
    #[error("ref {} has an empty segment", Quoted(.0))]
    EmptySegment(String),
    /// A segment that begins with a dot.
    #[error("ref {} has a segment that begins with a dot", Quoted(.0))]
    LeadingDot(String),
    /// A segment that ends with `.lock`, which Git needs for itself.
    #[error("ref {} has a segment that ends with \".lock\"", Quoted(.0))]
    Lock(String),
    /// A segment that some file system takes for `.git`.
    #[error("ref {} has a segment that can be taken for \".git\"", Quoted(.0))]
    DotGit(String),
    /// A segment with more bytes than a file's name can have, with room for `.lock`.
    #[error("ref {} has a segment with more than {} bytes", Quoted(.0), RefName::MAX_SEGMENT_BYTES)]
    LongSegment(String),
    /// `..`, which separates the ends of a range.
    #[error("ref {} has two dots together", Quoted(.0))]
    DotDot(String),
    /// `@{`, which begins an entry of the reflog.
    #[error("ref {} has \"@{{\"", Quoted(.0))]
    AtBrace(String),
    /// A dot at the very end.
    #[error("ref {} ends with a dot", Quoted(.0))]
    TrailingDot(String),
    /// A blank, a control character, DEL, or one of `~^:?*[\`.
    #[error("ref {} has the character {character:?}, which refs may not have", Quoted(name))]
    Character {
        /// The name.
        name: String,
        /// The first such character.
        character: char,
    },
}

impl RefName {
    /// The most bytes that a name may have. Refs are files in many repositories, so their names are paths.
    pub const MAX_BYTES: usize = 1024;

    /// The most bytes that one segment may have.
    pub const MAX_SEGMENT_BYTES: usize = 250;

    /// The ref of a branch: `main` is `refs/heads/main`.
    pub fn branch(name: &str) -> Result<Self, Error> {
        format!("refs/heads/{name}").parse()
    }

    /// The ref of a tag: `pkg/v1` is `refs/tags/pkg/v1`.
    pub fn tag(name: &str) -> Result<Self, Error> {
        format!("refs/tags/{name}").parse()
    }

    /// The name of the branch, if the ref is one.
    pub fn branch_name(&self) -> Option<&str> {
        self.0.strip_prefix("refs/heads/")
    }

    /// The name of the tag, if the ref is one.
    pub fn tag_name(&self) -> Option<&str> {
        self.0.strip_prefix("refs/tags/")
    }

    /// The segments; there are at least two, and the first is `refs`.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }
}

impl FromStr for RefName {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        check(raw)?;
        Ok(Self(raw.to_owned()))
    }
}

text_access!(RefName);
text_forms!(RefName, Error);

fn check(raw: &str) -> Result<(), Error> {
    if !raw.starts_with("refs/") {
        return Err(Error::NotFull(raw.to_owned()));
    }
    if raw.len() > RefName::MAX_BYTES {
        return Err(Error::TooLong(raw.to_owned()));
    }
    if let Some(character) = raw.chars().find(|c| is_forbidden(*c)) {
        return Err(Error::Character { name: raw.to_owned(), character });
    }
    if raw.contains("..") {
        return Err(Error::DotDot(raw.to_owned()));
    }
    if raw.contains("@{") {
        return Err(Error::AtBrace(raw.to_owned()));
    }
    for segment in raw.split('/') {
        check_segment(raw, segment)?;
    }
    if raw.ends_with('.') {
        return Err(Error::TrailingDot(raw.to_owned()));
    }
    Ok(())
}

fn check_segment(raw: &str, segment: &str) -> Result<(), Error> {
    if segment.is_empty() {
        return Err(Error::EmptySegment(raw.to_owned()));
    }
    if segment.starts_with('.') {
        return Err(Error::LeadingDot(raw.to_owned()));
    }
    // Refs are files in many repositories, some of them on disks that do not tell upper from lower case.
    if segment.to_ascii_lowercase().ends_with(".lock") {
        return Err(Error::Lock(raw.to_owned()));
    }
    if dot_git::is_disguise(segment) {
        return Err(Error::DotGit(raw.to_owned()));
    }
    if segment.len() > RefName::MAX_SEGMENT_BYTES {
        return Err(Error::LongSegment(raw.to_owned()));
    }
    Ok(())
}

fn is_forbidden(character: char) -> bool {
    character.is_control() || matches!(character, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\')
}
