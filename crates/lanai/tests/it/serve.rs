//! `lanai serve` as a process: it says where it listens, answers, and ends when it is asked to.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[allow(clippy::disallowed_methods, reason = "the binary is what is tested")]
fn lanai(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanai"));
    command.args(arguments).arg("--data-dir").arg(data).env("HOME", data).env_remove("LANAI_LOG");
    command
}

/// Starts a server and reads what it says until it listens.
fn start(data: &Path) -> (Served, String) {
    listening(lanai(data, &["serve", "--listen", "127.0.0.1:0"]))
}

fn listening(mut command: Command) -> (Served, String) {
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("it is a pipe")).lines();
    let served = Served(child);
    let address = said
        .by_ref()
        .find_map(|line| line.expect("a line").strip_prefix("listening on ").map(ToOwned::to_owned));
    let address = address.expect("it says where it listens");
    // What else it says, somebody must read.
    std::thread::spawn(move || said.for_each(drop));
    (served, address)
}

#[test]
fn a_server_starts_and_ends_and_keeps_what_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (mut first, address) = start(&data);
    let printed = lanai(&data, &["kubeconfig"]).output().unwrap();
    let kubeconfig = String::from_utf8(printed.stdout).unwrap();
    assert!(kubeconfig.contains(&format!("server: {address}")), "{kubeconfig}");

    // The data directory belongs to one server.
    let second = lanai(&data, &["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1), "{}", String::from_utf8_lossy(&second.stderr));

    let pid = rustix::process::Pid::from_child(&first.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(first.0.wait().unwrap().code(), Some(0), "it was asked to end, and did");
    let (_again, _) = start(&data);
}

/// Logs come from all threads of the server, while the command itself waits for its end.
#[test]
fn a_server_that_logs_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = lanai(&folder.path().join("data"), &["serve", "--listen", "127.0.0.1:0"]);
    command.env("LANAI_LOG", "trace");
    let (mut served, address) = listening(command);
    let address = address.strip_prefix("https://").expect("it speaks TLS");
    // No TLS: the server says something about it, and closes.
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let closed = stream.read_to_end(&mut answer);
    assert!(closed.is_ok() || closed.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    let pid = rustix::process::Pid::from_child(&served.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let asked = Instant::now();
    let status = loop {
        if let Some(status) = served.0.try_wait().unwrap() {
            break status;
        }
        assert!(asked.elapsed() < Duration::from_mins(1), "it hangs");
        #[allow(clippy::disallowed_methods, reason = "the end of a process can only be asked for here")]
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(status.code(), Some(0));
}

#[test]
fn bad_settings_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = lanai(&folder.path().join("data"), arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run(&["kubeconfig"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("kubeconfig") && said.contains("hint: it is written by the server"), "{said}");
    let config = folder.path().join("settings.yaml");
    std::fs::write(&config, "lisen: 127.0.0.1:0\n").unwrap();
    let (code, said) = run(&["serve", "--config", config.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("lisen"), "{code:?} {said}");
    std::fs::write(&config, "limits: {maxRequests: 0}\n").unwrap();
    let (code, said) = run(&["serve", "--config", config.to_str().unwrap()]);
    assert!(code == Some(1) && said.contains("nonzero"), "{code:?} {said}");
}
