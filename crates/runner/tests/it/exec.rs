//! Programs as functions, as kpt runs them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Evaluator, Failing, Mount, MountAccess, Variable};
use lanai_runner::{Caller, Exec, ExecLimits, ExecMode};
use lanai_types::ByteSize;
use tempfile::TempDir;

use crate::{command, failed, image, script, soon};

/// A folder with scripts, and who calls them from there.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn script(&self, text: &str) -> &Self {
        script(self.path(), "fn", text);
        self
    }

    fn exec(&self) -> Exec {
        let environment = [("PATH", "/usr/bin:/bin"), ("HOME", "/nowhere"), ("SECRET", "s")];
        let environment = environment.map(|(name, value)| (name.into(), value.into())).into();
        let caller = Caller { environment, folder: self.path().to_owned() };
        Exec { caller, mode: ExecMode::AsKpt, limits: ExecLimits::DEFAULT }
    }
}

const RESULT: &str = "cat <<E\napiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nresults:\n\
                      - message: it is broken\n  severity: error\nE\n";

#[tokio::test]
async fn the_list_goes_through_the_program() {
    let desk = Desk::new();
    desk.script("echo hello >&2; sed \"s/name: web/name: $1/\"");
    let response = desk.exec().evaluate(command("./fn 'web 2' # as ever"), &soon()).await.unwrap();
    assert_eq!(
        response.list.items[0].to_string(),
        "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web 2\n"
    );
    assert_eq!((response.stderr.as_str(), response.exit_code), ("hello\n", 0));
}

