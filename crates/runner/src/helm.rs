//! `render-helm-chart`: charts, rendered by the `helm` of this machine.

mod about;
mod charts;
mod render;
mod session;

use std::path::PathBuf;

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Outlook, Request, Response};
use lanai_functions::Function;
use lanai_functions::catalog::find_in;

use crate::{Caller, ExecLimits, ExecMode, job};

/// The program that is called.
const PROGRAM: &str = "helm";

/// Runs `render-helm-chart` by calling the `helm` that is in the caller's `PATH`.
///
/// Knows the images of that function and nothing else. The program has to be granted by its name
/// ([`Grants::programs`](lanai_evaluate::Grants::programs)), the network as well where a chart or a file of values is not on
/// this machine; without the grant the request is refused. Charts, files of values and helm's own configuration are found
/// through the mounts that are granted, under their targets, as they would be in a container.
///
/// Helm has no environment but the variables that are granted, and keeps what it has to keep in a folder that goes away in the
/// end. Passwords go through its standard input. In a cage, each call sees what is mounted and that folder, and the network only
/// while it fetches something.
#[derive(Clone, Debug)]
pub struct Helm {
    /// Who asks; helm is found by the `PATH` among the variables.
    pub caller: Caller,
    /// What helm sees of the machine.
    pub mode: ExecMode,
    /// How much each call may take.
    pub limits: ExecLimits,
}

#[async_trait]
impl Evaluator for Helm {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let FunctionRef::Image(image) = &request.function else {
            return Err(Error::NotFound(Box::new(request)));
        };
        if find_in(&[about_helm()], image).is_none() {
            return Err(Error::NotFound(Box::new(request)));
        }
        let program = self.program(image, &request.grants)?;
        let charts = charts::read(request.list.function_config.as_ref())
            .map_err(|why| session::failed(&format!("failed to configure function: {why}"), ""))?;
        let setup = session::Setup {
            program,
            caller: self.caller.clone(),
            mode: self.mode.clone(),
            limits: self.limits,
            grants: request.grants,
            deadline: deadline.clone(),
        };
        let list = request.list;
        job::run(deadline, move |watch| render::all(&setup, watch, list, &charts)).await?
    }

    fn foresee(&self, function: &FunctionRef, grants: &Grants) -> Outlook {
        let FunctionRef::Image(image) = function else { return Outlook::Unknown };
        if find_in(&[about_helm()], image).is_none() {
            return Outlook::Unknown;
        }
        match self.program(image, grants) {
            Ok(_) => Outlook::Runs,
            Err(error) => Outlook::Cannot(error.to_string()),
        }
    }
}

impl Helm {
    /// Where helm is, if it may be called.
    fn program(&self, image: &str, grants: &Grants) -> Result<PathBuf, Error> {
        if !grants.programs.iter().any(|program| program == PROGRAM) {
            return Err(Error::Refused(format!(
                "function \"{image}\" calls the program \"{PROGRAM}\", which is not allowed; allow it with `--allow-program {PROGRAM}`"
            )));
        }
        self.caller.find(PROGRAM).map_err(|cause| {
            Error::Infrastructure(format!("cannot run the function \"{image}\": {cause}; install helm"))
        })
    }
}

/// What users should know about `render-helm-chart`.
pub fn about_helm() -> &'static dyn Function {
    about::about()
}
