//! Fields of which a resource can have one: the result never has two.

use lanai_merge::{Error, Options, Policy, Resolution, Take, three_way};

use crate::support::{check, lines, one, package, policy, text};

/// A pod with these lines below its container.
fn pod(container: &str) -> String {
    let body = indented(container, 4);
    format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n{body}")
}

fn http(path: &str, delay: u8) -> String {
    pod(&format!(
        "livenessProbe:\n  httpGet:\n    path: {path}\n    port: 80\n  initialDelaySeconds: {delay}"
    ))
}

fn tcp(port: u8, delay: u8) -> String {
    pod(&format!("livenessProbe:\n  tcpSocket:\n    port: {port}\n  initialDelaySeconds: {delay}"))
}

const PROBE: &str = "spec.containers[name=c].livenessProbe";

#[test]
fn a_probe_asks_in_one_way() {
    let conflict = format!("BothChanged {PROBE} upstream");
    // Upstream asks another way, and the old way was changed here.
    check(&[http("/", 1), tcp(8, 1), http("/healthz", 2)], &tcp(8, 2), &[&conflict]);
    // The other way round.
    check(&[http("/", 1), http("/healthz", 2), tcp(8, 1)], &http("/healthz", 2), &[&conflict]);
    // Both ask other ways.
    let exec = pod("livenessProbe:\n  exec:\n    command:\n    - \"true\"\n  initialDelaySeconds: 1");
    check(&[http("/", 1), exec.clone(), tcp(8, 1)], &exec, &[&conflict]);
    // Nothing is in the way of a side that left the choice alone.
    check(&[http("/", 1), tcp(8, 1), http("/", 2)], &tcp(8, 2), &[]);
    check(&[http("/", 1), http("/", 2), tcp(8, 1)], &tcp(8, 2), &[]);
    // The same choice merges by fields.
    let more = http("/healthz", 1).replace("port: 80", "port: 81");
    check(&[http("/", 1), http("/healthz", 1), http("/", 1).replace("80", "81")], &more, &[]);
}

#[test]
fn the_local_choice_wins_where_it_is_to() {
    let merged = one("a.yaml", [&http("/", 1), &tcp(8, 5), &http("/healthz", 1)], &policy(Policy::LocalWins));
    assert_eq!(text(&merged.package, "a.yaml"), http("/healthz", 5));
    assert_eq!(lines(&merged.conflicts), [format!("BothChanged {PROBE} local")]);
    let conflict = &merged.conflicts[0];
    let shown = [&conflict.original, &conflict.upstream, &conflict.local].map(|text| text.clone().unwrap());
    let of = |path: &str| format!("httpGet:\n  path: {path}\n  port: 80");
    assert_eq!(shown, [of("/"), "tcpSocket:\n  port: 8".into(), of("/healthz")]);
}

#[test]
fn resolutions_decide_and_can_be_applied_again() {
    let sides = [http("/", 1), tcp(8, 1), http("/healthz", 2)];
    let [original, upstream, local] = [0, 1, 2].map(|at| package(&[("a.yaml", sides[at].as_str())]));
    let merged = three_way(&original, &upstream, &local, &Options::default()).unwrap();
    let id = merged.conflicts[0].id.clone();
    let with = |take: Take| Options {
        resolutions: vec![Resolution { conflict: id.clone(), take }],
        ..Options::default()
    };
    let grpc = pod("livenessProbe:\n  grpc:\n    port: 9\n  initialDelaySeconds: 2");
    for (take, expected) in [
        (Take::Upstream, tcp(8, 2)),
        (Take::Local, http("/healthz", 2)),
        (Take::Original, http("/", 2)),
        (Take::Value("grpc:\n  port: 9\n".into()), grpc),
    ] {
        let options = with(take);
        let once = three_way(&original, &upstream, &local, &options).unwrap().package;
        assert_eq!(text(&once, "a.yaml"), expected);
        let twice = three_way(&original, &upstream, &once, &options).unwrap().package;
        assert_eq!(text(&twice, "a.yaml"), expected);
    }
    for value in ["3", "other: 1", "grpc: {port: 9}\nother: 1", "{}"] {
        let refused = three_way(&original, &upstream, &local, &with(Take::Value(value.into())));
        assert!(matches!(refused, Err(Error::Unfit { .. })), "{value}");
    }
}

