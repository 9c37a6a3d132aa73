//! What holds for any three packages.

#[expect(dead_code, reason = "shared with the properties of YAML")]
#[path = "../../../yaml/tests/it/properties/choices.rs"]
mod choices;
mod merging;
mod sides;
mod silence;
mod variants;

use std::path::Path;

use proptest::prelude::*;

/// How many packages each property sees; `PROPTEST_CASES` asks for another number.
const CASES: u32 = 300;

fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { config.cases } else { CASES };
    ProptestConfig { cases, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn merges_of_packages(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        merging::merge(&bytes);
    }

    #[test]
    fn merges_of_variants(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        variants::merge(&bytes);
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
            let bytes = std::fs::read(&path).unwrap();
            merging::merge(&bytes);
            merging::both_arrive(&bytes);
            count += 1;
        }
    }
    assert!(count > 0);
}
