//! Whether a function runs: the conditions of pipelines.
//!
//! A condition is an expression in CEL over `resources`, the resources that the function would see. What deciding it takes is metered:
//! steps, bytes and time.

use std::time::Duration;

use lanai_cel::{Budget, Outcome, ParseError, Program, Stop, Value, Variable};
use lanai_evaluate::Deadline;
use lanai_krm::Resource;
use lanai_types::ByteSize;
use lanai_types::quote::Quoted;
use serde_json::{Map, Value as Json};

pub use lanai_cel::{MAX_CHAIN, MAX_NESTING};

/// How long an expression may be, in bytes.
pub const MAX_EXPRESSION: usize = 4096;
/// How many steps deciding may take.
pub const MAX_STEPS: u64 = 100_000_000;
/// How many bytes deciding may make, of texts and lists, all together.
pub const MAX_MADE: ByteSize = ByteSize::mib(256);
/// As [`MAX_STEPS`], where nobody has asked for the condition to be decided yet.
const MAX_STEPS_AHEAD: u64 = 1_000_000;
/// How much is told of what went wrong, in letters: the engine tells the values, too.
const MAX_CAUSE: usize = 512;

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
    /// [`MAX_CHAIN`].
    #[error("the condition {} has more than {MAX_CHAIN} parts one behind another", Quoted(.expression))]
    TooManyParts {
        /// The condition.
        expression: String,
    },
    /// [`MAX_STEPS`].
    #[error("the condition {} takes more than the {MAX_STEPS} steps that are allowed", Quoted(.expression))]
    TooCostly {
        /// The condition.
        expression: String,
    },
    /// [`MAX_MADE`].
    #[error("the condition {} makes more than the {MAX_MADE} of texts and lists that are allowed", Quoted(.expression))]
    TooLarge {
        /// The condition.
        expression: String,
    },
    /// The time of the function is over.
    #[error("the condition {} was not decided within {} seconds", Quoted(.expression), .limit.as_secs_f64())]
    TooSlow {
        /// The condition.
        expression: String,
        /// What is allowed.
        limit: Duration,
    },
    /// It was called off.
    #[error("the condition {} was called off", Quoted(.expression))]
    Cancelled {
        /// The condition.
        expression: String,
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

/// What deciding a condition may take.
const BUDGET: Budget = Budget { max_steps: MAX_STEPS, max_made: MAX_MADE.get() };

/// Whether a condition holds for these resources. An empty one holds. Deciding takes part in the time of the function.
///
/// # Errors
/// When it is no expression, fails, says neither true nor false, exceeds a limit, or is called off.
pub fn holds(expression: &str, resources: &[&Resource], deadline: &Deadline) -> Result<bool, Error> {
    within(expression, resources, deadline, BUDGET)
}

/// Whether a condition is false whatever the resources are: one that does not name them, and is decided without them.
pub fn never_holds(expression: &str) -> bool {
    let budget = Budget { max_steps: MAX_STEPS_AHEAD, ..BUDGET };
    let deadline = Deadline::after(Duration::MAX);
    !expression.contains("resources") && within(expression, &[], &deadline, budget) == Ok(false)
}

fn within(
    expression: &str,
    resources: &[&Resource],
    deadline: &Deadline,
    budget: Budget,
) -> Result<bool, Error> {
    if expression.trim().is_empty() {
        return Ok(true);
    }
    if expression.len() > MAX_EXPRESSION {
        return Err(Error::TooLong { found: expression.len() });
    }
    decide(expression, resources, deadline, budget)
}

fn decide(
    expression: &str,
    resources: &[&Resource],
    deadline: &Deadline,
    budget: Budget,
) -> Result<bool, Error> {
    let named = || expression.to_owned();
    let program = Program::parse(expression).map_err(|error| match error {
        ParseError::TooDeep => Error::TooDeep,
        error => Error::Syntax { expression: named(), cause: one_line(&error.to_string()) },
    })?;
    let called_off = || {
        if deadline.cancel.is_cancelled() {
            Error::Cancelled { expression: named() }
        } else {
            Error::TooSlow { expression: named(), limit: deadline.limit }
        }
    };
    let go_on = || !deadline.cancel.is_cancelled() && !deadline.left().is_zero();
    let mut values = Vec::with_capacity(resources.len());
    for resource in resources {
        if !go_on() {
            return Err(called_off());
        }
        values.push(lanai_cel::value(&value(resource)));
    }
    let resources = Variable { name: "resources", value: Value::from(values) };
    let Outcome { result, .. } = program.evaluate(vec![resources], budget, &go_on);
    match result {
        Ok(Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(Error::NotBoolean { expression: named(), found: format!("{}", other.type_of()) }),
        Err(Stop::Failed(cause)) => Err(Error::Evaluation { expression: named(), cause: one_line(&cause) }),
        Err(Stop::Chain) => Err(Error::TooManyParts { expression: named() }),
        Err(Stop::Steps) => Err(Error::TooCostly { expression: named() }),
        Err(Stop::Made) => Err(Error::TooLarge { expression: named() }),
        Err(Stop::CalledOff) => Err(called_off()),
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

/// The beginning of a text, in one line.
fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MAX_CAUSE) {
        line.truncate(end);
        line.push_str(" ...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 2] = [
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: {tier: front}\nspec:\n  replicas: 3\n  list: [1, 2]\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: prod\ndata:\n  on: 'yes'\n",
    ];

    fn decide_within(expression: &str, budget: Budget, deadline: &Deadline) -> Result<bool, Error> {
        let resources: Vec<Resource> = TEXTS.iter().map(|text| Resource::parse(text).unwrap()).collect();
        within(expression, &resources.iter().collect::<Vec<_>>(), deadline, budget)
    }

    fn decide(expression: &str) -> Result<bool, Error> {
        decide_within(expression, BUDGET, &Deadline::after(Duration::MAX))
    }

    /// What the engine says, by itself.
    fn judge(expression: &str) -> Option<bool> {
        use kube_cel::KubeCelExt as _;
        let resources = TEXTS.iter().map(|text| lanai_cel::value(&value(&Resource::parse(text).unwrap())));
        let mut context = kube_cel::cel::Context::default().with_all();
        context.add_variable_from_value("resources", resources.collect::<Vec<_>>());
        match kube_cel::cel::Program::compile(expression).unwrap().execute(&context) {
            Ok(Value::Bool(holds)) => Some(holds),
            Ok(_) | Err(_) => None,
        }
    }

    #[test]
    fn the_engine_says_the_same() {
        for expression in [
            "resources.map(r, r.kind) == ['Deployment', 'ConfigMap']",
            "resources.map(r, r.kind == 'ConfigMap', r.metadata.name)[0] == 'settings'",
            "resources.exists_one(r, r.kind == 'Deployment')",
            "resources.filter(r, has(r.data)).all(r, 'on' in r.data && !('off' in r.data))",
            "resources[0].spec.list + [3] == [1, 2, 3]",
            "[1, 2].map(x, [3, 4].map(y, x * y)) == [[3, 4], [6, 8]]",
            "{'a': 1, 'b': 2}.all(k, k in ['a', 'b']) && {'a': {'b': 1}}.a['b'] == 1",
            "7 / 2 == 3 && 7 % 4 == 3 && -(2 - 5) == 3",
            "'a' + 'b' == 'ab' && 'abc'.contains('b') && size('abc') == 3 && size([1]) == 1",
            "'a,b'.split(',').join('-') == 'a-b' && 'xx'.replace('x', 'yz') == 'yzyz'",
            "[3, 1, 2].sort() == [1, 2, 3] && lists.range(3) == [0, 1, 2] && [1, 2].sum() == 3",
            "sets.intersects([1, 2], [2]) && !sets.equivalent([1], [2])",
            "'web-1'.matches('^[a-z]+-[0-9]$') && string(3) == '3' && int('4') == 4",
            "size(resources[0].metadata.labels) == 1 ? resources.size() < 3 : false",
            "resources[0].missing == 1",
            "resources[7].kind == ''",
            "'a' < 1",
            "1 / 0 == 0",
            "nothing.size() == 0",
            "resources.unheard()",
            "'a' in 'abc'",
        ] {
            assert_eq!(decide(expression).ok(), judge(expression), "{expression}");
        }
    }

    #[test]
    fn errors_and_numbers_are_those_of_the_language() {
        for (expression, expected) in [
            ("resources.exists(r, r.spec.replicas == 3)", true),
            ("resources.exists(r, r.data.on == 'yes')", true),
            ("resources.all(r, r.spec.replicas == 4)", false),
            ("resources[9].kind == 'x' || true", true),
            ("false && resources[9].kind == 'x'", false),
            ("1 == 1.0 && 2u == 2", true),
        ] {
            assert_eq!(decide(expression), Ok(expected), "{expression}");
        }
        for expression in ["resources.all(r, r.spec.replicas == 3)", "resources[9].kind == 'x' || false"] {
            assert!(matches!(decide(expression), Err(Error::Evaluation { .. })), "{expression}");
        }
    }

    #[test]
    fn what_grows_is_refused_before_it_is_made() {
        let grown = |step: &str| format!("'aaaaaaaaaaaaaaaaaaaa'{}.size() > 0", step.repeat(10));
        let doubled = |first: &str| format!("[{first}]{}.size() > 0", ".map(s, s + s)".repeat(60));
        for expression in [
            grown(".replace('a', 'aaaaaaaaaaaaaaaaaaaa')"),
            grown(".replace('', 'aaaaaaaaaaaaaaaaaaaa')"),
            grown(".split('').join('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')"),
            doubled("'aaaaaaaaaaaaaaaaaaaa'"),
            doubled("[1, 2, 3]"),
            "lists.range(1000000000).size() > 0".to_owned(),
        ] {
            let budget = Budget { max_made: 1 << 20, ..BUDGET };
            let decided = decide_within(&expression, budget, &Deadline::after(Duration::MAX));
            assert!(matches!(decided, Err(Error::TooLarge { .. })), "{expression}: {decided:?}");
        }
    }

    #[test]
    fn loops_over_many_resources_are_linear() {
        let one = Resource::parse(TEXTS[0]).unwrap();
        let expression = "resources.filter(r, r.kind == 'Deployment').size() > 0";
        let takes = |count: u64, steps: u64| {
            let many = vec![&one; usize::try_from(count).unwrap()];
            // The comparison makes a little as well.
            let made = 2 * count * size_of::<Value>() as u64 + 1024;
            let budget = Budget { max_steps: steps, max_made: made };
            within(expression, &many, &Deadline::after(Duration::MAX), budget)
        };
        assert_eq!(takes(100, 1_000), Ok(true));
        assert_eq!(takes(2_000, 20_000), Ok(true));
    }

    #[test]
    fn steps_and_bytes_may_reach_their_limit_and_no_more() {
        let deadline = Deadline::after(Duration::MAX);
        let with = |expression: &str, max_steps, max_made| {
            decide_within(expression, Budget { max_steps, max_made }, &deadline)
        };
        assert_eq!(with("true", 1, 0), Ok(true));
        assert!(matches!(with("true", 0, 0), Err(Error::TooCostly { .. })));
        let made = 2 * size_of::<Value>() as u64;
        assert_eq!(with("[1].map(x, x).size() == 1", 100, made), Ok(true));
        assert!(matches!(with("[1].map(x, x).size() == 1", 100, made - 1), Err(Error::TooLarge { .. })));
        // The comparison and the number are two more.
        let chain = |pluses: usize| decide(&format!("0{} == 0", "+0".repeat(pluses)));
        assert_eq!(chain(MAX_CHAIN - 2), Ok(true));
        assert!(matches!(chain(MAX_CHAIN - 1), Err(Error::TooManyParts { .. })));
    }

    #[test]
    fn a_condition_takes_part_in_the_time_of_its_function() {
        let over = Deadline::after(Duration::ZERO);
        let decided = decide_within("true", BUDGET, &over);
        assert!(matches!(decided, Err(Error::TooSlow { limit: Duration::ZERO, .. })), "{decided:?}");
        let deadline = Deadline::after(Duration::MAX);
        deadline.cancel.cancel();
        let decided = decide_within("true", BUDGET, &deadline);
        assert!(matches!(decided, Err(Error::Cancelled { .. })), "{decided:?}");
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
        let budget = Budget { max_steps: 100_000, ..BUDGET };
        let decided = decide_within(&all(31), budget, &Deadline::after(Duration::MAX));
        assert!(matches!(decided, Err(Error::TooCostly { .. })), "{decided:?}");
    }
}
