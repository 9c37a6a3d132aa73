//! What can be said about all functions of a tree before the first of them runs.

use std::fmt;

use lanai_evaluate::{FunctionRef, Outlook};
use lanai_krm::Kptfile;
use lanai_krm::kptfile::{self, Function, Stage};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use crate::config::inside;
use crate::error::Cause;
use crate::image::{self, ImageError};
use crate::options::{ExecPolicy, Options};
use crate::pipeline::Run;
use crate::record::step;
use crate::tree::{Kptfiles, Node};
use crate::when;

/// Functions of a tree that cannot run. None of its functions did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrunnable {
    /// All of them, in the order of the packages and of their pipelines.
    pub functions: Vec<UnrunnableFunction>,
}

/// A function that cannot run, and where it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrunnableFunction {
    /// The Kptfile, as seen from the root.
    pub file: SafePath,
    /// The line in it, from 1.
    pub line: usize,
    /// The function.
    pub function: FunctionRef,
    /// Why it cannot run.
    pub obstacle: Obstacle,
}

/// Why a function cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// Nobody knows it.
    #[error("it is not one that comes with lanai, and there is nothing here that runs images in containers")]
    Unknown,
    /// It cannot be said which image is meant.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// It is a program, and programs may not be run. The text is kpt's.
    #[error("must run with `--allow-exec` option to allow running function binaries")]
    ExecRefused,
    /// It is known, and this is in the way.
    #[error("{0}")]
    Other(String),
}

impl fmt::Display for Unrunnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.functions.as_slice() {
            [only] => write!(f, "a function cannot run, and none did: {only}"),
            all => {
                write!(f, "{} functions cannot run, and none did:", all.len())?;
                all.iter().try_for_each(|function| write!(f, "\n  {function}"))
            }
        }
    }
}

impl std::error::Error for Unrunnable {}

impl fmt::Display for UnrunnableFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, function, obstacle } = self;
        write!(f, "{file}:{line}: {}: {obstacle}", Quoted(function.as_str()))
    }
}

/// Fails when a function of the tree is one that cannot run. Those whose condition is false whatever the resources are may be
/// unknown; pipelines that cannot be fail when their turn comes.
pub(crate) fn check(run: &mut Run<'_>, nodes: &[Node], kptfiles: &Kptfiles) -> Result<(), Cause> {
    let mut functions = Vec::new();
    for (node, kptfile) in nodes.iter().zip(kptfiles) {
        let Ok(kptfile) = kptfile else { continue };
        if !kptfile.validate().is_empty() {
            continue;
        }
        let file = kptfile::FILE_NAME.parse().ok().and_then(|name| inside(&node.folder, &name));
        let Some(file) = file else { continue };
        for stage in [Stage::Mutators, Stage::Validators] {
            for (index, function) in kptfile.functions(stage).iter().enumerate() {
                let Some((named, obstacle)) = obstacle(run, function) else { continue };
                let mut record = step(&function.name, &named, &function.when);
                record.execution_error = obstacle.to_string();
                record.exit_code = 1;
                run.steps_of(stage).push(record);
                let line = line(kptfile, stage, index);
                functions.push(UnrunnableFunction { file: file.clone(), line, function: named, obstacle });
            }
        }
    }
    if functions.is_empty() { Ok(()) } else { Err(Cause::Unrunnable(Unrunnable { functions })) }
}

/// What is in the way of a function, if that can be said.
fn obstacle(run: &Run<'_>, function: &Function) -> Option<(FunctionRef, Obstacle)> {
    let (named, resolved) = named(function, run.options);
    let refused = function.image.is_empty() && run.options.exec == ExecPolicy::Refused;
    let obstacle = match resolved {
        Err(error) => Obstacle::Image(error),
        Ok(()) if refused => Obstacle::ExecRefused,
        Ok(()) => match run.evaluator.foresee(&named, &run.options.grants) {
            Outlook::Runs => return None,
            Outlook::Unknown => Obstacle::Unknown,
            Outlook::Cannot(why) => Obstacle::Other(why),
        },
    };
    if when::never_holds(&function.when) { None } else { Some((named, obstacle)) }
}

/// The function that a pipeline means.
pub(crate) fn named(function: &Function, options: &Options<'_>) -> (FunctionRef, Result<(), ImageError>) {
    if function.image.is_empty() {
        return (FunctionRef::Exec(function.exec.clone()), Ok(()));
    }
    match image::resolve(&function.image, &function.tag, &options.image_prefix, options.tags) {
        Ok(image) => (FunctionRef::Image(image), Ok(())),
        Err(error) => (FunctionRef::Image(function.image.clone()), Err(error)),
    }
}

/// The line in which a function of a pipeline begins.
fn line(kptfile: &Kptfile, stage: Stage, index: usize) -> usize {
    let root = kptfile.document().root();
    let function = root.get("pipeline").and_then(|pipeline| pipeline.get(stage.as_str())?.at(index));
    function.unwrap_or(root).position().line
}
