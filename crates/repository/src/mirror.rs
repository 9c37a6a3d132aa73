//! What is kept of a remote repository: a bare repository in the cache that anybody may delete at any time.
//!
//! Its packs hold the commits that somebody wanted, most of them without their past. A mark (a ref) is written after the
//! objects of a commit are all there, so a commit without its mark counts as absent. Whoever writes holds the lock;
//! the system takes the lock away from a process that dies.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use gix_hash::ObjectId;
use gix_protocol::fetch::response::ShallowUpdate;
use lanai_krm::digest;

use crate::progress::{Phase, Progress, Report};
use crate::{Cancel, Error, RemoteUrl};

/// The mirror of one repository, which may not exist yet.
pub(crate) struct Mirror {
    folder: PathBuf,
    lock: PathBuf,
}

/// The right to use a mirror, until it is dropped.
pub(crate) struct Guard<'a> {
    mirror: &'a Mirror,
    _lock: File,
}

/// What the right is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Use {
    /// Others may read as well.
    Read,
    /// Nobody else does anything.
    Write,
}

const MARKS: &str = "refs/lanai";

/// How many commits we tell a server about, so that it sends only what is new.
const MAX_HAVES: usize = 32;

/// How many packs a mirror may have before it is made anew: each transfer adds one, and looking through many is slow.
const MAX_PACKS: usize = 100;

/// How often a lock that somebody else holds is tried again; nothing notifies of its release.
const RETRY: Duration = Duration::from_millis(50);

impl Mirror {
    /// The mirror of a repository below the folder of the cache. Nothing is touched.
    pub(crate) fn of(remote: &RemoteUrl, cache: &Path) -> Result<Self, Error> {
        let identity = remote.identity();
        let id = digest::blob_id(identity.as_bytes()).map_err(|cause| Error::File {
            what: "cannot name the copy in the cache",
            path: cache.to_owned(),
            cause: cause.to_string(),
        })?;
        let end = identity.trim_end_matches(".git").rsplit(['/', ':']).next().unwrap_or_default();
        let readable: String =
            end.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect();
        let name = format!("{readable}-{}", &id.to_string()[..16]);
        let git = cache.join("git");
        Ok(Self { folder: git.join(&name), lock: git.join(format!("{name}.lock")) })
    }

    /// The mirror in a folder of the cache.
    pub(crate) fn at(folder: &Path) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Self { folder: folder.to_owned(), lock: folder.with_file_name(format!("{name}.lock")) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn lock_path(&self) -> &Path {
        &self.lock
    }

    /// Waits until nobody is in the way.
    pub(crate) fn lock(&self, to: Use, cancel: &Cancel, progress: &dyn Progress) -> Result<Guard<'_>, Error> {
        loop {
            let folder = self.lock.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder).map_err(failed("cannot make the folder", folder))?;
            let open = File::options().create(true).truncate(false).write(true).read(true).open(&self.lock);
            let file = match open {
                Ok(file) => file,
                // Somebody deletes the cache at this moment.
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
                Err(cause) => return Err(failed("cannot open", &self.lock)(cause)),
            };
            self.wait(&file, to, cancel, progress)?;
            if self.is_current(&file) {
                // Whoever makes room goes by this; where it cannot be written, others may be removed first.
                let _ = file.set_modified(SystemTime::now());
                return Ok(Guard { mirror: self, _lock: file });
            }
        }
    }

    fn wait(&self, file: &File, to: Use, cancel: &Cancel, progress: &dyn Progress) -> Result<(), Error> {
        let (wake, woken) = mpsc::channel();
        let _hook = cancel.on_cancel(move || {
            let _ = wake.send(());
        });
        loop {
            let locked = match to {
                Use::Read => file.try_lock_shared(),
                Use::Write => file.try_lock(),
            };
            match locked {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(cause)) => return Err(failed("cannot lock", &self.lock)(cause)),
            }
            progress.report(Report::start(Phase::Waiting));
            let _ = woken.recv_timeout(RETRY);
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
        }
    }

    /// Whether the locked file is still the one at its path: a lock on a deleted file keeps nobody out.
    pub(crate) fn is_current(&self, file: &File) -> bool {
        use std::os::unix::fs::MetadataExt;
        let same = |a: &fs::Metadata, b: &fs::Metadata| a.ino() == b.ino() && a.dev() == b.dev();
        match (file.metadata(), fs::metadata(&self.lock)) {
            (Ok(locked), Ok(there)) => same(&locked, &there),
            _ => false,
        }
    }
}

