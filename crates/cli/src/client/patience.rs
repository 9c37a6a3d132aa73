//! Waiting for an answer where somebody looks on.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::answer::Trouble;
use crate::io::{Audience, Io};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked whether the command is to end, and how long what is shown stays.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the answer to a change is waited for when the command is to end: less than it has in all.
const GRACE: Duration = Duration::from_secs(5);

/// What is said while nothing comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Telling,
    /// Nothing: a program reads what is said.
    Quiet,
}

/// Does work that waits for a server, in a thread of its own. After a second, somebody at a terminal sees what it is and how long it
/// takes already; a log gets one line. When the command is to end, what only reads is left alone at once, and what changes something
/// is waited for a while.
///
/// # Errors
/// When the command is to end.
pub(super) fn wait<T: Send + 'static>(
    doing: &str,
    manner: Manner,
    is_write: bool,
    io: &mut Io<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Trouble> {
    let (sender, answer) = mpsc::sync_channel(1);
    let worker = thread::Builder::new().name("lanai-request".into());
    // Where it is not waited for, it ends with the process.
    let started = worker.spawn(move || {
        let _ = sender.send(work());
    });
    started.map_err(|error| Trouble::Unreachable(format!("cannot start a thread: {error}")))?;
    let since = Instant::now();
    let mut shown = Shown::Nothing;
    let mut asked: Option<Instant> = None;
    loop {
        match answer.recv_timeout(PAUSE) {
            Ok(answer) => {
                shown.clear(io);
                return Ok(answer);
            }
            Err(RecvTimeoutError::Disconnected) => {
                shown.clear(io);
                return Err(Trouble::Unreachable(format!("{doing}: the request broke off")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if io.stop.is_asked() {
            let asked = *asked.get_or_insert_with(Instant::now);
            if !is_write || asked.elapsed() >= GRACE {
                shown.clear(io);
                if is_write {
                    io.tell(&format!("stopped while {doing}: ask the server what became of it"));
                }
                return Err(Trouble::Stopped);
            }
        }
        if manner == Manner::Telling && since.elapsed() >= PATIENCE {
            shown.show(doing, since.elapsed().as_secs(), io);
        }
    }
}

/// What somebody sees.
enum Shown {
    Nothing,
    /// A line on a terminal, with so many seconds.
    Line(u64),
    /// A line in a log.
    Logged,
}

impl Shown {
    fn show(&mut self, doing: &str, seconds: u64, io: &mut Io<'_>) {
        match (io.audience, &self) {
            (Audience::Terminal, Self::Line(before)) if *before == seconds => {}
            (Audience::Terminal, _) => {
                let _ = write!(io.stderr, "\r\x1b[K{doing} … {seconds} s").and_then(|()| io.stderr.flush());
                *self = Self::Line(seconds);
            }
            (Audience::Record, Self::Nothing) => {
                io.tell(doing);
                *self = Self::Logged;
            }
            (Audience::Record, _) => {}
        }
    }

    fn clear(&self, io: &mut Io<'_>) {
        if let Self::Line(_) = self {
            let _ = write!(io.stderr, "\r\x1b[K").and_then(|()| io.stderr.flush());
        }
    }
}
