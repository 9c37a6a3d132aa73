//! Who runs functions, and with which rights.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use lanai_evaluate::Evaluator;
use lanai_functions::Function;
use lanai_functions::catalog::PREFIXES;
use lanai_krm::package::{OtherYaml, ReadOptions};
use lanai_render::{ExecPolicy, Options, RenderLimits, StatusPolicy, Tags};
use lanai_runner::{
    Caching, Caller, Chain, EngineKind, Exec, ExecLimits, ExecMode, Helm, Launcher, Modules, Native,
    NativeScope, Policy, Wasm, WasmLimits,
};
use lanai_types::quote::Quoted;

use super::args::{Common, NativeImages};
use super::grants;
use crate::cache;
use crate::containers;
use crate::failure::{Code, Failure};
use crate::io::Io;
use crate::persona::Persona;
use crate::pkg::local;

/// The functions that come with the program.
pub(super) fn functions() -> Vec<&'static dyn Function> {
    lanai_runner::functions()
}

/// What stands before names of images that have no registry.
pub const DEFAULT_PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";
/// The variable that says another one.
const PREFIX_VARIABLE: &str = "KPT_IMAGE_PREFIX";

/// Those who run functions.
pub(super) struct Runtime {
    /// Asked one after another.
    pub evaluator: Arc<dyn Evaluator>,
    launcher: Option<Launcher>,
    caching: Option<Arc<Caching>>,
    /// Why nothing is remembered, if something should be.
    unusable: Option<String>,
}

impl Runtime {
    /// Programs are caged as far as this machine can. Under the name `kpt`, those that a pipeline names see what their caller sees,
    /// as they do there; scripts for functions of ours are caged all the same.
    pub fn new(common: &Common, persona: Persona, io: &Io<'_>) -> Result<Self, Failure> {
        let scope = match common.native {
            NativeImages::Catalog => NativeScope::Catalog,
            NativeImages::Any => NativeScope::AnyPrefix,
        };
        let folder = local::absolute(Path::new(""), io)?;
        let environment = io.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let caller = Caller { environment, folder };
        let limits = ExecLimits::default();
        let launcher = io.program.as_ref().map(|program| Launcher::new(program, Policy::BestEffort));
        let mode = match (persona, &launcher) {
            (Persona::Lanai | Persona::Porchctl, Some(launcher)) => ExecMode::Caged(launcher.clone()),
            (Persona::Lanai | Persona::Porchctl, None) | (Persona::Kpt, _) => ExecMode::AsKpt,
        };
        let mut native = Native::new(functions(), scope);
        if let Some(launcher) = &launcher {
            native = native.isolated(launcher.clone(), limits);
        }
        let helm = Helm { caller: caller.clone(), mode: mode.clone(), limits };
        let order = match persona {
            Persona::Lanai | Persona::Porchctl => EngineKind::ALL,
            Persona::Kpt => [EngineKind::Docker, EngineKind::Podman, EngineKind::Nerdctl],
        };
        let named = common.container_runtime.as_deref();
        let container = containers::of(named, &common.image_pull_policy, order, &caller, io)?;
        let modules = Modules::new(Wasm::new(WasmLimits::DEFAULT), &caller.folder);
        let exec = Exec { caller, mode, limits };
        let evaluators: [Arc<dyn Evaluator>; 4] =
            [Arc::new(native), Arc::new(helm), Arc::new(modules), Arc::new(exec)];
        let container = container.map(|container| Arc::new(container) as Arc<dyn Evaluator>);
        let evaluators = evaluators.into_iter().chain(container);
        Ok(Self { evaluator: Arc::new(Chain::new(evaluators)), launcher, caching: None, unusable: None })
    }

    /// The same, with what was computed before. Where no catalog can be had, everything runs. `place` is where packages are.
    pub fn remembering(self, place: &Path, io: &Io<'_>) -> Self {
        let catalog = match cache::catalog(io) {
            Ok(catalog) => catalog,
            Err(why) => return Self { unusable: Some(why), ..self },
        };
        let (version, place) = (version(io), place.display().to_string());
        let caching = Arc::new(Caching::new(self.evaluator, catalog, version, place));
        Self { evaluator: Arc::clone(&caching) as Arc<dyn Evaluator>, caching: Some(caching), ..self }
    }

    /// Says of each step why it ran.
    pub fn explain(&self, io: &mut Io<'_>) {
        if let Some(why) = &self.unusable {
            io.tell(&format!("cache: not used: {why}"));
        }
        for explained in self.caching.iter().flat_map(|caching| caching.take_explained()) {
            io.tell(&format!("cache: {explained}"));
        }
    }

    /// Says what could not be held about the programs that ran.
    pub fn tell_shortfalls(&self, io: &mut Io<'_>) {
        for shortfall in self.launcher.iter().flat_map(Launcher::shortfalls) {
            io.tell(&format!("warning: {shortfall}"));
        }
    }
}

/// Which program this is. Two builds are two programs, whatever they call themselves.
fn version(io: &Io<'_>) -> String {
    version_of(io.program.as_deref())
}

/// Which program the file of a program is.
pub fn version_of(program: Option<&Path>) -> String {
    let file = program.and_then(|program| program.metadata().ok());
    let built = file.map(|file| (file.len(), file.mtime(), file.mtime_nsec()));
    format!("{} {built:?}", env!("CARGO_PKG_VERSION"))
}

/// The options of a run.
pub(super) fn options(
    name: &str,
    common: &Common,
    exec: ExecPolicy,
    status: StatusPolicy,
    persona: Persona,
    io: &Io<'_>,
) -> Result<Options<'static>, Failure> {
    Ok(Options {
        name: name.to_owned(),
        image_prefix: image_prefix(common, io)?,
        tags: &NativeTags,
        exec,
        grants: grants::of(common, io)?,
        read: ReadOptions { other_yaml: OtherYaml::Included, ignore: persona.dialect() },
        status,
        limits: RenderLimits::default(),
        cancel: io.stop.token(),
    })
}

/// The prefix: of the flag, else of the environment, else ours.
pub(super) fn image_prefix(common: &Common, io: &Io<'_>) -> Result<String, Failure> {
    let variable = io.environment.get(OsStr::new(PREFIX_VARIABLE));
    let variable =
        variable.map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty());
    let prefix = common.image_prefix.clone().or(variable).unwrap_or_else(|| DEFAULT_PREFIX.to_owned());
    checked_prefix(&prefix)
}

/// A prefix of images, if it can be one.
pub(crate) fn checked_prefix(prefix: &str) -> Result<String, Failure> {
    let wrong = |why: &str| {
        Failure::of(Code::FunctionSetup, format!("invalid image prefix {}: {why}", Quoted(prefix)))
    };
    if prefix.contains("://") {
        return Err(wrong("must not include a scheme (e.g. https://)"));
    }
    if prefix.contains(['?', '#']) {
        return Err(wrong("must not contain '?' or '#'"));
    }
    if prefix.is_empty() || prefix.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err(wrong("must be a valid registry path"));
    }
    Ok(prefix.trim_end_matches('/').to_owned())
}

/// The tags for which functions come with the program.
pub struct NativeTags;

impl Tags for NativeTags {
    fn of(&self, image: &str) -> Vec<String> {
        let name = PREFIXES.iter().find_map(|prefix| image.strip_prefix(prefix)).unwrap_or(image);
        let is_it = |function: &&&dyn Function| function.name() == name || function.aliases().contains(&name);
        let functions = functions();
        let found = functions.iter().find(is_it);
        found
            .map(|function| function.tags().iter().map(|tag| (*tag).to_owned()).collect())
            .unwrap_or_default()
    }
}
