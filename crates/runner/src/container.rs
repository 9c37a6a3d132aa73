//! Functions in containers.

mod arguments;
mod control;
mod engine;
mod image;
mod leftovers;
mod work;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lanai_evaluate::{
    Deadline, Error, Evaluator, FunctionRef, Grants, Identity, Outlook, Request, Response, wire,
};
use lanai_krm::ResourceList;
use lanai_types::Sha256Digest;
use lanai_types::quote::Quoted;

use crate::ExecLimits;

pub use engine::{ContainerEngine, EngineKind, UnknownEngine};
pub use image::Pull;

/// The name of the evaluator.
const NAME: &str = "container";

/// Runs images in containers, by podman, docker or nerdctl.
///
/// Knows every image and no programs, so that it stands at the end of a chain. A name is resolved to the image that it means on this
/// machine, which is fetched before if the policy says so; that image is run, whatever happens to the name meanwhile. The list goes to standard
/// input and comes back from standard output. Results that the list brings along are not sent.
///
/// The container has no network, a root that cannot be written to with a folder in memory at `/tmp`, nobody as its user, no rights and no way to new
/// ones, and the [limits](ContainerOptions::limits); grants open what they name. It has a name of its own, by which it is removed when the
/// function ends, its time is over, it is called off or nobody waits for it any more. When this process is killed, the engine ends
/// the container when its time is over (podman), and whoever starts the next one removes what is left.
#[derive(Clone, Debug)]
pub struct Container {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    engine: ContainerEngine,
    options: ContainerOptions,
    leftovers: Arc<leftovers::Leftovers>,
}

/// How containers are made.
#[derive(Clone, Debug)]
pub struct ContainerOptions {
    /// When images are fetched.
    pub pull: Pull,
    /// How long it may take to fetch one, if the deadline is not earlier.
    pub max_pull_time: Duration,
    /// How much a function may take. Memory and processes are bounded by control groups; its files are those in `/tmp`.
    pub limits: ExecLimits,
    /// The program that the engine starts containers with, such as `runc`; by default, the engine chooses.
    pub oci_runtime: Option<String>,
}

impl Default for ContainerOptions {
    fn default() -> Self {
        Self {
            pull: Pull::IfNotPresent,
            max_pull_time: Duration::from_mins(5),
            limits: ExecLimits::DEFAULT,
            oci_runtime: None,
        }
    }
}

impl Container {
    /// By this engine.
    pub fn new(engine: ContainerEngine, options: ContainerOptions) -> Self {
        Self { inner: Arc::new(Inner { engine, options, leftovers: Arc::default() }) }
    }

    /// The same with other limits.
    #[must_use]
    pub fn limited(&self, limits: ExecLimits) -> Self {
        let Inner { engine, options, leftovers } = &*self.inner;
        let options = ContainerOptions { limits, ..options.clone() };
        Self { inner: Arc::new(Inner { engine: engine.clone(), options, leftovers: Arc::clone(leftovers) }) }
    }

    /// Removes the containers of processes that are gone, and of calls that should have ended. This is done before the first call anyhow; a
    /// server does it when it starts. Returns how many there were.
    ///
    /// # Errors
    /// When the engine cannot be asked.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        blocking(move || inner.leftovers.sweep(&inner.engine)).await
    }

    /// The digest of the image that a name means. It is fetched before if the policy says so.
    ///
    /// # Errors
    /// When there is no such image, or it cannot be had.
    pub async fn digest(&self, image: &str) -> Result<Sha256Digest, Error> {
        let (inner, image) = (Arc::clone(&self.inner), image.to_owned());
        blocking(move || {
            let resolved =
                image::resolve(&inner.engine, &image, &inner.options, &control::Control::default())?;
            resolved.digest.ok_or_else(|| {
                Error::Infrastructure(format!(
                    "{} does not say the digest of {}",
                    inner.engine,
                    Quoted(&image)
                ))
            })
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|cause| Error::Infrastructure(format!("cannot ask for containers: {cause}")))?
}

#[async_trait]
impl Evaluator for Container {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let FunctionRef::Image(image) = &request.function else {
            return Err(Error::NotFound(Box::new(request)));
        };
        arguments::check(image, &request.grants)?;
        let image = image.clone();
        let list = ResourceList { results: Vec::new(), ..request.list };
        let sent = wire::send(&list)
            .map_err(|cause| Error::Infrastructure(format!("cannot run {}: {cause}", Quoted(&image))))?;
        let call = work::Call { inner: Arc::clone(&self.inner), image, grants: request.grants, sent };
        let answer = work::run(call, deadline).await?;
        Ok(Response { evaluator: NAME, ..answer })
    }

    fn foresee(&self, function: &FunctionRef, _: &Grants) -> Outlook {
        match function {
            FunctionRef::Image(_) => Outlook::Runs,
            FunctionRef::Exec(_) => Outlook::Unknown,
        }
    }

    async fn identify(&self, function: &FunctionRef, _: &Grants) -> Identity {
        match function {
            FunctionRef::Image(_) => {
                Identity::Volatile("nobody vouches that it answers alike to equal lists".to_owned())
            }
            FunctionRef::Exec(_) => Identity::Unknown,
        }
    }
}
