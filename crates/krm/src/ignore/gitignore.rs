//! The rules as Git reads them.

use super::wildmatch::Glob;
use super::{EntryKind, Steps};

/// The patterns of a file, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    patterns: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    glob: Glob,
    verdict: Verdict,
    scope: Scope,
    folders_only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Ignore,
    Accept,
}

/// What of a path the pattern is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The last segment; the pattern has no slash but one at its end.
    Name,
    /// The whole path.
    Path,
}

impl Rules {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let patterns = lines.filter(|line| !line.starts_with('#')).filter_map(Pattern::parse);
        Self { patterns: patterns.collect() }
    }

    /// What the last pattern says that matches the path itself; what is above it is not looked at.
    pub(super) fn ignores(&self, path: &str, kind: EntryKind, steps: &mut Steps) -> bool {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        let mut decides = |pattern: &&Pattern| {
            let subject = if pattern.scope == Scope::Name { name } else { path };
            !(pattern.folders_only && kind == EntryKind::File)
                && pattern.glob.matches(subject.as_bytes(), steps)
        };
        self.patterns
            .iter()
            .rev()
            .find(|pattern| decides(pattern))
            .is_some_and(|pattern| pattern.verdict == Verdict::Ignore)
    }
}

impl Pattern {
    /// Reads a line; `None` when nothing could match it.
    fn parse(line: &str) -> Option<Self> {
        let line = trim_end(line);
        let (verdict, rest) = match line.strip_prefix('!') {
            Some(rest) => (Verdict::Accept, rest),
            None => (Verdict::Ignore, line),
        };
        let (rest, folders_only) = match rest.strip_suffix('/') {
            Some(rest) => (rest, true),
            None => (rest, false),
        };
        let scope = if rest.contains('/') { Scope::Path } else { Scope::Name };
        let glob = rest.strip_prefix('/').unwrap_or(rest);
        let glob = Glob::parse(glob).filter(|_| !rest.is_empty())?;
        Some(Self { glob, verdict, scope, folders_only })
    }
}

/// Takes the spaces at the end off, up to one that is behind a backslash. A lone backslash at the end keeps all.
fn trim_end(line: &str) -> &str {
    let mut spaces = None;
    let mut bytes = line.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b' ' => spaces = spaces.or(Some(at)),
            b'\\' => {
                if bytes.next().is_none() {
                    return line;
                }
                spaces = None;
            }
            _ => spaces = None,
        }
    }
    &line[..spaces.unwrap_or(line.len())]
}
