//! An evaluator that remembers.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_catalog::{Begun, Catalog, Inputs, Miss, Subject, Ticket};
use lanai_evaluate::record::{self, Before, Call, Record};
use lanai_evaluate::{
    Deadline, Error, Evaluator, FunctionRef, Grants, Identity, InputDigest, Memory, Outlook, Permit, Recall,
    Request, Response, Step,
};

/// How many explanations are kept: a server does not need them, and a render has no more steps than that.
const MAX_EXPLAINED: usize = 1_000;

/// Runs functions by another evaluator, unless it is known what they answer.
///
/// Only functions of which it is known which program they are, and that they answer alike, are remembered; see
/// [`Evaluator::identify`]. Whoever runs several in a row can have them remembered as one step: see [`Evaluator::memory`].
/// A catalog that does not work changes nothing but the time that things take.
pub struct Caching {
    inner: Arc<dyn Evaluator>,
    catalog: Catalog,
    version: String,
    place: String,
    explained: Mutex<Vec<Explained>>,
}

/// What became of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The functions.
    pub functions: String,
    /// The package.
    pub package: String,
    /// What happened.
    pub what: Explanation,
}

/// What happened with a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation {
    /// Nothing ran: what comes out was known.
    Hit,
    /// It ran, because of this.
    Ran(Miss),
    /// It ran, and was not asked for, because of this.
    NotRemembered(String),
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { functions, package, what } = self;
        write!(f, "{functions} on {package}: ")?;
        match what {
            Explanation::Hit => f.write_str("not run, the result is known"),
            Explanation::Ran(miss) => write!(f, "run: {miss}"),
            Explanation::NotRemembered(why) => write!(f, "run, and not remembered: {why}"),
        }
    }
}

impl Caching {
    /// Remembers what `inner` answers. `version` says which program we are: what another one made is not taken. `place` says where packages are,
    /// so that two of the same name are told apart when a miss is explained.
    pub fn new(
        inner: Arc<dyn Evaluator>,
        catalog: Catalog,
        version: impl Into<String>,
        place: impl Into<String>,
    ) -> Self {
        let (version, place) = (version.into(), place.into());
        Self { inner, catalog, version, place, explained: Mutex::default() }
    }

    /// What became of the steps so far, in order; and forgets it.
    pub fn take_explained(&self) -> Vec<Explained> {
        std::mem::take(&mut *self.explained.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn explain(&self, step: &Step, what: Explanation) {
        let mut explained = self.explained.lock().unwrap_or_else(PoisonError::into_inner);
        if explained.len() < MAX_EXPLAINED {
            let (functions, package) = (step.functions.clone(), step.package.clone());
            explained.push(Explained { functions, package, what });
        }
    }

    async fn begin(&self, step: &Step) -> Begun {
        let mut inputs = Inputs::default();
        inputs.add("the program", self.version.as_bytes());
        for (name, digest) in &step.inputs {
            inputs.add_digest(name.clone(), *digest);
        }
        let package = [self.place.as_str(), &step.package].join(" ");
        let begun = self.catalog.begin(&inputs, &Subject { function: step.functions.clone(), package }).await;
        self.explain(
            step,
            match &begun {
                Begun::Hit(_) => Explanation::Hit,
                Begun::Run(_, miss) => Explanation::Ran(miss.clone()),
            },
        );
        begun
    }
}

#[async_trait]
impl Memory for Caching {
    fn evaluator(&self) -> &dyn Evaluator {
        &*self.inner
    }

    async fn recall(&self, step: &Step) -> Recall {
        match self.begin(step).await {
            Begun::Hit(hit) => Recall::Known(hit.content.to_vec()),
            Begun::Run(ticket, _) => Recall::Unknown(Box::new(Held(ticket))),
        }
    }

    fn pass_over(&self, step: &Step, why: &str) {
        self.explain(step, Explanation::NotRemembered(why.to_owned()));
    }
}

struct Held(Ticket);

#[async_trait]
impl Permit for Held {
    async fn keep(self: Box<Self>, content: Vec<u8>) {
        // What is not kept is made again; why it was not, is logged where it is known.
        let _ = self.0.keep(Bytes::from(content)).await;
    }

    async fn give_up(self: Box<Self>) {
        self.0.give_up().await;
    }
}

#[async_trait]
impl Evaluator for Caching {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        // What else a list can hold is not part of what is remembered.
        let identity = self.inner.identify(&request.function, &request.grants).await;
        let (Identity::Fixed(function), true) = (identity, request.list.others.is_empty()) else {
            return self.inner.evaluate(request, deadline).await;
        };
        let step = alone(&request, function);
        let begun = tokio::select! {
            biased;
            () = deadline.cancel.cancelled() => return Err(Error::Cancelled),
            begun = tokio::time::timeout(deadline.left(), self.begin(&step)) => begun,
        };
        let ticket = match begun {
            Err(_) => return Err(Error::Timeout { limit: deadline.limit, stderr: String::new() }),
            Ok(Begun::Hit(hit)) => match known(&hit.content, &request) {
                Some(response) => return Ok(response),
                None => return self.inner.evaluate(request, deadline).await,
            },
            Ok(Begun::Run(ticket, _)) => ticket,
        };
        let before = Before::of(&request.list.items);
        let answer = self.inner.evaluate(request, deadline).await;
        match &answer {
            Ok(response) if response.list.others.is_empty() => {
                let call = Call {
                    results: response.list.results.clone(),
                    stderr: response.stderr.clone(),
                    ..Call::default()
                };
                let record = Record { calls: vec![call], items: Some(response.list.items.clone()) };
                ticket.keep(Bytes::from(before.write(&record))).await;
            }
            Ok(_) | Err(_) => ticket.give_up().await,
        }
        answer
    }

    fn is_repeatable(&self, function: &FunctionRef) -> bool {
        self.inner.is_repeatable(function)
    }

    fn foresee(&self, function: &FunctionRef, grants: &Grants) -> Outlook {
        self.inner.foresee(function, grants)
    }

    async fn identify(&self, function: &FunctionRef, grants: &Grants) -> Identity {
        self.inner.identify(function, grants).await
    }

    fn memory(&self) -> Option<&dyn Memory> {
        Some(self)
    }
}

/// The step of one call, whose list is all there is.
fn alone(request: &Request, function: lanai_types::Sha256Digest) -> Step {
    let name = request.function.as_str();
    let mut step = Step { functions: name.to_owned(), ..Step::default() };
    let mut add = |name: String, digest| step.inputs.push((name, digest));
    add("the format".to_owned(), InputDigest::new().part("call").part(record::FORMAT).finish());
    add(format!("function {name}"), function);
    if let Some(config) = &request.list.function_config {
        add(format!("the configuration of {name}"), record::digest(config));
    }
    for item in &request.list.items {
        // Whoever calls functions alone may tell places in annotations, which are part of the text.
        let digest = record::input_digest(item);
        let (kind, named) = (item.kind().unwrap_or_default(), item.name().unwrap_or_default());
        add(format!("{kind} \"{named}\" in {}", item.path().unwrap_or_default()), digest);
    }
    step
}

/// The name of what answers when nothing runs.
const NAME: &str = "catalog";

fn known(content: &[u8], request: &Request) -> Option<Response> {
    let record = record::read(content, &request.list.items)?;
    let call = record.calls.into_iter().next()?;
    let mut list = request.list.clone();
    list.items = record.items?;
    list.results = call.results;
    Some(Response { list, stderr: call.stderr, evaluator: NAME, exit_code: 0 })
}
