//! What becomes of an object that has owners.

use crate::garbage::graph::Uid;

/// How an owner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is there.
    There,
    /// It waits until its dependents are deleted.
    Waiting,
    /// It is not there, or another object has its name.
    Absent,
    /// Nobody can say: its kind is not known, or cannot own this object.
    Unknown,
}

/// How a dependent is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// What becomes of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It stays as it is.
    Keep,
    /// It stays until more is known.
    Wait,
    /// It stays, and its references to these owners go.
    Unlink(Vec<Uid>),
    /// It goes.
    Delete(Policy),
}

/// Decides by the owners, whether something depends on the object itself, and how it asks to be deleted.
pub(crate) fn decide(owners: &[(Uid, State)], has_dependents: bool, wished: Policy) -> Verdict {
    let has = |state: State| owners.iter().any(|(_, found)| *found == state);
    if has(State::There) || owners.is_empty() {
        let lost: Vec<Uid> = owners
            .iter()
            .filter(|(_, state)| matches!(state, State::Absent | State::Waiting))
            .map(|(uid, _)| uid.clone())
            .collect();
        return if lost.is_empty() { Verdict::Keep } else { Verdict::Unlink(lost) };
    }
    if has(State::Unknown) {
        return Verdict::Wait;
    }
    // What is deleted before its owner has its own dependents deleted before it.
    let policy = if has(State::Waiting) && has_dependents { Policy::Foreground } else { wished };
    Verdict::Delete(policy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use State::{Absent, There, Unknown, Waiting};

    #[test]
    fn verdicts() {
        let check = |states: &[State], has_dependents: bool, expected: Verdict| {
            let owners: Vec<(Uid, State)> =
                states.iter().enumerate().map(|(at, state)| (at.to_string(), *state)).collect();
            assert_eq!(decide(&owners, has_dependents, Policy::Background), expected, "{states:?}");
        };
        let unlink = |uids: &[&str]| Verdict::Unlink(uids.iter().map(|uid| (*uid).to_owned()).collect());
        check(&[], false, Verdict::Keep);
        check(&[There], false, Verdict::Keep);
        check(&[There, Unknown], false, Verdict::Keep);
        check(&[There, Absent], false, unlink(&["1"]));
        check(&[Waiting, There, Absent], false, unlink(&["0", "2"]));
        check(&[Absent], true, Verdict::Delete(Policy::Background));
        check(&[Absent, Absent], false, Verdict::Delete(Policy::Background));
        check(&[Absent, Unknown], false, Verdict::Wait);
        check(&[Unknown], false, Verdict::Wait);
        check(&[Waiting], false, Verdict::Delete(Policy::Background));
        check(&[Waiting, Absent], true, Verdict::Delete(Policy::Foreground));
        assert_eq!(decide(&[("0".into(), Absent)], false, Policy::Orphan), Verdict::Delete(Policy::Orphan));
    }
}
