//! `.krmignore`: which files of a package are not its resources.
//!
//! The file stands in the root of a package and speaks of that package's own files; packages inside it have their own.
//! It is read as Git reads a `.gitignore`. kpt reads some patterns otherwise; [`Dialect::Kpt`] does as kpt does, and
//! [`IgnoreRules::difference`] tells where that matters.

mod gitignore;
mod kpt;
mod wildmatch;

use std::fmt;

use lanai_types::SafePath;
use lanai_types::quote::Quoted;

/// The name of the file that holds the rules.
pub const FILE_NAME: &str = ".krmignore";

/// How many patterns a file may have.
pub const MAX_PATTERNS: usize = 10_000;

/// How many bytes a pattern may have.
pub const MAX_PATTERN_BYTES: usize = 4_096;

/// The rules of one `.krmignore`. An empty file ignores nothing.
#[derive(Clone, Debug, Default)]
pub struct IgnoreRules {
    gitignore: gitignore::Rules,
    kpt: kpt::Rules,
}

/// Whose reading of the patterns decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Git's, as its documentation for `.gitignore` has it.
    #[default]
    Gitignore,
    /// kpt's: accepting patterns win whatever the order, a slash in the middle does not anchor, `**` is `*`.
    Kpt,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file, or a symbolic link.
    File,
    /// A folder.
    Folder,
}

/// Why rules are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// [`MAX_PATTERNS`].
    #[error("line {line}: there are more than the {limit} patterns that are allowed")]
    TooManyPatterns {
        /// The line of the first that is too many, from 1.
        line: usize,
        /// What is allowed.
        limit: usize,
    },
    /// [`MAX_PATTERN_BYTES`].
    #[error("line {line}: the pattern has more than the {limit} bytes that are allowed")]
    PatternTooLong {
        /// The line, from 1.
        line: usize,
        /// What is allowed.
        limit: usize,
    },
}

/// A file that one dialect ignores and the other one does not. `Display` gives a warning for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file.
    pub path: SafePath,
    /// The dialect that ignores it.
    pub ignored_by: Dialect,
}

impl IgnoreRules {
    /// Reads the rules. There are no wrong patterns: one that makes no sense matches nothing.
    ///
    /// # Errors
    /// More or longer patterns than allowed.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let lines = || text.lines().enumerate();
        if let Some((at, _)) = lines().find(|(_, line)| line.len() > MAX_PATTERN_BYTES) {
            return Err(Error::PatternTooLong { line: at + 1, limit: MAX_PATTERN_BYTES });
        }
        let mut patterns = lines().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        if let Some((at, _)) = patterns.nth(MAX_PATTERNS) {
            return Err(Error::TooManyPatterns { line: at + 1, limit: MAX_PATTERNS });
        }
        Ok(Self { gitignore: gitignore::Rules::parse(text), kpt: kpt::Rules::parse(text) })
    }

    /// Whether the path, relative to the package of the rules, is ignored: itself, or by a folder above it.
    pub fn matches(&self, path: &SafePath, kind: EntryKind) -> bool {
        self.matches_in(Dialect::Gitignore, path, kind)
    }

    /// As [`IgnoreRules::matches`], in a dialect.
    pub fn matches_in(&self, dialect: Dialect, path: &SafePath, kind: EntryKind) -> bool {
        let ignores = |path: &str, kind| match dialect {
            Dialect::Gitignore => self.gitignore.ignores(path, kind),
            Dialect::Kpt => self.kpt.ignores(path, kind),
        };
        let text = path.as_str();
        let mut folders = text.match_indices('/').map(|(end, _)| &text[..end]);
        folders.any(|folder| ignores(folder, EntryKind::Folder)) || ignores(text, kind)
    }

    /// The files among `paths` on which the dialects differ, in the given order.
    pub fn difference<'a>(&self, paths: impl IntoIterator<Item = &'a SafePath>) -> Vec<Difference> {
        let differs = |path: &SafePath| {
            let git = self.matches_in(Dialect::Gitignore, path, EntryKind::File);
            let kpt = self.matches_in(Dialect::Kpt, path, EntryKind::File);
            let ignored_by = if git { Dialect::Gitignore } else { Dialect::Kpt };
            (git != kpt).then(|| Difference { path: path.clone(), ignored_by })
        };
        paths.into_iter().filter_map(differs).collect()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = Quoted(self.path.as_str());
        match self.ignored_by {
            Dialect::Gitignore => write!(f, "{FILE_NAME} ignores {path}, but kpt would read it"),
            Dialect::Kpt => write!(f, "{FILE_NAME} does not ignore {path}, but kpt would ignore it"),
        }
    }
}
