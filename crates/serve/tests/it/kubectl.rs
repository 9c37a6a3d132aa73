//! kubectl, which we did not write.

mod commands;

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;

use crate::world::{World, command, kubectl};

struct Kubectl<'a> {
    world: &'a World,
    program: PathBuf,
}

impl Kubectl<'_> {
    /// Runs a command; what it prints, or why it failed.
    fn run(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut child = command(&self.program)
            .arg("--kubeconfig")
            .arg(self.world.kubeconfig())
            .arg("--cache-dir")
            .arg(self.world.folder.path().join("kubectl-cache"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments, "").unwrap_or_else(|error| panic!("kubectl {arguments:?}: {error}"))
    }

    fn apply(&self, input: &str) -> String {
        self.run(&["apply", "-f", "-"], input).unwrap_or_else(|error| panic!("{error}"))
    }
}

#[test]
fn kubectl_works_with_objects() {
    let Some(program) = kubectl("serve::kubectl::kubectl_works_with_objects") else { return };
    let world = World::new();
    let kubectl = Kubectl { world: &world, program };
    let namespaces = kubectl.ok(&["get", "ns"]);
    assert!(
        namespaces.starts_with("NAME") && namespaces.contains("default") && namespaces.contains("Active"),
        "{namespaces}"
    );
    kubectl.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    kubectl.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\ndata: {a: b}\n");
    assert_eq!(kubectl.ok(&["-n", "shop", "get", "cm", "c", "-o", "jsonpath={.data.a}"]), "b");
    assert_eq!(kubectl.ok(&["-n", "shop", "get", "cm", "c", "-o", "name"]), "configmap/c\n");
    kubectl.ok(&["-n", "shop", "label", "cm", "c", "tier=web"]);
    kubectl.ok(&["-n", "shop", "annotate", "cm", "c", "note=x"]);
    assert!(kubectl.ok(&["-n", "shop", "get", "cm", "-l", "tier=web", "-o", "wide"]).contains('c'));
    kubectl.ok(&["-n", "shop", "patch", "cm", "c", "--type=merge", "-p", "{\"data\":{\"a\":\"d\"}}"]);
    kubectl.ok(&[
        "-n",
        "shop",
        "patch",
        "cm",
        "c",
        "--type=json",
        "-p",
        "[{\"op\":\"add\",\"path\":\"/data/e\",\"value\":\"f\"}]",
    ]);
    let yaml = kubectl.ok(&["-n", "shop", "get", "cm", "c", "-o", "yaml"]);
    assert!(yaml.contains("  a: d\n  e: f\n"), "{yaml}");
    let replaced = kubectl.run(&["replace", "-f", "-"], &yaml.replace("e: f", "e: g")).unwrap();
    assert!(replaced.contains("replaced"), "{replaced}");
    assert!(kubectl.ok(&["-n", "shop", "describe", "cm", "c"]).contains("note: x"));
    kubectl.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\nstringData: {p: q}\n");
    assert_eq!(kubectl.ok(&["-n", "shop", "get", "secret", "s", "-o", "jsonpath={.data.p}"]), "cQ==");
    kubectl.ok(&["-n", "shop", "delete", "cm", "c", "--wait=true"]);
    let missing = kubectl.run(&["-n", "shop", "get", "cm", "c"], "").unwrap_err();
    assert!(missing.contains("(NotFound)") && missing.contains("configmaps \"c\" not found"), "{missing}");
}

#[test]
fn kubectl_learns_what_there_is() {
    let Some(program) = kubectl("serve::kubectl::kubectl_learns_what_there_is") else { return };
    let world = World::new();
    let kubectl = Kubectl { world: &world, program };
    let resources = kubectl.ok(&["api-resources"]);
    for name in
        ["configmaps", "repositories", "taskactions", "customresourcedefinitions", "leases", "rolebindings"]
    {
        assert!(resources.contains(name), "{name} in {resources}");
    }
    assert!(kubectl.ok(&["version", "-o", "json"]).contains("lanai"));
    let forbidden = kubectl.run(&["get", "cm", "--as", "bob"], "").unwrap_err();
    assert!(forbidden.contains("User \"bob\" cannot list resource \"configmaps\""), "{forbidden}");
}

