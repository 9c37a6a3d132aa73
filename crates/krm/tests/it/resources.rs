//! Single resources.

use lanai_krm::resource::{Location, NotKrm, annotation};
use lanai_krm::{Resource, ResourceId};
use proptest::prelude::*;

const DEPLOYMENT: &str = "\
# the web server
apiVersion: apps/v1   # current
kind: Deployment
metadata:
  name: 'web'
  namespace: \"shop\"

  labels: {app: web, tier: 1}
  annotations: # for tools
    a: b
spec:
    replicas: 3
";

fn resource(text: &str) -> Resource {
    Resource::parse(text).unwrap()
}

#[test]
fn a_resource_tells_what_it_is() {
    let web = resource(DEPLOYMENT);
    let id = web.id();
    let expected = ResourceId {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
        namespace: "shop".into(),
        name: "web".into(),
    };
    assert_eq!(id, expected);
    assert_eq!((id.api_version(), id.to_string()), ("apps/v1".into(), "apps/v1 Deployment shop/web".into()));
    let labels: Vec<_> = web.labels().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(labels, ["app=web", "tier=1"]);
    assert_eq!(web.label("tier").as_deref(), Some("1"));
    assert_eq!(web.annotation("a").as_deref(), Some("b"));
    assert_eq!(web.annotations().count(), 1);
    assert_eq!(web.annotation("x"), None);
    assert_eq!(web.to_string(), DEPLOYMENT);
    let bare = resource("kind: Namespace\nmetadata:\n");
    assert_eq!(bare.id().to_string(), " Namespace ");
    assert_eq!((bare.name(), bare.labels().count()), (None, 0));
}

#[test]
fn only_mappings_are_resources() {
    let check = |text: &str, expected: &str| {
        assert_eq!(Resource::parse(text).unwrap_err().to_string(), expected, "{text:?}");
    };
    check("- a\n", "line 1: a resource is a mapping, this is a list");
    check("\n\nx\n", "line 3: a resource is a mapping, this is a scalar");
    check("", "line 1: a resource is a mapping, this is null");
    check("a: 1\n---\nb: 1\n", "line 2, column 1: a second document begins here, where one is expected");
    assert_eq!(Resource::parse_stream("a: 1\n---\n# c\n---\nb: 1\n").unwrap().len(), 2);
    assert!(Resource::parse_stream("a: 1\n---\n[]\n").is_err());
}

#[test]
fn local_config_is_what_does_not_say_false() {
    let check = |value: &str, expected: bool| {
        let text = format!("metadata: {{annotations: {{config.kubernetes.io/local-config: {value}}}}}\n");
        assert_eq!(resource(&text).is_local_config(), expected, "{value}");
    };
    check("'true'", true);
    check("yes", true);
    check("''", true);
    check("false", false);
    check("'false'", false);
    assert!(!resource(DEPLOYMENT).is_local_config());
}

fn check_edit(before: &str, edit: impl FnOnce(&mut Resource), after: &str) {
    let mut resource = resource(before);
    edit(&mut resource);
    assert_eq!(resource.to_string(), after, "of\n{before}");
}

#[test]
fn setters_touch_what_they_must() {
    check_edit(DEPLOYMENT, |r| r.set_name("api").unwrap(), &DEPLOYMENT.replace("'web'", "'api'"));
    check_edit(DEPLOYMENT, |r| r.set_name("web").unwrap(), DEPLOYMENT);
    let no_namespace = DEPLOYMENT.replace("  namespace: \"shop\"\n", "");
    check_edit(DEPLOYMENT, |r| assert!(r.remove_namespace().unwrap()), &no_namespace);
    check_edit(&no_namespace, |r| assert!(!r.remove_namespace().unwrap()), &no_namespace);
    let labelled = DEPLOYMENT.replace("tier: 1}", "tier: 1, x: \"1\"}");
    check_edit(DEPLOYMENT, |r| r.set_label("x", "1").unwrap(), &labelled);
    check_edit(&labelled, |r| assert!(r.remove_label("x").unwrap()), DEPLOYMENT);
    check_edit(
        "kind: A\nspec: {}\n",
        |r| r.set_name("x").unwrap(),
        "kind: A\nmetadata:\n  name: x\nspec: {}\n",
    );
    check_edit(
        "metadata:\n  name: x\n  labels: {}\n",
        |r| r.set_namespace("z").unwrap(),
        "metadata:\n  name: x\n  namespace: z\n  labels: {}\n",
    );
    let mut odd = resource("metadata: [1]\n");
    assert!(odd.set_name("x").is_err());
    assert!(odd.set_annotation("a", "b").is_err());
    assert_eq!(odd.to_string(), "metadata: [1]\n");
}

#[test]
fn the_last_annotation_takes_its_mapping_along() {
    let remove = |key: &'static str| move |r: &mut Resource| assert!(r.remove_annotation(key).unwrap());
    check_edit("metadata:\n  annotations:\n    a: b\n  name: x\n", remove("a"), "metadata:\n  name: x\n");
    check_edit("kind: A\nmetadata:\n  annotations: {a: b}\n", remove("a"), "kind: A\n");
    check_edit(
        "metadata:\n  annotations:\n    # keep\n    a: b\n    c: d\n",
        remove("c"),
        "metadata:\n  annotations:\n    # keep\n    a: b\n",
    );
    let mut without = resource("kind: A\n");
    assert!(!without.remove_annotation("a").unwrap());
    assert!(!without.document().is_edited());
}

