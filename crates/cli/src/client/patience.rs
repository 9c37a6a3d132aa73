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

/// What somebody waits for, and how.
pub(super) struct Wait<'a> {
    /// In words.
    pub doing: &'a str,
    pub manner: Manner,
    pub is_write: bool,
    /// How long the command waited before, for other answers: many short ones are a long wait, too.
    pub before: Duration,
}

/// Does work that waits for a server, in a thread of its own. After a second, somebody at a terminal sees what it is and how long it
/// takes already; a log gets one line for each request that takes that long. When the command is to end, what only reads is left alone at once, and what changes something
/// is waited for a while.
///
/// # Errors
/// When the command is to end.
pub(super) fn wait<T: Send + 'static>(
    what: &Wait<'_>,
    io: &mut Io<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Trouble> {
    let Wait { doing, manner, is_write, before } = *what;
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
        if manner == Manner::Telling {
            shown.show(doing, since.elapsed(), before, io);
        }
    }
}

/// What somebody sees.
pub(super) enum Shown {
    Nothing,
    /// A line on a terminal, with so many seconds.
    Line(u64),
    /// A line in a log.
    Logged,
}

impl Shown {
    /// Shows what is going on for so long, and was before.
    pub fn show(&mut self, doing: &str, now: Duration, before: Duration, io: &mut Io<'_>) {
        let seconds = now.saturating_add(before).as_secs();
        match (io.audience, &self) {
            (Audience::Terminal, _) if now.saturating_add(before) < PATIENCE => {}
            (Audience::Terminal, Self::Line(shown)) if *shown == seconds => {}
            (Audience::Terminal, _) => {
                let _ = write!(io.stderr, "\r\x1b[K{doing} … {seconds} s").and_then(|()| io.stderr.flush());
                *self = Self::Line(seconds);
            }
            (Audience::Record, Self::Nothing) if now >= PATIENCE => {
                io.tell(doing);
                *self = Self::Logged;
            }
            (Audience::Record, _) => {}
        }
    }

    pub fn clear(&mut self, io: &mut Io<'_>) {
        if let Self::Line(_) = self {
            let _ = write!(io.stderr, "\r\x1b[K").and_then(|()| io.stderr.flush());
            *self = Self::Nothing;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;
    use crate::io::Colour;

    fn shown(audience: Audience, now: u64, before: u64) -> String {
        let mut stderr = Vec::new();
        let mut io = Io {
            stdin: &mut std::io::empty(),
            stdout: &mut std::io::sink(),
            stderr: &mut stderr,
            colour: Colour::Plain,
            folder: PathBuf::new(),
            environment: BTreeMap::new(),
            audience,
            program: None,
            stop: crate::stop::Stop::default(),
        };
        let mut shown = Shown::Nothing;
        shown.show("reading a", Duration::from_millis(now), Duration::from_millis(before), &mut io);
        shown.clear(&mut io);
        String::from_utf8(stderr).unwrap()
    }

    #[test]
    fn a_second_is_waited_in_all_on_terminals_and_for_one_request_in_logs() {
        let line = "\r\x1b[Kreading a … 1 s\r\x1b[K";
        assert_eq!(shown(Audience::Terminal, 999, 0), "");
        assert_eq!(shown(Audience::Terminal, 1_000, 0), line);
        assert_eq!(shown(Audience::Terminal, 100, 900), line);
        assert_eq!(shown(Audience::Record, 999, 5_000), "");
        assert_eq!(shown(Audience::Record, 1_000, 0), "reading a\n");
    }
}
