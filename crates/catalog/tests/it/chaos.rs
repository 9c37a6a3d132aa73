//! Lookups while results are evicted, deleted and damaged.

use std::fs;

use bytes::Bytes;
use lanai_catalog::{Begun, Options};
use lanai_types::ByteSize;

use crate::life::blobs;
use crate::{inputs, open, soaks, subject};

/// A generator of numbers that look random, and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What work of that name makes.
fn result(name: u64) -> Vec<u8> {
    format!("result {name} ").repeat(8 + usize::try_from(name % 40).unwrap()).into_bytes()
}

#[tokio::test]
async fn there_is_no_wrong_hit() {
    let lookups = if soaks() { 100_000 } else { 2_000 };
    let folder = tempfile::tempdir().unwrap();
    // About half of all that is asked for has room.
    let options = Options { max_bytes: ByteSize::kib(20), ..Options::default() };
    let catalog = open(folder.path(), options);
    let mut dice = Dice(20_261_118);
    let (mut hits, mut misses) = (0_u32, 0_u32);
    for round in 0..lookups {
        let name = dice.below(80).min(dice.below(80));
        match catalog.begin(&inputs(&name.to_string()), &subject()).await {
            Begun::Hit(hit) => {
                assert_eq!(hit.content, result(name), "round {round}");
                hits += 1;
            }
            Begun::Run(ticket, _) => {
                misses += 1;
                if dice.below(8) > 0 {
                    ticket.keep(Bytes::from(result(name))).await;
                }
            }
        }
        if dice.below(10) == 0 {
            let files = blobs(folder.path());
            let Some(path) = files.get(usize::try_from(dice.below(files.len().max(1) as u64)).unwrap())
            else {
                continue;
            };
            let Ok(mut content) = fs::read(path) else { continue };
            match dice.below(3) {
                0 => fs::remove_file(path).unwrap(),
                1 => fs::write(path, &content[..content.len() / 2]).unwrap(),
                _ => {
                    let at = usize::try_from(dice.below(content.len().max(1) as u64)).unwrap();
                    if let Some(byte) = content.get_mut(at) {
                        *byte ^= 1 << dice.below(8);
                    }
                    fs::write(path, content).unwrap();
                }
            }
        }
    }
    assert!(hits > lookups / 10 && misses > lookups / 10, "{hits} hits and {misses} misses");
}
