//! Reading. Each function is one statement, and so reads one snapshot.

#[cfg(test)]
mod interleaving;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_types::Sha256Digest;
use tokio::sync::Notify;
use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use super::seen::{Newest, Noted, Seen, Testimony, There, lost};
use super::session::{Address, Link};
use super::statement::{Argument, Builder};
use crate::feed::{Log, Logged};
use crate::list::{At, ListRequest, Page, within};
use crate::row::{Row, SharedKeyring, is_for_others};
use crate::transaction::sha256;
use crate::watch::Record;
use crate::{Error, Filter, Key, Revision, Stored};

/// The columns of a version, in the order in which [`read_row`] reads them.
pub(crate) const COLUMNS: &str =
    "v.key, v.created, v.revision, v.attributes, v.blobs, v.sealed, v.checksum, v.value";

/// Bytes of values after which no more records are read at once.
const CATCH_UP_BYTES: i64 = 8 << 20;

/// Connections that read.
#[derive(Debug)]
pub(crate) struct Readers {
    links: Vec<Link>,
    next: AtomicUsize,
    pub(crate) keys: SharedKeyring,
    /// The newest that was shown to anybody here.
    pub(crate) newest: Newest,
    /// Says that there may be something new, or something lost.
    pub(crate) hint: Notify,
}

/// Records behind a revision, and what was found with them in one snapshot.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) testimony: Testimony,
    /// In order and without gaps.
    pub(crate) records: Vec<Record>,
    /// What is behind them and cannot be read.
    pub(crate) trouble: Option<Trouble>,
}

/// A record that cannot be handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) error: Error,
    /// The last revision that cannot be read because of it.
    pub(crate) up_to: Revision,
}

impl Readers {
    pub(crate) fn new(address: &Address, number: usize, keys: SharedKeyring) -> Self {
        let links = (0..number.max(1)).map(|_| Link::new(address.clone())).collect();
        Self { links, next: AtomicUsize::new(0), keys, newest: Newest::new(), hint: Notify::new() }
    }

    async fn query(&self, sql: &str, arguments: &[Argument]) -> Result<Vec<SqlRow>, Error> {
        let at = self.next.fetch_add(1, Ordering::Relaxed) % self.links.len();
        let arguments: Vec<&(dyn ToSql + Sync)> =
            arguments.iter().map(|argument| argument.as_ref() as &(dyn ToSql + Sync)).collect();
        self.links[at].query(sql, &arguments).await
    }

    /// Asks for rows that begin with a testimony; the revision that was seen is the last argument. A server that does not have what was
    /// shown before is not believed.
    async fn testified(
        &self,
        sql: &str,
        mut arguments: Vec<Argument>,
    ) -> Result<(Testimony, Vec<SqlRow>), Error> {
        let before = self.newest.get();
        arguments.push(Box::new(signed(before.revision.get())));
        let rows = self.query(sql, &arguments).await?;
        let testimony = Testimony::read(rows.first().ok_or_else(no_meta)?);
        if !testimony.confirms(&before) {
            return Err(self.lost());
        }
        self.note(before, &testimony.newest()).await?;
        Ok((testimony, rows))
    }

    /// Notes what was found on a server that has what was seen before. What else was seen while it was asked must be there as well: another
    /// server may have taken over.
    pub(crate) async fn note(&self, before: Seen, found: &Seen) -> Result<(), Error> {
        let mut before = before;
        loop {
            match self.newest.raise(&before, found) {
                Noted::Done => return Ok(()),
                Noted::Contradicted => return Err(self.lost()),
                // It is below what was found, and grows: this ends.
                Noted::Meanwhile(seen) => {
                    if !self.has_both(&seen, found).await? {
                        return Err(self.lost());
                    }
                    before = seen;
                }
            }
        }
    }

    /// True if the server has two revisions that were seen: they are of one history.
    async fn has_both(&self, one: &Seen, other: &Seen) -> Result<bool, Error> {
        let sql = format!(
            "SELECT {}, o.revision, o.stamp FROM meta m LEFT JOIN version s ON s.revision = $1
             LEFT JOIN version o ON o.revision = $2",
            Testimony::COLUMNS
        );
        let arguments: [Argument; 2] =
            [Box::new(signed(one.revision.get())), Box::new(signed(other.revision.get()))];
        let rows = self.query(&sql, &arguments).await?;
        let row = rows.first().ok_or_else(no_meta)?;
        let of_one = Testimony::read(row);
        let of_other = Testimony { there: There::read(row, Testimony::WIDTH), ..of_one };
        Ok(of_one.confirms(one) && of_other.confirms(other))
    }

    /// What is said to those who asked a server that lost something; whoever follows is told to look.
    fn lost(&self) -> Error {
        self.hint.notify_one();
        lost()
    }

