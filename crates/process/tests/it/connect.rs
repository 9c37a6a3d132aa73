//! Talking to a program that stays.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::time::Duration;

use lanai_process::{Error, Limits, Status};
use lanai_types::ByteSize;

use crate::script;

#[test]
fn a_conversation_has_turns() {
    let mut connection =
        script("while read line; do echo \"<$line>\"; done; exit 4").connect(&Limits::DEFAULT).unwrap();
    let (mut input, output) = connection.take_ends().unwrap();
    let mut output = BufReader::new(output);
    for word in ["one", "two"] {
        writeln!(input, "{word}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, format!("<{word}>\n"));
    }
    assert!(connection.take_ends().is_none());
    drop(input);
    assert_eq!(connection.finish().unwrap(), Status::Exited(4));
}

#[test]
fn messages_are_kept_beside_and_never_block() {
    let limits = Limits { max_messages: ByteSize::bytes(6), ..Limits::DEFAULT };
    let talk = script("yes | head -c 1000000 >&2; echo out; cat >/dev/null");
    let mut connection = talk.connect(&limits).unwrap();
    let (input, mut output) = connection.take_ends().unwrap();
    let mut four = [0; 4];
    output.read_exact(&mut four).unwrap();
    assert_eq!((&four, connection.messages().as_str()), (b"out\n", "y\ny\ny\n"));
    drop(input);
    assert!(connection.finish().unwrap().is_success());
}

#[test]
fn silence_has_a_limit() {
    let limits = Limits { max_time: Duration::from_millis(100), ..Limits::DEFAULT };
    let mut connection = script("exec sleep 1000").connect(&limits).unwrap();
    let (mut input, mut output) = connection.take_ends().unwrap();
    assert_eq!(output.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
    let full = loop {
        if let Err(cause) = input.write(&[0; 4096]) {
            break cause;
        }
    };
    assert_eq!(full.kind(), ErrorKind::TimedOut);
    assert!(matches!(connection.finish(), Err(Error::TooLong { .. })));
}

#[test]
fn a_kill_ends_a_read_that_waits() {
    let mut connection = script("exec sleep 1000").connect(&Limits::DEFAULT).unwrap();
    let (_input, mut output) = connection.take_ends().unwrap();
    let killer = connection.killer();
    let waiting = std::thread::spawn(move || output.read(&mut [0]));
    killer.kill();
    assert_eq!(waiting.join().unwrap().unwrap(), 0);
    assert_eq!(connection.finish().unwrap(), Status::Killed(9));
    killer.kill();
}
