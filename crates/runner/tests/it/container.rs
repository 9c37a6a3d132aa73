//! Functions in containers, harmless ones and others, by a real podman with a store of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use lanai_evaluate::{
    Deadline, Error, Evaluator, Failing, FunctionRef, Grants, Identity, Mount, MountAccess, Network, Outlook,
    Request, Response, User, Variable,
};
use lanai_runner::{Caller, Container, ContainerEngine, ContainerOptions, EngineKind, Pull};
use lanai_testkit::in_time_of;
use lanai_testkit::podman::{CAT_IMAGE, Podman, SHELL_IMAGE};
use lanai_types::ByteSize;

use crate::{command, failed, image, soon};

/// A store, and how containers are made in it.
struct Den {
    podman: Podman,
    options: ContainerOptions,
}

impl Den {
    fn new(test: &str) -> Option<Self> {
        let podman = Podman::new(&format!("container::{test}"))?;
        Some(Self { podman, options: ContainerOptions { pull: Pull::Never, ..ContainerOptions::default() } })
    }

    fn container(&self) -> Container {
        let caller = Caller { environment: self.podman.environment(), folder: "/".into() };
        let engine = ContainerEngine::find(&[EngineKind::Podman], &caller).expect("podman is there");
        Container::new(engine, self.options.clone())
    }

    async fn run(&self, request: Request) -> Result<Response, Error> {
        self.container().evaluate(request, &soon()).await
    }

    /// Runs a script.
    async fn script(&self, text: &str) -> Result<Response, Error> {
        self.run(script(text)).await
    }

    #[track_caller]
    fn is_clean(&self) {
        assert_eq!(self.podman.left(), [""; 0]);
    }
}

fn script(text: &str) -> Request {
    let mut request = image(SHELL_IMAGE);
    request.grants.variables.push(Variable { name: "SCRIPT".into(), value: text.into() });
    request
}

#[tokio::test]
async fn the_list_goes_through_the_container() {
    let Some(den) = Den::new("the_list_goes_through_the_container") else { return };
    let response = den.run(image(CAT_IMAGE)).await.unwrap();
    assert_eq!(
        response.list.items[0].to_string(),
        "apiVersion: v1 # core\nkind: Service\nmetadata:\n  name: web\n"
    );
    assert_eq!((response.evaluator, response.stderr.as_str(), response.exit_code), ("container", "", 0));
    let response = den.script("echo hello >&2; sed 's/name: web/name: other/'").await.unwrap();
    assert_eq!(response.list.items[0].name().unwrap(), "other");
    assert_eq!(response.stderr, "hello\n");
    den.is_clean();
}

#[tokio::test]
async fn what_is_known_and_what_is_not() {
    let Some(den) = Den::new("what_is_known_and_what_is_not") else { return };
    let container = den.container();
    let error = den.run(command("cat")).await.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
    let grants = Grants::default();
    let program = FunctionRef::Exec("cat".into());
    assert_eq!(container.foresee(&program, &grants), Outlook::Unknown);
    assert_eq!(container.identify(&program, &grants).await, Identity::Unknown);
    let function = FunctionRef::Image(CAT_IMAGE.into());
    assert!(matches!(container.identify(&function, &grants).await, Identity::Volatile(_)));

    let error = den.run(image("localhost/nobody:v1")).await.unwrap_err();
    let text = "cannot run the image \"localhost/nobody:v1\": it is not on this machine, and images are not fetched here";
    assert!(matches!(&error, Error::Infrastructure(why) if why == text), "{error:?}");
    let mut den = den;
    for pull in [Pull::IfNotPresent, Pull::Always] {
        den.options.pull = pull;
        let error = den.run(image("localhost:1/nobody:v1")).await.unwrap_err();
        let why = "cannot run the image \"localhost:1/nobody:v1\": it cannot be fetched: podman says: ";
        assert!(error.to_string().starts_with(why), "{error}");
    }
    let error = den.run(image("--privileged")).await.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error:?}");
    den.is_clean();
}

