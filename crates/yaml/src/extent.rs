//! Which bytes of the source belong to a node or an entry.

use crate::syntax::token::Span;
use crate::tree::{Comment, Entry, Fact, Kind, NOWHERE, NodeId, Properties, State, Style, Tree};

/// Measures nodes that stand in the source.
pub(crate) struct Extents<'a> {
    source: &'a str,
    tree: &'a Tree,
}

/// The bytes of an entry of a block collection: a key with its value, or an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Where the entry's own text begins: the first `#` of its head comment, else its key or dash.
    pub lead: u32,
    /// Where its lines begin; the same as `lead` when it shares its first line with what stands before it.
    pub start: u32,
    /// Behind the line break of its last line, comments included.
    pub end: u32,
    /// The same without comments that stand further left than the entry, and what stands behind those: they stay when it
    /// is removed.
    pub removed_end: u32,
    /// It shares its first line with what stands before it, as the first key behind a dash does.
    pub inline: bool,
}

/// Where something ends.
#[derive(Clone, Copy, Default)]
struct Ends {
    /// Its text, and the comment beside it.
    text: u32,
    /// The comments below it.
    comments: u32,
}

impl Ends {
    fn and(self, other: Self) -> Self {
        Self { text: self.text.max(other.text), comments: self.comments.max(other.comments) }
    }

    fn all(self) -> u32 {
        self.text.max(self.comments)
    }
}

/// The comments above an entry.
struct Head {
    /// Where they begin; where the entry does if there are none.
    start: u32,
    /// Where the topmost begins that an edit replaced.
    changed: Option<u32>,
}

impl<'a> Extents<'a> {
    pub fn new(source: &'a str, tree: &'a Tree) -> Self {
        Self { source, tree }
    }

    // ---- lines

