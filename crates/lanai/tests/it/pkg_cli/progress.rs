//! What somebody at a terminal sees of a slow server.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::World;
use super::web::{Manners, Server};

/// A terminal: what is written to one end can be read at the other.
pub(crate) struct Terminal {
    pub screen: File,
    pub keyboard: File,
}

impl Terminal {
    pub fn new() -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there are terminals");
        grantpt(&screen).and_then(|()| unlockpt(&screen)).expect("it is ours");
        let name = ptsname(&screen, Vec::new()).expect("it has a name").into_string().expect("of letters");
        let keyboard = OpenOptions::new().read(true).write(true).open(name).expect("it can be opened");
        Self { screen: screen.into(), keyboard }
    }
}

/// Digits that no program makes much smaller: their pack is sent in several parts.
fn noise() -> String {
    let next = |number: &u64| Some(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let numbers = std::iter::successors(Some(7_u64), next);
    numbers.map(|number| format!("{:08x}\n", number >> 32)).take(40_000).collect()
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a program gets a terminal")]
fn a_slow_server_is_seen_on_a_terminal_and_the_line_goes_away() {
    let world = World::with_web();
    world.publish("v3", &[("web/noise.txt", &noise())]);
    let (go_on, signal) = mpsc::channel();
    // The bound is for a test that fails.
    let server = Server::start(world.path(""), Manners::Waits { signal, at_most: Duration::from_mins(1) });
    let Terminal { mut screen, keyboard } = Terminal::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .args(["pkg", "get", &server.address("web@v3")])
        .current_dir(world.path("desk"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(keyboard)
        .spawn()
        .expect("it starts");
    let mut seen = String::new();
    let mut go_on = Some(go_on);
    let mut buffer = [0; 1024];
    // The last one who has the other end is gone then.
    while let Ok(got @ 1..) = screen.read(&mut buffer) {
        seen += &String::from_utf8_lossy(&buffer[..got]);
        if seen.contains(" … 1 s") {
            // The server waits until the progress was seen.
            if let Some(go_on) = go_on.take() {
                go_on.send(()).expect("it waits");
            }
        }
    }
    assert_eq!(child.wait().expect("it is our child").code(), Some(0), "{seen:?}");
    assert!(world.path("desk/web/Kptfile").is_file());
    let repo = format!("http://{}/remote", server.address);
    let line = format!("\r\x1b[Kreceiving 7 objects from {repo}: ");
    let shown = seen.split_once(&line).map(|(_, behind)| behind);
    assert!(shown.is_some_and(|shown| shown.contains("KiB … 1 s\r")), "{seen:?}");
    let (_, behind) = seen.split_at(seen.rfind(" s").expect("it was seen") + 2);
    assert_eq!(
        behind, "\r\x1b[KAdding package \"web\".\r\n\r\nFetched 1 package(s).\r\n",
        "the line goes away: {seen:?}"
    );
}

#[test]
fn nothing_is_shown_where_there_is_no_terminal() {
    let world = World::with_web();
    let (_nobody_speaks, signal) = mpsc::channel();
    // Longer than the patience of a terminal.
    let at_most = Duration::from_millis(1_500);
    let server = Server::start(world.path(""), Manners::Waits { signal, at_most });
    let seen = world.lanai(&["get", &server.address("web@v1")]);
    let told = format!(
        "Package \"web\":\nFetching http://{}/remote@v1\nAdding package \"web\".\n\nFetched 1 package(s).\n",
        server.address
    );
    assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), told.as_str()));
}
