//! The audit log as a file: a line of JSON for each write.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use lanai_apiserver::audit::{Audit, Line};

pub(crate) struct Journal(Mutex<File>);

impl Journal {
    pub fn new(file: File) -> Self {
        Self(Mutex::new(file))
    }
}

impl Audit for Journal {
    fn record(&self, line: &Line) {
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text);
        if let Err(error) = written {
            tracing::error!(%error, user = line.user, verb = line.verb, resource = line.resource, "an audit line was lost");
        }
    }
}
