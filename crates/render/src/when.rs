//! Whether a function runs: the conditions of pipelines.
//!
//! A condition is an expression in CEL over `resources`, the resources that the function would see. The engine has no meter, so
//! what an expression can cost at most is computed before it runs, from its loops and the lengths of the lists that there are.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::KubeCelExt as _;
use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};
use kube_cel::cel::{Context, Program, Value};
use lanai_krm::Resource;
use lanai_types::quote::Quoted;
use serde_json::{Map, Value as Json};

/// How long an expression may be, in bytes.
pub const MAX_EXPRESSION: usize = 4096;
/// How deep brackets may be nested in an expression.
pub const MAX_NESTING: usize = 32;
/// How many steps an expression may cost at most.
pub const MAX_COST: u64 = 100_000_000;

/// Why a condition cannot be decided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// [`MAX_EXPRESSION`].
    #[error("the condition has {found} bytes, more than the {MAX_EXPRESSION} that are allowed")]
    TooLong {
        /// Its bytes.
        found: usize,
    },
    /// [`MAX_NESTING`].
    #[error("brackets in the condition are nested deeper than the {MAX_NESTING} levels that are allowed")]
    TooDeep,
    /// [`MAX_COST`].
    #[error("the condition {} could take {cost} steps, more than the {MAX_COST} that are allowed", Quoted(.expression))]
    TooCostly {
        /// The condition.
        expression: String,
        /// What it could take.
        cost: u64,
    },
    /// It is no expression.
    #[error("the condition {} cannot be read: {cause}", Quoted(.expression))]
    Syntax {
        /// The condition.
        expression: String,
        /// What the reader says.
        cause: String,
    },
    /// It fails on these resources.
    #[error("the condition {} cannot be decided: {cause}", Quoted(.expression))]
    Evaluation {
        /// The condition.
        expression: String,
        /// What went wrong.
        cause: String,
    },
    /// It says something else than true or false.
    #[error("the condition {} must be true or false, it is {found}", Quoted(.expression))]
    NotBoolean {
        /// The condition.
        expression: String,
        /// What it says.
        found: String,
    },
}

/// Whether a condition holds for these resources. An empty one holds.
///
/// # Errors
/// When it is no expression, fails, says neither true nor false, or exceeds a limit.
pub fn holds(expression: &str, resources: &[&Resource]) -> Result<bool, Error> {
    if expression.trim().is_empty() {
        return Ok(true);
    }
    if expression.len() > MAX_EXPRESSION {
        return Err(Error::TooLong { found: expression.len() });
    }
    if nesting(expression) > MAX_NESTING {
        return Err(Error::TooDeep);
    }
    // The engine is somebody else's: what it does not expect must not end us.
    catch_unwind(AssertUnwindSafe(|| decide(expression, resources))).unwrap_or_else(|_| {
        Err(Error::Evaluation { expression: expression.to_owned(), cause: "the engine failed".to_owned() })
    })
}

/// Whether a condition is false whatever the resources are: one that does not name them, and is decided without them.
pub fn never_holds(expression: &str) -> bool {
    !expression.contains("resources") && holds(expression, &[]) == Ok(false)
}

fn decide(expression: &str, resources: &[&Resource]) -> Result<bool, Error> {
    let named = || expression.to_owned();
    let program = Program::compile(expression)
        .map_err(|error| Error::Syntax { expression: named(), cause: one_line(&error.to_string()) })?;
    let values: Vec<Json> = resources.iter().map(|resource| value(resource)).collect();
    let longest = values.iter().map(longest).max().unwrap_or(1);
    let lengths = Lengths { resources: resources.len().max(1) as u64, longest: longest.max(1) as u64 };
    let cost = cost(program.expression(), &lengths);
    if cost > MAX_COST {
        return Err(Error::TooCostly { expression: named(), cost });
    }
    let failed = |cause: String| Error::Evaluation { expression: named(), cause: one_line(&cause) };
    let mut context = Context::default().with_all();
    let values = values.into_iter().map(converted).collect::<Vec<_>>();
    context.add_variable_from_value("resources", values);
    match program.execute(&context) {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(Error::NotBoolean { expression: named(), found: format!("{}", other.type_of()) }),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// A resource as conditions see it: its identity is always there, as texts.
fn value(resource: &Resource) -> Json {
    let mut value: Json = resource.root().deserialize().unwrap_or_default();
    let id = resource.id();
    if let Json::Object(fields) = &mut value {
        fields.insert("apiVersion".into(), id.api_version().into());
        fields.insert("kind".into(), id.kind.into());
        let metadata = fields.entry("metadata").or_insert_with(|| Json::Object(Map::new()));
        if !metadata.is_object() {
            *metadata = Json::Object(Map::new());
        }
        if let Json::Object(metadata) = metadata {
            metadata.insert("name".into(), id.name.into());
            metadata.insert("namespace".into(), id.namespace.into());
        }
    }
    value
}

/// A value for the engine. Whole numbers have one type here, because for the engine 2 and 2u differ.
fn converted(value: Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(whole)) => Value::UInt(whole),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text),
        Json::Array(items) => Value::from(items.into_iter().map(converted).collect::<Vec<_>>()),
        Json::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (key, converted(value)));
            Value::from(fields.collect::<HashMap<String, Value>>())
        }
    }
}

