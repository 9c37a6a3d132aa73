//! Where revisions come from.

use std::collections::BTreeMap;

use serde_json::Value;

use super::server::{Server, is_published, name_of, number, text};
use crate::client::Trouble;
use crate::io::Io;

/// How many revisions are gone back.
const MAX_STEPS: usize = 1_000;

/// What a revision was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Nothing, or nobody knows.
    Nothing,
    /// Another revision of the package.
    Copy(String),
    /// A revision of another package.
    Clone(String),
    /// A package somewhere in git.
    Git(Lock),
    Upgrade {
        local: String,
        old: String,
        new: String,
    },
}

/// A place in git, as Kptfiles have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lock {
    pub repo: String,
    pub directory: String,
    pub reference: String,
}

impl Lock {
    /// Of `status.upstreamLock`, `status.selfLock`, or a task.
    fn of(git: &Value) -> Option<Self> {
        let repo = text(git, "repo");
        let clean = |text: &str| text.trim_matches('/').to_owned();
        (!repo.is_empty()).then(|| Self {
            repo: repo.trim_end_matches('/').trim_end_matches(".git").to_owned(),
            directory: clean(text(git, "directory")),
            reference: text(git, "ref").to_owned(),
        })
    }
}

/// What a revision was made of, as its tasks say.
pub(super) fn origin(object: &Value) -> Origin {
    let named = |reference: &Value| text(reference, "name").to_owned();
    let upgrade = |task: &Value, fields: [&str; 3]| Origin::Upgrade {
        local: named(&task[fields[0]]),
        old: named(&task[fields[1]]),
        new: named(&task[fields[2]]),
    };
    let clone = |upstream: &Value| match named(&upstream["upstreamRef"]) {
        name if name.is_empty() => Lock::of(&upstream["git"]).map_or(Origin::Nothing, Origin::Git),
        name => Origin::Clone(name),
    };
    let spec = &object["spec"];
    for task in spec["tasks"].as_array().into_iter().flatten() {
        match text(task, "type") {
            "clone" => return clone(&task["clone"]["upstreamRef"]),
            "edit" => return Origin::Copy(named(&task["edit"]["sourceRef"])),
            "upgrade" => {
                return upgrade(
                    &task["upgrade"],
                    ["localPackageRevisionRef", "oldUpstreamRef", "newUpstreamRef"],
                );
            }
            _ => {}
        }
    }
    let source = &spec["source"];
    if source["cloneFrom"].is_object() {
        return clone(&source["cloneFrom"]);
    }
    if source["copyFrom"].is_object() {
        return Origin::Copy(named(&source["copyFrom"]));
    }
    if source["upgrade"].is_object() {
        return upgrade(&source["upgrade"], ["currentPackage", "oldUpstream", "newUpstream"]);
    }
    Origin::Nothing
}

/// All revisions of a namespace.
pub(super) struct Revisions {
    pub by_name: BTreeMap<String, Value>,
}

impl Revisions {
    pub fn load(server: &Server, io: &mut Io<'_>) -> Result<Self, Trouble> {
        let all = server.list(&[], None, io)?;
        Ok(Self::of(all))
    }

    fn of(all: Vec<Value>) -> Self {
        Self { by_name: all.into_iter().map(|object| (name_of(&object).to_owned(), object)).collect() }
    }

    /// The revision of another package that this one was made from, or last upgraded to; none where it was never cloned from a
    /// revision that is there.
    pub fn upstream(&self, object: &Value) -> Option<&Value> {
        let mut current = object;
        for _ in 0..MAX_STEPS {
            match origin(current) {
                Origin::Clone(name) | Origin::Upgrade { new: name, .. } => {
                    return self.by_name.get(&name).or_else(|| self.locked(object));
                }
                Origin::Copy(name) => match self.by_name.get(&name) {
                    Some(source) => current = source,
                    None => return self.locked(object),
                },
                Origin::Git(_) | Origin::Nothing => return self.locked(object),
            }
        }
        None
    }

    /// The revision that is where the Kptfile says that this one came from.
    fn locked(&self, object: &Value) -> Option<&Value> {
        let lock = Lock::of(&object["status"]["upstreamLock"]["git"])?;
        let is_there = |other: &&Value| Lock::of(&other["status"]["selfLock"]["git"]).as_ref() == Some(&lock);
        self.by_name.values().filter(|other| number(other) > 0).find(is_there)
    }

    /// The published revisions of a package, oldest first; what stands on the branch is none.
    pub fn published(&self, repository: &str, package: &str) -> Vec<&Value> {
        let is_of = |object: &&Value| {
            let spec = &object["spec"];
            text(spec, "repository") == repository && text(spec, "packageName") == package
        };
        let all = self.by_name.values().filter(is_of);
        let mut found: Vec<&Value> =
            all.filter(|object| is_published(object) && number(object) > 0).collect();
        found.sort_by_key(|object| number(object));
        found
    }

    /// The published revision of the same package before this one.
    pub fn before(&self, object: &Value) -> Option<&Value> {
        // What stands on the branch has no number of its own, and is what was published last.
        let own = if number(object) < 0 { i64::MAX } else { number(object) };
        self.siblings(object).into_iter().rfind(|other| number(other) < own)
    }

    /// The published revisions of the same package.
    pub fn siblings(&self, object: &Value) -> Vec<&Value> {
        self.published(text(&object["spec"], "repository"), text(&object["spec"], "packageName"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn revision(name: &str, package: &str, number: i64, task: &Value) -> Value {
        json!({
            "metadata": {"name": name},
            "spec": {"repository": "r", "packageName": package, "revision": number, "lifecycle": "Published", "tasks": [task]},
            "status": {"selfLock": {"git": {"repo": "https://h/r.git", "directory": package, "ref": format!("{package}/v{number}")}}},
        })
    }

    #[test]
    fn upstreams_are_found_through_copies_and_locks() {
        let clone = json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": "up1"}}}});
        let copy = json!({"type": "edit", "edit": {"sourceRef": {"name": "down1"}}});
        let upgrade = json!({"type": "upgrade", "upgrade": {
            "localPackageRevisionRef": {"name": "down2"}, "oldUpstreamRef": {"name": "up1"}, "newUpstreamRef": {"name": "up2"}}});
        let mut imported = revision("imported", "other", 1, &json!({"type": "render"}));
        imported["status"]["upstreamLock"] =
            json!({"git": {"repo": "https://h/r", "directory": "/up", "ref": "up/v2"}});
        let all = Revisions::of(vec![
            revision("up1", "up", 1, &json!({"type": "init"})),
            revision("up2", "up", 2, &json!({"type": "init"})),
            revision("down1", "down", 1, &clone),
            revision("down2", "down", 2, &copy),
            revision("down3", "down", 3, &upgrade),
            imported,
        ]);
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(all.upstream(&all.by_name[name]).map(name_of), expected, "{name}");
        };
        check("down1", Some("up1"));
        check("down2", Some("up1"));
        check("down3", Some("up2"));
        check("imported", Some("up2"));
        check("up1", None);
        let names: Vec<&str> = all.siblings(&all.by_name["up1"]).into_iter().map(name_of).collect();
        assert_eq!(names, ["up1", "up2"]);
    }

    #[test]
    fn circles_end() {
        let copy = |of: &str| json!({"type": "edit", "edit": {"sourceRef": {"name": of}}});
        let all = Revisions::of(vec![revision("a", "p", 1, &copy("b")), revision("b", "p", 2, &copy("a"))]);
        assert_eq!(all.upstream(&all.by_name["a"]), None);
    }
}
