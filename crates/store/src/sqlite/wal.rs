//! Looks at SQLite's write-ahead log before SQLite does.
//!
//! SQLite reads its log up to the first frame that is not whole, and forgets the rest. That is right for the end of a log that was being
//! written when the power went, and would silently lose commits if a frame in the middle was damaged later. The two can be told apart:
//! each commit is synced before the next one is written, so behind a torn frame there is at most the end of one commit.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// What is wrong with a log, if it lost something that was committed.
pub(crate) fn damage(path: &Path) -> io::Result<Option<String>> {
    let mut file = BufReader::new(File::open(path)?);
    let mut header = [0; HEADER];
    if !fill(&mut file, &mut header)? {
        return Ok(None);
    }
    let magic = number(&header, 0);
    if magic & !1 != MAGIC {
        // A header that is not whole was never synced, so nothing behind it was.
        return Ok(None);
    }
    let order = if magic & 1 == 1 { Order::Big } else { Order::Little };
    let page = number(&header, 8) as usize;
    if !page.is_power_of_two() || !(512..=65_536).contains(&page) {
        return Ok(None);
    }
    let mut sum = Sum::default();
    sum.add(&header[..24], order);
    if !sum.is(&header[24..32]) {
        return Ok(None);
    }
    let salts = &header[16..24];
    let mut frame = vec![0; FRAME_HEADER + page];
    let mut torn_at = None;
    let mut commits_behind = 0;
    let mut at = 0;
    while fill(&mut file, &mut frame)? {
        at += 1;
        if frame[8..16] != *salts {
            // What is left of an earlier round.
            if torn_at.is_none() {
                break;
            }
            continue;
        }
        if torn_at.is_none() {
            sum.add(&frame[..8], order);
            sum.add(&frame[FRAME_HEADER..], order);
            if sum.is(&frame[16..24]) {
                continue;
            }
            torn_at = Some(at);
        }
        if number(&frame, 4) != 0 {
            commits_behind += 1;
        }
    }
    Ok(torn_at.filter(|_| commits_behind > 1).map(|frame| {
        format!(
            "frame {frame} is not as it was written, and {commits_behind} commits from there on would be lost"
        )
    }))
}

#[derive(Clone, Copy)]
enum Order {
    Big,
    Little,
}

/// The running checksum of the log.
#[derive(Default)]
struct Sum(u32, u32);

impl Sum {
    fn add(&mut self, bytes: &[u8], order: Order) {
        let word = |part: &[u8]| {
            let part = part.try_into().expect("chunks have four bytes");
            match order {
                Order::Big => u32::from_be_bytes(part),
                Order::Little => u32::from_le_bytes(part),
            }
        };
        for pair in bytes.chunks_exact(8) {
            self.0 = self.0.wrapping_add(word(&pair[..4])).wrapping_add(self.1);
            self.1 = self.1.wrapping_add(word(&pair[4..])).wrapping_add(self.0);
        }
    }

    fn is(&self, stored: &[u8]) -> bool {
        number(stored, 0) == self.0 && number(stored, 4) == self.1
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Reads until the buffer is full; false at the end of the file.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
