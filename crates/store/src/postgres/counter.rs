//! The counter row: whoever has it gives revisions, and everybody else waits.

use super::query::{signed, unsigned};
use super::seen::{Seen, Testimony, There};
use super::session::{Session, harmless};
use crate::seal::UsedKey;
use crate::{Error, Revision};

/// The counter, locked until the end of the transaction.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) testimony: Testimony,
    pub(crate) fence: u64,
}

/// Takes the counter row, and looks whether the server has what was seen.
pub(crate) async fn take_counter(session: &Session, seen: &Seen) -> Result<Counter, Error> {
    let sql = "SELECT m.head, m.horizon, m.fence, EXISTS (SELECT 1 FROM version WHERE revision = $1),
        (SELECT stamp FROM version WHERE revision = $1) FROM meta m FOR UPDATE OF m";
    let rows = session.query(sql, &[&signed(seen.revision.get())]).await.map_err(|error| harmless(&error))?;
    let row =
        rows.first().ok_or_else(|| Error::Damaged { what: "the table of revisions is empty".into() })?;
    let there = if row.get(3) { There::Version(row.get(4)) } else { There::Nothing };
    let testimony =
        Testimony { head: Revision::new(unsigned(row, 0)), horizon: Revision::new(unsigned(row, 1)), there };
    Ok(Counter { testimony, fence: unsigned(row, 2) })
}

/// The keys with which something may be sealed, the newest first.
pub(crate) async fn used_keys(session: &Session) -> Result<Vec<UsedKey>, tokio_postgres::Error> {
    let rows = session.query("SELECT id, fingerprint FROM seal_key ORDER BY id DESC", &[]).await?;
    let read = |row: &tokio_postgres::Row| {
        let id = u32::try_from(row.get::<_, i64>(0)).unwrap_or(u32::MAX);
        UsedKey::new(id, row.get(1))
    };
    Ok(rows.iter().map(read).collect())
}
