//! `init`, `clone` and `copy`.

use lanai_types::quote::Quoted;
use serde_json::{Value, json};

use super::args::{CloneFrom, Copy, Init, Made};
use super::server::{Dry, Server, Version, name_of, text};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::output::{Output, Single};
use crate::persona::Persona;

/// The annotation of the answer to a dry run: what would change in the files.
const DRY_RUN_DIFF: &str = "lanai.dev/dry-run-diff";

/// What can be cloned.
const FORMS: &str = "name a revision (\"lanai rpkg get\" lists them), REPO.git/FOLDER@REF of a git repository, or oci://IMAGE";

/// What a revision is made of.
pub(super) enum Source {
    Init(Value),
    Clone(Value),
    Copy(String),
    Upgrade(Value),
}

/// Which revision is made.
pub(super) struct New<'a> {
    pub repository: &'a str,
    pub package: &'a str,
    pub workspace: &'a str,
}

/// The spec of a new revision, as the version of the API has it.
pub(super) fn spec(version: Version, new: &New<'_>, source: Source) -> Value {
    let mut spec = json!({
        "packageName": new.package, "workspaceName": new.workspace, "repository": new.repository, "lifecycle": "Draft",
    });
    match version {
        Version::V1Alpha1 => {
            spec["tasks"] = json!([match source {
                Source::Init(init) => json!({"type": "init", "init": init}),
                Source::Clone(upstream) => json!({"type": "clone", "clone": {"upstreamRef": upstream}}),
                Source::Copy(name) => json!({"type": "edit", "edit": {"sourceRef": {"name": name}}}),
                Source::Upgrade(upgrade) => json!({"type": "upgrade", "upgrade": upgrade}),
            }]);
        }
        Version::V1Alpha2 => {
            spec["source"] = match source {
                Source::Init(init) => json!({"init": init}),
                Source::Clone(upstream) => json!({"cloneFrom": upstream}),
                Source::Copy(name) => json!({"copyFrom": {"name": name}}),
                Source::Upgrade(upgrade) => json!({"upgrade": {
                    "oldUpstream": upgrade["oldUpstreamRef"], "newUpstream": upgrade["newUpstreamRef"],
                    "currentPackage": upgrade["localPackageRevisionRef"], "strategy": upgrade["strategy"],
                }}),
            };
        }
    }
    spec
}

pub(super) fn init(init: &Init, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let package = given(init.package.as_deref(), "PACKAGE_NAME is a required positional argument")?;
    let repository =
        given(init.repository.as_deref(), "--repository is required to specify target repository")?;
    let workspace = given(init.workspace.as_deref(), "--workspace is required to specify workspace name")?;
    let mut task = json!({"description": init.description});
    if !init.keywords.is_empty() {
        task["keywords"] = json!(init.keywords);
    }
    if !init.site.is_empty() {
        task["site"] = json!(init.site);
    }
    let new = New { repository, package, workspace };
    make(&spec(server.version, &new, Source::Init(task)), &init.made, server, io)
}

pub(super) fn clone(clone: &CloneFrom, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let (Some(source), Some(package)) = (&clone.source, &clone.package) else {
        return Err(Failure::of(Code::Usage, "SOURCE_PACKAGE and NAME are required positional arguments"));
    };
    let repository =
        given(clone.repository.as_deref(), "--repository is required to specify downstream repository")?;
    if server.persona != Persona::Porchctl && !is_name(source) && !is_address(source) {
        return Err(
            Failure::of(Code::Usage, format!("{} is no source of a package", Quoted(source))).hint(FORMS)
        );
    }
    let upstream = upstream(source, clone);
    let is_reference = upstream.get("upstreamRef").is_some();
    let new = New { repository, package, workspace: &clone.workspace };
    let made = make(&spec(server.version, &new, Source::Clone(upstream)), &clone.made, server, io);
    made.map_err(|failure| if is_reference { failure.hint_if(Code::NotFound, FORMS) } else { failure })
}

pub(super) fn copy(copy: &Copy, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let source = given(copy.source.as_deref(), "SOURCE_PACKAGE is a required positional argument")?;
    let workspace = given(copy.workspace.as_deref(), "--workspace is required to specify workspace name")?;
    let object = server.get(source, io)?;
    let old = &object["spec"];
    let new = New { repository: text(old, "repository"), package: text(old, "packageName"), workspace };
    make(&spec(server.version, &new, Source::Copy(source.to_owned())), &copy.made, server, io)
}