    pub(crate) async fn bounds(&self) -> Result<Testimony, Error> {
        let sql = format!("SELECT {} {}", Testimony::COLUMNS, witness(0));
        self.testified(&sql, Vec::new()).await.map(|(testimony, _)| testimony)
    }

    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        let sql = format!(
            "SELECT {}, {COLUMNS} {} LEFT JOIN (current c JOIN version v ON v.revision = c.revision) ON c.key = $1",
            Testimony::COLUMNS,
            witness(1)
        );
        let (_, rows) = self.testified(&sql, vec![Box::new(key.as_str().to_owned())]).await?;
        let found = rows.iter().find(|row| is_there(row));
        found.map(|row| read_row(row, Testimony::WIDTH).into_stored(&self.keys)).transpose()
    }

    pub(crate) async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        let mut statement = Builder::new(&request.filter, &request.at);
        let limit =
            request.limit.map_or(i64::MAX, |limit| i64::try_from(limit.get()).unwrap_or(i64::MAX - 1) + 1);
        let inner = match &request.at {
            At::Latest => statement.now(&request.filter),
            At::Revision(revision) => statement.past(*revision, &request.filter),
            At::Continue(from) => statement.past(from.revision, &request.filter),
        };
        let limit = statement.place(Box::new(limit));
        let sql = format!(
            "SELECT {}, {COLUMNS} {} LEFT JOIN LATERAL ({inner} LIMIT {limit}) v ON true",
            Testimony::COLUMNS,
            witness(statement.arguments.len())
        );
        let (Testimony { head, horizon, .. }, rows) = self.testified(&sql, statement.arguments).await?;
        let revision = request.at.resolve(head, horizon)?;
        let items = rows.iter().filter(|row| is_there(row));
        let items: Result<Vec<Arc<Stored>>, Error> =
            items.map(|row| read_row(row, Testimony::WIDTH).into_stored(&self.keys).map(Arc::new)).collect();
        let mut items = items?;
        // The server is asked for them in order; it is not trusted to keep it through a join.
        items.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(Page::cut(revision, items, request.limit))
    }

    pub(crate) async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let mut statement = Builder::new(filter, &At::Latest);
        let conditions = statement.conditions(filter);
        let sql = format!(
            "SELECT {}, (SELECT count(*) FROM current c WHERE {} {conditions}) {}",
            Testimony::COLUMNS,
            statement.range("c.key"),
            witness(statement.arguments.len())
        );
        let (_, rows) = self.testified(&sql, statement.arguments).await?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(Testimony::WIDTH).unsigned_abs()))
    }

    pub(crate) async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        let sql = format!(
            "SELECT {}, b.content {} LEFT JOIN blob b ON b.digest = $1",
            Testimony::COLUMNS,
            witness(1)
        );
        let (_, rows) = self.testified(&sql, vec![Box::new(digest.as_bytes().to_vec())]).await?;
        let content = rows.first().and_then(|row| row.get::<_, Option<Vec<u8>>>(Testimony::WIDTH));
        let Some(content) = content else { return Ok(None) };
        if sha256(&content) != *digest {
            return Err(Error::Damaged {
                what: format!("the content of the blob {digest} has another digest"),
            });
        }
        Ok(Some(Bytes::from(content)))
    }

    /// Some of the records behind a revision, if the server has all that was seen here until it answered; none otherwise: it may have
    /// taken over meanwhile.
    pub(crate) async fn records_now(
        &self,
        after: Revision,
        limit: usize,
        filter: &Filter,
    ) -> Result<Option<Answer>, Error> {
        let seen = self.newest.get();
        let found = self.records(after, limit, filter, &seen).await?;
        self.believed(seen, found).await
    }

    /// An answer that was asked for when this was the newest that had been seen.
    async fn believed(&self, seen: Seen, found: Answer) -> Result<Option<Answer>, Error> {
        if !found.testimony.confirms(&seen) {
            return Ok(None);
        }
        let newest = found.testimony.newest();
        // What is seen from now on is not older than the answer.
        let meanwhile = self.newest.get();
        if meanwhile != seen && !self.has_both(&meanwhile, &newest).await? {
            return Ok(None);
        }
        match self.note(meanwhile, &newest).await {
            Ok(()) => Ok(Some(found)),
            Err(error) if error == lost() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Some of the records behind a revision, and whether the server still has what was seen.
    async fn records(
        &self,
        after: Revision,
        limit: usize,
        filter: &Filter,
        seen: &Seen,
    ) -> Result<Answer, Error> {
        let sql = format!(
            "SELECT {}, {COLUMNS}, v.tombstone, v.previous, {}
             {}
             LEFT JOIN LATERAL (SELECT * FROM (
                SELECT x.*, sum(coalesce(octet_length(x.value), 0)) OVER (ORDER BY x.revision)
                    - coalesce(octet_length(x.value), 0) AS bytes_before
                FROM (SELECT * FROM version WHERE revision > $1 ORDER BY revision LIMIT $2) x
             ) y WHERE y.bytes_before <= $3) v ON true
             LEFT JOIN version p ON p.revision = v.previous ORDER BY v.revision",
            Testimony::COLUMNS,
            COLUMNS.replace("v.", "p."),
            witness(3)
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let arguments: [Argument; 4] = [
            Box::new(signed(after.get())),
            Box::new(limit),
            Box::new(CATCH_UP_BYTES),
            Box::new(signed(seen.revision.get())),
        ];
        let rows = self.query(&sql, &arguments).await?;
        let testimony = Testimony::read(rows.first().ok_or_else(no_meta)?);
        let mut found = Answer { testimony, records: Vec::new(), trouble: None };
        if after < testimony.horizon || after > testimony.head {
            return Ok(found);
        }
        for row in rows.iter().filter(|row| is_there(row)) {
            let expected = after.get() + found.records.len() as u64 + 1;
            let revision = unsigned(row, Testimony::WIDTH + 2);
            if revision != expected {
                let what = format!("revision {expected} is missing in the history that is kept");
                let up_to = Revision::new(revision.saturating_sub(1));
                found.trouble = Some(Trouble { error: Error::Damaged { what }, up_to });
                break;
            }
            match read_record(row, filter, &self.keys) {
                Ok(record) => found.records.push(record),
                Err(error) => {
                    found.trouble = Some(Trouble { error, up_to: Revision::new(revision) });
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// The tables of a testimony, behind so many other arguments.
fn witness(arguments: usize) -> String {
    format!("FROM meta m LEFT JOIN version s ON s.revision = ${}", arguments + 1)
}

/// True for a row that holds something behind its testimony.
fn is_there(row: &SqlRow) -> bool {
    row.get::<_, Option<&str>>(Testimony::WIDTH).is_some()
}

#[async_trait]
impl Log for Readers {
    async fn read(&self, after: Revision, limit: usize, filter: &Filter) -> Result<Logged, Error> {
        let Answer { testimony, records, trouble } = match self.records_now(after, limit, filter).await {
            Ok(Some(answer)) => answer,
            Ok(None) => {
                // Nothing of this is handed out. The watcher is told when the server has gone on ahead of what was seen.
                self.hint.notify_one();
                return Ok(Logged::NotNow);
            }
            // A server that is away comes back.
            Err(Error::Unavailable { .. }) => return Ok(Logged::NotNow),
            Err(error) => return Err(error),
        };
        within(after, testimony.head, testimony.horizon)?;
        match trouble {
            // What is whole is handed out first.
            Some(trouble) if records.is_empty() => Err(trouble.error),
            Some(_) | None => Ok(Logged::Records(records)),
        }
    }
}

fn read_record(row: &SqlRow, filter: &Filter, keys: &SharedKeyring) -> Result<Record, Error> {
    let first = Testimony::WIDTH;
    let is_tombstone: bool = row.get(first + 8);
    let previous: Option<i64> = row.get(first + 9);
    let revision = Revision::new(unsigned(row, first + 2));
    let after = (!is_tombstone).then(|| read_row(row, first));
    let before = previous.map(|_| read_row(row, first + 10));
    if is_for_others(before.iter().chain(&after), filter) {
        return Ok(Record { revision, before: None, after: None });
    }
    let open = |row: Option<Row>| row.map(|row| row.into_stored(keys).map(Arc::new)).transpose();
    Ok(Record { revision, before: open(before)?, after: open(after)? })
}

/// Reads the columns of [`COLUMNS`], from one on.
pub(crate) fn read_row(row: &SqlRow, from: usize) -> Row {
    let small = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
    Row {
        key: row.get(from),
        created: unsigned(row, from + 1),
        revision: unsigned(row, from + 2),
        attributes: row.get(from + 3),
        blobs: row.get(from + 4),
        sealed: row.get::<_, Option<i64>>(from + 5).map(small),
        checksum: small(row.get(from + 6)),
        value: row.get::<_, Option<Vec<u8>>>(from + 7).unwrap_or_default(),
    }
}

pub(crate) fn unsigned(row: &SqlRow, at: usize) -> u64 {
    // No number of ours is below zero; one that is will not fit to anything.
    u64::try_from(row.get::<_, i64>(at)).unwrap_or(u64::MAX)
}

pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn no_meta() -> Error {
    Error::Damaged { what: "the table of revisions is empty".into() }
}
