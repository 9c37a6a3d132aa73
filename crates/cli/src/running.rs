//! `lanai function-runner` and `lanai wrapper-server`: functions for callers in other processes.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use lanai_evaluate::Evaluator;
use lanai_process::Command;
use lanai_remote::{GateLimits, Handler, Runner, Server, ServerOptions, Wrapper, WrapperLimits};
use lanai_runner::{
    Caller, Chain, Configured, Container, EngineKind, Exec, ExecLimits, ExecMode, Launcher, Native,
    NativeScope, Policy, Programs, load_function_configs,
};
use lanai_types::ByteSize;
use lanai_types::quote::Quoted;
use notify::{RecursiveMode, Watcher};

use crate::containers;
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::pkg::local;
use crate::serve::{LogFormat, Serving};

/// How long calls may go on when the process is to end: a little less than it has.
const DRAIN: Duration = Duration::from_secs(6);

#[derive(Debug, Args)]
pub(crate) struct FunctionRunner {
    /// The port to listen on
    #[arg(long, default_value_t = 9445)]
    pub port: u16,
    /// What stands before names of images that have no registry
    #[arg(long, value_name = "PREFIX", default_value = "ghcr.io/kptdev/krm-functions-catalog")]
    pub default_image_prefix: String,
    /// A folder of objects, in YAML, that say which function runs where; changes count at once
    #[arg(long, value_name = "FOLDER")]
    pub function_configs: Option<PathBuf>,
    /// The folder of the programs that they name
    #[arg(long, value_name = "FOLDER", default_value = "functions")]
    pub functions: PathBuf,
    /// Run images that nobody else knows in containers, by this program
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(containers::NAMES), default_value = "none")]
    pub container_runtime: String,
    /// When images are fetched that run in containers
    #[arg(long, value_name = "POLICY", ignore_case = true, default_value = "IfNotPresent",
          value_parser = PossibleValuesParser::new(containers::PULLS))]
    pub image_pull_policy: String,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct WrapperServer {
    /// The port to listen on
    #[arg(long, default_value_t = 9446)]
    pub port: u16,
    #[command(flatten)]
    pub common: Common,
    /// The program that is run for each call, and its arguments
    #[arg(last = true, required = true, value_name = "ENTRYPOINT")]
    pub entrypoint: Vec<OsString>,
}

/// Flags of both servers.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The address to listen on; callers are not asked who they are
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub bind_address: IpAddr,
    /// How many bytes a message may have, in either direction
    #[arg(long, value_name = "BYTES", default_value_t = lanai_remote::MAX_MESSAGE.get())]
    pub max_request_body_size: u64,
    /// How many functions run at once
    #[arg(long, value_name = "CALLS", default_value_t = GateLimits::DEFAULT.max_running)]
    pub max_running: usize,
    /// How many calls of one image wait for their turn; more are refused
    #[arg(long, value_name = "CALLS", default_value_t = GateLimits::DEFAULT.max_waiting_per_image)]
    pub max_waiting: usize,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

impl Common {
    fn gate(&self) -> GateLimits {
        GateLimits {
            max_running: self.max_running.max(1),
            max_waiting_per_image: self.max_waiting,
            ..GateLimits::DEFAULT
        }
    }

    fn max_message(&self) -> ByteSize {
        ByteSize::bytes(self.max_request_body_size)
    }
}

