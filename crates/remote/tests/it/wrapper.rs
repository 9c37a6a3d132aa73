//! A server of one program.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Evaluator};
use lanai_process::Command;
use lanai_remote::{ServerOptions, Wrapper, WrapperLimits};

use crate::{Running, WEB, failed, request, soon};

async fn running(script: &str) -> Running {
    let command = Command::new("/bin/sh").argument("-c").argument(script).variable("PATH", "/usr/bin:/bin");
    Running::new(Wrapper::new(command, WrapperLimits::default()), ServerOptions::default()).await
}

#[tokio::test]
async fn the_program_runs_once_for_each_call() {
    let running = running("echo said >&2; cat").await;
    let client = running.client();
    for _ in 0..2 {
        let response = client.evaluate(request("any", None), &soon()).await.unwrap();
        assert_eq!(response.stderr, "said\n");
        assert_eq!(response.list.items[0].to_string(), WEB);
    }
    running.end().await;
}

#[tokio::test]
async fn the_exit_code_is_kept() {
    let results = "{\"apiVersion\": \"config.kubernetes.io/v1\", \"kind\": \"ResourceList\", \"items\": [], \"results\": [{\"message\": \"bad\"}]}";
    let check = async |script: String, code: i32, results: usize| {
        let running = running(&script).await;
        let failed = failed(running.client().evaluate(request("any", None), &soon()).await.unwrap_err());
        assert_eq!((failed.exit_code, failed.results.len()), (code, results), "{script}: {failed:?}");
        assert_eq!(failed.stderr, "said\n");
        running.end().await;
    };
    check("echo said >&2; exit 3".into(), 3, 0).await;
    check(format!("echo said >&2; echo '{results}'; exit 4"), 4, 1).await;
    check("echo said >&2; kill -9 $$".into(), 137, 0).await;
    check("echo said >&2; echo 'no list'".into(), 0, 0).await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_and_no_panic() {
    let wrapper = Wrapper::new(Command::new("/no/such/program"), WrapperLimits::default());
    let running = Running::new(wrapper, ServerOptions::default()).await;
    let failed = failed(running.client().evaluate(request("any", None), &soon()).await.unwrap_err());
    assert!(failed.stderr.contains("Failed to execute function \"any\""), "{failed:?}");
    running.end().await;
}

/// Waits until the process that wrote its number to a file is gone.
async fn ended(file: &Path) {
    let process = loop {
        match fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    for _ in 0..500 {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {process} still runs");
}

#[tokio::test]
async fn nothing_runs_for_a_caller_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("process");
    let running = running(&format!("echo $$ > {}; exec sleep 60", file.display())).await;
    let client = running.client();
    let call = tokio::spawn(async move { client.evaluate(request("any", None), &soon()).await });
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    call.abort();
    ended(&file).await;
    running.end().await;
}

#[tokio::test]
async fn a_program_ends_on_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("process");
    let running = running(&format!("echo $$ > {}; exec sleep 60", file.display())).await;
    let deadline = Deadline::after(Duration::from_millis(500));
    let error = running.client().evaluate(request("any", None), &deadline).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    ended(&file).await;
    running.end().await;
}
