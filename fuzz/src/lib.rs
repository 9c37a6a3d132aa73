//! The bodies of the fuzz targets. They are those of the property tests: `make test` runs them over `seeds` and
//! `regressions`, and a finding of the fuzzer becomes a test by copying one file.

#[path = "../../crates/yaml/tests/it/properties/bodies.rs"]
pub mod bodies;
#[path = "../../crates/yaml/tests/it/properties/choices.rs"]
mod choices;
#[path = "../../crates/yaml/tests/it/properties/comments.rs"]
mod comments;
#[path = "../../crates/yaml/tests/it/properties/edits.rs"]
mod edits;
#[path = "../../crates/yaml/tests/it/properties/going.rs"]
mod going;
#[path = "../../crates/yaml/tests/it/properties/judge.rs"]
mod judge;
#[path = "../../crates/yaml/tests/it/properties/locality.rs"]
mod locality;
#[path = "../../crates/yaml/tests/it/properties/model.rs"]
mod model;
#[path = "../../crates/yaml/tests/it/properties/names.rs"]
pub mod names;
#[path = "../../crates/yaml/tests/it/properties/owners.rs"]
mod owners;
#[path = "../../crates/yaml/tests/it/properties/text.rs"]
mod text;
