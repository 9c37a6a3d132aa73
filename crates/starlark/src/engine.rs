//! Running a script.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroI32;

use serde_json::Value as Json;
use starlark::codemap::FileSpanRef;
use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::{BeforeStmtFunc, BeforeStmtFuncDyn, Evaluator};
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::list::{AllocList, ListRef};
use starlark::values::range::Range;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::TupleRef;
use starlark::values::{UnpackValue, Value};
use starlark::{PrintHandler, starlark_module};

use crate::Limits;
use crate::failure::{Failure, of_engine};
use crate::guard;
use crate::modules::Loader;
use crate::value::{self, Floats, Reader, Room};

/// The stack of the thread that runs a script: enough for [`Limits::max_nesting`] and [`Limits::max_calls`] together.
const STACK: usize = 64 << 20;

/// What scripts may say: statements at the top level, keyword-only arguments; no types.
const DIALECT: Dialect = Dialect {
    enable_keyword_only_arguments: true,
    enable_top_level_stmt: true,
    enable_types: DialectTypes::Disable,
    ..Dialect::Standard
};

/// A script and what it sees.
pub struct Script<'a> {
    /// The name that messages give it.
    pub name: &'a str,
    /// Its text.
    pub source: &'a str,
    /// The resources.
    pub items: &'a [Json],
    /// What configures the function.
    pub config: &'a Json,
    /// The variables that it may see.
    pub environment: &'a BTreeMap<String, String>,
}

/// A resource that a script left in the list.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Which of the resources that it was given this is.
    pub from: Option<usize>,
    /// What it says now.
    pub value: Json,
}

/// Runs a script, on a thread of its own; gives the list that it left. What it prints is added to `printed`, a line each.
///
/// # Errors
/// When the script is wrong, fails, goes beyond a limit, or leaves something that is no list of resources.
pub fn run(script: &Script<'_>, limits: &Limits, printed: &mut String) -> Result<Vec<Made>, Failure> {
    guard::check(script.name, script.source, limits)?;
    let (done, said) = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("starlark".into()).stack_size(STACK);
        let running = thread.spawn_scoped(scope, || {
            let said = Said { text: RefCell::default(), limit: limits.max_print };
            (evaluate(script, limits, &said), said.text.into_inner())
        });
        match running.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok((done, said))) => (done, said),
            Ok(Err(_)) => {
                (Err(Failure::new("the engine broke off: the script met a defect in it")), String::new())
            }
            Err(cause) => (Err(Failure::new(format!("no thread for the script: {cause}"))), String::new()),
        }
    });
    printed.push_str(&said);
    done
}

fn evaluate(script: &Script<'_>, limits: &Limits, said: &Said) -> Result<Vec<Made>, Failure> {
    let wrong = |error: starlark::Error| of_engine(&error, script.name, limits);
    let mut ast = AstModule::parse(script.name, script.source.to_owned(), &DIALECT).map_err(wrong)?;
    ast.replace_binary_operators(&HashMap::from([("*".to_owned(), "__times__".to_owned())]));
    let globals = globals();
    Module::with_temp_heap(|module| {
        let heap = module.heap();
        let given: Vec<Value<'_>> = script.items.iter().map(|item| value::to_script(item, heap)).collect();
        let fields = [
            ("apiVersion", heap.alloc(lanai_krm::resource_list::API_VERSION)),
            ("kind", heap.alloc(lanai_krm::resource_list::KIND)),
            ("items", heap.alloc(AllocList(given.iter().copied()))),
            ("functionConfig", value::to_script(script.config, heap)),
        ];
        let list = heap.alloc(AllocDict(fields));
        let environment = heap.alloc(AllocDict(script.environment));
        module.set("ctx", heap.alloc(AllocStruct([("resource_list", list), ("environment", environment)])));
        // In the order that `Bound` knows.
        module.set_extra_value(heap.alloc(AllocList([
            limits.max_repeat,
            limits.max_depth,
            limits.max_digits,
            limits.max_output,
            limits.max_pattern,
            limits.max_match,
        ])));
        {
            let mut eval = Evaluator::new(&module);
            bound(&mut eval, limits).map_err(|error| Failure::new(error.to_string()))?;
            eval.set_print_handler(said);
            eval.set_loader(&Loader);
            eval.eval_module(ast, &globals).map_err(wrong)?;
        }
        items(list, &given, limits)
    })
}

