//! Every command that people use, once.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use super::Kubectl;
use crate::world::{World, command, kubectl};

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {app: a}}\ndata: {a: b}\n";
const REPOSITORY: &str = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: blue}\nspec:\n  type: git\n  git: {repo: https://git.example/blue.git}\n";

/// A test with its own server, if there is a kubectl.
fn with_kubectl(name: &str, test: impl Fn(&Kubectl<'_>)) {
    let Some(program) = kubectl(&format!("serve::kubectl::commands::{name}")) else { return };
    let world = World::new();
    test(&Kubectl { world: &world, program });
}

#[track_caller]
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn get_in_all_forms() {
    with_kubectl("get_in_all_forms", |kubectl| {
        kubectl.apply(MAP);
        kubectl.apply(REPOSITORY);
        has(&kubectl.ok(&["get", "cm", "c"]), &["NAME", "DATA", "AGE"]);
        has(&kubectl.ok(&["get", "cm", "-A", "--show-labels"]), &["NAMESPACE", "LABELS", "app=a"]);
        has(
            &kubectl.ok(&["get", "cm,repositories", "-o", "name"]),
            &["configmap/c\n", "repository.config.porch.kpt.dev/blue\n"],
        );
        has(&kubectl.ok(&["get", "repositories", "-o", "wide"]), &["blue", "git"]);
        has(&kubectl.ok(&["get", "cm", "c", "-o", "yaml"]), &["kind: ConfigMap\n", "  a: b\n"]);
        has(&kubectl.ok(&["get", "cm", "c", "-o", "json"]), &["\"kind\": \"ConfigMap\""]);
        assert_eq!(kubectl.ok(&["get", "cm", "c", "-o", "jsonpath={.data.a}"]), "b");
        let columns =
            kubectl.ok(&["get", "cm", "-l", "app=a", "-o", "custom-columns=N:.metadata.name,A:.data.a"]);
        assert_eq!(columns.split_whitespace().collect::<Vec<_>>(), ["N", "A", "c", "b"]);
        has(&kubectl.ok(&["get", "cm", "--field-selector", "metadata.name=c", "--no-headers"]), &["c "]);
        has(&kubectl.ok(&["get", "lanai"]), &["blue"]);
        has(
            &kubectl.run(&["get", "nonsense"], "").unwrap_err(),
            &["the server doesn't have a resource type \"nonsense\""],
        );
        has(&kubectl.ok(&["get", "--raw", "/readyz"]), &["ok"]);
        has(
            &kubectl.ok(&["get", "cm", "--sort-by", ".metadata.name", "--chunk-size=1"]),
            &["kube-root-ca.crt"],
        );
    });
}

#[test]
fn describe_and_events() {
    with_kubectl("describe_and_events", |kubectl| {
        kubectl.apply(MAP);
        kubectl.apply(REPOSITORY);
        let uid = kubectl.ok(&["get", "cm", "c", "-o", "jsonpath={.metadata.uid}"]);
        let event = format!(
            "apiVersion: v1\nkind: Event\nmetadata: {{name: c.1, namespace: default}}\ninvolvedObject: {{apiVersion: v1, kind: ConfigMap, name: c, namespace: default, uid: {uid}}}\nreason: Looked\nmessage: somebody looked at it\ntype: Normal\ncount: 1\nfirstTimestamp: 2026-01-01T00:00:00Z\nlastTimestamp: 2026-01-01T00:00:00Z\nsource: {{component: test}}\n"
        );
        kubectl.apply(&event);
        has(
            &kubectl.ok(&["describe", "cm", "c"]),
            &["Name:", "app=a", "Data", "Looked", "somebody looked at it"],
        );
        has(&kubectl.ok(&["describe", "repository", "blue"]), &["https://git.example/blue.git"]);
        has(&kubectl.ok(&["describe", "ns", "default"]), &["Status:", "Active"]);
        has(&kubectl.ok(&["events"]), &["Looked", "ConfigMap/c"]);
        has(&kubectl.ok(&["events", "--for", "cm/c"]), &["somebody looked at it"]);
        has(&kubectl.ok(&["get", "events"]), &["Looked"]);
    });
}

#[test]
fn create_replace_and_delete() {
    with_kubectl("create_replace_and_delete", |kubectl| {
        has(&kubectl.run(&["create", "-f", "-"], MAP).unwrap(), &["configmap/c created"]);
        has(&kubectl.run(&["create", "-f", "-"], MAP).unwrap_err(), &["AlreadyExists"]);
        has(
            &kubectl.run(&["replace", "-f", "-"], &MAP.replace("a: b", "a: z")).unwrap(),
            &["configmap/c replaced"],
        );
        has(&kubectl.run(&["replace", "--force", "-f", "-"], MAP).unwrap(), &["configmap/c replaced"]);
        has(
            &kubectl
                .run(&["create", "--dry-run=server", "-f", "-"], &MAP.replace("name: c", "name: d"))
                .unwrap(),
            &["created (server dry run)"],
        );
        has(&kubectl.run(&["get", "cm", "d"], "").unwrap_err(), &["NotFound"]);
        has(&kubectl.ok(&["delete", "cm", "c"]), &["configmap \"c\" deleted"]);
        has(&kubectl.run(&["delete", "cm", "c"], "").unwrap_err(), &["NotFound"]);
        has(&kubectl.ok(&["delete", "cm", "c", "--ignore-not-found"]), &[""]);
        kubectl.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        kubectl.run(&["-n", "shop", "apply", "-f", "-"], MAP).unwrap();
        has(&kubectl.ok(&["delete", "ns", "shop", "--timeout=30s"]), &["namespace \"shop\" deleted"]);
        has(&kubectl.run(&["get", "ns", "shop"], "").unwrap_err(), &["NotFound"]);
        has(
            &kubectl.run(&["delete", "ns", "default"], "").unwrap_err(),
            &["this namespace may not be deleted"],
        );
        kubectl.apply(MAP);
        kubectl.apply(&MAP.replace("name: c", "name: d"));
        has(&kubectl.ok(&["delete", "cm", "-l", "app=a"]), &["\"c\" deleted", "\"d\" deleted"]);
    });
}

#[test]
fn objects_out_of_arguments() {
    with_kubectl("objects_out_of_arguments", |kubectl| {
        kubectl.ok(&["create", "namespace", "shop"]);
        kubectl.ok(&["-n", "shop", "create", "configmap", "m", "--from-literal=a=b"]);
        assert_eq!(kubectl.ok(&["-n", "shop", "get", "cm", "m", "-o", "jsonpath={.data.a}"]), "b");
        kubectl.ok(&["-n", "shop", "create", "secret", "generic", "s", "--from-literal=p=q"]);
        assert_eq!(kubectl.ok(&["-n", "shop", "get", "secret", "s", "-o", "jsonpath={.data.p}"]), "cQ==");
        kubectl.ok(&["-n", "shop", "create", "serviceaccount", "bot"]);
        kubectl.ok(&["-n", "shop", "create", "role", "r", "--verb=get,list", "--resource=configmaps"]);
        kubectl.ok(&["-n", "shop", "create", "rolebinding", "b", "--role=r", "--serviceaccount=shop:bot"]);
        let token = kubectl.ok(&["-n", "shop", "create", "token", "bot"]);
        kubectl.ok(&["config", "set-credentials", "bot", &format!("--token={}", token.trim())]);
        let as_bot = |arguments: &[&str]| {
            let mut all = vec!["-n", "shop", "--user=bot"];
            all.extend(arguments);
            kubectl.run(&all, "")
        };
        has(&as_bot(&["get", "cm", "m"]).unwrap(), &["m "]);
        has(&as_bot(&["delete", "cm", "m"]).unwrap_err(), &["Forbidden", "system:serviceaccount:shop:bot"]);
        has(&as_bot(&["auth", "whoami"]).unwrap(), &["system:serviceaccount:shop:bot"]);
    });
}

#[test]
fn questions_about_rights() {
    with_kubectl("questions_about_rights", |kubectl| {
        assert_eq!(kubectl.ok(&["auth", "can-i", "delete", "namespaces"]), "yes\n");
        has(&kubectl.ok(&["auth", "can-i", "--list"]), &["*.*"]);
        has(&kubectl.ok(&["auth", "whoami"]), &["lanai-admin", "system:masters"]);
        let refused = kubectl.run(&["auth", "can-i", "get", "cm", "--as", "bob"], "");
        assert!(refused.is_err(), "{refused:?}");
    });
}

#[test]
fn patches_labels_and_annotations() {
    with_kubectl("patches_labels_and_annotations", |kubectl| {
        kubectl.apply(MAP);
        kubectl.apply(REPOSITORY);
        kubectl.ok(&["patch", "cm", "c", "--type=merge", "-p", "{\"data\":{\"a\":\"1\"}}"]);
        kubectl.ok(&["patch", "cm", "c", "--type=strategic", "-p", "{\"data\":{\"b\":\"2\"}}"]);
        kubectl.ok(&[
            "patch",
            "cm",
            "c",
            "--type=json",
            "-p",
            "[{\"op\":\"add\",\"path\":\"/data/c\",\"value\":\"3\"}]",
        ]);
        assert_eq!(
            kubectl.ok(&["get", "cm", "c", "-o", "jsonpath={.data}"]),
            "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\"}"
        );
        let refused = kubectl.run(
            &["patch", "repository", "blue", "--type=strategic", "-p", "{\"spec\":{\"description\":\"x\"}}"],
            "",
        );
        assert!(refused.is_err(), "how lists of custom resources merge is not known");
        kubectl.ok(&[
            "patch",
            "repository",
            "blue",
            "--subresource=status",
            "--type=merge",
            "-p",
            "{\"status\":{\"conditions\":[]}}",
        ]);
        kubectl.ok(&["label", "cm", "c", "tier=web", "app-"]);
        assert_eq!(
            kubectl.ok(&["get", "cm", "c", "-o", "jsonpath={.metadata.labels}"]),
            "{\"tier\":\"web\"}"
        );
        has(&kubectl.run(&["label", "cm", "c", "tier=db"], "").unwrap_err(), &["already has a value"]);
        kubectl.ok(&["label", "cm", "c", "tier=db", "--overwrite"]);
        kubectl.ok(&["annotate", "cm", "c", "note=x"]);
        has(&kubectl.ok(&["get", "cm", "c", "-o", "yaml"]), &["note: x", "tier: db"]);
        kubectl.ok(&["annotate", "cm", "c", "note-"]);
    });
}

#[test]
fn edit_with_an_editor() {
    with_kubectl("edit_with_an_editor", |kubectl| {
        kubectl.apply(MAP);
        let editor = kubectl.world.folder.path().join("editor");
        std::fs::write(&editor, "#!/bin/sh\nsed -i 's/^  a: b$/  a: edited/' \"$1\"\n").unwrap();
        std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = command(&kubectl.program)
            .arg("--kubeconfig")
            .arg(kubectl.world.kubeconfig())
            .args(["edit", "cm", "c"])
            .env("KUBE_EDITOR", &editor)
            .output()
            .unwrap();
        has(&String::from_utf8_lossy(&output.stdout), &["configmap/c edited"]);
        assert_eq!(kubectl.ok(&["get", "cm", "c", "-o", "jsonpath={.data.a}"]), "edited");
    });
}

#[test]
fn wait_and_watch() {
    with_kubectl("wait_and_watch", |kubectl| {
        kubectl.apply(MAP);
        let mut watching = command(&kubectl.program)
            .arg("--kubeconfig")
            .arg(kubectl.world.kubeconfig())
            .args(["get", "cm", "-w", "-l", "app=a", "--output-watch-events"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines().map(Result::unwrap);
        has(&lines.next().unwrap(), &["EVENT", "NAME", "DATA"]);
        has(&lines.next().unwrap(), &["ADDED", "c "]);
        kubectl.ok(&["patch", "cm", "c", "--type=merge", "-p", "{\"data\":{\"a\":\"1\"}}"]);
        has(&lines.next().unwrap(), &["MODIFIED", "c "]);
        kubectl.ok(&["wait", "cm/c", "--for=jsonpath={.data.a}=1", "--timeout=20s"]);
        kubectl.ok(&["delete", "cm", "c"]);
        has(&lines.next().unwrap(), &["DELETED", "c "]);
        watching.kill().unwrap();
        watching.wait().unwrap();
        kubectl.ok(&["wait", "cm/c", "--for=delete", "--timeout=20s"]);
        kubectl.ok(&["wait", "cm/kube-root-ca.crt", "--for=create", "--timeout=20s"]);
        let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: boats.sea.example}\nspec:\n  group: sea.example\n  scope: Namespaced\n  names: {plural: boats, kind: Boat}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n";
        kubectl.apply(definition);
        has(
            &kubectl.ok(&["wait", "crd/boats.sea.example", "--for=condition=Established", "--timeout=20s"]),
            &["condition met"],
        );
        kubectl.apply("apiVersion: sea.example/v1\nkind: Boat\nmetadata: {name: b}\n");
        kubectl.ok(&["delete", "crd", "boats.sea.example", "--timeout=30s"]);
        has(
            &kubectl.run(&["get", "boats"], "").unwrap_err(),
            &["the server could not find the requested resource"],
        );
    });
}

#[test]
fn cascades() {
    with_kubectl("cascades", |kubectl| {
        let family = |owner: &str| {
            kubectl.apply(&MAP.replace("name: c", &format!("name: {owner}")));
            let uid = kubectl.ok(&["get", "cm", owner, "-o", "jsonpath={.metadata.uid}"]);
            kubectl.apply(&format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: child-of-{owner}\n  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: {owner}, uid: {uid}, blockOwnerDeletion: true}}]\n"
            ));
        };
        for cascade in ["background", "foreground"] {
            family(cascade);
            kubectl.ok(&["delete", "cm", cascade, &format!("--cascade={cascade}"), "--timeout=20s"]);
            kubectl.ok(&["wait", &format!("cm/child-of-{cascade}"), "--for=delete", "--timeout=20s"]);
        }
        family("orphan");
        kubectl.ok(&["delete", "cm", "orphan", "--cascade=orphan", "--timeout=20s"]);
        assert_eq!(
            kubectl.ok(&["get", "cm", "child-of-orphan", "-o", "jsonpath={.metadata.ownerReferences}"]),
            ""
        );
    });
}

