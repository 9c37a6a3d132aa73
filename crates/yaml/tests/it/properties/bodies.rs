//! What the properties and the fuzz targets check. Each body takes bytes and panics when a promise is broken.

use lanai_types::YamlLimits;
use lanai_yaml::edit::Error;
use lanai_yaml::{Document, NodeRef, Note, SequenceIndent, Stream};

use super::choices::Choices;
use super::edits::{Edit, Op, STRINGS, walk};
use super::judge::judge;
use super::locality::Place;
use super::model::Node;
use super::text;

/// Any bytes: parsing ends with a stream or an error; a stream is written as it was read, and can be looked at.
pub fn yaml_parse(bytes: &[u8]) {
    let stream = match Stream::parse_bytes(bytes, &YamlLimits::default()) {
        Ok(stream) => stream,
        Err(error) => {
            assert!(!format!("{error:#}").is_empty());
            return;
        }
    };
    assert_eq!(
        stream.to_string().as_bytes(),
        bytes,
        "a stream that was not edited is written as it was read"
    );
    let mut sources = String::new();
    for document in stream.documents() {
        sources.push_str(document.source());
        look(document);
    }
    assert!(stream.to_string().starts_with(&sources), "documents follow each other without gaps");
    lanai_yaml::format_stream(&stream);
}

/// Calls everything that can be asked of a document.
fn look(document: &Document) {
    let mut text = [document.head_comment(), document.preface(), document.foot_comment()].concat_all();
    document.duplicate_keys();
    let source_len = document.source().len();
    let mut work = vec![document.root()];
    while let Some(node) = work.pop() {
        text.push_str(&node.value());
        text.push_str(&[node.head_comment(), node.line_comment(), node.foot_comment()].concat_all());
        text.extend(node.full_tag());
        text.extend(node.anchor());
        let range = node.source_range().expect("what was read has a place");
        assert!(range.start <= range.end && range.len() <= source_len);
        assert_eq!(node.position().offset, range.start);
        assert_eq!(node.items().count() + node.entries().count(), node.len());
        _ = (
            node.resolved(),
            node.as_str(),
            node.is_null(),
            node.target().kind(),
            node.get("x").is_some(),
            node.merged().len(),
        );
        if node.kind() != lanai_yaml::Kind::Alias {
            work.extend(children(node));
        }
    }
    for indent in [SequenceIndent::Compact, SequenceIndent::Wide] {
        lanai_yaml::encode_document(document, indent);
    }
}

fn children(node: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    node.items().chain(node.entries().flat_map(|(key, value)| [key, value])).collect()
}

trait ConcatAll {
    fn concat_all(&self) -> String;
}

impl ConcatAll for [Option<String>; 3] {
    fn concat_all(&self) -> String {
        self.iter().flatten().map(String::as_str).collect()
    }
}

/// A text, a byte 0xff, and bytes that decide about edits; or 0xfe, and bytes that decide about the text, too.
pub fn yaml_edit(bytes: &[u8]) {
    let at = bytes.iter().rposition(|byte| *byte == 0xff).unwrap_or(bytes.len());
    let (source, edits) = (&bytes[..at], bytes.get(at + 1..).unwrap_or(&[]));
    match source.split_first() {
        Some((0xfe, choices)) => edit_text(&text::stream(&mut Choices::new(choices)), edits, 6),
        _ => {
            if let Ok(text) = std::str::from_utf8(source) {
                edit_text(text, edits, 6);
            }
        }
    }
}

