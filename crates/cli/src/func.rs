//! `lanai fn`: functions on packages, on one machine and without a server.
//!
//! | module | what it is about |
//! |---|---|
//! | `args` | what can be typed |
//! | `render`, `eval`, `source`, `sink`, `doc`, `run` | the commands |
//! | `watching` | rendering again when files change |
//! | `replay` | running a function that failed again, alone |
//! | `save` | a function that is kept in the pipeline |
//! | `runtime` | who runs functions, and with which rights |
//! | `grants` | what functions may do, as flags spell it |
//! | `work` | functions at work in a thread, and their progress on the screen |
//! | `lines` | what is told about a run, in kpt's words |
//! | `output` | where resources go |

mod args;
mod doc;
mod eval;
mod grants;
mod lines;
mod output;
mod render;
mod replay;
mod run;
mod runtime;
mod save;
mod sink;
mod source;
mod watching;
mod work;

pub(crate) use runtime::checked_prefix;
pub use runtime::{DEFAULT_PREFIX as DEFAULT_IMAGE_PREFIX, NativeTags, version_of};

use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::persona::Persona;

pub(crate) use args::Func;
pub(crate) use eval::read_list;
pub(crate) use output::new_folder;
pub(crate) use replay::quoted;

/// Runs one of the commands.
pub(crate) fn run(command: &Func, persona: Persona, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match command {
        Func::Render(render) => render::run(render, persona, io),
        Func::Eval(eval) => eval::run(eval, persona, io),
        Func::Source(source) => source::run(source, persona, io),
        Func::Sink(sink) => sink::run(sink, persona, io),
        Func::Doc(doc) => doc::run(doc, io),
        Func::Run(run) => run::run(run, io),
        Func::List => doc::list(io),
    }
}
