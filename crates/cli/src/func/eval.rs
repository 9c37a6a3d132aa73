//! `lanai fn eval`: runs one function.

use std::collections::BTreeMap;
use std::path::Path;

use lanai_evaluate::FunctionRef;
use lanai_krm::kptfile::check_image;
use lanai_krm::{Resource, ResourceList, Selector};
use lanai_render::{Evaluated, EvaluatedItems, ExecPolicy, Options, StatusPolicy, Step, config_map};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use super::args::{Eval, Matching};
use super::output::{self, Output};
use super::runtime::{self, Runtime};
use super::{grants, render, save, work};
use crate::failure::{Code, Failure, cause};
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::pkg::ignored;
use crate::pkg::local::{self, Local, Purpose};
use crate::pkg::patch;

pub(super) fn run(eval: &Eval, persona: Persona, io: &mut Io<'_>) -> Result<Exit, Failure> {
    check(eval, persona)?;
    output::prepare_results(eval.common.results_dir.as_deref(), io)?;
    let function = function(eval, io)?;
    let target = eval.target.first().map_or(Path::new("."), std::path::PathBuf::as_path);
    let options = runtime::options("", &eval.common, ExecPolicy::Allowed, StatusPolicy::Leave, persona, io)?;
    let step = Step {
        function,
        config: None,
        withheld: None,
        selectors: selector(&eval.matching, Side::Match)?.into_iter().collect(),
        exclude: selector(&eval.matching, Side::Exclude)?.into_iter().collect(),
    };
    if target == Path::new("-") {
        return stream(eval, step, &options, persona, io);
    }
    package(eval, target, step, &options, persona, io)
}

/// What can be said about the flags alone.
fn check(eval: &Eval, persona: Persona) -> Result<(), Failure> {
    if eval.include_meta_resources {
        return Err(Failure::of(
            Code::Usage,
            "--include-meta-resources is no longer necessary because meta resources are now included by default",
        ));
    }
    if eval.image.is_none() && eval.exec.is_none() {
        return Err(Failure::of(Code::Usage, "must specify --image or --exec"));
    }
    if persona == Persona::Lanai && eval.image.is_some() && eval.exec.is_some() {
        return Err(Failure::of(Code::Usage, "--image and --exec are two functions: give one of them"));
    }
    if eval.target.len() > 1 {
        return Err(Failure::of(Code::Usage, "0 or 1 arguments supported, function arguments go after '--'"));
    }
    if eval.fn_config.is_some() && !eval.arguments.is_empty() {
        return Err(Failure::of(
            Code::FunctionSetup,
            "function arguments can only be specified without function config file",
        ));
    }
    if persona == Persona::Kpt && eval.image.is_none() && grants::are_for_containers(&eval.common) {
        return Err(Failure::of(
            Code::Usage,
            "--mount, --as-current-user, --network and --env can only be used with container functions",
        ));
    }
    if eval.save {
        save::stage(eval.function_type.as_deref())?;
    }
    Ok(())
}

/// The function. Of an image and a command, the image counts; only kpt takes both.
fn function(eval: &Eval, io: &Io<'_>) -> Result<FunctionRef, Failure> {
    match (&eval.image, &eval.exec) {
        (Some(image), _) => {
            let prefix = runtime::image_prefix(&eval.common, io)?;
            let image = if image.contains('/') { image.clone() } else { format!("{prefix}/{image}") };
            check_image(&image).map_err(|error| {
                Failure::of(
                    Code::FunctionSetup,
                    format!("function image reference {} is invalid: {error}", Quoted(&image)),
                )
            })?;
            Ok(FunctionRef::Image(image))
        }
        (None, Some(exec)) => Ok(FunctionRef::Exec(exec.clone())),
        (None, None) => Err(Failure::of(Code::Usage, "must specify --image or --exec")),
    }
}

