//! What can be said about a pipeline without looking at files.

use std::fmt;

use lanai_types::quote::Quoted;

use super::fields::{Function, Pipeline, Stage};
use super::image;

/// A field whose value cannot be. `Display` gives the text that kpt prints, with a line break at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Where: `pipeline.mutators[0].image`.
    pub field: String,
    /// What is there, where that says something.
    pub value: Option<String>,
    /// Why it cannot be.
    pub reason: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Kptfile is invalid:\nField: `{}`", self.field)?;
        if let Some(value) = &self.value {
            writeln!(f, "Value: {}", Quoted(value))?;
        }
        writeln!(f, "Reason: {}", self.reason)
    }
}

impl std::error::Error for Invalid {}

/// The first thing that is wrong with each function, mutators before validators.
pub fn pipeline(pipeline: &Pipeline) -> Vec<Invalid> {
    let stages = [Stage::Mutators, Stage::Validators].into_iter();
    let functions = stages.flat_map(|stage| {
        pipeline.stage(stage).iter().enumerate().map(move |(index, function)| (stage, index, function))
    });
    functions
        .filter_map(|(stage, index, function)| {
            check(function, &format!("pipeline.{}[{index}]", stage.as_str())).err()
        })
        .collect()
}

fn check(function: &Function, field: &str) -> Result<(), Invalid> {
    let whole = |reason: &str| Err(Invalid { field: field.into(), value: None, reason: reason.into() });
    let part = |name: &str, value: &str, reason: String| {
        Err(Invalid { field: format!("{field}.{name}"), value: Some(value.into()), reason })
    };
    let Function { image, exec, config_path, config_map, .. } = function;
    match (image.is_empty(), exec.is_empty()) {
        (true, true) => return whole("must specify a functon (`image` or `exec`) to execute"),
        (false, false) => return whole("must not specify both `image` and `exec` at the same time"),
        (false, true) => {
            if let Err(error) = image::check(image) {
                let reason = format!("function image reference {} is invalid: {error}", Quoted(image));
                return part("image", image, reason);
            }
        }
        (true, false) => {}
    }
    if !config_map.is_empty() && !config_path.is_empty() {
        return whole("functionConfig must not specify both `configMap` and `configPath` at the same time");
    }
    if !config_path.is_empty()
        && let Some(reason) = path_problem(config_path)
    {
        return part("configPath", config_path, reason.into());
    }
    Ok(())
}

/// Why a path cannot name a file of the package.
fn path_problem(path: &str) -> Option<&'static str> {
    if path.trim().is_empty() {
        Some("path must not be empty")
    } else if path.starts_with('/') {
        Some("path must be relative")
    } else if clean(path).contains("..") {
        Some("path must not be outside the package")
    } else {
        None
    }
}

/// The path without `.` and without the `..` that lead back to where it came from.
fn clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match parts.last() {
            Some(last) if part == ".." && *last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
