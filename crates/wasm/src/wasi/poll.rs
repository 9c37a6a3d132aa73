//! Waiting for time and for streams.

use std::time::Duration;

use super::memory::View;
use super::{Errno, Halt, now, streams};
use crate::state::State;

/// How many things can be waited for at once.
const MAX_COUNT: u32 = 1024;
/// The size of what is asked for, and of what is told.
const ASKED: u32 = 48;
const TOLD: u32 = 32;

/// What somebody waits for.
enum Wait {
    /// That so much time is over.
    Time(Duration),
    /// A stream, which is ready always; or none.
    Stream(Result<(), Errno>),
}

/// One thing that is waited for.
struct Asked {
    /// What the module knows it by.
    name: [u8; 8],
    kind: u8,
    wait: Wait,
}

impl Asked {
    fn of(memory: &mut View<'_>, state: &State, at: u32) -> Result<Self, Halt> {
        let asked: [u8; ASKED as usize] = memory.array(at)?;
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&asked[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        // Numbers of four bytes stand there.
        let which = u32::try_from(number(16) & u64::from(u32::MAX)).unwrap_or_default();
        let kind = asked[8];
        let wait = match kind {
            0 => {
                let (time, is_absolute) = (number(24), asked[40] & 1 == 1);
                let now = now(state, which)?;
                Wait::Time(Duration::from_nanos(if is_absolute { time.saturating_sub(now) } else { time }))
            }
            1 | 2 => Wait::Stream(streams::known(state, which).map(drop).map_err(|_| Errno::BADF)),
            _ => return Err(Errno::INVAL.into()),
        };
        Ok(Self { name: number(0).to_le_bytes(), kind, wait })
    }

    /// What is told when that much time is over.
    fn told(&self, over: Duration) -> Option<[u8; TOLD as usize]> {
        let mut told = [0; TOLD as usize];
        told[..8].copy_from_slice(&self.name);
        told[10] = self.kind;
        match self.wait {
            Wait::Time(time) if time > over => return None,
            Wait::Time(_) => {}
            // How much there is to read, nobody knows who asks like that.
            Wait::Stream(Ok(())) => told[16] = 1,
            Wait::Stream(Err(errno)) => told[8..10].copy_from_slice(&errno.0.to_le_bytes()),
        }
        Some(told)
    }
}

pub(crate) fn wait(
    memory: &mut View<'_>,
    state: &State,
    asked: u32,
    told: u32,
    count: u32,
    at: u32,
) -> Result<(), Halt> {
    if count == 0 || count > MAX_COUNT {
        return Err(Errno::INVAL.into());
    }
    let place = |from: u32, number: u32, size: u32| from.checked_add(number * size).ok_or(Errno::FAULT);
    let mut all = Vec::new();
    for number in 0..count {
        all.push(Asked::of(memory, state, place(asked, number, ASKED)?)?);
    }
    let soonest = all.iter().map(|asked| match asked.wait {
        Wait::Time(time) => time,
        Wait::Stream(_) => Duration::ZERO,
    });
    let soonest = soonest.min().unwrap_or_default();
    state.control.sleep(soonest)?;
    let mut number = 0;
    for event in all.iter().filter_map(|asked| asked.told(soonest)) {
        memory.put(place(told, number, TOLD)?, &event)?;
        number += 1;
    }
    Ok(memory.put(at, &number.to_le_bytes())?)
}