#[test]
fn locations_have_two_names() {
    let location = Location { path: "a/b.yaml".into(), index: 2 };
    let mut moved = resource("kind: A\nmetadata:\n  name: x # y\n");
    moved.set_location(&location).unwrap();
    assert_eq!(
        moved.to_string(),
        "kind: A\nmetadata:\n  name: x # y\n  annotations:\n    config.kubernetes.io/index: \"2\"\n    \
         config.kubernetes.io/path: a/b.yaml\n    internal.config.kubernetes.io/index: \"2\"\n    \
         internal.config.kubernetes.io/path: a/b.yaml\n"
    );
    assert_eq!((moved.path().as_deref(), moved.index()), (Some("a/b.yaml"), Some(2)));
    moved.remove_annotation(annotation::PATH).unwrap();
    moved.set_annotation(annotation::LEGACY_PATH, "old.yaml").unwrap();
    assert_eq!(moved.path().as_deref(), Some("old.yaml"));
    moved.set_annotation(annotation::INDEX, "many").unwrap();
    assert_eq!(moved.index(), None);
    moved.remove_location().unwrap();
    assert_eq!(moved.to_string(), "kind: A\nmetadata:\n  name: x # y\n");
}

#[test]
fn what_is_no_krm_is_told() {
    let check = |text: &str, expected: Result<(), NotKrm>| {
        assert_eq!(resource(text).check_krm(), expected, "{text:?}");
    };
    check("{apiVersion: v1, kind: A, metadata: {name: x}}", Ok(()));
    check("{apiVersion: 1, kind: 2, metadata: {name: 3}}", Ok(()));
    check("{kind: A, metadata: {name: x}}", Err(NotKrm::ApiVersion));
    check("{apiVersion: '', kind: A, metadata: {name: x}}", Err(NotKrm::ApiVersion));
    check("{apiVersion: v1, metadata: {name: x}}", Err(NotKrm::Kind));
    check("{apiVersion: v1, kind: A}", Err(NotKrm::Name));
    check("{apiVersion: v1, kind: A, metadata: }", Err(NotKrm::Name));
    check("{apiVersion: v1, kind: A, metadata: {name: ''}}", Err(NotKrm::Name));
    check("{a: 1}", Err(NotKrm::ApiVersion));
    check("{apiVersion: v1, kind: A, metadata: [x]}", Err(NotKrm::Unreadable));
    check("{apiVersion: v1, kind: A, metadata: {name: [x]}}", Err(NotKrm::Unreadable));
    check("{apiVersion: v1, kind: A, metadata: {name: x, labels: {a: [1]}}}", Err(NotKrm::Unreadable));
    check("{apiVersion: kustomize.config.k8s.io/v1beta1}", Ok(()));
    check("{kind: Kustomization}", Ok(()));
    check("{apiVersion: x/v1, kind: Kustomization}", Err(NotKrm::Name));
    check("metadata: {annotations: {config.kubernetes.io/path: a/kustomization.yml}}", Ok(()));
    check(
        "metadata: {annotations: {config.kubernetes.io/path: a/xkustomization.yml}}",
        Err(NotKrm::ApiVersion),
    );
    let texts = [NotKrm::ApiVersion, NotKrm::Kind, NotKrm::Name, NotKrm::Unreadable].map(|e| e.to_string());
    assert_eq!(
        texts,
        [
            "resource must have `apiVersion`",
            "resource must have `kind`",
            "resource must have `metadata.name`",
            "resource must have `apiVersion`, `kind`, and `name`"
        ]
    );
}

#[test]
fn meaning_is_more_than_spelling() {
    let check = |left: &str, right: &str, expected: bool| {
        assert_eq!(resource(left).means_the_same(&resource(right)), expected, "{left:?} {right:?}");
        assert_eq!(resource(right).means_the_same(&resource(left)), expected, "{right:?} {left:?}");
    };
    check("a: 1\nb: [x]\n", "# c\nb:\n- 'x'\na: 1\n", true);
    check("a: 1\n", "a: '1'\n", false);
    check("a: 1\n", "a: 0x1\n", true);
    check("a: [1, 2]\n", "a: [2, 1]\n", false);
    check("a: 1\n", "a: 1\nb:\n", false);
    check("a: &x {b: 1}\nc: *x\n", "a: {b: 1}\nc: {b: 1}\n", true);
    check("a: !x y\n", "a: y\n", false);
}

proptest! {
    #[test]
    fn what_is_set_can_be_read_and_removed(key in "[a-z./-]{1,12}", value in ".{0,20}", seed in 0u64..200) {
        for mut resource in Resource::parse_stream(&lanai_testkit::manifests(seed, 2)).unwrap() {
            let before = resource.to_string();
            prop_assume!(resource.annotation(&key).is_none());
            if resource.set_annotation(&key, &value).is_ok() {
                let read = Resource::parse(&resource.to_string()).unwrap();
                prop_assert_eq!(read.annotation(&key), Some(value.as_str().into()));
                prop_assert!(resource.remove_annotation(&key).unwrap());
                let original = Resource::parse(&before).unwrap();
                prop_assert!(resource.means_the_same(&original), "{}\n{}", before, resource);
            }
        }
    }
}
