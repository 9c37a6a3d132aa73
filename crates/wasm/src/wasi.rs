//! What a module can ask of us: WASI preview 1, as far as a program needs it that reads a list and writes one.
//!
//! There are three streams, arguments, the variables that were granted, clocks, chance, and sleep. There are no files: what names a path is not allowed,
//! and what is there for other things says that it is not there.

mod memory;
mod poll;
mod streams;

use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use lanai_types::quote::Quoted;
use ring::rand::SecureRandom;
use wasmtime::{Caller, Engine, Extern, Linker, Module, Trap, Val, ValType};

use crate::modules::Ready;
use crate::state::State;
use memory::View;

/// The name of the interface.
pub(crate) const NAME: &str = "wasi_snapshot_preview1";

/// What of the interface is there to be linked, and not there to be used.
const ABSENT: [&str; 26] = [
    "fd_advise",
    "fd_allocate",
    "fd_datasync",
    "fd_fdstat_set_rights",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_pwrite",
    "fd_readdir",
    "fd_renumber",
    "fd_sync",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "proc_raise",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
];

/// How many bytes of chance are made before it is looked whether the run may go on.
const CHANCE: usize = 1024 * 1024;

/// The module ended itself, with this code.
#[derive(Debug, thiserror::Error)]
#[error("it ended with code {0}")]
pub(crate) struct Exited(pub i32);

/// The module wrote more than it may.
#[derive(Debug, thiserror::Error)]
#[error("it wrote too much")]
pub(crate) struct TooMuch;

/// A number of WASI for what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(u16);

impl Errno {
    const BADF: Self = Self(8);
    const FAULT: Self = Self(21);
    const INVAL: Self = Self(28);
    const IO: Self = Self(29);
    const NOSYS: Self = Self(52);
    const NOTSUP: Self = Self(58);
    const SPIPE: Self = Self(70);
    const NOTCAPABLE: Self = Self(76);
}

/// Why a call does not succeed.
pub(crate) enum Halt {
    /// The module is told.
    Told(Errno),
    /// The module does not go on.
    Ends(wasmtime::Error),
}

impl From<Errno> for Halt {
    fn from(errno: Errno) -> Self {
        Self::Told(errno)
    }
}

impl From<Trap> for Halt {
    fn from(trap: Trap) -> Self {
        Self::Ends(trap.into())
    }
}

impl From<TooMuch> for Halt {
    fn from(flood: TooMuch) -> Self {
        Self::Ends(flood.into())
    }
}

/// Answers a call that looks at the module's memory.
fn answer(
    caller: &mut Caller<'_, State>,
    work: impl FnOnce(&mut View<'_>, &mut State) -> Result<(), Halt>,
) -> wasmtime::Result<u32> {
    let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
        return Err(wasmtime::Error::msg("it shows no memory to those whom it calls"));
    };
    let (bytes, state) = memory.data_and_store_mut(caller);
    match work(&mut View(bytes), state) {
        Ok(()) => Ok(0),
        Err(Halt::Told(errno)) => Ok(errno.0.into()),
        Err(Halt::Ends(error)) => Err(error),
    }
}

/// All that is there.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    let l = &mut linker;
    surroundings(l)?;
    l.func_wrap(NAME, "fd_read", |mut c: Caller<'_, State>, fd: u32, vectors: u32, count: u32, at: u32| {
        answer(&mut c, |memory, state| streams::read(memory, state, fd, (vectors, count), at))
    })?;
    l.func_wrap(NAME, "fd_write", |mut c: Caller<'_, State>, fd: u32, vectors: u32, count: u32, at: u32| {
        answer(&mut c, |memory, state| streams::write(memory, state, fd, (vectors, count), at))
    })?;
    l.func_wrap(NAME, "fd_close", |mut c: Caller<'_, State>, fd: u32| {
        answer(&mut c, |_, state| streams::close(state, fd))
    })?;
    l.func_wrap(NAME, "fd_fdstat_get", |mut c: Caller<'_, State>, fd: u32, at: u32| {
        answer(&mut c, |memory, state| streams::about(memory, state, fd, at))
    })?;
    l.func_wrap(NAME, "fd_fdstat_set_flags", |mut c: Caller<'_, State>, fd: u32, _flags: u32| {
        answer(&mut c, |_, state| streams::known(state, fd).map(drop))
    })?;
    l.func_wrap(NAME, "fd_filestat_get", |mut c: Caller<'_, State>, fd: u32, at: u32| {
        answer(&mut c, |memory, state| streams::about_file(memory, state, fd, at))
    })?;
    l.func_wrap(NAME, "fd_seek", |mut c: Caller<'_, State>, fd: u32, _by: i64, _from: u32, _at: u32| {
        answer(&mut c, |_, state| streams::seek(state, fd))
    })?;
    l.func_wrap(NAME, "fd_tell", |mut c: Caller<'_, State>, fd: u32, _at: u32| {
        answer(&mut c, |_, state| streams::seek(state, fd))
    })?;
    // No folder was opened for it.
    l.func_wrap(NAME, "fd_prestat_get", |_fd: u32, _at: u32| u32::from(Errno::BADF.0))?;
    l.func_wrap(NAME, "fd_prestat_dir_name", |_fd: u32, _at: u32, _length: u32| u32::from(Errno::BADF.0))?;
    l.func_wrap(
        NAME,
        "poll_oneoff",
        |mut c: Caller<'_, State>, asked: u32, told: u32, count: u32, at: u32| {
            answer(&mut c, |memory, state| poll::wait(memory, state, asked, told, count, at))
        },
    )?;
    l.func_wrap(NAME, "proc_exit", |code: u32| -> wasmtime::Result<()> {
        Err(Exited(code.cast_signed()).into())
    })?;
    l.func_wrap(NAME, "sched_yield", || {
        thread::yield_now();
        0_u32
    })?;
    Ok(linker)
}

