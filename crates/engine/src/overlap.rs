//! Repositories that would see the same packages.
//!
//! Two Repositories on one branch of one remote share packages when their directories are the same or one is inside of the other. Then both
//! would show and change the same drafts under different names. In one namespace that is refused. In two namespaces the same directory is
//! allowed, so that each can have its own view of shared blueprints; one directory inside of the other is refused there too.

use lanai_repository::RemoteUrl;
use lanai_store::{Blob, Key, Object, Store, Write};
use lanai_types::quote::Quoted;
use serde_json::Value;

use crate::error::{Error, Reason, Subject};
use crate::rows;

/// What a Repository looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    namespace: String,
    name: String,
    remote: String,
    branch: String,
    directory: String,
}

impl Place {
    /// What the object of a Repository looks at; `None` where it says nothing that can be used, which its condition tells.
    pub fn of(object: &Value) -> Option<Self> {
        let git = object["spec"]["git"].as_object()?;
        let text = |key: &str| git.get(key).and_then(Value::as_str).unwrap_or_default();
        let remote: RemoteUrl = text("repo").parse().ok()?;
        let metadata = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        Some(Self {
            namespace: metadata("namespace"),
            name: metadata("name"),
            remote: remote.whereabouts(),
            branch: Some(text("branch")).filter(|branch| !branch.is_empty()).unwrap_or("main").to_owned(),
            directory: text("directory").trim_matches('/').to_owned(),
        })
    }

    /// The branch.
    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Whether both are of one remote.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.remote == other.remote
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.namespace, &self.name) == (&other.namespace, &other.name)
    }

    /// Whether both would see the same packages, and may not.
    fn clashes(&self, other: &Self) -> bool {
        if (&self.remote, &self.branch) != (&other.remote, &other.branch) {
            return false;
        }
        if self.directory == other.directory {
            return self.namespace == other.namespace;
        }
        is_inside(&self.directory, &other.directory) || is_inside(&other.directory, &self.directory)
    }
}

/// Whether a directory is inside of another one; the root is the empty text.
fn is_inside(inner: &str, outer: &str) -> bool {
    outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}

/// Refuses an address that is neither a URL nor a path from the root of the disk. One that was taken before may stay.
fn check_address(new: &Value, old: Option<&Value>) -> Result<(), Error> {
    let field = |object: &Value| object["spec"]["git"]["repo"].as_str().unwrap_or_default().to_owned();
    let repo = field(new);
    if repo.is_empty() || old.is_some_and(|old| field(old) == repo) {
        return Ok(());
    }
    let why = match repo.parse::<RemoteUrl>() {
        Err(error) => error.to_string(),
        Ok(remote) if remote.local_path().is_some_and(|path| !path.is_absolute()) => {
            format!("{} is neither a URL nor a path that begins with a slash", Quoted(&repo))
        }
        Ok(_) => return Ok(()),
    };
    let name = new["metadata"]["name"].as_str().unwrap_or_default();
    let text = format!("spec.git.repo: {why}");
    Err(Error::new(Reason::Invalid, name, text).of(Subject::Repository).because(
        "FieldValueInvalid",
        why,
        "spec.git.repo",
    ))
}

