//! `propose`, `approve`, `reject`, `propose-delete` and `del`.

use serde_json::{Value, json};

use super::args::Many;
use super::many::{Problem, Said, each};
use super::server::{Change, Dry, Server, lifecycle, text};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::persona::Persona;

pub(super) fn propose(many: &Many, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let dry = Dry::of(many.dry_run);
    each(&many.names, server, io, |name, io| {
        let mut said = Said::Result(format!("{name} proposed{}", dry.remark()));
        server.change(name, "proposing", dry, io, |object| {
            ready(object, server.persona)?;
            match lifecycle(object) {
                "Draft" => Ok(set(object, "Proposed", Change::Object)),
                "Proposed" => {
                    said = Said::Note(format!("{name} is already proposed"));
                    Ok(Change::None)
                }
                other => Err(Problem::Text(Code::Lifecycle, format!("cannot propose {other} package"))),
            }
        })?;
        Ok(said)
    })
}

pub(super) fn approve(many: &Many, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let dry = Dry::of(many.dry_run);
    each(&many.names, server, io, |name, io| {
        server.change(name, "publishing", dry, io, |object| {
            ready(object, server.persona)?;
            match (lifecycle(object), server.persona) {
                ("Proposed", _) | ("DeletionProposed", Persona::Porchctl) => {
                    Ok(set(object, "Published", Change::Approval))
                }
                ("Published", _) => Ok(Change::None),
                ("DeletionProposed", _) => Err(Problem::Text(Code::Lifecycle, format!(
                    "it is proposed for deletion: delete it with \"lanai rpkg del {name}\", or keep it with \"lanai rpkg reject {name}\""
                ))),
                (other, _) => Err(Problem::Text(Code::Lifecycle, format!("cannot change approval from {other} to Published"))),
            }
        })?;
        Ok(Said::Result(format!("{name} approved{}", dry.remark())))
    })
}

pub(super) fn reject(many: &Many, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let dry = Dry::of(many.dry_run);
    each(&many.names, server, io, |name, io| {
        let mut proposed_for = "approval";
        server.change(name, "rejecting", dry, io, |object| match lifecycle(object) {
            "Proposed" => Ok(set(object, "Draft", Change::Approval)),
            "DeletionProposed" => {
                proposed_for = "deletion";
                Ok(set(object, "Published", Change::Object))
            }
            other => {
                Err(Problem::Text(Code::Lifecycle, format!("cannot reject {name} with lifecycle '{other}'")))
            }
        })?;
        Ok(Said::Result(format!("{name} no longer proposed for {proposed_for}{}", dry.remark())))
    })
}

pub(super) fn propose_delete(many: &Many, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let dry = Dry::of(many.dry_run);
    each(&many.names, server, io, |name, io| {
        let mut said = Said::Result(format!("{name} proposed for deletion{}", dry.remark()));
        server.change(name, "proposing the deletion of", dry, io, |object| match lifecycle(object) {
            "Published" => Ok(set(object, "DeletionProposed", Change::Object)),
            "DeletionProposed" => {
                said = Said::Note(format!("{name} is already proposed for deletion"));
                Ok(Change::None)
            }
            _ => Err(Problem::Text(
                Code::Lifecycle,
                format!("can only propose published packages for deletion; package {name} is not published"),
            )),
        })?;
        Ok(said)
    })
}

pub(super) fn delete(many: &Many, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let dry = Dry::of(many.dry_run);
    each(&many.names, server, io, |name, io| {
        server.delete(name, dry, io)?;
        Ok(Said::Result(format!("{name} deleted{}", dry.remark())))
    })
}

fn set(object: &mut Value, lifecycle: &str, change: Change) -> Change {
    object["spec"]["lifecycle"] = json!(lifecycle);
    change
}

/// Whether all that has to be true before is true.
fn ready(object: &Value, persona: Persona) -> Result<(), Problem> {
    let open = open_gates(object);
    match (open.as_slice(), persona) {
        ([], _) => Ok(()),
        (_, Persona::Porchctl) => Err(Problem::Text(Code::NotReady, "readiness conditions not met".into())),
        (open, _) => {
            Err(Problem::Text(Code::NotReady, format!("readiness conditions not met: {}", open.join(", "))))
        }
    }
}

/// The conditions that have to be true and are not.
fn open_gates(object: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let status = &object["status"];
    let mut conditions = list(&status["conditions"]);
    conditions.extend(list(&status["packageConditions"]));
    let is_true = |gate: &str| {
        conditions.iter().any(|found| text(found, "type") == gate && text(found, "status") == "True")
    };
    let gates = list(&object["spec"]["readinessGates"]);
    let gates = gates.iter().map(|gate| text(gate, "conditionType").to_owned());
    gates.filter(|gate| !is_true(gate)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_open_until_their_condition_is_true() {
        let check = |status: &str, expected: usize| {
            let object = json!({
                "spec": {"readinessGates": [{"conditionType": "a"}]},
                "status": {"conditions": [{"type": "a", "status": status}]},
            });
            assert_eq!(open_gates(&object).len(), expected, "{status}");
        };
        check("True", 0);
        check("False", 1);
        check("Unknown", 1);
        assert_eq!(open_gates(&json!({"spec": {"readinessGates": [{"conditionType": "a"}]}})), ["a"]);
        assert!(open_gates(&json!({"spec": {}})).is_empty());
    }
}
