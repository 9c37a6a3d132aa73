use lanai_krm::ignore::Dialect;
use lanai_krm::package::{File, Mode, OtherYaml, Package, ReadOptions};
use lanai_types::{Limits, YamlLimits};

use super::{package, path};

const OPAQUE: ReadOptions = ReadOptions { other_yaml: OtherYaml::Opaque, ignore: Dialect::Gitignore };
const INCLUDED: ReadOptions = ReadOptions { other_yaml: OtherYaml::Included, ..OPAQUE };

fn cm(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

/// The resources as `path#index name`.
fn list(package: &Package, options: ReadOptions) -> Vec<String> {
    let resources = package.resources(options).unwrap().into_iter();
    let show =
        resources.map(|at| format!("{}#{} {}", at.path, at.index, at.resource.name().unwrap_or_default()));
    show.collect()
}

#[test]
fn files_are_chosen_by_name_and_read_in_order() {
    let names = [
        "b.yaml",
        "Kptfile",
        "a.yml",
        "a/x.json",
        "a.txt",
        "README.md",
        "a.YAML",
        ".yaml",
        "sub/Kptfile",
        "Kptfile.bak",
    ];
    let mut package =
        package(&names.map(|name| (name, cm("x"))).each_ref().map(|(name, text)| (*name, text.as_str())));
    package.insert(path("link.yaml"), File::new(*b"b.yaml", Mode::Symlink)).unwrap();
    package.insert(path("run.yaml"), File::new(cm("run").into_bytes(), Mode::Executable)).unwrap();
    let found = list(&package, OPAQUE);
    assert_eq!(
        found,
        [
            ".yaml#0 x",
            "Kptfile#0 x",
            "a/x.json#0 x",
            "a.yml#0 x",
            "b.yaml#0 x",
            "run.yaml#0 run",
            "sub/Kptfile#0 x"
        ]
    );
}

#[test]
fn only_documents_with_content_are_counted() {
    let text = format!("# licence\n---\n{}---\n# comment only\n---\n{}---\n", cm("a"), cm("b"));
    assert_eq!(list(&package(&[("x.yaml", &text)]), OPAQUE), ["x.yaml#0 a", "x.yaml#1 b"]);
    assert_eq!(list(&package(&[("x.yaml", "# nothing\n"), ("y.yaml", "")]), OPAQUE), [""; 0]);
}

#[test]
fn other_yaml_is_opaque_unless_asked_for() {
    let text = format!("replicas: 3\n---\n{}---\n- a\n- b\n---\n{}", cm("a"), cm("b"));
    let package = package(&[("x.yaml", &text)]);
    assert_eq!(list(&package, OPAQUE), ["x.yaml#1 a", "x.yaml#3 b"], "it has an index all the same");
    assert_eq!(list(&package, INCLUDED), ["x.yaml#0 ", "x.yaml#1 a", "x.yaml#3 b"], "lists are no resources");
}

#[test]
fn errors_name_the_file_and_the_place() {
    let package = package(&[("a.yaml", &cm("a")), ("d/b.yaml", "a: 1\nb: [\n")]);
    let error = package.resources(OPAQUE).unwrap_err().to_string();
    assert!(error.starts_with("file \"d/b.yaml\": line 3, column 1: "), "{error}");
    let mut bytes = Package::new(Limits::DEFAULT);
    bytes.insert(path("a.yaml"), File::regular(*b"a: \xff")).unwrap();
    let error = bytes.resources(OPAQUE).unwrap_err().to_string();
    assert_eq!(error, "file \"a.yaml\": line 1, column 4: the text is not UTF-8");
    let limits = Limits { yaml: YamlLimits { max_documents: 1, ..YamlLimits::DEFAULT }, ..Limits::DEFAULT };
    let text = format!("{}---\n{}", cm("a"), cm("b"));
    let limited = Package::from_entries([("a.yaml", File::from_text(text))], limits).unwrap();
    assert!(limited.resources(OPAQUE).unwrap_err().to_string().contains("max_documents"));
}

#[test]
fn each_package_has_its_own_ignore_file() {
    let a = cm("a");
    let files = [
        (".krmignore", "skip.yaml\n/sub\nd/deep.yaml\n"),
        ("Kptfile", &a),
        ("skip.yaml", "not: [yaml"),
        ("d/skip.yaml", "not: [yaml"),
        ("d/.krmignore", "*.yaml\n"),
        ("d/keep.yaml", &a),
        ("x/d/deep.yaml", &a),
        ("sub/Kptfile", &a),
        ("sub/skip.yaml", &a),
        ("sub/.krmignore", "own.yaml\n"),
        ("sub/own.yaml", &a),
    ];
    let package = package(&files);
    let found = list(&package, OPAQUE);
    assert_eq!(
        found,
        ["Kptfile#0 a", "d/keep.yaml#0 a", "sub/Kptfile#0 a", "sub/skip.yaml#0 a", "x/d/deep.yaml#0 a"],
        "rules are of a package, not of a folder, and end where the next package begins"
    );
    let kpt = list(&package, ReadOptions { ignore: Dialect::Kpt, ..OPAQUE });
    assert!(!kpt.contains(&"x/d/deep.yaml#0 a".to_owned()), "{kpt:?}");
    let differences: Vec<String> =
        package.ignore_differences().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(differences, [".krmignore does not ignore \"x/d/deep.yaml\", but kpt would ignore it"]);
}

#[test]
fn an_ignore_file_that_is_refused_is_named() {
    let rules = "a\n".repeat(lanai_krm::ignore::MAX_PATTERNS + 1);
    let package = package(&[("sub/Kptfile", "kind: Kptfile\n"), ("sub/.krmignore", &rules)]);
    let error = package.resources(OPAQUE).unwrap_err().to_string();
    assert_eq!(
        error,
        "file \"sub/.krmignore\": line 10001: there are more than the 10000 patterns that are allowed"
    );
}