fn bound(eval: &mut Evaluator<'_, '_, '_>, limits: &Limits) -> anyhow::Result<()> {
    // What is collected is moved, by recursion: values that nest deep would overflow the stack. The heap has a limit anyway.
    eval.disable_gc();
    eval.set_max_callstack_size(limits.max_calls.max(1) + 1)?;
    eval.set_max_heap_size(limits.max_heap.max(1))?;
    eval.set_max_tick_count(limits.max_steps.max(1))?;
    eval.before_stmt_for_dap(BeforeStmtFunc::from_dyn(Box::new(HeapCheck { max_heap: limits.max_heap })));
    Ok(())
}

/// The resources that stand in the list now.
fn items<'v>(list: Value<'v>, given: &[Value<'v>], limits: &Limits) -> Result<Vec<Made>, Failure> {
    let found = DictRef::from_value(list).and_then(|list| list.get_str("items"));
    let Some(found) = found else { return Err(Failure::new("the script removed \"items\" from the list")) };
    let items = ListRef::from_value(found).map(ListRef::content);
    let Some(items) = items.or_else(|| TupleRef::from_value(found).map(TupleRef::content)) else {
        let kind = found.get_type();
        return Err(Failure::new(format!("\"items\" is a list of resources, the script made it a {kind}")));
    };
    // Who was given first is found first: each resource is there once.
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, value) in given.iter().enumerate().rev() {
        places.entry(value.identity()).or_default().push(at);
    }
    let room = Room { max_depth: limits.max_depth, max_output: limits.max_output };
    let mut reader = Reader::new(Floats::WholeWhereTheyAre, room);
    let one = |(at, item): (usize, &Value<'v>)| {
        if DictRef::from_value(*item).is_none() {
            let kind = item.get_type();
            return Err(Failure::new(format!("items[{at}] is a {kind}, a resource is a dict")));
        }
        let value = reader.read(*item).map_err(|unfit| Failure::new(format!("items[{at}]: {unfit}")))?;
        Ok(Made { from: places.get_mut(&item.identity()).and_then(Vec::pop), value })
    };
    items.iter().enumerate().map(one).collect()
}

/// A limit that functions of ours keep while a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`Limits::max_repeat`].
    Repeat,
    /// [`Limits::max_depth`].
    Depth,
    /// [`Limits::max_digits`].
    Digits,
    /// [`Limits::max_output`].
    Output,
    /// [`Limits::max_pattern`].
    Pattern,
    /// [`Limits::max_match`].
    Match,
}

impl Bound {
    /// The limit for the script that is running.
    pub fn of(self, eval: &Evaluator<'_, '_, '_>) -> usize {
        let (at, default) = match self {
            Self::Repeat => (0, Limits::DEFAULT.max_repeat),
            Self::Depth => (1, Limits::DEFAULT.max_depth),
            Self::Digits => (2, Limits::DEFAULT.max_digits),
            Self::Output => (3, Limits::DEFAULT.max_output),
            Self::Pattern => (4, Limits::DEFAULT.max_pattern),
            Self::Match => (5, Limits::DEFAULT.max_match),
        };
        let bounds = eval.module().extra_value().and_then(ListRef::from_value);
        let bound = bounds.and_then(|bounds| usize::unpack_value(*bounds.content().get(at)?).ok().flatten());
        bound.unwrap_or(default)
    }
}

/// What a script printed.
struct Said {
    text: RefCell<String>,
    limit: usize,
}

