//! Secrets at rest: keys in a file beside the store, and values that are encrypted with them.
//!
//! Values are sealed with AES-256-GCM under a random nonce, bound to the key of their object: a value that is put under another key does not
//! open. The key file is no part of the store and of its backups.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use crate::Key;
use crate::transaction::sha256;

const HEADER: &str = "lanai store keys 1";
const KEY_LEN: usize = 32;

/// The number of a key in its file; grows with each rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u32);

/// Tells keys of one number apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(pub(crate) [u8; 16]);

/// A key with which something in a store is sealed. Stores of older programs have no fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UsedKey {
    pub(crate) id: KeyId,
    pub(crate) fingerprint: Option<Fingerprint>,
}

impl UsedKey {
    pub(crate) fn new(id: u32, fingerprint: Option<&[u8]>) -> Self {
        let fingerprint = fingerprint.and_then(|bytes| bytes.try_into().ok()).map(Fingerprint);
        Self { id: KeyId(id), fingerprint }
    }
}

/// The keys of a store. The newest seals, all open.
#[derive(Clone)]
pub struct Keyring {
    path: PathBuf,
    keys: BTreeMap<KeyId, Secret>,
    /// Older ones are only in memory, for those who read before a rotation and open afterwards.
    oldest_in_file: KeyId,
}

#[derive(Clone)]
struct Secret([u8; KEY_LEN]);

/// Why there is no keyring, or why something cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("the key file \"{}\" cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is not a key file.
    #[error("the key file \"{}\" is damaged in line {line}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Others than its owner can read the file.
    #[error("the key file \"{}\" can be read by others (mode {mode:o}): make it readable for its owner only", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A value is sealed with a key that is not in the file.
    #[error("it was sealed with key {}, which is not in \"{}\"", id.0, path.display())]
    Missing {
        /// The key.
        id: KeyId,
        /// The file.
        path: PathBuf,
    },
    /// The file has a key of this number, and it is not the one with which the store is sealed.
    #[error("\"{}\" has another key {} than the one of this store: put the key file there with which the store was made", path.display(), id.0)]
    OtherKey {
        /// The key.
        id: KeyId,
        /// The file.
        path: PathBuf,
    },
    /// A value was changed, or belongs to another object.
    #[error("the sealed value was changed, or belongs to another object")]
    Forged,
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

