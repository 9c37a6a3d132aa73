//! Other programs, and the way to the network.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use lanai_process::{Command, Limits};

use super::report::Check;
use crate::io::Io;

/// The oldest Git that is known to do.
const MIN_GIT: (u32, u32) = (2, 30);
/// How long a program may take to say its version.
const MAX_TIME: Duration = Duration::from_secs(10);

/// All of them.
pub(crate) fn all(io: &Io<'_>) -> Vec<Check> {
    let mut checks = vec![git(io), kubectl(io)];
    checks.push(optional("helm", "only the function render-helm-chart needs it", io));
    let engine = ["podman", "docker", "nerdctl"].into_iter().find(|name| find(name, io).is_some());
    checks.push(match engine {
        Some(name) => Check::ok("containers", format!("{name} is there")),
        None => Check::ok(
            "containers",
            "no podman, docker or nerdctl; functions that come with the program need none",
        ),
    });
    checks.push(proxies(io));
    checks
}

fn git(io: &Io<'_>) -> Check {
    let mend = "install git; people and editors need it beside the program, which speaks to Git itself";
    match version("git", &["--version"], io) {
        None => Check::warning("git", "it is not on PATH", mend),
        Some(Err(why)) => Check::warning("git", why, mend),
        Some(Ok(text)) => match number(&text) {
            Some(found) if found < MIN_GIT => {
                let (major, minor) = MIN_GIT;
                Check::warning("git", text, format!("install {major}.{minor} or newer"))
            }
            Some(_) => Check::ok("git", text),
            None => Check::warning("git", format!("it says no version but \"{text}\""), mend),
        },
    }
}

fn kubectl(io: &Io<'_>) -> Check {
    let mend = "install kubectl, or work with lanai pkg and lanai fn alone";
    match version("kubectl", &["version", "--client"], io) {
        None => Check::warning("kubectl", "it is not on PATH", mend),
        Some(Err(why)) => Check::warning("kubectl", why, mend),
        Some(Ok(text)) => Check::ok("kubectl", text),
    }
}

fn optional(name: &'static str, about: &str, io: &Io<'_>) -> Check {
    match find(name, io) {
        Some(path) => Check::ok(name, path.display().to_string()),
        None => Check::ok(name, format!("it is not on PATH; {about}")),
    }
}

/// A proxy that local connections would go through.
fn proxies(io: &Io<'_>) -> Check {
    let get = |name: &str| {
        let either = [name.to_owned(), name.to_lowercase()];
        either.iter().find_map(|name| io.environment.get(OsStr::new(name)).filter(|value| !value.is_empty()))
    };
    let Some(proxy) = get("HTTPS_PROXY").or_else(|| get("HTTP_PROXY")) else {
        return Check::ok("proxies", "none");
    };
    let exceptions = get("NO_PROXY").map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let is_local =
        exceptions.split(',').map(str::trim).any(|one| matches!(one, "*" | "127.0.0.1" | "127.0.0.0/8"));
    // A proxy can have a password in its address.
    let shown = proxy.to_string_lossy().rsplit('@').next().unwrap_or_default().to_owned();
    if is_local {
        return Check::ok("proxies", format!("{shown}, and not for this machine"));
    }
    let found = format!("{shown} would be asked for servers on this machine, too");
    Check::warning("proxies", found, "export NO_PROXY=127.0.0.1,localhost")
}

/// A program on PATH.
fn find(name: &str, io: &Io<'_>) -> Option<PathBuf> {
    let path = io.environment.get(OsStr::new("PATH"))?;
    std::env::split_paths(path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The first line that a program says about itself; none where it is not there.
fn version(name: &str, arguments: &[&str], io: &Io<'_>) -> Option<Result<String, String>> {
    let path = find(name, io)?;
    // kubectl keeps what it learns, and nothing is to be left behind.
    let cache = tempfile::tempdir().map_err(|error| error.to_string());
    let cache = match cache {
        Ok(cache) => cache,
        Err(why) => return Some(Err(why)),
    };
    let mut command = Command::new(&path).variables(io.environment.iter());
    command = command.variable("KUBECACHEDIR", cache.path());
    for argument in arguments {
        command = command.argument(*argument);
    }
    let limits = Limits { max_time: MAX_TIME, ..Limits::DEFAULT };
    let finished = match command.run(&[], &limits, |_| {}) {
        Ok(finished) => finished,
        Err(error) => return Some(Err(error.to_string())),
    };
    if !finished.status.is_success() {
        return Some(Err(format!("{} ends with {}", path.display(), finished.status)));
    }
    let text = String::from_utf8_lossy(&finished.output).into_owned();
    Some(Ok(text.lines().next().unwrap_or_default().trim().to_owned()))
}

/// The first two numbers of a version.
fn number(text: &str) -> Option<(u32, u32)> {
    let word =
        text.split_whitespace().find(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))?;
    let mut parts = word.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let check = |text: &str, expected| assert_eq!(number(text), expected, "{text}");
        check("git version 2.39.5 (Apple Git-154)", Some((2, 39)));
        check("git version 2.47.1.windows.1", Some((2, 47)));
        check("no version", None);
    }
}
