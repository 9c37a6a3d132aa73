//! Functions that mean harm, in cages that the real binary makes.
//!
//! Every function has a number in the command lines of all its processes; after each run, no process has it any more, and the
//! folder for temporary files is empty. As root, everything runs once more as nobody.

pub(crate) mod den;
mod isolated;
mod probes;

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use den::{Den, failed};
use lanai_evaluate::{Error, Failing};
use lanai_process::Shortfall;
use lanai_testkit::skip;
use lanai_types::ByteSize;

#[tokio::test]
async fn a_harmless_one_goes_through() {
    let den = Den::new("cat; echo done >&2");
    let response = den.run().await.unwrap();
    assert_eq!(response.list.items[0].to_string(), den::SERVICE);
    assert_eq!(response.stderr, "done\n");
    den.is_clean();
}

#[tokio::test]
async fn an_endless_loop() {
    let mut den = Den::new("echo begun >&2; while :; do :; done");
    den.exec.limits.max_time = Duration::from_millis(700);
    match den.run().await.unwrap_err() {
        Error::Timeout { limit, stderr } => {
            assert_eq!((limit, stderr.as_str()), (den.exec.limits.max_time, "begun\n"));
        }
        other => panic!("{other:?}"),
    }
    den.is_clean();
}

#[tokio::test]
async fn a_fork_bomb() {
    let mut den = Den::new(
        "bomb() { [ $2 = 0 ] || { sleep $1 & bomb $1 $(($2 - 1)) | bomb $1 $(($2 - 1)) & }; }; bomb $1 8; sleep $1",
    );
    den.exec.limits.max_time = Duration::from_secs(1);
    den.exec.limits.max_processes = 40;
    // It has an end, for the day on which the cage has a hole. It dies of its own hunger or of the limit on time.
    let error = den.run().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. } | Error::Failed(_)), "{error:?}");
    if den.holds(Shortfall::Tree, "hostile::a_fork_bomb") {
        den.is_clean();
    }
}

#[tokio::test]
async fn processes_are_counted() {
    // The script and its children: exactly as many as there may be, and then one more.
    let text = |children: u32| format!("for i in $(seq {children}); do sleep $1 & done; cat");
    let mut den = Den::new(&text(9));
    // `seq` and `cat` are the tenth process at most.
    den.exec.limits.max_processes = 11;
    let ran = den.run().await;
    // On machines without namespaces, others count as well.
    if !den.holds(Shortfall::Tree, "hostile::processes_are_counted") {
        return;
    }
    assert!(ran.is_ok(), "{ran:?}");
    den.is_clean();
    den.write(&text(10));
    let error = failed(den.run().await.unwrap_err());
    assert!(error.stderr.to_lowercase().contains("fork"), "{error:?}");
    den.is_clean();
}

#[tokio::test]
async fn processes_that_leave_their_group() {
    let den =
        Den::new("setsid sleep $1 & (setsid sh -c \"trap '' TERM HUP; setsid sleep $1 & sleep $1\" &) & cat");
    den.run().await.unwrap();
    if den.holds(Shortfall::Tree, "hostile::processes_that_leave_their_group") {
        den.is_clean();
    }
}

#[tokio::test]
async fn processes_that_leave_their_group_are_killed_on_time() {
    let mut den = Den::new("setsid sleep $1 & (setsid setsid sleep $1 &) & sleep $1");
    den.exec.limits.max_time = Duration::from_millis(700);
    let error = den.run().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    if den.holds(Shortfall::Tree, "hostile::processes_that_leave_their_group_are_killed_on_time") {
        den.is_clean();
    }
}

#[tokio::test]
async fn two_gibibytes_of_memory() {
    let mut den = Den::new("head -c 2147483648 /dev/zero | tail >&2; exit 9");
    den.exec.limits.max_memory = ByteSize::mib(256);
    let error = failed(den.run().await.unwrap_err());
    // Either the system refused it, or it was seen to have too much, whichever came first.
    match &error.why {
        Failing::Exit(9) => assert!(error.stderr.contains("memory exhausted"), "{}", error.stderr),
        Failing::Limit(what) => assert!(what.contains("max_memory"), "{what}"),
        other => panic!("{other:?}"),
    }
    den.is_clean();

    den.write("head -c 67108864 /dev/zero | tail | wc -c >&2; cat");
    let response = den.run().await.unwrap();
    assert_eq!(response.stderr.trim(), "67108864", "less than the limit is granted");
}

