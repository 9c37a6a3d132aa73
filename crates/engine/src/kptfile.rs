//! The Kptfile of a package, as the API changes it.

use std::collections::BTreeMap;

use lanai_krm::kptfile::{
    Condition, ConditionStatus, FILE_NAME, GitLock, OriginType, Upstream, UpstreamLock,
};
use lanai_krm::package::{File, Package};
use lanai_krm::{Kptfile, kptfile};
use lanai_types::SafePath;
use serde_json::Value;

use crate::error::{Error, Reason};
use crate::object::{Spec, kptfile_gates};

/// The path of the Kptfile of a package.
pub fn path() -> SafePath {
    FILE_NAME.parse().expect("it is a plain name")
}

/// The Kptfile of a package.
///
/// # Errors
/// 422 when there is none, or it cannot be read.
pub fn read(package: &Package) -> Result<Kptfile, Error> {
    let wrong = |why: String| {
        let why = format!("failed to parse Kptfile: {why}");
        Error::new(Reason::Invalid, "", why.clone()).because("FieldValueInvalid", why, FILE_NAME)
    };
    let file = package.get(&path());
    let file = file.ok_or_else(|| wrong(format!("file \"{FILE_NAME}\" is missing from the package")))?;
    let text = file.text().ok_or_else(|| wrong("it is no text".to_owned()))?;
    Kptfile::parse(text).map_err(|error: kptfile::Error| wrong(error.to_string()))
}

/// Puts a Kptfile into its package.
///
/// # Errors
/// When the package is full.
pub fn write(package: &mut Package, kptfile: &Kptfile) -> Result<(), Error> {
    let mode = package.get(&path()).map_or(lanai_krm::package::Mode::Regular, File::mode);
    let file = File::new(kptfile.to_string(), mode);
    package.insert(path(), file).map_err(|error| Error::new(Reason::Invalid, "", error.to_string()))?;
    Ok(())
}

fn uneditable(error: &lanai_yaml::edit::Error) -> Error {
    let why = format!("the Kptfile cannot be edited: {error}");
    Error::new(Reason::Invalid, "", why.clone()).because("FieldValueInvalid", why, FILE_NAME)
}

/// What a request to create says about the Kptfile: labels and annotations are added, gates are set.
///
/// # Errors
/// When the text cannot be edited.
pub fn patch_new(kptfile: &mut Kptfile, spec: &Spec) -> Result<(), Error> {
    let edited = kptfile.edit(|fields| {
        if let Some(metadata) = &spec.package_metadata {
            fields.metadata.labels.extend(metadata.labels.clone().unwrap_or_default());
            fields.metadata.annotations.extend(metadata.annotations.clone().unwrap_or_default());
        }
        if let Some(gates) = &spec.readiness_gates {
            fields.info.get_or_insert_default().readiness_gates = kptfile_gates(gates);
        }
    });
    edited.map_err(|error| uneditable(&error))
}

/// What an update of the object says about the Kptfile: each map that is there replaces the one of the Kptfile, and so do gates and
/// conditions.
///
/// # Errors
/// A condition whose status is none; a text that cannot be edited.
pub fn patch_changed(
    kptfile: &mut Kptfile,
    spec: &Spec,
    conditions: Option<&[Value]>,
    name: &str,
) -> Result<(), Error> {
    let conditions = conditions.map(|list| parse_conditions(list, name)).transpose()?;
    let edited = kptfile.edit(|fields| {
        if let Some(metadata) = &spec.package_metadata {
            let replace = |old: &mut BTreeMap<String, String>, new: &Option<BTreeMap<String, String>>| {
                if let Some(new) = new {
                    old.clone_from(new);
                }
            };
            replace(&mut fields.metadata.labels, &metadata.labels);
            replace(&mut fields.metadata.annotations, &metadata.annotations);
        }
        if let Some(gates) = &spec.readiness_gates {
            let gates = kptfile_gates(gates);
            let old = fields.info.as_ref().map(|info| &info.readiness_gates[..]).unwrap_or_default();
            if old != gates {
                fields.info.get_or_insert_default().readiness_gates = gates;
            }
        }
        if let Some(conditions) = conditions {
            let old = fields.status.as_ref().map(|status| &status.conditions[..]).unwrap_or_default();
            if old != conditions {
                let mut status = fields.status.take().unwrap_or_default();
                status.conditions = ordered(&status.conditions, conditions);
                fields.status = Some(status);
            }
        }
    });
    edited.map_err(|error| uneditable(&error))
}

