//! `lanai fn source`, `eval -`, `sink`, `run`, `doc` and `list`.

use super::{CONFIG, Desk, KPTFILE};

#[test]
fn a_chain_of_commands_keeps_every_byte() {
    let desk = Desk::new();
    desk.write(
        "web/sub/list.yaml",
        "kind: List\napiVersion: v1\nmetadata: {name: l}\nitems:\n    - 1   # one\n",
    );
    let list = desk.lanai(&["fn", "source", "web"]);
    assert_eq!(list.code, Some(0), "{}", list.stderr);
    let same = desk.with_input(&["fn", "eval", "-", "-i", "no-op"], &list.stdout);
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    let sunk = desk.with_input(&["fn", "sink", "out"], &same.stdout);
    assert_eq!(sunk.code, Some(0), "{}", sunk.stderr);
    for path in ["Kptfile", "settings.yaml", "sub/list.yaml"] {
        assert_eq!(desk.read(&format!("out/{path}")), desk.read(&format!("web/{path}")), "{path}");
    }
    let again = desk.with_input(&["fn", "sink", "out"], &same.stdout);
    assert_eq!(again.code, Some(1));
}

#[test]
fn plain_resources_come_without_annotations() {
    let desk = Desk::new();
    let plain = desk.lanai(&["fn", "source", "web", "-o", "unwrap"]);
    assert_eq!(plain.stdout, format!("{KPTFILE}---\n{CONFIG}"));
    let wrong = desk.lanai(&["fn", "source", "web", "-o", "x"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("invalid input for --output flag \"x\""), "{}", wrong.stderr);
}

#[test]
fn a_function_is_a_program() {
    let desk = Desk::new();
    let list = desk.lanai(&["fn", "source", "web"]);
    let config =
        "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: c}\n  data: {tier: x}\n";
    let seen = desk.with_input(&["fn", "run", "set-labels"], &(list.stdout + config));
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stdout.contains("tier: x"), "{}", seen.stdout);
    let broken = desk.with_input(&["fn", "run", "set-labels"], "kind: Pod\n");
    assert_eq!(broken.code, Some(1));
    let unknown = desk.lanai(&["fn", "run", "nothing"]);
    assert!(unknown.stderr.contains("there is no function \"nothing\"\nhint:"), "{}", unknown.stderr);
}

#[test]
fn functions_are_explained() {
    let desk = Desk::new();
    let list = desk.lanai(&["fn", "list"]);
    assert!(list.stdout.lines().count() >= 19, "{}", list.stdout);
    let doc = desk.lanai(&["fn", "doc", "set-labels"]);
    assert!(doc.stdout.starts_with("## set-labels\n"), "{}", doc.stdout);
    assert!(doc.stdout.contains("```yaml\n"), "{}", doc.stdout);
    assert_eq!(
        desk.lanai(&["fn", "doc", "-i", "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2"]).stdout,
        doc.stdout
    );
}

#[test]
fn files_that_kpt_would_ignore_are_named_by_every_command_that_reads_them() {
    let desk = Desk::new();
    desk.write("web/.krmignore", "sub/x.yaml\n");
    desk.write("web/deep/sub/x.yaml", CONFIG);
    let warning = "[Warn] .krmignore does not ignore \"deep/sub/x.yaml\", but kpt would ignore it\n";
    for command in [&["source", "web"][..], &["eval", "web", "-i", "no-op"], &["render", "web"]] {
        let seen = desk.lanai(&[&["fn"], command].concat());
        assert_eq!((seen.code, seen.stderr.matches(warning).count()), (Some(0), 1), "{command:?}: {seen:?}");
    }
}
