//! What an engine is told about a container.

use std::fs;
use std::path::Path;

use lanai_evaluate::{Error, Grants, Mount, MountAccess, Network, User};
use lanai_process::Command;
use lanai_types::quote::Quoted;
use rustix::process::{Resource, getegid, geteuid, getrlimit};

use super::engine::{ContainerEngine, EngineKind};
use crate::ExecLimits;

/// The number that nobody has, as user and as group. The name would need a file in the image.
const NOBODY: &str = "65534:65534";
/// What podman asks for where nobody says anything.
const DEFAULT_PROCESSES: u64 = 1_048_576;
/// Variables that mean something to engines: what a function gets under such a name is not put into their environment.
const OF_ENGINES: &[&str] = &[
    "BUILDAH",
    "CONTAINER",
    "DOCKER",
    "HOME",
    "HTTP",
    "LD_",
    "NERDCTL",
    "NO_PROXY",
    "PATH",
    "PODMAN",
    "REGISTRY",
    "STORAGE",
    "TMPDIR",
    "XDG_",
];

/// What cannot be said to an engine is refused.
pub(super) fn check(image: &str, grants: &Grants) -> Result<(), Error> {
    if image.starts_with('-') || image.chars().any(|letter| letter.is_whitespace() || letter.is_control()) {
        return Err(Error::Refused(format!("{} is no name of an image", Quoted(image))));
    }
    for Mount { source, target, .. } in &grants.mounts {
        for path in [source, target] {
            if path.to_string_lossy().contains([',', '"', '\n']) {
                let shown = path.display().to_string();
                return Err(Error::Refused(format!(
                    "{} cannot be shown to a container: commas, quotes and line ends in paths have a meaning there",
                    Quoted(&shown)
                )));
            }
        }
    }
    Ok(())
}

/// What is to be made.
pub(super) struct Making<'c> {
    pub image_id: &'c str,
    pub name: &'c str,
    pub labels: &'c [String],
    pub grants: &'c Grants,
    pub limits: &'c ExecLimits,
    pub oci_runtime: Option<&'c str>,
    /// Seconds after which the engine ends the container by itself, if it can.
    pub net: u64,
}

/// The command that makes a container without starting it.
pub(super) fn create(engine: &ContainerEngine, making: &Making<'_>) -> Command {
    let Making { image_id, name, labels, grants, limits, .. } = making;
    let mut command = engine.command(&["create", "--interactive", "--pull", "never", "--name", name]);
    let mut flag = |flag: &str, value: &str| {
        command = command.clone().argument(flag).argument(value);
    };
    for label in *labels {
        flag("--label", label);
    }
    flag(
        "--network",
        match grants.network {
            Network::None => "none",
            Network::Host => "host",
        },
    );
    match grants.user {
        User::Nobody => flag("--user", NOBODY),
        User::Caller => flag("--user", &format!("{}:{}", geteuid().as_raw(), getegid().as_raw())),
    }
    flag("--cap-drop", "ALL");
    flag("--security-opt", "no-new-privileges");
    flag("--log-driver", "none");
    let memory = limits.max_memory.get().to_string();
    flag("--memory", &memory);
    flag("--memory-swap", &memory);
    flag("--pids-limit", &limits.max_processes.to_string());
    let copied = match engine.kind() {
        // What the image has there would count.
        EngineKind::Podman => ",notmpcopyup",
        EngineKind::Docker | EngineKind::Nerdctl => "",
    };
    flag("--tmpfs", &format!("/tmp:rw,mode=1777,size={}{copied}", limits.max_files.get()));
    flag("--ulimit", "core=0:0");
    let open_files = u64::from(limits.max_open_files).min(most(Resource::Nofile));
    flag("--ulimit", &format!("nofile={open_files}:{open_files}"));
    if let Some(runtime) = making.oci_runtime {
        flag("--runtime", runtime);
    }
    for mount in &grants.mounts {
        flag("--mount", &bind(mount));
    }
    if engine.kind() == EngineKind::Podman {
        // It would raise this one to a number that only those with a certain right can have; itself it has no more than there are
        // numbers for processes.
        let processes = DEFAULT_PROCESSES.min(most(Resource::Nproc)).min(numbers_of_processes());
        flag("--ulimit", &format!("nproc={processes}:{processes}"));
        flag("--timeout", &making.net.to_string());
        flag("--image-volume", "ignore");
        if grants.user == User::Caller && !geteuid().is_root() {
            flag("--userns", "keep-id");
        }
        // Its caller's proxies are nobody's business, and /tmp is the one place to write to.
        command = command.argument("--http-proxy=false").argument("--read-only-tmpfs=false");
    }
    let mut command = command.argument("--read-only");
    for variable in &grants.variables {
        let is_free = !engine.has_variable(&variable.name)
            && !OF_ENGINES.iter().any(|name| variable.name.to_uppercase().starts_with(name));
        command = command.argument("--env");
        // What is on the command line can be seen by everybody.
        command = if is_free {
            command.argument(&variable.name).variable(&variable.name, &variable.value)
        } else {
            command.argument(format!("{}={}", variable.name, variable.value))
        };
    }
    command.argument(*image_id)
}

/// The most that this process may give.
fn most(resource: Resource) -> u64 {
    getrlimit(resource).maximum.unwrap_or(u64::MAX)
}

fn numbers_of_processes() -> u64 {
    let text = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
    text.trim().parse().unwrap_or(u64::MAX)
}

fn bind(mount: &Mount) -> String {
    let shown = |path: &Path| path.display().to_string();
    let access = match mount.access {
        MountAccess::ReadOnly => ",readonly",
        MountAccess::ReadWrite => "",
    };
    format!("type=bind,source={},target={}{access}", shown(&mount.source), shown(&mount.target))
}
