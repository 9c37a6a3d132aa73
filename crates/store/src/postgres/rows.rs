//! What a batch writes, as rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use lanai_types::Sha256Digest;
use tokio_postgres::types::ToSql;

use super::query::signed;
use super::session::Session;
use crate::plan::{Changes, IndexChange, Task, World};
use crate::row::{Row, SharedKeyring};
use crate::seal::Fingerprint;
use crate::transaction::Blob;
use crate::watch::Record;
use crate::{Error, Key, Revision, Stored};

/// Notes that something is sealed with a key.
pub(crate) async fn note_key(
    session: &Session,
    id: i64,
    fingerprint: Option<Fingerprint>,
) -> Result<(), tokio_postgres::Error> {
    let sql = "INSERT INTO seal_key (id, fingerprint) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let fingerprint = fingerprint.as_ref().map(|fingerprint| fingerprint.0.as_slice());
    session.execute(sql, &[&id, &fingerprint]).await.map(drop)
}

/// The versions of a batch, a list for each column.
#[derive(Default)]
pub(crate) struct Versions {
    revision: Vec<i64>,
    previous: Vec<Option<i64>>,
    created: Vec<i64>,
    tombstone: Vec<bool>,
    key: Vec<String>,
    attributes: Vec<Option<String>>,
    blobs: Vec<Option<Vec<u8>>>,
    sealed: Vec<Option<i64>>,
    checksum: Vec<i64>,
    value: Vec<Option<Vec<u8>>>,
    used: Vec<Vec<u8>>,
    used_by: Vec<i64>,
    stamp: i64,
    /// Of the key that sealed what is sealed.
    fingerprint: Option<Fingerprint>,
}

impl Versions {
    pub(crate) fn of(records: &[Record], stamp: i64, keys: &SharedKeyring) -> Result<Self, Error> {
        let fingerprint = {
            let keys = keys.read().unwrap_or_else(PoisonError::into_inner);
            keys.fingerprint(keys.newest())
        };
        let mut versions = Self { stamp, fingerprint, ..Self::default() };
        for record in records {
            let row = record.after.as_ref().map(|stored| Row::of(stored, keys)).transpose()?;
            let Some(known) = record.after.as_ref().or(record.before.as_ref()) else { continue };
            versions.revision.push(signed(record.revision.get()));
            versions.previous.push(record.before.as_ref().map(|before| signed(before.revision.get())));
            versions.created.push(signed(known.created.get()));
            versions.tombstone.push(row.is_none());
            versions.key.push(known.key.as_str().to_owned());
            for digest in record.after.iter().flat_map(|stored| &stored.object.blobs) {
                versions.used.push(digest.as_bytes().to_vec());
                versions.used_by.push(signed(record.revision.get()));
            }
            versions.checksum.push(row.as_ref().map_or(0, |row| i64::from(row.checksum)));
            versions.sealed.push(row.as_ref().and_then(|row| row.sealed).map(i64::from));
            let (attributes, blobs, value) =
                row.map_or((None, None, None), |row| (row.attributes, row.blobs, Some(row.value)));
            versions.attributes.push(attributes);
            versions.blobs.push(blobs);
            versions.value.push(value);
        }
        Ok(versions)
    }

    pub(crate) async fn write(&self, session: &Session) -> Result<(), tokio_postgres::Error> {
        let columns: [&(dyn ToSql + Sync); 11] = [
            &self.revision,
            &self.previous,
            &self.created,
            &self.tombstone,
            &self.key,
            &self.attributes,
            &self.blobs,
            &self.sealed,
            &self.checksum,
            &self.value,
            &self.stamp,
        ];
        session
            .execute(
                "INSERT INTO version (revision, previous, created, tombstone, key, attributes, blobs, sealed, checksum, value, stamp)
                 SELECT *, $11::bigint FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::text[], $6::text[],
                    $7::bytea[], $8::bigint[], $9::bigint[], $10::bytea[])",
                &columns,
            )
            .await?;
        if !self.used.is_empty() {
            let sql =
                "INSERT INTO blob_use (digest, revision) SELECT * FROM unnest($1::bytea[], $2::bigint[])";
            session.execute(sql, &[&self.used, &self.used_by]).await?;
        }
        if let Some(id) = self.sealed.iter().flatten().max() {
            note_key(session, *id, self.fingerprint).await?;
        }
        Ok(())
    }
}

/// An object before a batch and after it.
struct Ends {
    before: Option<Arc<Stored>>,
    after: Option<Arc<Stored>>,
}

/// What a batch leaves, whatever it did in between.
#[derive(Default)]
pub(crate) struct Net {
    there: Vec<String>,
    revision: Vec<i64>,
    gone: Vec<String>,
    index_gone: [Vec<String>; 3],
    index_come: [Vec<String>; 3],
}

