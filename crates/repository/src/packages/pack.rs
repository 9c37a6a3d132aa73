//! Packs: written from objects in memory, kept beside others, and put together when there are many.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use gix_object::{Find, Kind};
use gix_utils::progress::Discard;

use crate::error::chain;

/// How many packs there may be before the small ones are put together.
const MAX_PACKS: usize = 40;

/// How many bytes of packs are put together at once.
const SMALL: u64 = 16 * 1024 * 1024;

/// How many bytes their objects may have, which can be many more: they are held in memory.
const MAX_EXPANDED: usize = 64 * 1024 * 1024;

/// A pack of these objects, whole and without deltas.
pub(crate) fn write<'a>(objects: impl ExactSizeIterator<Item = (Kind, &'a [u8])>) -> io::Result<Vec<u8>> {
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    let count = u32::try_from(objects.len()).map_err(io::Error::other)?;
    pack.extend_from_slice(&count.to_be_bytes());
    for (kind, data) in objects {
        add(&mut pack, kind, data)?;
    }
    seal(&mut pack)?;
    Ok(pack)
}

fn seal(pack: &mut Vec<u8>) -> io::Result<()> {
    let mut hasher = gix_hash::hasher(gix_hash::Kind::Sha1);
    hasher.update(pack);
    let id = hasher.try_finalize().map_err(io::Error::other)?;
    pack.extend_from_slice(id.as_slice());
    Ok(())
}

fn add(pack: &mut Vec<u8>, kind: Kind, data: &[u8]) -> io::Result<()> {
    let number = match kind {
        Kind::Commit => 1_u8,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    // Four bits of the length are in the first byte, seven in each that follows; the highest bit says that one follows.
    let mut rest = data.len();
    let mut byte = (number << 4) | low_bits(rest, 0x0f);
    rest >>= 4;
    while rest > 0 {
        pack.push(byte | 0x80);
        byte = low_bits(rest, 0x7f);
        rest >>= 7;
    }
    pack.push(byte);
    let mut deflate = gix_zlib::stream::deflate::Write::new(&mut *pack, gix_zlib::Compression::DEFAULT);
    deflate.write_all(data)?;
    deflate.flush()
}

fn low_bits(number: usize, mask: u8) -> u8 {
    u8::try_from(number & usize::from(mask)).unwrap_or(mask)
}

/// A pack in a folder.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pack: Option<PathBuf>,
    index: Option<PathBuf>,
    /// Keeps Git from tidying the pack away.
    hold: Option<PathBuf>,
}

/// Whether Git must leave a pack alone although no ref leads to what is in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Until it is let go.
    UntilLetGo,
    /// Nobody tidies up where it is.
    Never,
}

impl Kept {
    /// From now on refs lead to it, or nobody needs it.
    pub(crate) fn let_go(self) {
        if let Some(hold) = self.hold {
            let _ = fs::remove_file(hold);
        }
    }

    /// Moves it to another folder of packs on the same disk.
    pub(crate) fn move_to(self, folder: &Path) -> io::Result<()> {
        // The index goes last: it is what makes a pack seen.
        for path in [self.pack, self.index].into_iter().flatten() {
            let name = path.file_name().unwrap_or_default();
            fs::rename(&path, folder.join(name))?;
        }
        Ok(())
    }

    /// Removes it.
    pub(crate) fn remove(self) {
        for path in [self.index, self.pack].into_iter().flatten() {
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes the oldest packs of a folder, if there are more than so many.
pub(crate) fn remove_oldest(folder: &Path, most: usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let packs = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == "pack"));
    let mut packs: Vec<_> =
        packs.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path))).collect();
    packs.sort();
    let surplus = packs.len().saturating_sub(most);
    for (_, path) in packs.into_iter().take(surplus) {
        Kept { index: Some(path.with_extension("idx")), pack: Some(path), hold: None }.remove();
    }
}

