//! `lanai repo sync`: repositories are looked at anew.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::REPOSITORIES;
use super::args::Sync;
use crate::client::{Client, Method, Patch, Request};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};

/// How far ahead it is at least, and if nobody says more.
const AHEAD: SignedDuration = SignedDuration::from_mins(1);

pub(super) fn run(sync: &Sync, client: &Client, now: Timestamp, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let when = when(&sync.run_once, now)?;
    if let Some(warning) = when.warning {
        io.print(&format!("Warning: {warning}\n"))?;
    }
    if sync.names.is_empty() && !sync.all && !sync.all_namespaces {
        return Err(Failure::of(Code::Usage, "repository name(s) required unless --all is set").bare());
    }
    let mut found = Vec::new();
    if sync.all || sync.all_namespaces {
        let namespace = (!sync.all_namespaces).then_some(client.namespace.as_str());
        let list = client.send(&Request::get(REPOSITORIES.all(namespace), "listing repositories"), io)?;
        found.extend(list["items"].as_array().into_iter().flatten().cloned());
    } else {
        for name in &sync.names {
            let path = REPOSITORIES.one(&client.namespace, name);
            match client.send(&Request::get(path, format!("reading repository {name}")), io) {
                Ok(object) => found.push(object),
                Err(trouble) => io.tell(&format!("Error fetching repository \"{name}\": {trouble}")),
            }
        }
    }
    if found.is_empty() {
        let place = if sync.all_namespaces { "" } else { client.namespace.as_str() };
        return Err(
            Failure::of(Code::NotFound, format!("no repositories found in namespace \"{place}\"")).bare()
        );
    }
    let at = when.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut failed = 0;
    for (at_work, object) in found.iter().enumerate() {
        if io.stop.is_asked() {
            io.tell(&format!("stopped: {at_work} of {} were scheduled", found.len()));
            return Err(Failure::NobodyReads);
        }
        match schedule(object, &at, client, io) {
            Ok(name) => io.print(&format!("Scheduled one-time sync for \"{name}\" at {at}\n"))?,
            Err(why) => {
                failed += 1;
                io.tell(&why);
            }
        }
    }
    let missing = if sync.all || sync.all_namespaces { 0 } else { sync.names.len() - found.len() };
    Ok(if failed + missing > 0 { Exit::Failure } else { Exit::Success })
}

fn schedule(object: &Value, at: &str, client: &Client, io: &mut Io<'_>) -> Result<String, String> {
    let metadata = &object["metadata"];
    let (name, namespace) = (metadata["name"].as_str(), metadata["namespace"].as_str());
    let (name, namespace) = (name.unwrap_or_default(), namespace.unwrap_or(&client.namespace));
    let path = REPOSITORIES.one(namespace, name);
    let change = json!({"spec": {"sync": {"runOnceAt": at}}});
    let request = Request::new(Method::Patch(Patch::Merge), path, format!("scheduling {name}")).body(change);
    match client.send(&request, io) {
        Ok(_) => Ok(name.to_owned()),
        Err(trouble) => Err(format!("Error scheduling sync for repository \"{name}\": {trouble}")),
    }
}

/// When it is, and what is said about that.
#[derive(Debug, PartialEq)]
struct When {
    at: Timestamp,
    warning: Option<&'static str>,
}

fn when(text: &str, now: Timestamp) -> Result<When, Failure> {
    let earliest = now.saturating_add(AHEAD).unwrap_or(now);
    if text.is_empty() {
        return Ok(When { at: earliest, warning: None });
    }
    let invalid = || {
        Failure::of(Code::Usage, "invalid --run-once value")
            .bare()
            .hint("write a duration as 5m, or a time as 2026-01-02T15:04:05Z")
    };
    if let Ok(duration) = crate::client::duration(text) {
        let duration = SignedDuration::try_from(duration).map_err(|_| invalid())?;
        if duration < AHEAD {
            let warning =
                "Duration must be at least 1 minute. Sync time adjusted to comply with minimum delay.";
            return Ok(When { at: earliest, warning: Some(warning) });
        }
        return Ok(When { at: now.checked_add(duration).map_err(|_| invalid())?, warning: None });
    }
    let at: Timestamp = text.parse().map_err(|_| invalid())?;
    if at < earliest {
        let warning = "Scheduled time is within 1 minute or in the past. Sync time adjusted to comply with minimum delay.";
        return Ok(When { at: earliest, warning: Some(warning) });
    }
    Ok(When { at, warning: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_ahead_is_the_earliest() {
        let now: Timestamp = "2026-01-02T15:00:00Z".parse().unwrap();
        let check = |text: &str, expected: &str, is_adjusted: bool| {
            let when = when(text, now).unwrap();
            assert_eq!(
                (when.at.to_string().as_str(), when.warning.is_some()),
                (expected, is_adjusted),
                "{text}"
            );
        };
        check("", "2026-01-02T15:01:00Z", false);
        check("59s", "2026-01-02T15:01:00Z", true);
        check("1m", "2026-01-02T15:01:00Z", false);
        check("1h", "2026-01-02T16:00:00Z", false);
        check("2026-01-02T15:00:30Z", "2026-01-02T15:01:00Z", true);
        check("2026-01-02T17:00:00+01:00", "2026-01-02T16:00:00Z", false);
        assert!(super::when("soon", now).is_err());
    }
}
