//! Scripts that want too much: an answer comes, with the name of the limit.

use std::collections::BTreeMap;

use lanai_functions::Function;
use lanai_krm::{Resource, ResourceList};
use lanai_starlark::{Limits, Starlark};

const SMALL: Limits = Limits {
    max_steps: 10_000,
    max_calls: 20,
    max_heap: 8 << 20,
    max_repeat: 1_000,
    max_digits: 100,
    max_depth: 10,
    max_print: 100,
    max_output: 1_000,
    max_pattern: 10_000,
    max_match: 1_000,
    ..Limits::DEFAULT
};

/// What a script fails with, if it does.
fn run(source: &str, limits: Limits) -> Result<ResourceList, String> {
    let indented = source.replace('\n', "\n  ");
    let config = format!(
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata: {{name: s}}\nsource: |\n  {indented}\n"
    );
    let item = Resource::parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n").unwrap();
    let mut list = ResourceList {
        items: vec![item],
        function_config: Some(Resource::parse(&config).unwrap()),
        ..ResourceList::default()
    };
    let function = Starlark { limits, environment: BTreeMap::from([("REGION".into(), "eu".into())]) };
    function.run(&mut list).map(|()| list).map_err(|failure| failure.message)
}

fn check(source: &str, limit: &str) {
    let message = run(source, SMALL).expect_err(source);
    assert!(message.contains(&format!("({limit})")), "{source}: {message}");
}

#[test]
fn scripts_that_want_too_much_are_stopped() {
    check("for i in range(1000):\n  for j in range(1000):\n    pass", "max_steps");
    check("def f(n):\n  return f(n + 1)\nf(0)", "max_calls");
    check("f = lambda g: g(g)\nf(f)", "max_calls");
    check("a = 'x' * 1001", "max_repeat");
    check("a = 1001 * 'x'", "max_repeat");
    check("a = [1] * 126", "max_repeat");
    check("a = (1,) * 126", "max_repeat");
    check("a = 'x' * (1 << 60)", "max_repeat");
    check("a = 1 << 60\nfor i in range(60):\n  a = a * a", "max_digits");
    check("a = list(range(2000000000))", "max_repeat");
    check("a = list(range(2000000000, -2000000000, -1))", "max_repeat");
    check("def f():\n  a = 'xxxxxxxxxxxxxxxx'\n  for i in range(60):\n    a = a + a\nf()", "max_heap");
    let doubled = "a += a\n".repeat(60);
    check(&format!("a = 'xxxxxxxxxxxxxxxx'\n{doubled}"), "max_heap");
    check(&format!("a = [1, 2, 3, 4, 5, 6, 7, 8]\n{doubled}"), "max_heap");
    check("for i in range(100):\n  print('some words')", "max_print");
    check("a = []\na.append(a)\nctx.resource_list['items'][0]['a'] = a", "max_depth");
    check("load('encoding/json.star', 'json')\na = []\na.append(a)\njson.encode(a)", "max_depth");
    check(&format!("a = {}1{}", "(".repeat(501), ")".repeat(501)), "max_nesting");
    check(&format!("a = {}", "1 + ".repeat(501) + "1"), "max_nesting");
    check(&format!("a = {}1", "-".repeat(100_000)), "max_nesting");
}

/// Two lists in each list: as many values as there are bytes in memory, of next to nothing.
const SHARED: &str = "def f():\n  a = [1]\n  for i in range(40):\n    a = [a, a]\n  return a\n";

#[test]
fn what_grows_is_stopped() {
    let grow = |begin: &str, step: &str| {
        format!("def f():\n  {begin}\n  for i in range(90):\n    for j in range(90):\n      {step}\nf()")
    };
    let many = Limits { max_steps: 1_000_000, ..SMALL };
    for (begin, step) in [
        ("d = {}", "d[str(i * 90 + j)] = [i] * 120"),
        ("a = []", "a.append('x' * 1000 + str(j))"),
        ("s = ''", "s += 'xxxxxxxx'"),
        ("s = set()", "s.add('x' * 1000 + str(i * 90 + j))"),
    ] {
        let message = run(&grow(begin, step), many).expect_err(step);
        assert!(message.contains("(max_heap)"), "{step}: {message}");
    }
    check("a = [x for x in range(1000) for y in range(1000)]", "max_steps");
    check("a = {x: y for x in range(1000) for y in range(1000)}", "max_steps");
    check("a = 'x' * 900\nctx.resource_list['items'][0]['data'] = {'a': a, 'b': a}", "max_output");
    check(&format!("{SHARED}ctx.resource_list['items'][0]['a'] = f()"), "max_depth");
    let deep = Limits { max_depth: 100, ..SMALL };
    for after in [
        "ctx.resource_list['items'][0]['a'] = f()",
        "load('encoding/json.star', 'json')\njson.encode(f())",
        "load('encoding/yaml.star', 'yaml')\nyaml.dumps(f())",
    ] {
        let message = run(&format!("{SHARED}{after}"), deep).unwrap_err();
        assert!(message.contains("(max_output)"), "{after}: {message}");
    }
}