/// Runs the function on a folder or a file.
fn package(
    eval: &Eval,
    target: &Path,
    mut step: Step,
    options: &Options<'_>,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let output = Output::of(eval.output.as_deref(), persona, io)?;
    let in_place = output == Output::InPlace && !eval.diff;
    let purpose = if in_place { Purpose::Change("lanai fn eval") } else { Purpose::Look };
    let local = open(target, purpose, io)?;
    output.check_outside(&local.root)?;
    ignored::warn(&local.package, persona.dialect(), io);
    let inside = config(eval, &mut step, &local.root, io)?;
    step.withheld.clone_from(&inside);
    let runtime = Runtime::new(&eval.common, persona, io)?;
    let package = &local.package;
    let Evaluated { package: after, items, failure, results } = work::watched(1, io, |mut watch| {
        let (step, options, evaluator) = (&step, options, &*runtime.evaluator);
        async move { lanai_render::eval(package, step, options, evaluator, &mut *watch).await }
    })?;
    if io.stop.is_asked() {
        return Err(Failure::NobodyReads);
    }
    runtime.tell_shortfalls(io);
    let folder = eval.common.results_dir.as_deref();
    if let Some(failure) = failure {
        output::write_results(&results, folder, io)?;
        return render::told(&failure);
    }
    if eval.diff {
        let labels = patch::Labels { before: "a", after: "b" };
        io.print(&patch::changes(&local.package, &after, labels, io.colour))?;
        return output::write_results(&results, folder, io).map(|()| Exit::Success);
    }
    let (after, note) =
        if eval.save && in_place { save::into(&after, eval, &step, inside.as_ref())? } else { (after, None) };
    if in_place {
        not_read(&local, &after)?;
        local.write(&after, io)?;
    }
    output.put(&items, io)?;
    if let Some(note) = note {
        io.tell(&note);
    }
    output::write_results(&results, folder, io)?;
    Ok(Exit::Success)
}

/// Fails when something would be written over a file that was not read, because only another one was.
fn not_read(local: &Local, after: &lanai_krm::Package) -> Result<(), Failure> {
    let is_new = |path: &&SafePath| local.package.get(path).is_none();
    let mut new = after.iter().map(|(path, _)| path).filter(is_new);
    match new.find(|path| local.root.join(path.as_str()).symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(path) => Err(Failure::of(
            Code::FunctionSetup,
            format!(
                "the function made a resource for {}, but {} is there already and was not read",
                Quoted(path.as_str()),
                Quoted(path.as_str())
            ),
        )
        .hint("run it on the folder, not on one file")),
    }
}

/// Opens a folder, or a file as if it were alone in its folder.
pub(super) fn open(target: &Path, purpose: Purpose, io: &mut Io<'_>) -> Result<Local, Failure> {
    if local::absolute(target, io)?.is_file() {
        Local::open_file(target, purpose, io)
    } else {
        Local::open(target, purpose, io)
    }
}

/// Runs the function on what comes from standard input.
fn stream(
    eval: &Eval,
    mut step: Step,
    options: &Options<'_>,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let output = match Output::of(eval.output.as_deref(), persona, io)? {
        Output::InPlace => Output::List,
        output => output,
    };
    let root = local::absolute(Path::new("."), io)?;
    config(eval, &mut step, &root, io)?;
    let list = read_list(io)?;
    // A list may bring its own; kpt does not look at that.
    if persona == Persona::Lanai && eval.fn_config.is_none() && eval.arguments.is_empty() {
        step.config = list.function_config.clone().or(step.config);
    }
    let runtime = Runtime::new(&eval.common, persona, io)?;
    let EvaluatedItems { items, failure, results } = work::watched(1, io, |mut watch| {
        let (step, options, evaluator) = (&step, options, &*runtime.evaluator);
        async move { lanai_render::eval_items(list.items, step, options, evaluator, &mut *watch).await }
    })?;
    if io.stop.is_asked() {
        return Err(Failure::NobodyReads);
    }
    runtime.tell_shortfalls(io);
    let folder = eval.common.results_dir.as_deref();
    output::write_results(&results, folder, io)?;
    if let Some(failure) = failure {
        return render::told(&failure);
    }
    output.put(&items, io)?;
    Ok(Exit::Success)
}

/// Reads resources from standard input, in any form.
pub(crate) fn read_list(io: &mut Io<'_>) -> Result<ResourceList, Failure> {
    let mut text = String::new();
    io.stdin
        .read_to_string(&mut text)
        .map_err(|error| Failure::of(Code::File, format!("cannot read standard input: {}", cause(&error))))?;
    ResourceList::parse_any(&text)
        .map_err(|error| Failure::of(Code::Text, format!("standard input: {error}")))
}

