//! The digest of a package: the id that Git gives to the same tree.

use lanai_types::quote::Quoted;
use lanai_types::{BlobId, GitObjectId, SafePath, TreeId};
use sha1_checked::{Digest, Sha1};

use crate::package::{File, Package};

/// Content that was made to have the same SHA-1 as other content. Git refuses it, too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is part of an attack on SHA-1: other content has the same digest", Quoted(.path))]
pub struct Collision {
    /// The file or folder; empty for the root of the package.
    pub path: String,
}

/// The id of the tree that Git writes for the package: the same files with the same modes have the same id, on every
/// machine and in every repository that uses SHA-1.
///
/// # Errors
/// Content that was prepared to collide.
pub fn tree_id(package: &Package) -> Result<TreeId, Collision> {
    let files: Vec<_> = package.iter().collect();
    tree(&files, 0).map(TreeId::new)
}

/// The id of the blob that Git writes for the content of a file.
///
/// # Errors
/// Content that was prepared to collide; the error names no path.
pub fn blob_id(content: &[u8]) -> Result<BlobId, Collision> {
    object("blob", &[content], "").map(BlobId::new)
}

/// As [`blob_id`], for content that stands in pieces one behind the other.
///
/// # Errors
/// The same.
pub fn blob_id_of(pieces: &[&[u8]]) -> Result<BlobId, Collision> {
    object("blob", pieces, "").map(BlobId::new)
}

/// The tree of files whose paths are equal up to `start`. They are in the order of their whole paths, and that is the
/// order of entries in a tree, where folders count as if their names ended in a slash.
///
/// Goes as deep as paths do, which is limited.
fn tree(files: &[(&SafePath, &File)], start: usize) -> Result<GitObjectId, Collision> {
    let mut entries = Vec::new();
    let mut rest = files;
    while let [(path, file), ..] = rest {
        let name = &path.as_str()[start..];
        let (mode, name, id, len) = match name.find('/') {
            None => (file.mode().git(), name, object("blob", &[file.content()], path.as_str())?, 1),
            Some(end) => {
                let inside = &path.as_str()[..=start + end];
                let len = rest.partition_point(|(path, _)| path.as_str().starts_with(inside));
                ("40000", &name[..end], tree(&rest[..len], inside.len())?, len)
            }
        };
        entries.extend_from_slice(mode.as_bytes());
        entries.push(b' ');
        entries.extend_from_slice(name.as_bytes());
        entries.push(0);
        entries.extend_from_slice(id.as_bytes());
        rest = &rest[len..];
    }
    let folder = files.first().map_or("", |(path, _)| path.as_str()[..start].trim_end_matches('/'));
    object("tree", &[&entries], folder)
}

fn object(kind: &str, pieces: &[&[u8]], path: &str) -> Result<GitObjectId, Collision> {
    let mut hash = Sha1::new();
    let size: usize = pieces.iter().map(|piece| piece.len()).sum();
    hash.update(format!("{kind} {size}\0"));
    for piece in pieces {
        hash.update(piece);
    }
    let digest = hash.try_finalize();
    if digest.has_collision() {
        return Err(Collision { path: path.to_owned() });
    }
    Ok(GitObjectId::from_sha1((*digest.hash()).into()))
}
