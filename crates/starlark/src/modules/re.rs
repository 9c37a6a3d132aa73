//! `re.star`: patterns, as Go has them.

use regex::{Regex, RegexBuilder};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::list::AllocList;
use starlark::values::tuple::AllocTuple;

use crate::engine::{Bound, too_much};

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
    fn check<'v>(pattern: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<bool> {
        compile(pattern, eval).map(|_| true)
    }

    /// Begin and end of the first match, in characters; or None.
    fn search<'v>(
        pattern: &str,
        string: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let Some(found) = search_in(pattern, string, eval)?.find(string) else {
            return Ok(Value::new_none());
        };
        let chars = |end: usize| i64::try_from(string[..end].chars().count()).unwrap_or(i64::MAX);
        Ok(eval.heap().alloc(AllocList([chars(found.start()), chars(found.end())])))
    }

    /// All matches, each as a tuple of the match and its groups.
    fn r#match<'v>(
        pattern: &str,
        string: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let pattern = search_in(pattern, string, eval)?;
        let heap = eval.heap();
        let matches = pattern.captures_iter(string).map(|found| {
            let groups = found.iter().map(|group| group.map_or("", |group| group.as_str()));
            heap.alloc(AllocTuple(groups.collect::<Vec<_>>()))
        });
        Ok(heap.alloc(AllocList(matches.collect::<Vec<_>>())))
    }

    /// The texts of all matches.
    fn findall<'v>(
        pattern: &str,
        string: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let pattern = search_in(pattern, string, eval)?;
        let found = pattern.find_iter(string).map(|found| found.as_str());
        Ok(eval.heap().alloc(AllocTuple(found.collect::<Vec<_>>())))
    }

    /// The texts between the matches; at most so many where the number is above 0.
    fn split<'v>(
        pattern: &str,
        string: &str,
        maxsplit: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let pattern = search_in(pattern, string, eval)?;
        let parts: Vec<&str> = match usize::try_from(maxsplit) {
            Ok(limit) if limit > 0 => pattern.splitn(string, limit).collect(),
            _ => pattern.split(string).collect(),
        };
        Ok(eval.heap().alloc(AllocTuple(parts)))
    }

    /// The text with all matches replaced; `$1` and `${name}` stand for groups.
    fn sub<'v>(
        pattern: &str,
        repl: &str,
        string: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<String> {
        let pattern = search_in(pattern, string, eval)?;
        let limit = Bound::Repeat.of(eval);
        let (mut out, mut end) = (String::new(), 0);
        for found in pattern.captures_iter(string) {
            let Some(whole) = found.get(0) else { continue };
            out.push_str(&string[end..whole.start()]);
            found.expand(repl, &mut out);
            end = whole.end();
            if out.len() > limit {
                return Err(too_much("re.sub", limit));
            }
        }
        out.push_str(&string[end..]);
        Ok(out)
    }
}

/// A pattern that is to be looked for in a text.
fn search_in(pattern: &str, text: &str, eval: &Evaluator<'_, '_, '_>) -> anyhow::Result<Regex> {
    let limit = Bound::Match.of(eval);
    if text.len() > limit {
        anyhow::bail!(
            "a pattern is looked for in at most {limit} bytes, this text has {} (max_match)",
            text.len()
        );
    }
    compile(pattern, eval)
}

fn compile(pattern: &str, eval: &Evaluator<'_, '_, '_>) -> anyhow::Result<Regex> {
    let limit = Bound::Pattern.of(eval);
    if pattern.len() > limit {
        anyhow::bail!("the pattern takes more than {limit} bytes (max_pattern)");
    }
    RegexBuilder::new(pattern).size_limit(limit).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            anyhow::anyhow!("the pattern \"{pattern}\" takes more than {limit} bytes (max_pattern)")
        }
        error => {
            let last = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            anyhow::anyhow!("the pattern \"{pattern}\" cannot be read: {last}")
        }
    })
}
