//! Who we are, as Git's credential helpers say.

use std::fmt::Write as _;

use lanai_process::{Command, Limits};

use crate::config::{Config, is_true};
use crate::url::Http;
use crate::{Cancel, Error, RemoteUrl};

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
}

/// What to tell the helpers about a login.
#[derive(Clone, Copy)]
pub(crate) enum Verdict {
    Accepted,
    Rejected,
}

/// Asks the address itself, then each helper, then the program that answers questions (`GIT_ASKPASS`, `core.askPass`).
/// Nobody is asked on a terminal.
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
        let answer = run(remote, &command(config, helper).argument("get"), &question, cancel)?;
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
    let program = config.text_variable("GIT_ASKPASS");
    let Some(program) = program.or_else(|| config.value("core", "askpass").map(str::to_owned)) else {
        return Ok(None);
    };
    let ask = |what: &str, place: String| {
        let ask = Command::new(&program).variables(config.environment_of_programs());
        let answer = run(remote, &ask.argument(format!("{what} for '{place}': ")), "", cancel)?;
        Ok::<_, Error>(answer.lines().next().unwrap_or_default().to_owned())
    };
    let user = match user {
        Some(user) => user,
        None => ask("Username", format!("{}://{}", url.scheme, url.authority))?,
    };
    let password = ask("Password", format!("{}://{user}@{}", url.scheme, url.authority))?;
    Ok(Some(Login { user, password, source: Source::Helpers }))
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
    let verb = match verdict {
        Verdict::Accepted => "store",
        Verdict::Rejected => "erase",
    };
    let message = describe(config, url, Some(&login.user), Some(&login.password));
    for helper in config.values_for("credential", "helper", url) {
        let _ = run(remote, &command(config, helper).argument(verb), &message, cancel);
    }
}

fn command(config: &Config, helper: &str) -> Command {
    let line = match helper.strip_prefix('!') {
        Some(line) => line.to_owned(),
        None if helper.starts_with('/') => helper.to_owned(),
        None => format!("git credential-{helper}"),
    };
    Command::shell(line).variables(config.environment_of_programs())
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
fn run(remote: &RemoteUrl, command: &Command, input: &str, cancel: &Cancel) -> Result<String, Error> {
    let mut hook = None;
    let finished = command.run(input.as_bytes(), &Limits::DEFAULT, |killer| {
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