#[tokio::test]
async fn a_failure_keeps_code_results_and_messages() {
    let Some(den) = Den::new("a_failure_keeps_code_results_and_messages") else { return };
    let list = "apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\nitems: []\\nresults:\\n- message: it is broken\\n  severity: error\\n";
    // Codes by which engines speak are codes like others when the function ran.
    for code in [3, 125, 126, 127] {
        let text = format!("echo why >&2; printf '{list}'; exit {code}");
        let error = failed(den.script(&text).await.unwrap_err());
        assert_eq!((error.why.clone(), error.exit_code), (Failing::Exit(code), code));
        assert_eq!((error.results[0].message.as_str(), error.stderr.as_str()), ("it is broken", "why\n"));
    }
    let error = failed(den.script("cat >/dev/null").await.unwrap_err());
    assert_eq!(error.why, Failing::Silent);
    den.is_clean();
}

#[tokio::test]
async fn what_cannot_start_is_not_the_functions_fault() {
    let Some(den) = Den::new("what_cannot_start_is_not_the_functions_fault") else { return };
    den.podman.image("localhost/broken:v1", r#"["/bin/none"]"#).unwrap();
    let error = den.run(image("localhost/broken:v1")).await.unwrap_err();
    assert!(matches!(&error, Error::Infrastructure(why) if why.contains("/bin/none")), "{error:?}");
    den.is_clean();
}

#[tokio::test]
async fn names_are_resolved_before_anything_runs() {
    let Some(den) = Den::new("names_are_resolved_before_anything_runs") else { return };
    let container = den.container();
    let before = container.digest(CAT_IMAGE).await.unwrap();
    assert_eq!(container.digest(CAT_IMAGE).await.unwrap(), before);
    assert_ne!(container.digest(SHELL_IMAGE).await.unwrap(), before);
    den.podman.image(CAT_IMAGE, r#"["/bin/cat","-"]"#).unwrap();
    assert_ne!(container.digest(CAT_IMAGE).await.unwrap(), before, "the name means another image now");
    let by_digest = before.to_hex();
    assert_eq!(container.digest(&by_digest).await.unwrap(), before, "and the old one is still there");
    den.run(image(&by_digest)).await.unwrap();
    den.is_clean();
}

#[tokio::test]
async fn a_container_has_nothing_that_was_not_granted() {
    let Some(den) = Den::new("a_container_has_nothing_that_was_not_granted") else { return };
    let probe = "id -u >&2; id -g >&2; grep -h -E '^(CapEff|CapBnd|CapPrm|NoNewPrivs)' /proc/self/status >&2; \
                 ls /sys/class/net >&2; touch /here 2>&1 | sed 's/.*: //' >&2; touch /etc/here 2>/dev/null || echo no etc >&2; \
                 touch /tmp/here && echo tmp >&2; env | grep -v -E '^(SCRIPT|HOSTNAME|SHLVL|HOME|container|TERM|PATH|PWD)=' >&2; cat";
    let response = den.script(probe).await.unwrap();
    let none = "0000000000000000";
    let expected = format!(
        "65534\n65534\nCapPrm:\t{none}\nCapEff:\t{none}\nCapBnd:\t{none}\nNoNewPrivs:\t1\nlo\nRead-only file system\nno etc\ntmp\n"
    );
    assert_eq!(response.stderr, expected);
    den.is_clean();
}

#[tokio::test]
async fn grants_open_what_they_name() {
    let Some(den) = Den::new("grants_open_what_they_name") else { return };
    let desk = tempfile::tempdir().unwrap();
    fs::set_permissions(desk.path(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::write(desk.path().join("file"), "seen\n").unwrap();
    let mut request = script(
        "cat /data/file >&2; echo $EXTRA >&2; echo $HTTP_PROXY >&2; touch /data/new 2>/dev/null || echo no >&2; touch /more/new || echo no >&2; id -u >&2; ls /sys/class/net | wc -l >&2; cat",
    );
    let variable = |name: &str, value: &str| Variable { name: name.into(), value: value.into() };
    request.grants.variables.extend([variable("EXTRA", "a b=c"), variable("HTTP_PROXY", "p")]);
    let mount = |target: &str, access| Mount { source: desk.path().into(), target: target.into(), access };
    request.grants.mounts =
        vec![mount("/data", MountAccess::ReadOnly), mount("/more", MountAccess::ReadWrite)];
    request.grants.user = User::Caller;
    request.grants.network = Network::Host;
    let response = den.run(request).await.unwrap();
    let lines: Vec<&str> = response.stderr.lines().collect();
    let uid = rustix::process::geteuid().as_raw().to_string();
    assert_eq!(lines[..5], ["seen", "a b=c", "p", "no", uid.as_str()]);
    let own = fs::read_dir("/sys/class/net").unwrap().count();
    assert_eq!(lines[5], own.to_string(), "those of the machine");
    assert!(desk.path().join("new").exists());
    let mut request = script("cat");
    request.grants.mounts = vec![mount("/a,readonly=false", MountAccess::ReadOnly)];
    assert!(matches!(den.run(request).await.unwrap_err(), Error::Refused(_)));
    den.is_clean();
}

#[tokio::test]
async fn an_endless_loop() {
    let Some(mut den) = Den::new("an_endless_loop") else { return };
    let short = Duration::from_millis(700);
    let check = |error: Error| match error {
        Error::Timeout { limit, stderr } => assert_eq!((limit, stderr.as_str()), (short, "begun\n")),
        other => panic!("{other:?}"),
    };
    den.options.limits.max_time = short;
    check(den.script("echo begun >&2; while :; do :; done").await.unwrap_err());
    den.is_clean();
}

/// The limits on time that are tried: on a machine that others have, a container may need long to begin.
const LIMITS: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(9), Duration::from_secs(27)];

/// How long a function ran that shows that it runs, from its first sign to its last; none if its time was over before it began.
async fn ran(den: &Den, text: &str, limit: Duration) -> Option<Duration> {
    let flag = tempfile::tempdir().unwrap();
    fs::set_permissions(flag.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut request = script(&format!("touch /flag/begun; {text}"));
    let access = MountAccess::ReadWrite;
    request.grants.mounts.push(Mount { source: flag.path().into(), target: "/flag".into(), access });
    let error = den.run(request).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { limit: said, .. } if said == limit), "{error:?}");
    den.is_clean();
    let at = |name: &str| fs::metadata(flag.path().join(name)).ok()?.modified().ok();
    let (begun, last) = (at("begun")?, at("last")?);
    Some(last.duration_since(begun).unwrap_or_default())
}

#[tokio::test]
async fn functions_end_within_their_time_and_a_second() {
    let Some(mut den) = Den::new("functions_end_within_their_time_and_a_second") else { return };
    // One that never rests, one that does not listen, and one whose children go on without it.
    for text in [
        "while :; do touch /flag/last; done",
        "trap '' TERM INT HUP; exec 0<&- 1>&- 2>&-; while :; do touch /flag/last; sleep 0.01; done",
        "(while :; do touch /flag/last; sleep 0.01; done) & (while :; do touch /flag/last; done) & sleep 1000",
    ] {
        let mut limits = LIMITS.into_iter();
        let times = loop {
            let limit = limits.next().expect("a container begins before its time is over");
            den.options.limits.max_time = limit;
            if let Some(took) = ran(&den, text, limit).await {
                break (limit, took);
            }
        };
        let (limit, first) = times;
        let first = std::cell::Cell::new(Some(first));
        in_time_of(limit, async || {
            let took = match first.take() {
                Some(took) => took,
                None => ran(&den, text, limit).await.unwrap_or(Duration::MAX),
            };
            ((), took)
        })
        .await;
    }
}

#[tokio::test]
async fn the_deadline_counts_from_the_beginning() {
    let Some(den) = Den::new("the_deadline_counts_from_the_beginning") else { return };
    // Short enough to end it wherever it is: while the image is looked up, while the container is made, while it runs.
    for millis in [1, 60, 150, 250, 400, 700] {
        let limit = Duration::from_millis(millis);
        let error =
            den.container().evaluate(script("sleep 1000"), &Deadline::after(limit)).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { limit: said, .. } if said == limit), "{error:?}");
        den.is_clean();
    }
}

