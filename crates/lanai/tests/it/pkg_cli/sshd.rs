//! A real ssh server of the test's own, on a free port of this machine.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use super::World;

/// A server that lets the user of the test in with the key `home/ssh/key`, and nobody else.
pub(crate) struct Sshd {
    child: Child,
    pub port: u16,
    /// Who runs the test.
    pub user: String,
}

/// Which version of git's protocol the server lets a client ask for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Protocol {
    /// The newest.
    Any,
    /// The first: the server does not take the variable that asks for more.
    First,
}

impl Sshd {
    /// Starts a server; `None` where that cannot be done, which is told under the name of the test.
    pub fn start(world: &World, protocol: Protocol, test: &str) -> Option<Self> {
        let skip = |why: &str| {
            lanai_testkit::skip(test, why);
            None
        };
        let Some(program) = program() else { return skip("sshd is not installed") };
        let user = world.run_in(".", "id", &["-un"]).stdout.trim().to_owned();
        if user == "root" && fs::create_dir_all("/run/sshd").is_err() {
            return skip("sshd wants the folder /run/sshd, which cannot be made");
        }
        fs::create_dir_all(world.path("home/ssh")).expect("a folder can be made");
        for key in ["host", "key", "other"] {
            let path = world.path("home/ssh").join(key).display().to_string();
            let made = world.run_in(".", "ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path]);
            assert_eq!(made.code, Some(0), "{made:?}");
        }
        let port = TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr());
        let port = port.expect("there is a free port").port();
        world.write("home/ssh/server", &server(&world.path("home/ssh"), port, protocol));
        let host = world.read("home/ssh/host.pub");
        world.write("home/ssh/known", &format!("[127.0.0.1]:{port} {host}"));
        world.write("home/ssh/nobody", "");
        for (name, key, known) in
            [("good", "key", "known"), ("wrong-key", "other", "known"), ("unknown-host", "key", "nobody")]
        {
            world.write(&format!("home/ssh/{name}"), &client(&world.path("home/ssh"), port, key, known));
        }
        let server = match Self::spawn(&program, world, port, user) {
            Ok(server) => server,
            Err(why) => return skip(&format!("sshd does not run: {why}")),
        };
        let config = world.path("home/ssh/good").display().to_string();
        let tried = world.run_in(".", "ssh", &["-F", &config, "-o", "BatchMode=yes", "shelf", "true"]);
        if tried.code != Some(0) {
            return skip(&format!("sshd lets nobody in: {}", tried.stderr));
        }
        Some(server)
    }

    /// Starts it, and reads what it says until it listens; says why when it does not.
    #[allow(clippy::disallowed_methods, reason = "the server is a program")]
    fn spawn(program: &Path, world: &World, port: u16, user: String) -> Result<Self, String> {
        let mut child = Command::new(program)
            .args(["-D", "-e", "-f"])
            .arg(world.path("home/ssh/server"))
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
