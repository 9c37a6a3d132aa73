//! Why a script failed, in words.

use starlark_syntax::codemap::FileSpan;

use crate::Limits;

/// A script failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where and why.
    pub message: String,
}

impl Failure {
    /// A failure that is about no place in the script.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// A failure at a place: `name:line:column: why`.
pub fn at(place: &FileSpan, why: &str) -> Failure {
    let begin = place.resolve_span().begin;
    Failure::new(format!("{}:{}:{}: {why}", place.filename(), begin.line + 1, begin.column + 1))
}

/// What the engine says, at the place in the script where it says it. What `fail` says has no place: it is meant for readers.
pub fn of_engine(error: &starlark::Error, script: &str, limits: &Limits) -> Failure {
    let text = error.without_diagnostic().to_string();
    if matches!(error.kind(), starlark::ErrorKind::Fail(_)) {
        return Failure::new(text);
    }
    let text = in_our_words(&text, limits);
    let called = error.call_stack().frames.iter().rev().filter_map(|frame| frame.location.as_ref());
    let mut places = error.span().into_iter().chain(called);
    match places.find(|place| place.filename() == script) {
        Some(place) => at(place, &text),
        None => Failure::new(text),
    }
}

/// The engine's sentences about limits do not name them, some of its texts have several lines, and for what goes wrong most
/// often people know other words.
fn in_our_words(text: &str, limits: &Limits) -> String {
    if text.starts_with("Execution duration limit") {
        return format!(
            "the script takes more than {} steps (max_steps): it may be in an endless loop",
            limits.max_steps
        );
    }
    if text.starts_with("Heap memory limit") {
        return format!("the script uses more than {} bytes of memory (max_heap)", limits.max_heap);
    }
    if text.starts_with("Starlark call stack overflow") {
        return format!("functions call each other more than {} times deep (max_calls)", limits.max_calls);
    }
    if text.starts_with("float division by zero") {
        return "floating-point division by zero".into();
    }
    if let Some(key) = text.strip_prefix("Key `").and_then(|text| text.strip_suffix("` was not found")) {
        return format!("key {key} not in dict");
    }
    if let Some((name, hint)) =
        text.strip_prefix("Variable `").and_then(|text| text.split_once("` not found"))
    {
        let like = hint.strip_prefix(", did you mean `").and_then(|hint| hint.strip_suffix("`?"));
        let hint = like.map(|like| format!(" (did you mean {like}?)")).unwrap_or_default();
        return format!("undefined: {name}{hint}");
    }
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}
