//! The data directory of a server.

use std::fs::{File, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lanai_types::ByteSize;

use super::report::Check;
use crate::failure::cause;

const NAME: &str = "data directory";
/// With less than this, a server will soon not be able to write.
const MIN_FREE: ByteSize = ByteSize::mib(100);
/// With less than this, it is time to look.
const LOW_FREE: ByteSize = ByteSize::mib(1_024);
/// The largest store that is read whole.
const MAX_VERIFIED: ByteSize = ByteSize::mib(256);
/// Files that only their owner may read.
const PRIVATE: [&str; 5] = ["ca.key", "tokens.key", "store.key", "admin.pem", "kubeconfig"];

/// Everything about it.
pub(crate) fn checks(folder: &Path) -> Vec<Check> {
    let place = folder.display().to_string();
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            let mend = "name the right one with --data-dir, or mend its rights";
            return vec![Check::problem(NAME, format!("{place}: {}", cause(&error)), mend)];
        }
    };
    drop(entries);
    let mut checks = vec![rights(folder), lock(folder), disk(folder)];
    checks.push(store(folder));
    checks
}

fn rights(folder: &Path) -> Check {
    let place = folder.display();
    if rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_err() {
        return Check::problem(
            NAME,
            format!("{place} cannot be written"),
            format!("chown it to yourself, or chmod u+rwx {place}"),
        );
    }
    let open: Vec<&str> = PRIVATE
        .into_iter()
        .filter(|file| {
            let mode = std::fs::metadata(folder.join(file)).map(|found| found.permissions().mode());
            mode.is_ok_and(|mode| mode & 0o077 != 0)
        })
        .collect();
    if open.is_empty() {
        return Check::ok(NAME, place.to_string());
    }
    let files: Vec<String> = open.iter().map(|file| folder.join(file).display().to_string()).collect();
    Check::problem(
        NAME,
        format!("others can read {}", open.join(", ")),
        format!("chmod 600 {}", files.join(" ")),
    )
}

/// Whether a server has it now.
fn lock(folder: &Path) -> Check {
    const LOCK: &str = "lock";
    match File::open(folder.join("store.lock")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Check::ok(LOCK, "no server was ever here")
        }
        Err(error) => {
            Check::problem(LOCK, cause(&error), "mend the rights of store.lock in the data directory")
        }
        Ok(file) => match file.try_lock() {
            Ok(()) => Check::ok(LOCK, "free: no server runs on this data directory"),
            Err(TryLockError::WouldBlock) => Check::ok(LOCK, "a server runs on this data directory"),
            Err(TryLockError::Error(error)) => {
                Check::warning(LOCK, cause(&error), "keep the data directory on a disk that knows locks")
            }
        },
    }
}

fn disk(folder: &Path) -> Check {
    match rustix::fs::statvfs(folder) {
        Ok(found) => free(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => Check::warning("disk", error.to_string(), "look at it with df"),
    }
}

/// What is to be said about so many free bytes.
fn free(bytes: u64) -> Check {
    let shown = format!("{} MiB are free", bytes >> 20);
    let mend = "make room; a server that cannot write refuses changes";
    match bytes {
        bytes if bytes < MIN_FREE.get() => Check::problem("disk", shown, mend),
        bytes if bytes < LOW_FREE.get() => Check::warning("disk", shown, mend),
        _ => Check::ok("disk", shown),
    }
}

fn store(folder: &Path) -> Check {
    const NAME: &str = "store";
    let file = folder.join("store.db");
    let Ok(found) = std::fs::metadata(&file) else { return Check::ok(NAME, "there is none yet") };
    let place = folder.display();
    if found.len() > MAX_VERIFIED.get() {
        return Check::ok(NAME, format!("too large to read here; lanai store verify {place} reads it"));
    }
    let mend = "restore a backup into another data directory: lanai store restore BACKUP --data FOLDER";
    match lanai_store::sqlite::verify(&file) {
        Ok(verified) => match verified.findings.first() {
            None => Check::ok(NAME, format!("whole, {} objects", verified.objects)),
            Some(first) => {
                let more = verified.findings.len() - 1;
                Check::problem(NAME, format!("damaged: {first} (and {more} more)"), mend)
            }
        },
        Err(error) => Check::problem(NAME, error.to_string(), mend),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::State;
    use super::*;

    #[test]
    fn free_space_has_two_edges() {
        let check = |bytes: u64, expected| assert_eq!(free(bytes).state, expected, "{bytes}");
        check(MIN_FREE.get() - 1, State::Problem);
        check(MIN_FREE.get(), State::Warning);
        check(LOW_FREE.get() - 1, State::Warning);
        check(LOW_FREE.get(), State::Ok);
    }
}
