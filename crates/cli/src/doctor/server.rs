//! The server: whether it answers, whose time it has, what we may do there, and how what it looks after is.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::report::Check;
use crate::client::{Client, Connection, Method, Request, Resource, Trouble};
use crate::failure::Failure;
use crate::io::Io;
use crate::persona::Persona;
use crate::repo::REPOSITORIES;
use crate::rpkg::REVISIONS;

const NAME: &str = "server";
/// How far the clock of the server may be away from ours.
const MAX_SKEW: SignedDuration = SignedDuration::from_secs(10);
/// How long one question may take.
const MAX_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// What people do with packages: the verb, the kind, the part of it, and in words.
const RIGHTS: [(&str, Resource, &str, &str); 6] = [
    ("list", REVISIONS, "", "see package revisions"),
    ("create", REVISIONS, "", "make drafts"),
    ("update", RESOURCES, "", "change the files of drafts"),
    ("update", REVISIONS, "", "propose"),
    ("update", REVISIONS, "approval", "publish"),
    ("create", REPOSITORIES, "", "register repositories"),
];

const RESOURCES: Resource = Resource {
    plural: "packagerevisionresources",
    singular: "packagerevisionresources",
    kind: "PackageRevisionResources",
    ..REVISIONS
};
const ACCESS_REVIEWS: Resource = Resource {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "selfsubjectaccessreviews",
    singular: "selfsubjectaccessreview",
    kind: "SelfSubjectAccessReview",
};
const SELF_REVIEWS: Resource = Resource {
    group: "authentication.k8s.io",
    version: "v1",
    plural: "selfsubjectreviews",
    singular: "selfsubjectreview",
    kind: "SelfSubjectReview",
};

/// A server that answered.
pub(super) struct Answering {
    pub client: Client,
    /// Whether it is one of ours.
    pub is_ours: bool,
}

/// What is known of the server before anybody asked it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// No file says where one is.
    Nowhere,
    /// It is the server of the data directory, which need not run.
    Local,
    /// Somebody named it.
    Named,
}

/// Whether it answers; the server itself only where it does.
pub(super) fn reach(
    connection: &Connection,
    place: Place,
    now: impl Fn() -> Timestamp,
    io: &mut Io<'_>,
) -> (Vec<Check>, Option<Answering>) {
    let mut connection = connection.clone();
    if connection.request_timeout.0.is_none() {
        connection.request_timeout.0 = Some(MAX_WAIT);
    }
    let client = match Client::new(&connection, Persona::Lanai, io) {
        Ok(client) => client,
        Err(Failure::NobodyReads) => return (Vec::new(), None),
        Err(Failure::Told(message)) => {
            let mend =
                message.help().unwrap_or("mend the kubeconfig, or name another one with --kubeconfig FILE");
            // Where nobody said where a server is, there may be none.
            let check = match place {
                Place::Nowhere => Check::warning(NAME, message.text(), mend),
                Place::Local | Place::Named => Check::problem(NAME, message.text(), mend),
            };
            return (vec![check], None);
        }
    };
    let answer = match client.probe("/version", io) {
        Ok(answer) => answer,
        Err(trouble) => return (vec![silent(&trouble, place)], None),
    };
    let version = answer.object["gitVersion"].as_str().unwrap_or("without a version").to_owned();
    let is_ours = version.contains("+lanai");
    let mut checks = vec![Check::ok(NAME, format!("{} answers, {version}", client.server()))];
    checks.extend(answer.date.map(|date| clock(date, now())));
    (checks, Some(Answering { client, is_ours }))
}

/// What is to be said of a server that does not answer as it should.
fn silent(trouble: &Trouble, place: Place) -> Check {
    let text = trouble.to_string();
    match (trouble, place) {
        (Trouble::Unreachable(_), Place::Local) => {
            Check::warning(NAME, text, "start it: lanai serve --data-dir FOLDER")
        }
        (Trouble::Unreachable(_) | Trouble::Stopped, _) => Check::problem(
            NAME,
            text,
            "look whether it runs there, or name another one with --kubeconfig FILE",
        ),
        (Trouble::Refused(refusal), _) if refusal.code == 401 => Check::problem(
            NAME,
            format!("it does not know who you are: {text}"),
            "fetch a fresh kubeconfig: lanai kubeconfig prints that of a server on this machine",
        ),
        (Trouble::Refused(_), _) => Check::problem(NAME, text, "see whether it is a server for packages"),
    }
}

/// What is to be said of the time of the server. It comes in whole seconds.
fn clock(theirs: Timestamp, ours: Timestamp) -> Check {
    const CLOCK: &str = "clock";
    let away = theirs.duration_since(ours);
    let seconds = away.as_secs().abs();
    if away.abs() <= MAX_SKEW {
        return Check::ok(CLOCK, "the server has the time that is here");
    }
    let side = if away.is_positive() { "ahead of" } else { "behind" };
    let found = format!("the server is {seconds} seconds {side} this machine");
    Check::warning(
        CLOCK,
        found,
        "set both by a time server (timedatectl set-ntp true): certificates and tokens have times",
    )
}

