//! What the commands say of themselves, for shells and for `docs/reference`.

use std::fmt::Write as _;

use clap::{Arg, Args, Command, CommandFactory, ValueEnum};

use lanai_types::quote::Quoted;

use crate::args::Arguments;
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::names;

#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell that can complete words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// source <(lanai completion bash)
    Bash,
    /// lanai completion zsh > "${fpath[1]}/_lanai"
    Zsh,
    /// lanai completion fish > ~/.config/fish/completions/lanai.fish
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code that stands behind the error, as LNA1101; without, all of them
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Reference {
    /// The command; without, the list of all
    pub command: Option<String>,
}

/// Prints what a shell needs.
pub(crate) fn completion(command: &Completion, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let shell = match command.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "lanai", &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    io.print(&with_names(command.shell, text))?;
    Ok(Exit::Success)
}

/// Adds what makes a shell ask the server for names.
fn with_names(shell: Shell, text: String) -> String {
    match shell {
        Shell::Bash => text + names::BASH,
        Shell::Fish => {
            let names = "(__lanai_names)";
            names::IN_FISH.iter().fold(text, |text, theirs| text.replace(theirs, names)) + names::FISH
        }
        Shell::Zsh => {
            let text = names::IN_ZSH.iter().fold(text, |text, (theirs, ours)| text.replace(theirs, ours));
            // What it calls stands before it, and knows all words: deeper down it has only the last ones.
            let begin = "_lanai() {\n";
            text.replacen(
                begin,
                &format!(
                    "{}\n{begin}    local -a _lanai_words\n    _lanai_words=(\"${{(@)words[1,CURRENT]}}\")\n",
                    names::ZSH.trim_start()
                ),
                1,
            )
        }
    }
}

/// Prints the page about an error, or the list of all.
pub(crate) fn explain(explain: &Explain, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let text = match &explain.code {
        Some(text) => {
            let code = Code::parse(text).ok_or_else(|| {
                Failure::of(Code::Usage, format!("there is no error {}", Quoted(text)))
                    .hint("\"lanai explain\" lists them")
            })?;
            code.page().to_owned()
        }
        None => errors(),
    };
    io.print(&text)?;
    Ok(Exit::Success)
}

/// The list of all errors.
fn errors() -> String {
    let mut text = format!(
        "# Errors\n\n{NOTE}\nThe line `more: lanai explain CODE` stands behind every error. A code means a cause, wherever it is met, and never another one. Called `kpt` or `porchctl`, the program shows none.\n\n| code | what it means |\n|---|---|\n"
    );
    for code in Code::ALL {
        let _ = writeln!(text, "| [{code}]({code}.md) | {} |", code.title());
    }
    text
}

/// Prints a page of the reference.
pub(crate) fn reference(command: &Reference, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let mut all = Arguments::command();
    all.build();
    let text = match &command.command {
        None => index(&all),
        Some(name) => {
            let found = all.find_subcommand(name).filter(|found| !found.is_hide_set());
            let found =
                found.ok_or_else(|| Failure::of(Code::Usage, format!("there is no command \"{name}\"")))?;
            page(found)
        }
    };
    io.print(&text)?;
    Ok(Exit::Success)
}

const NOTE: &str = "This page is made from the program: `UPDATE=1 cargo test -p lanai --test it manual`.\n";

fn index(all: &Command) -> String {
    let mut text = format!("# Commands\n\n{NOTE}\n| command | what it does |\n|---|---|\n");
    for command in shown(all) {
        let (name, about) = (command.get_name(), about(command));
        let _ = writeln!(text, "| [`lanai {name}`]({name}.md) | {about} |");
    }
    text.push_str("\nA command ends with 0 when it did what was asked, 1 when it could not or a check found something, 2 when its arguments make no sense, 3 when there are conflicts that nobody decided.\n");
    text
}

fn page(command: &Command) -> String {
    let mut text = format!("# lanai {}\n\n{NOTE}", command.get_name());
    section(&mut text, command, &format!("lanai {}", command.get_name()));
    text
}

fn section(text: &mut String, command: &Command, path: &str) {
    let _ = write!(text, "\n{}.\n", about(command));
    let aliases: Vec<_> = command.get_visible_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        let _ = write!(text, "\nAlso called {}.\n", aliases.join(", "));
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let _ = write!(text, "\n```text\n{usage}\n```\n");
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|argument| {
            !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version")
        })
        .collect();
    if !arguments.is_empty() {
        text.push_str("\n| argument | meaning |\n|---|---|\n");
        for argument in arguments {
            let _ = writeln!(text, "| {} | {} |", heading(argument), meaning(argument));
        }
    }
    for below in shown(command) {
        let path = format!("{path} {}", below.get_name());
        let _ = write!(text, "\n## {path}\n");
        section(text, below, &path);
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default().trim_end_matches('.').to_owned()
}

fn heading(argument: &Arg) -> String {
    let values: Vec<String> = match argument.get_value_names() {
        Some(names) => names.iter().map(ToString::to_string).collect(),
        None => vec![argument.get_id().as_str().to_uppercase()],
    };
    let takes = argument.get_action().takes_values();
    let value = if takes { format!(" <{}>", values.join("> <")) } else { String::new() };
    let mut names = Vec::new();
    if let Some(short) = argument.get_short() {
        names.push(format!("-{short}"));
    }
    for long in argument.get_long().into_iter().chain(argument.get_visible_aliases().unwrap_or_default()) {
        names.push(format!("--{long}"));
    }
    match names.pop() {
        Some(last) => {
            names.push(format!("{last}{value}"));
            cell(&format!("`{}`", names.join("`, `")))
        }
        None => cell(&format!("`{}`", values.join(" "))),
    }
}

fn meaning(argument: &Arg) -> String {
    let mut text = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    let are_shown = !argument.is_hide_possible_values_set();
    if argument.get_action().takes_values() && !values.is_empty() && are_shown {
        let _ = write!(text, ": {}", values.join(", "));
    }
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if argument.get_action().takes_values() && !defaults.is_empty() {
        let _ = write!(text, " [default: {}]", defaults.join(" "));
    }
    cell(&text)
}

/// A text as a cell of a table has it.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
