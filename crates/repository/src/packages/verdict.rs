//! What the report of a push means for those who are in it.

use std::collections::BTreeMap;

use lanai_types::RefName;

use super::intent::Intent;
use super::push::Report;

/// What a report means for a batch.
pub(crate) enum Verdict {
    Landed,
    /// Something was not where we believed it to be.
    Moved(String),
    /// These were refused by name.
    Named(BTreeMap<RefName, String>),
    /// All of it was refused.
    Unnamed {
        name: RefName,
        words: String,
    },
}

pub(crate) fn judge(intent: &Intent, report: &Report) -> Verdict {
    let first = intent.commands.first().map_or(&intent.main, |command| &command.name);
    let with_words = |reason: &str| match report.words.as_str() {
        "" => reason.to_owned(),
        words => format!("{reason}: {words}"),
    };
    if let Some(reason) = &report.unpack {
        return Verdict::Unnamed { name: first.clone(), words: with_words(reason) };
    }
    let mut refused = BTreeMap::new();
    let mut moved = None;
    for command in &intent.commands {
        let Some(Some(reason)) = report.refs.get(command.name.as_str()) else { continue };
        match kind(reason) {
            Reason::Compare => moved = Some(with_words(reason)),
            Reason::Collateral => moved = moved.or_else(|| Some(with_words(reason))),
            Reason::Refusal => {
                refused.insert(command.name.clone(), reason.clone());
            }
        }
    }
    if refused.is_empty() {
        return moved.map_or(Verdict::Landed, Verdict::Moved);
    }
    let names_main = refused.contains_key(&intent.main);
    match refused.first_key_value() {
        Some((name, reason)) if names_main || refused.len() == intent.commands.len() => {
            let (name, reason) = refused.get_key_value(&intent.main).unwrap_or((name, reason));
            Verdict::Unnamed { name: name.clone(), words: with_words(reason) }
        }
        _ => Verdict::Named(refused),
    }
}

/// What a server means by a reason.
#[derive(Debug, PartialEq, Eq)]
enum Reason {
    /// The ref is not where it was expected, or somebody holds its lock.
    Compare,
    /// Another ref of the same push failed.
    Collateral,
    /// It does not want it.
    Refusal,
}

fn kind(reason: &str) -> Reason {
    let lower = reason.to_lowercase();
    let says = |texts: &[&str]| texts.iter().any(|text| lower.contains(text));
    if says(&["atomic push", "atomic transaction", "transaction failed"]) {
        return Reason::Collateral;
    }
    let compare = [
        "failed to update ref",
        "fetch first",
        "non-fast-forward",
        "stale info",
        "already exists",
        "but expected",
        "cannot lock ref",
        "failed to lock",
        "unable to resolve reference",
        "reference not found",
        "incorrect old value",
        "stale file handle",
        "unable to migrate objects",
    ];
    if says(&compare) { Reason::Compare } else { Reason::Refusal }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_apart() {
        for (reason, expected) in [
            ("failed to update ref", Reason::Compare),
            ("atomic push failure", Reason::Collateral),
            ("atomic transaction failed", Reason::Collateral),
            ("pre-receive hook declined", Reason::Refusal),
            ("hook declined", Reason::Refusal),
            ("protected branch hook declined", Reason::Refusal),
            ("deletion prohibited", Reason::Refusal),
            ("non-fast-forward", Reason::Compare),
        ] {
            assert_eq!(kind(reason), expected, "{reason}");
        }
    }
}
