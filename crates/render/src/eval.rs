//! One function on a whole tree, without pipelines.

use lanai_evaluate::{Evaluator, FunctionRef};
use lanai_krm::kptfile::{RenderStatus, Stage};
use lanai_krm::package::{Folder, Placed};
use lanai_krm::resource::Origin;
use lanai_krm::{Package, Resource, Selector};
use lanai_types::SafePath;

use crate::check;
use crate::error::{Cause, Failure, FunctionFailure, Why};
use crate::hydrate::placed;
use crate::options::Options;
use crate::pipeline::{Call, Called, Given, Keeps, Run};
use crate::record::{Inputs, ResultList};
use crate::render;
use crate::watch::Watch;

/// A function to be run on a tree.
#[derive(Clone, Debug)]
pub struct Step {
    /// Which one.
    pub function: FunctionRef,
    /// What configures it.
    pub config: Option<Resource>,
    /// A file that the function does not see, because it configures it.
    pub withheld: Option<SafePath>,
    /// Which resources it sees.
    pub selectors: Vec<Selector>,
    /// Which of these it does not.
    pub exclude: Vec<Selector>,
}

/// What a function made of a tree.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The package as it should be written.
    pub package: Package,
    /// All resources, in order; empty when the function failed.
    pub items: Vec<Resource>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// What the function did.
    pub results: ResultList,
}

/// What a function made of a list.
#[derive(Clone, Debug)]
pub struct EvaluatedItems {
    /// All resources, in order, each with its origin; empty when the function failed.
    pub items: Vec<Resource>,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// What the function did.
    pub results: ResultList,
}

/// Runs a function on all resources of a package and of the packages in it, as one list.
pub async fn eval(
    package: &Package,
    step: &Step,
    options: &Options<'_>,
    evaluator: &dyn Evaluator,
    watch: &mut dyn Watch,
) -> Evaluated {
    let failed = |cause: Cause, results: ResultList| {
        let failure = Some(failure(cause));
        Evaluated { package: package.clone(), items: Vec::new(), failure, results }
    };
    let (items, withheld) = match read(package, step, options) {
        Ok(read) => read,
        Err(cause) => return failed(cause, ResultList::default()),
    };
    let EvaluatedItems { mut items, failure, results } =
        call(package, items, step, options, evaluator, watch).await;
    if let Some(failure) = failure {
        return failed(failure.cause, results);
    }
    items.iter_mut().for_each(render::from_root);
    let mut changed = package.clone();
    let written = items.iter().cloned().map(render::placed).chain(withheld);
    match changed.write_resources(written, options.strict_read()) {
        Ok(()) => Evaluated { package: changed, items, failure: None, results },
        Err(cause) => failed(Cause::Write(cause), results),
    }
}

/// Runs a function on resources that say in annotations where they stand, if at all.
pub async fn eval_items(
    mut items: Vec<Resource>,
    step: &Step,
    options: &Options<'_>,
    evaluator: &dyn Evaluator,
    watch: &mut dyn Watch,
) -> EvaluatedItems {
    let package = Package::new(lanai_types::Limits::default());
    let limit = options.limits.max_items;
    let checked = if items.len() > limit {
        Err(Cause::TooManyItems { found: items.len(), limit })
    } else {
        let places = check::places(&mut items, &Folder::Root, None, &package);
        let places = places.and_then(|()| check::no_place_twice(&items));
        places.map_err(|problem| of_function(step, Why::Place(problem)))
    };
    if let Err(cause) = checked {
        let failure = Some(failure(cause));
        return EvaluatedItems { items: Vec::new(), failure, results: ResultList::default() };
    }
    call(&package, items, step, options, evaluator, watch).await
}

/// The resources of a package, each with its origin, and those of the file that is withheld.
fn read(
    package: &Package,
    step: &Step,
    options: &Options<'_>,
) -> Result<(Vec<Resource>, Vec<Placed>), Cause> {
    let located = package.resources(options.strict_read())?;
    let limit = options.limits.max_items;
    if located.len() > limit {
        return Err(Cause::TooManyItems { found: located.len(), limit });
    }
    let mut items = Vec::with_capacity(located.len());
    let mut withheld = Vec::new();
    for located in located {
        if step.withheld.as_ref() == Some(&located.path) {
            withheld.push(Placed::from(located));
            continue;
        }
        let (path, index) = (located.path, Some(located.index));
        items.push(placed(located.resource, Origin { package: Folder::Root, path, index, serial: None }));
    }
    Ok((items, withheld))
}

async fn call(
    package: &Package,
    mut items: Vec<Resource>,
    step: &Step,
    options: &Options<'_>,
    evaluator: &dyn Evaluator,
    watch: &mut dyn Watch,
) -> EvaluatedItems {
    let mut run = Run {
        package,
        options,
        evaluator,
        memory: None,
        watch,
        keeps: Keeps::Nothing,
        steps: RenderStatus::default(),
        results: ResultList::default(),
        inputs: Inputs::default(),
        executed: 0,
        recalled: 0,
        given: Given::default(),
        tape: None,
    };
    let call = Call {
        function: &step.function,
        stage: Stage::Mutators,
        config: step.config.as_ref(),
        selectors: &step.selectors,
        exclude: &step.exclude,
        when: "",
        running: &Folder::Root,
        name: None,
    };
    let called = run.call(&call, &mut items).await;
    let results = run.results;
    match called {
        Ok(Called::Ran(_) | Called::Skipped) => EvaluatedItems { items, failure: None, results },
        Err(why) => {
            let failure = Some(failure(of_function(step, why)));
            EvaluatedItems { items: Vec::new(), failure, results }
        }
    }
}

fn of_function(step: &Step, why: Why) -> Cause {
    let (function, field) = (step.function.clone(), String::new());
    Box::new(FunctionFailure { function, field, why, input: None }).into()
}

fn failure(cause: Cause) -> Failure {
    let message = cause.to_string();
    Failure { package: Folder::Root, cause, message }
}
