//! Who wrote what.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// One write, allowed or not. It has names and outcomes; nothing of what was written.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// When it was answered.
    #[serde(serialize_with = "as_text")]
    pub time: Timestamp,
    /// Who.
    pub user: String,
    /// For whom somebody else asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impersonated_by: Option<String>,
    /// From where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// With which program.
    pub agent: String,
    /// What was done.
    pub verb: &'static str,
    /// To which resource, with its group and its side.
    pub resource: String,
    /// Where.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// To which object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it was a rehearsal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// How it was answered.
    pub code: u16,
    /// Why, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Where lines go.
pub trait Audit: Send + Sync {
    /// Takes one line. A line that cannot be written is told in the log.
    fn record(&self, line: &Line);
}

/// Lines go to the log.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToLog;

impl Audit for ToLog {
    fn record(&self, line: &Line) {
        let line = serde_json::to_string(line).unwrap_or_default();
        tracing::info!(target: "audit", line, "write");
    }
}