#[tokio::test]
async fn a_gibibyte_of_output() {
    let mut den = Den::new("echo begun >&2; head -c 1073741824 /dev/zero");
    den.exec.limits.max_output = ByteSize::mib(1);
    let error = failed(den.run().await.unwrap_err());
    assert_eq!(error.to_string(), "function exceeded a limit: it wrote more than the 1 MiB of max_output");
    assert_eq!(error.stderr, "begun\n");
    den.is_clean();
}

#[tokio::test]
async fn a_gibibyte_of_messages() {
    let mut den = Den::new("head -c 134217728 /dev/zero >&2; cat");
    den.exec.limits.max_stderr = ByteSize::bytes(10);
    let response = den.run().await.unwrap();
    assert_eq!(response.stderr.len(), 10, "what is too much is thrown away, and the function ends");
    den.is_clean();
}

#[tokio::test]
async fn a_disk_full_of_files() {
    let mut den = Den::new(
        "head -c 8388608 /dev/zero > here; head -c 8388608 /dev/zero > /tmp/there; ls -l here >&2; cat",
    );
    den.exec.limits.max_files = ByteSize::mib(4);
    let response = den.run().await.unwrap();
    let kept = response.stderr.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    assert!(kept.max().unwrap_or_default() <= den.exec.limits.max_files.get(), "{}", response.stderr);
    den.is_clean();
}

#[tokio::test]
async fn closed_pipes() {
    let mut den = Den::new("exec 0<&- 1>&- 2>&-; sleep $1");
    den.exec.limits.max_time = Duration::from_millis(700);
    let error = den.run().await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    den.is_clean();
    den.exec.limits.max_time = Duration::from_mins(1);
    den.write("exec 0<&- 1>&- 2>&-; exit 4");
    assert_eq!(failed(den.run().await.unwrap_err()).why, Failing::Exit(4));
    den.is_clean();
}

#[tokio::test]
async fn dying_halfway() {
    let den = Den::new("head -c 60; echo trouble >&2; sleep $1 & kill -9 $$");
    let error = failed(den.run().await.unwrap_err());
    assert_eq!((error.why, error.stderr.as_str()), (Failing::Signal(9), "trouble\n"));
    den.is_clean();
}

#[tokio::test]
async fn a_caller_that_goes_away() {
    let den = Den::new("setsid sleep $1 & echo begun >&2; sleep $1");
    let mut running = Box::pin(den.run());
    // Long enough to have begun, mostly; too short is a test as well.
    let waited = tokio::time::timeout(Duration::from_millis(300), &mut running).await;
    assert!(waited.is_err(), "{waited:?}");
    drop(running);
    // What is held is not known of a function that did not end: another one tells.
    let other = Den::new("cat");
    other.run().await.unwrap();
    if other.holds(Shortfall::Tree, "hostile::a_caller_that_goes_away") {
        den.is_clean();
    }
}

#[tokio::test]
async fn lanai_is_killed() {
    let other = Den::new("cat");
    other.run().await.unwrap();
    if !other.holds(Shortfall::Tree, "hostile::lanai_is_killed") {
        return;
    }
    let den = Den::new("setsid sleep $1 & sleep $1");
    let mut lanai = den.in_another_process("hostile::runs_for_somebody_else");
    let inside = den.wait_for_processes(2);
    lanai.kill().expect("it runs");
    lanai.wait().expect("it was started");
    den::wait_for_the_end(inside);
    den.is_clean();
}

/// Not a test by itself: the process that [`lanai_is_killed`] kills.
#[tokio::test]
async fn runs_for_somebody_else() {
    if let Some(den) = Den::given() {
        let answer = den.run().await;
        panic!("it was to be killed before: {answer:?}");
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test starts itself again, as somebody else")]
fn as_nobody() {
    const TEST: &str = "hostile::as_nobody";
    if !rustix::process::geteuid().is_root() {
        return skip(TEST, "it takes root to become nobody; the other tests ran as this user");
    }
    let me = std::env::current_exe().expect("it runs");
    let output = Command::new(&me)
        .args(["hostile::", "--skip", TEST])
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(std::env::var_os(lanai_testkit::SKIP_LOG).map(|log| (lanai_testkit::SKIP_LOG, log)))
        .current_dir("/")
        .uid(65_534)
        .gid(65_534)
        .output();
    match output {
        Err(cause) if cause.kind() == std::io::ErrorKind::PermissionDenied => {
            skip(TEST, "nobody cannot reach the folder that cargo builds into");
        }
        Err(cause) => panic!("{}: {cause}", me.display()),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
