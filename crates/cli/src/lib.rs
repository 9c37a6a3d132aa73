//! The commands that people type.
//!
//! [`run`] takes the arguments and an [`Io`], and nothing else of the world around it: no environment, no current folder, no
//! terminal. The binary hands them in, tests hand in their own.
//!
//! | module | what it is about |
//! |---|---|
//! | `args` | what can be typed |
//! | `yaml` | `lanai yaml get`, `set` and `fmt` |
//! | `pkg` | `lanai pkg get`, `init`, `tree`, `cat`, `diff` and `update` |
//! | `func` | `lanai fn render`, `eval`, `source`, `sink`, `doc`, `run` and `list` |
//! | `cache` | `lanai cache ls`, `show`, `prune` and `verify` |
//! | `running` | `lanai function-runner` and `wrapper-server` |
//! | `store` | `lanai store backup`, `restore` and `verify` |
//! | `serve` | `lanai serve` and `kubeconfig` |
//! | `demo` | `lanai demo` |
//! | `doctor` | `lanai doctor` |
//! | `manual` | `lanai completion` and `explain`, and the pages of `docs/reference` and `docs/errors` |
//! | `repo` | `lanai repo get`, `reg`, `unreg` and `sync` |
//! | `rpkg` | `lanai rpkg`: package revisions on a server |
//! | `live` | `lanai live`, which says who applies |
//! | `names` | what there is on a server, for shells |
//! | `porchctl` | the commands under that name |
//! | `client` | talking to a server |
//! | `listing`, `output`, `table` | objects of a server, for people and programs |
//! | `places` | where things are kept on this machine |
//! | `persona` | under which name the program was called |
//! | `file` | reading files, and replacing them whole or not at all |
//! | `diff` | what changes, for people |
//! | `failure` | what went wrong, for people |
//! | `stop` | ending early, cleanly |
//! | `io` | where input comes from and output goes |

mod args;
mod cache;
mod client;
mod containers;
mod demo;
mod diff;
mod doctor;
mod failure;
mod file;
mod func;
mod io;
mod listing;
mod live;
mod manual;
mod names;
mod output;
mod persona;
mod pkg;
mod places;
mod porchctl;
mod repo;
mod rpkg;
mod running;
mod serve;
mod stop;
mod store;
mod table;
mod terminal;
mod yaml;

use std::ffi::OsString;

use clap::{CommandFactory as _, Parser as _};

use args::{Arguments, Command};
use failure::Failure;
use persona::Persona;

pub use containers::sweep;
pub use demo::{DemoSettings, Then, Told};
pub use func::{DEFAULT_IMAGE_PREFIX, NativeTags, version_of};
pub use io::{Audience, Colour, Exit, Io};
pub use serve::{
    FunctionSettings, GateSettings, LimitSettings, LogFormat, NoServer, ServerSettings, Serving,
};
pub use stop::{MAX_ENDING, Stop};

/// Runs one command; the first argument is the program's name. Called `kpt`, it reads `.krmignore` as kpt does.
///
/// Results go to `io.stdout`, errors and notes to `io.stderr`. When nobody reads `io.stdout` any more (a broken pipe), the
/// command stops and that is no error.
///
/// Files are changed only by commands that say so, each as a whole: a file holds what it held before or all that it should
/// hold, never a part.
pub fn run(arguments: impl IntoIterator<Item = OsString>, io: &mut Io<'_>) -> Exit {
    run_with(arguments, io, &NoServer)
}

/// As [`run`], with a server for `lanai serve`.
pub fn run_with(
    arguments: impl IntoIterator<Item = OsString>,
    io: &mut Io<'_>,
    serving: &dyn Serving,
) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let persona = Persona::of(arguments.first());
    if persona == Persona::Porchctl {
        return porchctl::run(arguments, io);
    }
    // Those that follow porchctl ask for what is missing themselves.
    let asks_itself = arguments.get(1).is_some_and(|word| word == "repo" || word == "rpkg");
    let done = match Arguments::try_parse_from(&arguments) {
        Ok(Arguments { command: Command::Yaml(command) }) => yaml::run(&command, io),
        Ok(Arguments { command: Command::Pkg(command) }) => pkg::run(&command, persona.dialect(), io),
        Ok(Arguments { command: Command::Store(command) }) => store::run(&command, io),
        Ok(Arguments { command: Command::Cache(command) }) => cache::run(&command, io),
        Ok(Arguments { command: Command::FunctionRunner(command) }) => {
            running::function_runner(&command, serving, io)
        }
        Ok(Arguments { command: Command::WrapperServer(command) }) => {
            running::wrapper_server(&command, serving, io)
        }
        Ok(Arguments { command: Command::Serve(command) }) => serve::serve(&command, serving, io),
        Ok(Arguments { command: Command::Demo(command) }) => demo::run(&command, serving, io),
        Ok(Arguments { command: Command::Doctor(command) }) => doctor::run(&command, io),
        Ok(Arguments { command: Command::Completion(command) }) => manual::completion(&command, io),
        Ok(Arguments { command: Command::Explain(command) }) => manual::explain(&command, io),
        Ok(Arguments { command: Command::Reference(command) }) => manual::reference(&command, io),
        Ok(Arguments { command: Command::Kubeconfig(command) }) => serve::kubeconfig(&command, io),
        Ok(Arguments { command: Command::Repo(repo) }) => {
            repo::run(&repo.command, &repo.connection, persona, io)
        }
        Ok(Arguments { command: Command::Rpkg(rpkg) }) => {
            rpkg::run(&rpkg.command, &rpkg.connection, &rpkg.version, persona, io)
        }
        Ok(Arguments { command: Command::Version }) => {
            io.print(concat!(env!("CARGO_PKG_VERSION"), "\n")).map(|()| Exit::Success)
        }
        Ok(Arguments { command: Command::Names(names) }) => names::run(&names, io),
        Ok(Arguments { command: Command::Live(live) }) => live::run(&live, persona),
        Ok(Arguments { command: Command::Func(command) }) => func::run(&command, persona, io),
        Err(error) if error.use_stderr() => {
            io.tell(&error.render().to_string());
            if persona == Persona::Lanai {
                io.tell(&failure::Code::Usage.line());
            }
            return Exit::Usage;
        }
        Err(help) => io.print(&help.render().to_string()).map(|()| Exit::Success),
    };
    match done {
        Ok(exit) => exit,
        Err(Failure::NobodyReads) => Exit::Success,
        Err(Failure::Told(message)) if message.is_usage() && asks_itself && persona == Persona::Lanai => {
            io.tell(&message.without_code());
            if let Some(usage) = usage(&arguments) {
                io.tell(&usage);
            }
            io.tell(&failure::Code::Usage.line());
            Exit::Usage
        }
        Err(Failure::Told(message)) => {
            io.tell(&message.told_as(persona));
            Exit::Failure
        }
    }
}

/// How the command is used that somebody typed.
fn usage(arguments: &[OsString]) -> Option<String> {
    let mut tree = Arguments::command();
    tree.build();
    let matches = tree.clone().try_get_matches_from(arguments).ok()?;
    let (mut command, mut found) = (&mut tree, &matches);
    while let Some((name, inner)) = found.subcommand() {
        command = command.find_subcommand_mut(name)?;
        found = inner;
    }
    Some(command.render_usage().to_string())
}