/// Puts a pack into a folder of packs, with its index. It is found from then on.
pub(crate) fn keep(pack: &[u8], folder: &Path, hold: Hold) -> io::Result<Kept> {
    fs::create_dir_all(folder)?;
    let options = gix_pack::bundle::write::Options {
        thread_limit: Some(1),
        iteration_mode: gix_pack::data::input::Mode::AsIs,
        index_version: gix_pack::index::Version::V2,
        ..Default::default()
    };
    let written = gix_pack::Bundle::write_to_directory(
        &mut io::BufReader::new(pack),
        Some(folder),
        &mut Discard,
        &AtomicBool::new(false),
        None::<gix_odb::HandleArc>,
        gix_hash::Kind::Sha1,
        options,
    );
    let written = written.map_err(|cause| io::Error::other(chain(&cause)))?;
    for path in [&written.data_path, &written.index_path].into_iter().flatten() {
        fs::File::open(path)?.sync_data()?;
    }
    let kept = Kept { pack: written.data_path, index: written.index_path, hold: None };
    // It was there before the pack was.
    let kept = match (written.keep_path, hold) {
        (Some(path), Hold::UntilLetGo) => {
            fs::write(&path, HOLD)?;
            Kept { hold: Some(path), ..kept }
        }
        (Some(path), Hold::Never) => {
            let _ = fs::remove_file(path);
            kept
        }
        (None, Hold::UntilLetGo | Hold::Never) => kept,
    };
    fs::File::open(folder)?.sync_data()?;
    Ok(kept)
}

/// What our holds say; those of others say something else.
const HOLD: &str = "lanai: about to move refs\n";

/// How old a hold is that a killed process must have left.
const MAX_HOLD: Duration = Duration::from_hours(1);

/// Lets packs go that killed processes held.
pub(crate) fn let_old_go(folder: &Path, now: SystemTime) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let age = || {
            let made = fs::metadata(&path).and_then(|found| found.modified()).ok()?;
            now.duration_since(made).ok().filter(|age| *age > MAX_HOLD)
        };
        let is_hold = path.extension().is_some_and(|extension| extension == "keep");
        if is_hold && age().is_some() && fs::read_to_string(&path).is_ok_and(|text| text == HOLD) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// What is to be put together.
pub(crate) struct Small(Vec<PathBuf>);

/// The small packs of a folder, if there are too many. What has no index may be on its way, and what has more than that is
/// Git's to look after.
pub(crate) fn too_many(folder: &Path) -> io::Result<Option<Small>> {
    let is_plain = |path: &PathBuf| {
        let has = |extension: &str| path.with_extension(extension).exists();
        has("idx") && !["keep", "mtimes", "bitmap", "promisor"].into_iter().any(has)
    };
    let size = |path: &PathBuf| fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
    let mut packs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "pack") && is_plain(&path) {
            packs.push(path);
        }
    }
    if packs.len() <= MAX_PACKS || folder.join("multi-pack-index").exists() {
        return Ok(None);
    }
    // The smallest first, and of those no more than can be held in memory.
    packs.sort_by_key(size);
    let mut all: u64 = 0;
    packs.retain(|path| {
        all = all.saturating_add(size(path));
        all <= SMALL
    });
    Ok((packs.len() > 1).then_some(Small(packs)))
}

