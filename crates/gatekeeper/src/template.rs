//! Templates of policies.

use std::num::{NonZeroU32, NonZeroUsize};

use lanai_krm::Resource;
use lanai_schema::{Finding, ValueSchema};
use lanai_yaml::{Kind, NodeRef};
use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, PolicyLengthConfig, Value};

use crate::recursion::Calls;
use crate::{Limits, guard};

/// The group of templates.
pub const GROUP: &str = "templates.gatekeeper.sh";

/// Where the parameters of a policy stand.
pub const PARAMETERS: [&str; 2] = ["spec", "parameters"];

/// How many steps the engine does before it looks at the clock.
const STEPS_BETWEEN: NonZeroU32 = NonZeroU32::MIN;

/// A template, ready to run.
pub struct Template {
    /// The kind of its policies.
    pub kind: String,
    /// What the parameters of its policies look like, if it says so.
    parameters: Option<ValueSchema>,
    engine: Engine,
    rule: String,
}

/// Whether a resource is a template.
pub fn is_template(resource: &Resource) -> bool {
    let id = resource.id();
    id.group == GROUP && id.kind == "ConstraintTemplate"
}

/// What a policy says about a resource, one by one.
pub struct Violation {
    /// What is wrong.
    pub message: String,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// In words, when it cannot be run.
    pub fn read(resource: &Resource, limits: &Limits) -> Result<Self, String> {
        let root = resource.root();
        let name = resource.name().unwrap_or_default();
        let kind = text(root, &["spec", "crd", "spec", "names", "kind"])
            .filter(|kind| !kind.is_empty())
            .ok_or("the field \"spec.crd.spec.names.kind\" is missing")?;
        if name != kind.to_lowercase() {
            return Err(format!(
                "invalid ConstraintTemplate: the ConstraintTemplate's name \"{name}\" is not equal to the lowercase of CRD's Kind: \"{}\"",
                kind.to_lowercase()
            ));
        }
        let targets: Vec<_> = at(root, &["spec", "targets"])
            .into_iter()
            .flat_map(NodeRef::items)
            .map(NodeRef::target)
            .collect();
        let [target] = targets.as_slice() else {
            return Err(format!("a template has one target, this one has {}", targets.len()));
        };
        let source = Source::of(*target)?;
        let mut calls = Calls::default();
        source.libs.iter().chain([&source.rego]).for_each(|rego| calls.add(&guard::code(rego)));
        if let Some(function) = calls.recursive() {
            return Err(format!("the function \"{function}\" calls itself"));
        }
        let mut engine = Engine::new();
        engine.set_rego_v0(source.version == Version::V0);
        engine.set_strict_builtin_errors(false);
        engine.set_policy_length_config(length(limits));
        engine.set_execution_timer_config(ExecutionTimerConfig {
            limit: limits.max_time,
            check_interval: STEPS_BETWEEN,
        });
        for (at, lib) in source.libs.iter().enumerate() {
            add(&mut engine, &format!("libs[{at}]"), lib, limits)?;
        }
        let package = add(&mut engine, "rego", &source.rego, limits)?;
        if !engine.has_declared_rule_rooted_at("rego", "violation").unwrap_or(false) {
            return Err("the Rego has no rule \"violation\"".into());
        }
        let schema = at(root, &["spec", "crd", "spec", "validation", "openAPIV3Schema"]);
        let parameters =
            schema.and_then(|schema| ValueSchema::read(schema, &lanai_schema::Limits::default()));
        Ok(Self { kind, parameters, engine, rule: format!("{package}.violation") })
    }

    /// Checks the parameters of a policy.
    ///
    /// # Errors
    /// With all that is wrong with them.
    pub fn check_parameters(&self, constraint: &Resource) -> Result<(), String> {
        let given = at(constraint.root(), &PARAMETERS).filter(|node| !node.is_null());
        let (Some(schema), Some(given)) = (&self.parameters, given) else { return Ok(()) };
        let found = schema.check(given, &lanai_schema::Limits::default());
        let found = found.into_iter().map(|Finding { path, message }| {
            let dot = if path.is_empty() { "" } else { "." };
            format!("{}{dot}{path}: {message}", PARAMETERS.join("."))
        });
        let found: Vec<String> = found.collect();
        if found.is_empty() { Ok(()) } else { Err(found.join("; ")) }
    }