#[test]
fn kubectl_applies() {
    let Some(program) = kubectl("serve::kubectl::kubectl_applies") else { return };
    let world = World::new();
    let kubectl = Kubectl { world: &world, program };
    let repository = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: blue, namespace: default}\nspec:\n  type: git\n  git: {repo: https://git.example/blue.git}\n";
    assert!(kubectl.apply(repository).contains("created"));
    assert!(kubectl.apply(repository).contains("unchanged"));
    let changed = format!("{repository}  description: ours\n");
    assert!(kubectl.apply(&changed).contains("configured"));
    let got = kubectl.ok(&[
        "get",
        "repositories",
        "blue",
        "-o",
        "jsonpath={.spec.description} {.metadata.generation}",
    ]);
    assert_eq!(got, "ours 2");
}

#[test]
fn kubectl_explains_and_validates() {
    let Some(program) = kubectl("serve::kubectl::kubectl_explains_and_validates") else { return };
    let world = World::new();
    let kubectl = Kubectl { world: &world, program };
    let explained = kubectl.ok(&["explain", "repositories.spec.git"]);
    assert!(explained.contains("repo") && explained.contains("-required-"), "{explained}");
    assert!(kubectl.ok(&["explain", "configmap.metadata"]).contains("ownerReferences"));
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.sea.example}\nspec:\n  group: sea.example\n  scope: Namespaced\n  names: {plural: boats, kind: Boat}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        properties:\n          spec: {type: object, properties: {sails: {type: integer, description: How many sails it has.}}}\n";
    kubectl.apply(definition);
    assert!(kubectl.ok(&["explain", "boat.spec.sails"]).contains("How many sails it has."));
    let boat =
        "apiVersion: sea.example/v1\nkind: Boat\nmetadata: {name: b, namespace: default}\nspec: {sials: 3}\n";
    for validation in ["--validate=strict", "--validate=true"] {
        let refused = kubectl.run(&["apply", validation, "-f", "-"], boat).unwrap_err();
        assert!(refused.contains("unknown field \"spec.sials\""), "{refused}");
    }
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndta: {a: b}\n";
    let refused = kubectl.run(&["apply", "-f", "-"], map).unwrap_err();
    assert!(refused.contains("unknown field \"dta\""), "{refused}");
    // Kinds that are not described are looked for in the older document, which comes as protobuf.
    let list =
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}}\n";
    assert!(kubectl.apply(list).contains("configmap/listed created"));
    let unknown =
        kubectl.run(&["create", "-f", "-"], "apiVersion: x.org/v1\nkind: Nobody\nmetadata: {name: a}\n");
    assert!(unknown.unwrap_err().contains("no matches for kind \"Nobody\""));
    kubectl.apply(&boat.replace("sials", "sails"));
    assert_eq!(kubectl.ok(&["get", "boat", "b", "-o", "jsonpath={.spec.sails}"]), "3");
}

#[test]
fn kubectl_applies_on_the_server() {
    let Some(program) = kubectl("serve::kubectl::kubectl_applies_on_the_server") else { return };
    let world = World::new();
    let kubectl = Kubectl { world: &world, program };
    let map = |value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: default}}\ndata: {{a: \"{value}\"}}\n"
        )
    };
    let apply = |manager: &str, value: &str, more: &[&str]| {
        let manager = format!("--field-manager={manager}");
        let mut arguments = vec!["apply", "--server-side", manager.as_str(), "-f", "-"];
        arguments.extend(more);
        kubectl.run(&arguments, &map(value))
    };
    assert!(apply("ann", "1", &[]).unwrap().contains("serverside-applied"));
    let refused = apply("bob", "2", &[]).unwrap_err();
    assert!(refused.contains("conflict with \"ann\": .data.a"), "{refused}");
    assert!(apply("bob", "2", &["--force-conflicts"]).unwrap().contains("serverside-applied"));
    let shown = kubectl.ok(&["get", "cm", "c", "-o", "yaml", "--show-managed-fields"]);
    assert!(shown.contains("manager: bob") && !shown.contains("manager: ann"), "{shown}");
    kubectl.ok(&["patch", "cm", "c", "-p", "{\"data\":{\"b\":\"3\"}}"]);
    assert_eq!(kubectl.ok(&["get", "cm", "c", "-o", "jsonpath={.data}"]), "{\"a\":\"2\",\"b\":\"3\"}");
    let diff =
        kubectl.run(&["diff", "--server-side", "--force-conflicts", "-f", "-"], &map("9")).unwrap_err();
    assert_eq!(diff, "", "a difference is not an error of kubectl");
    let tried = kubectl.run(
        &[
            "apply",
            "--server-side",
            "--dry-run=server",
            "--force-conflicts",
            "-o",
            "jsonpath={.data.a}",
            "-f",
            "-",
        ],
        &map("9"),
    );
    assert_eq!(tried.unwrap(), "9");
    assert_eq!(kubectl.ok(&["get", "cm", "c", "-o", "jsonpath={.data.a}"]), "2");
}