#[test]
fn diff_and_apply_of_many() {
    with_kubectl("diff_and_apply_of_many", |kubectl| {
        let both = format!("{MAP}---\n{REPOSITORY}");
        has(&kubectl.apply(&both), &["configmap/c created", "repository.config.porch.kpt.dev/blue created"]);
        has(&kubectl.apply(&both), &["configmap/c unchanged", "blue unchanged"]);
        assert_eq!(kubectl.run(&["diff", "-f", "-"], &both).unwrap(), "");
        let mut child = command(&kubectl.program)
            .arg("--kubeconfig")
            .arg(kubectl.world.kubeconfig())
            .args(["diff", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(
            &mut child.stdin.take().unwrap(),
            both.replace("a: b", "a: other").as_bytes(),
        )
        .unwrap();
        let mut difference = String::new();
        child.stdout.take().unwrap().read_to_string(&mut difference).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        has(&difference, &["-  a: b", "+  a: other"]);
        has(
            &kubectl
                .run(
                    &["apply", "--prune", "-l", "app=a", "--prune-allowlist=core/v1/ConfigMap", "-f", "-"],
                    &MAP.replace("name: c", "name: new"),
                )
                .unwrap(),
            &["configmap/new created", "configmap/c pruned"],
        );
        has(&kubectl.run(&["apply", "view-last-applied", "cm/new"], "").unwrap(), &["a: b"]);
    });
}

#[test]
fn what_there_is() {
    with_kubectl("what_there_is", |kubectl| {
        has(
            &kubectl.ok(&["api-resources", "-o", "wide"]),
            &["repositories", "config.porch.kpt.dev/v1alpha1", "Repository", "lanai", "deletecollection"],
        );
        has(
            &kubectl.ok(&["api-resources", "--namespaced=false"]),
            &["namespaces", "customresourcedefinitions"],
        );
        has(&kubectl.ok(&["api-versions"]), &["v1\n", "rbac.authorization.k8s.io/v1\n", "flyte.org/v1\n"]);
        has(&kubectl.ok(&["explain", "repository.spec", "--recursive"]), &["git"]);
        has(&kubectl.ok(&["version"]), &["Server Version"]);
    });
}
