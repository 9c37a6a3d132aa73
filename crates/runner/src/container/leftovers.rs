//! Containers that nobody waits for any more.
//!
//! Each container says who made it and until when it may be there. A process that is killed cannot remove what it made; the next one finds it
//! by these labels.

use std::fs;
use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lanai_evaluate::Error;

use super::engine::{ContainerEngine, said};

/// The label that says whose a container is.
const OWNER: &str = "lanai.dev/owner";
/// The label that says until when it may be there: seconds of the clock that all know.
const UNTIL: &str = "lanai.dev/until";

/// Whether they were looked for.
#[derive(Debug, Default)]
pub(super) struct Leftovers(Mutex<bool>);

impl Leftovers {
    /// Removes them before the first call. A failure is told by the call itself, if it lasts.
    pub(super) fn sweep_once(&self, engine: &ContainerEngine) {
        let mut swept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !*swept {
            *swept = true;
            let _ = sweep(engine);
        }
    }

    /// Removes them now.
    pub(super) fn sweep(&self, engine: &ContainerEngine) -> Result<usize, Error> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        sweep(engine).map_err(|cause| {
            Error::Infrastructure(format!(
                "cannot look for containers that were left: {engine} says: {cause}"
            ))
        })
    }
}

/// The labels of a container that may be there for that long.
pub(super) fn labels(time: Duration) -> [String; 2] {
    let until = now().saturating_add(time.as_secs());
    [format!("{OWNER}={}", owner(process::id()).unwrap_or_default()), format!("{UNTIL}={until}")]
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn sweep(engine: &ContainerEngine) -> Result<usize, String> {
    let filter = format!("label={OWNER}");
    let listed = engine.ask(&["ps", "--all", "--quiet", "--no-trunc", "--filter", &filter])?;
    if !listed.status.is_success() {
        return Err(said(&listed));
    }
    let label = |name: &str| format!("{{{{index .Config.Labels \"{name}\"}}}}");
    let format = format!("{} {}", label(OWNER), label(UNTIL));
    let mut removed = 0;
    for id in String::from_utf8_lossy(&listed.output).split_whitespace() {
        // One that is gone meanwhile is none.
        let labels = engine.ask(&["container", "inspect", "--format", &format, id])?;
        let labels = String::from_utf8_lossy(&labels.output).into_owned();
        let Some((owner, until)) = labels.trim().split_once(' ') else { continue };
        if is_over(until) || is_dead(owner) {
            engine.remove(id)?;
            removed += 1;
        }
    }
    Ok(removed)
}

fn is_over(until: &str) -> bool {
    until.parse::<u64>().is_ok_and(|until| until < now())
}

/// Whether the process of that name is gone. Of those of another machine, or of another namespace, nothing is known.
fn is_dead(name: &str) -> bool {
    let mut parts = name.rsplitn(3, '-');
    let (Some(start), Some(pid), Some(place)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Some(here), Ok(pid)) = (place_of_processes(), pid.parse::<u32>()) else { return false };
    place == here && started(pid).is_none_or(|started| started != start)
}

/// The name of a process that no other one ever has: where its number counts, its number, and when it was started.
fn owner(pid: u32) -> Option<String> {
    Some(format!("{}-{pid}-{}", place_of_processes()?, started(pid)?))
}

/// Where numbers of processes mean something: since the machine was started, and in one namespace.
fn place_of_processes() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    Some(format!("{}-{digits}", boot.trim()))
}

/// When a process was started, in ticks since the machine was.
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in brackets, may contain anything.
    let (_, behind) = stat.rsplit_once(')')?;
    behind.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_alive_is_not_dead() {
        let own = owner(process::id()).unwrap();
        assert!(!is_dead(&own));
        let (_, start) = own.rsplit_once('-').unwrap();
        let other =
            own.replace(&format!("-{}-{start}", process::id()), &format!("-{}-1{start}", process::id()));
        assert!(is_dead(&other), "another process has its number now");
        assert!(!is_dead(&format!("elsewhere-{own}")), "nothing is known of other machines");
        assert!(!is_dead("") && !is_dead("a-b") && !is_dead("a-b-c"));
    }

    #[test]
    fn time_ends() {
        assert!(is_over("1") && !is_over("99999999999") && !is_over("") && !is_over("soon"));
        let [_, until] = labels(Duration::from_secs(100));
        let (_, until) = until.split_once('=').unwrap();
        assert!(!is_over(until));
    }
}