/// Runs the functions that come with the program for callers in other processes.
pub(crate) fn function_runner(
    command: &FunctionRunner,
    serving: &dyn Serving,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let mut native = Native::new(lanai_runner::functions(), NativeScope::Catalog);
    let mut evaluators: Vec<Arc<dyn Evaluator>> = Vec::new();
    let mut _follower = None;
    // A server runs what users wrote, and programs, in a whole cage or not at all.
    let launcher = io.program.as_ref().map(|program| Launcher::new(program, Policy::Strict));
    let limits = ExecLimits::default();
    if let Some(launcher) = &launcher {
        native = native.isolated(launcher.clone(), limits);
    }
    let prefix = command.default_image_prefix.trim_end_matches('/').to_owned();
    let environment = io.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let caller = Caller { environment, folder: local::absolute(Path::new(""), io)? };
    let named = Some(command.container_runtime.as_str());
    let container = containers::of(named, &command.image_pull_policy, EngineKind::ALL, &caller, io)?;
    if let Some(configs) = &command.function_configs {
        let Some(launcher) = launcher else {
            return Err(Failure::of(
                Code::Serve,
                "programs cannot be caged: it is not known where this program is",
            ));
        };
        let programs = Exec { caller, mode: ExecMode::Caged(launcher), limits };
        let folder = local::absolute(&command.functions, io)?;
        let mut configured = Configured::new(native.clone(), Programs::Anywhere(programs, folder));
        if let Some(container) = &container {
            configured = configured.with_containers(container.clone());
        }
        let configured = Arc::new(configured);
        _follower = Some(follow(&local::absolute(configs, io)?, &prefix, &configured)?);
        evaluators.push(configured);
    }
    evaluators.push(Arc::new(native));
    evaluators.extend(container.clone().map(|container| Arc::new(container) as Arc<dyn Evaluator>));
    let runner = Runner::new(Arc::new(Chain::new(evaluators)), command.common.gate(), prefix);
    serve(Arc::new(runner), container, command.port, &command.common, serving, io)
}

/// Reads a folder of `FunctionConfig` objects, now and whenever something in it changes, as long as what comes back is held.
fn follow(
    folder: &Path,
    prefix: &str,
    configured: &Arc<Configured>,
) -> Result<notify::RecommendedWatcher, Failure> {
    let read = {
        let (folder, prefix, configured) = (folder.to_owned(), prefix.to_owned(), Arc::clone(configured));
        move || {
            let (configs, problems) = load_function_configs(&folder, &prefix);
            for problem in problems {
                tracing::warn!(%problem, "a FunctionConfig does not count");
            }
            configured.assign(configs);
        }
    };
    let cannot = |error: notify::Error| {
        let shown = folder.display().to_string();
        Failure::of(Code::Serve, format!("cannot follow the folder {}: {error}", Quoted(&shown)))
    };
    let again = read.clone();
    // Who reads a file is no change.
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access()) {
            again();
        }
    })
    .map_err(cannot)?;
    watcher.watch(folder, RecursiveMode::NonRecursive).map_err(cannot)?;
    read();
    Ok(watcher)
}

/// Runs one program for callers in other processes.
pub(crate) fn wrapper_server(
    command: &WrapperServer,
    serving: &dyn Serving,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let Some((program, arguments)) = command.entrypoint.split_first() else {
        return Err(Failure::of(Code::Usage, "there is no program to run").hint("name it behind --"));
    };
    let mut entrypoint = Command::new(program).variables(io.environment.iter());
    entrypoint = entrypoint.folder(local::absolute(Path::new(""), io)?);
    for argument in arguments {
        entrypoint = entrypoint.argument(argument);
    }
    let limits = WrapperLimits {
        max_output: command.common.max_message(),
        gate: command.common.gate(),
        ..WrapperLimits::default()
    };
    let wrapper = Wrapper::new(entrypoint, limits);
    serve(Arc::new(wrapper), None, command.port, &command.common, serving, io)
}

fn serve(
    handler: Arc<dyn Handler>,
    container: Option<Container>,
    port: u16,
    common: &Common,
    serving: &dyn Serving,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    serving.log(common.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::of(Code::Machine, format!("no threads can be had: {error}")))?;
    let busy = io.stop.busy();
    let stop = io.stop.token();
    let options =
        ServerOptions { max_message: common.max_message(), drain: DRAIN, ..ServerOptions::default() };
    let address = SocketAddr::new(common.bind_address, port);
    let served = runtime.block_on(async {
        if let Some(container) = container {
            containers::sweep(&container).await;
        }
        let server = Server::bind(address, handler, options).await?;
        io.tell(&format!("listening on {}", server.address()));
        server.run(stop).await
    });
    if served.is_ok() {
        io.stop.ended_well();
    }
    drop(busy);
    served.map(|()| Exit::Success).map_err(|error| Failure::of(Code::Serve, error.to_string()))
}