impl PrintHandler for Said {
    fn println(&self, text: &str) -> starlark::Result<()> {
        let mut said = self.text.borrow_mut();
        if said.len() + text.len() + 1 > self.limit {
            let limit = self.limit;
            let error = anyhow::anyhow!("the script prints more than {limit} bytes (max_print)");
            return Err(starlark::Error::new_other(error));
        }
        said.push_str(text);
        said.push('\n');
        Ok(())
    }
}

/// Looks at the heap before each statement.
struct HeapCheck {
    max_heap: usize,
}

impl<'e> BeforeStmtFuncDyn<'e> for HeapCheck {
    fn call<'v>(
        &mut self,
        _: FileSpanRef<'_>,
        _: bool,
        eval: &mut Evaluator<'v, '_, 'e>,
    ) -> starlark::Result<()> {
        if eval.heap().allocated_bytes() <= self.max_heap {
            return Ok(());
        }
        let max = self.max_heap;
        let error = anyhow::anyhow!("the script uses more than {max} bytes of memory (max_heap)");
        Err(starlark::Error::new_other(error))
    }
}

/// What every script can use without loading it.
fn globals() -> Globals {
    let extensions = [LibraryExtension::Print, LibraryExtension::SetType];
    GlobalsBuilder::extended_by(&extensions).with(bounded).build()
}

/// Functions and operators that could make something huge out of nothing.
#[starlark_module]
fn bounded(builder: &mut GlobalsBuilder) {
    fn __times__<'v>(
        #[starlark(require = pos)] a: Value<'v>,
        #[starlark(require = pos)] b: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let limit = Bound::Repeat.of(eval);
        let counted = |what: Value<'v>, times: Value<'v>| {
            let size = size(what)?;
            let times = i64::unpack_value(times).ok().flatten()?;
            usize::try_from(times).ok()?.checked_mul(size.max(1)).or(Some(usize::MAX))
        };
        if counted(a, b).or_else(|| counted(b, a)).is_some_and(|made| made > limit) {
            return Err(too_much("*", limit));
        }
        let max_digits = Bound::Digits.of(eval);
        if digits(a).zip(digits(b)).is_some_and(|(a, b)| a + b > max_digits) {
            let error = anyhow::anyhow!("* makes a number of more than {max_digits} digits (max_digits)");
            return Err(starlark::Error::new_other(error));
        }
        a.mul(b, eval.heap())
    }

    fn range<'v>(
        #[starlark(require = pos)] first: i32,
        #[starlark(require = pos)] second: Option<i32>,
        #[starlark(require = pos, default = 1)] step: i32,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Range> {
        let limit = Bound::Repeat.of(eval);
        let (start, stop) = second.map_or((0, first), |second| (first, second));
        let Some(step) = NonZeroI32::new(step) else {
            return Err(starlark::Error::new_other(anyhow::anyhow!("range: the step is not 0")));
        };
        let distance = i64::from(stop) - i64::from(start);
        let count = (distance / i64::from(step.get())).max(0);
        if usize::try_from(count).is_ok_and(|count| count > limit) {
            return Err(too_much("range", limit));
        }
        Ok(Range::new(start, stop, step))
    }
}

/// How many bytes a value has that `*` repeats.
fn size(value: Value<'_>) -> Option<usize> {
    let items = ListRef::from_value(value).map(|list| list.content().len() * size_of::<usize>());
    let items = items.or_else(|| TupleRef::from_value(value).map(|tuple| tuple.len() * size_of::<usize>()));
    items.or_else(|| value.unpack_str().map(str::len))
}

/// How many digits a number has; 0 for all of 64 bits, `None` for what is no whole number.
fn digits(value: Value<'_>) -> Option<usize> {
    if i64::unpack_value(value).ok().flatten().is_some() {
        return Some(0);
    }
    (value.get_type() == "int").then(|| value.to_str().len())
}

pub fn too_much(what: &str, limit: usize) -> starlark::Error {
    starlark::Error::new_other(anyhow::anyhow!("{what} makes more than {limit} at once (max_repeat)"))
}
