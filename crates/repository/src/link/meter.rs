//! Counts what comes in, and stops it when it is too much.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lanai_types::ByteSize;

use super::Trouble;
use crate::{Error, RemoteUrl};

/// Counts the bytes of one step of a conversation.
pub(crate) struct Meter {
    limit: AtomicU64,
    count: AtomicU64,
    is_pack: std::sync::atomic::AtomicBool,
    remote: RemoteUrl,
    trouble: Trouble,
}

/// What is being counted.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Step {
    /// `Limits::max_listing`
    Listing,
    /// `Limits::max_pack`
    Pack,
}

impl Meter {
    pub(crate) fn new(remote: RemoteUrl, trouble: Trouble) -> Self {
        Self {
            limit: AtomicU64::new(u64::MAX),
            count: AtomicU64::new(0),
            is_pack: std::sync::atomic::AtomicBool::new(false),
            remote,
            trouble,
        }
    }

    /// Begins to count anew.
    pub(crate) fn begin(&self, step: Step, limit: ByteSize) {
        self.is_pack.store(step == Step::Pack, Ordering::Relaxed);
        self.limit.store(limit.get(), Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
    }

    /// What came since the step began.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) -> io::Result<()> {
        let count = self.count.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        let limit = self.limit.load(Ordering::Relaxed);
        if count <= limit {
            return Ok(());
        }
        let name = if self.is_pack.load(Ordering::Relaxed) { "max_pack" } else { "max_listing" };
        self.trouble.set(Error::TooMuch { remote: self.remote.clone(), limit: ByteSize::bytes(limit), name });
        Err(io::Error::other("too much"))
    }
}

/// A reader that counts.
pub(crate) struct Metered<R> {
    pub(crate) inner: R,
    pub(crate) meter: Arc<Meter>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.inner.read(buffer)?;
        self.meter.add(got)?;
        Ok(got)
    }
}
