//! Running the pipeline of a package on behalf of the API.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lanai_evaluate::{Evaluator, Grants};
use lanai_krm::package::{OtherYaml, ReadOptions};
use lanai_krm::{Kptfile, Package};
use lanai_render::{
    Cause, ExecPolicy, Failure, Options, Outcome, RenderLimits, Rendered, ResultList, StatusPolicy, Tags,
};
use lanai_store::Store;
use lanai_types::Namespace;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::bounds;
use crate::engine::Engine;
use crate::error::{Error, Reason};
use crate::state;

/// How many pipelines run at the same time where nobody says otherwise; Porch's controllers have the same.
pub const MAX_RENDERS: NonZeroUsize = NonZeroUsize::new(20).expect("it is not 0");

/// Says who runs the functions of packages, by their namespace.
#[async_trait]
pub trait Runtimes: Send + Sync {
    /// Who runs those of a namespace now. It is asked before each render, so that what changed counts at once.
    ///
    /// # Errors
    /// When the store cannot be read. What is wrong with the settings of a namespace is no error here: then the runtime refuses
    /// its functions, and says why.
    async fn of(&self, store: &dyn Store, namespace: &Namespace) -> Result<Runtime, Error>;
}

/// The same for all namespaces.
#[async_trait]
impl Runtimes for Runtime {
    async fn of(&self, _: &dyn Store, _: &Namespace) -> Result<Runtime, Error> {
        Ok(self.clone())
    }
}

/// Who runs functions, and how images are named.
#[derive(Clone)]
pub struct Runtime {
    /// Runs functions.
    pub evaluator: Arc<dyn Evaluator>,
    /// Knows which tags images have.
    pub tags: Arc<dyn Tags + Send + Sync>,
    /// What short names of images are prefixed with.
    pub image_prefix: String,
    /// How long one function may run.
    pub max_function_time: Duration,
}

/// What a render made of a package.
pub struct Render {
    /// What is to be kept, if it is kept: rendered, or, after a failure, what the package asks for.
    pub package: Package,
    /// What clients see of it.
    pub status: Value,
    /// Why it failed, if it did.
    pub failure: Option<Failed>,
}

/// A render that failed.
#[derive(Debug, Clone)]
pub struct Failed {
    /// What went wrong, in kpt's words.
    pub details: String,
    /// What functions reported.
    pub causes: Vec<crate::error::Cause>,
}

impl Render {
    /// How the content that is kept was rendered.
    pub fn outcome(&self) -> state::Rendered {
        match self.failure {
            None => state::Rendered::Passed,
            Some(_) => state::Rendered::Failed,
        }
    }
}

/// What clients see where no function ran.
pub fn empty_status() -> Value {
    json!({"result": {"metadata": {}, "exitCode": 0}, "error": ""})
}

/// Whether a Kptfile tells of a render that failed.
pub fn says_failed(kptfile: &Kptfile) -> bool {
    kptfile
        .condition("Rendered")
        .is_some_and(|condition| condition.status == lanai_krm::kptfile::ConditionStatus::False)
}

/// Turns to run a pipeline: so many at a time, in the order in which they were asked for.
pub(crate) struct Turns {
    room: Arc<Semaphore>,
    most: usize,
    waiting: AtomicUsize,
}

impl Turns {
    pub(crate) fn new(most: NonZeroUsize) -> Self {
        let most = most.get().min(Semaphore::MAX_PERMITS);
        Self { room: Arc::new(Semaphore::new(most)), most, waiting: AtomicUsize::new(0) }
    }

    /// Waits for a turn. Whoever does not want to wait any longer drops the future.
    async fn enter(&self) -> OwnedSemaphorePermit {
        struct Waits<'a>(&'a AtomicUsize);
        impl Drop for Waits<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waits = Waits(&self.waiting);
        self.room.clone().acquire_owned().await.expect("nobody closes it")
    }

    /// How many have a turn, and how many wait for one.
    fn load(&self) -> (usize, usize) {
        (self.most - self.room.available_permits(), self.waiting.load(Ordering::Relaxed))
    }
}

impl Engine {
    /// How many pipelines run, and how many wait for their turn.
    pub fn renders(&self) -> (usize, usize) {
        self.inner.renders.load()
    }

    /// Runs the pipelines of a package. Dropping the future stops the functions. So many pipelines run at a time as the engine was told;
    /// others wait for their turn, in the order in which they came.
    ///
    /// # Errors
    /// Only when the work itself broke; all that a package can cause is in the answer.
    pub(crate) async fn render(
        &self,
        namespace: &Namespace,
        package: Package,
        name: &str,
    ) -> Result<Render, Error> {
        let broke = |error: &dyn std::fmt::Display| Error::internal(format!("rendering broke off: {error}"));
        let turn = self.inner.renders.enter().await;
        let runtime = self.inner.runtimes.of(self.inner.store.as_ref(), namespace).await?;
        let stop = CancellationToken::new();
        let _stops: DropGuard = stop.clone().drop_guard();
        let name = name.to_owned();
        // Functions of ours are plain code: they would hold up others on a thread that serves requests.
        let handle = tokio::runtime::Handle::current();
        let work = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            handle.block_on(run(&runtime, package, name, stop))
        });
        work.await.map_err(|error| broke(&error))
    }
}

