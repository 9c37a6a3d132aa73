use lanai_krm::package::{File, Located, Mode, Package, Placed, ReadOptions, default_path, resource_path};
use lanai_krm::{Resource, ResourceList};
use lanai_types::{Limits, SafePath};

use super::{package, path, texts};

fn cm(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

fn options() -> ReadOptions {
    ReadOptions::default()
}

/// Reads the resources, changes the list, writes it, and compares all files.
#[track_caller]
fn check(files: &[(&str, &str)], change: impl FnOnce(&mut Vec<Placed>), expected: &[(&str, &str)]) {
    let mut package = package(files);
    let mut list = package.resources(options()).unwrap().into_iter().map(Placed::from).collect();
    change(&mut list);
    package.write_resources(list, options()).unwrap();
    assert_eq!(texts(&package), expected);
}

#[track_caller]
fn refused(files: &[(&str, &str)], change: impl FnOnce(&mut Vec<Placed>)) -> String {
    let mut package = package(files);
    let before = package.clone();
    let mut list = package.resources(options()).unwrap().into_iter().map(Placed::from).collect();
    change(&mut list);
    let error = package.write_resources(list, options()).unwrap_err();
    assert_eq!(package, before, "a refused change changes nothing");
    error.to_string()
}

fn new(text: &str, path: Option<&str>) -> Placed {
    Placed {
        resource: Resource::parse(text).unwrap(),
        path: path.map(|path| path.parse().unwrap()),
        index: None,
    }
}

#[test]
fn one_changed_document_leaves_the_others_alone() {
    let odd = "# licence\n---\napiVersion:   v1 # odd\nkind: 'ConfigMap'\n\nmetadata: {name:  a}\n\n\n--- # second\n";
    let text = format!("{odd}{}---\n# comment only\n---\n{}", cm("b"), cm("c"));
    let expected = format!("{odd}{}---\n# comment only\n---\n{}", cm("new"), cm("c"));
    check(&[("x.yaml", &text)], |list| list[1].resource.set_name("new").unwrap(), &[("x.yaml", &expected)]);
    let foreign = format!("{odd}{}  labels: {{}}\n---\n# comment only\n---\n{}", cm("b"), cm("c"));
    check(
        &[("x.yaml", &text)],
        |list| list[1].resource = Resource::parse(&format!("---\n{}  labels: {{}}\n", cm("b"))).unwrap(),
        &[("x.yaml", &foreign)],
    );
}

#[test]
fn layout_alone_is_no_change() {
    let text = "apiVersion:   v1\nkind: \"ConfigMap\"\n\nmetadata: &m\n    name: a # why\ndata:\n- *m\n";
    let same = "{apiVersion: v1, kind: ConfigMap, metadata: {\nname: a # why\n}, data: [{name: a}]}\n";
    let changed =
        |with: &'static str| move |list: &mut Vec<Placed>| list[0].resource = Resource::parse(with).unwrap();
    let check_against = |with: &'static str, expected: &str| {
        check(&[("x.yaml", text)], changed(with), &[("x.yaml", expected)]);
    };
    let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # why\ndata:\n- name: a # why\n";
    check_against(plain, text);
    check_against(same, same);
    let no_comment = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n- name: a\n";
    check_against(no_comment, no_comment);
    let reordered = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a # why\ndata:\n- name: a # why\n";
    check_against(reordered, reordered);
}

#[test]
fn a_trip_through_a_list_changes_nothing() {
    let text = format!(
        "# licence\n\n{}data:\n    wide: |\n        text\n    list:\n      - 'a' # b\n\n# foot\n---\n{}",
        cm("a"),
        cm("b")
    );
    let mut package = package(&[("d/x.yaml", &text), ("y.yaml", &cm("c"))]);
    let before = package.clone();
    let mut list = ResourceList::default();
    for located in package.resources(options()).unwrap() {
        let mut resource = located.resource;
        let location = lanai_krm::resource::Location { path: located.path.to_string(), index: located.index };
        resource.set_location(&location).unwrap();
        list.items.push(resource);
    }
    let back: ResourceList = ResourceList::parse(&list.to_string()).unwrap();
    let placed: Vec<_> = back.items.into_iter().map(|item| Placed::from_annotations(item).unwrap()).collect();
    package.write_resources(placed, options()).unwrap();
    assert_eq!(texts(&package), texts(&before));
}