/// Both sides choose other members; the result has upstream's alone, and there is one conflict.
#[track_caller]
fn check_union(wrap: impl Fn(&str) -> String, members: [&str; 3], field: &str) {
    let [original, upstream, local] = members.map(&wrap);
    let conflict = format!("BothChanged {field} upstream");
    check(&[original, upstream.clone(), local], &upstream, &[&conflict]);
}

#[test]
fn other_fields_that_exclude_each_other() {
    let env = |member: &str| pod(&format!("env:\n- name: E\n{}", indented(member, 2)));
    let field = "spec.containers[name=c].env[name=E]";
    let from = "valueFrom:\n  fieldRef:\n    fieldPath: metadata.name";
    check_union(env, ["value: a", from, "value: b"], field);
    check_union(
        env,
        [
            from,
            "valueFrom:\n  secretKeyRef:\n    name: s\n    key: k",
            "valueFrom:\n  fieldRef:\n    fieldPath: x",
        ],
        &format!("{field}.valueFrom"),
    );
    let hook = |member: &str| pod(&format!("lifecycle:\n  preStop:\n{}", indented(member, 4)));
    check_union(
        hook,
        ["exec:\n  command:\n  - a", "sleep:\n  seconds: 3", "exec:\n  command:\n  - b"],
        "spec.containers[name=c].lifecycle.preStop",
    );
    let ingress = |member: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\nspec:\n  defaultBackend:\n{}",
            indented(member, 4)
        )
    };
    check_union(
        ingress,
        ["service:\n  name: a", "resource:\n  kind: A\n  name: a", "service:\n  name: b"],
        "spec.defaultBackend",
    );
    let disk = |member: &str| {
        format!(
            "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: a\nspec:\n  storageClassName: s\n{}",
            indented(member, 2)
        )
    };
    check_union(
        disk,
        ["hostPath:\n  path: /a", "nfs:\n  path: /a\n  server: s", "hostPath:\n  path: /b"],
        "spec",
    );
    let set = |member: &str| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: a\nspec:\n  updateStrategy:\n{}",
            indented(member, 4)
        )
    };
    check_union(
        set,
        [
            "type: RollingUpdate\nrollingUpdate:\n  partition: 1",
            "type: OnDelete",
            "type: RollingUpdate\nrollingUpdate:\n  partition: 2",
        ],
        "spec.updateStrategy",
    );
    check_union(
        |member| pod(&format!("securityContext:\n  seccompProfile:\n{}", indented(member, 4))),
        [
            "type: Localhost\nlocalhostProfile: a",
            "type: RuntimeDefault",
            "type: Localhost\nlocalhostProfile: b",
        ],
        "spec.containers[name=c].securityContext.seccompProfile",
    );
    let volume = |member: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  volumes:\n  - name: v\n{}",
            indented(member, 4)
        )
    };
    check_union(
        volume,
        ["emptyDir: {}", "configMap:\n  name: a", "emptyDir:\n  medium: Memory"],
        "spec.volumes[name=v]",
    );
}

fn indented(text: &str, by: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("{:by$}{line}\n", "")).collect();
    lines.concat()
}

#[test]
fn where_a_choice_was_added_on_both_sides_there_is_one() {
    let with = |probe: &str| pod(&format!("image: a\n{probe}"));
    let (one, other) =
        ("livenessProbe:\n  grpc:\n    port: 1", "livenessProbe:\n  exec:\n    command:\n    - a");
    check(&[with(""), with(one), with(other)], &with(one), &[&format!("BothChanged {PROBE} upstream")]);
}
