//! `.krmignore`: which files of a package are not its resources.
//!
//! The file stands in the root of a package and speaks of that package's own files; packages inside it have their own.
//! It is read as Git reads a `.gitignore`. kpt reads some patterns otherwise; [`Dialect::Kpt`] does as kpt does, and
//! [`IgnoreRules::difference`] tells where that matters.

mod gitignore;
mod kpt;
mod wildmatch;

use std::collections::HashMap;
use std::fmt;

use lanai_types::SafePath;
use lanai_types::quote::Quoted;

/// The name of the file that holds the rules.
pub const FILE_NAME: &str = ".krmignore";

/// How many patterns a file may have.
pub const MAX_PATTERNS: usize = 10_000;

/// How many bytes a pattern may have.
pub const MAX_PATTERN_BYTES: usize = 4_096;

/// How many steps may be taken to compare the patterns of a file with all paths that it is asked about. A step is a byte of a
/// pattern that is looked at; ordinary rules take some hundred for a path.
pub const MAX_STEPS: u64 = 1_000_000_000;

/// The rules of one `.krmignore`. An empty file ignores nothing. Asking is a change: what was found out about folders is kept.
#[derive(Clone, Debug, Default)]
pub struct IgnoreRules {
    gitignore: gitignore::Rules,
    kpt: kpt::Rules,
    folders: [HashMap<String, bool>; 2],
    steps: Steps,
}

/// How many steps are left.
#[derive(Clone, Copy, Debug)]
struct Steps(Option<u64>);

impl Default for Steps {
    fn default() -> Self {
        Self(Some(MAX_STEPS))
    }
}

impl Steps {
    fn took(&mut self, steps: usize) {
        self.0 = self.0.and_then(|left| left.checked_sub(steps as u64));
    }
}

/// Whose reading of the patterns decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

/// Why it cannot be said whether a file is ignored: [`MAX_STEPS`] were taken, for this one and those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("comparing the patterns of {FILE_NAME} with the files takes more steps than are allowed")]
pub struct TooManySteps;

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
        let (gitignore, kpt) = (gitignore::Rules::parse(text), kpt::Rules::parse(text));
        Ok(Self { gitignore, kpt, ..Self::default() })
    }

    /// With another limit than [`MAX_STEPS`].
    #[must_use]
    pub fn within(mut self, max_steps: u64) -> Self {
        self.steps = Steps(Some(max_steps));
        self
    }

    /// Whether the path, relative to the package of the rules, is ignored: itself, or by a folder above it.
    ///
    /// # Errors
    /// When that takes too long.
    pub fn matches(&mut self, path: &SafePath, kind: EntryKind) -> Result<bool, TooManySteps> {
        self.matches_in(Dialect::Gitignore, path, kind)
    }

    /// As [`IgnoreRules::matches`], in a dialect.
    ///
    /// # Errors
    /// When that takes too long.
    pub fn matches_in(
        &mut self,
        dialect: Dialect,
        path: &SafePath,
        kind: EntryKind,
    ) -> Result<bool, TooManySteps> {
        let text = path.as_str();
        let inner = text.rsplit_once('/').map_or("", |(folder, _)| folder);
        Ok(self.ignores_folder(dialect, inner)? || self.ignores(dialect, text, kind)?)
    }

    /// Whether a folder is ignored, or one around it.
    fn ignores_folder(&mut self, dialect: Dialect, folder: &str) -> Result<bool, TooManySteps> {
        let known = |rules: &Self, folder: &str| rules.folders[dialect as usize].get(folder).copied();
        // From the innermost that is known.
        let mut verdict = folder.is_empty().then_some(false);
        let mut unknown = Vec::new();
        let mut at = folder;
        while verdict.is_none() {
            verdict = known(self, at);
            if verdict.is_none() {
                unknown.push(at);
                match at.rsplit_once('/') {
                    Some((around, _)) => at = around,
                    None => verdict = Some(false),
                }
            }
        }
        let mut verdict = verdict.unwrap_or(false);
        for folder in unknown.into_iter().rev() {
            verdict = verdict || self.ignores(dialect, folder, EntryKind::Folder)?;
            self.folders[dialect as usize].insert(folder.to_owned(), verdict);
        }
        Ok(verdict)
    }

    /// Whether a path itself is ignored.
    fn ignores(&mut self, dialect: Dialect, path: &str, kind: EntryKind) -> Result<bool, TooManySteps> {
        let ignores = match dialect {
            Dialect::Gitignore => self.gitignore.ignores(path, kind, &mut self.steps),
            Dialect::Kpt => self.kpt.ignores(path, kind, &mut self.steps),
        };
        self.steps.0.map(|_| ignores).ok_or(TooManySteps)
    }

    /// The files among `paths` on which the dialects differ, in the given order.
    ///
    /// # Errors
    /// When that takes too long.
    pub fn difference<'a>(
        &mut self,
        paths: impl IntoIterator<Item = &'a SafePath>,
    ) -> Result<Vec<Difference>, TooManySteps> {
        let mut found = Vec::new();
        for path in paths {
            let git = self.matches_in(Dialect::Gitignore, path, EntryKind::File)?;
            let kpt = self.matches_in(Dialect::Kpt, path, EntryKind::File)?;
            let ignored_by = if git { Dialect::Gitignore } else { Dialect::Kpt };
            found.extend((git != kpt).then(|| Difference { path: path.clone(), ignored_by }));
        }
        Ok(found)
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
