//! Talking to a program that stays.

use std::io::{self, ErrorKind, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::child::Child;
use crate::run::{Collected, Status, wait_for};
use crate::{Error, Killer, Limits};

/// A program that is talked to. It is killed, with all that it started, when this is dropped.
pub struct Connection {
    child: Child,
    program: String,
    limits: Limits,
    messages: Messages,
    ends: Option<(Input, Output)>,
}

/// Writes to the program's standard input. Closed when dropped.
pub struct Input {
    pipe: ChildStdin,
    max_silence: Duration,
}

/// Reads the program's standard output, and puts away what it says on its standard error output meanwhile.
pub struct Output {
    pipe: ChildStdout,
    messages: Messages,
    max_silence: Duration,
    limits: Limits,
}

type Messages = Arc<Mutex<Collected<ChildStderr>>>;

impl Connection {
    pub(crate) fn new(mut child: Child, program: String, limits: Limits) -> Result<Self, Error> {
        let pipes = child.pipes();
        let (stdin, stdout, stderr) =
            pipes.map_err(|cause| Error::Lost { program: program.clone(), cause })?;
        let messages: Messages = Arc::new(Mutex::new(Collected::from(stderr)));
        let max_silence = limits.max_time;
        let input = Input { pipe: stdin, max_silence };
        let output = Output { pipe: stdout, messages: Arc::clone(&messages), max_silence, limits };
        Ok(Self { child, program, limits, messages, ends: Some((input, output)) })
    }

    /// The two ends of the conversation; `None` when they were taken before.
    pub fn take_ends(&mut self) -> Option<(Input, Output)> {
        self.ends.take()
    }

    /// Ends the program from another thread.
    pub fn killer(&self) -> Killer {
        self.child.killer()
    }

    /// What the program has said on its standard error output so far.
    pub fn messages(&self) -> String {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = messages.read(self.limits.max_messages);
        messages.text()
    }

    /// Closes what ends were not taken and waits for the program to end by itself.
    ///
    /// # Errors
    /// When it takes longer than `Limits::max_time`; it is dead then.
    pub fn finish(mut self) -> Result<Status, Error> {
        self.ends = None;
        let start = Instant::now();
        let lost = |cause: io::Error| Error::Lost { program: self.program.clone(), cause };
        loop {
            let Some(left) = self.limits.max_time.checked_sub(start.elapsed()) else {
                let messages = self.messages();
                return Err(Error::TooLong { program: self.program, limit: self.limits.max_time, messages });
            };
            let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
            let mut fds = vec![PollFd::new(&self.child.ended, PollFlags::IN)];
            fds.extend(messages.poll());
            wait_for(&mut fds, left).map_err(lost)?;
            let has_ended = !fds[0].revents().is_empty();
            messages.read(self.limits.max_messages).map_err(lost)?;
            if has_ended {
                break;
            }
        }
        self.child.wait().map(Status::of).map_err(lost)
    }
}

impl Read for Output {
    /// Fails with [`ErrorKind::TimedOut`] when the program is silent for longer than it may be.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        loop {
            let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
            messages.read(self.limits.max_messages)?;
            match self.pipe.read(buffer) {
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
            let left = self.max_silence.checked_sub(start.elapsed()).ok_or(ErrorKind::TimedOut)?;
            let mut fds = vec![PollFd::new(&self.pipe, PollFlags::IN)];
            // Once the limit is reached nothing is kept, but the pipe must not fill up either.
            fds.extend(messages.poll());
            wait_for(&mut fds, left)?;
        }
    }
}

impl Write for Input {
    /// Fails with [`ErrorKind::TimedOut`] when the program reads nothing for longer than it may.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let start = Instant::now();
        loop {
            match self.pipe.write(bytes) {
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
            let left = self.max_silence.checked_sub(start.elapsed()).ok_or(ErrorKind::TimedOut)?;
            wait_for(&mut [PollFd::new(&self.pipe, PollFlags::OUT)], left)?;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
