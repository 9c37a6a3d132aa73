//! `lanai fn render`: runs the pipelines of a package.

use std::ffi::OsStr;

use lanai_evaluate::Error as EvaluateError;
use lanai_krm::kptfile::Stage;
use lanai_krm::package::{Folder, Mode};
use lanai_krm::{Kptfile, Package, Resource, digest};
use lanai_render::{
    Cause, ExecPolicy, Failure as RenderFailure, Obstacle, Outcome, Rendered, StatusPolicy,
    UnrunnableFunction, Why,
};
use lanai_types::quote::Quoted;

use super::args::Render;
use super::output::{self, Output};
use super::runtime::{self, Runtime};
use super::watching::{self, Left};
use super::{replay, work};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::pkg::ignored;
use crate::pkg::local::{Local, Purpose};
use crate::pkg::patch;

/// The variable that keeps resources of Config Connector from telling which tools they went through.
const NO_ATTRIBUTION: &str = "KRM_DISABLE_ATTRIBUTION";

/// Whether a resource is one of Config Connector.
fn is_cnrm(item: &Resource) -> bool {
    item.api_version().is_some_and(|version| version.contains(".cnrm."))
}

pub(super) fn run(render: &Render, persona: Persona, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let output = Output::of(render.output.as_deref(), persona, io)?;
    if render.watch {
        return watching::run(&render.folder, io, |io| once(render, &output, persona, io));
    }
    once(render, &output, persona, io).map(|left| left.exit)
}

/// Renders once.
fn once(render: &Render, output: &Output, persona: Persona, io: &mut Io<'_>) -> Result<Left, Failure> {
    output::prepare_results(render.common.results_dir.as_deref(), io)?;
    let changes = *output == Output::InPlace && !render.diff;
    let purpose = if changes { Purpose::Change("lanai fn render") } else { Purpose::Look };
    let local = Local::open(&render.folder, purpose, io)?;
    output.check_outside(&local.root)?;
    ignored::warn(&local.package, persona.dialect(), io);
    let status = if render.no_status || !changes { StatusPolicy::Leave } else { StatusPolicy::Write };
    let exec = if render.allow_exec { ExecPolicy::Allowed } else { ExecPolicy::Refused };
    let options = runtime::options(&local.name(), &render.common, exec, status, persona, io)?;
    let mut runtime = Runtime::new(&render.common, persona, io)?;
    if !render.no_cache {
        runtime = runtime.remembering(&local.root, io);
    }
    let package = &local.package;
    let rendered = work::watched(functions(package), io, |mut watch| {
        let (options, evaluator) = (&options, &*runtime.evaluator);
        async move { lanai_render::render(package, options, evaluator, &mut *watch).await }
    })?;
    if io.stop.is_asked() {
        return Err(Failure::NobodyReads);
    }
    runtime.tell_shortfalls(io);
    if render.explain {
        runtime.explain(io);
    }
    let mut rendered = rendered.map_err(|error| unopened(&error, &local))?;
    if !io.environment.contains_key(OsStr::new(NO_ATTRIBUTION)) && rendered.items.iter().any(is_cnrm) {
        rendered.attribute(&options).map_err(|error| Failure::of(Code::FunctionFailed, error.to_string()))?;
    }
    let files = if render.watch { digest::tree_id(&rendered.package).ok() } else { None };
    let exit = match conclude(render, output, &local, &rendered, persona, io) {
        Err(Failure::Told(message)) => {
            io.tell(&message.told_as(persona));
            Exit::Failure
        }
        exit => exit?,
    };
    Ok(Left { exit, files })
}

fn conclude(
    render: &Render,
    output: &Output,
    local: &Local,
    rendered: &Rendered,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let results = render.common.results_dir.as_deref();
    match &rendered.outcome {
        Outcome::Success if render.diff => {
            let labels = patch::Labels { before: "a", after: "b" };
            io.print(&patch::changes(&local.package, &rendered.package, labels, io.colour))?;
            output::write_results(&rendered.results, results, io)?;
            Ok(Exit::Success)
        }
        Outcome::Success => {
            local.write(&rendered.package, io)?;
            output.put(&rendered.items, io)?;
            if *output == Output::InPlace {
                io.tell(&format!(
                    "Successfully executed {} function(s) in {} package(s).",
                    rendered.executed, rendered.packages
                ));
            }
            output::write_results(&rendered.results, results, io)?;
            Ok(Exit::Success)
        }
        Outcome::Failed(failure) | Outcome::Partial(failure) => {
            if *output == Output::InPlace && !render.diff {
                local.write(&rendered.package, io)?;
            }
            if matches!(rendered.outcome, Outcome::Partial(_)) {
                io.tell(&if rendered.executed == 0 {
                    format!("Failed to execute any functions in {} package(s).", rendered.packages)
                } else {
                    format!(
                        "Partially executed {} function(s) in {} package(s).",
                        rendered.executed, rendered.packages
                    )
                });
            }
            output::write_results(&rendered.results, results, io)?;
            let told = told(failure);
            replay::offer(failure, &local.root, &render.common, persona, io);
            // The function said it itself.
            if let (Ok(_), Persona::Lanai) = (&told, persona) {
                io.tell(&Code::FunctionFailed.line());
            }
            told
        }
    }
}

