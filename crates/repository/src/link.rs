//! A connection to a remote repository, whatever it goes over.

mod http;
mod meter;
mod ssh;

use std::sync::{Arc, Mutex, PoisonError};

use gix_transport::client::blocking_io::Transport;
use lanai_process::Connection;

use crate::config::Config;
use crate::progress::HookGuard;
use crate::url::Place;
use crate::{Cancel, Error, Limits, RemoteUrl};

pub(crate) use meter::{Meter, Step};

/// A connection, and what has to be known to say why it failed.
pub(crate) struct Link {
    // Dropped first: it holds the pipes to the program.
    pub(crate) transport: Box<dyn Transport>,
    program: Option<Connection>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) trouble: Trouble,
    pub(crate) remote: RemoteUrl,
    cancel: Cancel,
    _hook: HookGuard,
}

/// The error that made a reader or writer fail, for whoever handles the failure.
///
/// Between the two lies code that only passes on I/O errors.
#[derive(Clone, Default)]
pub(crate) struct Trouble(Arc<Mutex<Option<Error>>>);

impl Trouble {
    pub(crate) fn set(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Link {
    /// Prepares a connection. For HTTP nothing is sent yet.
    pub(crate) fn open(
        config: &Arc<Config>,
        limits: &Limits,
        remote: &RemoteUrl,
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let trouble = Trouble::default();
        let meter = Arc::new(Meter::new(remote.clone(), trouble.clone()));
        let (transport, program, hook) = match remote.place() {
            Place::Http(url) => {
                let (transport, hook) = http::connect(config, limits, remote, url, &meter, &trouble, cancel)?;
                (transport, None, hook)
            }
            Place::Ssh(url) => {
                let (transport, program) = ssh::connect(config, limits, remote, url, &meter, cancel)?;
                let killer = program.killer();
                (transport, Some(program), cancel.on_cancel(move || killer.kill()))
            }
            Place::Local(path) => {
                let cause = format!("{} is no address over a network", path.display());
                return Err(Error::Protocol { remote: remote.clone(), cause });
            }
        };
        let (remote, cancel) = (remote.clone(), cancel.clone());
        Ok(Self { transport, program, meter, trouble, remote, cancel, _hook: hook })
    }

    /// Says why the conversation failed, and ends it.
    pub(crate) fn explain(self, cause: String) -> Error {
        if self.cancel.is_cancelled() {
            return Error::Cancelled;
        }
        if let Some(error) = self.trouble.take() {
            return error;
        }
        drop(self.transport);
        match self.program {
            Some(program) => ssh::explain(program, &self.remote, cause),
            None => Error::Protocol { remote: self.remote, cause },
        }
    }
}