/// Writes the objects of small packs into one, then removes the small ones. Nobody else may use the folder meanwhile.
///
/// Killed before the end it leaves objects in two packs, which harms nobody.
pub(crate) fn put_together(small: &Small, folder: &Path, objects: &impl Find) -> io::Result<()> {
    let mut ids = std::collections::BTreeSet::new();
    for path in &small.0 {
        let index = gix_pack::index::File::at(path.with_extension("idx"), gix_hash::Kind::Sha1);
        let index = index.map_err(|cause| io::Error::other(chain(&cause)))?;
        ids.extend(index.iter().map(|entry| entry.oid));
    }
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend_from_slice(&u32::try_from(ids.len()).map_err(io::Error::other)?.to_be_bytes());
    let mut buffer = Vec::new();
    let mut expanded = 0;
    for id in &ids {
        let data = objects.try_find(id, &mut buffer).map_err(|cause| io::Error::other(chain(&cause)))?;
        let data = data.ok_or_else(|| io::Error::other(format!("{id} is missing")))?;
        expanded += data.data.len();
        if expanded > MAX_EXPANDED {
            // They stay as they are; looking through them is slow, but works.
            return Ok(());
        }
        add(&mut pack, data.kind, data.data)?;
    }
    seal(&mut pack)?;
    keep(&pack, folder, Hold::Never)?;
    let name = pack[pack.len() - 20..].to_vec();
    let name = gix_hash::ObjectId::try_from(name.as_slice()).map_err(io::Error::other)?;
    let new = folder.join(format!("pack-{name}.pack"));
    for path in small.0.iter().filter(|path| **path != new) {
        // The index goes last: a pack without one is not seen, an index without a pack is an error.
        fs::remove_file(path.with_extension("idx"))?;
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of objects with so many packs, of one file each.
    fn packs(number: usize, file: impl Fn(usize) -> Vec<u8>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for at in 0..number {
            let file = file(at);
            let pack = write([(Kind::Blob, file.as_slice())].into_iter()).unwrap();
            keep(&pack, &folder.path().join("pack"), Hold::Never).unwrap();
        }
        folder
    }

    fn count(folder: &Path) -> usize {
        let all = fs::read_dir(folder.join("pack")).unwrap().flatten();
        all.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count()
    }

    #[test]
    fn many_small_packs_become_one() {
        let folder = packs(MAX_PACKS, |at| at.to_string().into_bytes());
        assert!(too_many(&folder.path().join("pack")).unwrap().is_none(), "on the edge");
        let folder = packs(MAX_PACKS + 1, |at| at.to_string().into_bytes());
        let small = too_many(&folder.path().join("pack")).unwrap().unwrap();
        let objects = crate::mirror::open_objects(folder.path()).unwrap();
        put_together(&small, &folder.path().join("pack"), &objects).unwrap();
        assert_eq!(count(folder.path()), 1);
        let objects = crate::mirror::open_objects(folder.path()).unwrap();
        for at in 0..=MAX_PACKS {
            let id = gix_object::compute_hash(gix_hash::Kind::Sha1, Kind::Blob, at.to_string().as_bytes());
            assert!(gix_object::Exists::exists(&objects, &id.unwrap()), "{at}");
        }
    }

    #[test]
    fn what_a_killed_process_held_is_let_go_and_what_others_hold_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let packs = folder.path().join("pack");
        let pack = write([(Kind::Blob, b"1".as_slice())].into_iter()).unwrap();
        let kept = keep(&pack, &packs, Hold::UntilLetGo).unwrap();
        let hold = kept.hold.clone().unwrap();
        fs::write(packs.join("pack-1.keep"), "mine").unwrap();
        let later = |seconds| SystemTime::now() + Duration::from_secs(seconds);
        let_old_go(&packs, later(3_500));
        assert!(hold.exists(), "somebody may be at work");
        let_old_go(&packs, later(3_700));
        assert!(!hold.exists() && packs.join("pack-1.keep").exists());
    }

    /// What is small as a pack and large in memory is not held there.
    #[test]
    fn packs_that_expand_too_much_stay_as_they_are() {
        let size = MAX_EXPANDED / MAX_PACKS;
        let folder = packs(MAX_PACKS + 1, |at| {
            let mut file = vec![0; size];
            file[0] = u8::try_from(at).unwrap();
            file
        });
        let small = too_many(&folder.path().join("pack")).unwrap().unwrap();
        assert_eq!(small.0.len(), MAX_PACKS + 1);
        let objects = crate::mirror::open_objects(folder.path()).unwrap();
        put_together(&small, &folder.path().join("pack"), &objects).unwrap();
        assert_eq!(count(folder.path()), MAX_PACKS + 1);
    }
}
