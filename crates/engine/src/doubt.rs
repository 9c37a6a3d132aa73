//! Revisions of which it is not known whether a push about them landed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use lanai_types::Namespace;
use serde_json::{Value, json};

use crate::error::{Error, Reason};

/// The type of the condition of such revisions.
pub const PUBLISHING: &str = "Publishing";

/// Who is in doubt. They refuse writes until it is known.
#[derive(Default)]
pub struct Doubt(Mutex<BTreeSet<String>>);

/// How a push names the revision that it is about.
pub fn label(namespace: &Namespace, name: &str) -> String {
    format!("{namespace}/{name}")
}

impl Doubt {
    /// It is not known what became of a push about them.
    pub fn add(&self, labels: impl IntoIterator<Item = String>) {
        self.set().extend(labels);
    }

    /// It is known now.
    pub fn clear<'a>(&self, labels: impl IntoIterator<Item = &'a String>) {
        let mut set = self.set();
        for label in labels {
            set.remove(label);
        }
    }

    /// Refuses what would be about a revision that is in doubt.
    ///
    /// # Errors
    /// 409 while it is.
    pub fn check(&self, namespace: &Namespace, name: &str) -> Result<(), Error> {
        if !self.set().contains(&label(namespace, name)) {
            return Ok(());
        }
        let why = "it is not known yet whether the last push about it reached the remote; try again when its condition \
                   Publishing is gone";
        Err(Error::new(Reason::Conflict, name, why).because("PublishingUnknown", why, "status.conditions"))
    }

    fn set(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows that a revision is in doubt, or is not any more; true if that changed something.
pub fn show(object: &mut Value, doubt: Option<&str>) -> bool {
    let status = &mut object["status"];
    let had =
        status["conditions"].as_array().is_some_and(|list| list.iter().any(|one| one["type"] == PUBLISHING));
    match doubt {
        Some(_) if had => false,
        Some(why) => {
            if !status["conditions"].is_array() {
                status["conditions"] = json!([]);
            }
            let condition =
                json!({"type": PUBLISHING, "status": "Unknown", "reason": "AnswerLost", "message": why});
            if let Some(list) = status["conditions"].as_array_mut() {
                list.push(condition);
            }
            true
        }
        None => {
            if let Some(list) = status["conditions"].as_array_mut() {
                list.retain(|one| one["type"] != PUBLISHING);
                if list.is_empty() {
                    status.as_object_mut().map(|status| status.shift_remove("conditions"));
                }
            }
            had
        }
    }
}