/// Conditions that were there stay in their places, new ones stand last.
fn ordered(old: &[Condition], new: Vec<Condition>) -> Vec<Condition> {
    let place = |condition: &Condition| {
        old.iter().position(|one| one.condition_type == condition.condition_type).unwrap_or(usize::MAX)
    };
    let mut new = new;
    new.sort_by_key(place);
    new
}

fn parse_conditions(list: &[Value], name: &str) -> Result<Vec<Condition>, Error> {
    let mut conditions = Vec::new();
    for (index, condition) in list.iter().enumerate() {
        let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        let condition_type = text("type");
        // These are about the revision, and not about its content.
        let about_revision = [crate::doubt::PUBLISHING, crate::object::CONFLICTS, crate::diverged::DIVERGED];
        if about_revision.contains(&condition_type.as_str()) {
            continue;
        }
        let status = ConditionStatus::from(text("status"));
        if matches!(status, ConditionStatus::Other(_)) {
            let field = format!("status.conditions[{index}].status");
            let detail = "a condition is True, False or Unknown";
            return Err(Error::invalid(name, &field, status.as_str(), detail));
        }
        let (reason, message) = (text("reason"), text("message"));
        conditions.push(Condition { condition_type, status, reason, message });
    }
    Ok(conditions)
}

/// A place in Git, as Kptfiles write it down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The address.
    pub repo: String,
    /// The folder.
    pub directory: String,
    /// What was asked for.
    pub reference: String,
    /// The commit that it was; empty where there is none yet.
    pub commit: String,
}

/// Says where a package came from.
///
/// # Errors
/// When the text cannot be edited.
pub fn set_origin(kptfile: &mut Kptfile, origin: &Origin) -> Result<(), Error> {
    let repo = format!("{}.git", origin.repo.strip_suffix(".git").unwrap_or(&origin.repo));
    let directory = origin.directory.trim_start_matches('/').to_owned();
    let reference = origin.reference.clone();
    let git = kptfile::Git { repo: repo.clone(), directory: directory.clone(), reference: reference.clone() };
    let upstream = Upstream { origin: Some(OriginType::Git), git: Some(git), update_strategy: None };
    let lock = GitLock { repo, directory, reference, commit: origin.commit.clone() };
    let lock = UpstreamLock { origin: Some(OriginType::Git), git: Some(lock), generic: None };
    let edited = kptfile.edit(|fields| {
        fields.upstream = Some(upstream);
        fields.upstream_lock = Some(lock);
    });
    edited.map_err(|error| uneditable(&error))
}

/// Gives a package its name, and the mark by which it is known when it is merged later.
///
/// # Errors
/// When the text cannot be edited.
pub fn set_name(kptfile: &mut Kptfile, name: &str) -> Result<(), Error> {
    kptfile.set_name(name).map_err(|error| uneditable(&error))
}

/// Marks a Kptfile for later merges, as all resources are.
///
/// # Errors
/// When the text cannot be edited.
pub fn mark(kptfile: &mut Kptfile) -> Result<(), Error> {
    let value = format!("kpt.dev|Kptfile|default|{}", kptfile.name());
    let key = lanai_krm::merge_mark::UPSTREAM_IDENTIFIER;
    kptfile.set_annotation(key, &value).map_err(|error| uneditable(&error))
}
