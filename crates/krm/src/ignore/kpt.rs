//! The rules as kpt reads them.

use super::{EntryKind, Steps};

/// The patterns of a file; their order does not matter.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    ignored: Vec<Pattern>,
    accepted: Vec<Pattern>,
}

#[derive(Clone, Debug)]
struct Pattern {
    segments: Vec<String>,
    /// Without a wildcard it is compared as it is, a backslash included.
    is_literal: bool,
    anchored: bool,
    folders_only: bool,
}

impl Rules {
    pub(super) fn parse(text: &str) -> Self {
        let mut rules = Self::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (patterns, rest) = match line.strip_prefix('!') {
                Some(rest) => (&mut rules.accepted, rest),
                None => (&mut rules.ignored, line),
            };
            patterns.extend(Pattern::parse(rest));
        }
        rules
    }

    /// Whether the path itself is ignored; what is above it is not looked at.
    pub(super) fn ignores(&self, path: &str, kind: EntryKind, steps: &mut Steps) -> bool {
        let mut any =
            |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.matches(path, kind, steps));
        any(&self.ignored) && !any(&self.accepted)
    }
}

impl Pattern {
    fn parse(text: &str) -> Option<Self> {
        // Of all backslashes only this one is taken away.
        let text = text.strip_prefix('\\').filter(|rest| rest.starts_with('#')).unwrap_or(text);
        let (text, folders_only) = text.strip_suffix('/').map_or((text, false), |rest| (rest, true));
        let (text, anchored) = text.strip_prefix('/').map_or((text, false), |rest| (rest, true));
        let segments = text.split('/').map(str::to_owned).collect();
        let is_literal = !text.contains(['*', '?', '[']);
        (!text.is_empty()).then_some(Self { segments, is_literal, anchored, folders_only })
    }

    /// Compares the pattern with as many of the last segments of the path as it has itself, or with the whole path.
    fn matches(&self, path: &str, kind: EntryKind, steps: &mut Steps) -> bool {
        if self.folders_only && kind == EntryKind::File {
            return false;
        }
        let mut segments = path.rsplit('/');
        let all = self.segments.iter().rev().all(|pattern| {
            let is_same = |segment: &str| {
                if self.is_literal {
                    steps.took(1);
                    return segment == pattern;
                }
                matches_segment(pattern, segment, steps).unwrap_or(false)
            };
            segments.next().is_some_and(is_same)
        });
        all && !(self.anchored && segments.next().is_some())
    }
}

/// A pattern that matches nothing, because it breaks off.
struct Malformed;

/// Whether a pattern of Go's `filepath.Match` matches a segment.
///
/// Only the last star is tried again, which is enough: the ones before it have matched as little as they can.
fn matches_segment(pattern: &str, text: &str, steps: &mut Steps) -> Result<bool, Malformed> {
    let (mut pattern, mut text) = (pattern, text);
    let mut again: Option<(&str, &str)> = None;
    loop {
        steps.took(1);
        if let Some(rest) = pattern.strip_prefix('*') {
            (pattern, again) = (rest, Some((rest, text)));
            continue;
        }
        if pattern.is_empty() && text.is_empty() {
            return Ok(true);
        }
        if let Some(rest) = one(pattern, text)? {
            let first = text.chars().next().map_or(0, char::len_utf8);
            (pattern, text) = (rest, &text[first..]);
            continue;
        }
        let Some((behind, from)) = again else { return Ok(false) };
        let mut rest = from.chars();
        if rest.next().is_none() {
            return Ok(false);
        }
        (pattern, text, again) = (behind, rest.as_str(), Some((behind, rest.as_str())));
    }
}

/// What is left of the pattern when its first element matches the first character of the text; `None` when it does
/// not.
fn one<'a>(pattern: &'a str, text: &str) -> Result<Option<&'a str>, Malformed> {
    let mut elements = pattern.chars();
    let Some(first) = text.chars().next() else { return Ok(None) };
    let matched = match elements.next() {
        None => false,
        Some('?') => true,
        Some('[') => {
            let (holds, rest) = set(elements.as_str(), first).ok_or(Malformed)?;
            return Ok(holds.then_some(rest));
        }
        Some('\\') => elements.next().ok_or(Malformed)? == first,
        Some(literal) => literal == first,
    };
    Ok(matched.then_some(elements.as_str()))
}

/// Reads a set up to its bracket, and tells whether the character is in it.
fn set(pattern: &str, character: char) -> Option<(bool, &str)> {
    let (negated, mut rest) = pattern.strip_prefix('^').map_or((false, pattern), |rest| (true, rest));
    let mut found = false;
    let mut first = true;
    loop {
        if let Some(behind) = rest.strip_prefix(']').filter(|_| !first) {
            return Some((found != negated, behind));
        }
        first = false;
        let low;
        (low, rest) = member(rest)?;
        let mut high = low;
        if let Some(behind) = rest.strip_prefix('-') {
            (high, rest) = member(behind)?;
        }
        found |= (low..=high).contains(&character);
    }
}

/// One character of a set, and what follows it.
fn member(pattern: &str) -> Option<(char, &str)> {
    let mut characters = pattern.chars();
    let first = match characters.next()? {
        '-' | ']' => return None,
        '\\' => characters.next()?,
        other => other,
    };
    (!characters.as_str().is_empty()).then_some((first, characters.as_str()))
}