/// What kubectl makes of arguments it sends in protobuf.
#[test]
fn kubectl_creates_from_arguments() {
    let Some(program) = kubectl("serve::kubectl::kubectl_creates_from_arguments") else { return };
    let world = World::new();
    let kubectl = Kubectl { world: &world, program };
    kubectl.ok(&["create", "namespace", "shop"]);
    kubectl.ok(&["-n", "shop", "create", "configmap", "c", "--from-literal=a=b"]);
    assert_eq!(kubectl.ok(&["-n", "shop", "get", "cm", "c", "-o", "jsonpath={.data}"]), "{\"a\":\"b\"}");
    kubectl.ok(&["-n", "shop", "create", "secret", "generic", "s", "--from-literal=p=q"]);
    assert_eq!(
        kubectl.ok(&["-n", "shop", "get", "secret", "s", "-o", "jsonpath={.data.p} {.type}"]),
        "cQ== Opaque"
    );
    kubectl.ok(&["-n", "shop", "create", "serviceaccount", "robot"]);
    kubectl.ok(&["-n", "shop", "create", "role", "reader", "--verb=get,list", "--resource=configmaps"]);
    kubectl.ok(&[
        "-n",
        "shop",
        "create",
        "rolebinding",
        "readers",
        "--role=reader",
        "--serviceaccount=shop:robot",
    ]);
    kubectl.ok(&["create", "clusterrole", "all", "--verb=*", "--resource=secrets"]);
    kubectl.ok(&["create", "clusterrolebinding", "alls", "--clusterrole=all", "--user=bob"]);
    let token = kubectl.ok(&["-n", "shop", "create", "token", "robot", "--duration=20m"]);
    assert_eq!(token.trim().split('.').count(), 3, "it is a token");
    assert!(kubectl.ok(&["auth", "whoami"]).contains("system:masters"));
    assert!(kubectl.ok(&["auth", "can-i", "delete", "namespaces"]).starts_with("yes"));
    let robot = ["--as=system:serviceaccount:shop:robot", "-n", "shop", "auth", "can-i"];
    let may = |verb: &str| kubectl.run(&[&robot[..], &[verb, "configmaps"]].concat(), "");
    assert_eq!(may("get").unwrap().trim(), "yes");
    assert!(may("delete").is_err());
    assert!(kubectl.ok(&["auth", "can-i", "--list"]).contains("*.*"));
    kubectl.ok(&["-n", "shop", "delete", "cm", "c", "--now"]);
    let strict = kubectl.run(&["-n", "shop", "create", "configmap", "Bad_Name"], "").unwrap_err();
    assert!(strict.contains("metadata.name: Invalid value"), "{strict}");
}

/// A certificate of somebody else is answered, and does not end the connection.
#[test]
fn a_certificate_of_another_authority_is_nobodys() {
    let Some(program) = kubectl("serve::kubectl::a_certificate_of_another_authority_is_nobodys") else {
        return;
    };
    let (world, other) = (World::new(), World::new());
    let kubectl = Kubectl { world: &world, program };
    let text = |world: &World| std::fs::read_to_string(world.kubeconfig()).unwrap();
    let line = |text: &str, key: &str| text.lines().find(|line| line.contains(key)).unwrap().to_owned();
    let (ours, theirs) = (text(&world), text(&other));
    let forged = ["client-certificate-data:", "client-key-data:"]
        .iter()
        .fold(ours.clone(), |forged, key| forged.replace(&line(&ours, key), &line(&theirs, key)));
    assert_ne!(forged, ours);
    std::fs::write(world.kubeconfig(), forged).unwrap();
    let refused = kubectl.run(&["get", "namespaces"], "").unwrap_err();
    assert!(refused.contains("Unauthorized") || refused.contains("provide credentials"), "{refused}");
    assert_eq!(kubectl.ok(&["get", "--raw", "/healthz"]), "ok");
    std::fs::write(world.kubeconfig(), ours).unwrap();
    assert!(kubectl.ok(&["auth", "whoami"]).contains("lanai-admin"));
}
