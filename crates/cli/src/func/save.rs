//! A function that is kept in the pipeline of a package.

use lanai_evaluate::FunctionRef;
use lanai_krm::kptfile::{Function, Stage};
use lanai_krm::package::File;
use lanai_krm::{Kptfile, Package};
use lanai_render::Step;
use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use super::args::Eval;
use crate::failure::{Code, Failure};

/// Which part of the pipeline is meant.
pub(super) fn stage(function_type: Option<&str>) -> Result<Stage, Failure> {
    match function_type {
        None => Err(Failure::of(
            Code::Usage,
            "--type must be specified if saving functions to Kptfile (--save=true)",
        )),
        Some("mutator") => Ok(Stage::Mutators),
        Some("validator") => Ok(Stage::Validators),
        Some(_) => Err(Failure::of(Code::Usage, "--type must be either `mutator` or `validator`")),
    }
}

/// The package with the function in its pipeline, and what to say about that.
///
/// A function with the same image or command is replaced, another one comes last.
pub(super) fn into(
    package: &Package,
    eval: &Eval,
    step: &Step,
    config: Option<&SafePath>,
) -> Result<(Package, Option<String>), Failure> {
    let stage = stage(eval.function_type.as_deref())?;
    let path: SafePath = "Kptfile".parse().map_err(|_| Failure::of(Code::Kptfile, "Kptfile is no path"))?;
    let Some(file) = package.get(&path) else {
        return Ok((package.clone(), Some("function not added: Kptfile not exists".to_owned())));
    };
    let mode = file.mode();
    let mut kptfile = Kptfile::parse(&String::from_utf8_lossy(file.content()))
        .map_err(|error| Failure::of(Code::Kptfile, format!("function not added: {error}")))?;
    let function = function(eval, step, config);
    let name = step.function.as_str().to_owned();
    let (kind, word) = match stage {
        Stage::Mutators => ("mutator", "mutators"),
        Stage::Validators => ("validator", "validators"),
    };
    let same = |other: &Function| other.image == function.image && other.exec == function.exec;
    let there = kptfile.functions(stage).iter().position(same);
    let edited = kptfile.edit(|fields| {
        let pipeline = fields.pipeline.get_or_insert_default();
        let functions = match stage {
            Stage::Mutators => &mut pipeline.mutators,
            Stage::Validators => &mut pipeline.validators,
        };
        match there {
            Some(index) => functions[index] = function,
            None => functions.push(function),
        }
    });
    edited
        .map_err(|error| Failure::of(Code::Kptfile, format!("cannot edit {word} of the Kptfile: {error}")))?;
    let mut changed = package.clone();
    changed
        .insert(path, File::new(kptfile.to_string().into_bytes(), mode))
        .map_err(|error| Failure::of(Code::Kptfile, error.to_string()))?;
    let verb = if there.is_some() { "Updated" } else { "Added" };
    Ok((changed, Some(format!("{verb} {} as {kind} in the Kptfile.", Quoted(&name)))))
}

fn function(eval: &Eval, step: &Step, config: Option<&SafePath>) -> Function {
    let (image, exec) = match &step.function {
        FunctionRef::Image(image) => (image.clone(), String::new()),
        FunctionRef::Exec(exec) => (String::new(), exec.clone()),
    };
    let pairs = eval.arguments.iter().filter_map(|argument| argument.split_once('='));
    let config_map = if config.is_some() {
        std::collections::BTreeMap::new()
    } else {
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    };
    Function {
        image,
        exec,
        tag: eval.tag.clone(),
        config_path: config.map(ToString::to_string).unwrap_or_default(),
        config_map,
        selectors: step.selectors.clone(),
        exclude: step.exclude.clone(),
        ..Function::default()
    }
}