/// Refuses a Repository that would see packages of another one. What is returned belongs into the transaction that writes it: of two that
/// are written at the same moment only one succeeds.
///
/// # Errors
/// 409 with the words of Porch; 422 for an address that is none.
pub async fn admit(store: &dyn Store, new: &Value, old: Option<&Value>) -> Result<Option<Write>, Error> {
    check_address(new, old)?;
    let Some(place) = Place::of(new) else { return Ok(None) };
    if old.and_then(Place::of).as_ref() == Some(&place) {
        return Ok(None);
    }
    let name = Blob::new(format!("{}\n{}", place.remote, place.branch)).digest().to_string();
    let key = Key::new(&rows::GUARD, "", &format!("place-{}", name.replace(':', "-")))?;
    // Before the others are read: whoever is written in between moves it.
    let before = store.get(&key).await?;
    for stored in rows::list(store, rows::everywhere(&rows::REPOSITORY, &[])).await? {
        let Some(other) = Place::of(&rows::decode(&stored)?) else { continue };
        if !place.is_same(&other) && place.clashes(&other) {
            let shown = |directory: &str| match directory {
                "" => "the whole of it".to_owned(),
                directory => format!("\"{directory}\""),
            };
            let why = format!(
                "Repository conflict with existing repository: {}/{}: both are about branch \"{}\" of one remote, that one about {}, \
                 this one about {}; choose directories that are not inside of each other",
                other.namespace,
                other.name,
                other.branch,
                shown(&other.directory),
                shown(&place.directory)
            );
            let error = Error::new(Reason::Conflict, &place.name, why.clone()).of(Subject::Repository);
            return Err(error.because("RepositoryConflict", why, "spec.git.directory"));
        }
    }
    let object = Object::plain(Vec::new());
    Ok(Some(match before {
        None => Write::Create { key, object },
        Some(stored) => Write::Update { key, expected: stored.revision, object },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn place(namespace: &str, name: &str, repo: &str, branch: &str, directory: &str) -> Place {
        let object = json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"git": {"repo": repo, "branch": branch, "directory": directory}},
        });
        Place::of(&object).expect("a place")
    }

    #[test]
    fn addresses_that_are_none_are_refused_unless_they_were_there() {
        let object = |repo: &str| json!({"metadata": {"name": "x"}, "spec": {"git": {"repo": repo}}});
        let good = ["https://h/r.git", "git@h:r.git", "ssh://h/r", "/srv/r.git", "file:///srv/r.git", ""];
        for repo in good {
            assert!(check_address(&object(repo), None).is_ok(), "{repo}");
        }
        for repo in ["not-a-url", "../r.git", "gopher://h/r", "ext::sh -c x"] {
            let error = check_address(&object(repo), None).expect_err(repo);
            assert_eq!(error.reason, Reason::Invalid, "{repo}");
            assert!(error.message.contains("spec.git.repo: "), "{error}");
            assert!(check_address(&object(repo), Some(&object(repo))).is_ok(), "{repo} was there");
            assert!(check_address(&object(repo), Some(&object("/srv/r.git"))).is_err(), "{repo}");
        }
    }

    #[test]
    fn directories_that_overlap_clash() {
        let at =
            |namespace: &str, directory: &str| place(namespace, "x", "https://h/r.git", "main", directory);
        for (one, other, in_one, in_two) in [
            ("", "", true, false),
            ("/", "", true, false),
            ("a", "/a/", true, false),
            ("", "a", true, true),
            ("a", "a/b", true, true),
            ("a", "ab", false, false),
            ("a/b", "a/c", false, false),
        ] {
            for (first, second) in [(one, other), (other, one)] {
                assert_eq!(at("n", first).clashes(&at("n", second)), in_one, "{first:?} {second:?}");
                assert_eq!(at("n", first).clashes(&at("m", second)), in_two, "{first:?} {second:?} apart");
            }
        }
    }

    #[test]
    fn a_remote_is_the_same_however_it_is_written() {
        let of = |repo: &str| place("n", "x", repo, "", "");
        let plain = of("https://git.example.com/team/r.git");
        for same in [
            "https://git.example.com/team/r",
            "https://GIT.example.com:443/team/r.git/",
            "http://ann:pw@git.example.com/team/r.git",
            "git@git.example.com:team/r.git",
            "ssh://git@git.example.com/team/r",
        ] {
            assert!(plain.clashes(&of(same)), "{same}");
        }
        for other in [
            "https://git.example.com/team/s.git",
            "https://git.example.com:8443/team/r.git",
            "https://git.example.org/team/r.git",
            "file:///team/r",
        ] {
            assert!(!plain.clashes(&of(other)), "{other}");
        }
        assert!(!plain.clashes(&place("n", "x", "https://git.example.com/team/r", "next", "")));
        assert_eq!(Place::of(&json!({"spec": {"type": "oci"}})), None);
    }
}
