//! `lanai rpkg upgrade`: takes over what changed upstream, in a new revision.

use std::path::Path;

use lanai_merge::Take;
use serde_json::{Value, json};

use super::ancestry::Revisions;
use super::args::Upgrade;
use super::create::{New, Source, given, spec};
use super::discover;
use super::server::{Dry, Server, is_published, lifecycle, name_of, number, text};
use crate::client::Trouble;
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::pkg::{Entry, Files, Format, PolicyName, Report, Resolutions, Update};

const STRATEGIES: [&str; 4] = ["resource-merge", "fast-forward", "force-delete-replace", "copy-merge"];
/// The command that prints conflicts for `--resolve`.
const PRINTER: &str = "lanai rpkg upgrade SOURCE_PACKAGE_REVISION -o yaml --dry-run";
/// What helps where a revision is not there.
const LISTS: &str = "\"lanai rpkg get\" lists the revisions of the namespace; -n names another one";
/// The annotation of the answer to a dry run: what would change in the files.
const DRY_RUN_DIFF: &str = "lanai.dev/dry-run-diff";
/// The workspace of a revision that is not made.
const REHEARSAL: &str = "dry-run";

pub(super) fn run(upgrade: &Upgrade, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    if !upgrade.discover.is_empty() {
        return discover::run(upgrade, server, io);
    }
    if !STRATEGIES.contains(&upgrade.strategy.as_str()) {
        return Err(Failure::of(
            Code::Usage,
            format!("invalid strategy \"{}\"; must be one of: [{}]", upgrade.strategy, STRATEGIES.join(" ")),
        ));
    }
    if upgrade.all {
        return super::upgrade_all::run(upgrade, server, io);
    }
    let source =
        given(upgrade.source.as_deref(), "SOURCE_PACKAGE_REVISION is a required positional argument")?;
    let dry = Dry::of(upgrade.dry_run);
    if upgrade.workspace.is_empty() && (dry == Dry::No || server.persona == Persona::Porchctl) {
        return Err(Failure::of(Code::Usage, "workspace is required")
            .hint("--workspace NAME names the new draft; --dry-run shows what would be in it"));
    }
    let revisions = Revisions::load(server, io)?;
    let plan = plan(source, upgrade.revision, &revisions)?;
    if plan.is_done() && server.persona != Persona::Porchctl {
        io.print(&format!("{source} is up to date with {}\n", plan.new))?;
        return Ok(Exit::Success);
    }
    let decided = match &upgrade.resolve {
        Some(file) => decisions(file, &plan, upgrade, server, io)?,
        None => Vec::new(),
    };
    match make(&plan, upgrade, upgrade.policy, &decided, dry, server, io) {
        Ok(object) => {
            let report = plan.report(&object["status"]["conflicts"], Decided::Yes);
            if upgrade.output == Format::Table {
                io.print(&format!("{source} upgraded to {}{}\n", name_of(&object), dry.remark()))?;
            }
            if server.persona != Persona::Porchctl {
                io.print(&report.text(upgrade.output)?)?;
                if dry == Dry::Run && upgrade.output == Format::Table {
                    io.print(text(&object["metadata"]["annotations"], DRY_RUN_DIFF))?;
                }
            }
            Ok(Exit::Success)
        }
        Err(Trouble::Refused(refusal)) if !refusal.merge_conflicts().is_empty() => {
            let conflicts = Value::Array(refusal.merge_conflicts());
            io.print(&plan.report(&conflicts, Decided::No).text(upgrade.output)?)?;
            io.tell(&format!(
                "error: {refusal}\nhint: say what to take with --resolve FILE, which \"lanai rpkg upgrade {source} -o yaml --dry-run\" begins"
            ));
            if server.persona != Persona::Porchctl {
                io.tell(&Code::Undecided.line());
            }
            Ok(Exit::Conflicts)
        }
        Err(trouble @ Trouble::Refused(_)) if server.persona == Persona::Porchctl => {
            Err(Failure::of(Code::Invalid, format!("failed to do create package revision \"\": {trouble}")))
        }
        Err(trouble) => Err(super::push::refused(trouble, server.persona, io)),
    }
}

/// What is merged with what.
pub(super) struct Plan {
    pub(super) local: Value,
    pub(super) old: String,
    pub(super) new: String,
    /// The number of the new upstream.
    pub(super) to: i64,
    pub(super) from: i64,
}

