//! `lanai names`: what there is on the server, for shells that complete words.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::client::{Client, Connection, Request, Timeout};
use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::repo::REPOSITORIES;
use crate::rpkg::REVISIONS;

/// How long somebody who pressed a key waits.
const MAX_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct Names {
    /// Of what
    #[arg(value_enum)]
    pub what: What,
    #[command(flatten)]
    pub connection: Connection,
}

/// What has names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Package revisions
    Revisions,
    /// Repositories
    Repositories,
    /// Nothing: the lines that teach bash to ask, behind those of "lanai completion bash"
    Bash,
}

/// Prints names, a line each. Where the server does not answer in time, there are none, and nothing is said: somebody is typing.
pub(crate) fn run(names: &Names, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let resource = match names.what {
        What::Revisions => REVISIONS,
        What::Repositories => REPOSITORIES,
        What::Bash => {
            io.print(BASH)?;
            return Ok(Exit::Success);
        }
    };
    let mut connection = names.connection.clone();
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

/// Words behind `rpkg` and `repo` that are no flags are names; the rest is left to what was there before.
const BASH: &str = r#"_lanai_names() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" what=""
    case "$before" in
        --repository) what=repositories ;;
        -*) ;;
        *)
            if [[ $COMP_CWORD -ge 3 && "$word" != -* ]]; then
                case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
                    "rpkg init") ;;
                    "rpkg "*) what=revisions ;;
                    "repo reg" | "repo register") ;;
                    "repo "*) what=repositories ;;
                esac
            fi
            ;;
    esac
    if [[ -n "$what" ]]; then
        COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" names "$what" 2>/dev/null)" -- "$word"))
        [[ ${#COMPREPLY[@]} -gt 0 ]] && return 0
    fi
    if declare -F _lanai >/dev/null; then
        _lanai "$@"
    fi
}
complete -F _lanai_names -o bashdefault -o default lanai
"#;
