//! The functions that come with the binary.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use async_trait::async_trait;
use lanai_evaluate::{
    Deadline, Error, Evaluator, Failed, Failing, FunctionRef, Grants, Identity, InputDigest, Outlook,
    Request, Response, wire,
};
use lanai_functions::catalog::find_in;
use lanai_functions::{Code, Function};
use lanai_krm::ResourceList;
use lanai_process::Command;

use crate::caged::{self, Launcher, Way};
use crate::{Caller, ExecLimits};

/// The name of the evaluator.
const NAME: &str = "native";

/// Runs functions that are part of this binary.
///
/// Knows images only. A panic in a function is a failure of that function. Time and cancellation end the waiting; the code of
/// a function of ours then runs to its end, which is near, and its answer is thrown away. Results that the list brings along are
/// not shown to the function.
///
/// Functions that run what users wrote ([`Code::Users`]) are started as `lanai fn run NAME` in a cage, if there is
/// [somebody to make one](Self::isolated). Otherwise they run inside as well, and what does not end goes on in the background.
#[derive(Clone)]
pub struct Native {
    functions: Vec<&'static dyn Function>,
    scope: NativeScope,
    isolation: Option<Isolation>,
}

#[derive(Clone)]
struct Isolation {
    launcher: Launcher,
    caller: Caller,
    limits: ExecLimits,
}

/// Which images a function of ours stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NativeScope {
    /// Those of the public catalog: its registries or none, the tags that the function implements, `latest`, or no tag.
    #[default]
    Catalog,
    /// Those of every registry, and those with a digest, as long as the tag is one that the function implements, `latest` or
    /// none.
    AnyPrefix,
}

impl Native {
    /// These functions, for these images.
    pub fn new(functions: impl IntoIterator<Item = &'static dyn Function>, scope: NativeScope) -> Self {
        Self { functions: functions.into_iter().collect(), scope, isolation: None }
    }

    /// Runs what users wrote in cages. The launcher is our own binary: it has the command `fn run`.
    #[must_use]
    pub fn isolated(self, launcher: Launcher, limits: ExecLimits) -> Self {
        let isolation = Isolation { launcher, caller: Caller::default(), limits };
        Self { isolation: Some(isolation), ..self }
    }

    /// The same with other limits on what runs in cages.
    #[must_use]
    pub fn limited(self, limits: ExecLimits) -> Self {
        let isolation = self.isolation.map(|isolation| Isolation { limits, ..isolation });
        Self { isolation, ..self }
    }

    fn find(&self, image: &str) -> Option<&'static dyn Function> {
        match self.scope {
            NativeScope::Catalog => find_in(&self.functions, image),
            NativeScope::AnyPrefix => {
                let name = image.rsplit_once('/').map_or(image, |(_, name)| name);
                let name = name.split_once('@').map_or(name, |(name, _)| name);
                find_in(&self.functions, name)
            }
        }
    }
}

#[async_trait]
impl Evaluator for Native {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let FunctionRef::Image(image) = &request.function else {
            return Err(Error::NotFound(Box::new(request)));
        };
        let Some(function) = self.find(image) else {
            return Err(Error::NotFound(Box::new(request)));
        };
        match (&self.isolation, function.code()) {
            (Some(isolation), Code::Users) => isolation.run(function, request, deadline).await,
            (None, Code::Users) | (_, Code::Ours) => {
                let variables = request.grants.variables.iter();
                let variables = variables.map(|one| (one.name.clone(), one.value.clone())).collect();
                inside(function, variables, request.list, deadline).await
            }
        }
    }

    fn is_repeatable(&self, function: &FunctionRef) -> bool {
        let FunctionRef::Image(image) = function else { return false };
        self.find(image).is_some_and(|function| function.code() == Code::Ours)
    }

    fn foresee(&self, function: &FunctionRef, _: &Grants) -> Outlook {
        match function {
            FunctionRef::Image(image) if self.find(image).is_some() => Outlook::Runs,
            FunctionRef::Image(_) | FunctionRef::Exec(_) => Outlook::Unknown,
        }
    }

    async fn identify(&self, function: &FunctionRef, grants: &Grants) -> Identity {
        let FunctionRef::Image(image) = function else { return Identity::Unknown };
        match self.find(image) {
            None => Identity::Unknown,
            Some(_) if *grants != Grants::default() => {
                Identity::Volatile("it is granted something beside its input".to_owned())
            }
            // Which version of it, the version of the program says.
            Some(function) => Identity::Fixed(InputDigest::new().part(NAME).part(function.name()).finish()),
        }
    }
}

impl Isolation {
    /// Runs a function in a process of its own.
    async fn run(
        &self,
        function: &'static dyn Function,
        request: Request,
        deadline: &Deadline,
    ) -> Result<Response, Error> {
        let program = self.launcher.program();
        let mut command = Command::new(program).argument("fn").argument("run").argument(function.name());
        for variable in &request.grants.variables {
            command = command.argument("--env").argument(&variable.name);
            command = command.variable(&variable.name, &variable.value);
        }
        // What else a script of a package can do does not depend on grants: its language has no files and no network.
        let grants = Grants::default();
        let cage = self.launcher.cage(program, &self.caller, &grants, &self.limits);
        let list = ResourceList { results: Vec::new(), ..request.list };
        let sent = wire::send(&list).map_err(|cause| {
            Error::Infrastructure(format!("cannot run the function {:?}: {cause}", function.name()))
        })?;
        let way = Way::Caged(Box::new(cage), self.launcher.clone());
        let answer = caged::run(command, way, sent, &self.limits, deadline).await?;
        Ok(Response { evaluator: NAME, ..answer })
    }
}

/// Runs a function in this process, away from the threads that wait.
async fn inside(
    function: &'static dyn Function,
    variables: BTreeMap<String, String>,
    list: ResourceList,
    deadline: &Deadline,
) -> Result<Response, Error> {
    let limit = deadline.limit;
    let work = tokio::task::spawn_blocking(move || match function.with_environment(variables) {
        Some(granted) => run(granted.as_ref(), list),
        None => run(function, list),
    });
    tokio::select! {
        biased;
        () = deadline.cancel.cancelled() => Err(Error::Cancelled),
        done = tokio::time::timeout(deadline.left(), work) => match done {
            Err(_) => Err(Error::Timeout { limit, stderr: String::new() }),
            Ok(Err(cause)) => Err(Error::Infrastructure(format!("cannot run a function: {cause}"))),
            Ok(Ok(answer)) => answer,
        },
    }
}

fn run(function: &dyn Function, list: ResourceList) -> Result<Response, Error> {
    let mut list = ResourceList { results: Vec::new(), ..list };
    let mut stderr = String::new();
    let done = catch_unwind(AssertUnwindSafe(|| function.run_aloud(&mut list, &mut stderr)));
    let message = match done {
        Ok(Ok(())) => {
            return Ok(Response { list, stderr, evaluator: NAME, exit_code: 0 });
        }
        Ok(Err(failure)) => failure.message,
        Err(panic) => format!("the function {:?} panicked: {}", function.name(), panic_text(panic.as_ref())),
    };
    stderr.push_str(&message);
    stderr.push('\n');
    let why = Failing::Exit(1);
    Err(Error::Failed(Box::new(Failed { why, exit_code: 1, results: list.results, stderr })))
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}
