//! What holds for any three packages.

#[expect(dead_code, reason = "shared with the properties of YAML")]
#[path = "../../../yaml/tests/it/properties/choices.rs"]
mod choices;
mod merging;
mod sides;

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// How many packages each property sees.
const CASES: u32 = 300;

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn merges_of_packages(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        merging::merge(&bytes);
    }

    #[test]
    fn changes_of_both_sides_arrive(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        merging::both_arrive(&bytes);
    }

    #[test]
    fn merges_of_texts(text in "([a-z]: ?|- |\\n|  |#|---\\n|\\{|\\}|&a |\\*a|[|]\\n|\"|\t|\\[|\\]){0,72}") {
        merging::merge(&[&[u8::MAX], text.as_bytes()].concat());
    }
}

/// What the fuzzer began with and what it found.
#[test]
fn seeds_and_regressions() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut count = 0;
    for folder in ["seeds/merge", "regressions/merge"] {
        for entry in std::fs::read_dir(fuzz.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            println!("{}", path.display());
            merging::merge(&std::fs::read(&path).unwrap());
            count += 1;
        }
    }
    assert!(count > 0);
}
