#![no_main]
//! The bodies are those of the property tests of `lanai-merge`.

#[expect(dead_code, reason = "shared with the targets of YAML")]
#[path = "../../crates/yaml/tests/it/properties/choices.rs"]
mod choices;
#[path = "../../crates/merge/tests/it/properties/merging.rs"]
mod merging;
#[path = "../../crates/merge/tests/it/properties/sides.rs"]
mod sides;
#[path = "../../crates/merge/tests/it/properties/silence.rs"]
mod silence;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    merging::merge(bytes);
    merging::both_arrive(bytes);
});
