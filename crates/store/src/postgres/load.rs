//! What a batch needs to know.

use super::query::unsigned;
use super::session::Session;
use crate::lease::{Fence, Lease, LeaseName, Moment};
use crate::plan::{Needs, World};
use crate::transaction::sha256;

/// Objects and leases that a batch locks one by one at most: a server has room for some thousand locks, for all its clients together. A batch
/// that touches more has everything to itself.
const MAX_LOCKS: usize = 256;

/// Locks what a batch touches, in one order for all processes.
pub(crate) async fn lock(
    session: &Session,
    needs: &Needs,
    channel: &str,
) -> Result<(), tokio_postgres::Error> {
    let keys = needs.keys.iter().map(|key| lock_number(channel, "key", key.as_str()));
    let leases = needs.leases.iter().map(|lease| lock_number(channel, "lease", lease.as_str()));
    let mut locks: Vec<i64> = keys.chain(leases).collect();
    locks.sort_unstable();
    locks.dedup();
    let all = lock_number(channel, "all", "");
    if locks.len() > MAX_LOCKS {
        return session.execute("SELECT pg_advisory_xact_lock($1)", &[&all]).await.map(drop);
    }
    session.execute("SELECT pg_advisory_xact_lock_shared($1)", &[&all]).await?;
    session.execute("SELECT pg_advisory_xact_lock(x) FROM unnest($1::bigint[]) x", &[&locks]).await.map(drop)
}

/// The number of a lock. Processes of all versions must agree on it, for as long as there are any.
fn lock_number(channel: &str, what: &str, name: &str) -> i64 {
    let digest = sha256(format!("{channel}\0{what}\0{name}").as_bytes());
    let first = digest.as_bytes().first_chunk().expect("a digest has more than eight bytes");
    i64::from_be_bytes(*first)
}

pub(crate) async fn load_leases(
    session: &Session,
    needs: &Needs,
    world: &mut World,
) -> Result<(), tokio_postgres::Error> {
    if needs.leases.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = needs.leases.iter().map(LeaseName::as_str).collect();
    let rows =
        session.query("SELECT name, holder, fence, until FROM lease WHERE name = ANY($1)", &[&names]).await?;
    for row in rows {
        let Some(lease) = needs.leases.iter().find(|lease| lease.as_str() == row.get::<_, &str>(0)) else {
            continue;
        };
        let number = lanai_types::FencingNumber::new(unsigned(&row, 2));
        let fence = Fence { lease: lease.clone(), number };
        let until = Moment(unsigned(&row, 3));
        world.leases.insert(lease.clone(), Lease { fence, holder: row.get(1), until });
    }
    Ok(())
}

/// Blobs are looked for behind the counter row, as they are swept there.
pub(crate) async fn load_blobs(
    session: &Session,
    needs: &Needs,
    world: &mut World,
) -> Result<(), tokio_postgres::Error> {
    if needs.blobs.is_empty() {
        return Ok(());
    }
    let digests: Vec<&[u8]> = needs.blobs.iter().map(|digest| digest.as_bytes().as_slice()).collect();
    let rows = session.query("SELECT digest FROM blob WHERE digest = ANY($1)", &[&digests]).await?;
    for row in rows {
        let found: &[u8] = row.get(0);
        world.blobs.extend(needs.blobs.iter().filter(|digest| digest.as_bytes() == found));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with another program; a release that has others would write beside its predecessors.
    #[test]
    fn locks_have_the_same_numbers_for_ever() {
        assert_eq!(lock_number("lanai_store_lanai", "key", "a/x/1"), 3_268_847_176_706_537_162);
        assert_eq!(lock_number("lanai_store_lanai", "lease", "work"), -5_959_779_537_242_675_407);
        assert_eq!(lock_number("lanai_store_lanai", "all", ""), -3_800_507_744_262_767_418);
    }
}
