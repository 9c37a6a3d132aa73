//! What is wrong with a Kptfile, in words that need no knowledge of the program that reads it.

use lanai_types::quote::Quoted;

use super::error::{Error, Problem, Unreadable, Wrong};

impl Error {
    /// What is wrong and in which lines, for people; a line for each problem.
    pub fn in_words(&self) -> Vec<String> {
        match self {
            Error::NotFound | Error::OldVersion { .. } => vec![self.to_string()],
            Error::UnknownType { api_version, kind } => vec![format!(
                "apiVersion is {} and kind is {}, where \"kpt.dev/v1\" and \"Kptfile\" are needed",
                Quoted(api_version),
                Quoted(kind)
            )],
            Error::Unreadable(Unreadable::Empty) => vec!["there is nothing in it".into()],
            Error::Unreadable(Unreadable::NoMetadata) => {
                vec!["line 1: a mapping with apiVersion, kind and metadata is needed here".into()]
            }
            Error::Unreadable(Unreadable::Syntax(error)) => vec![format!("{error:#}")],
            Error::Unreadable(Unreadable::Fields(problems)) => problems.iter().map(words).collect(),
        }
    }
}

fn words(problem: &Problem) -> String {
    let Problem { line, wrong } = problem;
    match wrong {
        Wrong::UnknownField { field, parent } => {
            format!("line {line}: there is no field {} in {}", Quoted(field), type_words(parent))
        }
        Wrong::DuplicateKey { key, first } => {
            format!("line {line}: the key {} stands on line {first} already", Quoted(key))
        }
        Wrong::Shape { found, expected } => {
            format!("line {line}: there is {}, where {} is needed", found_words(found), type_words(expected))
        }
    }
}

/// What stands in a file, from its tag and its text.
fn found_words(found: &str) -> String {
    let (tag, text) = found.split_once(' ').unwrap_or((found, ""));
    let text = text.trim_matches('`');
    match tag {
        "!!seq" => "a list".into(),
        "!!map" => "a mapping".into(),
        "!!null" => "nothing".into(),
        _ => format!("the value {}", Quoted(text)),
    }
}

/// A type of a Kptfile, by the name that kpt has for it.
fn type_words(name: &str) -> String {
    if let Some(item) = name.strip_prefix("[]") {
        return match item {
            "string" => "a list of texts".into(),
            _ => format!("a list, each item {},", type_words(item)),
        };
    }
    let words = match name {
        "v1.KptFile" => "a Kptfile",
        "yaml.ObjectMeta" => "the metadata",
        "v1.Upstream" => "an upstream",
        "v1.Git" => "the git of an upstream",
        "v1.Locator" => "an upstreamLock",
        "v1.GitLock" => "the git of an upstreamLock",
        "v1.GenericLock" => "the generic of an upstreamLock",
        "v1.PackageInfo" => "the info",
        "v1.ReadinessGate" => "a readiness gate",
        "v1.Inventory" => "an inventory",
        "v1.Pipeline" => "a pipeline",
        "v1.Function" => "a function",
        "v1.Selector" => "a selector",
        "v1.Status" => "a status",
        "v1.Condition" => "a condition",
        "v1.RenderStatus" => "a renderStatus",
        "map[string]string" => "a mapping of texts",
        "int" => "a number",
        "bool" => "true or false",
        "string"
        | "v1.OriginType"
        | "v1.UpdateStrategyType"
        | "v1.ConditionStatus"
        | "framework.Severity" => "a text",
        _ => "a mapping",
    };
    words.into()
}
