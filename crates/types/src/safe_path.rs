//! Paths inside a package.

use std::str::FromStr;

use crate::{
    PathLimits, dot_git,
    quote::Quoted,
    text::{text_access, text_forms},
};

/// A relative path inside a package, that can be written below a folder of a Unix system and into any Git tree without
/// surprise. (Names that Windows reserves, such as `CON` or `a:b`, are not looked for.)
///
/// Segments are separated by single slashes. There is no empty, `.` or `..` segment, no backslash, no control character
/// (NUL, C0, DEL, C1), nothing that any file system could take for `.git`, and no more than [`PathLimits::DEFAULT`]
/// allows. The text is kept as it came: no case, Unicode form or slash is changed, so two paths are equal exactly when
/// their bytes are.
///
/// Paths are ordered by their bytes, which keeps everything below one folder together and is Git's order of files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafePath(String);

/// Why a text is not a path inside a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing at all.
    #[error("path \"\" is empty")]
    Empty,
    /// Starts with a slash.
    #[error("path {} is absolute; paths are relative to the package", Quoted(.0))]
    Absolute(String),
    /// Two slashes together, or one at the end.
    #[error("path {} has an empty segment", Quoted(.0))]
    EmptySegment(String),
    /// A segment `.` or `..`.
    #[error("path {} has a segment \".\" or \"..\"", Quoted(.0))]
    DotSegment(String),
    /// A backslash, which is a slash on some systems.
    #[error("path {} has a backslash", Quoted(.0))]
    Backslash(String),
    /// NUL, another control character, or DEL.
    #[error("path {} has a control character", Quoted(.0))]
    ControlCharacter(String),
    /// A segment that some file system takes for `.git`.
    #[error("path {} leads into a git repository's own folder on some file systems", Quoted(.0))]
    DotGit(String),
    /// More bytes than allowed.
    #[error("path {} has {} bytes, more than the {limit} that are allowed", Quoted(path), path.len())]
    TooLong {
        /// The path.
        path: String,
        /// What is allowed.
        limit: usize,
    },
    /// More segments than allowed.
    #[error("path {} has more than the {limit} segments that are allowed", Quoted(path))]
    TooDeep {
        /// The path.
        path: String,
        /// What is allowed.
        limit: usize,
    },
    /// A segment with more bytes than allowed.
    #[error("path {} has a segment of more than the {limit} bytes that are allowed", Quoted(path))]
    SegmentTooLong {
        /// The path.
        path: String,
        /// What is allowed.
        limit: usize,
    },
}

impl SafePath {
    /// Parses a path under limits that are tighter than the default; wider ones change nothing.
    pub fn parse_within(raw: &str, limits: &PathLimits) -> Result<Self, Error> {
        check(raw, &tightest(*limits, PathLimits::DEFAULT))?;
        Ok(Self(raw.to_owned()))
    }

    /// The path below this one. Fails only where the two together are too long or too deep.
    pub fn join(&self, below: &Self) -> Result<Self, Error> {
        format!("{}/{}", self.0, below.0).parse()
    }

    /// The folder that the path is in; `None` at the root of the package.
    pub fn parent(&self) -> Option<Self> {
        let (parent, _) = self.0.rsplit_once('/')?;
        Some(Self(parent.to_owned()))
    }

    /// The last segment.
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(self.as_str(), |(_, name)| name)
    }

    /// What follows the last dot of the file name. A dot at its start hides a file and begins no extension.
    pub fn extension(&self) -> Option<&str> {
        let (stem, extension) = self.file_name().rsplit_once('.')?;
        (!stem.is_empty()).then_some(extension)
    }

    /// The segments from the root down; there is at least one.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// True when the path is `folder` or lies below it. Whole segments count: `ab/c` does not start with `a`.
    pub fn starts_with(&self, folder: &Self) -> bool {
        self == folder || self.below(folder).is_some()
    }

    /// The path as seen from `folder`; `None` when it does not lie below it, or is the folder itself.
    pub fn strip_prefix(&self, folder: &Self) -> Option<Self> {
        self.below(folder).map(|rest| Self(rest.to_owned()))
    }

    fn below(&self, folder: &Self) -> Option<&str> {
        self.0.strip_prefix(folder.as_str())?.strip_prefix('/')
    }
}

impl FromStr for SafePath {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        check(raw, &PathLimits::DEFAULT)?;
        Ok(Self(raw.to_owned()))
    }
}

text_access!(SafePath);
text_forms!(SafePath, Error);

fn tightest(a: PathLimits, b: PathLimits) -> PathLimits {
    PathLimits {
        max_bytes: a.max_bytes.min(b.max_bytes),
        max_depth: a.max_depth.min(b.max_depth),
        max_segment_bytes: a.max_segment_bytes.min(b.max_segment_bytes),
    }
}

fn check(raw: &str, limits: &PathLimits) -> Result<(), Error> {
    if raw.is_empty() {
        return Err(Error::Empty);
    }
    if raw.len() > limits.max_bytes {
        return Err(Error::TooLong { path: raw.to_owned(), limit: limits.max_bytes });
    }
    if raw.starts_with('/') {
        return Err(Error::Absolute(raw.to_owned()));
    }
    if raw.contains('\\') {
        return Err(Error::Backslash(raw.to_owned()));
    }
    if raw.contains(char::is_control) {
        return Err(Error::ControlCharacter(raw.to_owned()));
    }
    for (index, segment) in raw.split('/').enumerate() {
        check_segment(raw, segment, limits)?;
        if index >= limits.max_depth {
            return Err(Error::TooDeep { path: raw.to_owned(), limit: limits.max_depth });
        }
    }
    Ok(())
}

fn check_segment(raw: &str, segment: &str, limits: &PathLimits) -> Result<(), Error> {
    match segment {
        "" => Err(Error::EmptySegment(raw.to_owned())),
        "." | ".." => Err(Error::DotSegment(raw.to_owned())),
        _ if segment.len() > limits.max_segment_bytes => {
            Err(Error::SegmentTooLong { path: raw.to_owned(), limit: limits.max_segment_bytes })
        }
        _ if dot_git::is_disguise(segment) => Err(Error::DotGit(raw.to_owned())),
        _ => Ok(()),
    }
}
