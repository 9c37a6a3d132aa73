//! Running the functions of one package on its resources.

use lanai_evaluate::record::Call as Taped;
use lanai_evaluate::{Deadline, Error as EvaluateError, Evaluator, Failing, FunctionRef, Memory, Request};
use lanai_krm::kptfile::{Function, Kptfile, RenderStatus, Stage, StepResult};
use lanai_krm::package::Folder;
use lanai_krm::resource::Origin;
use lanai_krm::result::Severity;
use lanai_krm::select::selected;
use lanai_krm::{Package, Resource, ResourceList, ResultItem, Selector};

use crate::error::{Cause, FunctionFailure, Why};
use crate::options::{ExecPolicy, Options, RenderLimits};
use crate::record::{FunctionResult, Inputs, ResultList, step};
use crate::tree::Node;
use crate::watch::{Event, Running, Watch};
use crate::{ahead, check, config, remember, status, when};

/// Functions at work, and what is written down about them.
pub(crate) struct Run<'a> {
    pub package: &'a Package,
    pub options: &'a Options<'a>,
    pub evaluator: &'a dyn Evaluator,
    /// What is remembered of steps, if anything is.
    pub memory: Option<&'a dyn Memory>,
    pub watch: &'a mut dyn Watch,
    /// Whether the resources must be as they were when a function fails.
    pub keeps: Keeps,
    pub steps: RenderStatus,
    pub results: ResultList,
    pub inputs: Inputs,
    /// How many functions ran and passed.
    pub executed: usize,
    /// How many of these did not run, because what they answer was remembered.
    pub recalled: usize,
    /// What the function got that failed last.
    pub given: Given,
    /// What functions said, while a step runs that is to be remembered.
    pub tape: Option<Vec<Taped>>,
}

/// What the function got that failed last. While a list is kept, each edit of a resource copies it; so lists are not kept as long
/// as all functions are such that running them again costs next to nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    /// The list.
    pub kept: Option<Box<ResourceList>>,
    /// Which call it was, from 0, when the list was not kept.
    pub lost: Option<usize>,
    /// The call whose list is wanted: the run ends there.
    pub wanted: Option<usize>,
    /// How many calls there were.
    calls: usize,
    /// Whether a function was called that is not to be run again.
    unrepeatable: bool,
}

/// What is left of the resources when a function fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// What was there before it.
    Before,
    /// Nothing: nobody asks for it, and keeping it costs memory.
    Nothing,
}

/// A function that is ready to run.
pub(crate) struct Ready<'a> {
    pub function: FunctionRef,
    pub step: &'a Function,
    pub stage: Stage,
    pub index: usize,
    config: Option<Resource>,
}

impl Ready<'_> {
    /// What configures it: functions before this one may have changed that.
    pub fn configured(&self, items: &[Resource]) -> Option<Resource> {
        let refreshed = self.config.as_ref().and_then(Resource::origin).and_then(|place| {
            let is_it = |item: &&Resource| {
                item.origin()
                    .is_some_and(|origin| origin.package == place.package && origin.path == place.path)
            };
            items.iter().find(is_it).cloned()
        });
        refreshed.or_else(|| self.config.clone())
    }
}

/// A call of one function.
pub(crate) struct Call<'a> {
    pub function: &'a FunctionRef,
    /// Of validators, the resources that they give back do not count.
    pub stage: Stage,
    pub config: Option<&'a Resource>,
    pub selectors: &'a [Selector],
    pub exclude: &'a [Selector],
    pub when: &'a str,
    /// The package whose function it is.
    pub running: &'a Folder,
    /// What the package is called; none when there is no pipeline.
    pub name: Option<&'a str>,
}

/// How a call went.
pub(crate) enum Called {
    Ran(Passed),
    Skipped,
}

/// A function that passed.
pub(crate) struct Passed {
    pub results: Vec<ResultItem>,
    pub stderr: String,
    /// How many resources it saw, when these were not all.
    pub selected: Option<usize>,
}

impl Given {
    /// Asks for the list of a call.
    pub fn of_call(call: usize) -> Self {
        Self { wanted: Some(call), ..Self::default() }
    }

    /// A function did not run, because what it answers is remembered.
    pub fn remembered(&mut self, is_repeatable: bool) {
        self.calls += 1;
        self.unrepeatable |= !is_repeatable;
    }
}

