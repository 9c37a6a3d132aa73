//! Running a program to its end.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use lanai_types::ByteSize;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::cage::Held;
use crate::cage::memory::Memory;
use crate::cage::plan::{MAX_REPORT, REPORT_MARK, Report};
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

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Killed(signal) => write!(f, "signal {signal}"),
        }
    }
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

/// What became of a program that was to be caged.
pub(crate) enum Outcome {
    Ended(Finished, Held),
    /// It was not started, because there is no cage of this kind.
    NotCaged(String),
    /// It was not started, because what was asked for cannot be in any cage.
    Impossible(String),
}

/// Feeds a program and collects what it says until it ends.
///
/// The end of the program counts, not the end of its pipes: what it leaves in the background may hold them for ever.
pub(crate) fn to_the_end(
    child: Child,
    program: &str,
    input: &[u8],
    limits: &Limits,
) -> Result<Finished, Error> {
    talk(child, program, input, limits, &mut Header::Absent, None)
}

/// The same for a launcher, whose first line is a report. What is held is told as soon as somebody knows how it all ended, also when
/// the program had to be stopped.
pub(crate) fn caged_to_the_end(
    child: Child,
    program: &str,
    input: &[u8],
    limits: &Limits,
    max_memory: ByteSize,
    mut told: impl FnMut(Held),
) -> Result<Outcome, Error> {
    let mut header = Header::Awaited;
    let memory = Memory::of(child.id(), max_memory);
    let finished = talk(child, program, input, limits, &mut header, Some(memory));
    if let Header::Read(Report::Starts { held, .. }) = &header {
        told(*held);
    }
    let finished = finished?;
    match header {
        Header::Read(Report::Starts { held, .. }) => Ok(Outcome::Ended(finished, held)),
        Header::Read(Report::Failed(cause)) => Ok(Outcome::NotCaged(cause)),
        Header::Read(Report::Impossible(cause)) => Ok(Outcome::Impossible(cause)),
        Header::Absent | Header::Awaited => {
            let said = finished.messages.trim();
            Ok(Outcome::NotCaged(format!("the launcher ended without a word ({}): {said}", finished.status)))
        }
    }
}

/// The report of a launcher.
enum Header {
    Absent,
    Awaited,
    Read(Report),
}

impl Header {
    /// How much output may come, this one included.
    fn room(&self, max_output: ByteSize) -> ByteSize {
        match self {
            Self::Awaited => ByteSize::bytes(max_output.get().saturating_add(MAX_REPORT)),
            Self::Absent | Self::Read(_) => max_output,
        }
    }

    /// Takes the report from the output once it is there.
    fn take_from(&mut self, output: &mut Vec<u8>) -> Option<Pid> {
        let end = match self {
            Self::Awaited => output.iter().position(|byte| *byte == b'\n')?,
            Self::Absent | Self::Read(_) => return None,
        };
        let report = output.get(..end)?.strip_prefix(REPORT_MARK.as_bytes())?;
        let report: Report = serde_json::from_slice(report).ok()?;
        output.drain(..=end);
        let first = match &report {
            Report::Starts { first, .. } => first.and_then(Pid::from_raw),
            Report::Failed(_) | Report::Impossible(_) => None,
        };
        *self = Self::Read(report);
        first
    }
}

fn talk(
    mut child: Child,
    program: &str,
    input: &[u8],
    limits: &Limits,
    header: &mut Header,
    mut memory: Option<Memory>,
) -> Result<Finished, Error> {
    let lost = |cause: io::Error| Error::Lost { program: program.to_owned(), cause };
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
        let Some(left) = limits.max_time.checked_sub(start.elapsed()) else {
            // The report may have come in this moment; then there is somebody whose end has to be waited for.
            child.killer().kill();
            output.read(header.room(limits.max_output)).map_err(lost)?;
            if let Some(first) = header.take_from(&mut output.bytes) {
                child.holds(first);
            }
            let (program, messages) = (program.to_owned(), messages.text());
            return Err(Error::TooLong { program, limit: limits.max_time, messages });
        };
        let mut fds = vec![PollFd::new(&child.ended, PollFlags::IN)];
        fds.extend(output.poll());
        fds.extend(messages.poll());
        fds.extend(stdin.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        let wait = memory.as_ref().map_or(left, |memory| memory.wait().min(left));
        wait_for(&mut fds, wait).map_err(lost)?;
        let has_ended = !fds[0].revents().is_empty();

        output.read(header.room(limits.max_output)).map_err(lost)?;
        messages.read(limits.max_messages).map_err(lost)?;
        if let Some(first) = header.take_from(&mut output.bytes) {
            child.holds(first);
        }
        if output.overflowed || !header.room(limits.max_output).admits(output.bytes.len()) {
            let (program, messages) = (program.to_owned(), messages.text());
            return Err(Error::TooMuch { program, limit: limits.max_output, messages });
        }
        if has_ended {
            break;
        }
        if let Some(limit) = memory.as_mut().and_then(Memory::exceeded) {
            let (program, messages) = (program.to_owned(), messages.text());
            return Err(Error::TooLarge { program, limit, messages });
        }
    }
    let ended = match header {
        Header::Absent => child.wait(),
        Header::Awaited | Header::Read(_) => child.wait_with_group(),
    };
    let status = Status::of(ended.map_err(lost)?);
    Ok(Finished { status, output: output.bytes, messages: messages.text() })
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

    /// What came, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
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

/// How long one wait takes at most.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// Waits until one of the descriptors is ready, or the time is over; which of the two, the caller sees at the next turn.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    // The system cannot spell longer times, and nobody waits for them.
    let timeout = Timespec::try_from(time.min(LONGEST_WAIT)).map_err(io::Error::other)?;
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
