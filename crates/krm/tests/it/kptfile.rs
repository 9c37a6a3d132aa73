//! Kptfiles: strict reading, lossless editing, validation.

use lanai_krm::Kptfile;
use lanai_krm::kptfile::{
    Condition, ConditionStatus, Error, Fields, Function, Git, GitLock, OriginType, Pipeline, RenderStatus,
    Stage, StepResult, Unreadable, UpdateStrategy, Upstream, UpstreamLock,
};
use lanai_krm::result::{Field, ResultItem, Severity};
use proptest::prelude::*;

const HEAD: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\n";

const FULL: &str = "\
# Copyright: us

apiVersion: kpt.dev/v1   # keep
kind: Kptfile
metadata:
  name: web
  annotations: {a: 'b'}

upstream:
    type: git
    git: {repo: 'https://example.com/r', directory: /, ref: main}
    updateStrategy: fast-forward
info:
  keywords:
    - one   # first
    - two
pipeline:
  # in this order
  mutators:
    # labels first
    - image: set-labels:v1 # pinned
      configMap:
        app: web
        port: 80

    - image: set-namespace:v1
      name: ns
      selectors:
      - kind: Deployment
  validators:
    - exec: ./check
      when: resources.exists(r, true)
";

fn kptfile(text: &str) -> Kptfile {
    Kptfile::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn all_is_read() {
    let kptfile = kptfile(FULL);
    let fields = kptfile.fields();
    assert_eq!((kptfile.name(), fields.metadata.annotations["a"].as_str()), ("web", "b"));
    let upstream = fields.upstream.as_ref().unwrap();
    assert_eq!(upstream.origin, Some(OriginType::Git));
    assert_eq!(upstream.git.as_ref().map(|git| git.reference.as_str()), Some("main"));
    assert_eq!(upstream.update_strategy, Some(UpdateStrategy::FastForward));
    assert_eq!(fields.info.as_ref().unwrap().keywords, ["one", "two"]);
    let [labels, namespace] = kptfile.functions(Stage::Mutators) else { panic!() };
    assert_eq!(labels.config_map["port"], "80");
    assert_eq!(namespace.selectors[0].kind, "Deployment");
    assert_eq!(kptfile.functions(Stage::Validators)[0].when, "resources.exists(r, true)");
    assert!(fields.upstream_lock.is_none() && fields.status.is_none());
    assert_eq!(kptfile.to_string(), FULL);
    assert_eq!(kptfile.validate(), []);
}

#[test]
fn scalars_of_any_type_are_text_and_null_is_absent() {
    let kptfile = kptfile(&format!(
        "{HEAD}metadata: {{name: 1, labels: {{a: true, b: , c: 2024-01-01}}}}\ninfo: {{emails: [1, ~, x], site: }}\n\
         pipeline:\n  mutators:\n  -\n  - image: 1.5\n  validators:\n"
    ));
    let labels = &kptfile.fields().metadata.labels;
    assert_eq!([&*labels["a"], &*labels["b"], &*labels["c"]], ["true", "", "2024-01-01"]);
    assert_eq!(kptfile.name(), "1");
    assert_eq!(kptfile.fields().info.as_ref().unwrap().emails, ["1", "x"]);
    assert_eq!(kptfile.functions(Stage::Mutators).len(), 1);
    assert_eq!(kptfile.functions(Stage::Mutators)[0].image, "1.5");
}

#[test]
fn whatever_does_not_belong_is_listed() {
    let check = |rest: &str, expected: &[&str]| {
        let error = Kptfile::parse(&format!("{HEAD}{rest}")).expect_err(rest);
        let Error::Unreadable(why) = &error else { panic!("{error:?}") };
        let expected = [&["yaml: unmarshal errors:"], expected].concat().join("\n  ");
        assert_eq!(why.to_string(), expected, "{rest}");
    };
    check("x: 1\n", &["line 3: field x not found in type v1.KptFile"]);
    check(
        "metadata:\n  name: a\n  uid: b\nupstream: {x: 1, git: {y: 1}}\n",
        &[
            "line 5: field uid not found in type yaml.ObjectMeta",
            "line 6: field x not found in type v1.Upstream",
            "line 6: field y not found in type v1.Git",
        ],
    );
    check(
        "upstreamLock: {a: , git: {b: }, generic: {c: }}\ninfo: {d: , readinessGates: [{e: }]}\ninventory: {f: }\n",
        &[
            "line 3: field a not found in type v1.Locator",
            "line 3: field b not found in type v1.GitLock",
            "line 3: field c not found in type v1.GenericLock",
            "line 4: field d not found in type v1.PackageInfo",
            "line 4: field e not found in type v1.ReadinessGate",
            "line 5: field f not found in type v1.Inventory",
        ],
    );
    check(
        "pipeline:\n  sources: []\n  mutators:\n  - configRef: {}\n    selectors: [{path: x}]\n",
        &[
            "line 4: field sources not found in type v1.Pipeline",
            "line 6: field configRef not found in type v1.Function",
            "line 7: field path not found in type v1.Selector",
        ],
    );
    check(
        "status:\n  a: 1\n  conditions: [{b: 1}]\n  renderStatus:\n    c: 1\n    mutationSteps: [{d: 1, results: [{e: 1}]}]\n",
        &[
            "line 4: field a not found in type v1.Status",
            "line 5: field b not found in type v1.Condition",
            "line 7: field c not found in type v1.RenderStatus",
            "line 8: field d not found in type v1.PipelineStepResult",
            "line 8: field e not found in type v1.ResultItem",
        ],
    );
    check("metadata: {name: [x]}\n", &["line 3: cannot unmarshal !!seq into string"]);
    check("metadata: {name: {}}\n", &["line 3: cannot unmarshal !!map into string"]);
    check("info:\n  emails: x\n", &["line 4: cannot unmarshal !!str `x` into []string"]);
    check("info: 1234567890\n", &["line 3: cannot unmarshal !!int `1234567890` into v1.PackageInfo"]);
    check("info: 12345678901\n", &["line 3: cannot unmarshal !!int `1234567...` into v1.PackageInfo"]);
    check("info: ääääääää\n", &["line 3: cannot unmarshal !!str `äää...` into v1.PackageInfo"]);
    check("pipeline: [x]\n", &["line 3: cannot unmarshal !!seq into v1.Pipeline"]);
    check("pipeline: {mutators: {}}\n", &["line 3: cannot unmarshal !!map into []v1.Function"]);
    check(
        "pipeline:\n  mutators:\n  - image: x\n    configMap:\n      a: [1]\n      b: {c: 1}\n",
        &["line 7: cannot unmarshal !!seq into string", "line 8: cannot unmarshal !!map into string"],
    );
    check("metadata: {labels: x}\n", &["line 3: cannot unmarshal !!str `x` into map[string]string"]);
    check(
        "metadata:\n  name: a\n  name: b\n  unknown: 1\nx: 1\n",
        &[
            "line 5: mapping key \"name\" already defined at line 4",
            "line 7: field x not found in type v1.KptFile",
        ],
    );
    check(
        "status: {renderStatus: {validationSteps: [{exitCode: x}]}}\n",
        &["line 3: cannot unmarshal !!str `x` into int"],
    );
}

#[test]
fn errors_have_the_texts_that_scripts_know() {
    let check = |text: &str, expected: &str| {
        let error = Kptfile::parse(text).expect_err(text);
        assert_eq!(error.report("/a \"b\"", "example.com/fn"), expected, "{text}");
    };
    let not_found = Error::NotFound.report("/a", "");
    assert_eq!(not_found, "Error: No Kptfile found at \"/a\".");
    check(
        "apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\nx: 1\n",
        "Error: Kptfile at \"/a \\\"b\\\"\" has an old version (\"v1alpha1\") of the Kptfile schema.\n\
         Please update the package to the latest format by following https://kpt.dev/installation/migration.",
    );
    check(
        "apiVersion: kpt.dev/v1alpha2\nkind: Kptfile\n",
        "Error: Kptfile at \"/a \\\"b\\\"\" has an old version (\"v1alpha2\") of the Kptfile schema.\n\
         Please run \"kpt fn eval <PKG_PATH> -i example.com/fn/fix:latest --include-meta-resources\" to upgrade the \
         package and retry.",
    );
    check(
        "apiVersion: kpt.dev/v2\nkind: Kptfile\n",
        "Error: Kptfile at \"/a \\\"b\\\"\" has an unknown resource type (\"kpt.dev/v2, Kind=Kptfile\").",
    );
    check(
        "metadata: {name: x}\n",
        "Error: Kptfile at \"/a \\\"b\\\"\" has an unknown resource type (\"/, Kind=\").",
    );
    check(
        "apiVersion: [x]\nkind: Kptfile\n",
        "Error: Kptfile at \"/a \\\"b\\\"\" has an unknown resource type (\"/, Kind=Kptfile\").",
    );
    let unreadable =
        |details: &str| format!("Error: Kptfile at \"/a \\\"b\\\"\" can't be read.\n\nDetails:\n{details}");
    check("", &unreadable("EOF"));
    check("# nothing\n---\n", &unreadable("EOF"));
    for nothing in ["a: 1\n", "metadata: {}\n", "[]\n", "x\n"] {
        check(nothing, &unreadable("missing Resource metadata"));
    }
    check(
        &format!("{HEAD}x: 1\n"),
        &unreadable("yaml: unmarshal errors:\n  line 3: field x not found in type v1.KptFile"),
    );
    let error = Kptfile::parse("a: b: c\n").unwrap_err();
    assert!(matches!(&error, Error::Unreadable(Unreadable::Syntax(_))), "{error}");
    assert!(error.report("/", "").contains("Details:\nyaml: line 1: "), "{}", error.report("/", ""));
}

fn check_edit(before: &str, edit: impl FnOnce(&mut Kptfile), after: &str) {
    let mut edited = kptfile(before);
    edit(&mut edited);
    assert_eq!(edited.to_string(), after);
    assert_eq!(kptfile(after).fields(), edited.fields());
}

#[test]
fn new_fields_get_their_place() {
    let lock = UpstreamLock {
        origin: Some(OriginType::Git),
        git: Some(GitLock {
            repo: "r".into(),
            directory: "/".into(),
            reference: "main".into(),
            commit: "abc".into(),
        }),
        generic: None,
    };
    let written =
        "upstreamLock:\n  type: git\n  git:\n    repo: r\n    directory: /\n    ref: main\n    commit: abc\n";
    check_edit(
        FULL,
        |kptfile| kptfile.set_upstream_lock(Some(lock)).unwrap(),
        &FULL.replace("info:\n", &format!("{written}info:\n")),
    );
    let condition = Condition {
        condition_type: "Rendered".into(),
        status: ConditionStatus::True,
        reason: "RenderSuccess".into(),
        message: String::new(),
    };
    check_edit(
        &format!("{HEAD}# the name\nmetadata:\n  name: x # here\npipeline: {{}} # none yet\n"),
        |kptfile| {
            kptfile.set_condition(condition.clone()).unwrap();
            kptfile.edit_info(|info| info.description = "it's".into()).unwrap();
            kptfile.edit_info(|info| info.site = "http://x".into()).unwrap();
            kptfile.set_label("b", "1").unwrap();
        },
        &format!(
            "{HEAD}# the name\nmetadata:\n  name: x # here\n  labels:\n    b: \"1\"\ninfo:\n  site: http://x\n  \
             description: it's\npipeline: {{}} # none yet\nstatus:\n  conditions:\n  - type: Rendered\n    status: \
             \"True\"\n    reason: RenderSuccess\n"
        ),
    );
    check_edit(HEAD, |kptfile| kptfile.set_name("x").unwrap(), &format!("{HEAD}metadata:\n  name: x\n"));
}

#[test]
fn only_what_changes_is_written() {
    check_edit(FULL, |kptfile| kptfile.set_name("web").unwrap(), FULL);
    check_edit(FULL, |kptfile| kptfile.set_name("api").unwrap(), &FULL.replace("name: web", "name: api"));
    check_edit(
        FULL,
        |kptfile| {
            let git = |fields: &mut Fields| {
                fields.upstream.as_mut().unwrap().git.as_mut().unwrap().reference = "v2".into();
            };
            kptfile.edit(git).unwrap();
        },
        &FULL.replace("ref: main", "ref: v2"),
    );
    check_edit(
        FULL,
        |kptfile| kptfile.edit_info(|info| info.keywords.insert(1, "and".into())).unwrap(),
        &FULL.replace("    - two\n", "    - and\n    - two\n"),
    );
    check_edit(
        FULL,
        |kptfile| {
            kptfile
                .edit(|fields| {
                    let function = &mut fields.pipeline.as_mut().unwrap().mutators[0];
                    function.config_map.insert("app".into(), "api".into());
                    function.config_map.remove("port");
                })
                .unwrap();
        },
        &FULL.replace("app: web", "app: api").replace("        port: 80\n", ""),
    );
    check_edit(
        FULL,
        |kptfile| kptfile.remove_annotation("a").unwrap(),
        &FULL.replace("  annotations: {a: 'b'}\n", ""),
    );
    check_edit(
        FULL,
        |kptfile| kptfile.set_upstream(None).unwrap(),
        &FULL.replace(&FULL[FULL.find("upstream:").unwrap()..FULL.find("info:").unwrap()], ""),
    );
    let two = format!("{FULL}---\nkind: Other # stays\n");
    check_edit(&two, |kptfile| kptfile.set_name("api").unwrap(), &two.replace("name: web", "name: api"));
}

#[test]
fn what_merge_keys_bring_in_can_be_changed_but_not_removed() {
    let text = format!("{HEAD}info: &info {{site: a, man: b}}\n");
    let merged = format!(
        "{HEAD}metadata: {{name: x, labels: &l {{a: b}}}}\ninventory:\n  labels:\n    <<: *l\n    c: d\n"
    );
    let mut edited = kptfile(&merged);
    assert_eq!(edited.fields().inventory.as_ref().unwrap().labels.len(), 2);
    let label = |fields: &mut Fields, value: Option<&str>| {
        let labels = &mut fields.inventory.as_mut().unwrap().labels;
        match value {
            Some(value) => labels.insert("a".into(), value.into()),
            None => labels.remove("a"),
        };
    };
    assert!(edited.edit(|fields| label(fields, None)).is_err());
    assert_eq!(edited.to_string(), merged);
    edited.edit(|fields| label(fields, Some("z"))).unwrap();
    assert_eq!(&said(&edited.to_string()), edited.fields());
    check_edit(
        &text,
        |kptfile| kptfile.edit_info(|info| info.man.clear()).unwrap(),
        &text.replace(", man: b", ""),
    );
}

#[test]
fn functions_come_and_go_with_their_comments() {
    let added = Function { image: "new:v1".into(), name: "last".into(), ..Function::default() };
    check_edit(
        FULL,
        |kptfile| kptfile.add_function(Stage::Mutators, added.clone()).unwrap(),
        &FULL.replace(
            "      - kind: Deployment\n",
            "      - kind: Deployment\n    - image: new:v1\n      name: last\n",
        ),
    );
    let mut edited = kptfile(FULL);
    let removed = edited.remove_function(Stage::Mutators, 0).unwrap().unwrap();
    assert_eq!(removed.image, "set-labels:v1");
    assert_eq!(edited.remove_function(Stage::Mutators, 7).unwrap(), None);
    let text = edited.to_string();
    assert!(!text.contains("labels first") && text.contains("# in this order"), "{text}");
    assert!(text.contains("  mutators:\n\n    - image: set-namespace:v1\n"), "{text}");
    edited.remove_function(Stage::Validators, 0).unwrap();
    assert!(!edited.to_string().contains("validators"), "{edited}");
    check_edit(
        HEAD,
        |kptfile| kptfile.add_function(Stage::Validators, added).unwrap(),
        &format!("{HEAD}pipeline:\n  validators:\n  - image: new:v1\n    name: last\n"),
    );
}

#[test]
fn status_comes_and_goes() {
    let step =
        |image: &str, exit_code| StepResult { image: image.into(), exit_code, ..StepResult::default() };
    let mut failed = step("b", 1);
    failed.stderr = "one\ntwo\n".into();
    failed.results = vec![ResultItem {
        message: "bad".into(),
        severity: Some(Severity::Error),
        field: Some(Field {
            path: "a".into(),
            current_value: Some(serde_json::json!([1])),
            proposed_value: Some(serde_json::json!(2)),
            ..Field::default()
        }),
        ..ResultItem::default()
    }];
    let status = RenderStatus {
        mutation_steps: vec![step("a", 0), failed],
        validation_steps: vec![],
        error_summary: "b: bad".into(),
    };
    let with_status = format!(
        "{FULL}\
status:
  renderStatus:
    mutationSteps:
      - image: a
        exitCode: 0
      - image: b
        stderr: |
          one
          two
        exitCode: 1
        results:
          - message: bad
            severity: error
            field:
              path: a
              currentValue: '[1]'
              proposedValue: 2
    errorSummary: 'b: bad'
"
    );
    let mut edited = kptfile(FULL);
    edited.set_render_status(Some(status)).unwrap();
    assert_eq!(kptfile(&edited.to_string()).fields(), edited.fields());
    assert_eq!(edited.to_string(), with_status);
    edited.set_render_status(None).unwrap();
    assert_eq!(edited.to_string(), FULL);

    let condition = |condition_type: &str, status| Condition {
        condition_type: condition_type.into(),
        status,
        reason: String::new(),
        message: String::new(),
    };
    edited.set_condition(condition("A", ConditionStatus::False)).unwrap();
    edited.set_condition(condition("B", ConditionStatus::Unknown)).unwrap();
    edited.set_condition(condition("A", ConditionStatus::True)).unwrap();
    assert_eq!(edited.condition("A").unwrap().status, ConditionStatus::True);
    assert_eq!(edited.fields().status.as_ref().unwrap().conditions.len(), 2);
    edited.remove_condition("A").unwrap();
    edited.remove_condition("B").unwrap();
    assert_eq!(edited.to_string(), FULL);
}

#[test]
fn pipelines_are_checked_without_files() {
    let check = |function: &str, expected: &str| {
        let text = format!("{HEAD}pipeline:\n  mutators:\n  - {function}\n");
        let found = kptfile(&text).validate();
        let shown: String = found.iter().map(ToString::to_string).collect();
        let prefix = "Kptfile is invalid:\nField: `pipeline.mutators[0]";
        let expected = if expected.is_empty() { String::new() } else { format!("{prefix}{expected}\n") };
        assert_eq!(shown, expected, "{function}");
    };
    check("{image: x}", "");
    check("{exec: x y}", "");
    check("{name: x}", "`\nReason: must specify a functon (`image` or `exec`) to execute");
    check("{image: x, exec: y}", "`\nReason: must not specify both `image` and `exec` at the same time");
    check(
        "{image: x, configMap: {a: b}, configPath: c}",
        "`\nReason: functionConfig must not specify both `configMap` and `configPath` at the same time",
    );
    check("{image: x, configMap: {}, configPath: c}", "");
    check(
        "{image: 'x y'}",
        ".image`\nValue: \"x y\"\nReason: function image reference \"x y\" is invalid: invalid reference format",
    );
    let path = |path: &str, reason: &str| {
        let expected = format!(".configPath`\nValue: \"{path}\"\nReason: path must {reason}");
        check(&format!("{{image: x, configPath: '{path}'}}"), &expected);
    };
    path(" ", "not be empty");
    path("/x.yaml", "be relative");
    path("../x.yaml", "not be outside the package");
    path("a/../../x.yaml", "not be outside the package");
    path("a..b.yaml", "not be outside the package");
    check("{image: x, configPath: a/../x.yaml}", "");
    check("{image: x, configPath: ./a//x.yaml}", "");
    let both = kptfile(&format!("{HEAD}pipeline: {{validators: [{{}}], mutators: [{{image: x}}, {{}}]}}\n"));
    let fields: Vec<_> = both.validate().into_iter().map(|invalid| invalid.field).collect();
    assert_eq!(fields, ["pipeline.mutators[1]", "pipeline.validators[0]"]);
}

#[test]
fn image_references() {
    let check = |image: &str, expected: Option<&str>| {
        let function = Function { image: image.into(), ..Function::default() };
        let mut kptfile = Kptfile::new("x");
        kptfile.add_function(Stage::Mutators, function).unwrap();
        let found = kptfile.validate().pop().map(|invalid| invalid.reason);
        let shown = found.as_deref().and_then(|reason| reason.split(" is invalid: ").nth(1));
        assert_eq!(shown, expected, "{image}");
    };
    let sha = format!("sha256:{}", "a".repeat(64));
    for good in
        ["a", "a/b", "a__b/c-d--e.f", "localhost:5000/a", "Example.COM/a:V1", "a:5000", "[::1]:5000/a", "a-b"]
    {
        check(good, None);
        check(&format!("{good}@{sha}"), None);
    }
    check("a/b:v1.2-x_y", None);
    check(&format!("a:v1@{sha}"), None);
    check(&format!("a:{}", "x".repeat(128)), None);
    let format = Some("invalid reference format");
    for bad in [
        "a b",
        "a:",
        ":a",
        "a@",
        "-a",
        "a..b",
        "a___b",
        "a//b",
        "/a",
        "a/",
        "a:-x",
        "http://a/b",
        "a@sha256:12",
    ] {
        check(bad, format);
    }
    check(&format!("a:{}", "x".repeat(129)), format);
    check("Foo", Some("repository name must be lowercase"));
    check("a/Foo:v1", Some("repository name must be lowercase"));
    check(&"a".repeat(256), Some("repository name must not be more than 255 characters"));
    check(&format!("a@sha256:{}", "a".repeat(40)), Some("invalid checksum digest length"));
    check(&format!("a@md5:{}", "a".repeat(32)), Some("unsupported digest algorithm"));
}

fn function() -> impl Strategy<Value = Function> {
    ("[a-c]", prop::option::of("[xy]"), prop::collection::btree_map("[a-c]", ".{0,6}", 0..3)).prop_map(
        |(image, name, config_map)| Function {
            image,
            name: name.unwrap_or_default(),
            config_map,
            ..Function::default()
        },
    )
}

fn pipeline() -> impl Strategy<Value = Option<Pipeline>> {
    let functions = || prop::collection::vec(function(), 0..5);
    prop::option::of(
        (functions(), functions()).prop_map(|(mutators, validators)| Pipeline { mutators, validators }),
    )
}

fn said(text: &str) -> Fields {
    kptfile(text).fields().clone()
}

proptest! {
    #[test]
    fn the_text_says_what_was_set(
        first in pipeline(),
        second in pipeline(),
        keywords in prop::collection::vec("[a-d]{1,2}", 0..5),
        name in "[a-z]{1,5}",
    ) {
        let mut edited = kptfile(FULL);
        for pipeline in [first, second] {
            edited.edit(|fields| fields.pipeline = pipeline).unwrap();
            prop_assert_eq!(&said(&edited.to_string()), edited.fields());
        }
        edited.edit_info(|info| info.keywords = keywords).unwrap();
        edited.set_name(&name).unwrap();
        let git = Git { repo: name, ..Git::default() };
        edited.set_upstream(Some(Upstream { git: Some(git), ..Upstream::default() })).unwrap();
        let text = edited.to_string();
        prop_assert_eq!(&said(&text), edited.fields());
        prop_assert!(text.starts_with("# Copyright: us\n\napiVersion: kpt.dev/v1   # keep\n"), "{}", text);
        edited.edit(|fields| *fields = said(FULL)).unwrap();
        prop_assert_eq!(said(&edited.to_string()), said(FULL));
    }

    #[test]
    fn any_text_is_a_kptfile_or_an_error(rest in "[a-z: {}\\[\\],\n -]{0,60}") {
        let _ = Kptfile::parse(&format!("{HEAD}{rest}"));
        let _ = Kptfile::parse(&format!("{HEAD}pipeline: {rest}"));
    }
}

#[test]
fn functions_that_move_take_their_comments_and_quotes_along() {
    let list = |mutators: &str| format!("{HEAD}metadata:\n  name: x\npipeline:\n  mutators:\n{mutators}");
    let (a, b, c) = (
        "  # the first\n  - image: \"a:v1\" # pinned\n",
        "  - image: 'b:v1'\n    configMap: {x: \"1\"}\n",
        "  - {image: c:v1, name: c}\n",
    );
    let mutators = |kptfile: &mut Kptfile, change: &dyn Fn(&mut Vec<Function>)| {
        kptfile.edit(|fields| change(&mut fields.pipeline.as_mut().unwrap().mutators)).unwrap();
    };
    let before = list(&[a, b, c].concat());
    check_edit(&before, |kptfile| mutators(kptfile, &|all| all.swap(0, 1)), &list(&[b, a, c].concat()));
    check_edit(&before, |kptfile| mutators(kptfile, &|all| all.rotate_left(1)), &list(&[b, c, a].concat()));
    check_edit(&before, |kptfile| mutators(kptfile, &|all| all.reverse()), &list(&[c, b, a].concat()));
    // One goes, one comes, one changes while it moves.
    let change = |all: &mut Vec<Function>| {
        let mut first = all.remove(0);
        first.config_path = "one.yaml".into();
        all.truncate(1);
        all.push(Function { image: "new:v1".into(), ..Function::default() });
        all.push(first);
    };
    let changed = a.replace(" # pinned\n", " # pinned\n    configPath: \"one.yaml\"\n");
    let after = list(&[b, "  - image: new:v1\n", &changed].concat());
    check_edit(&before, |kptfile| mutators(kptfile, &change), &after);
}
