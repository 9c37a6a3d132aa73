//! Where modules are.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use lanai_evaluate::Error;
use lanai_types::quote::Quoted;
use lanai_types::{ByteSize, Sha256Digest};
use serde::Deserialize;

/// How much of the descriptions in a layout is read.
const MAX_DESCRIPTION: ByteSize = ByteSize::mib(4);
/// How many descriptions of descriptions are followed.
const MAX_DEPTH: usize = 4;
/// A block of a tar archive.
const BLOCK: usize = 512;

/// A part of a layout, by its digest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
}

/// An index or a manifest.
#[derive(Deserialize)]
struct Description {
    #[serde(default)]
    manifests: Vec<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

/// The digest of a module.
pub(crate) fn digest(module: &[u8]) -> Sha256Digest {
    let digest = ring::digest::digest(&ring::digest::SHA256, module);
    Sha256Digest::from_bytes(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

/// Reads a module: a file, or the one layer of the one image of a folder in the layout of OCI images.
pub(crate) fn read(path: &Path, max: ByteSize) -> Result<Vec<u8>, Error> {
    let shown = path.display().to_string();
    let cannot =
        |why: String| Error::Infrastructure(format!("cannot read the module {}: {why}", Quoted(&shown)));
    if path.is_dir() { layer(path, max).map_err(cannot) } else { file(path, max).map_err(cannot) }
}

fn file(path: &Path, max: ByteSize) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|cause| cause.to_string())?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err("it is no file".to_owned());
    }
    within(file, max)
}

/// All that can be read, if that is not too much.
fn within(source: impl Read, max: ByteSize) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    source.take(max.get().saturating_add(1)).read_to_end(&mut content).map_err(|cause| cause.to_string())?;
    if max.admits(content.len()) {
        Ok(content)
    } else {
        Err(format!("it has more than the {max} of max_module"))
    }
}

fn layer(folder: &Path, max: ByteSize) -> Result<Vec<u8>, String> {
    let mut text =
        file(&folder.join("index.json"), MAX_DESCRIPTION).map_err(|why| format!("index.json: {why}"))?;
    for _ in 0..MAX_DEPTH {
        let description: Description = serde_json::from_slice(&text).map_err(|cause| cause.to_string())?;
        match (description.manifests.as_slice(), description.layers.as_slice()) {
            ([only], []) => text = blob(folder, only, MAX_DESCRIPTION)?,
            ([], [only]) => return unpacked(only, blob(folder, only, max)?, max),
            ([], layers) => return Err(format!("its image has {} layers, and one is needed", layers.len())),
            (images, _) => return Err(format!("it has {} images, and one is needed", images.len())),
        }
    }
    Err("its descriptions lead to no image".to_owned())
}

/// A part of the layout that is what it says.
fn blob(folder: &Path, descriptor: &Descriptor, max: ByteSize) -> Result<Vec<u8>, String> {
    let wanted: Sha256Digest = descriptor.digest.parse().map_err(|cause| format!("{cause}"))?;
    let content = file(&folder.join("blobs/sha256").join(wanted.to_hex()), max)
        .map_err(|why| format!("{}: {why}", descriptor.digest))?;
    if digest(&content) == wanted { Ok(content) } else { Err(format!("{} is damaged", descriptor.digest)) }
}

/// The module of a layer, which is the layer itself or the one file of an archive.
fn unpacked(descriptor: &Descriptor, content: Vec<u8>, max: ByteSize) -> Result<Vec<u8>, String> {
    let kind = descriptor.media_type.as_str();
    // What headers and padding take.
    let room = ByteSize::bytes(max.get().saturating_add(64 * 1024));
    if kind.ends_with("tar+gzip") || kind.ends_with("tar.gzip") {
        only_file(&within(GzDecoder::new(io::Cursor::new(content)), room)?)
    } else if kind.ends_with("tar") {
        only_file(&content)
    } else if kind.ends_with("wasm") {
        Ok(content)
    } else {
        Err(format!("its layer is of the kind {}, which is neither a module nor an archive", Quoted(kind)))
    }
}

/// The content of the one file of a tar archive.
fn only_file(archive: &[u8]) -> Result<Vec<u8>, String> {
    let mut found = None;
    let mut rest = archive;
    while let Some((header, behind)) = rest.split_at_checked(BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let size = std::str::from_utf8(&header[124..136]).ok();
        let size = size.and_then(|text| usize::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok());
        let size = size.ok_or("its layer is no archive")?;
        let (content, _) = behind.split_at_checked(size).ok_or("the archive in its layer is cut off")?;
        // A plain file, in the words of two ages.
        if matches!(header[156], b'0' | 0) && found.replace(content).is_some() {
            return Err("its layer has several files, and one is needed".to_owned());
        }
        rest = behind.get(size.next_multiple_of(BLOCK)..).unwrap_or_default();
    }
    found.map(<[u8]>::to_vec).ok_or_else(|| "its layer has no file".to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; BLOCK];
        entry[..name.len()].copy_from_slice(name.as_bytes());
        entry[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        entry[156] = kind;
        entry.extend_from_slice(content);
        entry.resize(entry.len().next_multiple_of(BLOCK), 0);
        entry
    }

    #[test]
    fn an_archive_has_one_file() {
        let folder = entry("a/", b'5', b"");
        let file = entry("a/f", b'0', &[7; 600]);
        let end = vec![0; 2 * BLOCK];
        assert_eq!(only_file(&[folder.clone(), file.clone(), end.clone()].concat()).unwrap(), [7; 600]);
        let two = [file.clone(), file.clone(), end.clone()].concat();
        assert!(only_file(&two).unwrap_err().contains("several"));
        assert!(only_file(&[folder, end].concat()).unwrap_err().contains("no file"));
        assert!(only_file(&file[..700]).unwrap_err().contains("cut off"));
        assert!(only_file(&[1; BLOCK]).unwrap_err().contains("no archive"));
    }

    #[test]
    fn too_much_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        fs::write(&path, [0; 10]).unwrap();
        assert_eq!(read(&path, ByteSize::bytes(10)).unwrap().len(), 10);
        let error = read(&path, ByteSize::bytes(9)).unwrap_err().to_string();
        assert!(error.ends_with("it has more than the 9 B of max_module"), "{error}");
        assert!(
            read(Path::new("/dev/zero"), ByteSize::bytes(9)).unwrap_err().to_string().contains("no file")
        );
    }
}
