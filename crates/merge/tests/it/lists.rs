//! Lists with keys.

use lanai_merge::{Options, three_way};

use crate::support::{check, check_spec, custom, lines, one, package, text};

fn service(ports: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  ports:\n{ports}")
}

#[track_caller]
fn check_ports(sides: [&str; 3], expected: &str, conflicts: &[&str]) {
    check(&sides.map(service), &service(expected), conflicts);
}

const HTTP: &str = "  - port: 80\n    targetPort: 1\n";

#[test]
fn items_by_key() {
    let changed = "  - port: 80\n    targetPort: 2\n";
    let mine = "  - port: 80\n    targetPort: 1\n    name: http\n";
    check_ports([HTTP, changed, mine], "  - port: 80\n    targetPort: 2\n    name: http\n", &[]);
    // A key changes: the old item goes, a new one comes.
    check_ports(
        [HTTP, "  - port: 8080\n    targetPort: 1\n", HTTP],
        "  - port: 8080\n    targetPort: 1\n",
        &[],
    );
    // Local ones stay in their order, new ones come last.
    let own = "  - port: 1\n  - port: 80\n    targetPort: 1\n";
    let more = "  - port: 7\n  - port: 80\n    targetPort: 1\n";
    check_ports([HTTP, more, own], "  - port: 1\n  - port: 80\n    targetPort: 1\n  - port: 7\n", &[]);
}

#[test]
fn new_items_bring_their_comments() {
    let mine = "  - port: 80\n    targetPort: 5\n";
    let theirs = format!("{HTTP}  # for the probe\n  - port: 81 # plain\n");
    check_ports([HTTP, &theirs, mine], &theirs.replace("targetPort: 1", "targetPort: 5"), &[]);
}

#[test]
fn removed_items() {
    let two = "  - port: 80\n    targetPort: 1\n  - port: 81\n";
    let edited = "  - port: 80\n    targetPort: 3\n  - port: 81\n";
    check_ports([two, "  - port: 81\n", two], "  - port: 81\n", &[]);
    let conflict = "RemovedUpstreamChangedLocally spec.ports[port=80][protocol=TCP] upstream";
    check_ports([two, "  - port: 81\n", edited], "  - port: 81\n", &[conflict]);
    // Removed locally: it stays away, unless upstream changed it; then it comes back whole.
    check_ports([two, &format!("{two}  - port: 9\n"), "  - port: 81\n"], "  - port: 81\n  - port: 9\n", &[]);
    let conflict = "RemovedLocallyChangedUpstream spec.ports[port=80][protocol=TCP] upstream";
    let back = "  - port: 81\n  - port: 80\n    targetPort: 3\n";
    check_ports([two, edited, "  - port: 81\n"], back, &[conflict]);
}

#[test]
fn removed_lists() {
    let bare = "apiVersion: v1\nkind: Service\nmetadata:\n  name: a\nspec:\n  type: x\n";
    let with = |target: u8| format!("{bare}  ports:\n  - port: 80\n    targetPort: {target}\n");
    // Gone here: it stays away while upstream leaves it alone.
    check(&[with(1), with(1).replace(": x", ": y"), bare.into()], &bare.replace(": x", ": y"), &[]);
    let conflict = "RemovedLocallyChangedUpstream spec.ports upstream";
    check(&[with(1), with(2), bare.into()], &with(2), &[conflict]);
    let conflict = "RemovedUpstreamChangedLocally spec.ports upstream";
    check(&[with(1), bare.into(), with(2)], bare, &[conflict]);
}

#[test]
fn a_protocol_that_is_left_out_is_tcp() {
    let named = "  - port: 80\n    targetPort: 1\n    protocol: TCP\n";
    let changed = "  - port: 80\n    targetPort: 2\n";
    check_ports([HTTP, changed, named], "  - port: 80\n    targetPort: 2\n    protocol: TCP\n", &[]);
    let udp = "  - port: 80\n    targetPort: 1\n  - port: 80\n    protocol: UDP\n";
    check_ports([HTTP, udp, HTTP], udp, &[]);
}

#[test]
fn the_order_follows_upstream_where_local_left_it_alone() {
    let two = "  - port: 1\n  - port: 2\n";
    check_ports([two, "  - port: 2\n  - port: 1\n", two], "  - port: 2\n  - port: 1\n", &[]);
}

#[test]
fn lists_without_their_keys_are_wholes() {
    let keyless = "  - targetPort: 1\n";
    let changed = "  - targetPort: 2\n";
    check_ports([keyless, changed, keyless], changed, &[]);
    check_ports([keyless, changed, "  - targetPort: 3\n"], changed, &["BothChanged spec.ports upstream"]);
}

