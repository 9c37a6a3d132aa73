//! Looks at SQLite's write-ahead log before SQLite does.
//!
//! SQLite reads its log up to the first frame that is not whole, and forgets the rest; a log whose header is not whole it forgets as a whole.
//! That is right for the end of a log that was being written when the power went, and for one that was just begun anew. It would
//! silently lose commits if the log was damaged later. The cases can be told apart:
//!
//! - Each commit is synced before the next one is written, so behind a torn frame there is at most the end of one commit.
//! - The checksum of a frame covers that of the frame before it, and not its salts: a frame that follows and has other salts was changed.
//! - The header is synced before any frame, and is written anew only when the database has all that the frames hold. Frames that fit
//!   together behind a header that is not whole are damage if they hold a page that the database does not have.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// What is wrong with the log of a database, if it lost something that was committed.
pub(crate) fn damage(log: &Path, database: &Path) -> io::Result<Option<String>> {
    let mut file = BufReader::new(File::open(log)?);
    let mut header = [0; HEADER];
    if !fill(&mut file, &mut header)? {
        return Ok(None);
    }
    match Header::of(&header) {
        Some(header) => damaged_frames(&mut file, &header),
        None => damaged_header(&header, log, database),
    }
}

/// A header that is whole.
struct Header {
    order: Order,
    page: usize,
    salts: [u8; 8],
    sum: Sum,
}

impl Header {
    fn of(bytes: &[u8; HEADER]) -> Option<Self> {
        let magic = number(bytes, 0);
        if magic & !1 != MAGIC {
            return None;
        }
        let order = if magic & 1 == 1 { Order::Big } else { Order::Little };
        let page = page_size(number(bytes, 8))?;
        let sum = Sum::default().and(&bytes[..24], order);
        sum.is(&bytes[24..32]).then(|| Self {
            order,
            page,
            salts: bytes[16..24].try_into().expect("eight bytes"),
            sum,
        })
    }
}

/// Frames behind the one at which SQLite would stop.
fn damaged_frames(file: &mut impl Read, header: &Header) -> io::Result<Option<String>> {
    let mut frame = vec![0; FRAME_HEADER + header.page];
    let mut sum = header.sum;
    let mut stopped_at = None;
    let mut commits_behind = 0;
    let mut was_changed = false;
    let mut at = 0;
    while fill(file, &mut frame)? {
        at += 1;
        let is_of_this_round = frame[8..16] == header.salts;
        if stopped_at.is_none() {
            let next = sum.and(&frame[..8], header.order).and(&frame[FRAME_HEADER..], header.order);
            let follows = next.is(&frame[16..24]);
            if follows && is_of_this_round {
                sum = next;
                continue;
            }
            stopped_at = Some(at);
            was_changed = follows;
        }
        if number(&frame, 4) != 0 && (is_of_this_round || was_changed && stopped_at == Some(at)) {
            commits_behind += 1;
        }
    }
    let is_damage = commits_behind > 1 || was_changed && commits_behind > 0;
    Ok(stopped_at.filter(|_| is_damage).map(|frame| {
        format!(
            "frame {frame} is not as it was written, and {} from there on would be lost",
            commits(commits_behind)
        )
    }))
}

/// Commits behind a header of which SQLite would forget everything.
fn damaged_header(header: &[u8; HEADER], log: &Path, database: &Path) -> io::Result<Option<String>> {
    let database = match File::open(database) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut size = [0; 2];
    let of_database = match database.read_exact_at(&mut size, 16) {
        Ok(()) => match u16::from_be_bytes(size) {
            1 => page_size(65_536),
            other => page_size(other.into()),
        },
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
        Err(error) => return Err(error),
    };
    let mut pages: Vec<usize> = of_database.into_iter().chain(page_size(number(header, 8))).collect();
    pages.dedup();
    for page in pages {
        for order in [Order::Big, Order::Little] {
            let found = Chain::read(header, log, page, order)?;
            if found.commits > 0 && found.is_news_to(&database, log, page)? {
                return Ok(Some(format!(
                    "its header is not as it was written, and {} behind it would be lost",
                    commits(found.commits)
                )));
            }
        }
    }
    Ok(None)
}

/// The first frames that fit to each other.
#[derive(Default)]
struct Chain {
    commits: u64,
    /// Where the log has the newest committed content of each page.
    content: BTreeMap<u32, u64>,
    /// Pages of the database behind the last commit.
    length: u32,
}

impl Chain {
    fn read(header: &[u8; HEADER], log: &Path, page: usize, order: Order) -> io::Result<Self> {
        let mut file = BufReader::new(File::open(log)?);
        fill(&mut file, &mut [0; HEADER])?;
        let mut frame = vec![0; FRAME_HEADER + page];
        let mut chain = Self::default();
        let mut open = BTreeMap::new();
        // The header may be wrong in what it says, or in its sum.
        let mut before = vec![Sum::default().and(&header[..24], order), Sum::stored(&header[24..32])];
        let mut salts: Option<[u8; 8]> = None;
        let mut has_begun = false;
        let mut place = HEADER as u64;
        while fill(&mut file, &mut frame)? {
            let content = place + FRAME_HEADER as u64;
            place += frame.len() as u64;
            let has_salts = salts.is_none_or(|salts| frame[8..16] == salts);
            let sums =
                before.iter().map(|sum| sum.and(&frame[..8], order).and(&frame[FRAME_HEADER..], order));
            let follows = has_salts && sums.into_iter().any(|sum| sum.is(&frame[16..24]));
            before = vec![Sum::stored(&frame[16..24])];
            salts = frame[8..16].try_into().ok();
            if !follows {
                if has_begun {
                    break;
                }
                continue;
            }
            has_begun = true;
            open.insert(number(&frame, 0), content);
            let length = number(&frame, 4);
            if length != 0 {
                chain.commits += 1;
                chain.length = length;
                chain.content.append(&mut open);
            }
        }
        Ok(chain)
    }

    /// True if the database does not have all of it.
    fn is_news_to(&self, database: &File, log: &Path, page: usize) -> io::Result<bool> {
        let log = File::open(log)?;
        let (mut here, mut there) = (vec![0; page], vec![0; page]);
        for (number, place) in self.content.range(1..=self.length) {
            log.read_exact_at(&mut here, *place)?;
            match database.read_exact_at(&mut there, u64::from(number - 1) * page as u64) {
                Ok(()) if here == there => {}
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

#[derive(Debug, Clone, Copy)]
enum Order {
    Big,
    Little,
}

/// The running checksum of the log.
#[derive(Debug, Clone, Copy, Default)]
struct Sum(u32, u32);

impl Sum {
    fn stored(bytes: &[u8]) -> Self {
        Self(number(bytes, 0), number(bytes, 4))
    }

    /// The sum of what was before, and these bytes.
    fn and(mut self, bytes: &[u8], order: Order) -> Self {
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
        self
    }

    fn is(self, stored: &[u8]) -> bool {
        number(stored, 0) == self.0 && number(stored, 4) == self.1
    }
}

fn page_size(raw: u32) -> Option<usize> {
    let size = raw as usize;
    (size.is_power_of_two() && (512..=65_536).contains(&size)).then_some(size)
}

fn commits(number: u64) -> String {
    if number == 1 { "one commit".into() } else { format!("{number} commits") }
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