#[test]
fn deleted_documents_go_with_their_separator() {
    let [a, b, c] = ["a", "b", "c"].map(cm);
    let abc = format!("{a}---\n{b}---\n{c}");
    let check = |at: usize, expected: &str| {
        check(&[("x.yaml", &abc)], |list| drop(list.remove(at)), &[("x.yaml", expected)]);
    };
    check(0, &format!("{b}---\n{c}"));
    check(1, &format!("{a}---\n{c}"));
    check(2, &format!("{a}---\n{b}"));
}

#[test]
fn comments_before_the_first_document_stay() {
    let [a, b] = ["a", "b"].map(cm);
    let remove_first = |list: &mut Vec<Placed>| drop(list.remove(0));
    check(
        &[("x.yaml", &format!("# lic\n---\n{a}---\n{b}"))],
        remove_first,
        &[("x.yaml", &format!("# lic\n---\n{b}"))],
    );
    check(&[("x.yaml", &format!("---\n{a}---\n{b}"))], remove_first, &[("x.yaml", &format!("---\n{b}"))]);
    check(
        &[("x.yaml", &format!("---\n# comment only\n---\n{a}---\n{b}...\n# end\n"))],
        remove_first,
        &[("x.yaml", &format!("---\n# comment only\n---\n{b}...\n# end\n"))],
    );
}

#[test]
fn comments_before_a_marker_are_not_doubled() {
    let text = format!("# lic\n\n# two\n---\n{}", cm("a"));
    let through = |body: &str| {
        let resource = Resource::parse(&format!("# lic\n# two\n{body}")).unwrap();
        move |list: &mut Vec<Placed>| list[0].resource = resource
    };
    check(&[("x.yaml", &text)], through(&cm("a")), &[("x.yaml", &text)]);
    check(&[("x.yaml", &text)], through(&cm("b")), &[("x.yaml", &text.replace("name: a", "name: b"))]);
    let lost = |list: &mut Vec<Placed>| list[0].resource = Resource::parse(&cm("b")).unwrap();
    check(&[("x.yaml", &text)], lost, &[("x.yaml", &text.replace("name: a", "name: b"))]);
}

#[test]
fn comments_that_end_before_the_first_document_stay() {
    let [a, b] = ["a", "b"].map(cm);
    let text = format!("# lic\n...\n---\n{a}---\n{b}");
    let expected = format!("# lic\n...\n---\n{b}");
    check(&[("x.yaml", &text)], |list| drop(list.remove(0)), &[("x.yaml", &expected)]);
    let swapped = format!("{b}---\n# lic\n{a}");
    check(
        &[("x.yaml", &text)],
        |list| (list[0].index, list[1].index) = (Some(9), Some(8)),
        &[("x.yaml", &format!("# lic\n...\n---\n{swapped}"))],
    );
}

#[test]
fn a_file_without_resources_is_deleted_unless_it_never_had_one() {
    let text = format!("# licence\n---\n{}", cm("a"));
    let files = [("empty.yaml", "# nothing\n"), ("other.yaml", "replicas: 1\n"), ("x.yaml", text.as_str())];
    check(&files, Vec::clear, &files[..2]);
    let mixed = format!("replicas: 1\n---\n{}", cm("a"));
    check(&[("x.yaml", &mixed)], Vec::clear, &[("x.yaml", "replicas: 1\n")]);
}

#[test]
fn a_resource_that_moves_is_in_one_file_only() {
    let [a, b] = ["a", "b"].map(cm);
    let text = format!("{a}---\n{b}");
    let go = |to: &'static str, at: usize| move |list: &mut Vec<Placed>| list[at].path = Some(path(to));
    check(&[("x.yaml", &text)], go("d/new.yaml", 1), &[("d/new.yaml", &b), ("x.yaml", &a)]);
    check(&[("x.yaml", &text)], go("d/new.yaml", 0), &[("d/new.yaml", &a), ("x.yaml", &b)]);
    check(&[("x.yaml", &a)], go("x.yaml.d/y.yaml", 0), &[("x.yaml.d/y.yaml", &a)]);
    let onto = |list: &mut Vec<Placed>| (list[1].path, list[1].index) = (Some(path("x.yaml")), None);
    check(&[("x.yaml", &a), ("y.yaml", &b)], onto, &[("x.yaml", &text)]);
    let taken = |list: &mut Vec<Placed>| list[1].path = Some(path("x.yaml"));
    let error = refused(&[("x.yaml", &a), ("y.yaml", &b)], taken);
    assert_eq!(error, "resource at path \"x.yaml\" and index \"0\" already exists");
}

#[test]
fn a_file_can_take_the_place_of_a_folder_that_goes() {
    let a = cm("a");
    check(&[("d.yaml/x.yaml", &a)], |list| list[0].path = Some(path("d.yaml")), &[("d.yaml", &a)]);
    let error =
        refused(&[("d.yaml/README.md", ""), ("x.yaml", &a)], |list| list[0].path = Some(path("d.yaml")));
    assert_eq!(error, "config.kubernetes.io/path cannot be a directory: d.yaml");
}

