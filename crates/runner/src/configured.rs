//! Functions that `FunctionConfig` objects assign to somebody on this machine.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use lanai_evaluate::{
    Deadline, Error, Evaluator, FunctionRef, Grants, Identity, InputDigest, Outlook, Request, Response,
};
use lanai_krm::Resource;
use lanai_types::quote::Quoted;

use crate::function_config::{Executor, FunctionConfig, FunctionConfigs, Match, Problem};
use crate::{Container, Exec, ExecLimits, Modules, Native, Wasm, WasmLimits};

/// Runs what `FunctionConfig` objects assign to functions of ours, to programs, and, where there are
/// [containers](Self::with_containers), to pods. It does not know others. A program whose path ends with `.wasm` is a WASM module.
pub struct Configured {
    configs: Arc<RwLock<Arc<FunctionConfigs>>>,
    native: Native,
    programs: Programs,
    modules: Modules,
    containers: Option<Container>,
}

/// Which programs objects may name.
#[derive(Clone, Debug)]
pub enum Programs {
    /// None: there is no folder of programs.
    None,
    /// Those below a folder, and others by their absolute paths. For objects that only the owner of the machine writes.
    Anywhere(Exec, PathBuf),
    /// Those below a folder, and no others.
    Below(Exec, PathBuf),
}

impl Configured {
    /// By these functions of ours, and by these programs. Nothing is assigned yet.
    pub fn new(native: Native, programs: Programs) -> Self {
        // Programs have whole paths before they are run.
        let modules = Modules::new(Wasm::new(WasmLimits::DEFAULT), "/");
        Self { configs: Arc::default(), native, programs, modules, containers: None }
    }

    /// What is assigned to pods runs in these containers.
    #[must_use]
    pub fn with_containers(self, containers: Container) -> Self {
        Self { containers: Some(containers), ..self }
    }

    /// The same with other limits. What is assigned to one is assigned to both.
    #[must_use]
    pub fn limited(&self, limits: ExecLimits) -> Self {
        let exec = |exec: &Exec| Exec { limits, ..exec.clone() };
        let programs = match &self.programs {
            Programs::None => Programs::None,
            Programs::Anywhere(programs, folder) => Programs::Anywhere(exec(programs), folder.clone()),
            Programs::Below(programs, folder) => Programs::Below(exec(programs), folder.clone()),
        };
        let native = self.native.clone().limited(limits);
        let containers = self.containers.as_ref().map(|containers| containers.limited(limits));
        let modules = self.modules.limited(limits);
        Self { configs: Arc::clone(&self.configs), native, programs, modules, containers }
    }

    /// From now on, these objects count. Calls that run go on.
    pub fn assign(&self, configs: FunctionConfigs) {
        *self.configs.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(configs);
    }

    /// Why an object could not be used as a whole now, if it could not: a function that is not there, a program that cannot be started.
    pub fn obstacle(&self, object: &FunctionConfig) -> Option<String> {
        let native = object.native.as_ref().and_then(|native| {
            let named = FunctionRef::Image(native.id.clone());
            match self.native.foresee(&named, &Grants::default()) {
                Outlook::Runs => None,
                Outlook::Unknown => Some(unknown(&object.name, &native.id)),
                Outlook::Cannot(why) => Some(why),
            }
        });
        native.or_else(|| match self.command(&object.binary.as_ref()?.path) {
            Err(why) => Some(why),
            Ok((programs, command)) => match programs.foresee(&command, &Grants::default()) {
                Outlook::Runs | Outlook::Unknown => None,
                Outlook::Cannot(why) => Some(why),
            },
        })
    }

    fn find(&self, function: &FunctionRef) -> Option<Match> {
        let FunctionRef::Image(image) = function else { return None };
        let configs = Arc::clone(&self.configs.read().unwrap_or_else(PoisonError::into_inner));
        let is_ours = |found: &&Match| found.executor != Executor::Pod || self.containers.is_some();
        configs.find(image).filter(is_ours).cloned()
    }

    /// Where a program is, and who runs it; or why it may not.
    fn program(&self, path: &str) -> Result<(&Exec, PathBuf), String> {
        match &self.programs {
            Programs::None => {
                Err(format!("the program {} cannot run: there is no folder of functions here", Quoted(path)))
            }
            Programs::Anywhere(programs, folder) => Ok((programs, folder.join(path))),
            Programs::Below(programs, folder) => {
                let joined = folder.join(path);
                let is_below = joined.starts_with(folder)
                    && !joined.components().any(|part| part == Component::ParentDir);
                if !is_below {
                    let why = "it is not below the folder of functions";
                    return Err(format!("the program {} cannot run: {why}", Quoted(path)));
                }
                Ok((programs, joined))
            }
        }
    }

    /// The command line of a program, and who runs it; or why it may not.
    fn command(&self, path: &str) -> Result<(&dyn Evaluator, FunctionRef), String> {
        let (programs, whole) = self.program(path)?;
        let quoted = format!("'{}'", whole.display().to_string().replace('\'', r"'\''"));
        let runs: &dyn Evaluator = if Modules::is_module(path) { &self.modules } else { programs };
        Ok((runs, FunctionRef::Exec(quoted)))
    }
}