/// The length of the longest list or mapping in a value.
fn longest(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.iter().map(longest).max().unwrap_or(0).max(items.len()),
        Json::Object(fields) => fields.values().map(longest).max().unwrap_or(0).max(fields.len()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

/// How long the lists are that an expression can loop over.
struct Lengths {
    resources: u64,
    longest: u64,
}

/// The most steps that an expression can take.
fn cost(expression: &IdedExpr, lengths: &Lengths) -> u64 {
    let all = |parts: &mut dyn Iterator<Item = &IdedExpr>| {
        parts.fold(1_u64, |sum, part| sum.saturating_add(cost(part, lengths)))
    };
    match &expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 1,
        Expr::Call(call) => all(&mut call.target.iter().map(|target| &**target).chain(&call.args)),
        Expr::List(list) => all(&mut list.elements.iter()),
        Expr::Select(select) => cost(&select.operand, lengths).saturating_add(1),
        Expr::Map(map) => {
            map.entries.iter().fold(1, |sum, entry| sum.saturating_add(entry_cost(&entry.expr, lengths)))
        }
        Expr::Struct(entries) => {
            entries.entries.iter().fold(1, |sum, entry| sum.saturating_add(entry_cost(&entry.expr, lengths)))
        }
        Expr::Comprehension(comprehension) => {
            let rounds = rounds(&comprehension.iter_range, lengths);
            let round = cost(&comprehension.loop_cond, lengths)
                .saturating_add(cost(&comprehension.loop_step, lengths));
            let around = [&comprehension.iter_range, &comprehension.accu_init, &comprehension.result];
            all(&mut around.into_iter()).saturating_add(rounds.saturating_mul(round))
        }
    }
}

fn entry_cost(entry: &EntryExpr, lengths: &Lengths) -> u64 {
    match entry {
        EntryExpr::StructField(field) => cost(&field.value, lengths),
        EntryExpr::MapEntry(entry) => cost(&entry.key, lengths).saturating_add(cost(&entry.value, lengths)),
    }
}

/// How often a loop over this goes round at most: lists that are built from all resources are as long as all of them, with
/// all that is in them.
fn rounds(range: &IdedExpr, lengths: &Lengths) -> u64 {
    match &range.expr {
        Expr::Ident(name) if name == "resources" => lengths.resources,
        Expr::Ident(_) | Expr::Select(_) => lengths.longest,
        Expr::List(list) => list.elements.len() as u64,
        Expr::Map(map) => map.entries.len() as u64,
        Expr::Comprehension(inner) => rounds(&inner.iter_range, lengths),
        Expr::Call(_) | Expr::Struct(_) | Expr::Literal(_) | Expr::Unspecified => {
            lengths.resources.saturating_mul(lengths.longest)
        }
    }
}

/// How deep brackets are nested, texts included: too many is refused, whatever they are.
fn nesting(expression: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    let mut operators = 0;
    for letter in expression.chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            // Signs in front of signs are nested as well.
            '!' | '-' | '?' => operators += 1,
            letter if letter.is_whitespace() => {}
            _ => operators = 0,
        }
        deepest = deepest.max(depth + operators);
    }
    deepest
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(expression: &str) -> Result<bool, Error> {
        let texts = [
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {tier: front}\nspec:\n  replicas: 3\n  list: [1, 2]\n",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: prod\ndata:\n  on: 'yes'\n",
        ];
        let resources: Vec<Resource> = texts.iter().map(|text| Resource::parse(text).unwrap()).collect();
        holds(expression, &resources.iter().collect::<Vec<_>>())
    }

    #[test]
    fn conditions_see_the_resources() {
        for (expression, expected) in [
            ("", true),
            ("true", true),
            ("resources.size() == 2", true),
            ("resources.exists(r, r.kind == 'ConfigMap' && r.metadata.namespace == 'prod')", true),
            ("resources.exists(r, r.metadata.namespace == '')", true),
            ("resources.all(r, r.kind == 'Deployment')", false),
            ("resources.filter(r, r.kind == 'Deployment')[0].spec.replicas > 2", true),
            ("resources.exists(r, has(r.spec) && r.spec.list.exists(n, n == 2))", true),
            ("resources.exists(r, r.metadata.name.startsWith('w'))", true),
            ("resources.map(r, r.kind).exists(k, k.lowerAscii() == 'configmap')", true),
            ("sets.contains(resources.map(r, r.kind), ['ConfigMap'])", true),
        ] {
            assert_eq!(decide(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_decided_says_why() {
        for (expression, text) in [
            ("resources.size(", "cannot be read"),
            ("resources.size()", "must be true or false"),
            ("nothing == 1", "cannot be decided"),
            ("resources[0].spec.missing == 1", "cannot be decided"),
        ] {
            let error = decide(expression).unwrap_err().to_string();
            assert!(error.contains(text), "{expression}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn long_deep_and_costly_ones_are_refused() {
        let blanks = |length: usize| format!("{}true", " ".repeat(length - 4));
        assert_eq!(decide(&blanks(MAX_EXPRESSION)), Ok(true));
        assert_eq!(decide(&blanks(MAX_EXPRESSION + 1)), Err(Error::TooLong { found: MAX_EXPRESSION + 1 }));
        let nested = |depth: usize| format!("{}true{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(decide(&nested(MAX_NESTING)), Ok(true));
        assert_eq!(decide(&nested(MAX_NESTING + 1)), Err(Error::TooDeep));
        let all = |depth: usize| {
            let open = (0..depth).map(|at| format!("resources.all(a{at}, ")).collect::<Vec<_>>().concat();
            format!("{open}true{}", ")".repeat(depth))
        };
        assert_eq!(decide(&all(10)), Ok(true));
        assert!(matches!(decide(&all(31)), Err(Error::TooCostly { .. })));
    }
}