    /// Gives the Rego all resources to look at.
    ///
    /// # Errors
    /// In words, when the engine does not take them.
    pub fn set_inventory(&mut self, inventory: &Value) -> Result<(), String> {
        self.engine.add_data(inventory.clone()).map_err(|error| in_one_line(&error.to_string()))
    }

    /// What the Rego says about an input, in an order of its own that is always the same.
    ///
    /// # Errors
    /// In words, when the Rego cannot be run or takes too long.
    pub fn violations(&mut self, input: Value) -> Result<Vec<Violation>, String> {
        self.engine.set_input(input);
        let found =
            self.engine.eval_rule(self.rule.clone()).map_err(|error| in_one_line(&error.to_string()))?;
        let each: Vec<Value> = match &found {
            Value::Set(set) => set.iter().cloned().collect(),
            Value::Array(array) => array.iter().cloned().collect(),
            _ => Vec::new(),
        };
        each.iter().map(violation).collect()
    }
}

fn violation(value: &Value) -> Result<Violation, String> {
    match &value["msg"] {
        Value::String(message) => Ok(Violation { message: message.as_ref().into() }),
        _ => Err("a violation has a text \"msg\", this one has none".into()),
    }
}

/// The Rego of a template.
struct Source {
    rego: String,
    libs: Vec<String>,
    version: Version,
}

/// The language's versions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V0,
    V1,
}

impl Source {
    /// The Rego of a target: in its own fields, or in its list of code by engine.
    fn of(target: NodeRef<'_>) -> Result<Self, String> {
        if let Some(rego) = text(target, &["rego"]) {
            return Ok(Self { rego, libs: libs(target), version: Version::V0 });
        }
        let code: Vec<_> = at(target, &["code"]).into_iter().flat_map(NodeRef::items).collect();
        let engine = |node: &&NodeRef<'_>| text(**node, &["engine"]).is_some_and(|engine| engine == "Rego");
        let Some(source) = code.iter().find(engine).and_then(|node| node.get("source")) else {
            let engines: Vec<String> = code.iter().filter_map(|node| text(*node, &["engine"])).collect();
            return Err(match engines.as_slice() {
                [] => "the target has no Rego".into(),
                engines => format!("only Rego can be run, this is for {}", engines.join(", ")),
            });
        };
        let version = match text(source, &["version"]).as_deref() {
            None | Some("" | "v0") => Version::V0,
            Some("v1") => Version::V1,
            Some(other) => return Err(format!("the version of Rego is v0 or v1, this is \"{other}\"")),
        };
        let rego = text(source, &["rego"]).ok_or("the target has no Rego")?;
        Ok(Self { rego, libs: libs(source), version })
    }
}

fn libs(node: NodeRef<'_>) -> Vec<String> {
    let libs = at(node, &["libs"]).into_iter().flat_map(NodeRef::items);
    libs.filter_map(|lib| text(lib, &[])).collect()
}

/// Adds a text of Rego; gives its package, as the engine spells it.
fn add(engine: &mut Engine, name: &str, rego: &str, limits: &Limits) -> Result<String, String> {
    guard::check(name, rego, limits)?;
    engine.add_policy(name.into(), rego.into()).map_err(|error| in_one_line(&error.to_string()))
}

/// The engine counts lines and columns as well; only the bytes are limited here.
fn length(limits: &Limits) -> PolicyLengthConfig {
    let size = NonZeroUsize::new(limits.max_source.max(1)).unwrap_or(NonZeroUsize::MIN);
    let columns = u32::try_from(size.get()).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX);
    PolicyLengthConfig { max_col: columns, max_file_bytes: size, max_lines: size }
}

/// What the engine says on several lines, with an excerpt, as `place: cause`.
fn in_one_line(text: &str) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let place = lines().find_map(|line| line.strip_prefix("-->")).map(str::trim);
    let cause = lines().find_map(|line| line.strip_prefix("error:")).map(str::trim);
    match (place, cause) {
        (Some(place), Some(cause)) => format!("{place}: {cause}"),
        _ => lines().collect::<Vec<_>>().join(" "),
    }
}

/// The text below these keys.
pub fn text(node: NodeRef<'_>, keys: &[&str]) -> Option<String> {
    let found = at(node, keys)?.target();
    (found.kind() == Kind::Scalar && !found.is_null()).then(|| found.value().into_owned())
}

/// The value below these keys.
pub fn at<'a>(node: NodeRef<'a>, keys: &[&str]) -> Option<NodeRef<'a>> {
    keys.iter().try_fold(node, |node, key| node.get(key)).map(NodeRef::target)
}
