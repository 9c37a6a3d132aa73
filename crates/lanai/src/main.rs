//! The `lanai` binary: wiring only.

mod serve;

use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use lanai_cli::{Audience, Colour, Io, Stop};

fn main() -> ExitCode {
    if let Some(code) = lanai_process::launch(std::env::args_os()) {
        return code;
    }
    let stop = Stop::default();
    // Where no thread can be had, a signal ends the process as it always does.
    if let Ok(signals) = lanai_process::Signals::caught() {
        let stop = stop.clone();
        let waiter = std::thread::Builder::new().name("signals".into());
        let waiter = waiter.spawn(move || {
            let signal = signals.wait();
            if let Some(parting) = stop.now() {
                // On a terminal, what showed the progress goes first.
                let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
                let _ = writeln!(io::stderr(), "{clear}{parting}");
            }
            std::process::exit(if stop.is_well() { 0 } else { 128 + signal })
        });
        if waiter.is_err() {
            lanai_process::Signals::let_go();
        }
    }
    let colour = match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => Colour::Plain,
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => Colour::Ansi,
    };
    let audience = if io::stderr().is_terminal() { Audience::Terminal } else { Audience::Record };
    let mut io = Io {
        stdin: &mut io::stdin().lock(),
        stdout: &mut io::stdout().lock(),
        // Not locked: other threads write their log there, and would wait for the end of the command.
        stderr: &mut io::stderr(),
        colour,
        folder: PathBuf::new(),
        environment: std::env::vars_os().collect(),
        audience,
        program: std::env::current_exe().ok(),
        stop: stop.clone(),
    };
    let exit = lanai_cli::run_with(std::env::args_os(), &mut io, &serve::Here);
    while stop.is_asked() && !stop.is_well() {
        // Whoever was told of the signal ends the process, and says by which.
        std::thread::park();
    }
    exit.into()
}