impl<'a> Run<'a> {
    /// The same run, of which nothing has happened yet.
    pub fn afresh<'w>(&'w mut self) -> Run<'w>
    where
        'a: 'w,
    {
        Run {
            package: self.package,
            options: self.options,
            evaluator: self.evaluator,
            memory: None,
            watch: &mut *self.watch,
            keeps: self.keeps,
            steps: RenderStatus::default(),
            results: ResultList::default(),
            inputs: Inputs::default(),
            executed: 0,
            recalled: 0,
            given: Given::default(),
            tape: None,
        }
    }

    /// Runs the pipeline of a package on its resources and on those below it. `elsewhere` is how many resources other packages
    /// have meanwhile.
    pub async fn pipeline(
        &mut self,
        node: &Node,
        kptfile: &Kptfile,
        items: &mut Vec<Resource>,
        elsewhere: usize,
    ) -> Result<(), Cause> {
        let stages = [Stage::Mutators, Stage::Validators];
        if stages.iter().all(|stage| kptfile.functions(*stage).is_empty()) {
            return check::krm(items).map_err(Cause::Input);
        }
        for stage in stages {
            let functions = kptfile.functions(stage).iter();
            for function in functions.filter(|function| !function.config_path.is_empty()) {
                config::of(function, stage, &node.folder, items).map_err(Cause::Config)?;
            }
        }
        let ready = self.prepare(&node.folder, kptfile, items)?;
        match self.memory {
            None => self.each(&ready, node, items, elsewhere).await?,
            Some(memory) => {
                for step in remember::steps(&ready, self.evaluator) {
                    self.remembered(memory, step, node, items, elsewhere).await?;
                }
            }
        }
        self.watch.see(Event::PackageDone);
        Ok(())
    }

    /// Runs functions one after another.
    pub(crate) async fn each(
        &mut self,
        functions: &[Ready<'_>],
        node: &Node,
        items: &mut Vec<Resource>,
        elsewhere: usize,
    ) -> Result<(), Cause> {
        for ready in functions {
            match ready.stage {
                Stage::Mutators => self.step(ready, node, items).await?,
                Stage::Validators => {
                    // What a validator changes is thrown away.
                    let mut copy = items.clone();
                    self.step(ready, node, &mut copy).await?;
                }
            }
            if let Some(taped) = self.tape.as_mut().and_then(|tape| tape.last_mut()) {
                taped.items = items.len();
            }
            self.count(items.len(), elsewhere)?;
        }
        Ok(())
    }

    /// Checks that there are not too many resources.
    pub(crate) fn count(&self, here: usize, elsewhere: usize) -> Result<(), Cause> {
        let (found, limit) = (here.saturating_add(elsewhere), self.options.limits.max_items);
        if found > limit { Err(Cause::TooManyItems { found, limit }) } else { Ok(()) }
    }

    /// Makes all functions ready before the first of them runs, so that one that cannot run stops those before it, too.
    fn prepare<'k>(
        &mut self,
        folder: &Folder,
        kptfile: &'k Kptfile,
        items: &[Resource],
    ) -> Result<Vec<Ready<'k>>, Cause> {
        let mut ready = Vec::new();
        let mut first = None;
        for stage in [Stage::Mutators, Stage::Validators] {
            for (index, function) in kptfile.functions(stage).iter().enumerate() {
                let (named, made) = self.make_ready(folder, function, stage, items);
                match made {
                    Ok(config) => ready.push(Ready { function: named, step: function, stage, index, config }),
                    Err(why) => {
                        let mut failed = step(&function.name, &named, &function.when);
                        failed.execution_error = why.to_string();
                        failed.exit_code = 1;
                        self.steps_of(stage).push(failed);
                        let field = format!("pipeline.{}[{index}]", stage.as_str());
                        first.get_or_insert(FunctionFailure { function: named, field, why, input: None });
                    }
                }
            }
        }
        match first {
            Some(failure) => Err(Box::new(failure).into()),
            None => Ok(ready),
        }
    }

    fn make_ready(
        &self,
        folder: &Folder,
        function: &Function,
        stage: Stage,
        items: &[Resource],
    ) -> (FunctionRef, Result<Option<Resource>, Why>) {
        let (named, resolved) = ahead::named(function, self.options);
        let refused = function.image.is_empty() && self.options.exec == ExecPolicy::Refused;
        let allowed = if refused { Err(Why::ExecRefused) } else { resolved.map_err(Why::from) };
        let config = allowed.and_then(|()| Ok(config::of(function, stage, folder, items)?));
        (named, config)
    }

    /// Runs one step of a pipeline and writes down how it went.
    async fn step(&mut self, ready: &Ready<'_>, node: &Node, items: &mut Vec<Resource>) -> Result<(), Cause> {
        let config = ready.configured(items);
        let call = Call {
            function: &ready.function,
            stage: ready.stage,
            config: config.as_ref(),
            selectors: &ready.step.selectors,
            exclude: &ready.step.exclude,
            when: &ready.step.when,
            running: &node.folder,
            name: Some(&node.name),
        };
        let mut record = step(&ready.step.name, &ready.function, &ready.step.when);
        let limits = &self.options.limits;
        let called = self.call(&call, items).await;
        let outcome = match called {
            Ok(Called::Skipped) => {
                record.skipped = true;
                self.tape(Taped { skipped: true, ..Taped::default() });
                Ok(())
            }
            Ok(Called::Ran(passed)) => {
                let Passed { results, stderr, selected } = &passed;
                let (results, stderr) = (results.clone(), stderr.clone());
                self.tape(Taped { selected: *selected, results, stderr, ..Taped::default() });
                fill(&mut record, &passed.results, &passed.stderr, 0, limits);
                Ok(())
            }
            Err(why) => {
                if let Why::Evaluation(error) = &why {
                    fill(&mut record, error.results(), error.stderr(), 1, limits);
                }
                record.exit_code = 1;
                match &why {
                    // The code says it all, and what the function said stands beside it.
                    Why::Evaluation(EvaluateError::Failed(failed))
                        if matches!(failed.why, Failing::Exit(_)) =>
                    {
                        record.exit_code = i64::from(failed.exit_code);
                    }
                    why => record.execution_error = why.to_string(),
                }
                let field = format!("pipeline.{}[{}]", ready.stage.as_str(), ready.index);
                let (function, input) = (ready.function.clone(), self.given.kept.take());
                Err(Box::new(FunctionFailure { function, field, why, input }).into())
            }
        };
        self.steps_of(ready.stage).push(record);
        outcome
    }

    /// Calls one function on those of the items that it may see. When it fails, the items are what [`Run::keeps`] says.
    pub async fn call(&mut self, call: &Call<'_>, items: &mut Vec<Resource>) -> Result<Called, Why> {
        if self.options.cancel.is_cancelled() {
            return Err(EvaluateError::Cancelled.into());
        }
        let chooses = !call.selectors.is_empty() || !call.exclude.is_empty();
        let chosen = chooses.then(|| selected(items, call.selectors, call.exclude));
        if !call.when.is_empty() {
            let seen: Vec<&Resource> = match &chosen {
                Some(chosen) => chosen.iter().map(|at| &items[*at]).collect(),
                None => items.iter().collect(),
            };
            if !self.decide(call.when, &seen)? {
                self.watch.see(Event::Skipped { function: call.function, when: call.when });
                return Ok(Called::Skipped);
            }
        }
        let selected = chosen.as_ref().map(Vec::len);
        let running = Running { function: call.function, selected, package: call.name };
        self.watch.see(Event::Running(running));
        self.inputs.functions.push(call.function.clone());
        let before = (self.keeps == Keeps::Before).then(|| items.clone());
        let done = self.evaluate(call, items, chosen.as_deref()).await;
        match &done {
            Ok(passed) => {
                self.executed += 1;
                self.results.items.push(FunctionResult::new(
                    call.function,
                    &passed.stderr,
                    0,
                    &passed.results,
                ));
                let Passed { results, stderr, .. } = passed;
                self.watch.see(Event::Passed { function: call.function, results, stderr });
            }
            Err(why) => {
                if let Some(before) = before {
                    *items = before;
                }
                self.failed(call.function, why);
            }
        }
        done.map(Called::Ran)
    }

    fn tape(&mut self, taped: Taped) {
        if let Some(tape) = &mut self.tape {
            tape.push(taped);
        }
    }

    fn deadline(&self) -> Deadline {
        Deadline {
            cancel: self.options.cancel.child_token(),
            ..Deadline::after(self.options.limits.max_function_time)
        }
    }

    /// Whether the condition of a function holds.
    fn decide(&self, when: &str, seen: &[&Resource]) -> Result<bool, Why> {
        when::holds(when, seen, &self.deadline()).map_err(|error| {
            if matches!(error, when::Error::Cancelled { .. }) {
                EvaluateError::Cancelled.into()
            } else {
                error.into()
            }
        })
    }

    /// Tells about a function that failed.
    fn failed(&mut self, function: &FunctionRef, why: &Why) {
        let (results, stderr, exit_code) = match why {
            Why::Evaluation(error) => {
                let code = match error {
                    EvaluateError::Failed(failed) => Some(failed.exit_code),
                    _ => None,
                };
                self.results.items.push(FunctionResult::new(
                    function,
                    error.stderr(),
                    code.unwrap_or(1),
                    error.results(),
                ));
                (error.results(), error.stderr(), code)
            }
            Why::ExecRefused
            | Why::Image(_)
            | Why::Config(_)
            | Why::When(_)
            | Why::Input(_)
            | Why::Output(_)
            | Why::Place(_) => (&[][..], "", None),
        };
        let error = why.to_string();
        self.watch.see(Event::Failed { function, results, stderr, exit_code, error: &error });
    }

    async fn evaluate(
        &mut self,
        call: &Call<'_>,
        items: &mut Vec<Resource>,
        chosen: Option<&[usize]>,
    ) -> Result<Passed, Why> {
        let (input, rest) = match chosen {
            None => (std::mem::take(items), Vec::new()),
            Some(chosen) => split(std::mem::take(items), chosen),
        };
        check::krm(&input).map_err(Why::Input)?;
        let list =
            ResourceList { items: input, function_config: call.config.cloned(), ..ResourceList::default() };
        let number = self.given.calls;
        self.given.calls += 1;
        self.given.unrepeatable |= !self.evaluator.is_repeatable(call.function);
        if self.given.wanted == Some(number) {
            self.given.kept = Some(Box::new(list));
            return Err(EvaluateError::Cancelled.into());
        }
        let given = self.given.unrepeatable.then(|| Box::new(list.clone()));
        let request = Request { function: call.function.clone(), list, grants: self.options.grants.clone() };
        let deadline = self.deadline();
        let response = match self.evaluator.evaluate(request, &deadline).await {
            Ok(response) => response,
            Err(EvaluateError::Failed(failed))
                if call.stage == Stage::Validators && failed.why == Failing::Silent =>
            {
                let selected = chosen.map(<[usize]>::len);
                return Ok(Passed { results: Vec::new(), stderr: failed.stderr, selected });
            }
            Err(error) => {
                self.given.lost = given.is_none().then_some(number);
                self.given.kept = given;
                return Err(error.into());
            }
        };
        let mut output = response.list.items;
        let beside = config::beside(call.config);
        check::places(&mut output, call.running, beside.as_ref(), self.package)?;
        let joined = if chosen.is_some() { join(rest, output) } else { output };
        check::no_place_twice(&joined)?;
        check::krm(&joined).map_err(Why::Output)?;
        *items = joined;
        let selected = chosen.map(<[usize]>::len);
        Ok(Passed { results: response.list.results, stderr: response.stderr, selected })
    }

    pub fn steps_of(&mut self, stage: Stage) -> &mut Vec<StepResult> {
        match stage {
            Stage::Mutators => &mut self.steps.mutation_steps,
            Stage::Validators => &mut self.steps.validation_steps,
        }
    }
}

