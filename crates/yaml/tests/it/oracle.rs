//! go-yaml as the judge of values, styles and comment attachment.

use std::path::{Path, PathBuf};

use lanai_yaml::{Document, Kind, NodeRef, Stream, Style};
use serde_json::Value;

/// What a comparison saw.
#[derive(Default)]
struct Tally {
    nodes: usize,
    agreeing: usize,
    files: usize,
    differences: Vec<String>,
    /// Files that we read and go-yaml refuses.
    wider: Vec<String>,
}

impl Tally {
    fn node(&mut self, place: &str, ours: &str, theirs: &str) {
        self.nodes += 1;
        if ours == theirs {
            self.agreeing += 1;
        } else {
            self.differences.push(format!("{place}\n    ours   {ours}\n    theirs {theirs}"));
        }
    }

    fn missing(&mut self, place: &str, what: &str) {
        self.nodes += 1;
        self.differences.push(format!("{place}: {what}"));
    }
}

fn text<'a>(node: &'a Value, field: &str) -> &'a str {
    node.get(field).and_then(Value::as_str).unwrap_or("")
}

/// One line that says all that is compared of a node of ours.
fn ours(node: NodeRef<'_>) -> String {
    let kind = match node.kind() {
        Kind::Scalar => "scalar",
        Kind::Mapping => "mapping",
        Kind::Sequence => "sequence",
        Kind::Alias => "alias",
    };
    let style = match node.style() {
        Style::SingleQuoted => "single",
        Style::DoubleQuoted => "double",
        Style::Literal => "literal",
        Style::Folded => "folded",
        Style::Flow => "flow",
        Style::Plain | Style::Block => "",
    };
    let comment = |comment: Option<String>| comment.unwrap_or_default();
    format!(
        "{kind} {style} {:?} anchor {:?} head {:?} line {:?} foot {:?}",
        node.value(),
        node.anchor().unwrap_or(""),
        comment(node.head_comment()),
        comment(node.line_comment()),
        comment(node.foot_comment()),
    )
}

/// The same of a node of go-yaml's.
fn theirs(node: &Value) -> String {
    let styles = node.get("style").and_then(Value::as_array).cloned().unwrap_or_default();
    let style = styles.iter().filter_map(Value::as_str).find(|style| *style != "tagged").unwrap_or("");
    format!(
        "{} {style} {:?} anchor {:?} head {:?} line {:?} foot {:?}",
        text(node, "kind"),
        text(node, "value"),
        text(node, "anchor"),
        text(node, "head"),
        text(node, "line"),
        text(node, "foot"),
    )
}

fn compare_node(tally: &mut Tally, place: &str, node: NodeRef<'_>, answer: &Value) {
    tally.node(&format!("{place}:{}", node.position()), &ours(node), &theirs(answer));
    let children: Vec<NodeRef<'_>> = match node.kind() {
        Kind::Mapping => node.entries().flat_map(|(key, value)| [key, value]).collect(),
        Kind::Sequence => node.items().collect(),
        Kind::Scalar | Kind::Alias => Vec::new(),
    };
    let answers = answer.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    if children.len() != answers.len() {
        tally.missing(place, &format!("{} children, theirs has {}", children.len(), answers.len()));
        return;
    }
    for (child, answer) in children.into_iter().zip(&answers) {
        compare_node(tally, place, child, answer);
    }
}

fn compare_document(tally: &mut Tally, place: &str, document: &Document, answer: &Value) {
    let own = |comment: Option<String>| comment.unwrap_or_default();
    let ours =
        format!("document head {:?} foot {:?}", own(document.head_comment()), own(document.foot_comment()));
    let theirs = format!("document head {:?} foot {:?}", text(answer, "head"), text(answer, "foot"));
    tally.node(place, &ours, &theirs);
    match answer.get("content").and_then(Value::as_array).and_then(|content| content.first()) {
        Some(root) => compare_node(tally, place, document.root(), root),
        None => tally.missing(place, "their document has no root"),
    }
}

/// Compares a file with the answer that kyaml's way of splitting streams gives.
fn compare_file(tally: &mut Tally, name: &str, source: &str, answer: &Value) {
    tally.files += 1;
    let documents: Vec<&Value> = answer
        .get("documents")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter(|d| !d.is_null()).collect())
        .unwrap_or_default();
    let refused =
        answer.get("error").is_some() || documents.iter().any(|document| document.get("error").is_some());
    let stream = match Stream::parse(source) {
        Ok(stream) => stream,
        Err(_) if refused => return,
        Err(error) => return tally.missing(name, &format!("we refuse it: {error}")),
    };
    if refused {
        tally.wider.push(name.to_owned());
        return;
    }
    // Where kyaml splits a stream it drops empty pieces; go-yaml alone keeps them.
    let all = stream.documents().len() == documents.len();
    let filled: Vec<&Document> =
        stream.documents().iter().filter(|document| all || !document.is_empty()).collect();
    if filled.len() != documents.len() {
        return tally.missing(name, &format!("{} documents, theirs has {}", filled.len(), documents.len()));
    }
    for (document, answer) in filled.into_iter().zip(documents) {
        compare_document(tally, name, document, answer);
    }
}

