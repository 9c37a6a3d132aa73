//! Steps of a pipeline that are remembered.
//!
//! A step is a function, or several mutators in a row that are cheap to run: nothing is written between those. What goes into its key is here,
//! and what it did when it is known already.

use lanai_evaluate::record::{self, Before, Record};
use lanai_evaluate::{Evaluator, Grants, Identity, InputDigest, Memory, Recall, Step as StepInputs};
use lanai_krm::kptfile::Stage;
use lanai_krm::package::Folder;
use lanai_krm::select::selected;
use lanai_krm::{Resource, Selector};

use crate::error::Cause;
use crate::pipeline::{Ready, Run, fill};
use crate::record::{FunctionResult, step};
use crate::tree::Node;
use crate::watch::{Event, Running};

/// The functions of a pipeline, as steps.
pub(crate) fn steps<'r, 'k>(ready: &'r [Ready<'k>], evaluator: &dyn Evaluator) -> Vec<&'r [Ready<'k>]> {
    let joins = |one: &Ready<'_>, other: &Ready<'_>| {
        let is_cheap =
            |ready: &Ready<'_>| ready.stage == Stage::Mutators && evaluator.is_repeatable(&ready.function);
        is_cheap(one) && is_cheap(other)
    };
    ready.chunk_by(joins).collect()
}

impl Run<'_> {
    /// Does what a step did when it was done before, or does it now and keeps it.
    pub(crate) async fn remembered(
        &mut self,
        memory: &dyn Memory,
        functions: &[Ready<'_>],
        node: &Node,
        items: &mut Vec<Resource>,
        elsewhere: usize,
    ) -> Result<(), Cause> {
        let mut inputs =
            StepInputs { functions: names(functions), package: node.name.clone(), inputs: Vec::new() };
        if let Err(why) = identify(&mut inputs, functions, self.evaluator, &self.options.grants).await {
            memory.pass_over(&inputs, &why);
            return self.each(functions, node, items, elsewhere).await;
        }
        describe(&mut inputs, functions, node, items);
        if self.options.cancel.is_cancelled() {
            // The function says it, in its own way.
            return self.each(functions, node, items, elsewhere).await;
        }
        let recalled = self.options.cancel.run_until_cancelled(memory.recall(&inputs)).await;
        let permit = match recalled {
            None => return self.each(functions, node, items, elsewhere).await,
            Some(Recall::Known(content)) => {
                if let Some(record) = record::read(&content, items) {
                    return self.replay(record, functions, node, items, elsewhere);
                }
                memory.pass_over(&inputs, "what is remembered is not for this status of the Kptfile");
                return self.each(functions, node, items, elsewhere).await;
            }
            Some(Recall::Unknown(permit)) => permit,
        };
        let before = Before::of(items);
        self.tape = Some(Vec::new());
        let done = self.each(functions, node, items, elsewhere).await;
        let calls = self.tape.take().unwrap_or_default();
        if let Err(cause) = done {
            permit.give_up().await;
            return Err(cause);
        }
        let is_mutator = functions.iter().any(|ready| ready.stage == Stage::Mutators);
        let record = Record { calls, items: is_mutator.then(|| items.clone()) };
        permit.keep(before.write(&record)).await;
        Ok(())
    }

    /// Tells of a step what it told when it ran, and takes over what came out.
    fn replay(
        &mut self,
        record: Record,
        functions: &[Ready<'_>],
        node: &Node,
        items: &mut Vec<Resource>,
        elsewhere: usize,
    ) -> Result<(), Cause> {
        for (ready, call) in functions.iter().zip(record.calls) {
            let function = &ready.function;
            let mut told = step(&ready.step.name, function, &ready.step.when);
            if call.skipped {
                self.watch.see(Event::Skipped { function, when: &ready.step.when });
                told.skipped = true;
            } else {
                let running = Running { function, selected: call.selected, package: Some(&node.name) };
                self.watch.see(Event::Running(running));
                self.inputs.functions.push(function.clone());
                self.given.remembered(self.evaluator.is_repeatable(function));
                self.executed += 1;
                self.recalled += 1;
                self.results.items.push(FunctionResult::new(function, &call.stderr, 0, &call.results));
                self.watch.see(Event::Passed { function, results: &call.results, stderr: &call.stderr });
                fill(&mut told, &call.results, &call.stderr, 0, &self.options.limits);
            }
            self.steps_of(ready.stage).push(told);
            self.count(call.items, elsewhere)?;
        }
        if let Some(after) = record.items {
            *items = after;
        }
        Ok(())
    }
}

/// The functions of a step, for people.
fn names(functions: &[Ready<'_>]) -> String {
    let names: Vec<&str> = functions.iter().map(|ready| short(ready.function.as_str())).collect();
    names.join(", ")
}

/// The last part of an image.
fn short(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, name)| name)
}