/// Arguments, variables, time and chance.
fn surroundings(l: &mut Linker<State>) -> wasmtime::Result<()> {
    l.func_wrap(NAME, "args_sizes_get", |mut c: Caller<'_, State>, count: u32, size: u32| {
        answer(&mut c, |memory, state| sizes(memory, &state.arguments, count, size))
    })?;
    l.func_wrap(NAME, "args_get", |mut c: Caller<'_, State>, places: u32, texts: u32| {
        answer(&mut c, |memory, state| strings(memory, &state.arguments, places, texts))
    })?;
    l.func_wrap(NAME, "environ_sizes_get", |mut c: Caller<'_, State>, count: u32, size: u32| {
        answer(&mut c, |memory, state| sizes(memory, &state.variables, count, size))
    })?;
    l.func_wrap(NAME, "environ_get", |mut c: Caller<'_, State>, places: u32, texts: u32| {
        answer(&mut c, |memory, state| strings(memory, &state.variables, places, texts))
    })?;
    l.func_wrap(NAME, "clock_res_get", |mut c: Caller<'_, State>, clock: u32, at: u32| {
        answer(&mut c, |memory, state| {
            now(state, clock)?;
            Ok(memory.put(at, &1_u64.to_le_bytes())?)
        })
    })?;
    l.func_wrap(NAME, "clock_time_get", |mut c: Caller<'_, State>, clock: u32, _precision: u64, at: u32| {
        answer(&mut c, |memory, state| Ok(memory.put(at, &now(state, clock)?.to_le_bytes())?))
    })?;
    l.func_wrap(NAME, "random_get", |mut c: Caller<'_, State>, at: u32, length: u32| {
        answer(&mut c, |memory, state| {
            for part in memory.slice(at, length)?.chunks_mut(CHANCE) {
                state.control.check()?;
                state.random.fill(part).map_err(|_| Errno::IO)?;
            }
            Ok(())
        })
    })?;
    Ok(())
}

/// A clock, in nanoseconds: the day's, or that of the run.
fn now(state: &State, clock: u32) -> Result<u64, Errno> {
    let time = match clock {
        0 => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        1 => state.begun.elapsed(),
        _ => return Err(Errno::NOTSUP),
    };
    Ok(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn sizes(memory: &mut View<'_>, texts: &[String], count: u32, size: u32) -> Result<(), Halt> {
    let whole: usize = texts.iter().map(|text| text.len() + 1).sum();
    memory.put(count, &number(texts.len())?.to_le_bytes())?;
    Ok(memory.put(size, &number(whole)?.to_le_bytes())?)
}

fn strings(memory: &mut View<'_>, texts: &[String], places: u32, at: u32) -> Result<(), Halt> {
    let (mut place, mut at) = (places, at);
    for text in texts {
        memory.put(place, &at.to_le_bytes())?;
        memory.put(at, text.as_bytes())?;
        at = at.checked_add(number(text.len())?).ok_or(Errno::FAULT)?;
        memory.put(at, &[0])?;
        at = at.checked_add(1).ok_or(Errno::FAULT)?;
        place = place.checked_add(4).ok_or(Errno::FAULT)?;
    }
    Ok(())
}

fn number(length: usize) -> Result<u32, Errno> {
    u32::try_from(length).map_err(|_| Errno::INVAL)
}

/// Gives a module what it asks for, or says in words what it cannot have.
pub(crate) fn link(linker: &Linker<State>, module: &Module) -> Result<Ready, String> {
    let mut linker = linker.clone();
    for import in module.imports() {
        let (from, name) = (import.module(), import.name());
        if from != NAME {
            return Err(format!("it needs {} of {}, and there is only {NAME}", Quoted(name), Quoted(from)));
        }
        if !ABSENT.contains(&name) {
            continue;
        }
        let kind = import.ty().func().cloned();
        let is_call = |kind: &wasmtime::FuncType| {
            kind.results().len() == 1 && kind.results().all(|result| matches!(result, ValType::I32))
        };
        let Some(kind) = kind.filter(is_call) else {
            return Err(format!("it needs {} of {NAME} as something that it is not", Quoted(name)));
        };
        let errno = if name.starts_with("path_") { Errno::NOTCAPABLE } else { Errno::NOSYS };
        let told = Val::I32(errno.0.into());
        let stub = linker.func_new(NAME, name, kind, move |_, _, results| {
            results.fill(told);
            Ok(())
        });
        stub.map_err(|cause| format!("{cause:#}"))?;
    }
    linker.instantiate_pre(module).map_err(|cause| format!("{cause:#}"))
}
