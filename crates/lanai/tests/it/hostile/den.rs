//! Where hostile functions are kept.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lanai_evaluate::{Deadline, Error, Evaluator, Failed, FunctionRef, Grants, Request, Response};
use lanai_krm::{Resource, ResourceList};
use lanai_process::{Policy, Shortfall};
use lanai_runner::{Caller, Exec, ExecLimits, ExecMode, Launcher};
use lanai_testkit::{in_time, skip};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags};
use tempfile::TempDir;

pub const SERVICE: &str = "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\n";
/// Names the folder of a den for a process that is started again.
const DEN: &str = "LANAI_TEST_DEN";

/// A function, and everything around it.
pub struct Den {
    _folder: Option<TempDir>,
    path: PathBuf,
    pub launcher: Launcher,
    pub exec: Exec,
    pub grants: Grants,
}

impl Den {
    /// A den with this script in it. Its first argument is a number that marks its processes: it can sleep that long.
    pub fn new(script: &str) -> Self {
        let folder = tempfile::Builder::new().prefix("lanai-den-").tempdir().unwrap();
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), open).unwrap();
        for name in ["own", "tmp", "home", "elsewhere"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let den = Self::at(folder.path().to_owned(), Some(folder));
        den.write(script);
        den
    }

    /// The same with a launcher of this policy.
    pub fn with_policy(policy: Policy, script: &str) -> Self {
        let mut den = Self::new(script);
        den.launcher = Launcher::new(env!("CARGO_BIN_EXE_lanai"), policy);
        den.exec.mode = ExecMode::Caged(den.launcher.clone());
        den
    }

    /// The den of another process, in one that was started for it.
    pub fn given() -> Option<Self> {
        std::env::var_os(DEN).map(|path| Self::at(path.into(), None))
    }

    fn at(path: PathBuf, folder: Option<TempDir>) -> Self {
        let launcher = Launcher::new(env!("CARGO_BIN_EXE_lanai"), Policy::BestEffort);
        let (home, temporary) = (path.join("home"), path.join("tmp"));
        let environment = [
            ("PATH", "/usr/bin:/bin".into()),
            ("HOME", home.into_os_string()),
            ("LANG", "C".into()),
            ("TMPDIR", temporary.into_os_string()),
            ("SECRET", "hunter2".into()),
        ];
        let environment = environment.map(|(name, value)| (name.into(), value)).into();
        let caller = Caller { environment, folder: path.join("own") };
        let limits = ExecLimits { max_time: Duration::from_mins(1), ..ExecLimits::DEFAULT };
        let exec = Exec { caller, mode: ExecMode::Caged(launcher.clone()), limits };
        Self { _folder: folder, path, launcher, exec, grants: Grants::default() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Replaces the script.
    pub fn write(&self, script: &str) {
        let path = self.path("own/fn");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What stands in the command line of all its processes: a long time, which nobody else sleeps.
    fn mark(&self) -> String {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        let number = name.bytes().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        format!("1000.{number:020}")
    }

    /// Runs the function, which ends inside of its limit on time plus a second, with all that it started.
    pub async fn run(&self) -> Result<Response, Error> {
        in_time(self.exec.limits.max_time, async || self.evaluate().await).await
    }

    async fn evaluate(&self) -> Result<Response, Error> {
        let items = vec![Resource::parse(SERVICE).unwrap()];
        let request = Request {
            function: FunctionRef::Exec(format!("./fn {}", self.mark())),
            list: ResourceList { items, ..ResourceList::default() },
            grants: self.grants.clone(),
        };
        self.exec.evaluate(request, &Deadline::after(Duration::from_mins(1))).await
    }

    /// Whether something could be held when the function ran; if not, says that the rest of the test is skipped.
    pub fn holds(&self, what: Shortfall, test: &str) -> bool {
        let held = !self.launcher.shortfalls().contains(&what);
        if !held {
            skip(test, &format!("on this machine {what}"));
        }
        held
    }

    /// Nothing is left of the function.
    #[track_caller]
    pub fn is_clean(&self) {
        let left: Vec<_> = self.processes().into_iter().map(|(_, line)| line).collect();
        assert!(left.is_empty(), "processes are left: {left:#?}");
        let files: Vec<_> =
            fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.is_empty(), "files are left: {files:?}");
        let own: Vec<_> =
            fs::read_dir(self.path("own")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(own, ["fn"], "the function has left nothing beside itself");
    }

    /// All processes with the mark.
    fn processes(&self) -> Vec<(Pid, String)> {
        let mark = self.mark();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let marked = numbers.filter_map(|number| {
            let line = fs::read(Path::new("/proc").join(number.to_string()).join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.contains(&mark).then_some((Pid::from_raw(number)?, line))
        });
        marked.collect()
    }

    /// Waits until the function itself has that many processes that sleep, and gets hold of all its processes.
    pub fn wait_for_processes(&self, sleeping: usize) -> Vec<OwnedFd> {
        let start = Instant::now();
        loop {
            let all = self.processes();
            if all.iter().filter(|(_, line)| line.starts_with("sleep")).count() >= sleeping {
                let open =
                    |(pid, _): (Pid, String)| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok();
                return all.into_iter().filter_map(open).collect();
            }
            assert!(start.elapsed() < Duration::from_secs(30), "it begins: {all:?}");
            std::thread::yield_now();
        }
    }

    /// Runs a test of this binary with this den.
    #[allow(clippy::disallowed_methods, reason = "a test starts itself again, to be killed")]
    pub fn in_another_process(&self, test: &str) -> Child {
        Command::new(std::env::current_exe().expect("it runs"))
            .args(["--exact", test])
            .env(DEN, &self.path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it can be started again")
    }
}

/// Waits for the end of processes, and not for long.
#[track_caller]
pub fn wait_for_the_end(processes: Vec<OwnedFd>) {
    for process in processes {
        let patience = Timespec { tv_sec: 10, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)).unwrap();
        assert_eq!(ended, 1, "a process goes on");
    }
}

#[track_caller]
pub fn failed(error: Error) -> Failed {
    match error {
        Error::Failed(failed) => *failed,
        other => panic!("{other:?}"),
    }
}