#[test]
fn indices_give_the_order() {
    let [a, b, c] = ["a", "b", "c"].map(cm);
    let ab = format!("{a}---\n{b}");
    check(
        &[("x.yaml", &ab)],
        |list| (list[0].index, list[1].index) = (Some(1), Some(0)),
        &[("x.yaml", &format!("{b}---\n{a}"))],
    );
    // What has no index gets the highest one; at equal indices the order of the list decides.
    let last = |list: &mut Vec<Placed>| list.push(new(&c, Some("x.yaml")));
    check(&[("x.yaml", &ab)], last, &[("x.yaml", &format!("{ab}---\n{c}"))]);
    let first = |list: &mut Vec<Placed>| list.insert(0, new(&c, Some("x.yaml")));
    check(&[("x.yaml", &ab)], first, &[("x.yaml", &format!("{a}---\n{c}---\n{b}"))]);
}

#[test]
fn new_resources_get_a_file() {
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  namespace: prod\n";
    let expected = [("configmap_a.yaml", cm("a")), ("prod/service_web.yaml", service.to_owned())];
    check(
        &[],
        |list| list.extend([new(service, None), new(&format!("---\n{}", cm("a")), None)]),
        &expected.each_ref().map(|(path, text)| (*path, text.as_str())),
    );
    let folder = path("sub");
    let default =
        |text: &str| default_path(&Resource::parse(text).unwrap(), Some(&folder)).unwrap().to_string();
    assert_eq!(default(service), "sub/prod/service_web.yaml");
    assert_eq!(default("a: 1\n"), "sub/_.yaml");
    let evil = Resource::parse("kind: A\nmetadata: {name: x, namespace: ../..}\n").unwrap();
    assert!(default_path(&evil, None).is_err());
}

#[test]
fn no_path_leaves_the_package() {
    let check = |raw: &str, expected: &str| {
        let path = resource_path(raw).map_or_else(|error| error.to_string(), |path| path.to_string());
        assert_eq!(path, expected, "{raw:?}");
    };
    check("a/../b.yaml", "b.yaml");
    check("./a//b/.", "a/b");
    check("/abs/x.yaml", "abs/x.yaml");
    check("/../../x.yaml", "x.yaml");
    check("../x.yaml", "function must not modify resources outside of package: resource has path ../x.yaml");
    check("a/../../x", "function must not modify resources outside of package: resource has path a/../../x");
    check("..", "function must not modify resources outside of package: resource has path ..");
    check("a/..", "config.kubernetes.io/path cannot be a directory: a/..");
    check(
        ".git/x.yaml",
        "path \".git/x.yaml\" leads into a git repository's own folder on some file systems",
    );
    check("a\\..\\b", "path \"a\\\\..\\\\b\" has a backslash");
}

#[test]
fn annotations_between_tools_are_not_written() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    mine: x\n    config.kubernetes.io/path: 'd/x.yaml'\n    internal.config.kubernetes.io/path: 'd/x.yaml'\n    internal.config.kubernetes.io/index: '0'\n    internal.config.kubernetes.io/package-path: 'p'\n    config.k8s.io/id: '3'\n    config.kubernetes.io/local-config: 'true'\n";
    let placed = Placed::from_annotations(Resource::parse(text).unwrap()).unwrap();
    assert_eq!((placed.path.as_ref().map(SafePath::as_str), placed.index), (Some("d/x.yaml"), Some(0)));
    let expected = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    mine: x\n    config.kubernetes.io/local-config: 'true'\n";
    check(&[], |list| list.push(placed), &[("d/x.yaml", expected)]);
    check(&[], |list| list.push(new(text, Some("y.yaml"))), &[("y.yaml", expected)]);
    check(&[("z.yaml", text)], |_| {}, &[("z.yaml", text)]);
    let bad = text.replace("index: '0'", "index: 'x'");
    let error = Placed::from_annotations(Resource::parse(&bad).unwrap()).unwrap_err().to_string();
    assert_eq!(error, "resource at path \"d/x.yaml\": index \"x\" is not a whole number");
}

