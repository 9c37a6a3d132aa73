//! What functions may do, by grant.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{CONFIG, Desk};

/// A program; the folders on the way are open to all.
fn program(desk: &Desk, path: &str, text: &[u8]) {
    desk.write(path, "");
    fs::write(desk.path(path), text).expect("it is ours");
    fs::set_permissions(desk.path(path), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A function that is a script, with an interpreter in a home folder.
fn with_interpreter() -> Desk {
    let desk = Desk::new();
    let shell = fs::read("/bin/sh").expect("there is a shell");
    program(&desk, "home/tools/bin/interpreter", &shell);
    let first = desk.path("home/tools/bin/interpreter").display().to_string();
    program(&desk, "functions/mine", format!("#!{first}\ncat\n").as_bytes());
    desk
}

#[test]
fn an_interpreter_in_a_home_folder_runs_by_grant_only() {
    let desk = with_interpreter();
    let seen = desk.lanai(&["fn", "eval", "web", "--exec", "functions/mine"]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    let folder = desk.path("home/tools/bin").display().to_string();
    assert!(seen.stderr.contains("which a function does not see unless that is granted"), "{}", seen.stderr);
    assert!(seen.stderr.contains(&format!("`--mount src={folder}`")), "{}", seen.stderr);
    let seen = desk.lanai(&["fn", "eval", "web", "--exec", "functions/mine", "--mount", "src=home/tools"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    desk.write(
        "web/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n    - exec: functions/mine\n",
    );
    let mount = format!("type=bind,src={folder},dst={folder}");
    let seen = desk.lanai(&["fn", "render", "web", "--allow-exec", "--mount", &mount]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(desk.read("web/settings.yaml"), CONFIG);
}

#[test]
fn programs_and_mounts_may_be_named_by_way_of_a_parent_folder() {
    let desk = Desk::new();
    program(&desk, "functions/mine", b"#!/bin/sh\ncat\ncat $1/given /data/given >&2\n");
    desk.write("data/given", "words\n");
    let data = desk.path("data").canonicalize().expect("it is there");
    let exec = format!("web/../functions/mine {}", data.display());
    let mounts = ["--mount", "src=web/../data", "--mount", "src=web/../web/../data,dst=/data"];
    let seen = desk.lanai(&[&["fn", "eval", "web", "--exec", &exec], &mounts[..]].concat());
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains("words\n    words\n"), "{}", seen.stderr);
}

#[test]
fn a_folder_is_read_only_unless_granted_otherwise() {
    let desk = Desk::new();
    desk.write("data/given", "words\n");
    fs::set_permissions(desk.path("data"), fs::Permissions::from_mode(0o777)).expect("it is ours");
    program(
        &desk,
        "functions/mine",
        b"#!/bin/sh\ncat\ncat /data/given >&2\necho new > /data/made || exit 3\n",
    );
    let eval = |mount: &str| desk.lanai(&["fn", "eval", "web", "--exec", "functions/mine", "--mount", mount]);
    let seen = eval("src=data,dst=/data");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("words") && seen.stderr.contains("Exit code: 3"), "{}", seen.stderr);
    assert!(!desk.path("data/made").exists());
    let seen = eval("src=data,dst=/data,rw=true");
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(desk.read("data/made"), "new\n");
}

#[test]
fn variables_are_granted_by_name() {
    let desk = Desk::new();
    program(&desk, "functions/mine", b"#!/bin/sh\ncat\necho \"$ONE-$TWO-$CARGO_PKG_NAME\" >&2\n");
    let seen = desk.lanai(&["fn", "eval", "web", "--exec", "functions/mine", "-e", "ONE=1", "--env=TWO=2"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains("1-2-\n"), "{}", seen.stderr);
}

#[test]
fn a_chart_of_this_machine_is_found_by_grant() {
    let desk = Desk::new();
    let made = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made\n";
    desk.write("charts/shop/Chart.yaml", "name: shop\n");
    program(
        &desk,
        "bin/helm",
        format!(
            "#!/bin/sh\nfor last; do :; done\ntest -f \"$last/Chart.yaml\" && printf '{}'\n",
            made.replace('\n', "\\n")
        )
        .as_bytes(),
    );
    desk.write(
        "chart.yaml",
        "apiVersion: fn.kpt.dev/v1alpha1\nkind: RenderHelmChart\nmetadata:\n  name: c\nhelmCharts:\n- chartArgs:\n    name: shop\nhelmGlobals:\n  chartHome: /tmp/charts\n",
    );
    let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
    let lanai = env!("CARGO_BIN_EXE_lanai");
    let line = format!("PATH='{path}' exec {lanai} fn eval web -i render-helm-chart --fn-config chart.yaml");
    let refused = desk.run("/bin/sh".as_ref(), &["-c", &line], "");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("`--allow-program helm`"), "{}", refused.stderr);
    let granted = format!("{line} --allow-program helm --mount type=bind,src=charts,dst=/tmp/charts");
    let seen = desk.run("/bin/sh".as_ref(), &["-c", &granted], "");
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(desk.read("web/configmap_made.yaml"), made);
}

#[test]
fn grants_that_make_no_sense_are_refused() {
    let desk = Desk::new();
    for (mount, text) in [
        ("data", "\"data\" is none of type=bind, src=PATH"),
        ("src=none", "there is no such file"),
        ("src=web,dst=here", "dst is where functions see it, from the root"),
        ("type=volume,src=web", "the type is bind"),
        ("src=web,dst=/", "an absolute path is expected"),
    ] {
        let seen = desk.lanai(&["fn", "eval", "web", "--exec", "cat", "--mount", mount]);
        assert_eq!(seen.code, Some(1), "{mount}");
        assert!(seen.stderr.contains(text), "{mount}: {}", seen.stderr);
    }
}

#[test]
fn scripts_get_the_variables_that_are_granted_and_no_others() {
    let desk = Desk::new();
    let script = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: s\nsource: |\n  print(sorted(ctx.environment.items()))\n";
    desk.write("script.yaml", script);
    let eval = ["fn", "eval", "web", "-i", "starlark", "--fn-config", "script.yaml"];
    let seen = desk.lanai(&eval);
    assert!(seen.stderr.contains("[]"), "{}", seen.stderr);
    let seen = desk.lanai(&[&eval[..], &["-e", "TEAM=x", "--env", "REGION=eu"]].concat());
    assert!(seen.stderr.contains("[(\"REGION\", \"eu\"), (\"TEAM\", \"x\")]"), "{}", seen.stderr);
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n{}",
        script.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>().concat()
    );
    let seen = desk.with_input(&["fn", "run", "starlark", "-e", "TEAM=x"], &list);
    assert!(seen.stderr.contains("[(\"TEAM\", \"x\")]"), "{}", seen.stderr);
}

#[test]
fn under_the_name_kpt_programs_are_granted_nothing() {
    let desk = Desk::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lanai"), desk.path("kpt")).expect("links can be made");
    for flags in [&["--env", "A=b"][..], &["--mount", "src=."], &["--network"], &["--as-current-user"]] {
        let line = [&["fn", "eval", "web", "--exec", "cat"][..], flags].concat();
        let seen = desk.run(&desk.path("kpt"), &line, "");
        assert_eq!(seen.code, Some(1), "{flags:?}: {}", seen.stderr);
        assert!(seen.stderr.contains("can only be used with container functions"), "{}", seen.stderr);
        let seen = desk.lanai(&line);
        assert_eq!(seen.code, Some(0), "{flags:?}: {}", seen.stderr);
    }
}