/// As [`yaml_edit`], but the bytes behind the text decide about a value: it is made a document, and put into the text.
pub fn yaml_emit(bytes: &[u8]) {
    let at = bytes.iter().rposition(|byte| *byte == 0xff).unwrap_or(bytes.len());
    let (source, choices) = (&bytes[..at], &mut Choices::new(bytes.get(at + 1..).unwrap_or(&[])));
    let value = json(choices, 4);
    let made = Document::from_serialize(&value).expect("JSON has a form in YAML");
    let output = made.to_string();
    let again =
        Document::parse(output.as_str()).unwrap_or_else(|error| panic!("{error:#}\n{output}\n{value}"));
    assert_eq!(again.root().deserialize::<serde_json::Value>().as_ref(), Ok(&value), "{output}");
    assert_eq!(made.root().deserialize::<serde_json::Value>().as_ref(), Ok(&value), "{output}");
    let judged = judge(&output).unwrap_or_else(|error| panic!("{error}\n{output}"));
    let model = Node::read(again.root());
    assert!(judged.documents.len() == 1 && model.agrees(&judged.documents[0]), "{judged:?}\n{output}");
    // The reference writes a key `<<` as a merge key, whatever it was.
    let indents = [SequenceIndent::Compact, SequenceIndent::Wide];
    for indent in indents.into_iter().filter(|_| !value.to_string().contains("\"<<\":")) {
        let formatted = lanai_yaml::encode_document(&made, indent);
        let again = Document::parse(formatted.as_str())
            .unwrap_or_else(|error| panic!("{error:#}\n{formatted}\n{value}"));
        assert_eq!(again.root().deserialize::<serde_json::Value>().as_ref(), Ok(&value), "{formatted}");
    }
    let text = match source.split_first() {
        Some((0xfe, choices)) => text::stream(&mut Choices::new(choices)),
        _ => String::from_utf8_lossy(source).into_owned(),
    };
    insert_into(&text, choices, &made, &model);
}

/// Puts a value into a text at some place.
fn insert_into(text: &str, choices: &mut Choices<'_>, made: &Document, model: &Node) {
    let Ok(mut stream) = Stream::parse(text) else { return };
    let Some(before) = Before::of(text, &stream) else { return };
    let mut models = before.models.clone();
    let (Some(document), Some(whole)) = (stream.documents_mut().first_mut(), models.first_mut()) else {
        return;
    };
    if !whole.has_simple_anchors() || whole.expanded_len(whole, 2_000) >= 2_000 {
        return;
    }
    let op = Op::choose_to_put(choices, document, made, model);
    let told = format!("{op:?}\n");
    let lost = match walk(document, &op.path) {
        Ok(node) => op.edit.loses(node.read(), text),
        Err(Error::Unwritable(_)) => return,
        Err(error) => panic!("the path was there: {error}\n{told}{text}"),
    };
    let (result, expected) = (op.apply(document), op.apply_to_model(whole));
    if matches!(result, Err(Error::Unwritable(_))) {
        return;
    }
    assert_eq!(result.is_ok(), expected, "{result:?}\n{told}{text}");
    let copied = !document.notes().is_empty();
    check(&before, &stream, &models, &lost, copied, &told);
}

/// Some value that JSON can hold.
fn json(choices: &mut Choices<'_>, depth: usize) -> serde_json::Value {
    let text = |choices: &mut Choices<'_>| -> String {
        if !choices.once_in(3) {
            return choices.of(STRINGS).into();
        }
        (0..choices.below(12)).map(|_| choices.byte()).map(char::from).collect()
    };
    match choices.below(if depth == 0 { 5 } else { 9 }) {
        1 => serde_json::Value::Null,
        2 => choices.once_in(2).into(),
        3 => (i64::from(choices.byte()) * [1, -1, 1 << 40, i64::MAX / 255][choices.below(4)]).into(),
        4 => choices.of(&[0.5, -1e300, 1e21, 0.1, 5e-324]).into(),
        5 | 6 => (0..choices.below(4)).map(|_| json(choices, depth - 1)).collect(),
        7 | 8 => {
            let pairs: Vec<_> =
                (0..choices.below(4)).map(|_| (text(choices), json(choices, depth - 1))).collect();
            serde_json::Value::Object(pairs.into_iter().collect())
        }
        _ => text(choices).into(),
    }
}

/// What is known before the edits, to compare with.
struct Before {
    text: String,
    comments: Vec<String>,
    models: Vec<Node>,
}

