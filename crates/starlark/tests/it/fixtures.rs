//! The function on the lists of `fixtures`, and beside the program of the public catalog. `lanai_testkit::functions` says what stands
//! in a case.

use lanai_functions::Code;
use lanai_krm::{Resource, ResourceList};
use lanai_starlark::function;
use lanai_testkit::functions::{self, Effect, Fixtures};

#[test]
fn the_function_answers_as_its_fixtures_say() {
    functions::assert_answers(&[all()]);
}

#[test]
fn every_answer_is_like_the_catalog_or_a_listed_deviation() {
    functions::assert_like_the_catalog(&[all()]);
}

#[test]
fn every_fixture_is_used() {
    functions::assert_all_used(&[all()]);
}

fn all() -> Fixtures<'static> {
    let root = functions::root(env!("CARGO_MANIFEST_DIR"));
    Fixtures { function: function(), root, min_cases: 25, effect: Effect::RunsScripts, by_chance: &[] }
}

#[test]
fn the_example_runs_and_the_code_is_the_users() {
    let config = Resource::parse(function().doc().example).unwrap();
    let mut list = ResourceList { function_config: Some(config), ..ResourceList::default() };
    list.items = vec![Resource::parse("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n").unwrap()];
    assert_eq!(function().run(&mut list), Ok(()));
    assert_eq!(list.items[0].annotation("team").as_deref(), Some("blue"));
    assert_eq!(function().code(), Code::Users);
}
