//! Running to the end.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use lanai_process::{Command, Error, Finished, Limits, Status};
use lanai_types::ByteSize;

use crate::script;

fn run(command: &Command, input: &[u8], limits: &Limits) -> Result<Finished, Error> {
    command.run(input, limits, |_| ())
}

fn done(command: &Command) -> Finished {
    run(command, b"", &Limits::DEFAULT).expect("the program runs")
}

#[test]
fn input_goes_in_and_output_comes_out() {
    let large = vec![b'x'; 3 << 20];
    let finished = run(&script("cat; echo trouble >&2; exit 3"), &large, &Limits::DEFAULT).unwrap();
    assert_eq!(finished.status, Status::Exited(3));
    assert!(finished.output == large, "more than a pipe holds comes back whole");
    assert_eq!(finished.messages, "trouble\n");
}

#[test]
fn a_program_may_leave_its_input_unread() {
    let finished = run(&script("exit 0"), &vec![b'x'; 1 << 20], &Limits::DEFAULT).unwrap();
    assert!(finished.status.is_success());
}

#[test]
fn the_environment_is_what_was_given_and_nothing_else() {
    let env = Command::new("/usr/bin/env").variable("B", "2").variable("A", "0").variable("A", "1");
    assert_eq!(String::from_utf8(done(&env).output).unwrap(), "A=1\nB=2\n");
}

#[test]
fn arguments_never_reach_a_shell() {
    let echo = Command::new("printf").variable("PATH", "/usr/bin:/bin");
    assert_eq!(done(&echo.argument("%s").argument("$(id) ; `id`")).output, b"$(id) ; `id`");
    let line = Command::shell("printf '%s|'").variable("PATH", "/usr/bin:/bin");
    assert_eq!(done(&line.argument("a b").argument("$(id)")).output, b"a b|$(id)|");
}

#[test]
fn a_program_runs_in_the_folder_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("here"), "yes").unwrap();
    assert_eq!(done(&script("cat here").folder(folder.path())).output, b"yes");
}

#[test]
fn what_cannot_start_is_named() {
    let check = |command: Command, text: &str| {
        let error = run(&command, b"", &Limits::DEFAULT).unwrap_err();
        assert_eq!(error.to_string(), text);
    };
    check(Command::new("no-such-program"), "cannot start \"no-such-program\": not found");
    check(Command::new("/etc/passwd"), "cannot start \"/etc/passwd\": Permission denied (os error 13)");
    let nowhere = Command::new("/bin/sh").folder("/no/such/folder");
    check(nowhere, "cannot start \"/bin/sh\": No such file or directory (os error 2)");
}

#[test]
fn output_may_reach_its_limit_and_no_more() {
    let limits = Limits { max_output: ByteSize::bytes(5), ..Limits::DEFAULT };
    assert_eq!(run(&script("printf 12345"), b"", &limits).unwrap().output, b"12345");
    let error = run(&script("printf 123456"), b"", &limits).unwrap_err();
    assert_eq!(error.to_string(), "\"sh\" was stopped: it wrote more than the 5 B that are allowed");
}

#[test]
fn messages_are_cut_at_their_limit() {
    let limits = Limits { max_messages: ByteSize::bytes(5), ..Limits::DEFAULT };
    let talk = "yes | head -c 300000 >&2; echo done";
    let finished = run(&script(talk), b"", &limits).unwrap();
    assert_eq!((finished.messages.as_str(), finished.output.as_slice()), ("y\ny\ny", b"done\n".as_slice()));
    assert_eq!(run(&script("printf 12345 >&2"), b"", &limits).unwrap().messages, "12345");
}

/// The time itself is not measured: the program would never end. What it started holds a pipe open, which can be read to
/// its end only after that is dead, too.
#[test]
fn a_program_that_runs_too_long_dies_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    done(&script("mkfifo held").folder(folder.path()));
    let held = folder.path().join("held");
    let reader = thread::spawn(move || fs::read(held));

    let limits = Limits { max_time: Duration::from_millis(300), ..Limits::DEFAULT };
    let endless = script("sh -c 'echo started; exec sleep 1000' > held & wait").folder(folder.path());
    let error = run(&endless, b"", &limits).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"sh\" was stopped: it ran for more than the 0.3 seconds that are allowed"
    );
    assert_eq!(reader.join().unwrap().unwrap(), b"started\n");
}

#[test]
fn a_program_can_be_killed_from_outside() {
    let finished = script("sleep 1000").run(b"", &Limits::DEFAULT, |killer| killer.kill()).unwrap();
    assert_eq!(finished.status, Status::Killed(9));
}

/// A helper that leaves a daemon behind, as git's own credential cache does, is not waited for, and the daemon stays.
#[test]
fn what_stays_in_the_background_does_not_hold_us_up() {
    let finished = done(&script("sleep 1000 & echo $!"));
    let daemon = String::from_utf8(finished.output).unwrap();
    assert!(!is_dead(daemon.trim()));
    done(&script(&format!("kill {daemon}")));
}

/// Gone, or a zombie whose new parent has not looked yet.
fn is_dead(pid: &str) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    status.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
}
