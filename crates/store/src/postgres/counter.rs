//! The counter row: whoever has it gives revisions, and everybody else waits.

use super::query::signed;
use super::seen::{Seen, Testimony, lost};
use super::session::{Session, harmless};
use crate::Error;
use crate::seal::UsedKey;

/// Takes the counter row until the end of the transaction, and looks whether the server has what was seen.
pub(crate) async fn take_counter(session: &Session, seen: &Seen) -> Result<Testimony, Error> {
    let sql = format!(
        "SELECT {} FROM meta m LEFT JOIN version s ON s.revision = $1 FOR UPDATE OF m",
        Testimony::COLUMNS
    );
    let rows =
        session.query(&sql, &[&signed(seen.revision.get())]).await.map_err(|error| harmless(&error))?;
    let row =
        rows.first().ok_or_else(|| Error::Damaged { what: "the table of revisions is empty".into() })?;
    Ok(Testimony::read(row))
}

/// The same for those who change nothing on a server that has lost something.
pub(crate) async fn take_trusted_counter(session: &Session, seen: &Seen) -> Result<Testimony, Error> {
    let testimony = take_counter(session, seen).await?;
    if testimony.confirms(seen) { Ok(testimony) } else { Err(lost()) }
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
