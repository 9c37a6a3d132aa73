//! Rules in CEL (`x-kubernetes-validations`).

mod value;

use std::fmt;
use std::sync::{Arc, OnceLock};

use lanai_cel::{Budget, Outcome, Program, Stop, Value as Cel, Variable};
use serde_json::{Value, json};

use super::validate::correlated;
use super::{Additional, Embedded, Limits, Schema, Type};
use crate::cause::{Cause, FieldPath, Reason};

/// A rule of a schema.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The expression, over `self` and, for a change, `oldSelf`.
    pub rule: String,
    /// What is said when it does not hold; may be empty.
    pub message: String,
    /// An expression that gives what is said; may be empty.
    pub message_expression: String,
    /// The kind of cause.
    pub reason: Reason,
    /// The field below the value that is named, such as `.spec.name`; may be empty.
    pub field_path: String,
    /// Whether `oldSelf` is there as an optional value on creation as well.
    pub old_self: OldSelf,
    /// The expressions, read when they are first needed.
    pub programs: Programs,
}

/// When a rule that names `oldSelf` is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldSelf {
    /// Only when there is an old value.
    Required,
    /// Always; it is an optional value.
    Optional,
}

/// The expressions of a rule, read once.
#[derive(Clone, Default)]
pub struct Programs {
    rule: Arc<OnceLock<Result<Program, String>>>,
    message: Arc<OnceLock<Option<Program>>>,
}

impl fmt::Debug for Programs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Programs")
    }
}

/// Names in expressions that are no variables: types, and what stands in front of functions.
const KNOWN: [&str; 24] = [
    "self",
    "oldSelf",
    "sets",
    "math",
    "lists",
    "base64",
    "optional",
    "strings",
    "ip",
    "cidr",
    "format",
    "quantity",
    "url",
    "semver",
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
];

impl Rule {
    fn program(&self) -> Result<&Program, &str> {
        let read =
            self.programs.rule.get_or_init(|| Program::parse(&self.rule).map_err(|error| error.to_string()));
        read.as_ref().map_err(String::as_str)
    }

    fn message_program(&self) -> Option<&Program> {
        let read = || {
            let text = self.message_expression.trim();
            (!text.is_empty()).then(|| Program::parse(text).ok()).flatten()
        };
        self.programs.message.get_or_init(read).as_ref()
    }

    /// Whether it is about a change.
    fn is_transition(&self) -> bool {
        self.program().is_ok_and(|program| program.names("oldSelf"))
    }

    /// As the messages of kube-apiserver show it.
    fn shown(&self) -> Value {
        json!({
            "Rule": self.rule,
            "Message": self.message,
            "MessageExpression": self.message_expression,
            "Reason": null,
            "FieldPath": self.field_path,
            "OptionalOldSelf": null,
        })
    }
}

/// Whether there is a rule anywhere in a schema.
pub fn any(schema: &Schema) -> bool {
    !schema.rules.is_empty()
        || schema.properties.values().any(any)
        || schema.items.as_deref().is_some_and(any)
        || matches!(&schema.additional, Some(Additional::Like(values)) if any(values))
}

/// What is wrong with the rules of a schema, before there is an object.
pub fn compile(schema: &Schema, at: &FieldPath, limits: &Limits) -> Vec<Cause> {
    let mut causes = Vec::new();
    compile_into(schema, at, limits, &mut causes);
    causes
}

fn compile_into(schema: &Schema, at: &FieldPath, limits: &Limits, causes: &mut Vec<Cause>) {
    for (index, rule) in schema.rules.iter().enumerate() {
        let at = at.child("x-kubernetes-validations").index(index);
        causes.extend(rule_problem(rule, limits).map(|problem| match problem {
            Problem::Rule(detail) => Cause::invalid(&at.child("rule"), rule.shown(), detail),
            Problem::Message(detail) => Cause::invalid(&at.child("messageExpression"), rule.shown(), detail),
            Problem::Unsupported => Cause::forbidden(
                &at.child("optionalOldSelf"),
                "optionalOldSelf is not supported by this server",
            ),
        }));
    }
    for (name, property) in &schema.properties {
        compile_into(property, &at.child("properties").key(name), limits, causes);
    }
    if let Some(items) = &schema.items {
        compile_into(items, &at.child("items"), limits, causes);
    }
    if let Some(Additional::Like(values)) = &schema.additional {
        compile_into(values, &at.child("additionalProperties"), limits, causes);
    }
}

enum Problem {
    Rule(String),
    Message(String),
    Unsupported,
}

fn rule_problem(rule: &Rule, limits: &Limits) -> Option<Problem> {
    if rule.rule.len() > limits.max_rule_bytes {
        return Some(Problem::Rule(format!("a rule may have {} bytes at most", limits.max_rule_bytes)));
    }
    if rule.old_self == OldSelf::Optional {
        return Some(Problem::Unsupported);
    }
    match rule.program() {
        Err(why) => return Some(Problem::Rule(format!("compilation failed: {why}"))),
        Ok(program) => {
            if let Some(unknown) =
                program.variables().into_iter().find(|name| !KNOWN.contains(&name.as_str()))
            {
                let detail =
                    format!("compilation failed: undeclared reference to '{unknown}' (in container '')");
                return Some(Problem::Rule(detail));
            }
        }
    }
    if rule.message_expression.trim().is_empty() || rule.message_program().is_some() {
        return None;
    }
    Some(Problem::Message("messageExpression compilation failed".to_owned()))
}

