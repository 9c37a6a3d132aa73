//! The functions on the lists of `fixtures`, and beside the programs of the public catalog. `lanai_testkit::functions` says what
//! stands in a case.

use std::fs;

use lanai_functions::catalog;
use lanai_testkit::functions::{self, Effect, Fixtures};

/// How many cases a function has at least.
const MIN_CASES: usize = 6;

/// The functions that only read resources.
const LOOK_ONLY: &[&str] = &["list-setters", "no-op"];

/// The functions that are there to change text without changing what it means.
pub const CHANGE_TEXT: &[&str] = &["create-setters", "drop-comments", "format", "search-replace"];

#[test]
fn every_function_answers_as_its_fixtures_say() {
    functions::assert_answers(&all());
}

#[test]
fn every_answer_is_like_the_catalog_or_a_listed_deviation() {
    functions::assert_like_the_catalog(&all());
}

#[test]
fn every_fixture_is_used() {
    functions::assert_all_used(&all());
}

fn all() -> Vec<Fixtures<'static>> {
    let fixtures = |function: &&'static dyn lanai_functions::Function| {
        let name = function.name();
        let by_chance: &[&str] = match name {
            "apply-setters" => &["value-with-hole"],
            "create-setters" => &["same-value"],
            _ => &[],
        };
        let effect = if LOOK_ONLY.contains(&name) {
            Effect::LooksOnly
        } else if CHANGE_TEXT.contains(&name) {
            Effect::ChangesText
        } else {
            Effect::Edits
        };
        let root = functions::root(env!("CARGO_MANIFEST_DIR"));
        Fixtures { function: *function, root, min_cases: MIN_CASES, effect, by_chance }
    };
    catalog().iter().map(fixtures).collect()
}

/// The lists of all cases.
pub fn inputs() -> Vec<String> {
    let cases = all().into_iter().flat_map(|fixtures| fixtures.cases());
    cases.map(|case| fs::read_to_string(case.join("input.yaml")).unwrap()).collect()
}
