//! Which evaluators there are, and their order.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use lanai_evaluate::Evaluator;
use lanai_remote::{Remote, RemoteOptions};
use lanai_render::Tags;
use lanai_runner::{
    Caller, Chain, Configured, Container, Exec, ExecLimits, ExecMode, Launcher, Native, NativeScope, Policy,
    Programs,
};

use crate::measured::{Counted, Measured};
use crate::options::{Endpoint, Limits, Options};

/// What a server is started with.
pub struct Settings {
    /// Our own binary: it makes the cages of programs, and runs scripts of users in one.
    pub program: PathBuf,
    /// Which program that is: what another one computed is not taken.
    pub version: String,
    /// The environment of the server. Programs get `PATH`, `HOME` and `LANG` of it.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder of the programs that `FunctionConfig`s name, as an absolute path; without, there are none.
    pub functions: Option<PathBuf>,
    /// The address of a function runner.
    pub function_runner: Option<String>,
    /// What runs images in containers that nobody else knows; without, they are not run.
    pub containers: Option<Container>,
    /// What stands before names of images that have no registry.
    pub image_prefix: String,
    /// Knows which tags images have.
    pub tags: Arc<dyn Tags + Send + Sync>,
    /// The folder of results that are known; without, everything runs each time.
    pub results: Option<PathBuf>,
    /// How much functions may take.
    pub limits: Limits,
}

/// What the chains of all namespaces are made of.
pub(crate) struct Parts {
    pub native: Native,
    pub configured: Configured,
    /// The function runner of the server.
    remote: Option<Remote>,
    containers: Option<Container>,
    counted: Arc<Counted>,
}

impl Parts {
    /// # Errors
    /// When the address of the function runner is none.
    pub fn new(settings: &Settings, counted: Arc<Counted>) -> Result<Self, String> {
        // A server runs what users wrote, and programs, in a whole cage or not at all.
        let launcher = Launcher::new(&settings.program, Policy::Strict);
        let limits = exec_limits(settings.limits);
        let native = Native::new(lanai_runner::functions(), NativeScope::Catalog);
        let native = native.isolated(launcher.clone(), limits);
        let programs = match &settings.functions {
            None => Programs::None,
            Some(folder) => {
                let caller = Caller { environment: settings.environment.clone(), folder: folder.clone() };
                Programs::Below(Exec { caller, mode: ExecMode::Caged(launcher), limits }, folder.clone())
            }
        };
        let remote = settings.function_runner.as_deref();
        let remote = remote.map(|address| {
            crate::options::check_endpoint(address)
                .map_err(|why| format!("the address of the function runner \"{address}\": {why}"))?;
            connect(address, settings.limits)
        });
        let mut configured = Configured::new(native.clone(), programs);
        let containers = settings.containers.clone();
        if let Some(containers) = &containers {
            configured = configured.with_containers(containers.clone());
        }
        Ok(Self { native, configured, remote: remote.transpose()?, containers, counted })
    }

    /// The chain of a namespace, in the order in which evaluators are asked: one line each. Only whoever does not know a function lets
    /// the next one have it.
    ///
    /// # Errors
    /// When the address of its function runner is none.
    pub fn chain(&self, options: &Options) -> Result<Chain, String> {
        let limits = exec_limits(options.limits);
        let remote = match &options.endpoint {
            Endpoint::Server => self.remote.clone(),
            Endpoint::None => None,
            Endpoint::At(address) => Some(connect(address, options.limits)?),
        };
        let mut chain = vec![
            self.link("configured", self.configured.limited(limits)),
            self.link("native", self.native.clone().limited(limits)),
        ];
        chain.extend(remote.map(|remote| self.link("grpc", remote)));
        let containers = self.containers.as_ref().map(|containers| containers.limited(limits));
        chain.extend(containers.map(|containers| self.link("container", containers)));
        Ok(Chain::new(chain))
    }

    fn link(&self, name: &'static str, evaluator: impl Evaluator + 'static) -> Arc<dyn Evaluator> {
        Arc::new(Measured { name, inner: Arc::new(evaluator), counted: Arc::clone(&self.counted) })
    }
}

fn exec_limits(limits: Limits) -> ExecLimits {
    ExecLimits { max_time: limits.exec.max_time.min(limits.function_time), ..limits.exec }
}

fn connect(address: &str, limits: Limits) -> Result<Remote, String> {
    Remote::new(address, RemoteOptions { max_message: limits.max_message, ..RemoteOptions::default() })
}
