//! Shows how far work is, on terminals, when it takes long.

use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use lanai_repository::{Phase, Progress, Report, Silent};

use crate::failure::{Code, Failure};
use crate::io::{Audience, Io};
use crate::terminal::Asked;

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long what is shown stays.
const PAUSE: Duration = Duration::from_millis(100);
/// How many reports wait to be shown; those that come then are left out.
const MAX_WAITING: usize = 16;
/// How many letters of an address are shown.
const MAX_PLACE: usize = 48;

/// Does work that waits for a place far away. Somebody at a terminal sees what it waits for and how long already, also
/// while nothing is heard: the work has a thread of its own then, which ends before this returns.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn watched<T: Send>(
    place: &str,
    asked: &Asked,
    io: &mut Io<'_>,
    work: impl FnOnce(&dyn Progress) -> T + Send,
) -> Result<T, Failure> {
    if io.audience == Audience::Record {
        return Ok(work(&Silent));
    }
    let (sender, reports) = mpsc::sync_channel(MAX_WAITING);
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("lanai-remote".into());
        let worker = worker
            .spawn_scoped(scope, move || work(&Sender(sender)))
            .map_err(|error| Failure::of(Code::Machine, format!("cannot start a thread: {error}")))?;
        let mut meter = Meter::new(place, Instant::now());
        let mut is_shown = false;
        loop {
            match reports.recv_timeout(PAUSE) {
                Ok(report) => meter.last = Some(report),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // A question that is written over is asked in vain. Of those that ssh asks nobody hears.
            if asked.is_now() || asked.is_possible() && is_ssh(place) && !meter.is_connected() {
                continue;
            }
            if let Some(line) = meter.line(Instant::now()) {
                let _ = write!(io.stderr, "\r\x1b[K{line}").and_then(|()| io.stderr.flush());
                is_shown = true;
            }
        }
        if is_shown {
            let _ = write!(io.stderr, "\r\x1b[K").and_then(|()| io.stderr.flush());
        }
        Ok(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Whether an address, as people are shown it, is one that ssh connects to.
fn is_ssh(place: &str) -> bool {
    place.starts_with("ssh://") || !place.contains("://") && !place.starts_with(['/', '.'])
}

/// Sends reports to whoever shows them.
struct Sender(SyncSender<Report>);

impl Progress for Sender {
    fn report(&self, report: Report) {
        // The next one will do.
        let _ = self.0.try_send(report);
    }
}

/// What was heard, and what of it was shown when.
struct Meter {
    place: String,
    since: Instant,
    last: Option<Report>,
    shown: Option<(Instant, String)>,
}

impl Meter {
    fn new(place: &str, since: Instant) -> Self {
        let place = match place.char_indices().nth(MAX_PLACE) {
            Some((end, _)) => format!("{}…", &place[..end]),
            None => place.to_owned(),
        };
        Self { place, since, last: None, shown: None }
    }

    /// Whether the other side was heard.
    fn is_connected(&self) -> bool {
        match self.last.map(|report| report.phase) {
            None | Some(Phase::Waiting | Phase::Connecting) => false,
            Some(Phase::Listing | Phase::Receiving | Phase::Reading) => true,
        }
    }

    /// What to show now; `None` where nothing new is to be seen.
    fn line(&mut self, now: Instant) -> Option<String> {
        let elapsed = now.saturating_duration_since(self.since);
        let (then, before) = match &self.shown {
            Some((then, before)) => (Some(*then), before.as_str()),
            None => (None, ""),
        };
        if elapsed < PATIENCE || then.is_some_and(|then| now.saturating_duration_since(then) < PAUSE) {
            return None;
        }
        let line = self.text(elapsed.as_secs());
        if line == before {
            return None;
        }
        self.shown = Some((now, line.clone()));
        Some(line)
    }

    fn text(&self, seconds: u64) -> String {
        let place = &self.place;
        let Some(Report { phase, done, total, bytes }) = self.last else {
            return format!("waiting for {place} … {seconds} s");
        };
        let what = match (phase, total) {
            (Phase::Waiting, _) => "waiting for another process".to_owned(),
            (Phase::Connecting, _) => format!("connecting to {place}"),
            (Phase::Listing, _) => format!("waiting for the branches and tags of {place}"),
            (Phase::Receiving, None) => format!("receiving objects from {place}"),
            (Phase::Receiving, Some(total)) => format!("receiving {total} objects from {place}"),
            (Phase::Reading, _) => format!("reading files: {done}"),
        };
        match phase {
            Phase::Receiving if bytes > 0 => format!("{what}: {} … {seconds} s", amount(bytes)),
            Phase::Waiting | Phase::Connecting | Phase::Listing | Phase::Receiving | Phase::Reading => {
                format!("{what} … {seconds} s")
            }
        }
    }
}

/// About how many bytes, for people.
#[allow(clippy::cast_precision_loss, reason = "it is rounded")]
fn amount(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if value >= 1024.0 {
            (value, unit) = (value / 1024.0, larger);
        }
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;
    use crate::io::Colour;

    #[test]
    fn nothing_is_shown_within_the_first_second() {
        let start = Instant::now();
        let mut meter = Meter::new("https://example.com", start);
        assert_eq!(meter.line(start + PATIENCE.checked_sub(Duration::from_millis(1)).unwrap()), None);
        let line = meter.line(start + PATIENCE);
        assert_eq!(line.as_deref(), Some("waiting for https://example.com … 1 s"));
        let soon = start + PATIENCE + PAUSE;
        assert_eq!(meter.line(soon), None, "nothing is new");
        meter.last = Some(Report { phase: Phase::Receiving, done: 0, total: Some(9), bytes: 1_500 });
        let line = meter.line(soon);
        assert_eq!(line.as_deref(), Some("receiving 9 objects from https://example.com: 1.5 KiB … 1 s"));
        meter.last = Some(Report { phase: Phase::Receiving, done: 0, total: Some(9), bytes: 1_700 });
        assert_eq!(meter.line(soon + PAUSE / 2), None, "what is shown stays for a moment");
        meter.last = Some(Report { phase: Phase::Connecting, done: 0, total: None, bytes: 0 });
        let line = meter.line(start + Duration::from_secs(12));
        assert_eq!(line.as_deref(), Some("connecting to https://example.com … 12 s"));
    }

    #[test]
    fn amounts_are_rounded() {
        let check = |bytes: u64, expected: &str| assert_eq!(amount(bytes), expected);
        check(0, "0 B");
        check(1023, "1023 B");
        check(1024, "1.0 KiB");
        check(10 << 20, "10.0 MiB");
        check(5 << 40, "5120.0 GiB");
    }

    #[test]
    fn long_addresses_are_cut() {
        assert_eq!(Meter::new(&"x".repeat(MAX_PLACE), Instant::now()).place, "x".repeat(MAX_PLACE));
        let cut = format!("{}…", "x".repeat(MAX_PLACE));
        assert_eq!(Meter::new(&"x".repeat(MAX_PLACE + 1), Instant::now()).place, cut);
    }

    /// Passes on what is shown.
    struct Screen(mpsc::Sender<String>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn show<T: Send>(audience: Audience, screen: Screen, work: impl FnOnce(&dyn Progress) -> T + Send) -> T {
        let (mut stdin, mut stdout, mut stderr) = (std::io::empty(), std::io::sink(), screen);
        let mut io = Io {
            stdin: &mut stdin,
            stdout: &mut stdout,
            stderr: &mut stderr,
            colour: Colour::Plain,
            folder: PathBuf::new(),
            environment: BTreeMap::new(),
            audience,
            program: None,
            stop: crate::stop::Stop::default(),
        };
        watched("a server", &Asked::default(), &mut io, work).unwrap()
    }

    #[test]
    fn somebody_at_a_terminal_sees_that_a_server_is_silent() {
        let (sender, shown) = mpsc::channel();
        let seen = show(Audience::Terminal, Screen(sender), move |_| {
            // The server says nothing until something was shown; the bound is for a test that fails.
            let mut text = String::new();
            while !text.contains(" s") {
                text += &shown.recv_timeout(Duration::from_mins(1)).expect("something is shown");
            }
            text
        });
        assert!(seen.contains("waiting for a server … "), "{seen:?}");
    }

    #[test]
    fn a_record_has_no_progress() {
        let (sender, shown) = mpsc::channel();
        let report = Report { phase: Phase::Reading, done: 1, total: None, bytes: 0 };
        show(Audience::Record, Screen(sender), |progress| progress.report(report));
        assert_eq!(shown.try_iter().count(), 0);
    }
}
