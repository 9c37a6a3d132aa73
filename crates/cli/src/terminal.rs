//! Asking the person at the terminal, as Git does: on the terminal itself, wherever outputs go.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use lanai_repository::{Echo, Person};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal of the process, by its name on every system that has one.
const TERMINAL: &str = "/dev/tty";

/// The longest answer, in bytes.
const MAX_ANSWER: usize = 4096;

/// Whether there is somebody, and whether they are being asked. Progress is not shown meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Asked(Arc<AtomicU8>);

/// What became of a person so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum State {
    /// There is none.
    Nobody,
    NotYet,
    Now,
    Before,
}

impl Default for Asked {
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(State::Nobody as u8)))
    }
}

impl Asked {
    /// Whether there is somebody who can be asked, also by programs.
    pub(crate) fn is_possible(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= State::NotYet as u8
    }

    /// Whether a question of ours stands on the terminal.
    pub(crate) fn is_now(&self) -> bool {
        self.0.load(Ordering::SeqCst) == State::Now as u8
    }

    /// Whether there was one at all.
    pub(crate) fn is_ever(&self) -> bool {
        self.0.load(Ordering::SeqCst) >= State::Now as u8
    }

    fn set(&self, state: State) {
        self.0.store(state as u8, Ordering::SeqCst);
    }
}

/// The person at the terminal of this process.
#[derive(Debug)]
pub(crate) struct AtTerminal {
    asked: Asked,
}

impl AtTerminal {
    /// Somebody, if the process has a terminal.
    pub(crate) fn find(asked: &Asked) -> Option<Self> {
        open().ok()?;
        asked.set(State::NotYet);
        Some(Self { asked: asked.clone() })
    }
}

impl Person for AtTerminal {
    fn ask(&self, question: &str, echo: Echo) -> Option<String> {
        self.asked.set(State::Now);
        let answer = open().and_then(|terminal| ask(terminal, question, echo));
        self.asked.set(State::Before);
        answer.ok().flatten()
    }
}

fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(TERMINAL)
}

fn ask(mut terminal: File, question: &str, echo: Echo) -> io::Result<Option<String>> {
    // Before the question, so that nothing of a quick answer is seen.
    let hidden = match echo {
        Echo::Shown => None,
        Echo::Hidden => Some(Hidden::new(terminal.try_clone()?)?),
    };
    // Something may stand on the line.
    write!(terminal, "\r\x1b[K{question}")?;
    terminal.flush()?;
    let answer = read_line(&mut terminal);
    if hidden.is_some() {
        drop(hidden);
        writeln!(terminal)?;
    }
    answer
}

/// A line, without its end; `None` where the terminal ends, or where somebody typed Ctrl-C.
fn read_line(terminal: &mut File) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while terminal.read(&mut byte)? == 1 && line.len() < MAX_ANSWER {
        match byte[0] {
            b'\n' | b'\r' => return Ok(String::from_utf8(line).ok()),
            CTRL_C => return Ok(None),
            CTRL_D if line.is_empty() => return Ok(None),
            BACKSPACE | DELETE => _ = line.pop(),
            CTRL_U => line.clear(),
            other => line.push(other),
        }
    }
    Ok(None)
}

const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;
const BACKSPACE: u8 = 8;
const CTRL_U: u8 = 21;
const DELETE: u8 = 127;

/// A terminal that does not show what is typed, until this is dropped. Ctrl-C is a byte like others meanwhile: a signal would end
/// the process and leave the terminal like that.
struct Hidden {
    terminal: File,
    before: Termios,
}

impl Hidden {
    fn new(terminal: File) -> io::Result<Self> {
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
