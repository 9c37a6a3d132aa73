//! Every function, as its page configures it, on the resources of all fixtures and on files of others.

use lanai_functions::{Function, catalog};
use lanai_krm::{Resource, ResourceList};
use lanai_testkit::functions::lost_comments;

use crate::fixtures::{CHANGE_TEXT, inputs};

/// The functions that remove nothing, so that all comments stay.
const KEEP_COMMENTS: &[&str] = &[
    "apply-replacements",
    "ensure-name-substring",
    "format",
    "list-setters",
    "no-op",
    "set-annotations",
    "set-enforcement-action",
    "set-image",
    "set-labels",
    "set-namespace",
    "set-project-id",
];

#[test]
fn what_functions_promise_holds_for_all_resources_of_the_fixtures() {
    let inputs = inputs();
    assert!(inputs.len() > 200, "the fixtures were found");
    for function in catalog() {
        let config = Resource::parse(function.doc().example).ok();
        for input in &inputs {
            let Ok(before) = ResourceList::parse(input) else { continue };
            let before = ResourceList { function_config: config.clone(), results: Vec::new(), ..before };
            check(*function, &before);
        }
    }
}

/// Runs a function twice: what it makes of a resource reads as what it is, what means the same is written the same, no comment
/// goes, and the second run changes nothing.
fn check(function: &dyn Function, before: &ResourceList) {
    let name = function.name();
    let mut after = before.clone();
    let done = function.run(&mut after);
    let mut again = ResourceList { results: Vec::new(), ..after.clone() };
    for item in again.items.iter_mut().filter(|item| item.document().is_edited()) {
        let read =
            Resource::parse(&item.to_string()).unwrap_or_else(|error| panic!("{name}: {error}\n{item}"));
        assert!(read.means_the_same(item), "{name} writes what reads as something else:\n{item}");
        *item = read;
    }
    let edited = after.items.iter().zip(&before.items).filter(|(item, _)| item.document().is_edited());
    for (after, before) in edited {
        if !CHANGE_TEXT.contains(&name) && before.means_the_same(after) {
            assert_eq!(before.to_string(), after.to_string(), "{name} writes anew without need");
        }
        if KEEP_COMMENTS.contains(&name) {
            assert_eq!(lost_comments([before], [after]), "", "{name}\n{before}\n{after}");
        }
    }
    if done.is_ok() {
        let mut twice = again.clone();
        assert_eq!(function.run(&mut twice), Ok(()), "{name}");
        let texts = |list: &ResourceList| list.items.iter().map(Resource::to_string).collect::<Vec<_>>();
        assert_eq!(texts(&twice), texts(&again), "{name} changes something when it runs again");
    }
}

#[test]
fn what_functions_promise_holds_for_files_of_others() {
    let Some(corpus) = lanai_testkit::corpus("manifests") else {
        lanai_testkit::skip(
            "what_functions_promise_holds_for_files_of_others",
            "the corpus \"manifests\" is not here",
        );
        return;
    };
    let (mut open, mut seen) = (vec![corpus], 0);
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).ok();
        let items = text.and_then(|text| Resource::parse_stream(&text).ok());
        let Some(items) = items.filter(|items| !items.is_empty()) else { continue };
        let list = ResourceList { items, ..ResourceList::default() };
        seen += list.items.len();
        for function in catalog() {
            let config = Resource::parse(function.doc().example).ok();
            check(*function, &ResourceList { function_config: config, ..list.clone() });
        }
    }
    assert!(seen > 500, "{seen} resources");
}
