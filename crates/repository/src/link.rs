//! A connection to a remote repository, whatever it goes over.

mod http;
mod meter;
mod ssh;

use std::sync::{Arc, Mutex, PoisonError};

use gix_transport::Service;
use gix_transport::client::blocking_io::Transport;
use gix_transport::client::{MessageKind, WriteMode};
use lanai_process::Connection;

use crate::config::Config;
use crate::progress::HookGuard;
use crate::secret::{Access, KeyFiles};
use crate::url::Place;
use crate::{Cancel, Error, Limits, RemoteUrl};

pub(crate) use meter::{Meter, Step};

/// A connection, and what has to be known to say why it failed.
pub(crate) struct Link {
    // Dropped first: it holds the pipes to the program.
    pub(crate) transport: Box<dyn Transport + Send>,
    /// Whom questions over HTTP go through.
    client: Option<http::Shared>,
    program: Option<Connection>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) trouble: Trouble,
    pub(crate) remote: RemoteUrl,
    cancel: Cancel,
    _hook: HookGuard,
    _key: Option<KeyFiles>,
}

/// What a connection is opened for, and as whom.
#[derive(Clone, Copy)]
pub(crate) struct Opening<'a> {
    pub(crate) config: &'a Arc<Config>,
    pub(crate) limits: &'a Limits,
    pub(crate) remote: &'a RemoteUrl,
    pub(crate) service: Service,
    pub(crate) access: &'a Access,
    pub(crate) cancel: &'a Cancel,
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
    pub(crate) fn open(opening: &Opening<'_>) -> Result<Self, Error> {
        let Opening { remote, cancel, .. } = *opening;
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let trouble = Trouble::default();
        let meter = Arc::new(Meter::new(remote.clone(), trouble.clone()));
        let (mut key, mut client) = (None, None);
        let (transport, program, hook) = match remote.place() {
            Place::Http(url) => {
                let (connected, hook) = http::connect(opening, url, &meter, &trouble)?;
                let transport = http::transport(&connected)?;
                client = Some(connected);
                (transport, None, hook)
            }
            Place::Ssh(url) => {
                let (transport, program, files) = ssh::connect(opening, url, &meter)?;
                key = files;
                let killer = program.killer();
                (transport, Some(program), cancel.on_cancel(move || killer.kill()))
            }
            Place::Local(path) => {
                let (transport, program) = ssh::local(opening, path, &meter)?;
                let killer = program.killer();
                (transport, Some(program), cancel.on_cancel(move || killer.kill()))
            }
        };
        let (remote, cancel) = (remote.clone(), cancel.clone());
        Ok(Self { transport, client, program, meter, trouble, remote, cancel, _hook: hook, _key: key })
    }

    /// Whether each question stands for itself, so that a further one can be asked behind the answer.
    pub(crate) fn takes_further_questions(&self) -> bool {
        self.client.is_some()
    }

    /// Begins the conversation anew, over the connection that is there.
    pub(crate) fn begin_anew(&mut self) -> Result<(), Error> {
        if let Some(client) = &self.client {
            // Preparing a question reads the last answer to its end, which sets its connection free. Nothing is sent.
            drop(self.transport.request(WriteMode::Binary, MessageKind::Flush, false));
            self.transport = http::transport(client)?;
        }
        Ok(())
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
