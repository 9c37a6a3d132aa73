//! A newer upstream, merged into what was made of the older one.

use async_trait::async_trait;
use lanai_krm::ignore::Dialect;
use lanai_krm::{Package, mark};
use lanai_merge::{Conflict, ConflictId, Merged, Options, Policy, Resolution, Strategy, Take, three_way};
use lanai_repository::packages::Event;
use serde_json::{Value, json};

use super::{Handler, Made, Makes, Work, refused, while_doing, without_payload};
use crate::bounds;
use crate::error::{Error, Reason};
use crate::fetch::{Fetched, blocking};
use crate::kptfile;
use crate::object::{Task, UpgradeTask};

/// Merges a newer upstream.
pub struct Upgrade;

#[async_trait]
impl Handler for Upgrade {
    fn kind(&self) -> &'static str {
        "upgrade"
    }

    fn event(&self) -> Event {
        Event::Upgrade
    }

    fn makes(&self) -> Makes {
        Makes::Revision
    }

    async fn apply(&self, work: &Work<'_>, task: &Task) -> Result<Made, Error> {
        let upgrade = task.upgrade.as_ref().ok_or_else(|| without_payload(self.kind()))?;
        let options = options(upgrade)?;
        let package = work.name.package();
        let fetch = async |name: &str, doing: String| {
            if name.is_empty() {
                return Err(refused(
                    "an upgrade names the old upstream, the new upstream and the local revision",
                ));
            }
            let fetched: Result<Fetched, Error> = work.fetcher.revision(work.namespace, name).await;
            fetched.map_err(|error| while_doing(&doing, error))
        };
        let resources = |name: &str| {
            format!("error fetching the resources for package \"{package}\" with ref {{Name:{name}}}")
        };
        let (old, new) = (&upgrade.old_upstream_ref.name, &upgrade.new_upstream_ref.name);
        let original = fetch(old, resources(old)).await?;
        let upstream = fetch(new, resources(new)).await?;
        let local = &upgrade.local_package_revision_ref.name;
        let local = fetch(local, format!("error fetching revision \"{local}\" to be upgraded")).await?;
        check_source("target upstream", &upstream)?;
        check_source("source", &local)?;
        for source in [&original, &upstream, &local] {
            let is_same =
                source.name.repository() == work.name.repository() && source.name.package() == package;
            if is_same && !crate::fetch::lifecycle(&source.known.object)?.is_published() {
                return Err(refused(format!(
                    "all source PackageRevisions of upgrade task must be published, \"{}\" is not",
                    source.name
                )));
            }
        }
        let origin = upstream.origin.clone();
        let before = local.package.clone();
        let (new, name) = (new.clone(), package.to_string());
        let resolved: Vec<ConflictId> =
            options.resolutions.iter().map(|resolution| resolution.conflict.clone()).collect();
        let merged =
            blocking(move || merge(original.package, upstream.package, local.package, &options)).await?;
        let Merged { package: mut merged, conflicts } = merged.map_err(|error| {
            merge_error(&format!("error updating the package \"{name}\" to revision \"{new}\""), error)
        })?;
        if let Some(unknown) =
            resolved.iter().find(|id| !conflicts.iter().any(|conflict| conflict.id == **id))
        {
            return Err(refused(format!("there is no conflict \"{}\" to be resolved", unknown.as_str())));
        }
        let mut kptfile = kptfile::read(&merged)?;
        kptfile::set_origin(&mut kptfile, &origin)?;
        kptfile::mark(&mut kptfile)?;
        kptfile::write(&mut merged, &kptfile)?;
        mark::mark(&mut merged, Dialect::default());
        let conflicts = conflicts.iter().map(shown).collect();
        Ok(Made { package: merged, conflicts, before: Some(before) })
    }
}

fn merge(
    mut original: Package,
    mut upstream: Package,
    mut local: Package,
    options: &Options,
) -> Result<Merged, lanai_merge::Error> {
    // What the last render of each said is nobody's change; the render of the result says it anew.
    for package in [&mut original, &mut upstream, &mut local] {
        unrendered(package);
    }
    // The local package was marked when it was cloned; the others say by the same marks what they are.
    mark::mark(&mut original, Dialect::default());
    mark::mark(&mut upstream, Dialect::default());
    three_way(&original, &upstream, &local, options)
}

