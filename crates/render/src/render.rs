//! Rendering a tree of packages.

use std::collections::HashSet;

use lanai_evaluate::Evaluator;
use lanai_krm::kptfile::RenderStatus;
use lanai_krm::package::{self, Folder, Located, Placed, Reading};
use lanai_krm::resource::Origin;
use lanai_krm::{Kptfile, Package, Resource, kptfile};
use lanai_types::SafePath;

use crate::attribution::{Change, attribute};
use crate::check;
use crate::config::inside;
use crate::error::{Cause, Error, Failure};
use crate::held::Held;
use crate::hydrate::hydrate;
use crate::message::Place;
use crate::options::{Options, StatusPolicy};
use crate::pipeline::{Given, Keeps, Run};
use crate::record::{Inputs, ResultList};
use crate::status;
use crate::tree::{self, Kptfiles, Node, Order};
use crate::watch::Watch;

/// What a render made of a package.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The package as it should be written in place: rendered; or, when the render failed, as it was but for its status, unless the
    /// package asks for what was done to be kept.
    pub package: Package,
    /// All resources, in order, each with its origin as seen from the root; empty when the render failed.
    pub items: Vec<Resource>,
    /// How it ended.
    pub outcome: Outcome,
    /// What the functions did.
    pub results: ResultList,
    /// What the status of the root Kptfile says about the steps.
    pub status: RenderStatus,
    /// What was read.
    pub inputs: Inputs,
    /// How many functions passed.
    pub executed: usize,
    /// How many of them did not run, because the evaluator remembered what they answer.
    pub recalled: usize,
    /// How many packages there are.
    pub packages: usize,
}

/// How a render ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// All functions passed.
    Success,
    /// Something failed, and the package is not to be changed but for its status.
    Failed(Failure),
    /// Something failed, and what was done before is kept.
    Partial(Failure),
}

impl Outcome {
    /// Why it failed, if it did.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Success => None,
            Self::Failed(failure) | Self::Partial(failure) => Some(failure),
        }
    }
}

impl Rendered {
    /// Makes resources of Config Connector tell that functions were run on them, as with kpt: in the annotation
    /// `cnrm.cloud.google.com/blueprint`. What failed and was not kept stays as it is.
    ///
    /// # Errors
    /// When the package cannot be written; then nothing changed.
    pub fn attribute(&mut self, options: &Options<'_>) -> Result<(), package::Error> {
        if matches!(self.outcome, Outcome::Failed(_)) {
            return Ok(());
        }
        let mut located = self.package.resources(options.strict_read())?;
        let changes = located.iter_mut().map(|located| attribute(&mut located.resource));
        if changes.filter(|change| *change == Change::Made).count() > 0 {
            self.package.write_resources(located, options.strict_read())?;
            for item in &mut self.items {
                attribute(item);
            }
        }
        Ok(())
    }
}

/// Runs all pipelines of a package and of the packages in it.
///
/// # Errors
/// When the root package cannot be opened. Everything else that goes wrong is an outcome.
pub async fn render(
    package: &Package,
    options: &Options<'_>,
    evaluator: &dyn Evaluator,
    watch: &mut dyn Watch,
) -> Result<Rendered, Error> {
    let nodes = tree::packages(package, &options.name);
    let kptfiles = tree::kptfiles(package, &nodes);
    let root = open(package, &nodes, &kptfiles)?;
    let reading = package.reading(options.strict_read());
    let on_failure = if tree::saves_on_failure(root) { Keeps::Before } else { Keeps::Nothing };
    let memory = evaluator.memory();
    let mut run = Run {
        package,
        options,
        evaluator: memory.map_or(evaluator, |memory| memory.evaluator()),
        memory,
        watch,
        keeps: on_failure,
        steps: RenderStatus::default(),
        results: ResultList::default(),
        inputs: Inputs::of(package, options, &nodes, &kptfiles),
        executed: 0,
        recalled: 0,
        given: Given::default(),
        tape: None,
    };
    let order = tree::order(root);
    let mut held = Held::new(order);
    let mut done = hydrate(&mut run, &nodes, &kptfiles, order, reading.as_ref(), &mut held).await;
    if let Err(failure) = &mut done
        && let Cause::Function(function) = &mut failure.cause
        && let Some(call) = run.given.lost.filter(|_| function.input.is_none())
    {
        // Only functions that are cheap to repeat ran up to there.
        let given = Given::of_call(call);
        let mut again = Run { given, watch: &mut (), keeps: Keeps::Nothing, ..run.afresh() };
        let mut held = Held::new(order);
        // It ends where it ended before.
        let ended = hydrate(&mut again, &nodes, &kptfiles, order, reading.as_ref(), &mut held).await;
        if let Err(Failure { cause: Cause::Function(ended), .. }) = ended {
            function.input = ended.input;
        }
    }
    let Run { mut steps, results, inputs, executed, recalled, .. } = run;
    if done.is_err() {
        steps.error_summary = status::summary(&steps);
    }
    let place = Place { nodes: &nodes, at: 0, order: Order::DepthFirst };
    let fails = |error| place.failure(Cause::Write(error));
    let Concluded { package: mut after, items, mut outcome } =
        conclude(package, reading.ok().as_ref(), done, held, on_failure, fails);
    if options.status == StatusPolicy::Write
        && let Err(error) = status::write(&mut after, package, &outcome, &steps, &options.limits)
        && matches!(outcome, Outcome::Success)
    {
        // A Kptfile that told of an earlier render would not be true of this one.
        outcome = Outcome::Failed(place.failure(Cause::Status(error)));
        after = package.clone();
    }
    let package = after;
    let (status, packages) = (steps, nodes.len());
    Ok(Rendered { package, items, outcome, results, status, inputs, executed, recalled, packages })
}

