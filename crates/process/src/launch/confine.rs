//! What a process gives up about itself before it becomes, or starts, a program.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};
use nix::sched::CloneFlags;
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{NOBODY, Trouble, become_nobody, enter_user_namespace};
use crate::cage::plan::{Plan, Rung, VARIABLE};
use crate::cage::{
    ADDRESS_SPACE, Access, DEVICES, FOLDER, FilesHeld, Held, Network, NetworkHeld, Policy, ProcessesHeld,
    SYSTEM, Tree, User, UserHeld,
};

/// The newest version of Landlock that we know. What the kernel does not know of it is left out.
const LANDLOCK: ABI = ABI::V7;
/// From this version on, Landlock can forbid connections over TCP.
const LANDLOCK_TCP: u8 = 4;
/// What of `/proc` can be read by programs that see the one of the machine.
const PROC: &[&str] = &[
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
];

/// Sets limits, drops all rights, and shuts out what is left of the machine.
///
/// # Errors
/// When a step fails that has to be possible everywhere, or when something is not held and the policy is strict.
pub(super) fn confine(plan: &Plan, tree: Tree, files: FilesHeld) -> Result<Held, Trouble> {
    let drops = plan.rung == Rung::Root && plan.user == User::Nobody;
    forget_bounds();
    if drops {
        become_nobody().map_err(Trouble::in_step("become nobody"))?;
    }
    let processes = count_processes(plan.rung);
    forget_bounds();
    limit(plan, processes).map_err(Trouble::in_step("set limits"))?;
    drop_capabilities().map_err(Trouble::in_step("give up rights"))?;
    rustix::thread::set_no_new_privs(true).map_err(Trouble::in_step("give up new rights"))?;
    let landlock = guard(plan, files).map_err(Trouble::in_step("use Landlock"))?;
    let held = Held {
        tree,
        network: match (plan.network, plan.rung) {
            (Network::None, Rung::UserNamespace | Rung::Root) => NetworkHeld::Cut,
            (Network::None, Rung::Bare) if landlock >= Some(LANDLOCK_TCP) => NetworkHeld::TcpCut,
            (Network::Host, _) | (Network::None, Rung::Bare) => NetworkHeld::Open,
        },
        files: if files == FilesHeld::Open && landlock.is_some() { FilesHeld::Guarded } else { files },
        landlock,
        processes,
        user: if rustix::process::geteuid().as_raw() == NOBODY { UserHeld::Nobody } else { UserHeld::Caller },
    };
    let missing = held.shortfalls(plan.network);
    if plan.policy == Policy::Strict && !missing.is_empty() {
        let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
        return Err(Trouble::Cage(missing.join(", ")));
    }
    Ok(held)
}

/// Finds a way to count the processes of the program apart from others.
fn count_processes(rung: Rung) -> ProcessesHeld {
    if rustix::process::geteuid().is_root() {
        return ProcessesHeld::NotCounted;
    }
    match rung {
        Rung::UserNamespace => ProcessesHeld::Own,
        // Where this is forbidden, others of the same name count as well.
        Rung::Root if enter_user_namespace(CloneFlags::empty()).is_ok() => ProcessesHeld::Own,
        Rung::Root | Rung::Bare => ProcessesHeld::OfUser,
    }
}

/// The program, with its own environment. Its path has to be there.
pub(super) fn command(program: &[OsString], plan: &Plan) -> Result<Command, Trouble> {
    let Some((path, arguments)) = program.split_first() else {
        return Err(Trouble::Request("there is no program to start".into()));
    };
    let may_run = || rustix::fs::access(path, rustix::fs::Access::EXEC_OK).map_err(io::Error::from);
    if let Err(cause) = fs::metadata(path).and_then(|_| may_run()) {
        let who = match plan.user {
            User::Nobody if rustix::process::geteuid().as_raw() == NOBODY => " by nobody",
            User::Nobody | User::Caller => "",
        };
        let path = Path::new(path).display();
        return Err(Trouble::Request(format!("\"{path}\" cannot be run{who} in there: {cause}")));
    }
    #[expect(clippy::disallowed_methods, reason = "this is the place where processes are started")]
    let mut command = Command::new(path);
    command.args(arguments).env_clear().envs(env::vars_os().filter_map(|(name, value)| {
        let name = name.as_bytes().strip_prefix(VARIABLE.as_bytes())?;
        Some((OsStr::from_bytes(name).to_owned(), value))
    }));
    Ok(command)
}

