//! The `lanai` binary: wiring only.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use lanai_cli::{Colour, Io};

fn main() -> ExitCode {
    let colour = match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => Colour::Plain,
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => Colour::Ansi,
    };
    let mut io = Io {
        stdin: &mut io::stdin().lock(),
        stdout: &mut io::stdout().lock(),
        stderr: &mut io::stderr().lock(),
        colour,
        folder: PathBuf::new(),
    };
    lanai_cli::run(std::env::args_os(), &mut io).into()
}