/// The Kptfile of the root, if its pipeline can be.
fn open<'k>(package: &Package, nodes: &[Node], kptfiles: &'k Kptfiles) -> Result<&'k Kptfile, Error> {
    let is_root = nodes.first().is_some_and(|node| node.folder == Folder::Root);
    let root = kptfiles.first().filter(|_| is_root).ok_or(kptfile::Error::NotFound)?;
    let root = root.as_ref().map_err(Clone::clone)?;
    check::pipeline(package, &Folder::Root, root).map_err(|bad| bad.invalid)?;
    Ok(root)
}

struct Concluded {
    package: Package,
    items: Vec<Resource>,
    outcome: Outcome,
}

/// What becomes of the package.
fn conclude(
    package: &Package,
    reading: Option<&Reading>,
    done: Result<(), Failure>,
    held: Held,
    on_failure: Keeps,
    fails: impl FnOnce(package::Error) -> Failure,
) -> Concluded {
    let unchanged = |outcome| Concluded { package: package.clone(), items: Vec::new(), outcome };
    let Some(reading) = reading else {
        return unchanged(match done {
            Ok(()) => Outcome::Success,
            Err(failure) => Outcome::Failed(failure),
        });
    };
    match (done, on_failure) {
        (Ok(()), _) => {
            let items = finished(held);
            match write(package, reading, items.iter().cloned().map(placed)) {
                Ok(package) => Concluded { package, items, outcome: Outcome::Success },
                Err(error) => unchanged(Outcome::Failed(fails(error))),
            }
        }
        (Err(failure), Keeps::Nothing) => unchanged(Outcome::Failed(failure)),
        (Err(failure), Keeps::Before) => match save(package, reading, finished(held)) {
            Ok(package) => Concluded { package, items: Vec::new(), outcome: Outcome::Partial(failure) },
            Err(_) => unchanged(Outcome::Failed(failure)),
        },
    }
}

/// All resources in order, with places as seen from the root.
fn finished(held: Held) -> Vec<Resource> {
    let mut items = held.into_items();
    items.iter_mut().for_each(from_root);
    items
}

/// Says where a resource stands as seen from the root.
pub(crate) fn from_root(item: &mut Resource) {
    if let Some(origin) = item.origin().cloned()
        && origin.package != Folder::Root
        && let Some(path) = inside(&origin.package, &origin.path)
    {
        item.set_origin(Some(Origin { package: Folder::Root, path, ..origin }));
    }
}

/// A resource that [`from_root`] has seen, for writing.
pub(crate) fn placed(item: Resource) -> Placed {
    let (path, index) = match item.origin() {
        Some(origin) => (Some(origin.path.clone()), origin.index),
        None => (None, None),
    };
    Placed { resource: item, path, index }
}

fn write(
    package: &Package,
    reading: &Reading,
    items: impl Iterator<Item = Placed>,
) -> Result<Package, package::Error> {
    let mut changed = package.clone();
    changed.write_over(reading, items)?;
    Ok(changed)
}

/// Writes what there is into the files that it belongs to. No file goes: those that nothing belongs to stay as they were, of
/// packages that were not reached and of resources that went away alike.
fn save(package: &Package, reading: &Reading, items: Vec<Resource>) -> Result<Package, package::Error> {
    let written: HashSet<SafePath> =
        items.iter().filter_map(|item| Some(item.origin()?.path.clone())).collect();
    let mut kept: Vec<Located> = Vec::new();
    for file in reading.resources_by_file() {
        if !written.contains(&file.path) {
            kept.extend(file.resources?);
        }
    }
    write(package, reading, items.into_iter().map(placed).chain(kept.into_iter().map(Placed::from)))
}
