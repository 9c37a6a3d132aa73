//! Functions at work in a thread, and their progress on the screen.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use lanai_render::{Event, Watch};
use lanai_types::quote::Quoted;

use super::lines::Lines;
use crate::failure::{Code, Failure};
use crate::io::{Audience, Io};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long what is shown stays.
const PAUSE: Duration = Duration::from_millis(100);
/// How many notes may wait to be shown; whoever works waits then.
const NOTES: usize = 64;
/// How many letters the bar has.
const BAR: usize = 20;

/// Does work that runs functions. Lines about it are told as they come; at a terminal, a bar shows how far it is and which
/// function runs, once that takes longer than a second. `total` is how many functions there are.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn watched<T: Send, F: Future<Output = T>>(
    total: usize,
    io: &mut Io<'_>,
    work: impl FnOnce(Box<dyn Watch>) -> F + Send,
) -> Result<T, Failure> {
    let (sender, notes) = mpsc::sync_channel(NOTES);
    let cannot =
        |error: std::io::Error| Failure::of(Code::Machine, format!("cannot start a thread: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(cannot)?;
    let _parting = io.stop.parting("stopped: nothing was written");
    // What runs ends before the command does.
    let _busy = io.stop.busy();
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("lanai-functions".into());
        let teller = Teller { lines: Lines::new(), notes: sender };
        let worker = worker.spawn_scoped(scope, move || {
            let done = runtime.block_on(work(Box::new(teller)));
            // A function that took too long is not waited for.
            runtime.shutdown_background();
            done
        });
        let worker = worker.map_err(cannot)?;
        let mut bar = Bar { total, done: 0, begun: Instant::now(), running: None, shown: None };
        loop {
            match notes.recv_timeout(PAUSE) {
                Ok(note) => bar.take(note, io),
                Err(RecvTimeoutError::Timeout) => bar.show(io),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        bar.clear(io);
        Ok(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// What the thread tells.
struct Note {
    lines: String,
    what: What,
}

enum What {
    Begins(String),
    Ends,
    Other,
}

/// Makes lines of what happens, and sends them to whoever shows them.
struct Teller {
    lines: Lines,
    notes: SyncSender<Note>,
}

impl Watch for Teller {
    fn see(&mut self, event: Event<'_>) {
        let what = match &event {
            Event::Running(running) => What::Begins(running.function.as_str().to_owned()),
            Event::Passed { .. } | Event::Failed { .. } | Event::Skipped { .. } => What::Ends,
            Event::Package { .. } | Event::PackageDone => What::Other,
        };
        // Whoever shows them is there as long as the work is.
        let _ = self.notes.send(Note { lines: self.lines.about(&event), what });
    }
}

/// How far the work is.
struct Bar {
    total: usize,
    done: usize,
    begun: Instant,
    running: Option<(String, Instant)>,
    /// The line that is on the screen.
    shown: Option<String>,
}

impl Bar {
    fn take(&mut self, note: Note, io: &mut Io<'_>) {
        self.clear(io);
        let _ = write!(io.stderr, "{}", note.lines).and_then(|()| io.stderr.flush());
        match note.what {
            What::Begins(function) => self.running = Some((function, Instant::now())),
            What::Ends => {
                self.running = None;
                self.done += 1;
            }
            What::Other => {}
        }
    }

    fn show(&mut self, io: &mut Io<'_>) {
        if io.audience == Audience::Record {
            return;
        }
        let Some((function, since)) = &self.running else { return };
        if self.begun.elapsed() < PATIENCE {
            return;
        }
        let total = self.total.max(self.done + 1);
        let filled = BAR * self.done / total;
        let line = format!(
            "[{}{}] {} of {total}: {} for {}s",
            "#".repeat(filled),
            ".".repeat(BAR - filled),
            self.done + 1,
            Quoted(function),
            since.elapsed().as_secs()
        );
        if self.shown.as_ref() != Some(&line) {
            let _ = write!(io.stderr, "\r\x1b[K{line}").and_then(|()| io.stderr.flush());
            self.shown = Some(line);
        }
    }

    fn clear(&mut self, io: &mut Io<'_>) {
        if self.shown.take().is_some() {
            let _ = write!(io.stderr, "\r\x1b[K").and_then(|()| io.stderr.flush());
        }
    }
}
