//! One function on a whole tree.

use lanai_evaluate::FunctionRef;
use lanai_krm::{Resource, Selector};
use lanai_render::{Evaluated, EvaluatedItems, Options, RenderLimits, Step, eval, eval_items};

use crate::functions::{Functions, Way};
use crate::rendering::{kptfile, mutators, options, package, resource, texts, wait};

fn step(script: &str) -> Step {
    let (config, withheld) = (None, None);
    let function = FunctionRef::Exec(script.into());
    Step { function, config, withheld, selectors: Vec::new(), exclude: Vec::new() }
}

fn evaluated(files: &[(&str, &str)], step: &Step) -> (Evaluated, Vec<String>) {
    let package = package(files);
    let [inside, wire] = [Way::Inside, Way::Wire].map(|way| {
        let functions = Functions::new(way);
        (wait(eval(&package, step, &options(), &functions, &mut ())), functions.calls())
    });
    assert_eq!(texts(&inside.0.package), texts(&wire.0.package));
    assert_eq!(inside.1, wire.1);
    wire
}

#[test]
fn the_whole_tree_is_one_list_and_pipelines_do_not_run() {
    let (p, a) = (mutators("p", &["fail 1"]), kptfile("a", ""));
    let (x, z) = (resource("x"), resource("z"));
    let files = [("Kptfile", p.as_str()), ("a/Kptfile", &a), ("a/x.yaml", &x), ("z.yaml", &z)];
    let (evaluated, calls) = evaluated(&files, &step("mark f"));
    assert_eq!(calls, ["mark f: p a x z"]);
    assert!(evaluated.failure.is_none());
    assert_eq!(evaluated.results.items.len(), 1);
    assert!(texts(&evaluated.package)["a/x.yaml"].contains("by: f"));
    assert_eq!(evaluated.items[2].path().unwrap(), "a/x.yaml");
}

#[test]
fn no_kptfile_is_needed_and_everything_can_go() {
    let (evaluated, _) = evaluated(&[("a/x.yaml", &resource("x")), ("README", "r")], &step("delete-all"));
    assert_eq!(texts(&evaluated.package).into_keys().collect::<Vec<_>>(), ["README"]);
}

#[test]
fn the_file_that_configures_is_not_seen_and_stays() {
    let (c, x) = (resource("c"), resource("x"));
    let withheld = Some("conf.yaml".parse().unwrap());
    let config = Some(Resource::parse(&c).unwrap());
    let files = [("conf.yaml", c.as_str()), ("x.yaml", &x)];
    let (evaluated, calls) = evaluated(&files, &Step { withheld, config, ..step("mark-config") });
    assert_eq!(calls, ["mark-config: x"]);
    let texts = texts(&evaluated.package);
    assert_eq!(texts["conf.yaml"], c);
    assert!(texts["x.yaml"].contains("config: old"));
}

#[test]
fn what_is_chosen_is_seen() {
    let selector = Selector { kind: "A".into(), ..Selector::default() };
    let (p, x) = (kptfile("p", ""), resource("x"));
    let files = [("Kptfile", p.as_str()), ("x.yaml", &x)];
    let (_, calls) = evaluated(&files, &Step { selectors: vec![selector.clone()], ..step("mark f") });
    assert_eq!(calls, ["mark f: x"]);
    let (_, calls) = evaluated(&files, &Step { exclude: vec![selector], ..step("mark f") });
    assert_eq!(calls, ["mark f: p"]);
}

#[test]
fn failures_change_nothing() {
    let no_krm =
        "input resource list must contain only KRM resources: x.yaml: resource must have `apiVersion`";
    let outside = "function must not modify resources outside of package: resource has path ../n.yaml";
    for (text, script, error) in [
        (resource("x"), "fail 3", "function ended with exit code 3"),
        ("- 1\n".into(), "mark f", "file \"x.yaml\": line 1: a resource is a mapping, this is a list"),
        ("a: 1\n".into(), "mark f", no_krm),
        (resource("x"), "add n path=../n.yaml", outside),
        (resource("x"), "copy x", "resource at path \"x.yaml\" and index \"0\" already exists"),
    ] {
        let (evaluated, _) = evaluated(&[("x.yaml", &text)], &step(script));
        assert_eq!(evaluated.failure.unwrap().to_string(), error);
        assert_eq!(texts(&evaluated.package)["x.yaml"], text);
        assert!(evaluated.items.is_empty());
    }
}

#[test]
fn a_list_says_itself_where_its_resources_stand() {
    let item = |name: &str, path: &str| {
        let mut item = Resource::parse(&resource(name)).unwrap();
        item.set_annotation("config.kubernetes.io/path", path).unwrap();
        item
    };
    let run = |items: Vec<Resource>, max_items: usize| -> EvaluatedItems {
        let limits = RenderLimits { max_items, ..RenderLimits::DEFAULT };
        let options = Options { limits, ..options() };
        wait(eval_items(items, &step("mark f"), &options, &Functions::new(Way::Wire), &mut ()))
    };
    let items = vec![item("x", "d/x.yaml"), item("y", "y.yaml"), Resource::parse(&resource("z")).unwrap()];
    let done = run(items.clone(), 3);
    assert!(done.failure.is_none());
    let paths: Vec<_> = done.items.iter().map(|item| item.origin().unwrap().path.to_string()).collect();
    assert_eq!(paths, ["d/x.yaml", "y.yaml", "a_z.yaml"]);
    assert!(done.items.iter().all(|item| item.annotation("by").is_some()));
    let many = run(items, 2);
    assert_eq!(many.failure.unwrap().to_string(), "there are 3 resources, more than the 2 that are allowed");
    let twice = run(vec![item("x", "x.yaml"), item("y", "./x.yaml")], 3);
    let text = "resource at path \"x.yaml\" and index \"\" already exists";
    assert_eq!(twice.failure.unwrap().to_string(), text);
}
