//! Definitions of custom resources.

use jiff::Timestamp;
use serde_json::Value;

use super::{Condition, set_condition};
use crate::meta::{self, CLEANUP};

pub(super) fn terminate(object: &mut Value, now: Timestamp) {
    let mut finalizers: Vec<String> = meta::finalizers(object).into_iter().map(str::to_owned).collect();
    if !finalizers.iter().any(|one| one == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
        meta::set_finalizers(object, &finalizers);
    }
    let condition = Condition {
        kind: "Terminating",
        status: "True",
        reason: "InstanceDeletionPending",
        message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    };
    set_condition(meta::fields_of(object, "status"), condition, now);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_definition_waits_for_its_objects() {
        let mut object = json!({"metadata": {"finalizers": ["x.org/y"]}});
        terminate(&mut object, Timestamp::UNIX_EPOCH);
        terminate(&mut object, Timestamp::UNIX_EPOCH);
        assert_eq!(meta::finalizers(&object), ["x.org/y", CLEANUP]);
        assert_eq!(object["status"]["conditions"].as_array().map(Vec::len), Some(1));
    }
}
