//! A real ssh server of the test's own, on a free port of this machine.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::skip;

/// A server that lets the user of the test in with the key `key` of its folder, and nobody else.
#[derive(Debug)]
pub struct Sshd {
    child: Child,
    /// Where it listens on 127.0.0.1.
    pub port: u16,
    /// Who runs the test.
    pub user: String,
}

/// Which version of git's protocol the server lets a client ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// The newest.
    Any,
    /// The first: the server does not take the variable that asks for more.
    First,
}

impl Sshd {
    /// Starts a server; `None` where that cannot be done, which is told under the name of the test.
    ///
    /// The folder is made. It gets the keys `host`, `key` and `other`, the file `known` with the key of the server, and
    /// three configurations for ssh, in which the server is called `shelf`: `good`, `wrong-key` and `unknown-host`.
    ///
    /// # Panics
    /// When files cannot be written there.
    pub fn start(folder: &Path, protocol: Protocol, test: &str) -> Option<Self> {
        let refuse = |why: &str| {
            skip(test, why);
            None
        };
        let Some(program) = program() else { return refuse("sshd is not installed") };
        let Some(user) = run("id", &["-un"]) else { return refuse("nobody knows who runs the test") };
        if user == "root" && fs::create_dir_all("/run/sshd").is_err() {
            return refuse("sshd wants the folder /run/sshd, which cannot be made");
        }
        fs::create_dir_all(folder).expect("a folder can be made");
        for key in ["host", "key", "other"] {
            let path = folder.join(key).display().to_string();
            if run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path]).is_none() {
                return refuse("ssh-keygen makes no keys");
            }
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr());
        let port = port.expect("there is a free port").port();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("it can be written");
        write("server", &server(folder, port, protocol));
        let host = fs::read_to_string(folder.join("host.pub")).expect("the key was made");
        write("known", &format!("[127.0.0.1]:{port} {host}"));
        write("nobody", "");
        for (name, key, known) in
            [("good", "key", "known"), ("wrong-key", "other", "known"), ("unknown-host", "key", "nobody")]
        {
            write(name, &client(folder, port, key, known));
        }
        let server = match Self::spawn(&program, &folder.join("server"), port, user) {
            Ok(server) => server,
            Err(why) => return refuse(&format!("sshd does not run: {why}")),
        };
        let config = folder.join("good").display().to_string();
        if run("ssh", &["-F", &config, "-o", "BatchMode=yes", "shelf", "true"]).is_none() {
            return refuse("sshd lets nobody in");
        }
        Some(server)
    }

    /// Starts it, and reads what it says until it listens; says why when it does not.
    #[allow(clippy::disallowed_methods, reason = "the server is a program")]
    fn spawn(program: &Path, config: &Path, port: u16, user: String) -> Result<Self, String> {
        let mut child = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut log = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let server = Self { child, port, user };
        let mut said = String::new();
        while !said.contains("listening") {
            // At its end, it has ended.
            if !log.read_line(&mut said).is_ok_and(|read| read > 0) {
                return Err(said);
            }
        }
        // What else it says, somebody must read.
        thread::spawn(move || io::copy(&mut log, &mut io::sink()));
        Ok(server)
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program and returns what it prints; `None` where it fails.
#[allow(clippy::disallowed_methods, reason = "keys are made by a program")]
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The server, which must be started by its whole path.
fn program() -> Option<PathBuf> {
    ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.is_file())
}

fn server(folder: &Path, port: u16, protocol: Protocol) -> String {
    let folder = folder.display();
    let accept = match protocol {
        Protocol::Any => "AcceptEnv GIT_PROTOCOL\n",
        Protocol::First => "",
    };
    format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/key.pub\n\
         PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\n{accept}"
    )
}

/// What the client is told: `shelf` is the server. Nothing of the user's own configuration counts.
fn client(folder: &Path, port: u16, key: &str, known: &str) -> String {
    let folder = folder.display();
    format!(
        "Host shelf\n  HostName 127.0.0.1\n  Port {port}\nHost *\n  IdentityFile {folder}/{key}\n  IdentitiesOnly yes\n  \
         IdentityAgent none\n  UserKnownHostsFile {folder}/{known}\n  GlobalKnownHostsFile none\n"
    )
}
