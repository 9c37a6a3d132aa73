//! Running a program to its end.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use lanai_types::ByteSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::child::Child;
use crate::{Error, Limits};

/// A program that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub status: Status,
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
    /// The beginning of what it wrote to its standard error output, as text.
    pub messages: String,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this status. Zero means that all went well.
    Exited(i32),
    /// By a signal.
    Killed(i32),
}

impl Status {
    /// Whether all went well.
    pub fn is_success(self) -> bool {
        self == Self::Exited(0)
    }

    pub(crate) fn of(status: ExitStatus) -> Self {
        status.code().map_or_else(|| Self::Killed(status.signal().unwrap_or_default()), Self::Exited)
    }
}

/// Feeds a program and collects what it says until it ends.
///
/// The end of the program counts, not the end of its pipes: what it leaves in the background may hold them for ever.
pub(crate) fn to_the_end(
    mut child: Child,
    program: &str,
    input: &[u8],
    limits: &Limits,
) -> Result<Finished, Error> {
    let lost = |cause: io::Error| Error::Lost { program: program.to_owned(), cause };
    let too_long = || Error::TooLong { program: program.to_owned(), limit: limits.max_time };
    let too_much = || Error::TooMuch { program: program.to_owned(), limit: limits.max_output };

    let start = Instant::now();
    let (stdin, stdout, stderr) = child.pipes().map_err(lost)?;
    let mut stdin = Some(stdin);
    let mut input = input;
    let (mut output, mut messages) = (Collected::from(stdout), Collected::from(stderr));
    loop {
        if let Some(pipe) = &mut stdin
            && write_some(pipe, &mut input).map_err(lost)? == Pipe::Closed
        {
            stdin = None;
        }
        let Some(left) = limits.max_time.checked_sub(start.elapsed()) else { return Err(too_long()) };
        let mut fds = vec![PollFd::new(&child.ended, PollFlags::IN)];
        fds.extend(output.poll());
        fds.extend(messages.poll());
        fds.extend(stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        wait_for(&mut fds, left).map_err(lost)?;
        let has_ended = !fds[0].revents().is_empty();

        output.read(limits.max_output).map_err(lost)?;
        messages.read(limits.max_messages).map_err(lost)?;
        if output.overflowed {
            return Err(too_much());
        }
        if has_ended {
            break;
        }
    }
    let status = Status::of(child.wait().map_err(lost)?);
    let messages = String::from_utf8_lossy(&messages.bytes).into_owned();
    Ok(Finished { status, output: output.bytes, messages })
}

/// What came through a pipe so far.
pub(crate) struct Collected<R> {
    pipe: Option<R>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) overflowed: bool,
}

impl<R> From<R> for Collected<R> {
    fn from(pipe: R) -> Self {
        Self { pipe: Some(pipe), bytes: Vec::new(), overflowed: false }
    }
}

impl<R: Read + AsFd> Collected<R> {
    pub(crate) fn poll(&self) -> Option<PollFd<'_>> {
        self.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN))
    }

    /// Takes what is there, and keeps no more than the limit.
    pub(crate) fn read(&mut self, limit: ByteSize) -> io::Result<()> {
        let mut buffer = [0; 16 * 1024];
        while let Some(pipe) = &mut self.pipe {
            let got = match pipe.read(&mut buffer) {
                Ok(0) => {
                    self.pipe = None;
                    break;
                }
                Ok(got) => got,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
                Err(cause) => return Err(cause),
            };
            let room = usize::try_from(limit.get()).unwrap_or(usize::MAX).saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&buffer[..got.min(room)]);
            if got > room {
                self.overflowed = true;
                break;
            }
        }
        Ok(())
    }
}

/// Waits until one of the descriptors is ready, or the time is over; which of the two, the caller sees at the next turn.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let timeout = Timespec::try_from(time).map_err(io::Error::other)?;
    match poll(fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

#[derive(PartialEq)]
enum Pipe {
    Open,
    Closed,
}

/// Writes what the pipe takes. A program that does not read its input to the end is none of our business.
fn write_some(pipe: &mut impl Write, input: &mut &[u8]) -> io::Result<Pipe> {
    while !input.is_empty() {
        match pipe.write(input) {
            Ok(0) => return Ok(Pipe::Closed),
            Ok(written) => *input = &input[written..],
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => return Ok(Pipe::Open),
            Err(cause) if cause.kind() == ErrorKind::BrokenPipe => return Ok(Pipe::Closed),
            Err(cause) => return Err(cause),
        }
    }
    Ok(Pipe::Closed)
}