impl Keyring {
    /// Reads a key file; `None` if there is none.
    pub fn load(path: &Path) -> Result<Option<Self>, Error> {
        let wrong = |source| Error::Io { path: path.to_owned(), source };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(error)),
        };
        let mode = fs::metadata(path).map_err(wrong)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(Error::Open { path: path.to_owned(), mode });
        }
        let damaged = |line| Error::Damaged { path: path.to_owned(), line };
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err(damaged(1));
        }
        let mut keys = BTreeMap::new();
        for (at, line) in lines.enumerate() {
            let (id, secret) = parse_line(line).ok_or_else(|| damaged(at + 2))?;
            keys.insert(id, secret);
        }
        let Some(oldest_in_file) = keys.keys().next().copied() else { return Err(damaged(2)) };
        Ok(Some(Self { path: path.to_owned(), keys, oldest_in_file }))
    }

    /// Makes a key file with one new key. There must be none.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let keys = BTreeMap::from([(KeyId(1), Secret::random()?)]);
        let keyring = Self { path: path.to_owned(), keys, oldest_in_file: KeyId(1) };
        keyring.save()?;
        Ok(keyring)
    }

    /// Adds a new key, with which everything is sealed from now on. The file has it before this returns.
    ///
    /// Behind an error nothing has changed here: a key that may not be in the file seals nothing.
    pub(crate) fn add_key(&mut self) -> Result<KeyId, Error> {
        let id = KeyId(self.newest().0 + 1);
        let mut next = self.clone();
        next.keys.insert(id, Secret::random()?);
        next.save()?;
        *self = next;
        Ok(id)
    }

    /// Takes the keys before one out of the file.
    pub(crate) fn forget_keys_before(&mut self, id: KeyId) -> Result<(), Error> {
        let next = Self { oldest_in_file: id.max(self.oldest_in_file), ..self.clone() };
        next.save()?;
        *self = next;
        Ok(())
    }

    /// The key that seals.
    pub fn newest(&self) -> KeyId {
        *self.keys.last_key_value().expect("a keyring has at least one key").0
    }

    /// What tells a key from others with its number, and tells nobody what it is.
    pub(crate) fn fingerprint(&self, id: KeyId) -> Option<Fingerprint> {
        let secret = self.keys.get(&id)?;
        let digest = sha256(&[b"lanai store key 1\0".as_slice(), &secret.0].concat());
        digest.as_bytes().first_chunk().copied().map(Fingerprint)
    }

    /// The keys with which a store is sealed must be here, and be the same.
    pub(crate) fn check(&self, used: &UsedKey) -> Result<(), Error> {
        let UsedKey { id, fingerprint } = *used;
        let path = || self.path.clone();
        let found = self.fingerprint(id).ok_or_else(|| Error::Missing { id, path: path() })?;
        if fingerprint.is_some_and(|fingerprint| fingerprint != found) {
            return Err(Error::OtherKey { id, path: path() });
        }
        Ok(())
    }

    /// Reads the file again: somebody else may have added a key. Keys that went from the file stay here.
    pub(crate) fn reload(&mut self) -> Result<(), Error> {
        let Some(found) = Self::load(&self.path)? else { return Ok(()) };
        let differs = |(id, secret): (&KeyId, &Secret)| {
            self.keys.get(id).is_some_and(|known| known.0 != secret.0).then_some(*id)
        };
        if let Some(id) = found.keys.iter().find_map(differs) {
            return Err(Error::OtherKey { id, path: self.path.clone() });
        }
        self.oldest_in_file = found.oldest_in_file;
        self.keys.extend(found.keys);
        Ok(())
    }

    /// Where the keys are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Encrypts a value for an object, with the newest key.
    pub(crate) fn seal(&self, key: &Key, value: &[u8]) -> Result<Vec<u8>, Error> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| Error::NoRandom)?;
        let mut sealed = value.to_vec();
        let cipher = self.cipher(self.newest())?;
        cipher
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), bound_to(key), &mut sealed)
            .map_err(|_| Error::Forged)?;
        let mut whole = nonce.to_vec();
        whole.append(&mut sealed);
        Ok(whole)
    }

    /// Decrypts what was sealed for an object.
    pub(crate) fn open(&self, id: KeyId, key: &Key, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let cipher = self.cipher(id)?;
        let (nonce, rest) = sealed.split_at_checked(NONCE_LEN).ok_or(Error::Forged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Error::Forged)?;
        let mut value = rest.to_vec();
        let length = cipher.open_in_place(nonce, bound_to(key), &mut value).map_err(|_| Error::Forged)?.len();
        value.truncate(length);
        Ok(value)
    }

    fn cipher(&self, id: KeyId) -> Result<LessSafeKey, Error> {
        let secret = self.keys.get(&id).ok_or_else(|| Error::Missing { id, path: self.path.clone() })?;
        let key = UnboundKey::new(&AES_256_GCM, &secret.0).expect("AES-256 takes keys of 32 bytes");
        Ok(LessSafeKey::new(key))
    }

    /// Replaces the file as a whole: it holds the old keys or the new ones.
    fn save(&self) -> Result<(), Error> {
        self.try_save().map_err(|source| Error::Io { path: self.path.clone(), source })
    }

    fn try_save(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
        let mut text = format!("{HEADER}\n");
        for (id, secret) in self.keys.range(self.oldest_in_file..) {
            let _ = writeln!(text, "{} {}", id.0, hex(&secret.0));
        }
        // A temporary file is readable for its owner only.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        fs::rename(file.into_temp_path(), &self.path)?;
        fs::File::open(folder)?.sync_all()
    }
}

impl std::fmt::Debug for Keyring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyring")
            .field("path", &self.path)
            .field("newest", &self.newest())
            .finish_non_exhaustive()
    }
}

impl Secret {
    fn random() -> Result<Self, Error> {
        let mut bytes = [0; KEY_LEN];
        SystemRandom::new().fill(&mut bytes).map_err(|_| Error::NoRandom)?;
        Ok(Self(bytes))
    }
}

fn bound_to(key: &Key) -> Aad<Vec<u8>> {
    Aad::from([b"lanai store 1\0", key.as_str().as_bytes()].concat())
}