#[test]
fn sets() {
    let meta =
        |list: &str| format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  finalizers: [{list}]\n");
    check(&[meta("f1, f2"), meta("f1, fu"), meta("fl, f1, f2")], &meta("fl, f1, fu"), &[]);
}

#[test]
fn lists_of_kinds_that_nobody_knows_are_wholes() {
    let item = |value: u8| format!("v:\n- name: x\n  n: {value}\n");
    let (one, two, three) = (item(1), item(2), item(3));
    check_spec([&one, &two, &three], &two, &["BothChanged v upstream"]);
}

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.com
spec:
  group: example.com
  names:
    kind: Thing
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          v:
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [name]
            items:
              type: object
              properties:
                n:
                  type: array
                  x-kubernetes-list-type: set
";

#[test]
fn definitions_in_the_package_bring_keys() {
    let thing =
        |spec: &str| format!("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nv:\n{spec}");
    let side = |spec: &str| package(&[("a.yaml", &thing(spec)), ("crd.yaml", DEFINITION)]);
    let original = side("- name: x\n  n: [1]\n");
    let upstream = side("- name: x\n  n: [1, 2]\n- name: y\n");
    let local = side("- name: l\n- name: x\n  n: [0, 1]\n");
    let merged = lanai_merge::three_way(&original, &upstream, &local, &Options::default()).unwrap();
    let expected = thing("- name: l\n- name: x\n  n: [0, 1, 2]\n- name: y\n");
    assert_eq!(text(&merged.package, "a.yaml"), expected);
    assert_eq!(lines(&merged.conflicts), Vec::<String>::new());
}

#[test]
fn what_a_key_is_that_is_left_out_says_the_definition() {
    let definition = DEFINITION.replacen("map-keys: [name]", "map-keys: [port, protocol]", 1);
    let definition = definition.replacen(
        "n:\n                  type",
        "protocol: {default: HTTP}\n                n:\n                  type",
        1,
    );
    assert!(definition.contains("[port, protocol]") && definition.contains("HTTP"));
    let thing =
        |spec: &str| format!("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nv:\n{spec}");
    let side = |spec: &str| package(&[("a.yaml", &thing(spec)), ("crd.yaml", &definition)]);
    let original = side("- port: 1\n");
    let upstream = side("- port: 1\n  protocol: HTTP\n  x: up\n");
    let local = side("- port: 1\n- port: 1\n  protocol: TCP\n");
    let merged = lanai_merge::three_way(&original, &upstream, &local, &Options::default()).unwrap();
    let expected = thing("- port: 1\n  protocol: HTTP\n  x: up\n- port: 1\n  protocol: TCP\n");
    assert_eq!(text(&merged.package, "a.yaml"), expected);
    assert_eq!(lines(&merged.conflicts), Vec::<String>::new());
}

const NESTED: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.com
spec:
  group: example.com
  names:
    kind: Thing
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          pools:
            additionalProperties:
              properties:
                nodes: &nodes
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items:
                    properties:
                      taints:
                        type: array
                        x-kubernetes-list-type: map
                        x-kubernetes-list-map-keys: [key]
                        items:
                          additionalProperties: {type: array, x-kubernetes-list-type: set}
          lists:
            additionalProperties: *nodes
";

#[test]
fn definitions_bring_keys_below_keys_that_they_do_not_name() {
    let thing = |spec: &str| format!("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\n{spec}");
    let check = |sides: [&str; 3], expected: &str| {
        let [original, upstream, local] =
            sides.map(|spec| package(&[("a.yaml", &thing(spec)), ("crd.yaml", NESTED)]));
        let merged = lanai_merge::three_way(&original, &upstream, &local, &Options::default()).unwrap();
        assert_eq!(text(&merged.package, "a.yaml"), thing(expected));
        assert_eq!(lines(&merged.conflicts), Vec::<String>::new());
    };
    // A list in a mapping of mappings, one in a mapping of lists.
    for head in ["pools:\n  small:\n    nodes:\n", "lists:\n  small:\n"] {
        let of = |items: &str| format!("{head}    - name: x\n{items}");
        check(
            [&of(""), &of("    - name: u\n"), &of("    - name: l\n")],
            &of("    - name: l\n    - name: u\n"),
        );
        // A list in the items of that one, and sets in the items of this one.
        let taint = |set: &str| of(&format!("      taints:\n      - key: k\n        any: [{set}]\n"));
        check([&taint("a"), &taint("a, u"), &taint("l, a")], &taint("l, a, u"));
    }
}

