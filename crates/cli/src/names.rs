//! `lanai names`: what there is on the server, for shells that complete words.

use std::time::Duration;

use clap::{Arg, Args, Command, CommandFactory, Parser, ValueEnum, ValueHint};

use crate::args::Arguments;
use crate::client::{Client, Connection, Request, Timeout};
use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::repo::REPOSITORIES;
use crate::rpkg::REVISIONS;

/// How long somebody who pressed a key waits.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The hint on arguments that are names of package revisions. What completes words knows hints of its own only; this one means
/// nothing else here.
pub(crate) const REVISION: ValueHint = ValueHint::Hostname;
/// The same for repositories.
pub(crate) const REPOSITORY: ValueHint = ValueHint::Username;
/// What zsh would do about those hints, and what it shall do.
pub(crate) const IN_ZSH: [(&str, &str); 2] =
    [(":_hosts'", ":_lanai_revisions'"), (":_users'", ":_lanai_repositories'")];

/// The same for fish.
pub(crate) const IN_FISH: [&str; 2] = ["(__fish_print_hostnames)", "(__fish_complete_users)"];

/// A name as somebody typed it. An empty one, as of a variable that is not set, would stand for all.
pub(crate) fn given(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("the name is empty".into()) } else { Ok(text.to_owned()) }
}

#[derive(Debug, Args)]
pub(crate) struct Names {
    /// Of what; without, of what the words ask for
    #[arg(value_enum)]
    pub what: Option<What>,
    #[command(flatten)]
    pub connection: Connection,
    /// The words of a command line behind its first one, up to the one that is typed
    #[arg(last = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// What has names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Package revisions
    Revisions,
    /// Repositories
    Repositories,
}

/// Prints names, a line each. Where the server does not answer in time, there are none, and nothing is said: somebody is typing.
pub(crate) fn run(names: &Names, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let mut tree = Arguments::command();
    tree.build();
    let Some(what) = names.what.or_else(|| asked(&tree, &names.words)) else { return Ok(Exit::Success) };
    let resource = match what {
        What::Revisions => REVISIONS,
        What::Repositories => REPOSITORIES,
    };
    let mut connection = if names.words.is_empty() { names.connection.clone() } else { said(&names.words) };
    connection.request_timeout = Timeout(Some(MAX_WAIT));
    let Ok(client) = Client::new(&connection, Persona::Porchctl, io) else { return Ok(Exit::Failure) };
    let request = Request::get(resource.all(Some(&client.namespace)), "listing names");
    let Ok(list) = client.send(&request, io) else { return Ok(Exit::Failure) };
    let items = list["items"].as_array().into_iter().flatten();
    let lines: Vec<String> =
        items.filter_map(|item| item["metadata"]["name"].as_str()).map(|name| format!("{name}\n")).collect();
    io.print(&lines.concat())?;
    Ok(Exit::Success)
}

/// What the last word is to be, by the command that the words before it make.
fn asked(tree: &Command, words: &[String]) -> Option<What> {
    let (typed, before) = words.split_last()?;
    let mut command = tree;
    let mut positionals = 0;
    let mut open: Option<&Arg> = None;
    for word in before {
        // Some shells take a flag and its value apart.
        if word == "=" {
            continue;
        }
        if open.take().is_some() {
            continue;
        }
        if let Some(flag) = flag(command, word) {
            open = (takes_value(flag) && !has_value(word)).then_some(flag);
        } else if let (0, Some(below)) = (positionals, command.find_subcommand(word)) {
            command = below;
        } else if !word.starts_with('-') {
            positionals += 1;
        }
    }
    let argument = match open {
        Some(flag) => Some(flag),
        None if typed.starts_with('-') => None,
        None => command
            .get_positionals()
            .nth(positionals)
            .or_else(|| command.get_positionals().last().filter(|last| is_many(last))),
    };
    match argument?.get_value_hint() {
        hint if hint == REVISION => Some(What::Revisions),
        hint if hint == REPOSITORY => Some(What::Repositories),
        _ => None,
    }
}

fn is_many(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|number| number.max_values() > 1)
}

fn takes_value(flag: &Arg) -> bool {
    flag.get_action().takes_values() && !flag.is_require_equals_set()
}

