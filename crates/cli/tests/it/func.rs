//! `lanai fn`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use lanai_cli::{Audience, Colour, Exit, Io, Stop, run};

const SCRIPT: &str =
    "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: s\nsource: |\n  x = 1\n";

/// What a command says whose launcher is not there.
fn without_launcher(folder: &Path, line: &str) -> (Exit, String) {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut io = Io {
        stdin: &mut io::empty(),
        stdout: &mut stdout,
        stderr: &mut stderr,
        colour: Colour::Plain,
        folder: folder.into(),
        environment: BTreeMap::new(),
        audience: Audience::Record,
        program: Some("/no/such/launcher".into()),
        stop: Stop::default(),
    };
    let exit = run(line.split(' ').map(OsString::from), &mut io);
    (exit, String::from_utf8(stderr).expect("it is text"))
}

#[test]
fn scripts_of_packages_are_caged_under_every_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("web")).unwrap();
    fs::write(folder.path().join("web/a.yaml"), "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n").unwrap();
    fs::write(folder.path().join("script.yaml"), SCRIPT).unwrap();
    for name in ["lanai", "kpt"] {
        let line = format!("{name} fn eval web -i starlark --fn-config script.yaml");
        let (exit, said) = without_launcher(folder.path(), &line);
        assert_eq!(exit, Exit::Failure, "{name}: {said}");
        assert!(said.contains("cannot start \"/no/such/launcher\""), "{name}: {said}");
        let line = format!("{name} fn eval web -i no-op");
        let (exit, said) = without_launcher(folder.path(), &line);
        assert_eq!(exit, Exit::Success, "{name}: {said}");
    }
}
