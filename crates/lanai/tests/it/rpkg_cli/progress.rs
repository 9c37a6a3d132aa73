//! What is seen of work that takes long, and what Ctrl-C leaves behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use super::world::World;
use crate::pkg_cli::progress::Terminal;

/// A server that answers a request by its first line, or never.
fn server(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = format!("http://{}", listener.local_addr().expect("it has one"));
    std::thread::spawn(move || {
        let mut silent: Vec<TcpStream> = Vec::new();
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            match answer(&request(&stream)) {
                Some(body) => {
                    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length";
                    let _ = write!(stream, "{head}: {}\r\n\r\n{body}", body.len());
                }
                None => silent.push(stream),
            }
        }
    });
    address
}

/// The first line of a request; the rest is read, too.
fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    let _ = reader.read_line(&mut first);
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let _ = reader.read_exact(&mut vec![0; length]);
    first
}

fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
}

/// Starts a command, waits for a line of its notes, ends it as Ctrl-C does, and gives its notes and its code.
fn interrupted(world: &World, arguments: &[&str], line: &str) -> (String, Option<i32>) {
    let mut child =
        world.command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut notes = BufReader::new(child.stderr.take().expect("it is a pipe"));
    let mut said = String::new();
    while !said.ends_with(&format!("{line}\n")) {
        assert!(notes.read_line(&mut said).expect("it says something") > 0, "{said}");
    }
    interrupt(&child);
    notes.read_to_string(&mut said).expect("it is text");
    (said, child.wait().expect("it ends").code())
}

#[test]
fn somebody_at_a_terminal_sees_what_is_waited_for() {
    let world = World::shared();
    let server = server(|_| None);
    let Terminal { mut screen, keyboard } = Terminal::new();
    let mut command = world.command(&["rpkg", "get", "--server", &server]);
    let mut child = command.stdin(Stdio::null()).stderr(keyboard).spawn().expect("it starts");
    // The end of the terminal that the command has is the only one.
    drop(command);
    let mut seen = String::new();
    let mut buffer = [0; 1024];
    let mut is_ended = false;
    while let Ok(got @ 1..) = screen.read(&mut buffer) {
        seen += &String::from_utf8_lossy(&buffer[..got]);
        if !is_ended && seen.contains(" … 1 s") {
            interrupt(&child);
            is_ended = true;
        }
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{seen:?}");
    assert!(seen.starts_with("\r\u{1b}[Klisting packagerevisions … 1 s"), "{seen:?}");
    assert!(seen.ends_with("\r\u{1b}[K"), "the line goes away: {seen:?}");
}

#[test]
fn it_is_said_how_far_a_command_came() {
    let world = World::shared();
    let proposed = "{\"metadata\": {\"name\": \"a\"}, \"spec\": {\"lifecycle\": \"Proposed\"}}";
    let address = server(move |line| line.contains("/packagerevisions/a ").then(|| proposed.to_owned()));
    let (said, code) =
        interrupted(&world, &["rpkg", "propose", "a", "b", "c", "--server", &address], "reading b");
    assert_eq!(said, "a is already proposed\nreading b\nstopped: 1 of 3 were gone through; left are b, c\n");
    assert_eq!(code, Some(130));

    let address = server(|line| line.starts_with("POST ").then(|| "{\"metadata\": {}}".to_owned()));
    let arguments = ["repo", "reg", "https://example.com/x.git", "--wait", "--server", &address];
    let (said, code) = interrupted(&world, &arguments, "waiting for x");
    assert!(said.ends_with("stopped: x is registered; whether it can be used is not known yet\n"), "{said}");
    assert_eq!(code, Some(130));
}

#[test]
fn what_was_not_done_is_said_at_the_end() {
    let world = World::shared();
    let address = server(|_| None);
    let folder = world.path("never-pulled").display().to_string();
    let pull = ["rpkg", "pull", "a", &folder, "--server", &address];
    let (said, code) = interrupted(&world, &pull, "fetching the files of a");
    assert_eq!(said, "fetching the files of a\nstopped: nothing was written\n");
    assert_eq!(code, Some(130));
}

#[test]
fn an_edit_that_is_left_at_the_question_is_found_again() {
    let world = World::shared();
    world.repository("left");
    world.ok(&["rpkg", "init", "web", "--repository", "left", "--workspace", "v1"]);
    let desks = world.path("left-desks");
    std::fs::create_dir(&desks).expect("it is new");
    let mut command = world.command(&["rpkg", "edit", "left.web.v1", "Kptfile"]);
    command.env("EDITOR", "sed -i s/sample/better/").env("TMPDIR", &desks);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut notes = child.stderr.take().expect("it is a pipe");
    let mut said = Vec::new();
    while !said.ends_with(b"[n]o: ") {
        let mut letter = [0];
        assert_eq!(notes.read(&mut letter).expect("it says something"), 1, "{said:?}");
        said.extend(letter);
    }
    interrupt(&child);
    let mut rest = String::new();
    notes.read_to_string(&mut rest).expect("it is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{rest}");
    let place = rest.split("what was edited is in \"").nth(1).and_then(|rest| rest.split('"').next());
    let place = std::path::PathBuf::from(place.unwrap_or_else(|| panic!("it is named: {rest}")));
    let edited = std::fs::read_to_string(place.join("Kptfile")).expect("it is there");
    assert!(place.starts_with(&desks) && edited.contains("better description"), "{edited}");
}