#[test]
fn json_stays_json_while_there_is_one_resource() {
    let json =
        "{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {\"name\": \"a\"}\n}\n";
    check(&[("x.json", json)], |_| {}, &[("x.json", json)]);
    check(
        &[("x.json", json)],
        |list| list[0].resource.set_name("b").unwrap(),
        &[("x.json", &json.replace("\"a\"", "\"b\""))],
    );
    let anew = "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"ConfigMap\",\n  \"metadata\": {\n    \"name\": \"c\"\n  }\n}\n";
    check(
        &[("x.json", json)],
        |list| list[0].resource = Resource::parse(&cm("c")).unwrap(),
        &[("x.json", anew)],
    );
    check(&[], |list| list.push(new(&cm("c"), Some("n.json"))), &[("n.json", anew)]);
    let numbers = "kind: A\nn: [1.50, 0x1f, 18446744073709551615, -1, 1e3, 123456789012345678901234567890]\ns: &s yes\nt: *s\n";
    let written = "{\n  \"kind\": \"A\",\n  \"n\": [\n    1.5,\n    31,\n    18446744073709551615,\n    -1,\n    1000.0,\n    1.2345678901234568e+29\n  ],\n  \"s\": \"yes\",\n  \"t\": \"yes\"\n}\n";
    check(&[], |list| list.push(new(numbers, Some("n.json"))), &[("n.json", written)]);
    let two = format!("{json}---\n{}", cm("c"));
    check(&[("x.json", json)], |list| list.push(new(&cm("c"), Some("x.json"))), &[("x.json", &two)]);
}

#[test]
fn files_that_hold_no_resources_are_not_overwritten() {
    let a = cm("a");
    let to = |to: &'static str| move |list: &mut Vec<Placed>| list[0].path = Some(path(to));
    let files =
        [("README.md", "# hi\n"), (".krmignore", "skip/\n"), ("skip/x.yaml", "a: ["), ("x.yaml", a.as_str())];
    let text = "is ignored or is no resource file; a resource cannot be written to it";
    assert_eq!(refused(&files, to("README.md")), format!("file \"README.md\" {text}"));
    assert_eq!(refused(&files, to("skip/x.yaml")), format!("file \"skip/x.yaml\" {text}"));
    assert_eq!(refused(&files, to("skip/new.yaml")), format!("file \"skip/new.yaml\" {text}"));
    assert_eq!(refused(&files, to("new.txt")), format!("file \"new.txt\" {text}"));
}

#[test]
fn a_missing_last_line_break_is_no_part_of_a_value() {
    let literal = format!("{}data:\n  k: |  # why\n    text", cm("a"));
    let expected = format!("{}---\n{}", literal.replace("|  #", "|-  #") + "\n", cm("b"));
    check(&[("x.yaml", &literal)], |list| list.push(new(&cm("b"), Some("x.yaml"))), &[("x.yaml", &expected)]);
    let plain = cm("a").trim_end().to_owned();
    let expected = format!("{plain}\n---\n{}", cm("b"));
    check(&[("x.yaml", &plain)], |list| list.push(new(&cm("b"), Some("x.yaml"))), &[("x.yaml", &expected)]);
}

#[test]
fn line_breaks_and_directives_are_kept() {
    let crlf = |text: String| text.replace('\n', "\r\n");
    let text = crlf(format!("{}---\n{}", cm("a"), cm("b")));
    let expected = crlf(cm("b"));
    check(&[("x.yaml", &text)], |list| drop(list.remove(0)), &[("x.yaml", &expected)]);
    let text = format!("{}...\n%YAML 1.2\n---\n{}", cm("a"), cm("b"));
    let expected = format!("{}...\n---\n{}...\n%YAML 1.2\n---\n{}", cm("a"), cm("c"), cm("b"));
    let between = |list: &mut Vec<Placed>| list.insert(1, new(&cm("c"), Some("x.yaml")));
    check(&[("x.yaml", &text)], between, &[("x.yaml", &expected)]);
}

#[test]
fn modes_and_limits_hold() {
    let limits = Limits { max_files: 1, ..Limits::DEFAULT };
    let file = File::new(cm("a").into_bytes(), Mode::Executable);
    let mut package = Package::from_entries([("x.yaml", file)], limits).unwrap();
    let mut list = package.resources(options()).unwrap();
    list[0].resource.set_name("b").unwrap();
    package.write_resources(list.clone(), options()).unwrap();
    assert_eq!(package.get(&path("x.yaml")).unwrap().mode(), Mode::Executable);
    list[0].path = path("y.yaml");
    package.write_resources(list.clone(), options()).unwrap();
    assert_eq!(texts(&package), [("y.yaml", cm("b").as_str())]);
    list.push(Located { path: path("z.yaml"), ..list[0].clone() });
    let error = package.write_resources(list, options()).unwrap_err().to_string();
    assert_eq!(error, "the package has more than the 1 files that are allowed");
}