#[tokio::test]
async fn a_fork_bomb() {
    let Some(mut den) = Den::new("a_fork_bomb") else { return };
    den.options.limits.max_processes = 40;
    den.options.limits.max_time = Duration::from_secs(2);
    let bomb = "bomb() { [ $1 = 0 ] || { sleep 1000 & bomb $(($1 - 1)) | bomb $(($1 - 1)) & }; }; bomb 8; sleep 1000";
    let error = den.script(bomb).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. } | Error::Failed(_)), "{error:?}");
    den.is_clean();
    let many = |count: u32| format!("for i in $(seq {count}); do sleep 1000 & done; cat");
    den.script(&many(30)).await.unwrap();
    let error = failed(den.script(&many(50)).await.unwrap_err());
    assert!(error.stderr.contains("fork"), "{error:?}");
    den.is_clean();
}

#[tokio::test]
async fn two_gibibytes_of_memory() {
    let Some(mut den) = Den::new("two_gibibytes_of_memory") else { return };
    den.options.limits.max_memory = ByteSize::mib(64);
    let error = failed(den.script("exec tail -c 2147483648 /dev/zero").await.unwrap_err());
    assert!(matches!(&error.why, Failing::Limit(what) if what.contains("64 MiB of max_memory")), "{error:?}");
    den.is_clean();
    let response =
        den.script("head -c 33554432 /dev/zero | tail -c 33554432 | wc -c >&2; cat").await.unwrap();
    assert_eq!(response.stderr.trim(), "33554432", "less than the limit is granted");
}