impl Guard<'_> {
    /// The objects; `None` where there is no mirror, or half of one.
    pub(crate) fn objects(&self) -> Option<gix_odb::Handle> {
        if !self.mirror.folder.join("HEAD").is_file() {
            return None;
        }
        open_objects(&self.mirror.folder.join("objects")).ok()
    }

    /// The folder of the packs.
    pub(crate) fn packs(&self) -> PathBuf {
        self.mirror.folder.join("objects/pack")
    }

    /// The folder of objects that were made here and that the remote may not have.
    pub(crate) fn staged(&self) -> PathBuf {
        self.mirror.folder.join("staged")
    }

    /// Whether all objects of the commit were there once.
    pub(crate) fn is_marked(&self, commit: ObjectId) -> bool {
        self.mark(commit).is_file()
    }

    fn mark(&self, commit: ObjectId) -> PathBuf {
        self.mirror.folder.join(MARKS).join(commit.to_hex().to_string())
    }

    /// Makes the mirror ready for a transfer: makes it anew where there is none or it has grown too many packs, and
    /// removes what a transfer that was killed left behind. The caller has the right to write.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        let folder = &self.mirror.folder;
        if !folder.join("HEAD").is_file() || self.tidy().map_or(true, |packs| packs >= MAX_PACKS) {
            self.discard()?;
        }
        for below in ["objects/pack", "objects/info", "refs/heads", MARKS] {
            let path = folder.join(below);
            fs::create_dir_all(&path).map_err(failed("cannot make the folder", &path))?;
        }
        let config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
        for (name, text) in [("config", config), ("HEAD", "ref: refs/heads/main\n")] {
            self.write(&folder.join(name), text)?;
        }
        Ok(())
    }

    /// Throws the mirror away. The caller has the right to write.
    pub(crate) fn discard(&self) -> Result<(), Error> {
        match fs::remove_dir_all(&self.mirror.folder) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(failed("cannot remove", &self.mirror.folder)(cause))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Removes what is no pack with an index, and files that were not given their names; counts the packs.
    fn tidy(&self) -> io::Result<usize> {
        for entry in fs::read_dir(&self.mirror.folder)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".tmp") {
                fs::remove_file(entry.path())?;
            }
        }
        let mut packs = 0;
        for entry in fs::read_dir(self.packs())? {
            let path = entry?.path();
            let partner = match path.extension().and_then(|extension| extension.to_str()) {
                Some("pack") => path.with_extension("idx"),
                Some("idx") => path.with_extension("pack"),
                _ => PathBuf::new(),
            };
            if !partner.is_file() {
                fs::remove_file(&path)?;
            } else if partner.extension().is_some_and(|extension| extension == "idx") {
                packs += 1;
            }
        }
        Ok(packs)
    }

    /// Commits that are there, the newest first.
    pub(crate) fn haves(&self) -> Vec<ObjectId> {
        let entries = fs::read_dir(self.mirror.folder.join(MARKS)).into_iter().flatten().flatten();
        let mut marks: Vec<(SystemTime, ObjectId)> = entries
            .filter_map(|entry| {
                let id = ObjectId::from_hex(entry.file_name().as_encoded_bytes()).ok()?;
                Some((entry.metadata().ok()?.modified().ok()?, id))
            })
            .collect();
        marks.sort_by(|left, right| right.cmp(left));
        marks.into_iter().take(MAX_HAVES).map(|(_, id)| id).collect()
    }

    /// Commits whose parents are not there.
    pub(crate) fn shallow(&self) -> BTreeSet<ObjectId> {
        let text = fs::read_to_string(self.mirror.folder.join("shallow")).unwrap_or_default();
        text.lines().filter_map(|line| ObjectId::from_hex(line.as_bytes()).ok()).collect()
    }

    /// Records that the objects of commits are there now.
    pub(crate) fn record(&self, commits: &[ObjectId], updates: &[ShallowUpdate]) -> Result<(), Error> {
        let mut shallow = self.shallow();
        for update in updates {
            match update {
                ShallowUpdate::Shallow(id) => shallow.insert(*id),
                ShallowUpdate::Unshallow(id) => shallow.remove(id),
            };
        }
        let mut lines = String::new();
        for id in &shallow {
            lines.push_str(&id.to_hex().to_string());
            lines.push('\n');
        }
        // Git takes an empty file for a broken one.
        if !lines.is_empty() {
            self.write(&self.mirror.folder.join("shallow"), &lines)?;
        }
        for commit in commits {
            self.write(&self.mark(*commit), &format!("{}\n", commit.to_hex()))?;
        }
        Ok(())
    }

    /// Replaces a file whole or not at all.
    fn write(&self, path: &Path, text: &str) -> Result<(), Error> {
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.mirror.folder)?;
            file.write_all(text.as_bytes())?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(failed("cannot write", path))
    }
}

/// Opens a folder of objects. How much may be allocated for one object is bounded by its size, which is looked at first.
pub(crate) fn open_objects(folder: &Path) -> io::Result<gix_odb::Handle> {
    // Reading the folder here tells apart what gix would only notice later.
    fs::read_dir(folder)?;
    gix_odb::at(folder, gix_hash::Kind::Sha1)
}

pub(crate) fn failed(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    move |cause| Error::File { what, path: path.to_owned(), cause: cause.to_string() }
}
