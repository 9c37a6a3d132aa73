//! `lanai fn render`.

use std::path::Path;

use super::{CONFIG, Desk, KPTFILE};

const IMAGE: &str = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2";

#[test]
fn a_pipeline_runs_and_tells() {
    let desk = Desk::new();
    let seen = desk.lanai(&["fn", "render", "web"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(
        seen.stderr,
        format!(
            "Package \"web\":\n[RUNNING] \"{IMAGE}\" on package \"web\"\n[PASS] \"{IMAGE}\" in 0s\n  [Results]:\n    \
             [info]: set 2 labels in total\n\nSuccessfully executed 1 function(s) in 1 package(s).\n"
        )
    );
    let labelled = CONFIG.replace(
        "  name: settings   # by name\n",
        "  name: settings   # by name\n  labels:\n    tier: front\n",
    );
    assert_eq!(desk.read("web/settings.yaml"), labelled);
    let kptfile = desk.read("web/Kptfile");
    assert!(kptfile.contains("kind: Kptfile # the root\n"), "{kptfile}");
    assert!(kptfile.contains("type: Rendered\n"), "{kptfile}");
    assert!(kptfile.contains("reason: RenderSuccess\n"), "{kptfile}");

    let again = desk.lanai(&["fn", "render", "web"]);
    assert_eq!(again.code, Some(0));
    assert_eq!(desk.read("web/settings.yaml"), labelled);
    assert_eq!(desk.read("web/Kptfile"), kptfile, "a second render changes nothing");
}

#[test]
fn the_status_can_be_left_out() {
    let desk = Desk::new();
    assert_eq!(desk.lanai(&["fn", "render", "web", "--no-status"]).code, Some(0));
    assert!(!desk.read("web/Kptfile").contains("status:"));
    assert!(desk.read("web/settings.yaml").contains("tier: front"));
}

#[test]
fn a_diff_shows_and_writes_nothing() {
    let desk = Desk::new();
    let seen = desk.lanai(&["fn", "render", "web", "--diff"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stdout.contains("+  labels:\n+    tier: front\n"), "{}", seen.stdout);
    assert_eq!(desk.read("web/settings.yaml"), CONFIG);
    assert_eq!(desk.read("web/Kptfile"), KPTFILE);
}

#[test]
fn resources_go_elsewhere_on_request() {
    let desk = Desk::new();
    let list = desk.lanai(&["fn", "render", "web", "-o", "stdout"]);
    assert!(
        list.stdout.starts_with("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"),
        "{}",
        list.stdout
    );
    assert!(list.stdout.contains("internal.config.kubernetes.io/path: settings.yaml"), "{}", list.stdout);
    let plain = desk.lanai(&["fn", "render", "web", "-o", "unwrap"]);
    assert!(!plain.stdout.contains("config.kubernetes.io/path"), "{}", plain.stdout);
    assert_eq!(plain.stdout.matches("tier: front").count(), 3, "{}", plain.stdout);
    assert_eq!(desk.lanai(&["fn", "render", "web", "-o", "out/there"]).code, Some(0));
    assert!(desk.read("out/there/settings.yaml").contains("tier: front"));
    let twice = desk.lanai(&["fn", "render", "web", "-o", "out/there"]);
    assert_eq!(twice.code, Some(1));
    assert!(
        twice
            .stderr
            .contains("directory \"out/there\" already exists, please delete the directory and retry")
    );
    assert_eq!(desk.read("web/settings.yaml"), CONFIG);
}

#[test]
fn a_function_that_fails_is_heard() {
    let desk = Desk::new();
    desk.write(
        "web/Kptfile",
        &KPTFILE.replace("set-labels:v0.2", "set-image:v0.1").replace("{tier: front}", "{tag: v1}"),
    );
    let before = desk.read("web/settings.yaml");
    let seen = desk.lanai(&["fn", "render", "web", "--results-dir", "results"]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("[FAIL]"), "{}", seen.stderr);
    assert!(seen.stderr.contains("  Exit code: 1\n"), "{}", seen.stderr);
    assert!(seen.stderr.contains("For complete results, see results/results.yaml\n"), "{}", seen.stderr);
    assert_eq!(desk.read("web/settings.yaml"), before);
    let results = desk.read("results/results.yaml");
    assert!(results.contains("kind: FunctionResultList\n"), "{results}");
    assert!(results.contains("exitCode: 1\n"), "{results}");
    let kptfile = desk.read("web/Kptfile");
    assert!(kptfile.contains("reason: RenderFailed\n"), "{kptfile}");
}

#[test]
fn programs_need_leave() {
    let desk = Desk::new();
    desk.write(
        "web/Kptfile",
        &KPTFILE.replace("image: set-labels:v0.2\n      configMap: {tier: front}", "exec: cat"),
    );
    let seen = desk.lanai(&["fn", "render", "web"]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stderr.contains("must run with `--allow-exec` option to allow running function binaries"),
        "{}",
        seen.stderr
    );
    let seen = desk.lanai(&["fn", "render", "web", "--allow-exec"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert_eq!(desk.read("web/settings.yaml"), CONFIG, "a program that changes nothing changes no byte");
}

#[test]
fn what_cannot_be_opened_says_why() {
    let desk = Desk::new();
    desk.write("none/a.yaml", CONFIG);
    let seen = desk.lanai(&["fn", "render", "none"]);
    assert_eq!(seen.code, Some(1));
    assert!(seen.stderr.contains("No Kptfile found at"), "{}", seen.stderr);
    assert!(
        seen.stderr.contains("hint: \"lanai pkg init\" makes a package of a folder\n"),
        "{}",
        seen.stderr
    );
    desk.write("web/folder/a.yaml", CONFIG);
    let seen = desk.lanai(&["fn", "render", "web/folder"]);
    assert!(seen.stderr.contains("hint: the folder is in the package "), "{}", seen.stderr);
    std::os::unix::fs::symlink("../web/Kptfile", desk.path("none/Kptfile")).expect("links can be made");
    let seen = desk.lanai(&["fn", "render", "none"]);
    assert!(seen.stderr.contains("hint: the Kptfile there is a symbolic link"), "{}", seen.stderr);
    desk.write("web/broken.yaml", "a: 1\nb: [\n");
    let seen = desk.lanai(&["fn", "render", "web"]);
    assert!(seen.stderr.contains("file \"broken.yaml\": line 3"), "{}", seen.stderr);
    std::fs::remove_file(desk.path("web/broken.yaml")).expect("it is there");
    desk.write("web/Kptfile", &KPTFILE.replace("pipeline:", "pipelin:"));
    let seen = desk.lanai(&["fn", "render", "web"]);
    assert!(seen.stderr.contains("line 5: field pipelin not found"), "{}", seen.stderr);
    desk.write("web/Kptfile", &KPTFILE.replace("set-labels:v0.2", "nowhere/else:v9"));
    let seen = desk.lanai(&["fn", "render", "web"]);
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.stderr.contains("Kptfile:7: \"nowhere/else:v9\": it is not one that comes with lanai"),
        "{}",
        seen.stderr
    );
    assert!(seen.stderr.contains("hint: \"lanai fn list\" names"), "{}", seen.stderr);
    assert!(!seen.stderr.contains("[RUNNING]"), "{}", seen.stderr);
}

/// Runs the command again that was told last, and gives it.
fn replayed(desk: &Desk, told: &str) -> (String, crate::fn_cli::Seen) {
    let command = told.lines().last().expect("it says something").trim().to_owned();
    let real = match command.strip_prefix("kpt ") {
        Some(rest) => format!("./kpt {rest}"),
        None => command.replacen("lanai", env!("CARGO_BIN_EXE_lanai"), 1),
    };
    let again = desk.run(Path::new("sh"), &["-c", &format!("export TEAM='red blue'; {real}")], "");
    (command, again)
}

#[test]
fn a_function_that_failed_can_be_run_again_alone() {
    let desk = Desk::new();
    desk.write("web/Kptfile", &KPTFILE.replace("configMap: {tier: front}\n", "configMap: {tier: front}\n    - image: starlark\n      configMap: {source: 'fail(\"no \" + ctx.resource_list[\"items\"][1][\"metadata\"][\"labels\"][\"tier\"])'}\n"));
    let seen = desk.lanai(&["fn", "render", "web"]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("fail: no front"), "{}", seen.stderr);
    let (command, again) = replayed(&desk, &seen.stderr);
    let expected = "lanai fn eval - --image=ghcr.io/kptdev/krm-functions-catalog/starlark:latest < ";
    assert!(command.starts_with(expected), "{command}");
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("fail: no front"), "{}", again.stderr);
}

#[test]
fn programs_and_images_of_others_are_run_again_as_they_were() {
    let desk = Desk::new();
    let failing = |path: &str, function: &str| {
        desk.write(
            path,
            &KPTFILE.replace("image: set-labels:v0.2\n      configMap: {tier: front}", function),
        );
    };
    let script = "#!/bin/sh\ntest -f secret && echo seen >&2\necho \"$TEAM $1\" >&2\nexit 3\n";
    desk.write("function", script);
    desk.write("secret", "");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(desk.path("function"), mode).expect("it is ours");
    failing("web/Kptfile", "exec: ./function 'one two'");
    let seen = desk.lanai(&["fn", "render", "web", "--allow-exec", "--env", "TEAM=red blue"]);
    let (command, again) = replayed(&desk, &seen.stderr);
    let expected = "lanai fn eval - '--exec=./function '\\''one two'\\''' --env=TEAM < ";
    assert!(command.starts_with(expected), "{command}");
    assert!(seen.stderr.contains("alone, with TEAM set in the environment as here:\n"), "{}", seen.stderr);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    assert!(again.stderr.contains("red blue one two") && !again.stderr.contains("seen"), "{}", again.stderr);

    failing("web/Kptfile", "image: nowhere.example/starlark\n      configMap: {source: 'fail(\"no\")'}");
    let seen = desk.lanai(&["fn", "render", "web", "--native=any"]);
    let (command, again) = replayed(&desk, &seen.stderr);
    let expected = "lanai fn eval - --image=nowhere.example/starlark:latest --native=any < ";
    assert!(command.starts_with(expected), "{command}");
    assert!(again.stderr.contains("fail: no"), "{}", again.stderr);

    // Two packages keep two inputs.
    failing("web/inner/Kptfile", "image: starlark\n      configMap: {source: 'fail(\"inner\")'}");
    let inner = desk.lanai(&["fn", "render", "web", "--native=any"]);
    assert!(replayed(&desk, &inner.stderr).1.stderr.contains("fail: inner"), "{}", inner.stderr);
    assert!(replayed(&desk, &seen.stderr).1.stderr.contains("fail: no"), "the first is still there");
}

#[test]
fn values_of_variables_are_not_told() {
    let desk = Desk::new();
    desk.write(
        "web/Kptfile",
        &KPTFILE.replace(
            "image: set-labels:v0.2\n      configMap: {tier: front}",
            "image: starlark\n      configMap: {source: 'fail(\"no\")'}",
        ),
    );
    let render =
        ["fn", "render", "web", "--env=TOKEN=s3cret", "-e", "OTHER=s3cret", "--results-dir", "results"];
    let seen = desk.lanai(&render);
    assert!(seen.stderr.contains("--env=TOKEN --env=OTHER < "), "{}", seen.stderr);
    let results = desk.read("results/results.yaml");
    for text in [&seen.stdout, &seen.stderr, &desk.read("web/Kptfile"), &results] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn under_the_name_kpt_the_command_to_run_it_again_is_that_of_kpt() {
    let desk = Desk::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lanai"), desk.path("kpt")).expect("links can be made");
    let render = |function: &str, more: &[&str]| {
        let function = KPTFILE.replace("image: set-labels:v0.2\n      configMap: {tier: front}", function);
        desk.write("web/Kptfile", &function);
        let arguments = [&["fn", "render", "web", "--allow-exec"], more].concat();
        desk.run(&desk.path("kpt"), &arguments, "")
    };
    desk.write("secret", "");
    desk.write("function", "#!/bin/sh\ngrep -q 'colour: red' && test -f secret && echo seen >&2\nexit 3\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(desk.path("function"), mode).expect("it is ours");

    let seen = render("exec: ./function\n      configMap: {colour: red}", &[]);
    assert!(seen.stderr.contains("seen"), "{}", seen.stderr);
    let (command, again) = replayed(&desk, &seen.stderr);
    assert!(command.starts_with("kpt fn eval - --exec=./function --fn-config="), "{command}");
    assert!(again.stderr.contains("seen") && again.stderr.contains("Exit code: 3"), "{}", again.stderr);

    let seen = render("image: starlark\n      configMap: {source: 'fail(\"no\")'}", &[]);
    let (command, again) = replayed(&desk, &seen.stderr);
    assert!(command.starts_with("kpt fn eval - --image="), "{command}");
    assert!(again.stderr.contains("fail: no"), "{}", again.stderr);

    // There is no command that does the same.
    let seen = render("exec: ./function", &["--env=TEAM=red"]);
    assert!(seen.stderr.contains("Exit code: 3") && !seen.stderr.contains("To run this"), "{}", seen.stderr);
}

#[test]
fn under_the_name_kpt_programs_see_what_their_caller_sees() {
    let desk = Desk::new();
    desk.write(
        "web/Kptfile",
        &KPTFILE.replace("image: set-labels:v0.2\n      configMap: {tier: front}", "exec: ./function"),
    );
    desk.write("function", "#!/bin/sh\ncat\ntest -f secret && echo seen >&2\n");
    desk.write("secret", "");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(desk.path("function"), mode).expect("it is ours");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lanai"), desk.path("kpt")).expect("links can be made");
    let seen = desk.run(&desk.path("kpt"), &["fn", "render", "web", "--allow-exec"], "");
    assert!(seen.stderr.contains("seen"), "{}", seen.stderr);
    let seen = desk.lanai(&["fn", "render", "web", "--allow-exec"]);
    assert!(!seen.stderr.contains("seen"), "{}", seen.stderr);
}

#[test]
fn a_failure_names_the_resource_and_its_file() {
    let desk = Desk::new();
    desk.write(
        "web/Kptfile",
        &KPTFILE
            .replace("mutators:", "validators:")
            .replace("set-labels:v0.2", "kubeconform")
            .replace("{tier: front}", "{strict: 'true'}"),
    );
    desk.write("web/settings.yaml", &CONFIG.replace("\ndata:", "\ndat:"));
    let seen = desk.lanai(&["fn", "render", "web"]);
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    let line = seen.stderr.lines().find(|line| line.contains("[error]")).unwrap_or_default();
    assert!(
        line.contains("v1/ConfigMap/settings") && line.ends_with("(in settings.yaml)"),
        "{}",
        seen.stderr
    );
}

#[test]
fn an_answer_that_cannot_be_accepted_is_explained() {
    let desk = Desk::new();
    let eval = |source: &str| {
        desk.lanai(&["fn", "eval", "web", "-i", "starlark", "--", &format!("source={source}")])
    };
    let add = |metadata: &str| {
        format!(
            "ctx.resource_list[\"items\"].append({{\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {{{metadata}}}}})"
        )
    };
    let key = "internal.config.kubernetes.io/path";
    let place = |path: &str| add(&format!("\"name\": \"n\", \"annotations\": {{\"{key}\": \"{path}\"}}"));
    let image = "function \"ghcr.io/kptdev/krm-functions-catalog/starlark\", item 3 of its answer";
    for (source, text) in [
        (
            place("../n.yaml"),
            format!(
                "{image}, v1 A n, metadata.annotations[\"{key}\"]: function must not modify resources outside of package"
            ),
        ),
        (add(""), format!("{image}: output resource list must contain only KRM resources: ")),
    ] {
        let seen = eval(&source);
        assert_eq!(seen.code, Some(1), "{source}");
        assert!(seen.stderr.contains(&text), "{text}: {}", seen.stderr);
    }
    let seen = desk.lanai(&["fn", "eval", "web", "--exec", "echo 'a: ['"]);
    assert!(
        seen.stderr
            .contains("function \"echo 'a: ['\": what the function wrote is no list of resources: line 2"),
        "{}",
        seen.stderr
    );
}

#[test]
fn what_functions_report_the_second_time_changes_nothing() {
    let desk = Desk::new();
    let function = "  - image: set-namespace:v0.4\n    configMap:\n      namespace: prod\n";
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n{function}"
    );
    desk.write("shop/Kptfile", &kptfile);
    desk.write(
        "shop/a.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\n",
    );
    assert_eq!(desk.lanai(&["fn", "render", "shop"]).code, Some(0));
    let rendered = desk.read("shop/Kptfile");
    assert!(rendered.contains("updated to \"prod\""), "{rendered}");
    assert_eq!(desk.lanai(&["fn", "render", "shop"]).code, Some(0));
    assert_eq!(desk.read("shop/Kptfile"), rendered);

    desk.write("shop/b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  namespace: other\n");
    assert_eq!(desk.lanai(&["fn", "render", "shop"]).code, Some(0));
    assert_ne!(desk.read("shop/Kptfile"), rendered, "a render that changes something tells of itself");
}

#[test]
fn a_validator_may_say_nothing_and_a_mutator_may_not() {
    let desk = Desk::new();
    let package = |stage: &str| {
        desk.write("shop/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n");
        let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\n";
        desk.write("shop/Kptfile", &format!("{head}pipeline:\n  {stage}:\n  - exec: 'true'\n"));
        desk.lanai(&["fn", "render", "shop", "--allow-exec"])
    };
    let seen = package("validators");
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let seen = package("mutators");
    assert_eq!(seen.code, Some(1), "{}", seen.stderr);
    assert!(seen.stderr.contains("the function wrote nothing"), "{}", seen.stderr);
    assert!(desk.read("shop/a.yaml").contains("name: a\n"), "nothing is deleted");
}
