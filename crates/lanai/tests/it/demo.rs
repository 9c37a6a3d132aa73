//! `lanai demo`: what it makes, that its tour works line by line, and that it leaves nothing behind.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A demo that runs, and the text that it printed.
pub(crate) struct Running {
    child: Child,
    pub tour: String,
    pub took: Duration,
    home: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[allow(clippy::disallowed_methods, reason = "the binary and a shell are what is tested")]
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(name)
}

fn lanai(home: &Path, arguments: &[&str]) -> Command {
    let mut command = program(env!("CARGO_BIN_EXE_lanai"));
    command.args(arguments).env("HOME", home).env("TMPDIR", home).env_remove("LANAI_LOG");
    command
}

impl Running {
    /// Starts a demo, and waits until it has printed its tour.
    pub fn start(arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let started = Instant::now();
        let mut command = lanai(home.path(), &[&["demo"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("it starts");
        let mut tour = String::new();
        for line in BufReader::new(child.stdout.take().expect("it is a pipe")).lines() {
            let line = line.expect("a line");
            tour.push_str(&line);
            tour.push('\n');
            if line.starts_with("Ctrl-C ") {
                break;
            }
        }
        Self { child, tour, took: started.elapsed(), home }
    }

    /// The folder in which everything is.
    pub fn folder(&self) -> PathBuf {
        let line = self.tour.lines().find_map(|line| line.trim_start().strip_prefix("kubeconfig "));
        PathBuf::from(line.expect("it says where").trim()).parent().expect("it lies in a folder").to_owned()
    }

    /// Runs a line of a shell as somebody at another terminal, both outputs as one.
    pub fn shell(&self, line: &str) -> (Option<i32>, String) {
        let binary = Path::new(env!("CARGO_BIN_EXE_lanai")).parent().expect("it lies in a folder");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([binary.to_owned()].into_iter().chain(std::env::split_paths(&path)));
        let desk = self.home.path().join("desk");
        std::fs::create_dir_all(&desk).expect("a folder");
        let output = program("sh")
            .args(["-c", &format!("exec 2>&1\n{line}")])
            .current_dir(desk)
            .env("PATH", path.expect("a list of folders"))
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.folder().join("kubeconfig"))
            .env("KUBECACHEDIR", self.folder().join("kubectl-cache"))
            .output()
            .expect("a shell runs");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Asks it to end, as Ctrl-C does.
    pub fn end(&mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        self.child.wait().expect("it ends").code()
    }

    fn home(&self) -> BTreeSet<String> {
        let entries = std::fs::read_dir(self.home.path()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

/// Whether kubectl is there; if not, the test is skipped by name.
pub(crate) fn has_kubectl(test: &str) -> bool {
    let there = program("kubectl").args(["version", "--client"]).output();
    if there.is_ok_and(|output| output.status.success()) {
        return true;
    }
    lanai_testkit::skip(test, "kubectl is not installed");
    false
}

#[test]
fn the_tour_works_line_by_line() {
    if !has_kubectl("lanai::demo::the_tour_works_line_by_line") {
        return;
    }
    let mut demo = Running::start(&[]);
    let folder = demo.folder();
    assert!(demo.took < Duration::from_mins(1), "it takes a few seconds: {:?}", demo.took);
    let mut outputs = Vec::new();
    let lines: Vec<String> =
        demo.tour.lines().skip_while(|line| !line.starts_with("# 1.")).map(str::to_owned).collect();
    for line in lines.iter().filter(|line| !line.is_empty() && !line.starts_with(['#', 'C'])) {
        let (code, output) = demo.shell(line);
        assert_eq!(code, Some(0), "{line}\n{output}");
        outputs.push((line.clone(), output));
    }
    let of = |part: &str| {
        let found = outputs.iter().find(|(line, _)| line.contains(part));
        found.map_or_else(|| panic!("a line with {part}: {lines:?}"), |(_, output)| output.clone())
    };
    for revisions in [of("lanai rpkg get"), of("kubectl get packagerevisions")] {
        for (name, lifecycle) in [
            ("blueprints.web.v2", "Published"),
            ("production.shop.v1", "Published"),
            ("production.shop.v2", "Draft"),
        ] {
            let row = revisions.lines().find(|line| line.starts_with(&format!("{name} ")));
            assert!(row.is_some_and(|row| row.contains(lifecycle)), "{name} is {lifecycle}: {revisions}");
        }
    }
    let refused = of("--dry-run");
    assert!(
        refused.contains("[FAIL]") && refused.contains("has no version"),
        "the function's own words: {refused}"
    );
    assert!(of("rpkg approve").contains("staging.checkout.v1 approved"));
    let preview = of("upgrade --all");
    assert!(preview.contains("production.shop.v1") && preview.contains("2 conflicts"), "{preview}");
    let conflicts = of("-o yaml | tee");
    assert_eq!(conflicts.matches("- id: ").count(), 2, "what renders wrote is no conflict: {conflicts}");
    assert!(
        of("--resolve").contains("production.shop.v1 upgraded to production.shop.v3"),
        "{}",
        of("--resolve")
    );
    let blame = of("rpkg blame");
    let replicas = blame.lines().find(|line| line.contains("replicas: \"6\""));
    assert!(
        replicas.is_some_and(|line| line.starts_with("production.shop.v1 ")),
        "the choice was kept: {blame}"
    );
    let told = of("status.conflicts");
    assert!(told.contains("upstream \"3\", ours \"6\", taken: upstream"), "{told}");
    assert!(of("git -C").lines().count() >= 3, "{}", of("git -C"));

    assert_eq!(demo.end(), Some(0), "it was asked to end, and did");
    assert!(!folder.exists(), "a temporary folder goes");
    assert_eq!(demo.home(), BTreeSet::from(["desk".to_owned()]), "nothing is left elsewhere");
}

#[test]
fn a_demo_in_a_folder_of_the_user_stays_there_and_goes_on_as_a_server() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("my demo");
    let shown = folder.to_str().unwrap();
    let once = lanai(home.path(), &["demo", "--once", "--dir", shown]).output().unwrap();
    let text = String::from_utf8(once.stdout).unwrap();
    assert_eq!(once.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&once.stderr));
    assert!(
        text.contains(&format!("export KUBECONFIG='{shown}/kubeconfig'")),
        "it is quoted for a shell: {text}"
    );
    assert!(folder.join("repositories/production.git/HEAD").is_file() && folder.join("server.log").is_file());

    let again = lanai(home.path(), &["demo", "--once", "--dir", shown]).output().unwrap();
    let said = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(said.contains("is not empty") && said.contains("lanai serve --data-dir"), "{said}");
}

#[test]
fn without_kubectl_the_tour_does_without() {
    let home = tempfile::tempdir().unwrap();
    let mut command = lanai(home.path(), &["demo", "--once"]);
    let output = command.env("PATH", home.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("There is no kubectl on PATH") && !text.contains("\nkubectl "), "{text}");
    assert!(text.contains("--dir FOLDER keeps it") && !text.contains("Copy these lines"), "{text}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing is left");
}
