//! `hash.star`: digests of texts, in hexadecimal.

use std::fmt::Write as _;

use md5::{Digest as _, Md5};
use sha2::Sha256;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;

/// The members of `hash`.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// The MD5 of a text.
    fn md5(#[starlark(require = pos)] text: &str) -> anyhow::Result<String> {
        Ok(hex(&Md5::digest(text)))
    }

    /// The SHA-1 of a text.
    fn sha1(#[starlark(require = pos)] text: &str) -> anyhow::Result<String> {
        Ok(hex(&sha1_checked::Sha1::digest(text)))
    }

    /// The SHA-256 of a text.
    fn sha256(#[starlark(require = pos)] text: &str) -> anyhow::Result<String> {
        Ok(hex(&Sha256::digest(text)))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