/// The flag that a word is.
fn flag<'c>(command: &'c Command, word: &str) -> Option<&'c Arg> {
    let long = word.strip_prefix("--").map(|name| name.split_once('=').map_or(name, |(name, _)| name));
    let short =
        word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).and_then(|rest| rest.chars().next());
    command.get_arguments().find(|argument| match (long, short) {
        (Some(long), _) => argument.get_long() == Some(long),
        (None, Some(short)) => argument.get_short() == Some(short),
        (None, None) => false,
    })
}

/// Whether a flag and its value are one word.
fn has_value(word: &str) -> bool {
    if word.starts_with("--") { word.contains('=') } else { word.chars().count() > 2 }
}

/// The flags about the connection, alone.
#[derive(Debug, Parser)]
struct Said {
    #[command(flatten)]
    connection: Connection,
}

/// What the words say about the connection.
fn said(words: &[String]) -> Connection {
    let known = Said::command();
    let mut picked = vec!["lanai".to_owned()];
    let mut rest = words.iter().filter(|word| word.as_str() != "=");
    while let Some(word) = rest.next() {
        let Some(flag) = flag(&known, word) else { continue };
        picked.push(word.clone());
        if takes_value(flag) && !has_value(word) {
            picked.extend(rest.next().cloned());
        }
    }
    Said::try_parse_from(picked).map(|said| said.connection).unwrap_or_default()
}

/// Asks for names first; the rest is left to what was there before.
pub(crate) const BASH: &str = r#"
_lanai_names() {
    local word="${COMP_WORDS[COMP_CWORD]}"
    local -a found=()
    mapfile -t found < <("${COMP_WORDS[0]}" names -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#found[@]} -gt 0 ]]; then
        COMPREPLY=($(compgen -W "${found[*]}" -- "$word"))
        return 0
    fi
    _lanai "$@"
}
complete -F _lanai_names -o bashdefault -o default lanai
"#;

pub(crate) const ZSH: &str = r#"
_lanai_revisions() { _lanai_names revisions }
_lanai_repositories() { _lanai_names repositories }
_lanai_names() {
    local -a found
    found=(${(f)"$(lanai names $1 -- "${(@)_lanai_words[2,-1]}" 2>/dev/null)"})
    (( $#found )) && compadd -a found
}
"#;

pub(crate) const FISH: &str = r#"
function __lanai_names
    set -l words (commandline -opc) (commandline -ct)
    lanai names -- $words[2..-1] 2>/dev/null
end
complete -c lanai -n "__fish_seen_subcommand_from rpkg repo" -a "(__lanai_names)"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn names_are_asked_for_where_names_belong() {
        let mut tree = Arguments::command();
        tree.build();
        let check =
            |line: &str, expected: Option<What>| assert_eq!(asked(&tree, &words(line)), expected, "{line}");
        check("lanai rpkg approve ", Some(What::Revisions));
        check("lanai rpkg approve a ", Some(What::Revisions));
        check("lanai rpkg -n other delete x", Some(What::Revisions));
        check("lanai rpkg pull ", Some(What::Revisions));
        check("lanai rpkg pull a ", None);
        check("lanai rpkg clone ", Some(What::Revisions));
        check("lanai rpkg clone a ", None);
        check("lanai rpkg clone a b --repository ", Some(What::Repositories));
        check("lanai rpkg clone a b --repository = s", Some(What::Repositories));
        check("lanai rpkg clone a b --workspace ", None);
        check("lanai rpkg init ", None);
        check("lanai rpkg blame a ", None);
        check("lanai repo unreg ", Some(What::Repositories));
        check("lanai repo sync a b", Some(What::Repositories));
        check("lanai repo reg ", None);
        check("lanai rpkg --", None);
        check("lanai rp", None);
        check("lanai pkg tree ", None);
    }

    #[test]
    fn the_words_say_which_server_is_asked() {
        let connection = said(&words("lanai rpkg -n one approve --kubeconfig=k --context = c -o yaml x"));
        assert_eq!(connection.namespace.as_deref(), Some("one"));
        assert_eq!(connection.kubeconfig.as_deref(), Some(std::path::Path::new("k")));
        assert_eq!(connection.context.as_deref(), Some("c"));
    }
}