/// What is said in place of a program that the kernel does not start.
pub(super) fn not_started(program: &[OsString], cause: &io::Error) -> String {
    let path = program.first().map(PathBuf::from).unwrap_or_default();
    let shown = path.display();
    match (cause.kind(), interpreter(&path)) {
        (io::ErrorKind::NotFound, Some(interpreter)) if !interpreter.exists() => {
            let folder = interpreter.parent().unwrap_or(&interpreter).display();
            format!(
                "cannot start \"{shown}\": its first line names \"{}\", which a function does not see unless that is granted, as with \
                 `--mount src={folder}`",
                interpreter.display()
            )
        }
        (io::ErrorKind::PermissionDenied, Some(interpreter)) => format!(
            "cannot start \"{shown}\": {cause}; may its interpreter \"{}\" be run by nobody? `--as-current-user` runs it as you",
            interpreter.display()
        ),
        (io::ErrorKind::NotFound, _) => {
            format!("cannot start \"{shown}\": {cause} (its loader is not there in the cage)")
        }
        _ => format!("cannot start \"{shown}\": {cause}"),
    }
}

/// The program that the first line of a script names.
fn interpreter(script: &Path) -> Option<PathBuf> {
    // The kernel does not read more of the line either.
    let mut first = Vec::new();
    fs::File::open(script).ok()?.take(256).read_to_end(&mut first).ok()?;
    let line = first.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().map(|word| PathBuf::from(OsStr::from_bytes(word)))
}

fn limit(plan: &Plan, processes: ProcessesHeld) -> io::Result<()> {
    let address_space = plan.max_memory.saturating_add(ADDRESS_SPACE.get());
    let mut limits = vec![
        (Resource::Data, plan.max_memory),
        (Resource::As, address_space),
        (Resource::Nofile, plan.max_open_files),
        (Resource::Fsize, plan.max_files),
        (Resource::Cpu, plan.max_cpu_seconds),
        (Resource::Core, 0),
    ];
    match processes {
        ProcessesHeld::Own => limits.push((Resource::Nproc, plan.max_processes + ours_inside(plan.rung))),
        ProcessesHeld::OfUser => limits.push((Resource::Nproc, plan.max_processes + threads_of_user())),
        ProcessesHeld::NotCounted => {}
    }
    for (resource, limit) in limits {
        let limit = rustix::process::getrlimit(resource).maximum.map_or(limit, |most| most.min(limit));
        rustix::process::setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) })?;
    }
    Ok(())
}

/// How many of our own processes count as the program's.
fn ours_inside(rung: Rung) -> u64 {
    match rung {
        // The launcher and the first process.
        Rung::UserNamespace => 2,
        // The first process: the launcher is outside.
        Rung::Root => 1,
        Rung::Bare => 0,
    }
}

/// How many threads our user has now, this one not counted.
fn threads_of_user() -> u64 {
    let me = rustix::process::getuid().as_raw().to_string();
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let is_process = |name: &str| name.bytes().all(|letter| letter.is_ascii_digit());
    let folders = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_process));
    let threads = folders.filter_map(|entry| {
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let field =
            |name| status.lines().find_map(|line: &str| line.strip_prefix(name)?.split_whitespace().next());
        (field("Uid:")? == me).then(|| field("Threads:")?.parse::<u64>().ok()).flatten()
    });
    threads.sum::<u64>().saturating_sub(1)
}

/// Makes sure that no program that is started from here gets rights by being root, or by its file.
fn forget_bounds() {
    for capability in CapabilitySet::all().iter() {
        // Fails for those that the kernel does not know, and where we have no rights to give up anyway.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
}

fn drop_capabilities() -> io::Result<()> {
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Lets Landlock guard files, signals and connections, and says its version; `None` where the kernel has none.
fn guard(plan: &Plan, files: FilesHeld) -> Result<Option<u8>, landlock::RulesetError> {
    let paths =
        |access| plan.views.iter().filter(move |view| view.access == access).map(|view| view.target.clone());
    let own = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
    let mut read: Vec<PathBuf> = paths(Access::Read).collect();
    let mut write: Vec<PathBuf> = paths(Access::Write).chain(own(DEVICES)).collect();
    match files {
        FilesHeld::PrivateRoot => {
            read.extend(own(&["/"]));
            write.extend(own(&[FOLDER, "/tmp"]));
        }
        FilesHeld::Guarded | FilesHeld::Open => {
            read.extend(own(SYSTEM).into_iter().chain(own(PROC)));
            write.extend(plan.folder.clone());
        }
    }
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(LANDLOCK))?;
    if plan.network == Network::None {
        rules = rules.handle_access(AccessNet::from_all(LANDLOCK))?;
    }
    let rules = rules.scope(Scope::from_all(LANDLOCK))?.create()?;
    let rules = rules
        .add_rules(path_beneath_rules(read, AccessFs::from_read(LANDLOCK)))?
        .add_rules(path_beneath_rules(write, AccessFs::from_all(LANDLOCK)))?;
    let status = rules.restrict_self()?;
    let version = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => u8::try_from(effective_abi as i32).ok(),
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    };
    Ok(version.filter(|_| status.ruleset != RulesetStatus::NotEnforced))
}