fn parse_line(line: &str) -> Option<(KeyId, Secret)> {
    let (id, digits) = line.split_once(' ')?;
    let mut bytes = [0; KEY_LEN];
    if digits.len() != 2 * KEY_LEN || !digits.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).ok()?;
    }
    Some((KeyId(id.parse().ok()?), Secret(bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(raw: &str) -> Key {
        raw.parse().unwrap()
    }

    #[test]
    fn what_was_sealed_opens_for_the_same_object_only() {
        let folder = tempfile::tempdir().unwrap();
        let ring = Keyring::create(&folder.path().join("store.key")).unwrap();
        let sealed = ring.seal(&key("secrets/a/b"), b"hidden").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"hidden"));
        assert_eq!(ring.open(KeyId(1), &key("secrets/a/b"), &sealed).unwrap(), b"hidden");
        for other in ["secrets/a/c", "secrets/b/b", "configmaps/a/b"] {
            assert!(matches!(ring.open(KeyId(1), &key(other), &sealed), Err(Error::Forged)), "{other}");
        }
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(matches!(ring.open(KeyId(1), &key("secrets/a/b"), &changed), Err(Error::Forged)));
        assert!(matches!(ring.open(KeyId(1), &key("secrets/a/b"), &sealed[..3]), Err(Error::Forged)));
        assert!(matches!(ring.open(KeyId(2), &key("secrets/a/b"), &sealed), Err(Error::Missing { .. })));
        assert_ne!(sealed, ring.seal(&key("secrets/a/b"), b"hidden").unwrap(), "nonces differ");
    }

    #[test]
    fn keys_are_in_the_file_and_only_the_newest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.key");
        assert!(Keyring::load(&path).unwrap().is_none());
        let mut ring = Keyring::create(&path).unwrap();
        let sealed = ring.seal(&key("secrets/a/b"), b"hidden").unwrap();
        assert_eq!(ring.add_key().unwrap(), KeyId(2));
        let both = Keyring::load(&path).unwrap().unwrap();
        assert_eq!(both.newest(), KeyId(2));
        assert_eq!(both.open(KeyId(1), &key("secrets/a/b"), &sealed).unwrap(), b"hidden");
        ring.forget_keys_before(KeyId(2)).unwrap();
        let one = Keyring::load(&path).unwrap().unwrap();
        assert!(one.fingerprint(KeyId(1)).is_none() && one.fingerprint(KeyId(2)).is_some());
    }

    #[test]
    fn a_key_that_somebody_added_is_found_and_another_one_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.key");
        let mut one = Keyring::create(&path).unwrap();
        let mut other = Keyring::load(&path).unwrap().unwrap();
        let sealed = {
            one.add_key().unwrap();
            one.forget_keys_before(KeyId(2)).unwrap();
            one.seal(&key("secrets/a/b"), b"hidden").unwrap()
        };
        assert!(matches!(other.open(KeyId(2), &key("secrets/a/b"), &sealed), Err(Error::Missing { .. })));
        other.reload().unwrap();
        assert_eq!(other.open(KeyId(2), &key("secrets/a/b"), &sealed).unwrap(), b"hidden");
        assert!(other.fingerprint(KeyId(1)).is_some(), "for those who read before");
        let stranger = Keyring::create(&folder.path().join("stranger")).unwrap();
        let used = |ring: &Keyring, id| UsedKey { id: KeyId(id), fingerprint: ring.fingerprint(KeyId(id)) };
        assert!(other.check(&used(&one, 2)).is_ok());
        assert!(matches!(other.check(&used(&stranger, 1)), Err(Error::OtherKey { .. })));
        assert!(matches!(stranger.check(&used(&one, 2)), Err(Error::Missing { .. })));
        fs::copy(folder.path().join("stranger"), &path).unwrap();
        assert!(matches!(other.reload(), Err(Error::OtherKey { .. })), "not taken for an old one");
    }

    #[test]
    fn a_key_that_is_not_in_the_file_seals_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys");
        fs::create_dir(&keys).unwrap();
        let mut ring = Keyring::create(&keys.join("store.key")).unwrap();
        fs::rename(&keys, folder.path().join("elsewhere")).unwrap();
        assert!(matches!(ring.add_key(), Err(Error::Io { .. })));
        assert_eq!(ring.newest(), KeyId(1));
        assert!(matches!(ring.forget_keys_before(KeyId(1)), Err(Error::Io { .. })));
        fs::rename(folder.path().join("elsewhere"), &keys).unwrap();
        let sealed = ring.seal(&key("secrets/a/b"), b"hidden").unwrap();
        let again = Keyring::load(&keys.join("store.key")).unwrap().unwrap();
        assert_eq!(again.open(ring.newest(), &key("secrets/a/b"), &sealed).unwrap(), b"hidden");
    }

    #[test]
    fn a_file_that_is_no_key_file_or_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.key");
        Keyring::create(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Keyring::load(&path), Err(Error::Open { mode: 0o640, .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for (text, expected) in [("", 1), ("lanai store keys 1\n", 2), ("lanai store keys 1\n1 00\n", 2)] {
            fs::write(&path, text).unwrap();
            assert!(
                matches!(Keyring::load(&path), Err(Error::Damaged { line, .. }) if line == expected),
                "{text:?}"
            );
        }
    }
}
