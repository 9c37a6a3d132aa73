//! A PostgreSQL that a test starts for itself, in a folder that goes away.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use lanai_testkit::skip;

/// A server that ends with this.
pub struct Cluster {
    folder: Arc<tempfile::TempDir>,
    /// Where its files are, in the folder.
    data: &'static str,
    port: u16,
    programs: PathBuf,
    user: Option<User>,
    disk: Disk,
    reach: Reach,
}

/// How clients come to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Through a socket in its folder.
    Socket,
    /// Over the network of this machine as well, encrypted for who wants it.
    Network,
}

/// Whether the server waits for its disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "tests do not wait, benchmarks do")]
pub enum Disk {
    Synced,
    Unsynced,
}

#[derive(Clone, Copy)]
struct User {
    id: u32,
    group: u32,
}

impl Cluster {
    /// Starts a server; says that the test is skipped where there is none.
    pub fn start(test: &str, disk: Disk) -> Option<Self> {
        let Some(programs) = programs() else {
            skip(test, "PostgreSQL is not installed (Debian: apt-get install postgresql)");
            return None;
        };
        // The server does not run as root.
        let is_root =
            fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
        let user = if is_root { other_user() } else { None };
        if is_root && user.is_none() {
            skip(test, "PostgreSQL does not run as root, and there is no user \"postgres\" or \"nobody\"");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if let Some(user) = user {
            chown(folder.path(), Some(user.id), Some(user.group)).unwrap();
        }
        let cluster = Self {
            folder: Arc::new(folder),
            data: "data",
            port: 5432,
            programs,
            user,
            disk,
            reach: Reach::Socket,
        };
        cluster.run(
            "initdb",
            &[
                "--pgdata",
                "data",
                "--auth",
                "trust",
                "--username",
                "lanai",
                "--no-sync",
                "--encoding",
                "UTF8",
            ],
        );
        cluster.begin();
        Some(cluster)
    }

    /// The address for clients.
    pub fn address(&self) -> String {
        format!("host={} port={} user=lanai dbname=postgres", self.folder.path().display(), self.port)
    }

    /// Lets clients come over the network as well, to a server with this certificate and key; returns their address.
    #[allow(dead_code, reason = "benchmarks use the socket")]
    pub fn encrypt(&mut self, certificate: &str, key: &str) -> String {
        self.crash();
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let path = self.folder.path().join(self.data).join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            if let Some(user) = self.user {
                chown(&path, Some(user.id), Some(user.group)).unwrap();
            }
        }
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        (self.port, self.reach) = (free, Reach::Network);
        self.begin();
        format!("host=127.0.0.1 port={free} user=lanai dbname=postgres")
    }

    /// A folder through which the sockets are found only once it was opened.
    #[allow(dead_code, reason = "benchmarks have no standby")]
    pub fn later(&self) -> PathBuf {
        self.folder.path().join("later")
    }

    /// Opens that folder.
    #[allow(dead_code, reason = "benchmarks have no standby")]
    pub fn open_later(&self) {
        std::os::unix::fs::symlink(self.folder.path(), self.later()).unwrap();
    }

    /// The address of a server and, in the folder that is opened later, its standby, which stands first.
    #[allow(dead_code, reason = "benchmarks have no standby")]
    pub fn address_with_later(&self, standby: &Self) -> String {
        let (host, later) = (self.folder.path().display(), self.later());
        let (first, second) = (standby.port, self.port);
        format!("host={},{host} port={first},{second} user=lanai dbname=postgres", later.display())
    }

    /// Starts a server that follows this one, and has all that this one has now.
    #[allow(dead_code, reason = "benchmarks have no standby")]
    pub fn standby(&self) -> Self {
        let host = self.folder.path().to_str().unwrap();
        self.run(
            "pg_basebackup",
            &[
                "--pgdata",
                "standby",
                "--write-recovery-conf",
                "--checkpoint=fast",
                "--no-sync",
                "--host",
                host,
                "--username",
                "lanai",
            ],
        );
        let standby = Self {
            folder: self.folder.clone(),
            data: "standby",
            port: self.port + 1,
            programs: self.programs.clone(),
            user: self.user,
            disk: self.disk,
            reach: self.reach,
        };
        standby.begin();
        standby
    }

