//! Properties: what holds for every text and every edit, not only for those that somebody thought of.

pub mod bodies;
mod choices;
mod edits;
mod judge;
mod locality;
mod model;
mod text;

use lanai_yaml::{Document, Stream};
use proptest::prelude::*;

use choices::Choices;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

fn stream(choices: &[u8]) -> String {
    text::stream(&mut Choices::new(choices))
}

proptest! {
    #[test]
    fn what_people_write_is_read_and_written_as_it_was(choices in bytes(300)) {
        let text = stream(&choices);
        let parsed = Stream::parse(text.as_str());
        prop_assert!(parsed.is_ok(), "{:#}\n{text}\n{text:?}", parsed.unwrap_err());
        bodies::yaml_parse(text.as_bytes());
        let judged = judge::judge(&text);
        prop_assert!(judged.is_ok(), "{}\n{text}", judged.unwrap_err());
        let shapes = judged.unwrap().documents;
        let models: Vec<_> = parsed.unwrap().documents().iter().map(|document| model::Node::read(document.root())).collect();
        prop_assert_eq!(shapes.len(), models.len(), "{}", text);
        for (model, shape) in models.iter().zip(&shapes) {
            prop_assert!(model.agrees(shape), "{model:?}\n{shape:?}\n{text}");
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in bytes(64)) {
        bodies::yaml_parse(&bytes);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s)[a: \n\r\t#'\"\\[\\]{},&*!|>%?0\\-\\\\\u{85}\u{feff}é]{0,40}") {
        bodies::yaml_parse(text.as_bytes());
    }

    #[test]
    fn one_edit_changes_its_entry_only(choices in bytes(200), edits in bytes(24)) {
        bodies::edit_text(&stream(&choices), &edits, 1);
    }

    #[test]
    fn edits_do_what_the_model_says(choices in bytes(200), edits in bytes(100)) {
        bodies::edit_text(&stream(&choices), &edits, 6);
    }
}

#[test]
fn documents_can_be_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Document>();
    check::<Stream>();
    check::<lanai_yaml::Content>();
}
