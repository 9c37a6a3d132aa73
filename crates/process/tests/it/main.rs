//! Real programs are started, fed, limited and killed.

mod cage;
mod connect;
mod run;

use lanai_process::Command;

/// A shell script with nothing in its environment but the way to common programs.
fn script(text: &str) -> Command {
    Command::new("sh").argument("-c").argument(text).variable("PATH", "/usr/bin:/bin")
}
