//! Policies: where a template applies, and with which parameters.

use lanai_krm::Resource;
use lanai_krm::result::Severity;
use regorus::Value;
use serde::Deserialize;

use crate::scope::Scope;
use crate::template::{PARAMETERS, at, text};

/// The group of policies.
pub const GROUP: &str = "constraints.gatekeeper.sh";

/// A policy.
pub struct Constraint {
    /// Its name.
    pub name: String,
    /// Its kind, which is that of its template.
    pub kind: String,
    /// How bad it is when it is violated.
    pub severity: Severity,
    /// Where it applies.
    pub scope: Scope,
    /// What its Rego is told.
    pub parameters: Value,
}

/// Whether a resource is a policy.
pub fn is_constraint(resource: &Resource) -> bool {
    resource.id().group == GROUP
}

impl Constraint {
    /// Reads a policy.
    ///
    /// # Errors
    /// In words, when a field cannot be read.
    pub fn read(resource: &Resource) -> Result<Self, String> {
        let root = resource.root();
        let id = resource.id();
        let parameters = at(root, &PARAMETERS).filter(|node| !node.is_null());
        let parameters = parameters.map(Value::deserialize).transpose().map_err(|error| error.to_string())?;
        let scope = at(root, &["spec", "match"]).filter(|node| !node.is_null());
        let scope = scope.map(Scope::deserialize).transpose();
        Ok(Self {
            name: id.name,
            kind: id.kind,
            severity: severity(text(root, &["spec", "enforcementAction"]).as_deref()),
            scope: scope.map_err(|error| format!("spec.match: {error}"))?.unwrap_or_default(),
            parameters: parameters.unwrap_or_else(Value::new_object),
        })
    }
}

fn severity(action: Option<&str>) -> Severity {
    match action {
        Some("warn") => Severity::Warning,
        Some("dryrun") => Severity::Info,
        Some(_) | None => Severity::Error,
    }
}
