//! Running a function on the text that functions exchange.

use lanai_krm::ResourceList;

use crate::Function;
use crate::catalog::{catalog, find};

/// What a function answers as a program would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The list, with what the function changed and reported. Empty when there was none to read.
    pub stdout: String,
    /// What it said beside its results, and why it failed; mostly empty when it did not.
    pub stderr: String,
    /// 0, or 1 when it failed.
    pub exit_code: u8,
}

/// Runs the function of that name or image on the text of a list.
///
/// A text without content counts as an empty list. When the function fails, the list that it answers has the results that
/// say why; its resources are not to be used then.
pub fn run_on_wire(name: &str, stdin: &str) -> Answer {
    let Some(function) = find(name) else {
        let known: Vec<_> = catalog().iter().map(|function| function.name()).collect();
        return refuse(&format!("there is no function \"{name}\"; there are {}", known.join(", ")));
    };
    run_this_on_wire(function, stdin)
}

/// Runs a function on the text of a list, as [`run_on_wire`] does.
pub fn run_this_on_wire(function: &dyn Function, stdin: &str) -> Answer {
    let list = if stdin.trim().is_empty() { Ok(ResourceList::default()) } else { ResourceList::parse(stdin) };
    let mut list = match list {
        Ok(list) => list,
        Err(error) => return refuse(&format!("failed to evaluate function: {error}")),
    };
    let mut stderr = String::new();
    let done = function.run_aloud(&mut list, &mut stderr);
    let stdout = list.to_string();
    match done {
        Ok(()) => Answer { stdout, stderr, exit_code: 0 },
        Err(failure) => {
            let stderr = stderr + &format!("{failure}\n");
            Answer { stdout, stderr, exit_code: 1 }
        }
    }
}

fn refuse(why: &str) -> Answer {
    Answer { stdout: String::new(), stderr: format!("{why}\n"), exit_code: 1 }
}