/// A pod with a volume.
fn volume(source: &str) -> String {
    format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  volumes:\n  - name: v\n{source}")
}

#[test]
fn a_volume_has_one_source() {
    let (scratch, sized) = ("    emptyDir: {}\n", "    emptyDir: {sizeLimit: 1Gi}\n");
    let config = "    configMap:\n      name: c\n";
    let field = "spec.volumes[name=v]";
    // Only one side changed it.
    check(&[scratch, config, scratch].map(volume), &volume(config), &[]);
    check(&[scratch, sized, sized].map(volume), &volume(sized), &[]);
    // Upstream took another source while something was changed here, and the other way round.
    let conflict = format!("BothChanged {field} upstream");
    check(&[scratch, config, sized].map(volume), &volume(config), &[&conflict]);
    check(&[scratch, sized, config].map(volume), &volume(sized), &[&conflict]);
    let merged = one(
        "a.yaml",
        [&volume(scratch), &volume(config), &volume(sized)],
        &lanai_merge::Options { policy: lanai_merge::Policy::LocalWins, ..Options::default() },
    );
    assert_eq!(text(&merged.package, "a.yaml"), volume(sized));
    // Both took the same one: its fields merge.
    let [mode, named] =
        ["      defaultMode: 1\n", "      optional: true\n"].map(|more| format!("{config}{more}"));
    check(
        &[scratch, &mode, &named].map(volume),
        &volume(&format!("{config}      defaultMode: 1\n      optional: true\n")),
        &[],
    );
}

#[test]
fn a_deployment_has_one_strategy() {
    let of = |strategy: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  paused: true\n{strategy}"
        )
    };
    let rolling = |surge: u8| {
        of(&format!("  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: {surge}\n"))
    };
    let recreate = of("  strategy:\n    type: Recreate\n");
    let conflict = "BothChanged spec.strategy upstream";
    check(&[rolling(1), recreate.clone(), rolling(2)], &recreate, &[conflict]);
    check(&[rolling(1), rolling(2), recreate.clone()], &rolling(2), &[conflict]);
    check(&[rolling(1), recreate.clone(), rolling(1)], &recreate, &[]);
    // Removed as a whole, it leaves nothing of its own behind.
    let more = rolling(1).replace("maxSurge: 1\n", "maxSurge: 1\n      maxUnavailable: 1\n");
    check(&[rolling(1), of(""), more], &of(""), &["RemovedUpstreamChangedLocally spec.strategy upstream"]);
}

#[test]
fn a_comment_at_an_item_that_the_other_side_removed_is_a_change() {
    let two = "  - port: 80\n  - port: 81\n";
    let (above, behind) = ("  - port: 80\n  # mine\n  - port: 81\n", "  - port: 80\n  - port: 81 # mine\n");
    let field = "spec.ports[port=81][protocol=TCP]";
    for noted in [above, behind] {
        let conflict = format!("RemovedUpstreamChangedLocally {field} upstream");
        check_ports([two, "  - port: 80\n", noted], "  - port: 80\n", &[&conflict]);
        let conflict = format!("RemovedLocallyChangedUpstream {field} upstream");
        check_ports([two, noted, "  - port: 80\n"], noted, &[&conflict]);
    }
}

#[test]
fn the_table_knows_pods() {
    let pod = |env: &str| {
        let head =
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n";
        format!("{head}      containers:\n      - name: app\n        env:\n{env}")
    };
    let (a, b, c) = ("        - name: A\n          value: a\n", "        - name: B\n", "        - name: C\n");
    let sides = [pod(a), pod(&format!("{a}{b}")), pod(&format!("{a}{c}"))];
    check(&sides, &pod(&format!("{a}{c}{b}")), &[]);
    let toleration = |list: &str| {
        format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  tolerations: [{list}]\n")
    };
    let sides = [toleration("{key: a}"), toleration("{key: b}"), toleration("{key: c}")];
    let merged = one("a.yaml", [&sides[0], &sides[1], &sides[2]], &Options::default());
    assert_eq!(lines(&merged.conflicts), ["BothChanged spec.tolerations upstream"]);
}