/// Takes the chosen items out, numbered by their places; in these places nothing is left.
fn split(items: Vec<Resource>, chosen: &[usize]) -> (Vec<Resource>, Vec<Option<Resource>>) {
    let mut rest: Vec<Option<Resource>> = items.into_iter().map(Some).collect();
    let mut taken = Vec::with_capacity(chosen.len());
    for at in chosen {
        let Some(mut item) = rest[*at].take() else { continue };
        number(&mut item, Some(*at));
        taken.push(item);
    }
    (taken, rest)
}

/// Puts what came back where it was taken from; what is new comes last.
fn join(mut rest: Vec<Option<Resource>>, output: Vec<Resource>) -> Vec<Resource> {
    let mut new = Vec::new();
    for mut item in output {
        let serial = item.origin().and_then(|origin| origin.serial);
        number(&mut item, None);
        match serial.and_then(|serial| rest.get_mut(serial)) {
            Some(place @ None) => *place = Some(item),
            Some(Some(_)) | None => new.push(item),
        }
    }
    rest.into_iter().flatten().chain(new).collect()
}

fn number(item: &mut Resource, serial: Option<usize>) {
    if let Some(origin) = item.origin().cloned() {
        item.set_origin(Some(Origin { serial, ..origin }));
    }
}

pub(crate) fn fill(
    record: &mut StepResult,
    results: &[ResultItem],
    stderr: &str,
    exit_code: i64,
    limits: &RenderLimits,
) {
    let is_error = |item: &&ResultItem| item.severity == Some(Severity::Error);
    record.results = status::first(results.iter(), limits);
    record.error_results = status::first(results.iter().filter(is_error), limits);
    record.stderr = status::beginning(stderr, limits.max_status_stderr);
    record.exit_code = exit_code;
}
