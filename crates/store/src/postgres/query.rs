//! Reading. Each function is one statement, and so reads one snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_types::Sha256Digest;
use tokio::sync::Notify;
use tokio_postgres::Row as SqlRow;
use tokio_postgres::types::ToSql;

use super::seen::{Newest, Seen, Testimony, There, lost};
use super::session::{Address, Link};
use crate::feed::Log;
use crate::list::{At, ListRequest, Page, within};
use crate::row::{Row, SharedKeyring};
use crate::transaction::sha256;
use crate::watch::Record;
use crate::{Error, Filter, Key, Requirement, Revision, Stored, Subject, Test};

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

/// Head and horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) head: Revision,
    pub(crate) horizon: Revision,
}

/// Records behind a revision, and what was found with them in one snapshot.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) testimony: Testimony,
    /// The head, with its stamp.
    pub(crate) newest: Seen,
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

type Argument = Box<dyn ToSql + Sync + Send>;

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

    /// Asks for rows that begin with the bounds and the stamp of the head. A server that is behind what was shown before is not believed.
    async fn bounded(&self, sql: &str, arguments: &[Argument]) -> Result<(Bounds, Vec<SqlRow>), Error> {
        let before = self.newest.get();
        let rows = self.query(sql, arguments).await?;
        let row = rows.first().ok_or_else(no_meta)?;
        let found = bounds(row, 0);
        if found.head < before.revision {
            self.hint.notify_one();
            return Err(lost());
        }
        self.newest.raise(Seen { revision: found.head, stamp: row.get(2) });
        Ok((found, rows))
    }

    pub(crate) async fn bounds(&self) -> Result<Bounds, Error> {
        self.bounded("SELECT head, horizon, stamp FROM meta", &[]).await.map(|(bounds, _)| bounds)
    }

    pub(crate) async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        let sql = format!(
            "SELECT {COLUMNS}, v.stamp FROM current c JOIN version v ON v.revision = c.revision WHERE c.key = $1"
        );
        let rows = self.query(&sql, &[Box::new(key.as_str().to_owned())]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let stored = read_row(row, 0).into_stored(&self.keys)?;
        self.newest.raise(Seen { revision: stored.revision, stamp: row.get(8) });
        Ok(Some(stored))
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
            "SELECT m.head, m.horizon, m.stamp, {COLUMNS} FROM meta m LEFT JOIN LATERAL ({inner} LIMIT {limit}) v ON true"
        );
        let (Bounds { head, horizon }, rows) = self.bounded(&sql, &statement.arguments).await?;
        let revision = request.at.resolve(head, horizon)?;
        let items = rows.iter().filter(|row| row.get::<_, Option<&str>>(3).is_some());
        let items: Result<Vec<Stored>, Error> =
            items.map(|row| read_row(row, 3).into_stored(&self.keys)).collect();
        let mut items = items?;
        // The server is asked for them in order; it is not trusted to keep it through a join.
        items.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(Page::cut(revision, items, request.limit))
    }

    pub(crate) async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let mut statement = Builder::new(filter, &At::Latest);
        let conditions = statement.conditions(filter);
        let sql = format!("SELECT count(*) FROM current c WHERE {} {conditions}", statement.range("c.key"));
        let rows = self.query(&sql, &statement.arguments).await?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).unsigned_abs()))
    }

    pub(crate) async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        let rows = self
            .query("SELECT content FROM blob WHERE digest = $1", &[Box::new(digest.as_bytes().to_vec())])
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let content: Vec<u8> = row.get(0);
        if sha256(&content) != *digest {
            return Err(Error::Damaged {
                what: format!("the content of the blob {digest} has another digest"),
            });
        }
        Ok(Some(Bytes::from(content)))
    }

    /// As [`Self::records`], for the newest that was seen. What is seen while the server is asked makes it ask again: the answer may be of a
    /// server that took over meanwhile and never had that.
    pub(crate) async fn records_now(&self, after: Revision, limit: usize) -> Result<(Seen, Answer), Error> {
        loop {
            let seen = self.newest.get();
            let found = self.records(after, limit, &seen).await?;
            if self.newest.get() == seen {
                return Ok((seen, found));
            }
        }
    }

    /// Some of the records behind a revision, and whether the server still has what was seen.
    async fn records(&self, after: Revision, limit: usize, seen: &Seen) -> Result<Answer, Error> {
        let sql = format!(
            "SELECT m.head, m.horizon, m.stamp, s.revision, s.stamp, {COLUMNS}, v.tombstone, v.previous, {}
             FROM meta m
             LEFT JOIN version s ON s.revision = $3
             LEFT JOIN LATERAL (SELECT * FROM (
                SELECT x.*, sum(coalesce(octet_length(x.value), 0)) OVER (ORDER BY x.revision)
                    - coalesce(octet_length(x.value), 0) AS bytes_before
                FROM (SELECT * FROM version WHERE revision > $1 ORDER BY revision LIMIT $2) x
             ) y WHERE y.bytes_before <= $4) v ON true
             LEFT JOIN version p ON p.revision = v.previous ORDER BY v.revision",
            COLUMNS.replace("v.", "p.")
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let arguments: [Argument; 4] = [
            Box::new(signed(after.get())),
            Box::new(limit),
            Box::new(signed(seen.revision.get())),
            Box::new(CATCH_UP_BYTES),
        ];
        let rows = self.query(&sql, &arguments).await?;
        let first = rows.first().ok_or_else(no_meta)?;
        let Bounds { head, horizon } = bounds(first, 0);
        let there = match first.get::<_, Option<i64>>(3) {
            Some(_) => There::Version(first.get(4)),
            None => There::Nothing,
        };
        let mut found = Answer {
            testimony: Testimony { head, horizon, there },
            newest: Seen { revision: head, stamp: first.get(2) },
            records: Vec::new(),
            trouble: None,
        };
        if after < horizon || after > head {
            return Ok(found);
        }
        for row in rows.iter().filter(|row| row.get::<_, Option<i64>>(7).is_some()) {
            let expected = after.get() + found.records.len() as u64 + 1;
            let revision = unsigned(row, 7);
            if revision != expected {
                let what = format!("revision {expected} is missing in the history that is kept");
                let up_to = Revision::new(revision.saturating_sub(1));
                found.trouble = Some(Trouble { error: Error::Damaged { what }, up_to });
                break;
            }
            match read_record(row, &self.keys) {
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

#[async_trait]
impl Log for Readers {
    async fn read(&self, after: Revision, limit: usize) -> Result<Vec<Record>, Error> {
        let (seen, Answer { testimony, records, trouble, .. }) = self.records_now(after, limit).await?;
        if !testimony.confirms(&seen) {
            // Nothing of this is handed out. The watcher is told when the server has gone on ahead of what was seen.
            self.hint.notify_one();
            return Ok(Vec::new());
        }
        within(after, testimony.head, testimony.horizon)?;
        match trouble {
            // What is whole is handed out first.
            Some(trouble) if records.is_empty() => Err(trouble.error),
            Some(_) | None => Ok(records),
        }
    }
}

/// A statement and its arguments.
struct Builder {
    arguments: Vec<Argument>,
    compare: &'static str,
}

impl Builder {
    fn new(filter: &Filter, at: &At) -> Self {
        let first = filter.prefix.first();
        let (from, compare) = match at.after() {
            Some(after) if after.as_str() >= first => (after.as_str(), ">"),
            Some(_) | None => (first, ">="),
        };
        Self { arguments: vec![Box::new(from.to_owned()), Box::new(filter.prefix.end())], compare }
    }

    fn place(&mut self, argument: Argument) -> String {
        self.arguments.push(argument);
        format!("${}", self.arguments.len())
    }

    fn range(&self, column: &str) -> String {
        format!("{column} {} $1 AND {column} < $2", self.compare)
    }

    /// What is there now, by the index.
    fn now(&mut self, filter: &Filter) -> String {
        let conditions = self.conditions(filter);
        format!(
            "SELECT v.* FROM current c JOIN version v ON v.revision = c.revision
             WHERE {} {conditions} ORDER BY c.key",
            self.range("c.key")
        )
    }

    fn conditions(&mut self, filter: &Filter) -> String {
        filter.selector.requirements.iter().map(|requirement| self.condition(requirement)).collect()
    }

    fn condition(&mut self, requirement: &Requirement) -> String {
        let name = self.place(Box::new(match &requirement.subject {
            Subject::Label(name) => format!("l:{name}"),
            Subject::Field(name) => format!("f:{name}"),
        }));
        let entry = format!("EXISTS (SELECT 1 FROM attribute a WHERE a.key = c.key AND a.name = {name}");
        match &requirement.test {
            Test::Equals(value) => {
                format!(" AND {entry} AND a.value = {})", self.place(Box::new(value.clone())))
            }
            Test::In(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND {entry} AND a.value = ANY({}))", self.place(Box::new(values)))
            }
            Test::NotIn(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND NOT {entry} AND a.value = ANY({}))", self.place(Box::new(values)))
            }
            Test::Exists => format!(" AND {entry})"),
            Test::Absent => format!(" AND NOT {entry})"),
        }
    }

    /// What is not younger than a revision, and what was there before the first change of each key that changed since.
    fn past(&mut self, revision: Revision, filter: &Filter) -> String {
        let at = self.place(Box::new(signed(revision.get())));
        let conditions: String =
            filter.selector.requirements.iter().map(|requirement| self.past_condition(requirement)).collect();
        format!(
            "SELECT v.* FROM (
                SELECT c.key, c.revision FROM current c WHERE {} AND c.revision <= {at}
                UNION ALL
                SELECT f.key, f.previous FROM (SELECT DISTINCT ON (key) key, previous FROM version
                    WHERE revision > {at} AND {} ORDER BY key, revision) f WHERE f.previous IS NOT NULL
             ) n JOIN version v ON v.revision = n.revision WHERE true {conditions} ORDER BY n.key",
            self.range("c.key"),
            self.range("key")
        )
    }

    fn past_condition(&mut self, requirement: &Requirement) -> String {
        let (map, name) = match &requirement.subject {
            Subject::Label(name) => ("l", name),
            Subject::Field(name) => ("f", name),
        };
        let name = self.place(Box::new(name.clone()));
        let value = format!("(v.attributes::jsonb -> '{map}' ->> {name}::text)");
        match &requirement.test {
            Test::Equals(wanted) => format!(" AND {value} = {}", self.place(Box::new(wanted.clone()))),
            Test::In(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND {value} = ANY({})", self.place(Box::new(values)))
            }
            Test::NotIn(values) => {
                let values: Vec<String> = values.iter().cloned().collect();
                format!(" AND ({value} IS NULL OR NOT {value} = ANY({}))", self.place(Box::new(values)))
            }
            Test::Exists => format!(" AND {value} IS NOT NULL"),
            Test::Absent => format!(" AND {value} IS NULL"),
        }
    }
}

fn bounds(row: &SqlRow, from: usize) -> Bounds {
    Bounds { head: Revision::new(unsigned(row, from)), horizon: Revision::new(unsigned(row, from + 1)) }
}

fn read_record(row: &SqlRow, keys: &SharedKeyring) -> Result<Record, Error> {
    let is_tombstone: bool = row.get(13);
    let previous: Option<i64> = row.get(14);
    let open = |row: Row| row.into_stored(keys).map(Arc::new);
    let after = if is_tombstone { None } else { Some(open(read_row(row, 5))?) };
    let before = if previous.is_some() { Some(open(read_row(row, 15))?) } else { None };
    Ok(Record { revision: Revision::new(unsigned(row, 7)), before, after })
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
