//! Which image is asked for.

use lanai_krm::kptfile::Stage;
use lanai_render::{Options, Tags};

use crate::rendering::{kptfile, options, rendered_with};

struct Known;

impl Tags for Known {
    fn of(&self, image: &str) -> Vec<String> {
        let tags = ["v1.0.0", "v1.2.0", "v2.0.0-rc.1", "sha256-00"].map(str::to_owned);
        if image == "reg.example/fn/some" { tags.into() } else { Vec::new() }
    }
}

#[test]
fn names_and_tags_are_completed_and_the_kptfile_keeps_its_own() {
    for (function, image) in [
        ("image: some", "reg.example/fn/some:latest"),
        ("image: other.example/some:v1", "other.example/some:v1"),
        ("image: some:v0\n  tag: ^1", "reg.example/fn/some:v1.2.0"),
        ("image: some\n  tag: v9.9.9", "reg.example/fn/some:v9.9.9"),
        ("image: some\n  tag: unstable", "reg.example/fn/some:unstable"),
    ] {
        let text = kptfile("p", &format!("mutators:\n- {function}"));
        let seen = rendered_with(&[("Kptfile", &text)], &Options { tags: &Known, ..options() }).succeeded();
        assert_eq!(seen.rendered.status.mutation_steps[0].image, image);
        assert_eq!(seen.rendered.results.items[0].image, image);
        let kptfile = seen.kptfile();
        assert!(function.starts_with(&format!("image: {}", kptfile.functions(Stage::Mutators)[0].image)));
    }
}

#[test]
fn a_tag_that_none_fits_fails_before_anything_runs() {
    let text = kptfile("p", "mutators:\n- image: ok\n- image: some\n  tag: '>=3'");
    let seen = rendered_with(&[("Kptfile", &text)], &Options { tags: &Known, ..options() });
    let told = "Kptfile:8: \"some\": no tag could be found matching the version constraint \">=3\"";
    assert_eq!(seen.error(), format!("a function cannot run, and none did: {told}"));
    assert!(seen.calls.is_empty());
}
