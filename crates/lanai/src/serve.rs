//! The server of this program.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lanai_apiserver::Limits;
use lanai_cli::{DemoSettings, GateSettings, LogFormat, ServerSettings, Serving, Then, Told};
use lanai_controllers::function_config::FunctionConfigs;
use lanai_runner::ExecLimits;
use lanai_runtimes::Functions;
use lanai_serve::{Collector, Options, PackageOptions, Server};
use ring::rand::{SecureRandom, SystemRandom};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// The results of functions, in the data directory.
const RESULTS: &str = "results";

/// The threads of a server.
fn threads() -> Result<tokio::runtime::Runtime, String> {
    lanai_heap::keep_small();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| format!("no threads can be had: {error}"))
}

/// The server that comes with this program.
pub(crate) struct Here;

impl Serving for Here {
    fn serve(
        &self,
        settings: ServerSettings,
        stop: CancellationToken,
        ready: &mut dyn FnMut(SocketAddr),
    ) -> Result<(), String> {
        log(settings.log_format);
        let runtime = threads()?;
        runtime.block_on(async {
            if let Some(containers) = &settings.functions.containers {
                lanai_cli::sweep(containers).await;
            }
            let server = Server::start(options(settings)?).await.map_err(|error| chain(&error))?;
            ready(server.address());
            server.run(stop).await;
            Ok(())
        })
    }

    fn demo(
        &self,
        settings: DemoSettings,
        stop: CancellationToken,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<(), String> {
        log_into(&settings.log)?;
        let runtime = threads()?;
        runtime.block_on(async {
            let server = Server::start(options(settings.server)?).await.map_err(|error| chain(&error))?;
            let (address, client) = (server.address(), server.client("lanai-demo"));
            let end = stop.child_token();
            let serving = tokio::spawn(server.run(end.clone()));
            let mut progress = |step: &str| tell(Told::Step(step));
            let made = tokio::select! {
                () = stop.cancelled() => Ok(None),
                made = lanai_demo::seed(&client, &settings.repositories, &mut progress) => made.map(|()| Some(())),
            };
            if let Ok(Some(())) = &made {
                tell(Told::Ready(address));
                if settings.then == Then::Serve {
                    stop.cancelled().await;
                }
            }
            end.cancel();
            let ended = serving.await;
            made.map_err(|error| chain(&error))?;
            ended.map_err(|error| format!("the server broke off: {error}"))
        })
    }

    fn log(&self, format: LogFormat) {
        log(format);
    }
}

/// Log lines go into a file.
fn log_into(path: &Path) -> Result<(), String> {
    let file = std::fs::File::create(path).map_err(|error| format!("\"{}\": {error}", path.display()))?;
    let filter = EnvFilter::try_from_env("LANAI_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    // There is one subscriber in a process; a second one would be of no use.
    let _ = builder.with_writer(std::sync::Mutex::new(file)).try_init();
    Ok(())
}

fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_env("LANAI_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // There is one subscriber in a process, and this is the only place that sets it.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
}

fn options(settings: ServerSettings) -> Result<Options, String> {
    let packages = packages(&settings)?;
    let traces = settings.traces.as_deref().map(str::parse::<Collector>).transpose();
    let traces = traces.map_err(|error| error.to_string())?;
    let given = settings.limits;
    let usual = Limits::DEFAULT;
    let limits = Limits {
        max_body: given.max_body.unwrap_or(usual.max_body),
        max_requests: given.max_requests.map_or(usual.max_requests, NonZeroUsize::get),
        max_requests_per_user: given
            .max_requests_per_user
            .map_or(usual.max_requests_per_user, NonZeroUsize::get),
        max_watches: given.max_watches.map_or(usual.max_watches, NonZeroUsize::get),
        max_watches_per_user: given
            .max_watches_per_user
            .map_or(usual.max_watches_per_user, NonZeroUsize::get),
        ..usual
    };
    let random = SystemRandom::new();
    Ok(Options {
        data: settings.data,
        listen: settings.listen,
        names: settings.names,
        token_file: settings.token_file,
        front_proxy_authority: settings.front_proxy_ca,
        front_proxies: settings.front_proxy_names,
        delegate: settings.authorization_kubeconfig,
        limits,
        packages: Some(packages),
        traces,
        renewal: lanai_serve::server::RENEWAL_EVERY,
        clock: Arc::new(jiff::Timestamp::now),
        chance: Arc::new(move |bytes| random.fill(bytes).expect("the system has random numbers")),
    })
}

/// Functions run by the chain of `lanai-runtimes`, as the settings say.
fn packages(settings: &ServerSettings) -> Result<PackageOptions, String> {
    let program = std::env::current_exe().map_err(|error| {
        format!("functions cannot be caged: it is not known where this program is: {error}")
    })?;
    let given = &settings.limits;
    let usual = lanai_runtimes::Limits::DEFAULT;
    let limits = lanai_runtimes::Limits {
        function_time: given
            .max_function_seconds
            .map_or(usual.function_time, |seconds| Duration::from_secs(seconds.get())),
        max_message: given.max_function_message.unwrap_or(usual.max_message),
        exec: ExecLimits {
            max_memory: given.max_function_memory.unwrap_or(usual.exec.max_memory),
            max_output: given.max_function_output.unwrap_or(usual.exec.max_output),
            ..usual.exec
        },
    };
    let functions = Functions::new(lanai_runtimes::Settings {
        version: lanai_cli::version_of(Some(&program)),
        program,
        environment: std::env::vars_os().collect(),
        functions: settings.functions.programs.clone(),
        function_runner: settings.functions.runner.clone(),
        containers: settings.functions.containers.clone(),
        image_prefix: settings.functions.image_prefix.clone(),
        tags: Arc::new(lanai_cli::NativeTags),
        results: Some(settings.data.join(RESULTS)),
        limits,
    })?;
    let functions = Arc::new(functions);
    let (assigned, counted) = (Arc::clone(&functions), Arc::clone(&functions));
    let names = ["PATH", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"];
    let environment = names.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
    Ok(PackageOptions {
        runtimes: functions,
        max_renders: given.max_renders.unwrap_or(lanai_engine::rendering::MAX_RENDERS),
        functions: FunctionConfigs {
            namespace: settings.functions.namespace.clone(),
            assign: Arc::new(move |objects| assigned.assign(objects)),
        },
        metrics: Arc::new(move || counted.metrics()),
        readiness: match settings.readiness_gates {
            GateSettings::Enforced => lanai_engine::Readiness::Enforced,
            GateSettings::LeftToClients => lanai_engine::Readiness::LeftToClients,
        },
        environment: environment.collect(),
    })
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let said = inner.to_string();
        // Some say what is below themselves.
        if !text.ends_with(&said) {
            text = format!("{text}: {said}");
        }
        source = inner.source();
    }
    text
}
