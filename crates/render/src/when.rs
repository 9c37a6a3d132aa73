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
/// How large a pattern may be that `matches` makes ready.
pub const MAX_PATTERN: ByteSize = ByteSize::mib(1);
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
    /// [`MAX_PATTERN`].
    #[error("the condition {} has a pattern that takes more than the {MAX_PATTERN} that are allowed", Quoted(.expression))]
    PatternTooLarge {
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
        Err(Stop::Pattern) => Err(Error::PatternTooLarge { expression: named() }),
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
    fn what_the_engine_does_not_know_is_known() {
        for expression in [
            "resources.all(i, r, i < 2 && r.kind != '')",
            "resources.exists(i, r, i == 1 && r.kind == 'ConfigMap')",
            "resources.exists(i, r, r.spec.replicas == 3)",
            "!resources.exists(i, r, i == 2)",
            "resources.existsOne(i, r, r.kind == 'ConfigMap') && !resources.exists_one(i, r, i >= 0)",
            "{'a': 1, 'b': 2}.all(k, v, k in ['a', 'b'] && v < 3)",
            "resources.transformList(i, r, string(i) + r.kind) == ['0Deployment', '1ConfigMap']",
            "resources.transformList(i, r, i > 0, r.kind) == ['ConfigMap']",
            "{'b': 2, 'a': 1}.transformList(k, v, k) == ['a', 'b']",
            "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && [7].transformMap(i, v, v) == {0: 7}",
            "{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}",
            "['x', 'y'].transformMapEntry(i, v, {v: i}) == {'x': 0, 'y': 1}",
            "type(1) == int && type('') == string && type(1.5) == double && type([]) == list && type({}) == map",
            "type(1u) == uint && type(true) == bool && type(null) == null_type && type(type(1)) == type",
            "type(resources[0].spec.replicas) == int && type(1) != string && dyn(1) == 1",
            "'%s has %d of %s'.format(['web', 3, ['a', 1]]) == 'web has 3 of [\"a\", 1]'",
            "'%s %s %s %s'.format([{'b': 1, 'a': 'x'}, null, true, int]) == '{\"a\":\"x\", \"b\":1} null true int'",
            "'%.2f %f %%'.format([1.005, 2.0]) == '1.00 2.000000 %' && '%s %s'.format([2.0, 1e30]) == '2 1e+30'",
            "'%x %X %x %o %b %b'.format([255, 255, 'ab', 8, -5, true]) == 'ff FF 6162 10 -101 1'",
            "resources[?0].kind.orValue('') == 'Deployment' && resources[?7].kind.orValue('none') == 'none'",
            "resources[0].?spec.replicas.orValue(1) == 3 && !resources[0].?nothing.hasValue()",
            "!has(resources[?7].kind) && has(resources[?0].kind) && resources[0].?spec[?'x'].or(optional.of(2)).value() == 2",
            "resources[?0].optMap(r, r.kind).value() == 'Deployment' && !resources[?7].optMap(r, r.kind).hasValue()",
            "optional.of(1).optFlatMap(x, optional.none()) == optional.none() && optional.of([1]) == optional.of([1])",
            "1 < 1.5 && 2u > 1 && 'ab'.matches('^a') && matches('ab', 'b$') && !'ab'.matches('c')",
        ] {
            assert_eq!(decide(expression), Ok(true), "{expression}");
        }
        for expression in [
            "'%s'.format([]) == ''",
            "'%d'.format(['x']) == ''",
            "'%q'.format(['x']) == ''",
            "'%'.format(['x']) == ''",
            "'%.99999999999999999999f'.format([1.0]) == ''",
            "resources.all(i, r, r.spec.replicas == 3)",
            "[1, 1].transformMapEntry(i, v, {v: i}) == {}",
            "optional.none().value() == 1",
            "'a'.matches('(') == true",
            "[1, 2].join(',') == '1,2'",
        ] {
            assert!(matches!(decide(expression), Err(Error::Evaluation { .. })), "{expression}");
        }
    }

    #[test]
    fn maps_have_one_order() {
        let map = (0..50).map(|at| format!("'k{at:02}': {at}")).collect::<Vec<_>>().join(", ");
        let keys = (0..50).map(|at| format!("k{at:02}")).collect::<Vec<_>>().join(",");
        for loops in ["map(k, k)", "filter(k, true)", "transformList(k, v, k)"] {
            assert_eq!(decide(&format!("{{{map}}}.{loops}.join(',') == '{keys}'")), Ok(true), "{loops}");
        }
        // What is told of a failure is kept in the Kptfile.
        let told = |_| decide(&format!("string({{{map}}}) == ''")).unwrap_err().to_string();
        let told: Vec<_> = (0..2).map(told).collect();
        assert_eq!(told[0], told[1]);
    }

    #[test]
    fn patterns_are_matched_within_the_meter() {
        let text = "ab".repeat(30_000);
        let resource =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  text: {text}\n");
        let resource = Resource::parse(&resource).unwrap();
        let decide = |pattern: &str, budget, deadline: &Deadline| {
            within(&format!("resources[0].data.text.matches('{pattern}')"), &[&resource], deadline, budget)
        };
        let soon = Deadline::after(Duration::MAX);
        let found = |pattern| decide(pattern, Budget { max_steps: 20_000, ..Budget::DEFAULT }, &soon);
        assert_eq!((found("^(ab)+$"), found("c"), found("b$")), (Ok(true), Ok(false), Ok(true)));
        assert_eq!(
            found("(a|b)*a(a|b){30000}c"),
            Err(Error::PatternTooLarge {
                expression: "resources[0].data.text.matches('(a|b)*a(a|b){30000}c')".to_owned()
            })
        );
        let costly = "(a|b)*a(a|b){3000}c";
        let decided = decide(costly, Budget { max_steps: 1_000_000, ..Budget::DEFAULT }, &soon);
        assert!(matches!(decided, Err(Error::TooCostly { .. })), "{decided:?}");
    }

    #[test]
    fn borders_of_words_are_known_in_all_languages() {
        for (expression, expected) in [
            ("'grün blau'.matches('\\\\bblau\\\\b')", true),
            ("'grünblau'.matches('\\\\bblau\\\\b')", false),
            ("'grün'.matches('^gr.n$')", true),
            ("''.matches('^$')", true),
        ] {
            assert_eq!(decide(expression), Ok(expected), "{expression}");
        }
        let many = format!("'{}ü b'.matches('\\\\bb\\\\b')", "a".repeat(1000));
        let budget = Budget { max_steps: 2_000, ..Budget::DEFAULT };
        let decided = decide_within(&many, budget, &Deadline::after(Duration::MAX));
        assert!(matches!(decided, Err(Error::TooCostly { .. })), "{decided:?}");
    }

    #[test]
    fn a_pattern_may_reach_its_limit_and_no_more() {
        let fits = |count: usize| match decide(&format!("'a'.matches('a{{{count}}}')")) {
            Ok(false) => true,
            Err(Error::PatternTooLarge { .. }) => false,
            other => panic!("{other:?}"),
        };
        let (mut fitting, mut beyond) = (2, 1 << 20);
        while beyond - fitting > 1 {
            let middle = usize::midpoint(fitting, beyond);
            if fits(middle) { fitting = middle } else { beyond = middle }
        }
        let config = regex_automata::nfa::thompson::Config::new()
            .which_captures(regex_automata::nfa::thompson::WhichCaptures::None);
        let size = |count: usize| {
            let mut compiler = regex_automata::nfa::thompson::Compiler::new();
            let nfa = compiler.configure(config.clone()).build(&format!("a{{{count}}}")).unwrap();
            nfa.memory_usage() as u64
        };
        // What is counted while it is made is a little more than what remains.
        assert!(size(fitting) <= MAX_PATTERN.get() && size(beyond) > MAX_PATTERN.get() / 2, "{fitting}");
    }

    #[test]
    fn comparing_all_with_all_takes_steps_by_size() {
        let list = |name: &str| format!("lists.range(100).map(i, [{name}, i])");
        let long = format!("'{}'", "x".repeat(1600));
        for compared in [
            format!("{}.distinct().size() == 100", list(&long)),
            format!("sets.contains({0}, {0})", list(&long)),
            format!("sets.equivalent({0}, {0})", list(&long)),
            format!("!sets.intersects({0}, [[{long}, -1]].map(x, x))", list(&long)),
            format!("!([{long}, -1] in {})", list(&long)),
        ] {
            let with = |max_steps| {
                decide_within(
                    &compared,
                    Budget { max_steps, ..Budget::DEFAULT },
                    &Deadline::after(Duration::MAX),
                )
            };
            assert_eq!(with(1_000_000), Ok(true), "{compared}");
            // A hundred pairs take fifty steps each for their texts alone.
            assert!(matches!(with(5_000), Err(Error::TooCostly { .. })), "{compared}");
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
            "'%.999999999f'.format([1.0]).size() > 0".to_owned(),
            "'%.999999999e'.format([1.0]).size() > 0".to_owned(),
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
