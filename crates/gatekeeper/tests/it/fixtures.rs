//! The function on the lists of `fixtures`, and beside the program of the public catalog. `lanai_testkit::functions` says what stands
//! in a case.

use lanai_gatekeeper::function;
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
    // The program lists these in the order of a hash table.
    let by_chance = &["missing-template", "parameters-several"];
    Fixtures { function: function(), root, min_cases: 15, effect: Effect::LooksOnly, by_chance }
}

#[test]
fn the_code_is_the_users() {
    assert_eq!(function().code(), lanai_functions::Code::Users);
}
