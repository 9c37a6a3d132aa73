//! How much clients are shown of what functions reported, and of conflicts.
//!
//! A function may report as often as it likes, and two packages may differ in every line. What is kept of it stands in rows that are read with
//! each get, list and watch: so there is an end to it, and it is said how much was left out.

use lanai_krm::ResultItem;
use lanai_krm::result::Severity;
use lanai_types::ByteSize;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Cause;

/// How many results of functions, causes of a refusal, or conflicts there are at the most.
pub const MAX_REPORTED: usize = 1_000;
/// How many bytes they have together.
pub const MAX_REPORTED_BYTES: ByteSize = ByteSize::mib(1);
/// How many bytes one text of a function has: a message, or what it wrote to its standard error output.
pub const MAX_TEXT: ByteSize = ByteSize::kib(16);

/// Where an upgrade found that both sides changed the same, as clients see it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Written")]
pub struct Conflicts {
    /// The first ones.
    pub listed: Vec<Value>,
    /// How many more there are.
    pub left_out: usize,
}

/// What rows have.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    /// All of them, as they were written before there was an end to it.
    All(Vec<Value>),
    #[serde(rename_all = "camelCase")]
    Some {
        listed: Vec<Value>,
        #[serde(default)]
        left_out: usize,
    },
}

impl From<Written> for Conflicts {
    fn from(written: Written) -> Self {
        match written {
            Written::All(all) => all.into_iter().collect(),
            Written::Some { listed, left_out } => Self { listed, left_out },
        }
    }
}

impl Conflicts {
    /// None.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.left_out == 0
    }
}

impl FromIterator<Value> for Conflicts {
    fn from_iter<T: IntoIterator<Item = Value>>(all: T) -> Self {
        let (listed, left_out) = Room::default().fill(all, |value| value.to_string().len());
        Self { listed, left_out }
    }
}

/// What there is still room for.
#[derive(Debug, Clone)]
pub struct Room {
    number: usize,
    bytes: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self { number: MAX_REPORTED, bytes: MAX_REPORTED_BYTES.get() }
    }
}

impl Room {
    /// Takes the first ones for which there is room; how many were left out.
    pub fn fill<T>(
        &mut self,
        all: impl IntoIterator<Item = T>,
        size: impl Fn(&T) -> usize,
    ) -> (Vec<T>, usize) {
        let mut all = all.into_iter();
        let mut kept = Vec::new();
        for one in all.by_ref() {
            let bytes = size(&one) as u64;
            if self.number == 0 || bytes > self.bytes {
                // Who comes later finds no room either, so that the order stays.
                self.number = 0;
                return (kept, 1 + all.count());
            }
            self.number -= 1;
            self.bytes -= bytes;
            kept.push(one);
        }
        (kept, 0)
    }
}

/// The results of one function, as its status shows them; the last one says how many were left out.
pub fn results(results: &[ResultItem], room: &mut Room) -> Vec<Value> {
    let shown = results.iter().map(|result| {
        let short = ResultItem { message: text(&result.message), ..result.clone() };
        serde_json::to_value(short).unwrap_or_default()
    });
    let (mut kept, left_out) = room.fill(shown, |value| value.to_string().len());
    if left_out > 0 {
        let message = format!("{left_out} more result(s) of this function are not shown");
        let said = ResultItem { message, severity: Some(Severity::Info), ..ResultItem::default() };
        kept.push(serde_json::to_value(said).unwrap_or_default());
    }
    kept
}

/// The causes of a refusal; the last one says how many were left out.
pub fn causes(all: impl IntoIterator<Item = Cause>) -> Vec<Cause> {
    let short = all.into_iter().map(|cause| Cause { message: text(&cause.message), ..cause });
    let size = |cause: &Cause| cause.message.len() + cause.field.len() + cause.reason.len();
    let (mut kept, left_out) = Room::default().fill(short, size);
    if left_out > 0 {
        let message = format!("{left_out} more are not shown");
        kept.push(Cause { reason: "LeftOut".to_owned(), message, field: String::new() });
    }
    kept
}

/// A text; of a long one the beginning, and how long it is.
pub fn text(text: &str) -> String {
    if MAX_TEXT.admits(text.len()) {
        return text.to_owned();
    }
    let most = usize::try_from(MAX_TEXT.get()).unwrap_or(usize::MAX);
    let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    format!("{}… ({} bytes in all)", &text[..end], text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn many(number: usize, length: usize) -> Vec<ResultItem> {
        let message = "x".repeat(length);
        vec![ResultItem { message, ..ResultItem::default() }; number]
    }

    #[test]
    fn rows_from_before_there_was_an_end_are_read() {
        let before: Conflicts = serde_json::from_value(json!([{"id": "a"}])).unwrap();
        let now = Conflicts { listed: vec![json!({"id": "a"})], left_out: 3 };
        assert_eq!(before, Conflicts { left_out: 0, ..now.clone() });
        let again: Conflicts = serde_json::from_value(serde_json::to_value(&now).unwrap()).unwrap();
        assert_eq!(again, now);
    }

    #[test]
    fn as_many_as_are_allowed_are_shown_and_one_more_is_counted() {
        let shown = results(&many(MAX_REPORTED, 1), &mut Room::default());
        assert_eq!(shown.len(), MAX_REPORTED);
        assert_eq!(shown[MAX_REPORTED - 1]["message"], "x");
        let shown = results(&many(MAX_REPORTED + 2, 1), &mut Room::default());
        assert_eq!(shown.len(), MAX_REPORTED + 1);
        assert_eq!(shown[MAX_REPORTED]["message"], "2 more result(s) of this function are not shown");
        // The functions of a pipeline share the room.
        let mut room = Room::default();
        assert_eq!(results(&many(MAX_REPORTED, 1), &mut room).len(), MAX_REPORTED);
        assert_eq!(
            results(&many(3, 1), &mut room)[0]["message"],
            "3 more result(s) of this function are not shown"
        );
    }

    #[test]
    fn as_many_bytes_as_are_allowed_are_shown() {
        let cause = |length: usize| Cause {
            reason: "r".into(),
            message: "m".repeat(length - 1),
            field: String::new(),
        };
        let most = usize::try_from(MAX_REPORTED_BYTES.get()).unwrap();
        let each = 16 * 1024;
        let all = vec![cause(each); most / each];
        assert_eq!(causes(all.clone()), all, "exactly full");
        let mut more = all.clone();
        more.push(cause(2));
        let kept = causes(more);
        assert_eq!(kept.len(), all.len() + 1);
        assert_eq!(kept[all.len()].message, "1 more are not shown");
    }

    #[test]
    fn conflicts_that_are_left_out_are_counted() {
        let of = |number: usize| Conflicts::from_iter(vec![json!({"id": "a"}); number]);
        assert!(of(0).is_empty());
        assert_eq!((of(MAX_REPORTED).listed.len(), of(MAX_REPORTED).left_out), (MAX_REPORTED, 0));
        assert_eq!((of(MAX_REPORTED + 3).listed.len(), of(MAX_REPORTED + 3).left_out), (MAX_REPORTED, 3));
    }

    #[test]
    fn texts_have_an_end() {
        let most = usize::try_from(MAX_TEXT.get()).unwrap();
        assert_eq!(text(&"ä".repeat(most / 2)), "ä".repeat(most / 2));
        let long = format!("x{}", "ä".repeat(most / 2));
        let short = text(&long);
        assert!(short.starts_with('x') && short.ends_with(&format!("… ({} bytes in all)", most + 1)));
        assert!(short.len() < most + 40);
    }
}