/// Takes out what a render wrote about itself. A Kptfile that cannot be read or edited stays as it is: merging it says what is wrong.
fn unrendered(package: &mut Package) {
    let Ok(mut kptfile) = kptfile::read(package) else { return };
    if kptfile.fields().status.as_ref().is_some_and(|status| status.render_status.is_some())
        && kptfile.set_render_status(None).is_ok()
    {
        let _ = kptfile::write(package, &kptfile);
    }
}

fn check_source(what: &str, source: &Fetched) -> Result<(), Error> {
    if source.is_placeholder {
        return Err(refused(format!(
            "{what} revision may not be the placeholder package revision {}/{}",
            source.name.repository(),
            source.name
        )));
    }
    Ok(())
}

fn options(upgrade: &UpgradeTask) -> Result<Options, Error> {
    // What nobody knows is merged resource by resource, as with Porch.
    let strategy = upgrade.strategy.parse().unwrap_or(Strategy::ResourceMerge);
    let policy = match upgrade.policy.as_str() {
        "" | "upstream" => Policy::UpstreamWins,
        "local" => Policy::LocalWins,
        "fail" => Policy::Fail,
        other => {
            return Err(refused(format!(
                "there is no policy \"{other}\"; there are upstream, local and fail"
            )));
        }
    };
    let mut resolutions = Vec::new();
    for resolution in &upgrade.resolutions {
        let take = match (resolution.take.as_str(), &resolution.value) {
            ("upstream", None) => Take::Upstream,
            ("local", None) => Take::Local,
            ("original", None) => Take::Original,
            ("value" | "", Some(value)) => Take::Value(value.clone()),
            (other, _) => {
                return Err(refused(format!(
                    "the resolution of conflict \"{}\" takes \"{other}\"; there are upstream, local, original, and value with a value",
                    resolution.id
                )));
            }
        };
        resolutions.push(Resolution { conflict: ConflictId::new(&resolution.id), take });
    }
    Ok(Options { strategy, policy, resolutions, ignore_dialect: Dialect::default() })
}

/// A conflict as clients see it.
fn shown(conflict: &Conflict) -> Value {
    let mut shown = json!({
        "id": conflict.id.as_str(), "file": conflict.path.as_str(), "kind": conflict.kind.as_str(),
        "chosen": conflict.chosen.to_string(),
    });
    if let lanai_merge::Subject::Resource(resource) = &conflict.subject {
        shown["resource"] = json!(resource.to_string());
    }
    let field = conflict.field.to_string();
    if !field.is_empty() {
        shown["field"] = json!(field);
    }
    for (key, value) in
        [("original", &conflict.original), ("upstream", &conflict.upstream), ("local", &conflict.local)]
    {
        if let Some(value) = value {
            shown[key] = json!(bounded(value));
        }
    }
    shown
}

/// The most conflicts that a message names; the causes have more.
const MAX_NAMED: usize = 5;

/// The most bytes of one value that a conflict shows.
const MAX_SHOWN: usize = 4_096;

fn bounded(value: &str) -> String {
    if value.len() <= MAX_SHOWN {
        return value.to_owned();
    }
    let end = (0..=MAX_SHOWN).rev().find(|at| value.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… ({} bytes in all)", &value[..end], value.len())
}

fn merge_error(doing: &str, error: lanai_merge::Error) -> Error {
    match error {
        lanai_merge::Error::Conflicts(conflicts) => {
            // Clients such as kubectl print the message and no causes.
            let ids: Vec<String> = conflicts
                .iter()
                .take(MAX_NAMED)
                .map(|conflict| format!("\"{}\"", conflict.id.as_str()))
                .collect();
            let more = if conflicts.len() > MAX_NAMED { ", …" } else { "" };
            let text = format!(
                "{doing}: {} conflict(s) are not resolved: {}{more}",
                conflicts.len(),
                ids.join(", ")
            );
            let mut error = Error::new(Reason::Conflict, "", text);
            error.causes = bounds::causes(conflicts.iter().map(|conflict| crate::error::Cause {
                reason: "MergeConflict".to_owned(),
                message: shown(conflict).to_string(),
                field: conflict.id.as_str().to_owned(),
            }));
            error
        }
        other => refused(format!("{doing}: {other}")),
    }
}