/// What helps where a function is unknown.
const KNOWN: &str =
    "\"lanai fn list\" names those that come with it; --native=any takes them for images of any registry";

/// What is said about a failure behind the lines about the function. A function that said it itself needs no more words.
pub(super) fn told(failure: &RenderFailure) -> Result<Exit, Failure> {
    let Cause::Function(function) = &failure.cause else {
        let code = match &failure.cause {
            Cause::Unrunnable(_) => Code::FunctionUnknown,
            Cause::Kptfile(_) | Cause::Invalid(_) | Cause::Status(_) => Code::Kptfile,
            Cause::Config(_) => Code::FunctionSetup,
            Cause::Read(_) | Cause::Input(_) | Cause::Write(_) => Code::Text,
            Cause::TooDeep { .. } | Cause::TooManyItems { .. } => Code::Limit,
            _ => Code::FunctionFailed,
        };
        let failed = Failure::of(code, failure.to_string());
        if let Cause::Unrunnable(unrunnable) = &failure.cause {
            let is_unknown = |function: &UnrunnableFunction| function.obstacle == Obstacle::Unknown;
            return Err(if unrunnable.functions.iter().any(is_unknown) {
                failed.hint(KNOWN)
            } else {
                failed
            });
        }
        return Err(match &failure.package {
            Folder::Root => failed,
            Folder::At(path) => failed.context(&format!("package {}", Quoted(path.as_str()))),
        });
    };
    let spoke = |stderr: &str, results: usize| !stderr.trim().is_empty() || results > 0;
    if let Why::Evaluation(EvaluateError::Failed(failed)) = &function.why
        && matches!(failed.why, lanai_evaluate::Failing::Exit(_))
        && spoke(&failed.stderr, failed.results.len())
    {
        return Ok(Exit::Failure);
    }
    if let Why::Evaluation(EvaluateError::NotFound(request)) = &function.why {
        let shown = Quoted(request.function.as_str()).to_string();
        return Err(Failure::of(Code::FunctionUnknown, format!("function {shown}: {}", Obstacle::Unknown))
            .hint(KNOWN));
    }
    Err(Failure::of(
        Code::FunctionFailed,
        format!("function {}{}: {failure}", Quoted(function.function.as_str()), culprit(&function.why)),
    ))
}

/// Which resource of the answer of a function cannot be accepted, and where in it that is said.
fn culprit(why: &Why) -> String {
    match why {
        Why::Place(problem) => {
            let field = problem.field.as_ref().map(|field| format!(", {field}")).unwrap_or_default();
            format!(", item {} of its answer, {}{field}", problem.item, problem.resource)
        }
        Why::Output(problem) => format!(", item {} of its answer", problem.item),
        _ => String::new(),
    }
}

/// A package that cannot be opened.
fn unopened(error: &lanai_render::Error, local: &Local) -> Failure {
    let lanai_render::Error::Kptfile(error) = error else {
        return Failure::of(Code::Text, error.to_string().trim_end().to_owned());
    };
    let root = local.root.display().to_string();
    let text = error.report(&root, "ghcr.io/kptdev/krm-functions-catalog");
    let is_missing = *error == lanai_krm::kptfile::Error::NotFound;
    let code = if is_missing { Code::NoPackage } else { Code::Kptfile };
    let failure = Failure::of(code, text.strip_prefix("Error: ").unwrap_or(&text).to_owned());
    if !is_missing {
        return failure;
    }
    let path = lanai_krm::kptfile::FILE_NAME.parse().ok();
    let is_link =
        path.and_then(|path| local.package.get(&path)).is_some_and(|file| file.mode() == Mode::Symlink);
    let inside = || local.root.ancestors().skip(1).find(|folder| folder.join("Kptfile").is_file());
    match (is_link, inside()) {
        (true, _) => failure
            .hint("the Kptfile there is a symbolic link, which is not followed; put the file itself there"),
        (false, Some(package)) => {
            let package = package.display().to_string();
            failure.hint(format!("the folder is in the package {}; render that one", Quoted(&package)))
        }
        (false, None) => failure.hint("\"lanai pkg init\" makes a package of a folder"),
    }
}

/// How many functions the pipelines of a package have.
fn functions(package: &Package) -> usize {
    let kptfiles = package.iter().filter(|(path, _)| path.file_name() == lanai_krm::kptfile::FILE_NAME);
    let counts = kptfiles.filter_map(|(_, file)| {
        let kptfile = Kptfile::parse(&String::from_utf8_lossy(file.content())).ok()?;
        Some(kptfile.functions(Stage::Mutators).len() + kptfile.functions(Stage::Validators).len())
    });
    counts.sum()
}