#[async_trait]
impl Evaluator for Configured {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let Some(found) = self.find(&request.function) else {
            return Err(Error::NotFound(Box::new(request)));
        };
        match found.executor {
            Executor::Native(id) => {
                let named = Request { function: FunctionRef::Image(id.clone()), ..request };
                match self.native.evaluate(named, deadline).await {
                    Err(Error::NotFound(_)) => Err(Error::Infrastructure(unknown(&found.config, &id))),
                    answer => answer,
                }
            }
            Executor::Binary(path) => {
                let (programs, function) = self.command(&path).map_err(Error::Refused)?;
                programs.evaluate(Request { function, ..request }, deadline).await
            }
            Executor::Pod => match &self.containers {
                Some(containers) => containers.evaluate(request, deadline).await,
                None => Err(Error::NotFound(Box::new(request))),
            },
        }
    }

    fn is_repeatable(&self, function: &FunctionRef) -> bool {
        match self.find(function).map(|found| found.executor) {
            Some(Executor::Native(id)) => self.native.is_repeatable(&FunctionRef::Image(id)),
            Some(Executor::Binary(_) | Executor::Pod) | None => false,
        }
    }

    fn foresee(&self, function: &FunctionRef, grants: &Grants) -> Outlook {
        let Some(found) = self.find(function) else { return Outlook::Unknown };
        match found.executor {
            Executor::Native(id) => match self.native.foresee(&FunctionRef::Image(id.clone()), grants) {
                Outlook::Unknown => Outlook::Cannot(unknown(&found.config, &id)),
                outlook => outlook,
            },
            Executor::Binary(path) => match self.command(&path) {
                Ok((programs, command)) => programs.foresee(&command, grants),
                Err(why) => Outlook::Cannot(why),
            },
            Executor::Pod => match &self.containers {
                Some(containers) => containers.foresee(function, grants),
                None => Outlook::Unknown,
            },
        }
    }

    async fn identify(&self, function: &FunctionRef, grants: &Grants) -> Identity {
        let Some(found) = self.find(function) else { return Identity::Unknown };
        match found.executor {
            Executor::Native(id) => self.native.identify(&FunctionRef::Image(id), grants).await,
            Executor::Binary(path)
                if found.deterministic && *grants == Grants::default() && Modules::is_module(&path) =>
            {
                match self.command(&path) {
                    Ok((_, command)) => self.modules.vouched(&command).await,
                    Err(why) => Identity::Volatile(why),
                }
            }
            Executor::Binary(path) if found.deterministic && *grants == Grants::default() => {
                let content = self.program(&path).map_err(std::io::Error::other);
                match content.and_then(|(_, path)| fs::read(path)) {
                    Ok(content) => Identity::Fixed(InputDigest::new().part("binary").part(content).finish()),
                    Err(cause) => Identity::Volatile(format!("{}: {cause}", Quoted(&path))),
                }
            }
            Executor::Pod if found.deterministic && *grants == Grants::default() => {
                let Some(containers) = &self.containers else { return Identity::Unknown };
                match containers.digest(function.as_str()).await {
                    Ok(digest) => {
                        Identity::Fixed(InputDigest::new().part("container").part(digest.as_bytes()).finish())
                    }
                    Err(cause) => Identity::Volatile(cause.to_string()),
                }
            }
            Executor::Binary(_) | Executor::Pod => {
                Identity::Volatile("nobody vouches that it answers alike to equal lists".to_owned())
            }
        }
    }
}

fn unknown(config: &str, id: &str) -> String {
    format!(
        "FunctionConfig {} names the function {}, which does not come with this program",
        Quoted(config),
        Quoted(id)
    )
}

/// Reads the objects of a folder: its files `*.yaml` and `*.yml`, by name. What cannot be read is told, and the others count.
pub fn load_function_configs(folder: &Path, default_prefix: &str) -> (FunctionConfigs, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut told = |config: String, what: String| problems.push(Problem { config, what });
    let mut objects = Vec::new();
    let mut files: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(cause) => {
            told(folder.display().to_string(), cause.to_string());
            Vec::new()
        }
    };
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
    files.sort();
    for file in files {
        let shown = file.display().to_string();
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(cause) => {
                told(shown, cause.to_string());
                continue;
            }
        };
        match Resource::parse_stream(&text) {
            Err(cause) => told(shown, cause.to_string()),
            Ok(resources) => {
                for object in resources.iter().filter_map(FunctionConfig::of) {
                    match object {
                        Ok(object) => objects.push(object),
                        Err(problem) => told(problem.config, problem.what),
                    }
                }
            }
        }
    }
    let configs = FunctionConfigs::build(objects, default_prefix);
    problems.extend(configs.problems().iter().cloned());
    (configs, problems)
}