/// Puts in which programs run. Fails when one of them is not to be remembered.
async fn identify(
    inputs: &mut StepInputs,
    functions: &[Ready<'_>],
    evaluator: &dyn Evaluator,
    grants: &Grants,
) -> Result<(), String> {
    inputs.inputs.push(("the format".to_owned(), InputDigest::new().part(record::FORMAT).finish()));
    for ready in functions {
        match evaluator.identify(&ready.function, grants).await {
            Identity::Fixed(digest) => {
                inputs.inputs.push((format!("function {}", short(ready.function.as_str())), digest));
            }
            Identity::Unknown => return Err("nobody knows it".to_owned()),
            Identity::Volatile(why) => return Err(why),
        }
    }
    Ok(())
}

/// Puts in everything else.
fn describe(inputs: &mut StepInputs, functions: &[Ready<'_>], node: &Node, items: &[Resource]) {
    let mut seen = vec![false; items.len()];
    for ready in functions {
        let (name, step) = (short(ready.function.as_str()), ready.step);
        if let Some(config) = ready.configured(items) {
            inputs.inputs.push((format!("the configuration of {name}"), record::digest(&config)));
        }
        if step.selectors.is_empty() && step.exclude.is_empty() {
            seen.fill(true);
        } else {
            for at in selected(items, &step.selectors, &step.exclude) {
                seen[at] = true;
            }
            let chosen = choice(&step.selectors).part("but").last(&Shown(&step.exclude));
            inputs.inputs.push((format!("the selectors of {name}"), chosen));
        }
        if !step.when.is_empty() {
            let when = InputDigest::new().part(&step.when).finish();
            inputs.inputs.push((format!("the condition of {name}"), when));
        }
    }
    // Whether a function changes resources or looks at them says what is remembered.
    let stage = functions.first().map_or("", |ready| ready.stage.as_str());
    let folder = InputDigest::new().part(stage).part(node.folder.to_string()).finish();
    inputs.inputs.push(("the folder of the package".to_owned(), folder));
    for (item, is_seen) in items.iter().zip(seen) {
        let place = shown(item);
        if is_seen {
            let (kind, name) = (item.kind().unwrap_or_default(), item.name().unwrap_or_default());
            inputs.inputs.push((format!("{kind} \"{name}\" in {place}"), record::input_digest(item)));
        } else {
            inputs.inputs.push((format!("a place in {place}"), record::place(item).finish()));
        }
    }
}

/// Where a resource stands, as seen from the root.
fn shown(item: &Resource) -> String {
    let Some(origin) = item.origin() else { return item.path().unwrap_or_default().into_owned() };
    match &origin.package {
        Folder::Root => origin.path.to_string(),
        Folder::At(folder) => format!("{folder}/{}", origin.path),
    }
}

fn choice(selectors: &[Selector]) -> InputDigest {
    InputDigest::new().part(format!("{}", Shown(selectors)))
}

/// Selectors, as text that tells them apart.
struct Shown<'a>(&'a [Selector]);

impl std::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