/// Who we are there, and what we may do.
pub(super) fn rights(server: &Answering, io: &mut Io<'_>) -> Vec<Check> {
    const RIGHTS_NAME: &str = "rights";
    let client = &server.client;
    let who = review(client, SELF_REVIEWS, json!({}), io);
    let who = who.as_ref().ok().and_then(|answer| answer["status"]["userInfo"]["username"].as_str());
    let who = who.unwrap_or("somebody").to_owned();
    let (mut may, mut may_not) = (Vec::new(), Vec::new());
    for (verb, resource, part, words) in RIGHTS {
        let mut attributes = json!({
            "namespace": client.namespace, "verb": verb, "group": resource.group, "resource": resource.plural,
        });
        if !part.is_empty() {
            attributes["subresource"] = json!(part);
        }
        match review(client, ACCESS_REVIEWS, json!({"resourceAttributes": attributes}), io) {
            Ok(answer) if answer["status"]["allowed"] == true => may.push(words),
            Ok(_) => {
                let part = if part.is_empty() { String::new() } else { format!("/{part}") };
                may_not.push(format!("{words} ({verb} {}{part})", resource.plural));
            }
            Err(trouble) => {
                let mend = "ask whoever looks after the server";
                return vec![Check::warning(
                    RIGHTS_NAME,
                    format!("it does not say what you may do: {trouble}"),
                    mend,
                )];
            }
        }
    }
    let place = format!("in namespace \"{}\" {who} may", client.namespace);
    if may_not.is_empty() {
        return vec![Check::ok(RIGHTS_NAME, format!("{place} {}", may.join(", ")))];
    }
    let mend = "ask for a RoleBinding, or look into another namespace with -n; see docs/users.md";
    let found = format!("{place} not {}", may_not.join(", "));
    vec![if may.is_empty() {
        Check::problem(RIGHTS_NAME, found, mend)
    } else {
        Check::warning(RIGHTS_NAME, found, mend)
    }]
}

fn review(client: &Client, kind: Resource, spec: Value, io: &mut Io<'_>) -> Result<Value, Trouble> {
    let mut object = json!({"apiVersion": kind.api_version(), "kind": kind.kind});
    if spec != json!({}) {
        object["spec"] = spec;
    }
    client.send(&Request::new(Method::Post, kind.all(None), "asking what you may do").body(object), io)
}

/// How the repositories are.
pub(super) fn repositories(server: &Answering, io: &mut Io<'_>) -> Vec<Check> {
    const REPOSITORIES_NAME: &str = "repositories";
    let client = &server.client;
    let all = Request::get(REPOSITORIES.all(None), "listing repositories");
    let here = Request::get(REPOSITORIES.all(Some(&client.namespace)), "listing repositories");
    let list = match client.send(&all, io) {
        Err(Trouble::Refused(refusal)) if refusal.code == 403 => client.send(&here, io),
        other => other,
    };
    let list = match list {
        Ok(list) => list,
        Err(Trouble::Refused(refusal)) if refusal.code == 404 => {
            let mend = "name a server that has Porch's API: lanai serve, or a cluster with Porch";
            return vec![Check::problem(REPOSITORIES_NAME, "the server has no API for packages", mend)];
        }
        // What we may do is told elsewhere.
        Err(Trouble::Refused(refusal)) if refusal.code == 403 => return Vec::new(),
        Err(trouble) => {
            let mend = "read the log of the server";
            return vec![Check::problem(REPOSITORIES_NAME, trouble.to_string(), mend)];
        }
    };
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let mut checks: Vec<Check> = items.iter().filter_map(unready).collect();
    let ready = items.len() - checks.len();
    checks.insert(
        0,
        match items.len() {
            0 => Check::ok(REPOSITORIES_NAME, "none is registered; lanai repo reg ADDRESS registers one"),
            number => Check::ok(REPOSITORIES_NAME, format!("{ready} of {number} can be used")),
        },
    );
    checks
}

/// What is wrong with a repository.
fn unready(object: &Value) -> Option<Check> {
    let metadata = &object["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (name, namespace) = (text(&metadata["name"]), text(&metadata["namespace"]));
    let conditions = object["status"]["conditions"].as_array();
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    if !metadata["deletionTimestamp"].is_null() {
        let found = format!("{namespace}/{name} is to go, and waits for something");
        let mend = format!("lanai repo get {name} -n {namespace} -o yaml says for what");
        return Some(Check::warning("repository", found, mend));
    }
    let Some(ready) = ready else {
        let found = format!("{namespace}/{name} was not looked at yet");
        return Some(Check::warning("repository", found, "wait a moment, and look again"));
    };
    if ready["status"] == "True" {
        return None;
    }
    if ready["reason"] == "Reconciling" {
        let found = format!("{namespace}/{name} is being looked at");
        return Some(Check::warning("repository", found, "wait a moment, and look again"));
    }
    let found = format!("{namespace}/{name} cannot be used: {}", text(&ready["message"]));
    let mend = format!(
        "mend its address, branch or Secret (lanai repo get {name} -n {namespace} -o yaml); it is tried again by itself"
    );
    Some(Check::problem("repository", found, mend))
}

#[cfg(test)]
mod tests {
    use super::super::report::State;
    use super::*;

    #[test]
    fn clocks_may_differ_by_so_much() {
        let ours: Timestamp = "2026-01-02T15:00:00Z".parse().unwrap();
        let check = |seconds: i64, expected, part: &str| {
            let found = clock(ours + SignedDuration::from_secs(seconds), ours);
            assert_eq!(found.state, expected, "{seconds}");
            assert!(found.found.contains(part), "{}", found.found);
        };
        check(0, State::Ok, "the time that is here");
        check(10, State::Ok, "the time that is here");
        check(-10, State::Ok, "the time that is here");
        check(11, State::Warning, "11 seconds ahead of");
        check(-3600, State::Warning, "3600 seconds behind");
    }

    #[test]
    fn repositories_say_how_they_are() {
        let check = |status: Value, expected: Option<State>| {
            let object = json!({"metadata": {"name": "a", "namespace": "n"}, "status": status});
            assert_eq!(unready(&object).map(|check| check.state), expected, "{object}");
        };
        let ready =
            |status: &str| json!({"conditions": [{"type": "Ready", "status": status, "message": "no"}]});
        check(ready("True"), None);
        check(ready("False"), Some(State::Problem));
        check(json!({}), Some(State::Warning));
    }
}