impl Net {
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut ends: BTreeMap<&Key, Ends> = BTreeMap::new();
        for record in records {
            let Some(known) = record.after.as_ref().or(record.before.as_ref()) else { continue };
            let end =
                ends.entry(&known.key).or_insert_with(|| Ends { before: record.before.clone(), after: None });
            end.after.clone_from(&record.after);
        }
        let mut net = Self::default();
        for (key, Ends { before, after }) in ends {
            match &after {
                Some(stored) => {
                    net.there.push(key.as_str().to_owned());
                    net.revision.push(signed(stored.revision.get()));
                }
                None => net.gone.push(key.as_str().to_owned()),
            }
            let change = IndexChange::of(&Record { revision: Revision::ZERO, before, after });
            for (entries, columns) in [(change.gone, &mut net.index_gone), (change.come, &mut net.index_come)]
            {
                for entry in entries {
                    columns[0].push(entry.name);
                    columns[1].push(entry.value);
                    columns[2].push(key.as_str().to_owned());
                }
            }
        }
        net
    }

    pub(crate) async fn write(&self, session: &Session) -> Result<(), tokio_postgres::Error> {
        if !self.there.is_empty() {
            let sql = "INSERT INTO current (key, revision) SELECT * FROM unnest($1::text[], $2::bigint[])
                ON CONFLICT (key) DO UPDATE SET revision = excluded.revision";
            session.execute(sql, &[&self.there, &self.revision]).await?;
        }
        if !self.gone.is_empty() {
            session.execute("DELETE FROM current WHERE key = ANY($1)", &[&self.gone]).await?;
        }
        if !self.index_gone[0].is_empty() {
            let sql = "DELETE FROM attribute a USING unnest($1::text[], $2::text[], $3::text[]) AS g (name, value, key)
                WHERE a.name = g.name AND a.value = g.value AND a.key = g.key";
            let [name, value, key] = &self.index_gone;
            session.execute(sql, &[name, value, key]).await?;
        }
        if !self.index_come[0].is_empty() {
            let sql = "INSERT INTO attribute (name, value, key) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])";
            let [name, value, key] = &self.index_come;
            session.execute(sql, &[name, value, key]).await?;
        }
        Ok(())
    }
}

/// Content that was sent before the counter was taken.
#[derive(Debug, Default)]
pub(crate) struct Uploaded {
    /// Of what was not there.
    digests: BTreeSet<Sha256Digest>,
}

impl Uploaded {
    /// Sends the content of all blobs of a batch that are not there, in one order for all processes.
    pub(crate) async fn send(session: &Session, tasks: &[Task]) -> Result<Self, tokio_postgres::Error> {
        let blobs: BTreeMap<_, _> =
            tasks.iter().flat_map(Task::blobs).map(|blob| (blob.digest(), blob)).collect();
        let mut uploaded = Self::default();
        for blob in blobs.into_values() {
            if insert_blob(session, blob).await? > 0 {
                uploaded.digests.insert(blob.digest());
            }
        }
        Ok(uploaded)
    }

    /// What was sent with a batch counts as new until something that names it is written.
    pub(crate) fn are_new(&self, world: &mut World) {
        world.blobs.retain(|digest| !self.digests.contains(digest));
    }

    /// Takes back what nothing names, and sends what was swept while it was thought to be there.
    pub(crate) async fn settle(
        mut self,
        session: &Session,
        changes: &Changes,
    ) -> Result<(), tokio_postgres::Error> {
        for blob in &changes.blobs {
            if !self.digests.remove(&blob.digest()) {
                insert_blob(session, blob).await?;
            }
        }
        if self.digests.is_empty() {
            return Ok(());
        }
        let idle: Vec<&[u8]> = self.digests.iter().map(|digest| digest.as_bytes().as_slice()).collect();
        session.execute("DELETE FROM blob WHERE digest = ANY($1)", &[&idle]).await.map(drop)
    }
}

async fn insert_blob(session: &Session, blob: &Blob) -> Result<u64, tokio_postgres::Error> {
    let sql = "INSERT INTO blob (digest, content) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    session.execute(sql, &[&blob.digest().as_bytes().as_slice(), &&blob.content()[..]]).await
}

pub(crate) async fn write_leases(session: &Session, changes: &Changes) -> Result<(), tokio_postgres::Error> {
    if let Some(before) = changes.forgotten {
        session.execute("DELETE FROM lease WHERE until < $1", &[&signed(before.0)]).await?;
    }
    for (name, lease) in &changes.leases {
        match lease {
            Some(lease) => {
                let sql = "INSERT INTO lease (name, holder, fence, until) VALUES ($1, $2, $3, $4)
                    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, until = excluded.until";
                let (fence, until) = (signed(lease.fence.number.get()), signed(lease.until.0));
                session.execute(sql, &[&name.as_str(), &lease.holder, &fence, &until]).await?
            }
            None => session.execute("DELETE FROM lease WHERE name = $1", &[&name.as_str()]).await?,
        };
    }
    Ok(())
}
