//! `re.star`: patterns, as Go has them.

use regex::Regex;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::list::AllocList;
use starlark::values::tuple::AllocTuple;
use starlark::values::{Heap, Value};

/// What a script sees: functions that take a pattern, and `compile`, which keeps one.
pub const PRELUDE: &str = "\
def _compile(pattern, flags = 0):
    native.check(pattern)
    return struct(
        search = lambda string, flags = 0: native.search(pattern, string),
        match = lambda string, flags = 0: native.match(pattern, string),
        findall = lambda string, flags = 0: native.findall(pattern, string),
        split = lambda string, maxsplit = 0, flags = 0: native.split(pattern, string, maxsplit),
        sub = lambda repl, string, count = 0, flags = 0: native.sub(pattern, repl, string),
    )

re = struct(
    compile = _compile,
    search = lambda pattern, string, flags = 0: native.search(pattern, string),
    match = lambda pattern, string, flags = 0: native.match(pattern, string),
    findall = lambda pattern, string, flags = 0: native.findall(pattern, string),
    split = lambda pattern, string, maxsplit = 0, flags = 0: native.split(pattern, string, maxsplit),
    sub = lambda pattern, repl, string, count = 0, flags = 0: native.sub(pattern, repl, string),
)
";

/// What the prelude is made of.
#[starlark_module]
pub fn native(builder: &mut GlobalsBuilder) {
    fn check(pattern: &str) -> anyhow::Result<bool> {
        compile(pattern).map(|_| true)
    }

    /// Begin and end of the first match, in characters; or None.
    fn search<'v>(pattern: &str, string: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let Some(found) = compile(pattern)?.find(string) else { return Ok(Value::new_none()) };
        let chars = |end: usize| i64::try_from(string[..end].chars().count()).unwrap_or(i64::MAX);
        Ok(heap.alloc(AllocList([chars(found.start()), chars(found.end())])))
    }

    /// All matches, each as a tuple of the match and its groups.
    fn r#match<'v>(pattern: &str, string: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let pattern = compile(pattern)?;
        let matches = pattern.captures_iter(string).map(|found| {
            let groups = found.iter().map(|group| group.map_or("", |group| group.as_str()));
            heap.alloc(AllocTuple(groups.collect::<Vec<_>>()))
        });
        Ok(heap.alloc(AllocList(matches.collect::<Vec<_>>())))
    }

    /// The texts of all matches.
    fn findall<'v>(pattern: &str, string: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let pattern = compile(pattern)?;
        Ok(heap.alloc(AllocTuple(pattern.find_iter(string).map(|found| found.as_str()).collect::<Vec<_>>())))
    }

    /// The texts between the matches; at most so many where the number is above 0.
    fn split<'v>(pattern: &str, string: &str, maxsplit: i32, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let pattern = compile(pattern)?;
        let parts: Vec<&str> = match usize::try_from(maxsplit) {
            Ok(limit) if limit > 0 => pattern.splitn(string, limit).collect(),
            _ => pattern.split(string).collect(),
        };
        Ok(heap.alloc(AllocTuple(parts)))
    }

    /// The text with all matches replaced; `$1` and `${name}` stand for groups.
    fn sub(pattern: &str, repl: &str, string: &str) -> anyhow::Result<String> {
        Ok(compile(pattern)?.replace_all(string, repl).into_owned())
    }
}

fn compile(pattern: &str) -> anyhow::Result<Regex> {
    Regex::new(pattern).map_err(|error| {
        let last = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
        anyhow::anyhow!("the pattern \"{pattern}\" cannot be read: {last}")
    })
}