fn fixtures() -> PathBuf {
    lanai_testkit::workspace_root().join("tests/oracle")
}

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

/// Fixtures where we attach a comment elsewhere on purpose, or read more than go-yaml; the reasons are in `docs/yaml.md`.
const DEVIATIONS: &[&str] = &["comment-without-space", "file-separators-only", "scalar-urls-in-flow"];

/// Fixtures that go-yaml or kyaml refuses and that we read; see `docs/yaml.md`.
const WIDER: &[&str] = &[
    "invalid-anchor-with-dot",
    "invalid-block-starts-with-tab",
    "invalid-document-end-without-start",
    "invalid-escape-slash",
    "invalid-in-kyaml-directives",
    "invalid-question-mark-in-flow",
    "invalid-separator-literal",
    "invalid-tab-after-dash",
    "invalid-tab-before-comment-line",
    "invalid-tab-line-after-plain",
    "invalid-yaml-directive-1-2",
];

#[test]
fn fixtures_agree_with_the_committed_answers() {
    let mut files = Vec::new();
    yaml_files(&fixtures().join("fixtures"), &mut files);
    let mut differing = Vec::new();
    let mut shown = Vec::new();
    let mut wider = Vec::new();
    let mut count = 0;
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "yaml")) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("fixtures have names").to_owned();
        let answers = fixtures().join("answers");
        let split = answers.join(format!("{name}.docs.json"));
        let answer = if split.exists() { split } else { answers.join(format!("{name}.nodes.json")) };
        let answer = std::fs::read_to_string(&answer).expect("each fixture has an answer");
        let answer: Value = serde_json::from_str(&answer).expect("answers are JSON");
        let Ok(source) = String::from_utf8(std::fs::read(path).expect("fixtures are readable")) else {
            continue;
        };
        let mut tally = Tally::default();
        compare_file(&mut tally, &name, &source, &answer);
        count += 1;
        wider.extend(tally.wider);
        if !tally.differences.is_empty() {
            shown.extend(tally.differences);
            differing.push(name);
        }
    }
    let unlisted: Vec<_> = differing.iter().filter(|name| !DEVIATIONS.contains(&name.as_str())).collect();
    if !unlisted.is_empty() {
        println!("{}", shown.join("\n"));
    }
    println!("oracle fixtures: {count}, {} differ: {differing:?}", differing.len());
    assert!(count >= 60, "there are at least sixty fixtures");
    assert_eq!(wider, WIDER, "exactly these are read although go-yaml refuses them");
    assert!(unlisted.is_empty(), "{unlisted:?} differ and are not listed");
    for name in DEVIATIONS {
        assert!(differing.iter().any(|found| found == name), "{name} agrees now: take it from the list");
    }
}

#[test]
fn oracle_agrees_on_real_manifests() {
    let Some(corpus) = lanai_testkit::corpus("manifests") else {
        return lanai_testkit::skip("oracle on real manifests", "the corpus manifests is not there");
    };
    let Some(oracle) = lanai_testkit::oracle() else {
        return lanai_testkit::skip("oracle on real manifests", "the Go oracle cannot be built");
    };
    let mut files = Vec::new();
    yaml_files(&corpus, &mut files);
    let files: Vec<_> =
        files.into_iter().filter(|path| path.file_name().is_some_and(|name| name != "README.md")).collect();
    #[allow(clippy::disallowed_methods, reason = "the oracle is a program of its own")]
    let output = std::process::Command::new(oracle)
        .args(["nodes", "--docs"])
        .args(&files)
        .output()
        .expect("the oracle runs");
    assert!(output.status.success(), "the oracle failed: {}", String::from_utf8_lossy(&output.stderr));
    let answers = String::from_utf8(output.stdout).expect("the oracle writes UTF-8");
    assert_eq!(answers.lines().count(), files.len(), "one answer for each file");
    let mut tally = Tally::default();
    for (path, answer) in files.iter().zip(answers.lines()) {
        let answer: Value = serde_json::from_str(answer).expect("the oracle writes JSON");
        let Ok(source) = std::fs::read_to_string(path) else { continue };
        let name = path.strip_prefix(&corpus).unwrap_or(path).display().to_string();
        compare_file(&mut tally, &name, &source, &answer);
    }
    #[allow(clippy::cast_precision_loss, reason = "a percentage")]
    let share = tally.agreeing as f64 * 100.0 / tally.nodes as f64;
    for difference in tally.differences.iter().take(200) {
        println!("{difference}");
    }
    println!(
        "oracle manifests: {} files, {} of {} nodes agree ({share:.3} %)",
        tally.files, tally.agreeing, tally.nodes
    );
    assert!(share >= 99.5, "only {share:.3} % of the nodes agree");
}