/// Where a package comes from.
fn upstream(source: &str, clone: &CloneFrom) -> Value {
    if let Some(image) = source.strip_prefix("oci://") {
        return json!({"type": "oci", "oci": {"image": image}});
    }
    if is_name(source) {
        return json!({"upstreamRef": {"name": source}});
    }
    let place = git(source);
    let or = |flag: &str, found: Option<&str>, usual: &str| {
        if flag.is_empty() { found.unwrap_or(usual).to_owned() } else { flag.to_owned() }
    };
    let mut upstream = json!({"type": "git", "git": {
        "repo": place.repo, "ref": or(&clone.reference, place.reference, "main"),
        "directory": or(&clone.directory, place.directory, "/"),
    }});
    if !clone.secret_ref.is_empty() {
        upstream["git"]["secretRef"] = json!({"name": clone.secret_ref});
    }
    upstream
}

/// Whether a text can be the name of a revision; all addresses have letters that names do not.
fn is_name(source: &str) -> bool {
    source.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte))
}

/// Whether a text can be the address of a repository of git, or of an image.
fn is_address(source: &str) -> bool {
    source.contains(':') || source.starts_with(['/', '.']) || source.contains(".git")
}

/// A folder of a git repository.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    repo: &'a str,
    directory: Option<&'a str>,
    reference: Option<&'a str>,
}

/// Reads `REPO.git/FOLDER@REF`.
fn git(source: &str) -> Place<'_> {
    const END: &str = ".git";
    let found = source.find(".git/").or_else(|| source.find(".git@")).map(|at| at + END.len());
    let Some(end) = found else { return Place { repo: source, directory: None, reference: None } };
    let (repo, rest) = source.split_at(end);
    let (folder, reference) = match rest.rsplit_once('@') {
        Some((folder, reference)) => (folder, Some(reference)),
        None => (rest, None),
    };
    let folder = folder.trim_matches('/');
    Place {
        repo,
        directory: (!folder.is_empty()).then_some(folder),
        reference: reference.filter(|name| !name.is_empty()),
    }
}

fn make(spec: &Value, made: &Made, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let dry = Dry::of(made.dry_run);
    let made_object = server.create(spec, dry, io);
    let object = made_object.map_err(|trouble| super::push::refused(trouble, server.persona, io))?;
    match &made.output {
        Some(output) if *output != Output::parse("").unwrap_or(Output::Name) => {
            io.print(&output.text(server.version.revisions(), &[object], Single::Yes)?)?;
        }
        _ => {
            io.print(&format!("{} created{}\n", name_of(&object), dry.remark()))?;
            if dry == Dry::Run && server.persona != Persona::Porchctl {
                io.print(text(&object["metadata"]["annotations"], DRY_RUN_DIFF))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// An argument that must be there.
pub(super) fn given<'a>(argument: Option<&'a str>, otherwise: &str) -> Result<&'a str, Failure> {
    argument.filter(|text| !text.is_empty()).ok_or_else(|| Failure::of(Code::Usage, otherwise))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_revisions_are_no_addresses() {
        for name in ["blueprints.web.v1", "blueprints.gitlab.v1", "a.git", "a-b.c.v1"] {
            assert!(is_name(name), "{name}");
        }
        for address in ["https://h/r.git", "git@h:r.git", "/srv/r.git", "../r.git", "h:r.git@v1"] {
            assert!(!is_name(address), "{address}");
        }
    }

    #[test]
    fn places_in_git_are_read() {
        let check = |source: &str, repo: &str, directory: Option<&str>, reference: Option<&str>| {
            assert_eq!(git(source), Place { repo, directory, reference }, "{source}");
        };
        check("https://h/r.git/a/b@v1", "https://h/r.git", Some("a/b"), Some("v1"));
        check("https://h/r.git", "https://h/r.git", None, None);
        check("https://h/r.git@main", "https://h/r.git", None, Some("main"));
        check("https://h/r.git/a", "https://h/r.git", Some("a"), None);
        check("git@h:r.git/a@v1", "git@h:r.git", Some("a"), Some("v1"));
        check("https://h/r", "https://h/r", None, None);
        for address in ["https://h/r", "git@h:r.git", "/srv/r", "../r.git", "r.git/a"] {
            assert!(is_address(address), "{address}");
        }
        assert!(!is_address("Not A Source"));
    }
}