pub(super) fn plan(source: &str, revision: i64, all: &Revisions) -> Result<Plan, Failure> {
    let local = all.by_name.get(source);
    let local = local.ok_or_else(|| {
        Failure::of(Code::NotFound, format!("could not find package revision {source}")).hint(LISTS)
    })?;
    if !is_published(local) {
        let state = lifecycle(local);
        return Err(Failure::of(
            Code::Lifecycle,
            format!("to upgrade a package, it must be in a published state, not \"{state}\""),
        )
        .hint(format!("publish it first: lanai rpkg propose {source}, then lanai rpkg approve {source}")));
    }
    let package = text(&local["spec"], "packageName");
    let old = all.upstream(local).ok_or_else(|| {
        Failure::of(Code::Upstream, format!(
            "upstream source not found for package revision \"{package}\": no clone or upgrade type package revision was found in the history of the package"
        ))
        .hint(format!("\"lanai rpkg log {source}\" shows what it was made of"))
    })?;
    let siblings = all.siblings(old);
    let new = match revision {
        0 => siblings.last(),
        wanted => siblings.iter().find(|sibling| number(sibling) == wanted),
    };
    let new = new.ok_or_else(|| {
        let spec = &old["spec"];
        let (package, repository) = (text(spec, "packageName"), text(spec, "repository"));
        Failure::of(
            Code::NotFound,
            format!("revision {revision} does not exist for package {package} in repo {repository}"),
        )
    })?;
    Ok(Plan {
        local: local.clone(),
        old: name_of(old).to_owned(),
        new: name_of(new).to_owned(),
        to: number(new),
        from: number(old),
    })
}

/// Whether somebody decided about conflicts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    Yes,
    No,
}

impl Plan {
    fn is_done(&self) -> bool {
        self.old == self.new
    }

    /// The conflicts, as `lanai pkg update` prints them.
    pub(super) fn report(&self, conflicts: &Value, decided: Decided) -> Report {
        let entry = |conflict: &Value| {
            let maybe = |field: &str| conflict[field].as_str().map(String::from);
            let owned = |field: &str| text(conflict, field).to_owned();
            Entry {
                id: owned("id"),
                package: ".".into(),
                file: owned("file"),
                resource: owned("resource"),
                field: owned("field"),
                kind: owned("kind"),
                original: maybe("original"),
                upstream: maybe("upstream"),
                local: maybe("local"),
                chosen: if decided == Decided::Yes { owned("chosen") } else { String::new() },
                value: None,
            }
        };
        Report {
            package: text(&self.local["spec"], "packageName").to_owned(),
            updates: vec![Update {
                package: ".".into(),
                from: Some(self.old.clone()),
                version: format!("v{}", self.to),
                to: self.new.clone(),
            }],
            files: Files::default(),
            conflicts: conflicts.as_array().into_iter().flatten().map(entry).collect(),
        }
    }
}

pub(super) fn make(
    plan: &Plan,
    upgrade: &Upgrade,
    policy: PolicyName,
    resolutions: &[Value],
    dry: Dry,
    server: &Server,
    io: &mut Io<'_>,
) -> Result<Value, Trouble> {
    let mut task = json!({
        "oldUpstreamRef": {"name": plan.old}, "newUpstreamRef": {"name": plan.new},
        "localPackageRevisionRef": {"name": name_of(&plan.local)}, "strategy": upgrade.strategy,
    });
    // A server that knows neither is asked as it expects to be.
    match policy {
        PolicyName::Upstream => {}
        PolicyName::Local => task["policy"] = json!("local"),
        PolicyName::Fail => task["policy"] = json!("fail"),
    }
    if !resolutions.is_empty() {
        task["resolutions"] = json!(resolutions);
    }
    let local = &plan.local["spec"];
    let workspace = if upgrade.workspace.is_empty() { REHEARSAL } else { &upgrade.workspace };
    let new = New { repository: text(local, "repository"), package: text(local, "packageName"), workspace };
    server.create(&spec(server.version, &new, Source::Upgrade(task)), dry, io)
}

/// What a file decides about the conflicts that there are now.
fn decisions(
    file: &Path,
    plan: &Plan,
    upgrade: &Upgrade,
    server: &Server,
    io: &mut Io<'_>,
) -> Result<Vec<Value>, Failure> {
    let resolutions = Resolutions::read(file, PRINTER, io)?;
    let rehearsed = make(plan, upgrade, PolicyName::Upstream, &[], Dry::Run, server, io)?;
    let now = plan.report(&rehearsed["status"]["conflicts"], Decided::Yes);
    let decided = resolutions.decisions(&now)?;
    let one = |resolution: lanai_merge::Resolution| {
        let id = resolution.conflict.to_string();
        match resolution.take {
            Take::Upstream => json!({"id": id, "take": "upstream"}),
            Take::Local => json!({"id": id, "take": "local"}),
            Take::Original => json!({"id": id, "take": "original"}),
            Take::Value(value) => json!({"id": id, "take": "value", "value": value}),
        }
    };
    Ok(decided.into_values().flatten().map(one).collect())
}

pub(super) fn counted(conflicts: usize) -> String {
    match conflicts {
        0 => "no conflicts".into(),
        1 => "1 conflict".into(),
        more => format!("{more} conflicts"),
    }
}
