//! A binary that is a launcher and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    lanai_process::launch(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