    /// The address of a server and its standby, which stands first.
    #[allow(dead_code, reason = "benchmarks have no standby")]
    pub fn address_of_both(&self, standby: &Self) -> String {
        let host = self.folder.path().display();
        let (first, second) = (standby.port, self.port);
        format!("host={host},{host} port={first},{second} user=lanai dbname=postgres")
    }

    /// Makes a standby a server that is written to.
    #[allow(dead_code, reason = "benchmarks have no standby")]
    pub fn promote(&self) {
        self.run("pg_ctl", &["promote", "--wait", "--silent", "--pgdata", self.data]);
    }

    /// Copies the tables of a store into another schema, as they are.
    #[allow(dead_code, reason = "benchmarks do not copy")]
    pub fn copy(&self, from: &str, to: &str) {
        let tables = [
            "meta",
            "version",
            "current",
            "attribute",
            "blob",
            "blob_use",
            "lease",
            "seal_key",
            "schema_version",
        ];
        let copies = tables.map(|table| {
            format!(
                "CREATE TABLE {to}.{table} (LIKE {from}.{table} INCLUDING ALL);
                 INSERT INTO {to}.{table} SELECT * FROM {from}.{table};"
            )
        });
        self.ask(&format!("BEGIN; CREATE SCHEMA {to}; {} COMMIT", copies.concat()));
    }

    /// Puts one store in the place of another one, as a fail-over does.
    #[allow(dead_code, reason = "benchmarks do not fail")]
    pub fn replace(&self, schema: &str, with: &str) {
        self.ask(&format!(
            "BEGIN; ALTER SCHEMA {schema} RENAME TO lost_{schema}; ALTER SCHEMA {with} RENAME TO {schema}; COMMIT"
        ));
    }

    /// Starts the server, and waits until it answers.
    pub fn begin(&self) {
        // What the disk keeps is the business of PostgreSQL; tests need not wait for it.
        let fsync = match self.disk {
            Disk::Synced => "on",
            Disk::Unsynced => "off",
        };
        let folder = self.folder.path().display();
        let reach = match self.reach {
            Reach::Socket => "-c listen_addresses=''",
            Reach::Network => "-c listen_addresses=127.0.0.1 -c ssl=on",
        };
        let options =
            format!("{reach} -c port={} -c unix_socket_directories='{folder}' -c fsync={fsync}", self.port);
        self.run(
            "pg_ctl",
            &["start", "--wait", "--silent", "--pgdata", self.data, "--log", "log", "--options", &options],
        );
    }

    /// Ends the server as a crash does.
    pub fn crash(&self) {
        self.run("pg_ctl", &["stop", "--mode", "immediate", "--silent", "--pgdata", self.data]);
    }

    /// Asks the server in SQL.
    #[allow(dead_code, reason = "benchmarks do not ask")]
    pub fn ask(&self, sql: &str) -> String {
        let host = self.folder.path().to_str().unwrap();
        self.run(
            "psql",
            &[
                "--no-psqlrc",
                "--tuples-only",
                "--port",
                &self.port.to_string(),
                "--host",
                host,
                "--username",
                "lanai",
                "--dbname",
                "postgres",
                "--command",
                sql,
            ],
        )
    }

    #[allow(clippy::disallowed_methods, reason = "the server is a program that the test needs")]
    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(self.programs.join(program));
        command.current_dir(self.folder.path()).args(arguments).stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user.id).gid(user.group);
        }
        // A server that stays must not hold our output open: it writes into files.
        let (output, errors) = (self.folder.path().join("output"), self.folder.path().join("errors"));
        let status = command
            .stdout(fs::File::create(&output).unwrap())
            .stderr(fs::File::create(&errors).unwrap())
            .status()
            .unwrap();
        let said = fs::read_to_string(output).unwrap();
        assert!(status.success(), "{program}: {said}{}", fs::read_to_string(errors).unwrap());
        said
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A test may have ended it already.
        if self.folder.path().join(self.data).join("postmaster.pid").exists() {
            self.crash();
        }
    }
}

/// The folder of the newest PostgreSQL.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.map(|entry| entry.unwrap().path().join("bin"));
    folders.filter(|folder| folder.join("initdb").is_file()).max()
}

fn other_user() -> Option<User> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(|number| number.parse().ok());
        Some(User { id: numbers.next()??, group: numbers.next()?? })
    };
    find("postgres").or_else(|| find("nobody"))
}
