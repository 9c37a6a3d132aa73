//! Which program makes containers, and when images are fetched, as flags and variables say it.

use std::ffi::OsStr;

use lanai_runner::{Caller, Container, ContainerEngine, ContainerOptions, EngineKind, Pull};

use crate::failure::{Code, Failure};
use crate::io::Io;

/// The variables that name the program for containers, the first one first. Both are kpt's.
const RUNTIME_VARIABLES: [&str; 2] = ["KRM_FN_RUNTIME", "KPT_FN_RUNTIME"];
/// The variable that names what that program starts containers with.
const OCI_RUNTIME_VARIABLE: &str = "LANAI_OCI_RUNTIME";
/// No program: nothing runs in containers.
pub(crate) const NONE: &str = "none";
/// Whichever is there.
const AUTO: &str = "auto";

/// The names that can be given.
pub(crate) const NAMES: [&str; 5] = [AUTO, NONE, "podman", "docker", "nerdctl"];
/// When images are fetched, as it can be said.
pub(crate) const PULLS: [&str; 3] = ["Always", IF_NOT_PRESENT, "Never"];
/// What is usual.
pub(crate) const IF_NOT_PRESENT: &str = "IfNotPresent";

/// What runs functions in containers, if somebody does.
///
/// # Errors
/// When a program is named that is none of those, or is not there.
pub(crate) fn of(
    flag: Option<&str>,
    pull: &str,
    order: [EngineKind; 3],
    caller: &Caller,
    io: &Io<'_>,
) -> Result<Option<Container>, Failure> {
    let variable = |name: &str| {
        let value = io.environment.get(OsStr::new(name))?.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    };
    let named = flag.map(str::to_owned).or_else(|| RUNTIME_VARIABLES.iter().find_map(|name| variable(name)));
    let engine = match named.as_deref() {
        Some(NONE) => None,
        None | Some(AUTO) => ContainerEngine::find(&order, caller),
        Some(name) => {
            let kind: EngineKind = name.parse().map_err(|error: lanai_runner::UnknownEngine| {
                Failure::of(Code::FunctionSetup, error.to_string())
                    .hint("\"auto\" takes the one that is there, \"none\" runs nothing in containers")
            })?;
            let found = ContainerEngine::find(&[kind], caller);
            Some(found.ok_or_else(|| {
                Failure::of(Code::FunctionSetup, format!("there is no {name} in the folders of PATH"))
                    .hint("install it, or name another one by --container-runtime")
            })?)
        }
    };
    let options = ContainerOptions {
        pull: policy(pull),
        oci_runtime: variable(OCI_RUNTIME_VARIABLE),
        ..ContainerOptions::default()
    };
    Ok(engine.map(|engine| Container::new(engine, options)))
}

/// Removes what processes that are gone left, as servers do when they start, and logs what came of it.
pub async fn sweep(container: &Container) {
    match container.sweep().await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "containers were left by processes that are gone"),
        Err(error) => tracing::warn!(%error, "containers cannot be had"),
    }
}

/// As spelled by one of [`PULLS`], in letters of any case.
fn policy(name: &str) -> Pull {
    if name.eq_ignore_ascii_case("Always") {
        Pull::Always
    } else if name.eq_ignore_ascii_case("Never") {
        Pull::Never
    } else {
        Pull::IfNotPresent
    }
}
