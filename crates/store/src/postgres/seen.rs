//! What this process was shown, and whether a server still has it.
//!
//! A server that took over from another one may lack the newest revisions, and may give their numbers to other writes before anybody looks. So
//! a number alone does not tell. Every batch of writes has a stamp by chance; a revision that is there with another stamp is another write.
//! Leases have no revisions: their numbers grow by steps of chance, so that two servers do not give the same.
//! Where a stamp is forgotten with its history, the timeline tells: a server that takes over begins a new one, and only on another timeline
//! can something be lost.

use std::sync::{Mutex, PoisonError};

use tokio_postgres::Row;

use super::query::unsigned;
use crate::jump::chance;
use crate::{Error, Revision};

/// A revision that this process was shown, with the stamp of its write; none where history begins, as after a restore. With it the newest
/// fencing number that was shown, and the timeline of the server that showed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) revision: Revision,
    pub(crate) stamp: Option<i64>,
    pub(crate) fence: u64,
    pub(crate) timeline: i64,
}

impl Seen {
    /// True if both are the same write.
    fn is_at(&self, other: &Self) -> bool {
        self.revision == other.revision && self.stamp == other.stamp
    }
}

/// The newest of what this process was shown.
#[derive(Debug)]
pub(crate) struct Newest(Mutex<Seen>);

/// What came of noting something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noted {
    Done,
    /// Something else was seen meanwhile. Whether the same server has both is to be asked before it is replaced.
    Meanwhile(Seen),
    /// Another write was seen under the same number.
    Contradicted,
}

impl Newest {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Seen { revision: Revision::ZERO, stamp: None, fence: 0, timeline: 0 }))
    }

    pub(crate) fn get(&self) -> Seen {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was found on a server that has what was seen before. What was seen is evidence, and is replaced only by something that
    /// stands for it.
    pub(crate) fn raise(&self, before: &Seen, found: &Seen) -> Noted {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        newest.fence = newest.fence.max(found.fence);
        if found.revision < newest.revision {
            return Noted::Done;
        }
        if found.revision == newest.revision {
            if found.stamp.is_some() && newest.stamp.is_some() && found.stamp != newest.stamp {
                return Noted::Contradicted;
            }
            if found.stamp == newest.stamp {
                // The same write, on a server that took over with it.
                newest.timeline = found.timeline;
            }
            return Noted::Done;
        }
        if !newest.is_at(before) {
            return Noted::Meanwhile(*newest);
        }
        *newest = Seen { fence: newest.fence, ..*found };
        Noted::Done
    }

    /// Notes where a server goes on that was moved ahead of everything.
    pub(crate) fn jumped(&self, to: &Seen) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if to.revision > newest.revision {
            *newest = Seen { fence: to.fence.max(newest.fence), ..*to };
        }
    }
}

/// What a server has at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum There {
    /// A version, with its stamp.
    Version(Option<i64>),
    Nothing,
}

impl There {
    /// Reads a revision and its stamp, which are null where there is none.
    pub(crate) fn read(row: &Row, from: usize) -> Self {
        match row.get::<_, Option<i64>>(from) {
            Some(_) => Self::Version(row.get(from + 1)),
            None => Self::Nothing,
        }
    }
}

/// What a server says of itself, and of a revision that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Testimony {
    pub(crate) head: Revision,
    pub(crate) horizon: Revision,
    /// Of the head.
    pub(crate) stamp: Option<i64>,
    /// The last fencing number.
    pub(crate) fence: u64,
    pub(crate) there: There,
    /// Of the server. The name of the file to which it writes begins with it.
    pub(crate) timeline: i64,
    /// The timeline on which everything was written anew, as behind something that was lost.
    pub(crate) renewed: Option<i64>,
}

impl Testimony {
    /// The columns of a testimony, of the tables `meta m LEFT JOIN version s ON s.revision = …`. The timeline is asked for once, not for
    /// each row.
    pub(crate) const COLUMNS: &str = "m.head, m.horizon, m.stamp, m.fence, s.revision, s.stamp,
        (SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint), m.renewed";

    /// How many columns these are.
    pub(crate) const WIDTH: usize = 8;

    /// Reads the columns, which are the first.
    pub(crate) fn read(row: &Row) -> Self {
        Self {
            head: Revision::new(unsigned(row, 0)),
            horizon: Revision::new(unsigned(row, 1)),
            stamp: row.get(2),
            fence: unsigned(row, 3),
            there: There::read(row, 4),
            timeline: row.get(6),
            renewed: row.get(7),
        }
    }

    /// The newest that the server has.
    pub(crate) fn newest(&self) -> Seen {
        Seen { revision: self.head, stamp: self.stamp, fence: self.fence, timeline: self.timeline }
    }

