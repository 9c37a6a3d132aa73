//! The commands in this process, with a world of the test's own. `crates/lanai` runs the real binary.

mod func;
mod store;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};

use lanai_cli::{Audience, Colour, Exit, Io, Stop, run};

/// A standard output that refuses everything.
struct Refusing(ErrorKind);

impl Write for Refusing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn arguments(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

#[test]
fn relative_names_begin_in_the_folder_that_was_given() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("f.yaml"), "a: 1\n").unwrap();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut io = Io {
        stdin: &mut io::empty(),
        stdout: &mut stdout,
        stderr: &mut stderr,
        colour: Colour::Ansi,
        folder: folder.path().into(),
        environment: BTreeMap::new(),
        audience: Audience::Record,
        program: None,
        stop: Stop::default(),
    };
    let exit = run(arguments("lanai yaml set f.yaml a 2 --diff"), &mut io);
    let diff = "\u{1b}[1m--- f.yaml\u{1b}[0m\n\u{1b}[1m+++ f.yaml\u{1b}[0m\n\u{1b}[36m@@ -1 +1 @@\u{1b}[0m\n\
                \u{1b}[31m-a: 1\u{1b}[0m\n\u{1b}[32m+a: 2\u{1b}[0m\n";
    assert_eq!((exit, String::from_utf8(stdout).unwrap()), (Exit::Success, diff.into()));
    assert_eq!(String::from_utf8(stderr).unwrap(), "");
    assert_eq!(std::fs::read_to_string(folder.path().join("f.yaml")).unwrap(), "a: 2\n");
}

#[test]
fn output_that_cannot_be_written_is_an_error_unless_nobody_reads() {
    let check = |kind: ErrorKind, line: &str, expected: Exit, told: &str| {
        let mut stderr = Vec::new();
        let mut io = Io {
            stdin: &mut "a: 1\n".as_bytes(),
            stdout: &mut Refusing(kind),
            stderr: &mut stderr,
            colour: Colour::Plain,
            folder: "".into(),
            environment: BTreeMap::new(),
            audience: Audience::Record,
            program: None,
            stop: Stop::default(),
        };
        assert_eq!(run(arguments(line), &mut io), expected, "{line}");
        assert_eq!(String::from_utf8(stderr).unwrap(), told, "{line}");
    };
    for line in ["lanai yaml get - a", "lanai yaml set - a 2", "lanai yaml fmt -", "lanai --help"] {
        check(ErrorKind::BrokenPipe, line, Exit::Success, "");
        let told = "error: cannot write to standard output: no storage space\nmore: lanai explain LNA1003\n";
        check(ErrorKind::StorageFull, line, Exit::Failure, told);
    }
}
