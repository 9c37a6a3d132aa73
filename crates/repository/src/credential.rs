//! Who we are, as Git's credential helpers say.

use std::fmt::Write as _;
use std::time::Duration;

use lanai_process::{Command, Limits};

use crate::caller::Person;
use crate::config::{Config, Typed, is_true};
use crate::url::Http;
use crate::{Cancel, Echo, Error, RemoteUrl};

/// How long a person may take to answer a program that asks.
pub(crate) const MAX_THOUGHT: Duration = Duration::from_mins(10);

/// A user name and a password, and where they came from.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    source: Source,
}

#[derive(Clone, Copy, PartialEq)]
enum Source {
    Address,
    Helpers,
    /// Somebody typed it, or a program that answers questions knew it.
    Asked,
}

/// What to tell the helpers about a login.
#[derive(Clone, Copy)]
pub(crate) enum Verdict {
    Accepted,
    Rejected,
}

/// Asks the address itself, then each helper, then the program that answers questions (`GIT_ASKPASS`, `core.askPass`,
/// `SSH_ASKPASS`), then the person, if there is one and `GIT_TERMINAL_PROMPT` does not forbid it: the order that Git has.
pub(crate) fn find(
    config: &Config,
    remote: &RemoteUrl,
    url: &Http,
    cancel: &Cancel,
) -> Result<Option<Login>, Error> {
    let mut user = url.user.clone();
    if let (Some(user), Some(password)) = (&user, &url.password) {
        return Ok(Some(Login { user: user.clone(), password: password.clone(), source: Source::Address }));
    }
    user = user.or_else(|| config.value_for("credential", "username", url).map(str::to_owned));
    let mut password = None;
    for helper in config.values_for("credential", "helper", url) {
        let question = describe(config, url, user.as_deref(), None);
        let answer = run(config, remote, &command(config, helper).argument("get"), &question, cancel)?;
        for (key, value) in answer.lines().filter_map(|line| line.split_once('=')) {
            match key {
                "username" => user = Some(value.to_owned()),
                "password" => password = Some(value.to_owned()),
                "quit" if is_true(value) => return Ok(None),
                _ => {}
            }
        }
        if let (Some(user), Some(password)) = (&user, &password) {
            let (user, password) = (user.clone(), password.clone());
            return Ok(Some(Login { user, password, source: Source::Helpers }));
        }
    }
    let server = format!("{}://{}", url.scheme, url.authority);
    if let Some(Typed { user, password, .. }) = config.typed(&server, user.as_deref()) {
        return Ok(Some(Login { user, password, source: Source::Helpers }));
    }
    let Some(asking) = Asking::of(config) else { return Ok(None) };
    let ask = |what: &str, place: String, echo: Echo| {
        asking.ask(&format!("{what} for '{place}': "), echo, config, remote, cancel)
    };
    let user = match user {
        Some(user) => Some(user),
        None => ask("Username", server, Echo::Shown)?,
    };
    let Some(user) = user else { return Ok(None) };
    let password = ask("Password", format!("{}://{user}@{}", url.scheme, url.authority), Echo::Hidden)?;
    Ok(password.map(|password| Login { user, password, source: Source::Asked }))
}

/// Who is asked when no helper knows an answer.
enum Asking<'a> {
    Program(String),
    Person(&'a dyn Person),
}

impl<'a> Asking<'a> {
    fn of(config: &'a Config) -> Option<Self> {
        let program = config.text_variable("GIT_ASKPASS");
        let program = program.or_else(|| config.value("core", "askpass").map(str::to_owned));
        // The last one is meant for people at a screen.
        let for_people = config.person().and_then(|_| config.text_variable("SSH_ASKPASS"));
        if let Some(program) = program.or(for_people) {
            return Some(Self::Program(program));
        }
        let forbidden = config.variable("GIT_TERMINAL_PROMPT").is_some_and(|value| !is_true(value));
        config.person().filter(|_| !forbidden).map(Self::Person)
    }

    fn ask(
        &self,
        question: &str,
        echo: Echo,
        config: &Config,
        remote: &RemoteUrl,
        cancel: &Cancel,
    ) -> Result<Option<String>, Error> {
        match self {
            Self::Program(program) => {
                let ask = for_person(Command::new(program), config).argument(question);
                let answer = run(config, remote, &ask, "", cancel)?;
                Ok(Some(answer.lines().next().unwrap_or_default().to_owned()))
            }
            Self::Person(person) => Ok(person.ask(question, echo)),
        }
    }
}

/// The program with our environment, and with the terminal where somebody sits there.
pub(crate) fn for_person(command: Command, config: &Config) -> Command {
    let command = command.variables(config.environment_of_programs());
    if config.person().is_some() { command.at_terminal() } else { command }
}

/// Tells the helpers how a login went, so that they keep it or forget it. What they make of it does not matter.
pub(crate) fn tell(
    config: &Config,
    remote: &RemoteUrl,
    url: &Http,
    login: &Login,
    verdict: Verdict,
    cancel: &Cancel,
) {
    if login.source == Source::Address {
        return;
    }
    if let (Source::Asked, Verdict::Accepted) = (login.source, verdict) {
        let server = format!("{}://{}", url.scheme, url.authority);
        config.remember(Typed { server, user: login.user.clone(), password: login.password.clone() });
    }
    let verb = match verdict {
        Verdict::Accepted => "store",
        Verdict::Rejected => "erase",
    };
    let message = describe(config, url, Some(&login.user), Some(&login.password));
    for helper in config.values_for("credential", "helper", url) {
        let _ = run(config, remote, &command(config, helper).argument(verb), &message, cancel);
    }
}

fn command(config: &Config, helper: &str) -> Command {
    let line = match helper.strip_prefix('!') {
        Some(line) => line.to_owned(),
        None if helper.starts_with('/') => helper.to_owned(),
        None => format!("git credential-{helper}"),
    };
    for_person(Command::shell(line), config)
}

fn describe(config: &Config, url: &Http, user: Option<&str>, password: Option<&str>) -> String {
    let mut text = format!("protocol={}\nhost={}\n", url.scheme, url.authority);
    let mut add = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{key}={value}");
        }
    };
    let with_path = config.value_for("credential", "usehttppath", url).is_some_and(is_true);
    add("path", with_path.then(|| url.path.trim_start_matches('/')));
    add("username", user);
    add("password", password);
    text.push('\n');
    text
}

/// Runs a helper and returns what it says; one that fails says nothing.
fn run(
    config: &Config,
    remote: &RemoteUrl,
    command: &Command,
    input: &str,
    cancel: &Cancel,
) -> Result<String, Error> {
    let mut hook = None;
    let max_time = config.person().map_or(Limits::DEFAULT.max_time, |_| MAX_THOUGHT);
    let limits = Limits { max_time, ..Limits::DEFAULT };
    let finished = command.run(input.as_bytes(), &limits, |killer| {
        hook = Some(cancel.on_cancel(move || killer.kill()));
    });
    drop(hook);
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let failed = |cause: String| Error::Credentials { remote: remote.clone(), cause };
    let finished = finished.map_err(|cause| failed(cause.to_string()))?;
    if !finished.status.is_success() {
        return Ok(String::new());
    }
    String::from_utf8(finished.output)
        .map_err(|_| failed(format!("the answer of \"{}\" is not UTF-8", command.name())))
}