#[tokio::test]
async fn images_are_not_known() {
    let error = Desk::new().exec().evaluate(image("no-op"), &soon()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
}

#[tokio::test]
async fn no_output_is_an_empty_list_where_there_was_nothing() {
    let desk = Desk::new();
    desk.script("cat >/dev/null");
    let mut request = command("./fn");
    request.list.items.clear();
    let response = desk.exec().evaluate(request, &soon()).await.unwrap();
    assert!(response.list.items.is_empty());
}

#[tokio::test]
async fn as_kpt_means_the_callers_environment_and_folder() {
    let desk = Desk::new();
    desk.script("env >&2; pwd >&2; cat");
    let mut request = command("./fn");
    request.grants.variables.push(Variable { name: "EXTRA".into(), value: "e".into() });
    let response = desk.exec().evaluate(request, &soon()).await.unwrap();
    for line in
        ["SECRET=s", "EXTRA=e", "HOME=/nowhere", &desk.path().canonicalize().unwrap().display().to_string()]
    {
        assert!(response.stderr.lines().any(|said| said == line), "{line}: {}", response.stderr);
    }
    let mut request = command("./fn");
    let mount = Mount { source: "/a".into(), target: "/b".into(), access: MountAccess::ReadOnly };
    request.grants.mounts.push(mount);
    let error = desk.exec().evaluate(request, &soon()).await.unwrap_err();
    assert_eq!(error.to_string(), "\"/a\" cannot be shown as \"/b\" to a program that is not caged");
}

#[tokio::test]
async fn a_failure_keeps_code_results_and_messages() {
    let desk = Desk::new();
    desk.script(&format!("echo why >&2; {RESULT} exit 3"));
    let error = failed(desk.exec().evaluate(command("./fn"), &soon()).await.unwrap_err());
    assert_eq!((error.why.clone(), error.exit_code), (Failing::Exit(3), 3));
    assert_eq!(error.results[0].message, "it is broken");
    assert_eq!(error.stderr, "why\n");
    assert_eq!(error.to_string(), "function ended with exit code 3");
}

#[tokio::test]
async fn broken_output_does_not_hide_a_failure() {
    let desk = Desk::new();
    desk.script("echo why >&2; echo '{ not: [a list'; exit 7");
    let error = failed(desk.exec().evaluate(command("./fn"), &soon()).await.unwrap_err());
    assert_eq!((error.why, error.exit_code, error.stderr.as_str()), (Failing::Exit(7), 7, "why\n"));

    desk.script("echo why >&2; echo 'kind: Pod'");
    let error = failed(desk.exec().evaluate(command("./fn"), &soon()).await.unwrap_err());
    assert!(matches!(&error.why, Failing::Output(why) if why.contains("ResourceList")), "{error}");
    assert_eq!((error.exit_code, error.stderr.as_str()), (1, "why\n"));

    desk.script("cat > /dev/null; echo why >&2");
    let error = failed(desk.exec().evaluate(command("./fn"), &soon()).await.unwrap_err());
    assert_eq!((error.why, error.exit_code, error.stderr.as_str()), (Failing::Silent, 1, "why\n"));

    desk.script("printf '\\377'");
    let error = failed(desk.exec().evaluate(command("./fn"), &soon()).await.unwrap_err());
    assert!(matches!(error.why, Failing::Output(_)), "{error}");

    desk.script("kill -SEGV $$");
    let error = failed(desk.exec().evaluate(command("./fn"), &soon()).await.unwrap_err());
    assert_eq!(error.to_string(), "function was ended by signal 11");
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    let desk = Desk::new();
    fs::write(desk.path().join("text"), "no program").unwrap();
    let check =
        async |line: &str| desk.exec().evaluate(command(line), &soon()).await.unwrap_err().to_string();
    assert_eq!(
        check("no-such-program -a").await,
        "cannot run \"no-such-program -a\": \"no-such-program\": there is no such program in the folders of PATH"
    );
    assert_eq!(check("./text").await, "cannot run \"./text\": \"./text\": Permission denied (os error 13)");
    assert_eq!(check("'").await, "cannot run \"'\": a quote in it is not closed");
    assert_eq!(check("").await, "cannot run \"\": it names no program");
}

#[tokio::test]
async fn output_and_messages_have_limits() {
    let desk = Desk::new();
    let empty = "kind: ResourceList\\napiVersion: config.kubernetes.io/v1\\nitems: []\\n";
    desk.script(&format!("printf '{empty}'; printf 12345 >&2"));
    let size = empty.len() as u64 - 3;
    let mut exec = desk.exec();
    exec.limits.max_output = ByteSize::bytes(size);
    exec.limits.max_stderr = ByteSize::bytes(5);
    assert_eq!(exec.evaluate(command("./fn"), &soon()).await.unwrap().stderr, "12345");
    exec.limits.max_stderr = ByteSize::bytes(4);
    assert_eq!(
        exec.evaluate(command("./fn"), &soon()).await.unwrap().stderr,
        "1234",
        "the rest is thrown away"
    );
    exec.limits.max_output = ByteSize::bytes(size - 1);
    let error = failed(exec.evaluate(command("./fn"), &soon()).await.unwrap_err());
    let text =
        format!("function exceeded a limit: it wrote more than the {} of max_output", exec.limits.max_output);
    assert_eq!(error.to_string(), text);
}

#[tokio::test]
async fn time_has_two_limits_and_the_earlier_one_counts() {
    let desk = Desk::new();
    desk.script("echo begun >&2; sleep 1000");
    let mut exec = desk.exec();
    let short = Duration::from_millis(300);
    exec.limits.max_time = short;
    let check = |error: Error| match error {
        Error::Timeout { limit, stderr } => assert_eq!((limit, stderr.as_str()), (short, "begun\n")),
        other => panic!("{other:?}"),
    };
    check(exec.evaluate(command("./fn"), &soon()).await.unwrap_err());
    exec.limits.max_time = Duration::from_mins(1);
    check(exec.evaluate(command("./fn"), &Deadline::after(short)).await.unwrap_err());
}

/// A script that tells by a pipe when it has started, and when it is gone.
fn holding(desk: &Desk) -> std::path::PathBuf {
    let pipe = desk.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    desk.script("exec 9>pipe; echo >&9; sleep 1000 & sleep 1000");
    pipe
}

/// Waits for the script to start, then runs `then`; the pipe ends when all that hold it are dead.
async fn while_it_runs(pipe: std::path::PathBuf, then: impl FnOnce() + Send + 'static) -> String {
    let watching = tokio::task::spawn_blocking(move || {
        use std::io::{BufRead, BufReader, Read};
        let mut pipe = BufReader::new(fs::File::open(pipe).unwrap());
        let mut said = String::new();
        pipe.read_line(&mut said).unwrap();
        then();
        pipe.read_to_string(&mut said).unwrap();
        said
    });
    watching.await.unwrap()
}

#[tokio::test]
async fn calling_off_kills_the_program() {
    let desk = Desk::new();
    let pipe = holding(&desk);
    let deadline = soon();
    let token = deadline.cancel.clone();
    let exec = desk.exec();
    let (answer, said) =
        tokio::join!(exec.evaluate(command("./fn"), &deadline), while_it_runs(pipe, move || token.cancel()),);
    assert!(matches!(answer, Err(Error::Cancelled)), "{answer:?}");
    assert_eq!(said, "\n", "everybody who held the pipe is gone");
    let error = exec.evaluate(command("./fn"), &deadline).await.unwrap_err();
    assert!(matches!(error, Error::Cancelled), "nothing is started after that");
}

#[tokio::test]
async fn dropping_the_future_kills_the_program() {
    let desk = Desk::new();
    let pipe = holding(&desk);
    let exec = desk.exec();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let running = async {
        let deadline = soon();
        tokio::select! {
            answer = exec.evaluate(command("./fn"), &deadline) => panic!("{answer:?}"),
            _ = stopped => {}
        }
    };
    let watching = while_it_runs(pipe, move || stop.send(()).unwrap());
    let ((), said) = tokio::join!(running, watching);
    assert_eq!(said, "\n");
}