/// Sets the configuration of the function; tells which file of the folder it came from, if it did.
fn config(eval: &Eval, step: &mut Step, root: &Path, io: &Io<'_>) -> Result<Option<SafePath>, Failure> {
    let Some(file) = &eval.fn_config else {
        step.config = Some(arguments(&eval.arguments)?);
        return Ok(None);
    };
    step.config = Some(config_file(file, io)?);
    let path = local::absolute(file, io)?;
    let path = std::fs::canonicalize(&path).unwrap_or(path);
    let inside = path.strip_prefix(root).ok().and_then(Path::to_str).and_then(|path| path.parse().ok());
    if eval.save && inside.is_none() {
        return Err(Failure::of(
            Code::FunctionSetup,
            format!(
                "--fn-config must be under {} if saving functions to Kptfile (--save=true)",
                root.display()
            ),
        ));
    }
    Ok(inside)
}

/// The one resource of a file that configures a function.
pub(super) fn config_file(file: &Path, io: &Io<'_>) -> Result<Resource, Failure> {
    let shown = file.display().to_string();
    let path = local::absolute(file, io)?;
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Failure::of(Code::FunctionSetup, format!("missing function config file: {shown}")));
        }
        Err(error) => {
            return Err(Failure::of(
                Code::File,
                format!("cannot read {}: {}", Quoted(&shown), cause(&error)),
            ));
        }
    };
    let named = Quoted(&shown).to_string();
    let mut resources = Resource::parse_stream(&text)
        .map_err(|error| Failure::of(Code::FunctionSetup, format!("{shown}: {error}")))?;
    match (resources.pop(), resources.len()) {
        (None, _) => Err(Failure::of(Code::FunctionSetup, format!("functionConfig {named} is empty"))),
        (Some(config), 0) => match config.check_krm() {
            Ok(()) => Ok(config),
            Err(missing) => {
                Err(Failure::of(Code::FunctionSetup, format!("functionConfig {named}: {missing}")))
            }
        },
        (Some(_), more) => Err(Failure::of(
            Code::FunctionSetup,
            format!("functionConfig {named} must not contain more than one config, got {}", more + 1),
        )),
    }
}

/// The configuration that arguments spell: an optional kind, then keys and values.
fn arguments(arguments: &[String]) -> Result<Resource, Failure> {
    let (kind, rest) = match arguments.split_first() {
        Some((first, rest)) if !first.contains('=') => (first.as_str(), rest),
        _ => ("ConfigMap", arguments),
    };
    let pairs = rest.iter().map(|argument| argument.split_once('=')).collect::<Option<Vec<_>>>();
    let Some(pairs) = pairs else {
        return Err(Failure::of(Code::FunctionSetup, "args must have keys and values separated by ="));
    };
    config_map(kind, pairs).map_err(|error| {
        Failure::of(Code::FunctionSetup, format!("the arguments cannot be written: {error}"))
    })
}

/// Which flags make a selector.
#[derive(Clone, Copy)]
enum Side {
    Match,
    Exclude,
}

/// The selector that flags spell; none when there are no such flags.
fn selector(flags: &Matching, side: Side) -> Result<Option<Selector>, Failure> {
    let selector = match side {
        Side::Match => Selector {
            api_version: flags.match_api_version.clone(),
            kind: flags.match_kind.clone(),
            name: flags.match_name.clone(),
            namespace: flags.match_namespace.clone(),
            labels: pairs("--match-labels", &flags.match_labels)?,
            annotations: pairs("--match-annotations", &flags.match_annotations)?,
        },
        Side::Exclude => Selector {
            api_version: flags.exclude_api_version.clone(),
            kind: flags.exclude_kind.clone(),
            name: flags.exclude_name.clone(),
            namespace: flags.exclude_namespace.clone(),
            labels: pairs("--exclude-labels", &flags.exclude_labels)?,
            annotations: pairs("--exclude-annotations", &flags.exclude_annotations)?,
        },
    };
    Ok((!selector.is_empty()).then_some(selector))
}

fn pairs(flag: &str, texts: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let pair = |text: &String| {
        let (key, value) = text.split_once('=').ok_or_else(|| {
            Failure::of(
                Code::FunctionSetup,
                format!("{flag} {}: a key and a value are separated by =", Quoted(text)),
            )
        })?;
        Ok((key.to_owned(), value.to_owned()))
    };
    texts.iter().map(pair).collect()
}
