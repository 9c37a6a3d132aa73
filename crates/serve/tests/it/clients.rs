//! client-go and the official client for Python: the programs in `tests/clients`.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::world::{World, command};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients").join(name)
}

/// Where what was built is kept from run to run.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[track_caller]
fn held(output: &Output, suites: &[&str]) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (told, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{told}{complained}");
    for suite in suites {
        assert!(told.contains(&format!("{suite} held\n")), "{suite}: {told}{complained}");
    }
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    command(Path::new(program)).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn client_go() {
    const NAME: &str = "serve::clients::client_go";
    if !runs("go", &["version"]) {
        lanai_testkit::skip(NAME, "Go is not installed");
        return;
    }
    let program = kept("client-go");
    let built = command(Path::new("go"))
        .current_dir(folder("go"))
        .args(["build", "-trimpath", "-o"])
        .arg(&program)
        .arg(".")
        .output()
        .unwrap();
    if !built.status.success() {
        let why = String::from_utf8_lossy(&built.stderr).into_owned();
        // Modules that cannot be fetched are no fault of ours; a program that does not compile is.
        assert!(!why.contains("./main.go"), "{why}");
        lanai_testkit::skip(
            NAME,
            &format!("its modules cannot be had: {}", why.lines().last().unwrap_or_default()),
        );
        return;
    }
    let world = World::new();
    let output = command(&program).env("KUBECONFIG", world.kubeconfig()).output().unwrap();
    held(&output, &["typed", "informers", "dynamic", "election"]);
}

#[test]
fn python() {
    const NAME: &str = "serve::clients::python";
    let (environment, wanted) = (kept("python-client"), folder("python").join("requirements.txt"));
    let interpreter = environment.join("bin/python");
    let has = |interpreter: &Path| {
        let check = "import kubernetes, pathlib, sys; sys.exit(f'kubernetes=={kubernetes.__version__}' not in pathlib.Path(sys.argv[1]).read_text())";
        command(interpreter)
            .args(["-c", check])
            .arg(&wanted)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    if !has(&interpreter) {
        let made = command(Path::new("python3")).args(["-m", "venv", "--clear"]).arg(&environment).output();
        let installed =
            command(&interpreter).args(["-m", "pip", "install", "--quiet", "-r"]).arg(&wanted).output();
        if !made.is_ok_and(|made| made.status.success())
            || !installed.is_ok_and(|done| done.status.success())
            || !has(&interpreter)
        {
            lanai_testkit::skip(NAME, "its client cannot be installed with python3 -m venv and pip");
            return;
        }
    }
    let world = World::new();
    let output = command(&interpreter)
        .arg(folder("python").join("main.py"))
        .env("KUBECONFIG", world.kubeconfig())
        .output()
        .unwrap();
    held(&output, &["lists", "watches", "patches"]);
}
