//! Cutting the items of a list out of its text.

use lanai_yaml::{NodeRef, Style};

/// The texts of the items of a block list, moved to the left margin; what the text of a list gives in one pass.
///
/// A line of comment between two items belongs to the item above when it stands to the right of the dashes, else to the
/// item below, as do all lines from there on. Blank lines stay with the item above.
///
/// Returns `None` when the list is written in another way, such as in brackets. The texts are to be checked: they may
/// name anchors that stand elsewhere.
pub fn items(source: &str, key: NodeRef<'_>, list: NodeRef<'_>) -> Option<Vec<String>> {
    if list.style() != Style::Block {
        return None;
    }
    let behind_key = key.source_range()?.end;
    let mut from = behind_key + source.get(behind_key..)?.find(':')? + 1;
    let mut open: Option<Item> = None;
    let mut texts = Vec::new();
    for node in list.items() {
        let content = node.source_range()?;
        let dash = dash(source, from)?;
        let column = column(source, dash);
        let (below, above) = gap(source, from, dash - column, column);
        match open.take() {
            Some(item) => texts.push(item.text(source, below)),
            None if texts.is_empty() => {}
            None => return None,
        }
        let margin = self::column(source, content.start);
        let above = above.lines().map(|line| line.trim_start().to_owned()).filter(|line| !line.is_empty());
        open = Some(Item { above: above.collect(), column, start: dash + 1, end: content.end, margin });
        from = content.end;
    }
    if let Some(item) = open {
        let (below, _) = gap(source, from, end_of_comments(source, from), item.column);
        texts.push(item.text(source, below));
    }
    Some(texts)
}

/// What is known of an item before what follows it was looked at.
struct Item {
    /// The lines of comment above the dash.
    above: Vec<String>,
    /// The column of the dash.
    column: usize,
    /// The place behind the dash.
    start: usize,
    /// Where the content ends.
    end: usize,
    /// The column of the content.
    margin: usize,
}

impl Item {
    fn text(&self, source: &str, below: &str) -> String {
        let mut out = String::with_capacity(self.end - self.start + below.len() + 1);
        for comment in &self.above {
            out.push_str(comment);
            out.push('\n');
        }
        // Content and what is below it are one piece of the source.
        let piece = &source[self.start..self.end + below.len()];
        let mut lines = piece.split_inclusive('\n');
        let first = lines.next().unwrap_or_default().trim_start_matches(' ');
        if !first.trim().is_empty() {
            out.push_str(first);
        }
        for line in lines {
            let blanks = line.len() - line.trim_start_matches(' ').len();
            out.push_str(&line[blanks.min(self.margin)..]);
        }
        out
    }
}

/// The next dash: only blanks and comments may stand before it.
fn dash(source: &str, from: usize) -> Option<usize> {
    let at = skip_comments(source, from);
    let mut rest = source[at..].chars();
    let is_dash = rest.next() == Some('-') && rest.next().is_none_or(char::is_whitespace);
    is_dash.then_some(at)
}

/// The first place from `from` that is neither blank nor in a comment.
fn skip_comments(source: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        at = source.len() - source[at..].trim_start().len();
        if !source[at..].starts_with('#') {
            return at;
        }
        at += source[at..].find('\n').unwrap_or(source.len() - at);
    }
}

/// The beginning of the first line from `from` on which something else than a comment stands.
fn end_of_comments(source: &str, from: usize) -> usize {
    let at = skip_comments(source, from);
    if at == source.len() { at } else { at - column(source, at) }
}

/// Splits what stands between two places into what belongs to the item above and what belongs to the one below.
fn gap(source: &str, from: usize, to: usize, dash: usize) -> (&str, &str) {
    let text = &source[from..to.max(from)];
    // What stands on the line on which the item above ends is its own. Literals end with their last line.
    let ends_line = source[..from].ends_with('\n');
    let mut at = if ends_line { 0 } else { text.find('\n').map_or(text.len(), |end| end + 1) };
    for line in text[at..].split_inclusive('\n') {
        let content = line.trim_start_matches(' ');
        if content.starts_with('#') && line.len() - content.len() <= dash {
            break;
        }
        at += line.len();
    }
    text.split_at(at)
}

fn column(source: &str, at: usize) -> usize {
    at - source[..at].rfind('\n').map_or(0, |end| end + 1)
}