impl Before {
    /// Nothing, where the judge reads the text otherwise than we do: then it is no judge of what becomes of it.
    fn of(text: &str, stream: &Stream) -> Option<Self> {
        let judged = judge(text).ok()?;
        let models: Vec<Node> =
            stream.documents().iter().map(|document| Node::read(document.root())).collect();
        let agreed = models.len() == judged.documents.len()
            && models.iter().zip(&judged.documents).all(|(model, shape)| model.agrees(shape));
        agreed.then(|| Self { text: text.into(), comments: judged.comments, models })
    }
}

/// Does up to `most` edits to one document of a text, to its model as well, and compares.
pub fn edit_text(text: &str, edits: &[u8], most: usize) {
    let Ok(mut stream) = Stream::parse(text) else { return };
    let Some(before) = Before::of(text, &stream) else { return };
    let choices = &mut Choices::new(edits);
    let at = choices.below(stream.documents().len());
    let start: usize = stream.documents().iter().take(at).map(|document| document.source().len()).sum();
    let (Some(document), Some(model)) = (stream.documents_mut().get_mut(at), before.models.get(at)) else {
        return;
    };
    let mut model = model.clone();
    if !model.has_simple_anchors() {
        return;
    }
    let mut told = String::new();
    let (mut lost, mut copied) = (Vec::new(), false);
    let mut done = 0;
    while done < most && !choices.is_used_up() {
        if model.expanded_len(&model, 2_000) >= 2_000 {
            return;
        }
        done += 1;
        let op = Op::choose(choices, document, &model);
        told.extend([format!("{op:?}\n")]);
        let notes = copies(document);
        let (may_go, set) = match walk(document, &op.path) {
            Ok(node) => (op.edit.loses(node.read(), text), op.edit.sets_comment(node.read(), text)),
            Err(Error::Unwritable(_)) => return,
            Err(error) => panic!("the path was there: {error}\n{told}{text}"),
        };
        lost.extend(may_go.iter().cloned());
        let must_go = match walk(document, &op.path) {
            Ok(node) if done == 1 && node.read().source_range().is_some() => {
                op.edit.must_take(node.read(), text)
            }
            Ok(_) | Err(_) => Vec::new(),
        };
        let walked = document.to_string();
        let unedited = document.clone();
        let before = model.clone();
        match (op.apply(document), op.apply_to_model(&mut model)) {
            (Ok(()), taken) => {
                assert!(taken, "it is to be refused\n{told}{text}");
                let (before, after) = (comments(&walked), comments(&document.to_string()));
                let set = set.unwrap_or_default();
                let least = with(&without(&before, &may_go), &set.new);
                assert!(
                    is_part(&least, &after),
                    "comments go: {after:?}, of {least:?}\n{told}{text}\n---\n{walked}\n---\n{document}"
                );
                let most = with(&without(&before, &set.old), &set.new);
                assert!(
                    !matches!(op.edit, Edit::Comment(..) | Edit::KeyComment(..))
                        || copies(document) > notes
                        || is_part(&after, &most),
                    "an old comment stays: {after:?}, of {most:?}\n{told}{text}\n---\n{walked}\n---\n{document}"
                );
            }
            (Err(error), taken) => {
                assert!(!taken || op.may_be_refused(&error, &before), "refused: {error}\n{told}{text}");
                assert_eq!(document.to_string(), walked, "a refused edit changed something\n{told}{text}");
                // Only the way down was expanded.
                model = before;
                Node::walk(&mut model, &op.path);
            }
        }
        let brings = copies(document) > notes || op.edit.brings_comments();
        if !brings && copies(document) == 0 && document.to_string() != walked {
            let after = comments(&document.to_string());
            let left: Vec<&String> = must_go.iter().filter(|line| after.contains(line)).collect();
            assert!(left.is_empty(), "comments stay: {left:?}\n{told}{text}\n---\n{document}");
        }
        if !brings {
            let (before, after) = (comments(&walked), comments(&document.to_string()));
            assert!(is_part(&after, &before), "comments appear: {after:?}\n{told}{text}\n---\n{document}");
        }
        copied |= brings;
        if done == 1 && copies(document) == 0 && document.to_string() != walked {
            if let (Ok(was), Ok(is)) =
                (Document::parse(walked.as_str()), Document::parse(document.to_string()))
            {
                op.keeps_owners(&was, &is, &told);
            }
            let place = Place { text, document: &unedited, range: start..start + unedited.source().len() };
            if let Some(bounds) = place.bounds(&op) {
                place.check(&document.to_string(), &bounds, &told);
            }
        }
    }
    let mut models = before.models.clone();
    models[at] = model;
    check(&before, &stream, &models, &lost, copied, &told);
}

