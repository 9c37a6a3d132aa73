//! `lanai function-runner` with containers.

use std::time::Duration;

use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Request};
use lanai_krm::{Resource, ResourceList};
use lanai_remote::{Remote, RemoteOptions};
use lanai_testkit::podman::{CAT_IMAGE, Podman};

use super::SETTINGS;
use crate::api::{Served, eventually};
use crate::demo::program;

/// An image whose program fails.
const FAIL_IMAGE: &str = "localhost/fail:v1";
/// An image whose program does not end.
const SLEEP_IMAGE: &str = "localhost/sleep:v1";

fn request(image: &str) -> Request {
    let items = vec![Resource::parse(SETTINGS).unwrap()];
    let list = ResourceList { items, ..ResourceList::default() };
    Request { function: FunctionRef::Image(image.into()), list, grants: Grants::default() }
}

#[tokio::test]
async fn a_function_runner_runs_images_in_containers() {
    let test = "server_functions::runner::a_function_runner_runs_images_in_containers";
    let Some(podman) = Podman::new(test) else { return };
    podman.image(FAIL_IMAGE, r#"["/bin/sh","-c","echo no such luck >&2; exit 3"]"#).unwrap();
    podman.image(SLEEP_IMAGE, r#"["/bin/sleep","1000"]"#).unwrap();
    let mut command = program(env!("CARGO_BIN_EXE_lanai"));
    command.args(["function-runner", "--port", "0", "--bind-address", "127.0.0.1"]);
    command.args(["--container-runtime", "podman", "--image-pull-policy", "never"]);
    command.env_clear().envs(podman.environment());
    let mut served = Served::start(command);
    let remote = Remote::new(&served.address, RemoteOptions::default()).unwrap();
    let call = async |image: &str, time| remote.evaluate(request(image), &Deadline::after(time)).await;
    let long = Duration::from_mins(2);

    let answer = call(CAT_IMAGE, long).await.unwrap();
    assert_eq!(answer.list.items[0].to_string(), SETTINGS);
    eventually("the log says who ran it", || served.said().contains("evaluator=\"container\""));
    match call(FAIL_IMAGE, long).await.unwrap_err() {
        Error::Failed(failed) => {
            assert_eq!((failed.exit_code, failed.stderr.as_str()), (3, "no such luck\n"));
        }
        other => panic!("{other:?}"),
    }
    let error = format!("{:?}", call("localhost/none:v1", long).await.unwrap_err());
    assert!(error.contains("it is not on this machine"), "{error}");
    // A caller whose time is over, and a server that ends while something runs.
    let error = call(SLEEP_IMAGE, Duration::from_secs(2)).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    let running = remote.clone();
    let running = tokio::spawn(async move {
        running.evaluate(request(SLEEP_IMAGE), &Deadline::after(Duration::from_mins(2))).await
    });
    let begun =
        async || podman.podman(&["ps", "--format", "{{.Names}}"]).is_ok_and(|names| !names.is_empty());
    tokio::time::timeout(Duration::from_mins(1), async {
        while !begun().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await
    .expect("it begins");
    served.end();
    assert!(running.await.unwrap().is_err());
    let left = podman.left();
    assert!(left.is_empty(), "{left:?}");
}
