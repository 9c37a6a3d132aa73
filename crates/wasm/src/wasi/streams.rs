//! The three streams of a module.

use super::memory::View;
use super::{Errno, Halt, TooMuch};
use crate::state::State;

/// How many pieces one call reads or writes. What comes after that is for the next call, as with other systems.
const MAX_PIECES: u32 = 1024;
/// What may be done with a stream.
const RIGHT_READ: u64 = 1 << 1;
const RIGHT_WRITE: u64 = 1 << 6;
const RIGHT_POLL: u64 = 1 << 27;

/// A stream that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Input,
    Output,
    Messages,
}

/// The stream of that number, if there is one.
pub(crate) fn known(state: &State, fd: u32) -> Result<Stream, Halt> {
    match (fd, state.open) {
        (0, [true, _, _]) => Ok(Stream::Input),
        (1, [_, true, _]) => Ok(Stream::Output),
        (2, [_, _, true]) => Ok(Stream::Messages),
        _ => Err(Errno::BADF.into()),
    }
}

/// Where the pieces are, how many there are.
type Pieces = (u32, u32);

/// The place and the length of a piece.
fn piece(memory: &mut View<'_>, (at, _): Pieces, number: u32) -> Result<(u32, u32), Errno> {
    let at = number.checked_mul(8).and_then(|offset| at.checked_add(offset)).ok_or(Errno::FAULT)?;
    let length = at.checked_add(4).ok_or(Errno::FAULT)?;
    Ok((memory.u32(at)?, memory.u32(length)?))
}

pub(crate) fn read(
    memory: &mut View<'_>,
    state: &mut State,
    fd: u32,
    pieces: Pieces,
    told: u32,
) -> Result<(), Halt> {
    if known(state, fd)? != Stream::Input {
        return Err(Errno::BADF.into());
    }
    let mut done = 0_u32;
    for number in 0..pieces.1.min(MAX_PIECES) {
        let (at, length) = piece(memory, pieces, number)?;
        let place = memory.slice(at, length)?;
        let taken = state.input.take(place.len());
        place[..taken.len()].copy_from_slice(taken);
        done = done.saturating_add(super::number(taken.len())?);
        if taken.len() < length as usize {
            break;
        }
    }
    Ok(memory.put(told, &done.to_le_bytes())?)
}

pub(crate) fn write(
    memory: &mut View<'_>,
    state: &mut State,
    fd: u32,
    pieces: Pieces,
    told: u32,
) -> Result<(), Halt> {
    let stream = known(state, fd)?;
    let mut done = 0_u32;
    for number in 0..pieces.1.min(MAX_PIECES) {
        let (at, length) = piece(memory, pieces, number)?;
        let bytes = memory.slice(at, length)?;
        let Some(sum) = done.checked_add(length) else { break };
        done = sum;
        match stream {
            Stream::Input => return Err(Errno::BADF.into()),
            Stream::Output if state.output.put(bytes) => {}
            Stream::Output => return Err(TooMuch.into()),
            // What is too much is thrown away, and the module does not notice.
            Stream::Messages => _ = state.messages.put(bytes),
        }
    }
    Ok(memory.put(told, &done.to_le_bytes())?)
}

pub(crate) fn close(state: &mut State, fd: u32) -> Result<(), Halt> {
    known(state, fd)?;
    if let Some(open) = state.open.get_mut(fd as usize) {
        *open = false;
    }
    Ok(())
}

/// It is a stream of no particular kind, which says what may be done with it.
pub(crate) fn about(memory: &mut View<'_>, state: &State, fd: u32, at: u32) -> Result<(), Halt> {
    let rights = RIGHT_POLL
        | match known(state, fd)? {
            Stream::Input => RIGHT_READ,
            Stream::Output | Stream::Messages => RIGHT_WRITE,
        };
    let mut about = [0; 24];
    about[8..16].copy_from_slice(&rights.to_le_bytes());
    Ok(memory.put(at, &about)?)
}

pub(crate) fn about_file(memory: &mut View<'_>, state: &State, fd: u32, at: u32) -> Result<(), Halt> {
    known(state, fd)?;
    Ok(memory.put(at, &[0; 64])?)
}

pub(crate) fn seek(state: &State, fd: u32) -> Result<(), Halt> {
    known(state, fd)?;
    Err(Errno::SPIPE.into())
}
