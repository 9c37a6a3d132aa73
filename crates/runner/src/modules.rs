//! WASM modules as functions.

use std::path::PathBuf;

use async_trait::async_trait;
use lanai_evaluate::{
    Deadline, Error, Evaluator, FunctionRef, Grants, Identity, InputDigest, Outlook, Request, Response,
};
use lanai_types::quote::Quoted;
use lanai_wasm::{Program, Wasm, WasmLimits};

use crate::{ExecLimits, without_detours, words};

/// How the name of a module ends.
const ENDING: &str = ".wasm";

/// Runs WASM modules: the list goes to their standard input, and comes back from their standard output.
///
/// Knows [`FunctionRef::Exec`] whose first word ends with `.wasm`: a file, or a folder in the layout of OCI images, seen from a folder. The other words
/// are its arguments. It stands before [`Exec`](crate::Exec) in a chain. Modules see nothing of the machine: of what is granted, they get variables.
#[derive(Clone)]
pub struct Modules {
    wasm: Wasm,
    folder: PathBuf,
}

impl Modules {
    /// Those of a folder.
    pub fn new(wasm: Wasm, folder: impl Into<PathBuf>) -> Self {
        Self { wasm, folder: folder.into() }
    }

    /// The same with other limits.
    #[must_use]
    pub fn limited(&self, limits: ExecLimits) -> Self {
        let ExecLimits { max_time, max_memory, max_output, max_stderr, .. } = limits;
        let limits = WasmLimits { max_time, max_memory, max_output, max_stderr, ..self.wasm.limits() };
        Self { wasm: self.wasm.limited(limits), folder: self.folder.clone() }
    }

    /// Whether a path is that of a module.
    pub fn is_module(path: &str) -> bool {
        path.ends_with(ENDING)
    }

    /// Which program would run, by the digest of its module, for somebody who vouches that it answers alike to equal lists.
    pub(crate) async fn vouched(&self, function: &FunctionRef) -> Identity {
        let Some(program) = self.find(function) else { return Identity::Unknown };
        match self.wasm.digest(&program.path).await {
            Err(cause) => Identity::Volatile(cause.to_string()),
            Ok(digest) => {
                let mut input = InputDigest::new().part("wasm").part(digest.as_bytes());
                for argument in &program.arguments {
                    input = input.part(argument);
                }
                Identity::Fixed(input.finish())
            }
        }
    }

    fn find(&self, function: &FunctionRef) -> Option<Program> {
        let FunctionRef::Exec(line) = function else { return None };
        let mut words = words::split(line).ok()?.into_iter();
        let path = words.next().filter(|path| Self::is_module(path))?;
        Some(Program { path: without_detours(&self.folder.join(path)), arguments: words.collect() })
    }
}

#[async_trait]
impl Evaluator for Modules {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        match self.find(&request.function) {
            Some(program) => self.wasm.run(program, request, deadline).await,
            None => Err(Error::NotFound(Box::new(request))),
        }
    }

    fn foresee(&self, function: &FunctionRef, _: &Grants) -> Outlook {
        match self.find(function).map(|program| program.path.metadata()) {
            None => Outlook::Unknown,
            Some(Ok(_)) => Outlook::Runs,
            Some(Err(cause)) => Outlook::Cannot(format!("cannot run {}: {cause}", Quoted(function.as_str()))),
        }
    }
}
