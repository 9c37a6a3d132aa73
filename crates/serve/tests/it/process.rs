//! A server in a process of its own, which can be killed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use lanai_apiserver::Limits;
use lanai_serve::Server;
use tokio_util::sync::CancellationToken;

use crate::world::{command, options};

/// The data directory of the process that is to serve.
const DATA: &str = "LANAI_TEST_SERVE_DATA";
const READY: &str = "ready to serve";

pub struct Process {
    child: Child,
    data: PathBuf,
}

impl Process {
    /// Starts one, and waits until it serves.
    pub fn start(data: &Path) -> Self {
        let mut child = command(&std::env::current_exe().unwrap())
            .args(["process::serves_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(DATA, data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.contains(READY))), "the server does not start");
        // Nobody reads what else it prints, so it has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, data: data.to_owned() }
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.data.join("kubeconfig")
    }

    /// `kill -9`.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Not a test: what [`Process::start`] runs.
#[test]
#[ignore = "serves until it is killed"]
fn serves_until_it_is_killed() {
    let Some(data) = std::env::var_os(DATA) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(options(Path::new(&data), Limits::DEFAULT)).await.unwrap();
        println!("{READY}");
        server.run(CancellationToken::new()).await;
    });
}