#[tokio::test]
async fn a_gibibyte_of_output_and_of_messages() {
    let Some(mut den) = Den::new("a_gibibyte_of_output_and_of_messages") else { return };
    den.options.limits.max_output = ByteSize::mib(1);
    let error =
        failed(den.script("echo begun >&2; sleep 1; head -c 1073741824 /dev/zero").await.unwrap_err());
    assert_eq!(error.to_string(), "function exceeded a limit: it wrote more than the 1 MiB of max_output");
    assert_eq!(error.stderr, "begun\n");
    den.is_clean();
    den.options.limits.max_stderr = ByteSize::bytes(10);
    let response = den.script("head -c 33554432 /dev/zero >&2; cat").await.unwrap();
    assert_eq!(response.stderr.len(), 10, "what is too much is thrown away, and the function ends");
    den.is_clean();
}

#[tokio::test]
async fn a_disk_full_of_files() {
    let Some(mut den) = Den::new("a_disk_full_of_files") else { return };
    den.options.limits.max_files = ByteSize::mib(4);
    let text = "head -c 8388608 /dev/zero > /tmp/much; wc -c /tmp/much >&2; cat";
    let response = den.script(text).await.unwrap();
    assert!(response.stderr.lines().any(|line| line.starts_with("4194304 ")), "{}", response.stderr);
    den.is_clean();
}

#[tokio::test]
async fn closed_pipes_and_a_death_halfway() {
    let Some(mut den) = Den::new("closed_pipes_and_a_death_halfway") else { return };
    assert_eq!(failed(den.script("exec 0<&- 1>&- 2>&-; exit 4").await.unwrap_err()).why, Failing::Exit(4));
    den.is_clean();
    let error = failed(den.script("head -c 60; echo trouble >&2; sleep 1000 & exit 7").await.unwrap_err());
    assert_eq!((error.why, error.stderr.as_str()), (Failing::Exit(7), "trouble\n"));
    den.is_clean();
    den.options.limits.max_time = Duration::from_millis(700);
    let error = den.script("exec 0<&- 1>&- 2>&-; sleep 1000").await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    den.is_clean();
}