/// How many notes tell of something that was copied.
fn copies(document: &Document) -> usize {
    document.notes().iter().filter(|note| !matches!(note, Note::AliasesFollow { .. })).count()
}

/// The comments of a text, sorted.
fn comments(text: &str) -> Vec<String> {
    let stream = Stream::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut lines: Vec<String> =
        stream.comments().into_iter().map(|comment| comment.trim_end().to_owned()).collect();
    lines.sort_unstable();
    lines
}

/// These lines, but for one of each of the others.
fn without(lines: &[String], others: &[String]) -> Vec<String> {
    let mut left = lines.to_vec();
    for other in others {
        if let Some(at) = left.iter().position(|line| line == other) {
            left.remove(at);
        }
    }
    left
}

fn with(lines: &[String], others: &[String]) -> Vec<String> {
    let mut all = [lines, others].concat();
    all.sort_unstable();
    all
}

/// Whether each of these lines is one of the others.
fn is_part(lines: &[String], others: &[String]) -> bool {
    let mut others = others.iter();
    lines.iter().all(|line| others.any(|other| other == line))
}

fn check(before: &Before, stream: &Stream, models: &[Node], lost: &[String], copied: bool, told: &str) {
    let output = stream.to_string();
    let context = || {
        format!(
            "\n--- edits\n{told}--- input\n{}\n--- output\n{output}\n---\ninput {:?}\noutput {output:?}",
            before.text, before.text
        )
    };
    let again = match Stream::parse(output.as_str()) {
        Ok(again) => again,
        Err(error) => panic!("the output is not YAML: {error:#}{}", context()),
    };
    assert_eq!(again.to_string(), output);
    let judged = match judge(&output) {
        Ok(judged) => judged,
        // The judge does not know a key that is left out between `?` and `:` in brackets, which YAML allows. What we read ourselves is
        // compared all the same.
        Err(_) if output.contains("? :") => {
            for (document, model) in again.documents().iter().zip(models) {
                let read = Node::read(document.root());
                assert_eq!(read.expanded(&read), model.expanded(model), "reads back otherwise{}", context());
            }
            return;
        }
        Err(error) => panic!("the judge refuses the output: {error}{}", context()),
    };
    assert_eq!(again.documents().len(), models.len(), "the number of documents{}", context());
    assert_eq!(judged.documents.len(), models.len(), "the number of documents, says the judge{}", context());
    for ((document, model), shape) in again.documents().iter().zip(models).zip(&judged.documents) {
        let read = Node::read(document.root());
        assert!(read.agrees(shape), "the judge reads it otherwise: {shape:?}\n{read:?}{}", context());
        assert!(read.has_simple_anchors(), "anchors{}", context());
        assert_eq!(read.expanded(&read), model.expanded(model), "reads back otherwise{}", context());
    }
    let mut left = before.comments.clone();
    for line in lost {
        if let Some(at) = left.iter().position(|other| other == line) {
            left.remove(at);
        }
    }
    let mut after = judged.comments.clone();
    for line in &left {
        match after.iter().position(|other| other == line) {
            Some(at) => _ = after.remove(at),
            None => panic!("the comment {line:?} is lost{}", context()),
        }
    }
    after.retain(|line| !lost.contains(line));
    assert!(copied || after.is_empty(), "comments out of nowhere: {after:?}{}", context());
}