async fn run(runtime: &Runtime, package: Package, name: String, cancel: CancellationToken) -> Render {
    let limits = RenderLimits { max_function_time: runtime.max_function_time, ..RenderLimits::DEFAULT };
    let options = Options {
        name,
        image_prefix: runtime.image_prefix.clone(),
        tags: runtime.tags.as_ref(),
        exec: ExecPolicy::Refused,
        grants: Grants::default(),
        read: ReadOptions { other_yaml: OtherYaml::Refused, ..ReadOptions::default() },
        status: StatusPolicy::Write,
        limits,
        cancel,
    };
    match lanai_render::render(&package, &options, runtime.evaluator.as_ref(), &mut ()).await {
        Ok(rendered) => concluded(rendered),
        Err(error) => {
            let details = format!("fn.render: pkg /:\n\tpkg.read: error reading Kptfile at \"/\": {error}");
            let status = json!({"result": {"metadata": {}, "exitCode": 0}, "error": details});
            let cause = crate::error::Cause {
                reason: "RenderFailed".to_owned(),
                message: error.to_string(),
                field: lanai_krm::kptfile::FILE_NAME.to_owned(),
            };
            Render { package, status, failure: Some(Failed { details, causes: vec![cause] }) }
        }
    }
}

fn concluded(rendered: Rendered) -> Render {
    let failure = match &rendered.outcome {
        Outcome::Success => None,
        Outcome::Failed(failure) | Outcome::Partial(failure) => Some(failed(failure, &rendered.results)),
    };
    let error = failure.as_ref().map(|failed| failed.details.clone()).unwrap_or_default();
    let result = if rendered.results.items.is_empty() {
        json!({"metadata": {}, "exitCode": rendered.results.exit_code()})
    } else {
        json!({
            "kind": "FunctionResultList", "apiVersion": "kpt.dev/v1", "metadata": {"name": "fnresults"},
            "exitCode": rendered.results.exit_code(), "items": shown(&rendered.results),
        })
    };
    Render { package: rendered.package, status: json!({"result": result, "error": error}), failure }
}

/// What functions did, as far as clients are shown it.
fn shown(results: &ResultList) -> Vec<Value> {
    let mut room = bounds::Room::default();
    let item = |item: &lanai_render::FunctionResult| {
        let results = bounds::results(&item.results, &mut room);
        let empty = lanai_render::FunctionResult {
            image: item.image.clone(),
            exec: item.exec.clone(),
            stderr: bounds::text(&item.stderr),
            exit_code: item.exit_code,
            results: Vec::new(),
        };
        let mut shown = serde_json::to_value(empty).unwrap_or_default();
        if !results.is_empty() {
            shown["results"] = json!(results);
        }
        shown
    };
    results.items.iter().map(item).collect()
}

fn failed(failure: &Failure, results: &ResultList) -> Failed {
    let mut causes = Vec::new();
    for item in results.items.iter().filter(|item| item.exit_code != 0) {
        let function = if item.image.is_empty() { &item.exec } else { &item.image };
        let mut reported = false;
        for result in &item.results {
            reported = true;
            let file = result.file.as_ref().map(|file| file.path.clone()).unwrap_or_default();
            let message = format!("{function}: {}", result.message);
            causes.push(crate::error::Cause { reason: "FunctionResult".to_owned(), message, field: file });
        }
        if !reported {
            let said = item.stderr.trim();
            let said =
                if said.is_empty() { format!("exit code {}", item.exit_code) } else { said.to_owned() };
            let message = format!("{function}: {said}");
            causes.push(crate::error::Cause {
                reason: "FunctionFailed".to_owned(),
                message,
                field: String::new(),
            });
        }
    }
    if let Cause::Unrunnable(unrunnable) = &failure.cause {
        causes.extend(unrunnable.functions.iter().map(|function| crate::error::Cause {
            reason: "FunctionUnusable".to_owned(),
            message: format!("{}: {}", function.function, function.obstacle),
            field: function.file.to_string(),
        }));
    }
    if causes.is_empty() {
        let message = failure.to_string();
        causes.push(crate::error::Cause { reason: "RenderFailed".to_owned(), message, field: String::new() });
    }
    let details = format!("fn.render: pkg /:\n\t{}", bounds::text(&failure.message));
    Failed { details, causes: bounds::causes(causes) }
}

/// Whether what failed was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// It was.
    Yes,
    /// It was not.
    No,
}

impl Failed {
    /// What the client is told.
    pub fn error(&self, name: &str, kept: Kept) -> Error {
        let what = match kept {
            Kept::No => {
                "Package NOT pushed to remote. Fix locally (until 'kpt fn render' succeeds) and retry."
            }
            Kept::Yes => "Package pushed to remote despite render failure.",
        };
        let message =
            format!("error rendering package in kpt function pipeline. {what} Details: {}", self.details);
        Error { causes: self.causes.clone(), ..Error::new(Reason::Invalid, name, message) }
    }
}
