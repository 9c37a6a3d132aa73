//! Expressions in CEL that are metered while they are evaluated: in steps, in bytes, and by whoever asked for them.
//!
//! ```
//! use lanai_cel::{Budget, Outcome, Program, Variable};
//!
//! let program = Program::parse("self.replicas <= 3")?;
//! let replicas = Variable { name: "self", value: lanai_cel::value(&serde_json::json!({"replicas": 2})) };
//! let Outcome { result, .. } = program.evaluate(vec![replicas], Budget::DEFAULT, &|| true);
//! assert_eq!(result?, lanai_cel::Value::Bool(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod kind;
mod loops;
mod meter;
mod pattern;
mod text;
mod walk;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kube_cel::KubeCelExt as _;
use kube_cel::cel;
use kube_cel::cel::common::ast::IdedExpr;
use serde_json::Value as Json;

pub use kube_cel::cel::Value;
pub use kube_cel::cel::objects::{Key, Map};

/// How deep brackets may be nested in an expression.
pub const MAX_NESTING: usize = 32;
/// What a pattern may take when it is made ready, in bytes.
pub const MAX_PATTERN: usize = 1 << 20;
/// How many parts of an expression may stand one behind another, as in `a.b.c`.
pub const MAX_CHAIN: usize = 200;

/// An expression that was read.
pub struct Program {
    expression: IdedExpr,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// [`MAX_NESTING`].
    #[error("brackets are nested deeper than the {MAX_NESTING} levels that are allowed")]
    TooDeep,
    /// It is no expression.
    #[error("{0}")]
    Syntax(String),
}

/// What evaluating may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many steps.
    pub max_steps: u64,
    /// How many bytes of texts and lists, all together.
    pub max_made: u64,
}

impl Budget {
    /// What is plenty for any expression that people write.
    pub const DEFAULT: Self = Self { max_steps: 100_000_000, max_made: 256 << 20 };
}

/// Why evaluating stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The expression fails.
    #[error("{0}")]
    Failed(String),
    /// [`MAX_CHAIN`].
    #[error("the expression has more than {MAX_CHAIN} parts one behind another")]
    Chain,
    /// [`Budget::max_steps`].
    #[error("the expression takes more steps than are allowed")]
    Steps,
    /// [`Budget::max_made`].
    #[error("the expression makes more bytes of texts and lists than are allowed")]
    Made,
    /// [`MAX_PATTERN`].
    #[error("a pattern takes more than the {MAX_PATTERN} bytes that are allowed")]
    Pattern,
    /// Whoever asked does not want to wait any longer.
    #[error("the expression was called off")]
    CalledOff,
}

/// A value under a name.
#[derive(Clone, Debug)]
pub struct Variable<'n> {
    /// What expressions call it.
    pub name: &'n str,
    /// What it is.
    pub value: Value,
}

/// What came of evaluating.
#[derive(Debug)]
pub struct Outcome {
    /// The value, or why there is none.
    pub result: Result<Value, Stop>,
    /// How many steps were made.
    pub steps: u64,
}

impl Program {
    /// Reads an expression.
    ///
    /// # Errors
    /// When it is none, or nested too deep.
    pub fn parse(expression: &str) -> Result<Self, ParseError> {
        if nesting(expression) > MAX_NESTING {
            return Err(ParseError::TooDeep);
        }
        // The engine is somebody else's: what it does not expect must not end us.
        let read = catch_unwind(AssertUnwindSafe(|| {
            cel::parser::Parser::default().enable_optional_syntax(true).parse(expression)
        }));
        match read {
            Ok(Ok(expression)) => Ok(Self { expression }),
            Ok(Err(error)) => Err(ParseError::Syntax(error.to_string())),
            Err(_) => Err(ParseError::Syntax("the engine failed".to_owned())),
        }
    }

    /// Whether a name stands somewhere in it that is neither bound in it nor the name of a function.
    pub fn names(&self, variable: &str) -> bool {
        self.expression.references().variables().contains(&variable)
    }

    /// The names in it that are neither bound in it nor those of functions.
    pub fn variables(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.expression.references().variables().into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    /// Evaluates it. `go_on` is asked from time to time whether anybody still waits.
    pub fn evaluate(
        &self,
        variables: Vec<Variable<'_>>,
        budget: Budget,
        go_on: &dyn Fn() -> bool,
    ) -> Outcome {
        let engine = cel::Context::default().with_all();
        let mut walk = walk::Walk::new(&engine, meter::Meter::new(budget, go_on), variables);
        let result = catch_unwind(AssertUnwindSafe(|| walk.value(&self.expression)));
        let result = result.unwrap_or_else(|_| Err(Stop::Failed("the engine failed".to_owned())));
        Outcome { result, steps: walk.meter.steps() }
    }
}

/// A value of JSON for expressions. Whole numbers have one type here, because for the engine 2 and 2u differ.
pub fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(whole)) => Value::UInt(whole),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.clone()),
        Json::Array(items) => Value::from(items.iter().map(value).collect::<Vec<_>>()),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(key, json)| (key.clone(), value(json)));
            Value::from(fields.collect::<HashMap<String, Value>>())
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

/// A time, for expressions; `None` for what is no time.
pub fn timestamp(text: &str) -> Option<Value> {
    made_by("timestamp", text)
}

/// A duration such as `1h30m`, for expressions; `None` for what is none.
pub fn duration(text: &str) -> Option<Value> {
    made_by("duration", text)
}

/// What a function of the language makes of a text.
fn made_by(function: &str, text: &str) -> Option<Value> {
    use cel::common::ast::{CallExpr, Expr};
    let mut engine = cel::Context::default();
    engine.add_variable_from_value("@0", text.to_owned());
    let argument = IdedExpr { id: 0, expr: Expr::Ident("@0".to_owned()) };
    let call = CallExpr { func_name: function.to_owned(), target: None, args: vec![argument] };
    let made = catch_unwind(AssertUnwindSafe(|| engine.resolve(&IdedExpr { id: 0, expr: Expr::Call(call) })));
    made.ok()?.ok()
}
