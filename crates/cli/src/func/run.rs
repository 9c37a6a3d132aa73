//! `lanai fn run`: is a function.

use lanai_functions::catalog::find_in;
use lanai_functions::run_this_on_wire;

use super::args::Run;
use super::{doc, grants, runtime};
use crate::failure::{Code, Failure, cause};
use crate::io::{Exit, Io};

pub(super) fn run(run: &Run, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let function = find_in(&runtime::functions(), &run.name).ok_or_else(|| doc::unknown(&run.name))?;
    let mut text = String::new();
    io.stdin
        .read_to_string(&mut text)
        .map_err(|error| Failure::of(Code::File, format!("cannot read standard input: {}", cause(&error))))?;
    let variables = grants::variables(&run.env, io)?;
    let variables = variables.into_iter().map(|variable| (variable.name, variable.value)).collect();
    let answer = match function.with_environment(variables) {
        Some(granted) => run_this_on_wire(granted.as_ref(), &text),
        None => run_this_on_wire(function, &text),
    };
    io.print(&answer.stdout)?;
    if !answer.stderr.is_empty() {
        io.tell(&answer.stderr);
    }
    Ok(if answer.exit_code == 0 { Exit::Success } else { Exit::Failure })
}