/// Waits until the function of a store has touched a file in a folder.
async fn until_begun(folder: &std::path::Path) {
    while !folder.join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A function that says by a file that it runs, and does not end.
fn holding(folder: &std::path::Path) -> Request {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let mut request = script("touch /flag/begun; sleep 1000 & sleep 1000");
    let access = MountAccess::ReadWrite;
    request.grants.mounts.push(Mount { source: folder.into(), target: "/flag".into(), access });
    request
}

#[tokio::test]
async fn calling_off_removes_the_container() {
    let Some(den) = Den::new("calling_off_removes_the_container") else { return };
    let flag = tempfile::tempdir().unwrap();
    let (container, deadline) = (den.container(), soon());
    let token = deadline.cancel.clone();
    let call_off = async {
        until_begun(flag.path()).await;
        token.cancel();
    };
    let (answer, ()) = tokio::join!(container.evaluate(holding(flag.path()), &deadline), call_off);
    assert!(matches!(answer, Err(Error::Cancelled)), "{answer:?}");
    den.is_clean();
    let error = container.evaluate(script("cat"), &deadline).await.unwrap_err();
    assert!(matches!(error, Error::Cancelled), "nothing is started after that");
}

#[tokio::test]
async fn dropping_the_future_removes_the_container() {
    let Some(den) = Den::new("dropping_the_future_removes_the_container") else { return };
    let flag = tempfile::tempdir().unwrap();
    let (container, deadline) = (den.container(), soon());
    tokio::select! {
        answer = container.evaluate(holding(flag.path()), &deadline) => panic!("{answer:?}"),
        () = until_begun(flag.path()) => {}
    }
    den.is_clean();
}

/// The variable by which [`runs_for_somebody_else`] is told what to do.
const GIVEN: &str = "LANAI_TEST_CONTAINER";

#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "a test starts itself again, to be killed")]
async fn what_a_killed_process_left_is_removed_by_the_next_one() {
    let Some(den) = Den::new("what_a_killed_process_left_is_removed_by_the_next_one") else { return };
    let flag = tempfile::tempdir().unwrap();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "container::runs_for_somebody_else"])
        .env_clear()
        .envs(den.podman.environment())
        .env(GIVEN, flag.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until_begun(flag.path()).await;
    let container = den.container();
    assert_eq!(container.sweep().await.unwrap(), 0, "its owner lives");
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(container.sweep().await.unwrap(), 1);
    den.is_clean();
}

/// Not a test by itself: the process that is killed.
#[tokio::test]
async fn runs_for_somebody_else() {
    let Some(flag) = std::env::var_os(GIVEN) else { return };
    let caller = Caller { environment: std::env::vars_os().collect(), folder: "/".into() };
    let engine = ContainerEngine::find(&[EngineKind::Podman], &caller).expect("podman is there");
    let container = Container::new(engine, ContainerOptions::default());
    let answer = container.evaluate(holding(flag.as_ref()), &soon()).await;
    panic!("it was to be killed before: {answer:?}");
}

#[tokio::test]
async fn pods_of_function_configs_are_containers_and_can_be_vouched_for() {
    let Some(den) = Den::new("pods_of_function_configs_are_containers_and_can_be_vouched_for") else {
        return;
    };
    let configs = tempfile::tempdir().unwrap();
    let object = |name: &str, annotations: &str| {
        format!(
            "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: FunctionConfig\nmetadata: {{name: {name}, annotations: {{{annotations}}}}}\nspec: {{image: {name}, podExecutor: {{tags: [v1]}}}}\n"
        )
    };
    let text = [object("cat", "lanai.dev/deterministic: 'true'"), object("shell", "")].join("---\n");
    fs::write(configs.path().join("all.yaml"), text).unwrap();
    let native = lanai_runner::Native::new(lanai_runner::functions(), lanai_runner::NativeScope::Catalog);
    let caller = Caller { environment: den.podman.environment(), folder: "/".into() };
    let exec = lanai_runner::Exec {
        caller,
        mode: lanai_runner::ExecMode::AsKpt,
        limits: lanai_runner::ExecLimits::default(),
    };
    let configured =
        lanai_runner::Configured::new(native, lanai_runner::Programs::Below(exec, "/nowhere".into()))
            .with_containers(den.container());
    configured.assign(lanai_runner::load_function_configs(configs.path(), "localhost").0);
    let response = configured.evaluate(image(CAT_IMAGE), &soon()).await.unwrap();
    assert_eq!(response.evaluator, "container");
    let error = configured.evaluate(image("localhost/other:v1"), &soon()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound(_)), "{error:?}");
    let identity = async |name: &str| configured.identify(&image(name).function, &Grants::default()).await;
    let before = identity(CAT_IMAGE).await;
    assert!(matches!(before, Identity::Fixed(_)), "{before:?}");
    assert_eq!(identity(CAT_IMAGE).await, before);
    den.podman.image(CAT_IMAGE, r#"["/bin/cat","-"]"#).unwrap();
    let after = identity(CAT_IMAGE).await;
    assert!(
        matches!(after, Identity::Fixed(_)) && after != before,
        "another image is another function: {after:?}"
    );
    assert!(matches!(identity(SHELL_IMAGE).await, Identity::Volatile(_)), "nobody vouches for it");
    den.is_clean();
}