#[test]
fn patterns_are_bounded() {
    let re = |rest: &str| format!("load('re.star', 're')\n{rest}");
    check(&re("re.compile('(a{1000}){1000}')"), "max_pattern");
    check(&re("re.search('((a{100}){100}){100}', 'a')"), "max_pattern");
    check(&re("a = 'a' * 600\nre.findall('a', a + a)"), "max_match");
    check(&re("a = 'a' * 600\nre.sub('a', a, a)"), "max_repeat");
    assert!(run(&re("re.search('a', 'a' * 1000)"), SMALL).is_ok());
    let exact = Limits { max_pattern: 600, ..SMALL };
    assert!(run(&re("re.search('a' * 601, 'a')"), exact).unwrap_err().contains("(max_pattern)"));
    // With what nobody configured: these take engines that go back all the time there is.
    let text = "load('re.star', 're')\na = 'a' * 50000\n";
    for pattern in ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*)*=", "a?a?a?a?a?a?a?a?aaaaaaaa!", "(a*)*b"] {
        let script = format!("{text}re.search('{pattern}', a + '!')\nre.match('{pattern}', 'ab')");
        assert!(run(&script, Limits::DEFAULT).is_ok(), "{pattern}");
    }
    let bomb = format!("{text}re.search('(((a{{100}}){{100}}){{100}}){{100}}', a)");
    assert!(run(&bomb, Limits::DEFAULT).unwrap_err().contains("(max_pattern)"));
}

#[test]
fn the_limits_of_those_who_configure_nothing_end_scripts_too() {
    let default = |source: &str, limit: &str| {
        let message = run(source, Limits::DEFAULT).expect_err(source);
        assert!(message.contains(&format!("({limit})")), "{source}: {message}");
    };
    default("def f(n):\n  return f(n + 1)\nf(0)", "max_calls");
    default("a = 'x' * 2147483647", "max_repeat");
    default("a = [0] * 2147483647", "max_repeat");
    default("a = [x for x in range(2147483647)]", "max_repeat");
    default(
        "def f():\n  a = ['x' * 16000000]\n  for i in range(2200):\n    a.append(a[0] + str(i))\nf()",
        "max_heap",
    );
    default("for i in range(2000):\n  print('x' * 1000)", "max_print");
}

#[test]
fn limits_are_inclusive() {
    let script = |turns: usize| format!("for i in range({turns}):\n  pass");
    let steps = |turns: usize, max_steps: u64| run(&script(turns), Limits { max_steps, ..SMALL }).is_ok();
    // The call of `range` is a step, and so is each turn.
    assert!(steps(99, 100));
    assert!(!steps(100, 100));
    assert!(run("a = 'x' * 1000", SMALL).is_ok());
    assert!(run("a = list(range(1000))", SMALL).is_ok());
    assert!(run("a = list(range(1001))", SMALL).is_err());
    let digits = |count: usize| format!("a = 1{} * 1{}", "0".repeat(count - 1), "0".repeat(20));
    // As many as both together: the product has that many, or one less.
    assert!(run(&digits(79), SMALL).is_ok());
    assert!(run(&digits(80), SMALL).is_err());
    let calls = |depth: usize| format!("def f(n):\n  return f(n - 1) if n > 1 else 0\nf({depth})");
    assert!(run(&calls(20), SMALL).is_ok());
    assert!(run(&calls(21), SMALL).is_err());
    let print = |len: usize| format!("print('{}')", "x".repeat(len));
    assert!(run(&print(99), SMALL).is_ok());
    assert!(run(&print(100), SMALL).is_err());
    let nest = |depth: usize| {
        format!("ctx.resource_list['items'][0]['a'] = {}{}", "[".repeat(depth), "]".repeat(depth))
    };
    // The resource itself is one level.
    assert!(run(&nest(9), SMALL).is_ok());
    assert!(run(&nest(10), SMALL).is_err());
    let output = |len: usize| format!("ctx.resource_list['items'][0]['a'] = '{}'", "x".repeat(len));
    // Six values, and the texts of keys and values.
    let rest = 32 * 6 + "apiVersionv1kindConfigMapmetadatanameaa".len();
    assert!(run(&output(1_000 - rest), SMALL).is_ok());
    assert!(run(&output(1_001 - rest), SMALL).is_err());
    assert!(run("load('re.star', 're')\nre.search('a', 'b' * 1000)", SMALL).is_ok());
    assert!(run("load('re.star', 're')\nre.search('a', 'b' * 999 + 'bb')", SMALL).is_err());
    let brackets = |depth: usize| format!("a={}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(run(&brackets(499), Limits::DEFAULT).is_ok());
    assert!(run(&brackets(500), Limits::DEFAULT).is_err());
}

#[test]
fn values_that_nest_deep_do_not_overflow_the_stack() {
    let deep = "def f():\n  a = []\n  for i in range(100000):\n    a = [a]\n  return a\na = f()\n";
    for after in ["b = len(a)", "ctx.resource_list['items'][0]['a'] = a", "b = a == f()", "b = str(a)"] {
        // Whether the engine can do it is its business; that there is an answer is ours.
        let _ = run(&format!("{deep}{after}"), Limits::DEFAULT);
    }
}

#[test]
fn what_was_granted_is_seen() {
    let list =
        run("ctx.resource_list['items'][0]['data'] = {'r': ctx.environment['REGION']}", SMALL).unwrap();
    assert_eq!(
        list.items[0].to_string(),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  r: eu\n"
    );
}

#[test]
fn a_script_that_fails_changes_nothing() {
    let source = "ctx.resource_list['items'].clear()\nfail('no', 1)";
    assert_eq!(run(source, SMALL).unwrap_err(), "fail: no 1");
}