    /// True if the server has all that was seen of it.
    pub(crate) fn confirms(&self, seen: &Seen) -> bool {
        if seen.revision > self.head || seen.fence > self.fence {
            return false;
        }
        let is_newest = seen.revision == self.head && seen.stamp == self.stamp;
        match self.there {
            There::Version(stamp) => seen.stamp.is_none() || stamp == seen.stamp,
            There::Nothing if seen.revision > self.horizon => false,
            There::Nothing => is_newest || self.cannot_have_lost(seen),
        }
    }

    /// True if what was seen and is forgotten cannot have been something else: the server never took over since, or everything was
    /// written anew when it had.
    fn cannot_have_lost(&self, seen: &Seen) -> bool {
        let has_seen_nothing = seen.revision == Revision::ZERO && seen.fence == 0;
        has_seen_nothing || seen.timeline == self.timeline || self.renewed == Some(self.timeline)
    }
}

/// A stamp for a batch of writes.
pub(crate) fn new_stamp() -> Result<i64, Error> {
    chance().map(u64::cast_signed)
}

/// How much farther than the next one the fencing numbers of a batch are: two servers of which one does not know of the other do not give
/// the same.
pub(crate) fn new_gap() -> Result<u64, Error> {
    chance().map(|chance| chance % FENCE_SPREAD)
}

/// More than a hundred thousand million batches stay below 2^53.
const FENCE_SPREAD: u64 = 1 << 16;

/// What is said to those who asked a server that lost something.
pub(crate) fn lost() -> Error {
    Error::Unavailable {
        cause: "the server has lost something that was seen here; it goes on behind it".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(revision: u64, stamp: i64, fence: u64) -> Seen {
        Seen { revision: Revision::new(revision), stamp: Some(stamp), fence, timeline: 1 }
    }

    fn testimony(head: u64, horizon: u64, there: There) -> Testimony {
        let (head, horizon) = (Revision::new(head), Revision::new(horizon));
        Testimony { head, horizon, stamp: Some(9), fence: 3, there, timeline: 1, renewed: None }
    }

    #[test]
    fn a_number_alone_does_not_tell() {
        let check = |head, horizon, there, expected: bool| {
            let testimony = testimony(head, horizon, there);
            assert_eq!(testimony.confirms(&seen(5, 7, 3)), expected, "{testimony:?}");
            assert!(!testimony.confirms(&seen(5, 7, 4)), "a lease was lost: {testimony:?}");
        };
        check(5, 0, There::Version(Some(7)), true);
        check(9, 0, There::Version(Some(7)), true);
        check(4, 0, There::Nothing, false);
        check(9, 0, There::Version(Some(8)), false);
        check(9, 0, There::Version(None), false);
        check(9, 4, There::Nothing, false);
        check(9, 5, There::Nothing, true);
        check(9, 5, There::Version(Some(8)), false);
    }

    /// Below the horizon there are no stamps. A server that took over may have given the number to something else.
    #[test]
    fn what_is_forgotten_is_believed_on_its_own_timeline_only() {
        let check = |head, timeline, renewed, seen: Seen, expected: bool| {
            let testimony = Testimony { timeline, renewed, ..testimony(head, 5, There::Nothing) };
            assert_eq!(testimony.confirms(&seen), expected, "{testimony:?} {seen:?}");
        };
        check(9, 1, None, seen(5, 7, 3), true);
        check(9, 2, None, seen(5, 7, 3), false);
        check(9, 2, Some(2), seen(5, 7, 3), true);
        check(9, 3, Some(2), seen(5, 7, 3), false);
        check(5, 2, None, seen(5, 9, 3), true);
        check(5, 2, None, seen(5, 7, 3), false);
        check(9, 2, None, Newest::new().get(), true);
        let seen_lease = Seen { fence: 2, ..Newest::new().get() };
        check(9, 2, None, seen_lease, false);
    }

    #[test]
    fn evidence_is_replaced_by_what_stands_for_it() {
        let newest = Newest::new();
        let start = newest.get();
        assert_eq!(newest.raise(&start, &seen(5, 7, 1)), Noted::Done);
        // Somebody asked before that was seen, perhaps another server.
        assert_eq!(newest.raise(&start, &seen(9, 8, 2)), Noted::Meanwhile(seen(5, 7, 2)));
        assert_eq!(newest.get(), seen(5, 7, 2));
        assert_eq!(newest.raise(&seen(5, 7, 2), &seen(9, 8, 0)), Noted::Done);
        assert_eq!(newest.get(), seen(9, 8, 2));
        assert_eq!(newest.raise(&start, &seen(8, 1, 0)), Noted::Done, "older");
        assert_eq!(newest.raise(&start, &seen(9, 8, 0)), Noted::Done, "the same");
        assert_eq!(newest.raise(&seen(9, 8, 2), &seen(9, 1, 0)), Noted::Contradicted);
        newest.jumped(&seen(100, 2, 50));
        assert_eq!(newest.get(), seen(100, 2, 50));
    }
}
