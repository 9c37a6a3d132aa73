//! Credentials that others keep, for remotes of a server.

use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

/// Where credentials are kept. Asked each time a connection is opened, so that a change counts from the next one on.
pub trait Credentials: Send + Sync {
    /// The credential of this name.
    ///
    /// # Errors
    /// A text for people, without anything secret in it.
    fn resolve(&self, name: &CredentialName) -> Result<Credential, String>;
}

/// The name of a credential, `namespace/name` for a Secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CredentialName(pub String);

/// What proves who we are, and what we trust. Neither `Debug` nor any error shows it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credential {
    /// What is shown to the server.
    pub proof: Proof,
    /// Certificates (PEM) of authorities that are trusted beside those of the system.
    pub ca_bundle: Option<Vec<u8>>,
}

/// What is shown to a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing.
    #[default]
    Nothing,
    /// `username` and `password`.
    Basic {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// `bearerToken`.
    Bearer(String),
    /// `ssh-privatekey`, and `known_hosts` where there is one.
    SshKey {
        /// The private key.
        key: String,
        /// The keys of servers that are trusted.
        known_hosts: Option<String>,
    },
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proof = match &self.proof {
            Proof::Nothing => "nothing",
            Proof::Basic { .. } => "basic",
            Proof::Bearer(_) => "bearer",
            Proof::SshKey { .. } => "ssh key",
        };
        write!(f, "Credential({proof})")
    }
}

impl fmt::Debug for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(…)")
    }
}

/// As whom a connection is opened.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// As Git's configuration and its helpers say.
    Helpers,
    /// With this and nothing else.
    Given(Arc<Credential>),
}

impl Access {
    pub(crate) fn asks_helpers(&self) -> bool {
        matches!(self, Self::Helpers)
    }

    /// The header `Authorization`.
    pub(crate) fn authorization(&self) -> Option<String> {
        let Self::Given(credential) = self else { return None };
        match &credential.proof {
            Proof::Basic { user, password } => Some(basic(user, password)),
            Proof::Bearer(token) => Some(format!("Bearer {token}")),
            Proof::Nothing | Proof::SshKey { .. } => None,
        }
    }

    pub(crate) fn ca_bundle(&self) -> Option<&[u8]> {
        match self {
            Self::Helpers => None,
            Self::Given(credential) => credential.ca_bundle.as_deref(),
        }
    }

    /// The key and what goes with it, for a program that is given paths.
    pub(crate) fn key_files(&self) -> io::Result<Option<KeyFiles>> {
        let Self::Given(credential) = self else { return Ok(None) };
        let Proof::SshKey { key, known_hosts } = &credential.proof else { return Ok(None) };
        let known_hosts = known_hosts.as_deref().map(nameless).transpose()?;
        Ok(Some(KeyFiles { key: nameless(key)?, known_hosts }))
    }
}

/// Files without a name, which are gone with this process however it ends. A program of the same user can read them while
/// this is held.
pub(crate) struct KeyFiles {
    key: File,
    known_hosts: Option<File>,
}

impl KeyFiles {
    /// Where the key is.
    pub(crate) fn key(&self) -> String {
        path(&self.key)
    }

    /// Where the keys of servers are that are trusted.
    pub(crate) fn known_hosts(&self) -> Option<String> {
        self.known_hosts.as_ref().map(path)
    }
}

/// A file without a name that only its owner can read.
fn nameless(text: &str) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    // It is made with what the process allows by default.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text.trim_end().as_bytes())?;
    file.write_all(b"\n")?;
    Ok(file)
}

/// The way to an open file of this process.
fn path(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// `Authorization` for a user and a password.
pub(crate) fn basic(user: &str, password: &str) -> String {
    use base64::Engine as _;
    let pair = format!("{user}:{password}");
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}
