//! The content of a draft as one blob.
//!
//! One line of JSON that lists the files, then their bytes, one behind the other. The same package makes the same bytes.

use bytes::Bytes;
use lanai_krm::Package;
use lanai_krm::package::{File, Mode};
use lanai_types::{Limits, SafePath};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Listed {
    path: SafePath,
    mode: Kind,
    len: usize,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Regular,
    Executable,
    Symlink,
}

/// A blob that holds no package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the content of a draft cannot be read: {0}")]
pub struct Damaged(String);

/// The bytes of a package.
pub fn encode(package: &Package) -> Bytes {
    let listed = package.iter().map(|(path, file)| Listed {
        path: path.clone(),
        mode: match file.mode() {
            Mode::Regular => Kind::Regular,
            Mode::Executable => Kind::Executable,
            Mode::Symlink => Kind::Symlink,
        },
        len: file.len(),
    });
    let listed: Vec<Listed> = listed.collect();
    let mut out = serde_json::to_vec(&listed).expect("paths and numbers are JSON");
    out.reserve(package.bytes() + 1);
    out.push(b'\n');
    for (_, file) in package.iter() {
        out.extend_from_slice(file.content());
    }
    out.into()
}

/// The package of some bytes.
///
/// # Errors
/// When [`encode`] did not write them.
pub fn decode(bytes: &[u8], limits: Limits) -> Result<Package, Damaged> {
    let damaged = |why: &str| Damaged(why.to_owned());
    let end =
        bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it has no list of files"))?;
    let (head, mut rest) = (&bytes[..end], &bytes[end + 1..]);
    let listed: Vec<Listed> = serde_json::from_slice(head).map_err(|error| Damaged(error.to_string()))?;
    let mut package = Package::new(limits);
    for Listed { path, mode, len } in listed {
        let (content, behind) = rest.split_at_checked(len).ok_or_else(|| damaged("it is too short"))?;
        rest = behind;
        let mode = match mode {
            Kind::Regular => Mode::Regular,
            Kind::Executable => Mode::Executable,
            Kind::Symlink => Mode::Symlink,
        };
        package.insert(path, File::new(content, mode)).map_err(|error| Damaged(error.to_string()))?;
    }
    if rest.is_empty() { Ok(package) } else { Err(damaged("it is too long")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let files = [
            ("Kptfile", File::from_text("a: b\n")),
            ("run.sh", File::new(*b"#!/bin/sh\n", Mode::Executable)),
            ("link", File::new(*b"Kptfile", Mode::Symlink)),
            ("d/binary", File::regular([0, 159, 146, 150, b'\n'])),
            ("d/empty", File::regular([])),
        ];
        let package = Package::from_entries(files, Limits::DEFAULT).unwrap();
        let bytes = encode(&package);
        assert_eq!(decode(&bytes, Limits::DEFAULT).unwrap(), package);
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], Limits::DEFAULT).is_err(), "{cut}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert!(decode(&longer, Limits::DEFAULT).is_err());
    }

    #[test]
    fn nothing_leaves_the_package() {
        let hostile = br#"[{"path":"../x","mode":"regular","len":0}]
"#;
        assert!(decode(hostile, Limits::DEFAULT).is_err());
    }
}
