//! Gates: conditions that must be true before a revision is proposed or published.

use serde_json::Value;

use crate::error::{Error, Reason};
use crate::object::Gate;

/// Whether the server looks at gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Readiness {
    /// What is not ready is neither proposed nor published.
    #[default]
    Enforced,
    /// Clients look for themselves.
    LeftToClients,
}

/// Refuses a revision whose gates are not all met.
///
/// # Errors
/// 422 with one cause for each gate that is not.
pub fn check(readiness: Readiness, name: &str, gates: &[Gate], conditions: &[Value]) -> Result<(), Error> {
    if readiness == Readiness::LeftToClients {
        return Ok(());
    }
    let status = |gate: &Gate| {
        let found = conditions.iter().find(|condition| condition["type"] == gate.condition_type.as_str());
        found.map(|condition| condition["status"].as_str().unwrap_or_default().to_owned())
    };
    let unmet: Vec<(&Gate, Option<String>)> = gates
        .iter()
        .map(|gate| (gate, status(gate)))
        .filter(|(_, status)| status.as_deref() != Some("True"))
        .collect();
    if unmet.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = unmet.iter().map(|(gate, _)| gate.condition_type.as_str()).collect();
    let mut error = Error::new(
        Reason::Invalid,
        name,
        format!("spec.readinessGates: Forbidden: readiness conditions not met: {}", names.join(", ")),
    );
    for (gate, status) in unmet {
        let message = match status {
            None => format!("condition \"{}\" is not there", gate.condition_type),
            Some(status) => format!("condition \"{}\" is \"{status}\"", gate.condition_type),
        };
        error = error.because("ReadinessGateNotMet", message, "spec.readinessGates");
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_gates_must_be_true() {
        let gate = |name: &str| Gate { condition_type: name.into() };
        let conditions = [json!({"type": "A", "status": "True"}), json!({"type": "B", "status": "Unknown"})];
        let ask = |gates: &[Gate]| check(Readiness::Enforced, "n", gates, &conditions);
        assert!(ask(&[]).is_ok());
        assert!(ask(&[gate("A")]).is_ok());
        let error = ask(&[gate("A"), gate("B"), gate("C")]).unwrap_err();
        assert_eq!(error.message, "spec.readinessGates: Forbidden: readiness conditions not met: B, C");
        assert_eq!(error.causes.len(), 2);
        assert!(check(Readiness::LeftToClients, "n", &[gate("C")], &conditions).is_ok());
    }
}