    fn bytes(&self) -> &'a [u8] {
        self.source.as_bytes()
    }

    /// The beginning of the line that holds `at`; behind a byte order mark.
    pub fn line_start(&self, at: u32) -> u32 {
        let before = &self.bytes()[..at as usize];
        let line = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |at| at + 1);
        let mark = if self.source[line..].starts_with('\u{feff}') { 3 } else { 0 };
        Span::new(line + mark, 0).start.min(at)
    }

    /// The beginning of the line above the one that begins at `start`.
    fn line_above(&self, start: u32) -> u32 {
        let before = &self.source[..start as usize];
        let text =
            before.strip_suffix("\r\n").or_else(|| before.strip_suffix(['\n', '\r'])).unwrap_or(before);
        self.line_start(Span::new(text.len(), 0).start)
    }

    /// Behind the line break of the line that holds `at`.
    pub fn line_end(&self, at: u32) -> u32 {
        let rest = &self.bytes()[at as usize..];
        let end = match memchr::memchr2(b'\n', b'\r', rest) {
            None => rest.len(),
            Some(end) if rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n') => end + 2,
            Some(end) => end + 1,
        };
        at + Span::new(end, 0).start
    }

    /// As [`Self::line_end`], but a place that is the beginning of a line already stays: text before it ended there.
    pub fn end_of_lines(&self, at: u32) -> u32 {
        if self.after_break(at) { at } else { self.line_end(at) }
    }

    /// Whether `at` is right behind a line break.
    pub fn after_break(&self, at: u32) -> bool {
        at > 0 && matches!(self.bytes()[at as usize - 1], b'\n' | b'\r')
    }

    /// Whether nothing but blanks stand between the line's beginning and `at`.
    pub fn begins_line(&self, at: u32) -> bool {
        let start = self.line_start(at) as usize;
        self.bytes()[start..at as usize].iter().all(|byte| *byte == b' ' || *byte == b'\t')
    }

    pub fn column(&self, at: u32) -> u32 {
        at - self.line_start(at)
    }

    pub fn same_line(&self, from: u32, to: u32) -> bool {
        from <= to
            && !self.bytes()[from as usize..to as usize].iter().any(|byte| matches!(byte, b'\n' | b'\r'))
    }

    /// Whether the line that begins at `start` is blank; the end of the text is no line.
    pub fn is_blank_line(&self, start: u32) -> bool {
        let end = self.line_end(start);
        end > start
            && self.source[start as usize..end as usize].trim_matches([' ', '\t', '\r', '\n']).is_empty()
    }

    /// Whether nothing but white space and comments stand between two places.
    fn only_trivia(&self, from: u32, to: u32) -> bool {
        let text = &self.source[from as usize..(to.max(from)) as usize];
        text.split(['\n', '\r']).all(|line| {
            let line = line.trim_start_matches([' ', '\t']);
            line.is_empty() || line.starts_with('#')
        })
    }

    // ---- nodes

    /// The range that is replaced when the node is written anew: properties, content, and comments inside of it.
    pub fn place(&self, id: NodeId) -> Span {
        let content = self.content_place(id);
        Span { start: content.start.min(self.tree.start(id)), end: content.end }
    }

    /// The same without the properties.
    pub fn content_place(&self, id: NodeId) -> Span {
        let node = self.tree.node(id);
        let start = node.span.start;
        let cuts = self.cuts_of(id).iter().copied();
        // Those that changed places stand where they stood.
        let many = if node.is(Fact::Reshaped) { usize::MAX } else { 1 };
        let children = self.tree.children(id).take(many).filter(|child| self.in_source(*child));
        let entries = children.map(|first| self.linked_entry(first)).chain(cuts);
        let first = entries
            .min_by_key(|entry| self.content_start(entry.first))
            .filter(|_| node.style == Style::Block);
        let start = match first {
            // The comments above the first entry are inside of the collection.
            Some(entry) if start == self.content_start(entry.first) && self.begins_line(start) => {
                self.below_mark(id, self.head_start(entry, start))
            }
            Some(_) | None => start,
        };
        Span { start, end: self.inner_end(id, self.content_ends(id)) }
    }

    /// Where a block collection that begins at `start` begins with the comments between it and the line of its colon or dash,
    /// whoever they belong to.
    fn below_mark(&self, id: NodeId, start: u32) -> u32 {
        let mark = self.tree.node(id).mark;
        let properties = self.tree.properties(id).map_or(0, |properties| properties.span.end);
        if mark == NOWHERE || mark > start || properties > start || self.same_line(mark, start) {
            return start;
        }
        let from = self.line_end(mark.max(properties));
        let between = &self.source[from.min(start) as usize..start as usize];
        match between.find('#') {
            Some(at) if self.only_trivia(from, start) => from + Span::new(at, 0).start,
            Some(_) | None => start,
        }
    }

    /// Where the inside of a collection ends: before a comment that stands as far left as what the collection is in.
    fn inner_end(&self, id: NodeId, ends: Ends) -> u32 {
        let node = self.tree.node(id);
        match node.parent.get().map(|parent| self.tree.node(parent).column) {
            Some(column) if column != NOWHERE && node.column != NOWHERE => {
                self.end_within(ends, node.column.min(column + 1))
            }
            Some(_) | None => ends.all(),
        }
    }

    /// Where something ends, but for the first comment below it that stands left of a column, and all behind that.
    fn end_within(&self, ends: Ends, column: u32) -> u32 {
        let mut end = ends.text;
        let mut line = self.end_of_lines(ends.text);
        while line < ends.comments {
            let next = self.line_end(line);
            let text = &self.source[line as usize..next as usize];
            let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
            if text[indent..].starts_with('#') {
                if indent < column as usize {
                    return end;
                }
                end = line + Span::new(text.trim_end_matches(['\n', '\r']).len(), 0).start;
            }
            line = next;
        }
        ends.all()
    }

    /// Whether properties can stay where they are when the content behind them is written anew: they stand on the line of
    /// the colon or dash, or above a root.
    pub fn stays(&self, id: NodeId, properties: &Properties) -> bool {
        let node = self.tree.node(id);
        let beside_mark = node.mark != NOWHERE && self.same_line(node.mark, properties.span.start);
        let above_root = node.parent.get().is_none() && !self.same_line(properties.span.end, node.span.start);
        !properties.span.is_empty() && (beside_mark || above_root)
    }

    /// The place of a block collection whose last entry was just taken out; without its properties when they stand on
    /// the line of its colon or dash.
    pub fn emptied_place(&self, id: NodeId, first: NodeId, last: NodeId) -> Span {
        let node = self.tree.node(id);
        let lead = |entry: Entry| {
            let content = self.content_start(entry.first);
            if self.begins_line(content) { self.head_start(entry, content) } else { content }
        };
        let stays = self.tree.properties(id).is_some_and(|properties| self.stays(id, properties));
        let others = self.cuts_of(id).iter();
        let start = others.clone().map(|cut| lead(*cut)).fold(lead(Entry { first, last }), u32::min);
        let start = self.below_mark(id, start.min(node.span.start));
        let start = if stays { start } else { start.min(self.tree.start(id)) };
        let whole = Ends { text: node.span.end, comments: 0 }.and(self.entry_ends(first, last));
        let ends = others.map(|cut| self.entry_ends(cut.first, cut.last)).fold(whole, Ends::and);
        Span { start, end: self.inner_end(id, ends) }
    }

    /// The entries that were removed from a collection.
    fn cuts_of(&self, id: NodeId) -> &[Entry] {
        if self.tree.cuts.is_empty() || !self.tree.node(id).is(Fact::Reshaped) {
            return &[];
        }
        self.tree.cuts.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Where the content of a node ends, with the comments of what is in it but without its own.
    fn content_ends(&self, id: NodeId) -> Ends {
        let node = self.tree.node(id);
        let text = match self.tree.properties(id) {
            Some(properties) => node.span.end.max(properties.span.end),
            None => node.span.end,
        };
        let mut ends = Ends { text, comments: 0 };
        if node.style != Style::Block {
            return ends;
        }
        let mut work = vec![id];
        // The last child of the last child: comments at the end of a collection are of one of these, or of what was
        // removed behind it.
        while let Some(at) = work.pop() {
            for cut in self.cuts_of(at) {
                ends = ends.and(self.own_ends(cut.first)).and(self.own_ends(cut.last));
                work.extend(Some(cut.last).filter(|last| self.tree.node(*last).style == Style::Block));
            }
            let children: Vec<NodeId> = self.tree.children(at).filter(|id| self.in_source(*id)).collect();
            let width = if self.tree.node(at).kind == Kind::Mapping { 2 } else { 1 };
            // Those that changed places stand where they stood.
            let many = if self.tree.node(at).is(Fact::Reshaped) { children.len() } else { width };
            let tail = &children[children.len().saturating_sub(many)..];
            for child in tail {
                ends = ends.and(self.own_ends(*child));
            }
            let last = tail.iter().max_by_key(|child| self.tree.node(**child).span.end);
            work.extend(last.filter(|last| self.tree.node(**last).style == Style::Block));
        }
        ends
    }

    fn in_source(&self, id: NodeId) -> bool {
        self.tree.node(id).state != State::New
    }

    /// Where the node's span, mark and own comments end.
    fn own_ends(&self, id: NodeId) -> Ends {
        let node = self.tree.node(id);
        let mut text = node.span.end;
        if node.mark != NOWHERE {
            text = text.max(node.mark + 1);
        }
        if let Some(properties) = self.tree.properties(id) {
            text = text.max(properties.span.end);
        }
        let Some(comments) = self.tree.comments(id) else { return Ends { text, comments: 0 } };
        let end = |comment: &Option<Comment>| comment.as_ref().map_or(0, |comment| comment.span.end);
        Ends { text: text.max(end(&comments.line)), comments: end(&comments.foot) }
    }

    /// Where the text of an entry begins: the `?` or the key, the dash of an item.
    pub fn content_start(&self, first: NodeId) -> u32 {
        let node = self.tree.node(first);
        if node.mark == NOWHERE { self.tree.start(first) } else { node.mark }
    }

    /// The bytes of the entry of a block collection that begins with `first` and ends with `last`, which may be the same.
    pub fn entry(&self, first: NodeId, last: NodeId) -> Extent {
        let content = self.content_start(first);
        let inline = !self.begins_line(content);
        let lead = if inline {
            content
        } else {
            let head = self.head(Entry { first, last }, content);
            self.behind_blank_lines(head.start, head.changed.unwrap_or(content))
        };
        let start = if inline { content } else { self.line_start(lead) };
        let ends = self.entry_ends(first, last);
        let removed_end = self.end_of_lines(self.end_within(ends, self.column(content)));
        Extent { lead, start, end: self.end_of_lines(ends.all()), removed_end, inline }
    }

    fn entry_ends(&self, first: NodeId, last: NodeId) -> Ends {
        self.own_ends(first).and(self.own_ends(last)).and(self.content_ends(last))
    }

    /// Where the head comment of an entry begins, if it stands on lines of its own; else where the entry begins.
    fn head_start(&self, entry: Entry, content: u32) -> u32 {
        self.head(entry, content).start
    }

    fn head(&self, entry: Entry, content: u32) -> Head {
        let mut lead = content;
        let mut changed = None;
        let mut at = Some(entry.first);
        while let Some(id) = at {
            // Readers give some comments that stand above a node to it as those below it.
            let comments = self.tree.comments(id).map(|comments| [&comments.head, &comments.foot]);
            for head in comments.into_iter().flatten().flatten() {
                let span = self.on_own_lines(head.span);
                if !span.is_empty()
                    && span.start < lead
                    && self.begins_line(span.start)
                    && self.only_trivia(span.end, lead)
                {
                    // One that an edit replaced is of the entry as a whole.
                    lead = if head.changed { span.start } else { self.behind_notice(span.start, lead) };
                    changed = if head.changed { Some(lead) } else { changed };
                }
            }
            at = self.next_at_head(entry, id);
        }
        Head { start: lead, changed }
    }

    /// Who else may have the comments above a node of the entry: what stands above a dash may be of the mapping or of the key
    /// behind it, and what stands above a key that was left out is, for readers, of its value.
    fn next_at_head(&self, entry: Entry, id: NodeId) -> Option<NodeId> {
        let node = self.tree.node(id);
        let left_out = node.is(Fact::Key) && node.span.is_empty();
        let next = match node.first.get() {
            None if left_out && id == entry.first => Some(entry.last),
            None if left_out => node.next.get(),
            first => first,
        };
        next.filter(|next| *next != id && self.in_source(*next))
    }

    /// The first of the comments right above the line that begins at `start`, whomever readers give them to: what stands above a
    /// dash with nothing behind it, or only an anchor, they give to others. `start` where there are none.
    pub fn comments_above(&self, start: u32) -> u32 {
        let lines = std::iter::successors(Some(start), |line| {
            let above = self.line_above(*line);
            let is_text = above < *line && above >= self.tree.span.start && !self.is_blank_line(above);
            (is_text && self.only_trivia(above, *line)).then_some(above)
        });
        lines.last().unwrap_or(start)
    }

    /// The entry that begins with a child of a collection.
    fn linked_entry(&self, first: NodeId) -> Entry {
        let node = self.tree.node(first);
        Entry { first, last: node.next.get().filter(|_| node.is(Fact::Key)).unwrap_or(first) }
    }

    /// The part of a comment that stands on lines of its own; what begins beside something else, such as a dash or `---`, stays
    /// there.
    fn on_own_lines(&self, comment: Span) -> Span {
        if comment.is_empty() || self.begins_line(comment.start) {
            return comment;
        }
        let from = self.line_end(comment.start).min(comment.end);
        let next = self.source[from as usize..comment.end as usize].find('#');
        Span { start: next.map_or(comment.end, |at| from + Span::new(at, 0).start), end: comment.end }
    }

    /// Where an entry begins when it comes to stand behind the dash of its first line: behind a comment above it that an edit
    /// took away.
    pub fn lead_behind_dash(&self, entry: Entry, lead: u32) -> u32 {
        let content = self.content_start(entry.first);
        let above = std::iter::successors(Some(entry.first), |id| self.next_at_head(entry, *id));
        let heads = above.filter_map(|id| self.tree.comments(id)?.head.as_ref());
        let mut emptied = heads.filter(|head| head.changed && head.text.as_deref() == Some(""));
        if emptied.any(|head| (lead..content).contains(&head.span.start)) { content } else { lead }
    }

    /// Where the comment that begins at `start` begins to be of what stands at `content`. A comment at the top of the document
    /// that a blank line sets apart is about the whole, such as a licence, although readers give it to the first entry
    /// where it stands below the marker.
    fn behind_notice(&self, start: u32, content: u32) -> u32 {
        let mark = self.tree.start_mark;
        let at_top = mark != NOWHERE
            && start >= mark
            && self.source[mark as usize + 3..start as usize].trim().is_empty();
        if at_top { self.behind_blank_lines(start, content) } else { start }
    }

    /// Where the last part of a comment begins, behind a blank line in it or below it: what stands before that, such as the
    /// title of a section, is about more than what follows.
    fn behind_blank_lines(&self, start: u32, content: u32) -> u32 {
        let mut from = start;
        let mut line = self.line_start(start);
        while line < self.line_start(content) {
            let next = self.line_end(line);
            if self.is_blank_line(line) {
                from = next;
            }
            line = next;
        }
        let indent = self.source[from as usize..].find(|c| c != ' ' && c != '\t').unwrap_or(0);
        if from == start { start } else { (from + Span::new(indent, 0).start).min(content) }
    }

    /// The lines of removed entries that follow each other, with one blank line when there is one on both sides.
    pub fn removed_lines(&self, start: u32, end: u32) -> Span {
        let document = self.tree.span;
        let first_line = if self.tree.start_mark == NOWHERE {
            document.start
        } else {
            self.line_end(self.tree.start_mark)
        };
        let at_top = start <= first_line.max(self.line_start(document.start));
        let above = self.line_above(start);
        let blank_above = start > first_line && self.is_blank_line(above);
        if (at_top || blank_above) && end < document.end && self.is_blank_line(end) {
            return Span { start, end: self.line_end(end) };
        }
        let last = end >= document.end;
        Span { start: if last && blank_above { above } else { start }, end }
    }
}
