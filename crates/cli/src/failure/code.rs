//! Why something went wrong, as a code that stays the same while words change.

use std::fmt;

/// A cause. Each has a page in `docs/errors`, which `lanai explain` prints; a code that was given away never means anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    Usage,
    Interrupted,
    Machine,
    Other,
    File,
    Exists,
    Text,
    Absent,
    Uncommitted,
    NoPackage,
    Kptfile,
    Upstream,
    Undecided,
    Decisions,
    Address,
    Limit,
    FunctionFailed,
    FunctionUnknown,
    FunctionSetup,
    GitUnreachable,
    GitCredentials,
    GitMissing,
    GitDamaged,
    NoServer,
    Unreachable,
    Unauthorized,
    Forbidden,
    NotFound,
    Stale,
    AlreadyThere,
    Invalid,
    Lifecycle,
    NotReady,
    Unavailable,
    ServerError,
    Several,
    Repository,
    Store,
    Serve,
    Cache,
    Applying,
}

impl Code {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 41] = [
        Self::Usage,
        Self::Interrupted,
        Self::Machine,
        Self::Other,
        Self::File,
        Self::Exists,
        Self::Text,
        Self::Absent,
        Self::Uncommitted,
        Self::NoPackage,
        Self::Kptfile,
        Self::Upstream,
        Self::Undecided,
        Self::Decisions,
        Self::Address,
        Self::Limit,
        Self::FunctionFailed,
        Self::FunctionUnknown,
        Self::FunctionSetup,
        Self::GitUnreachable,
        Self::GitCredentials,
        Self::GitMissing,
        Self::GitDamaged,
        Self::NoServer,
        Self::Unreachable,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::Stale,
        Self::AlreadyThere,
        Self::Invalid,
        Self::Lifecycle,
        Self::NotReady,
        Self::Unavailable,
        Self::ServerError,
        Self::Several,
        Self::Repository,
        Self::Store,
        Self::Serve,
        Self::Cache,
        Self::Applying,
    ];

    /// Its number and its page.
    const fn entry(self) -> (u16, &'static str) {
        macro_rules! page {
            ($number:literal) => {
                ($number, include_str!(concat!("../../../../docs/errors/LNA", stringify!($number), ".md")))
            };
        }
        match self {
            Self::Usage => page!(1001),
            Self::Interrupted => page!(1002),
            Self::Machine => page!(1003),
            Self::Other => page!(1004),
            Self::File => page!(1101),
            Self::Exists => page!(1102),
            Self::Text => page!(1103),
            Self::Absent => page!(1104),
            Self::Uncommitted => page!(1105),
            Self::NoPackage => page!(1201),
            Self::Kptfile => page!(1202),
            Self::Upstream => page!(1203),
            Self::Undecided => page!(1204),
            Self::Decisions => page!(1205),
            Self::Address => page!(1206),
            Self::Limit => page!(1207),
            Self::FunctionFailed => page!(1301),
            Self::FunctionUnknown => page!(1302),
            Self::FunctionSetup => page!(1303),
            Self::GitUnreachable => page!(1401),
            Self::GitCredentials => page!(1402),
            Self::GitMissing => page!(1403),
            Self::GitDamaged => page!(1404),
            Self::NoServer => page!(1501),
            Self::Unreachable => page!(1502),
            Self::Unauthorized => page!(1503),
            Self::Forbidden => page!(1504),
            Self::NotFound => page!(1505),
            Self::Stale => page!(1506),
            Self::AlreadyThere => page!(1507),
            Self::Invalid => page!(1508),
            Self::Lifecycle => page!(1509),
            Self::NotReady => page!(1510),
            Self::Unavailable => page!(1511),
            Self::ServerError => page!(1512),
            Self::Several => page!(1513),
            Self::Repository => page!(1514),
            Self::Store => page!(1601),
            Self::Serve => page!(1602),
            Self::Cache => page!(1603),
            Self::Applying => page!(1701),
        }
    }

    /// The page about it, in Markdown.
    pub const fn page(self) -> &'static str {
        self.entry().1
    }

    /// What it means, in a few words: the heading of its page.
    pub fn title(self) -> &'static str {
        let heading = self.page().lines().next().unwrap_or_default();
        heading.split_once(": ").map_or(heading, |(_, title)| title)
    }

    /// The code that somebody typed, with or without its letters.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let number: u16 = digits.parse().ok()?;
        Self::ALL.into_iter().find(|code| code.entry().0 == number)
    }

    /// The line that stands behind an error.
    pub fn line(self) -> String {
        format!("more: lanai explain {self}")
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LNA{}", self.entry().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_a_number_and_a_page_of_its_own() {
        let numbers: Vec<u16> = Code::ALL.iter().map(|code| code.entry().0).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
        for code in Code::ALL {
            assert!(code.page().starts_with(&format!("# {code}: ")), "{code}");
            for part in ["## Why", "## What to do"] {
                assert!(code.page().contains(part), "{code} says {part}");
            }
        }
    }

    #[test]
    fn codes_are_read_as_people_type_them() {
        for text in ["LNA1101", "lna1101", "1101", " LNA1101 "] {
            assert_eq!(Code::parse(text), Some(Code::File), "{text}");
        }
        for text in ["", "LNA", "LNA9999", "x"] {
            assert_eq!(Code::parse(text), None, "{text}");
        }
    }
}