#[test]
fn comments_above_items() {
    let noted = |comment: &str, target: u8| format!("{comment}  - port: 80\n    targetPort: {target}\n");
    let (plain, new, mine) = (noted("", 1), noted("  # why\n", 1), noted("", 2));
    check_ports([&plain, &new, &mine], &noted("  # why\n", 2), &[]);
    let (theirs, ours) = (noted("  # theirs\n", 1), noted("  # ours\n", 1));
    check_ports(
        [&plain, &theirs, &ours],
        &theirs,
        &["CommentsDiffer spec.ports[port=80][protocol=TCP] upstream"],
    );
}

#[test]
fn kustomizations() {
    let of = |head: &str, files: &str, tag: &str| {
        format!("{head}resources: [{files}]\nimages:\n- name: i\n  newTag: {tag}\n")
    };
    for head in ["", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"] {
        let sides = [of(head, "a", "v1"), of(head, "a, b", "v2"), of(head, "a, c", "v1")];
        let merged = one("kustomization.yaml", [&sides[0], &sides[1], &sides[2]], &Options::default());
        assert_eq!(text(&merged.package, "kustomization.yaml"), of(head, "a, c, b", "v2"));
        assert_eq!(lines(&merged.conflicts), Vec::<String>::new());
    }
}

#[test]
fn orders() {
    let ports =
        |all: &[u8]| all.iter().map(|port| format!("  - port: {port}\n")).collect::<Vec<_>>().concat();
    let check = |sides: [&[u8]; 3], expected: &[u8], conflicts: &[&str]| {
        let [original, upstream, local] = sides.map(ports);
        check_ports([&original, &upstream, &local], &ports(expected), conflicts);
    };
    // Local left the order alone, with more here.
    check([&[1, 2, 3], &[3, 1, 2], &[9, 1, 2, 8, 3]], &[9, 3, 1, 8, 2], &[]);
    // Upstream left it alone.
    check([&[1, 2, 3], &[1, 2, 3, 4], &[3, 2, 1]], &[3, 2, 1, 4], &[]);
    // Both changed it, alike and otherwise.
    check([&[1, 2, 3], &[3, 2, 1], &[3, 2, 1, 7]], &[3, 2, 1, 7], &[]);
    check([&[1, 2, 3], &[3, 1, 2], &[9, 2, 1, 3]], &[9, 3, 1, 2], &["OrdersDiffer spec.ports upstream"]);
}

#[test]
fn comments_go_with_the_last_item() {
    let theirs = "  - port: 82\n";
    check_ports(
        ["  # why\n  - port: 80\n  - port: 81\n", theirs, "  # why\n  - port: 80\n  - port: 81\n"],
        theirs,
        &[],
    );
}

#[test]
fn all_keys_of_an_item_are_shown() {
    let ports = |tcp: &str, udp: &str| {
        let item = |protocol: &str, name: &str| {
            format!("  - port: 53\n    protocol: {protocol}\n    name: {name}\n")
        };
        format!("{}{}", item("TCP", tcp), item("UDP", udp))
    };
    let sides = [ports("a", "b"), ports("c", "d"), ports("e", "f")];
    check_ports(
        sides.each_ref().map(String::as_str),
        &ports("c", "d"),
        &[
            "BothChanged spec.ports[port=53][protocol=TCP].name upstream",
            "BothChanged spec.ports[port=53][protocol=UDP].name upstream",
        ],
    );
}

/// Definitions of `v1beta1` have one schema for all versions, or one for each.
#[test]
fn definitions_of_an_older_version() {
    let schema = "{openAPIV3Schema: {properties: {parts: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id]}}}}";
    let definition = |rest: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\nspec:\n  group: example.com\n  names: {{kind: Thing}}\n{rest}"
        )
    };
    for rest in [
        format!("  version: v1\n  validation: {schema}\n"),
        format!("  versions: [{{name: v1}}, {{name: v2}}]\n  validation: {schema}\n"),
        format!("  versions: [{{name: v1, schema: {schema}}}]\n"),
    ] {
        let crd = definition(&rest);
        let side = |parts: &str| package(&[("a.yaml", &custom(parts)), ("crd.yaml", &crd)]);
        let sides = [
            "parts:\n- {id: a, n: 1}\n",
            "parts:\n- {id: a, n: 2}\n",
            "parts:\n- {id: a, n: 1}\n- {id: own}\n",
        ];
        let [original, upstream, local] = sides.map(side);
        let merged = three_way(&original, &upstream, &local, &Options::default()).unwrap();
        assert_eq!(lines(&merged.conflicts), Vec::<String>::new(), "{rest}");
        assert_eq!(
            text(&merged.package, "a.yaml"),
            custom("parts:\n- {id: a, n: 2}\n- {id: own}\n"),
            "{rest}"
        );
    }
}
