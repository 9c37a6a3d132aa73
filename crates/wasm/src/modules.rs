//! Compiled modules.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lanai_evaluate::Error;
use lanai_types::Sha256Digest;
use lanai_types::quote::Quoted;
use wasmtime::{Config, Engine, InstancePre, Linker, Module};

use crate::state::State;
use crate::{source, wasi};

/// The function that a module begins with.
pub(crate) const START: &str = "_start";
/// The function that modules for kpt's own interface have instead.
const KPT_START: &str = "processResourceList";
/// How modules begin that are components.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// A module that can be run.
pub(crate) type Ready = InstancePre<State>;

/// Compiles modules, and keeps them by their digest.
pub(crate) struct Modules {
    engine: Engine,
    linker: Linker<State>,
    max: usize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    modules: HashMap<Sha256Digest, (u64, Arc<Compiled>)>,
    /// Counts uses.
    clock: u64,
}

/// Made once; others wait meanwhile.
type Compiled = OnceLock<Result<Ready, String>>;

impl Modules {
    pub(crate) fn new(max: usize) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config.epoch_interruption(true);
        // The limit on memory is on one.
        config.wasm_multi_memory(false);
        config.wasm_memory64(false);
        let engine = Engine::new(&config)?;
        let linker = wasi::linker(&engine)?;
        Ok(Self { engine, linker, max: max.max(1), kept: Mutex::default() })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).modules.len()
    }

    /// The module of these bytes, compiled now or before.
    pub(crate) fn get(&self, bytes: &[u8], name: &str) -> Result<Ready, Error> {
        let compiled = self.entry(source::digest(bytes));
        let made = compiled.get_or_init(|| {
            let module = compile(&self.engine, bytes)?;
            check(&module)?;
            wasi::link(&self.linker, &module)
        });
        made.clone().map_err(|why| Error::Refused(format!("cannot run the module {}: {why}", Quoted(name))))
    }

    fn entry(&self, digest: Sha256Digest) -> Arc<Compiled> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clock += 1;
        let now = kept.clock;
        let entry = kept.modules.entry(digest).or_default();
        entry.0 = now;
        let compiled = Arc::clone(&entry.1);
        while kept.modules.len() > self.max {
            let oldest = kept.modules.iter().min_by_key(|(_, (used, _))| *used).map(|(digest, _)| *digest);
            let Some(oldest) = oldest else { break };
            kept.modules.remove(&oldest);
        }
        compiled
    }
}

fn compile(engine: &Engine, bytes: &[u8]) -> Result<Module, String> {
    if bytes.starts_with(COMPONENT) {
        return Err(format!("it is a component; a plain module for {} is needed", wasi::NAME));
    }
    Module::from_binary(engine, bytes).map_err(|cause| format!("it is no module: {cause:#}"))
}

/// Whether it is a module of this kind, in words that help where it is not.
fn check(module: &Module) -> Result<(), String> {
    let is_gos = |import: &str| matches!(import, "go" | "gojs");
    if module.get_export(KPT_START).is_some() || module.imports().any(|import| is_gos(import.module())) {
        return Err(format!(
            "it is made for kpt's own WASM interface (GOOS=js), which is not spoken here; build it for {}, with GOOS=wasip1",
            wasi::NAME
        ));
    }
    let start = module.get_export(START);
    let start = start.as_ref().and_then(|start| start.func());
    match start {
        None => Err(format!("it has no function {START} to begin with")),
        Some(start) if start.params().len() + start.results().len() > 0 => {
            Err(format!("its function {START} takes or gives something"))
        }
        Some(_) => Ok(()),
    }
}
