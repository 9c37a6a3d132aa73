//! How often an edit is refused because there is no way to write it: never where people write plainly, and seldom in
//! texts that use all that YAML allows.

use lanai_yaml::edit::Error;
use lanai_yaml::{Document, Stream};

use super::choices::Choices;
use super::edits::Op;
use super::model::Node;
use super::text;

/// Bytes that look random and are the same each time.
struct Random(u64);

impl Random {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next().to_le_bytes()[5]).collect()
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Does one edit; tells whether it was refused because it cannot be written.
fn is_refused(document: &mut Document, random: &mut Random) -> bool {
    let bytes = random.bytes(40);
    let op = Op::choose(&mut Choices::new(&bytes), document, &Node::read(document.root()));
    matches!(op.apply(document), Err(Error::Unwritable(_)))
}

#[test]
fn plain_manifests_take_every_edit() {
    let mut random = Random(20_261_116);
    let stream = Stream::parse(lanai_testkit::manifests(7, 300)).expect("manifests are YAML");
    for document in stream.documents() {
        for _ in 0..4 {
            assert!(!is_refused(&mut document.clone(), &mut random), "{document}");
        }
    }
}

#[test]
fn few_edits_of_strange_texts_are_refused() {
    let mut random = Random(7);
    let (mut done, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let bytes = random.bytes(200);
        let text = text::stream(&mut Choices::new(&bytes));
        let Ok(mut stream) = Stream::parse(text) else { continue };
        for document in stream.documents_mut() {
            done += 1;
            refused += usize::from(is_refused(document, &mut random));
        }
    }
    assert!(done > 3_000 && refused * 500 < done, "{refused} of {done} edits were refused");
}
