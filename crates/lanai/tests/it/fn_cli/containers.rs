//! Functions in containers, as somebody types it.

use std::process::Command;

use lanai_testkit::podman::{CAT_IMAGE, Podman, SHELL_IMAGE};

use super::{Desk, KPTFILE};

/// The exit code and what was said on standard error output.
#[allow(clippy::disallowed_methods, reason = "tests may start the program that they test")]
fn lanai(desk: &Desk, podman: &Podman, runtime: Option<&str>, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .args(arguments)
        .current_dir(desk.path(""))
        .env_clear()
        .envs(podman.environment())
        .envs(runtime.map(|runtime| ("KRM_FN_RUNTIME", runtime)))
        .output()
        .expect("it can be started");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn images_that_do_not_come_with_the_program_run_in_containers() {
    let Some(podman) = Podman::new("fn_cli::images_that_do_not_come_with_the_program_run_in_containers")
    else {
        return;
    };
    let desk = Desk::new();
    desk.write("web/Kptfile", &KPTFILE.replace("set-labels:v0.2", CAT_IMAGE));
    let settings = desk.read("web/settings.yaml");
    for arguments in [&["fn", "render", "web"][..], &["fn", "eval", "web", "-i", CAT_IMAGE]] {
        for runtime in [None, Some("podman"), Some("auto")] {
            let (code, said) = lanai(&desk, &podman, runtime, arguments);
            assert_eq!(code, Some(0), "{arguments:?} {runtime:?}: {said}");
            assert!(said.contains("[PASS]"), "{said}");
        }
    }
    assert_eq!(desk.read("web/settings.yaml"), settings);
    let (code, said) = lanai(&desk, &podman, Some("none"), &["fn", "render", "web"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it is not one that comes with lanai"), "{said}");
    let (code, said) = lanai(&desk, &podman, Some("crio"), &["fn", "render", "web"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("unsupported runtime: \"crio\""), "{said}");

    let eval = ["fn", "eval", "web", "-i", SHELL_IMAGE, "--env", "SCRIPT=echo because >&2; exit 3"];
    let (code, said) = lanai(&desk, &podman, None, &eval);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("because") && said.contains("[FAIL]"), "{said}");
    let eval = ["fn", "eval", "web", "-i", "localhost/none:v1", "--image-pull-policy", "never"];
    let (code, said) = lanai(&desk, &podman, None, &eval);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it is not on this machine, and images are not fetched here"), "{said}");
    let left = podman.left();
    assert!(left.is_empty(), "{left:?}");
}