/// Decides all rules on an object, within the steps that the limits allow.
pub fn check(new: &Value, old: Option<&Value>, schema: &Schema, limits: &Limits) -> Vec<Cause> {
    let mut walk = Walk { limits, left: limits.max_object_steps, causes: Vec::new() };
    walk.value(new, old, schema, &FieldPath::root(), Place::Root);
    walk.causes
}

/// Whether a value is the whole object, of which rules see a part of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Inside,
}

struct Walk<'l> {
    limits: &'l Limits,
    /// How many steps the rules have left.
    left: u64,
    causes: Vec<Cause>,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, at: &FieldPath, place: Place) {
        if self.left == 0 || value.is_null() {
            return;
        }
        if !schema.rules.is_empty() {
            self.rules(value, old, schema, at, place);
        }
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    if schema.embedded == Embedded::Resource && name == "metadata" {
                        continue;
                    }
                    let Some(below) = schema.field(name) else { continue };
                    let at = if schema.properties.contains_key(name) { at.child(name) } else { at.key(name) };
                    self.value(value, old.and_then(|old| old.get(name)), below, &at, Place::Inside);
                }
            }
            Value::Array(items) => {
                let Some(below) = &schema.items else { return };
                for (index, item) in items.iter().enumerate() {
                    self.value(item, correlated(item, old, schema), below, &at.index(index), Place::Inside);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn rules(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, at: &FieldPath, place: Place) {
        let is_unchanged = old == Some(value);
        let this = value::of(value, schema, place);
        let before = old.map(|old| value::of(old, schema, place));
        for rule in &schema.rules {
            if self.left == 0 {
                return;
            }
            let is_transition = rule.is_transition();
            if is_unchanged && !is_transition || is_transition && before.is_none() {
                continue;
            }
            let mut variables = vec![Variable { name: "self", value: this.clone() }];
            if let (true, Some(before)) = (is_transition, &before) {
                variables.push(Variable { name: "oldSelf", value: before.clone() });
            }
            self.rule(rule, variables, schema, at);
        }
    }

    fn rule(&mut self, rule: &Rule, variables: Vec<Variable<'_>>, schema: &Schema, at: &FieldPath) {
        let kind = type_word(schema);
        let program = match rule.program() {
            Ok(program) => program,
            Err(why) => {
                self.causes.push(Cause::invalid(at, kind, format!("rule compile error: {why}")));
                return;
            }
        };
        let budget = Budget { max_steps: self.limits.max_rule_steps.min(self.left), ..Budget::DEFAULT };
        let Outcome { result, steps } = program.evaluate(variables.clone(), budget, &|| true);
        self.left = self.left.saturating_sub(steps);
        let said = if rule.message.is_empty() { &rule.rule } else { &rule.message };
        match result {
            Ok(Cel::Bool(true)) => {}
            Ok(Cel::Bool(false)) => {
                let detail = self.message(rule, variables);
                self.causes.push(failure(rule, &below(at, &rule.field_path), kind, &detail));
            }
            Ok(_) => self.causes.push(Cause::invalid(at, kind, "cel expression must evaluate to a bool")),
            Err(Stop::Failed(why)) => {
                self.causes.push(Cause::invalid(
                    at,
                    kind,
                    format!("{} evaluating rule: {said}", lower_first(&why)),
                ));
            }
            Err(stop @ (Stop::Steps | Stop::Made | Stop::Chain | Stop::Pattern | Stop::CalledOff)) => {
                let detail = format!(
                    "'{stop}': no further validation rules will be run due to call cost exceeds limit for rule: {said}"
                );
                self.causes.push(Cause::invalid(at, kind, detail));
                self.left = 0;
                return;
            }
        }
        if self.left == 0 {
            let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
            self.causes.push(Cause::invalid(at, kind, detail));
        }
    }

    /// What is said of a rule that does not hold.
    fn message(&mut self, rule: &Rule, variables: Vec<Variable<'_>>) -> String {
        if let Some(program) = rule.message_program() {
            let budget = Budget { max_steps: self.limits.max_rule_steps.min(self.left), ..Budget::DEFAULT };
            let Outcome { result, steps } = program.evaluate(variables, budget, &|| true);
            self.left = self.left.saturating_sub(steps);
            if let Ok(Cel::String(text)) = result
                && !text.trim().is_empty()
                && !text.contains('\n')
            {
                return text.trim().to_owned();
            }
        }
        if rule.message.trim().is_empty() {
            format!("failed rule: {}", rule.rule.trim())
        } else {
            rule.message.trim().to_owned()
        }
    }
}

fn failure(rule: &Rule, at: &FieldPath, kind: &'static str, detail: &str) -> Cause {
    match rule.reason {
        Reason::Required => Cause::required(at, detail),
        Reason::Forbidden => Cause::forbidden(at, detail),
        Reason::Duplicate => Cause::duplicate(at, kind),
        Reason::Invalid
        | Reason::TypeInvalid
        | Reason::NotSupported
        | Reason::TooLong
        | Reason::TooMany
        | Reason::NotFound
        | Reason::Internal => Cause::invalid(at, kind, detail),
    }
}

/// The type of a value, as messages of rules show it in place of the value.
fn type_word(schema: &Schema) -> &'static str {
    match schema.kind {
        Type::IntOrString | Type::Quantity | Type::Any => "",
        Type::Object | Type::Array | Type::String | Type::Integer | Type::Number | Type::Boolean => {
            schema.kind.name()
        }
    }
}

/// A field below another, by a path such as `.spec.name` or `['a-b']`.
fn below(at: &FieldPath, path: &str) -> FieldPath {
    let mut at = at.clone();
    for part in path.split(['.', '[', ']']).filter(|part| !part.is_empty()) {
        at = at.child(part.trim_matches(['\'', '"']));
    }
    at
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
