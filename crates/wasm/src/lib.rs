//! Functions that are WASM modules.
//!
//! A module is one that follows WASI preview 1: it is started at `_start`, reads a list of resources from standard input and writes one to standard
//! output. [`Wasm`] compiles it once, and runs it in an instance of its own for each call: no files, no network, no environment but what is granted, and
//! [limits](WasmLimits) on time, memory and output.
//!
//! | module | what it is about |
//! |---|---|
//! | `source` | where a module is: a file, or a folder in the layout of OCI images |
//! | `modules` | compiled modules, kept by their digest |
//! | `wasi` | what a module can ask of us |
//! | `state` | what a running module has |
//! | `control` | how a module is ended from elsewhere |
//! | `call` | one run of a module |

mod call;
mod control;
mod limits;
mod modules;
mod source;
mod state;
mod wasi;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use lanai_evaluate::{Deadline, Error, Request, Response, wire};
use lanai_krm::ResourceList;
use lanai_types::Sha256Digest;
use lanai_types::quote::Quoted;

pub use limits::WasmLimits;

/// The name of the evaluator.
const NAME: &str = "wasm";

/// Runs WASM modules. Clones share compiled modules.
#[derive(Clone)]
pub struct Wasm {
    /// Made when it is needed first.
    modules: Arc<OnceLock<Result<Arc<modules::Modules>, String>>>,
    limits: WasmLimits,
}

/// A module, and what it is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Where it is: a file, or a folder in the layout of OCI images.
    pub path: PathBuf,
    /// Its arguments, without its name.
    pub arguments: Vec<String>,
}

impl Wasm {
    /// Within these limits.
    pub fn new(limits: WasmLimits) -> Self {
        Self { modules: Arc::default(), limits }
    }

    /// The same with other limits on runs. How many modules are kept stays as it is.
    #[must_use]
    pub fn limited(&self, limits: WasmLimits) -> Self {
        Self { modules: Arc::clone(&self.modules), limits }
    }

    /// The limits.
    pub fn limits(&self) -> WasmLimits {
        self.limits
    }

    /// Runs a module on the list of the request. Which function the request names does not matter; of its grants, only variables have a meaning here. Results that the list brings along are not sent.
    ///
    /// The deadline holds, and so does calling it off: also for a module that never ends and for one that sleeps. When the
    /// future is dropped, the module does not run any more. A module that is being compiled is compiled to the end in the background, and kept; the
    /// limit on time counts from when that is done, the deadline from the beginning.
    ///
    /// # Errors
    /// [`Error::Refused`] for what is no module of this kind, [`Error::Infrastructure`] for one that cannot be read; for the others see [`Error`].
    pub async fn run(
        &self,
        program: Program,
        request: Request,
        deadline: &Deadline,
    ) -> Result<Response, Error> {
        let list = ResourceList { results: Vec::new(), ..request.list };
        let sent = wire::send(&list).map_err(|cause| {
            let shown = program.path.display().to_string();
            Error::Infrastructure(format!("cannot run {}: {cause}", Quoted(&shown)))
        })?;
        let (variables, limits) = (request.grants.variables, self.limits);
        let call = call::Call { program, sent, variables, limits, modules: self.modules()? };
        call::run(call, deadline).await
    }

    /// The digest of the module at that path.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn digest(&self, path: &Path) -> Result<Sha256Digest, Error> {
        let (path, max) = (path.to_owned(), self.limits.max_module);
        let read = tokio::task::spawn_blocking(move || source::read(&path, max)).await;
        let read = read.map_err(|cause| Error::Infrastructure(format!("cannot read a module: {cause}")))?;
        Ok(source::digest(&read?))
    }

    /// How many compiled modules are kept.
    pub fn kept(&self) -> usize {
        self.modules.get().and_then(|made| made.as_ref().ok()).map_or(0, |modules| modules.len())
    }

    fn modules(&self) -> Result<Arc<modules::Modules>, Error> {
        let made = self.modules.get_or_init(|| {
            modules::Modules::new(self.limits.max_modules).map(Arc::new).map_err(|cause| format!("{cause:#}"))
        });
        made.clone().map_err(|cause| Error::Infrastructure(format!("no module can run here: {cause}")))
    }
}
