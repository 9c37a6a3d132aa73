//! The reference format, judged by kyaml.

use std::path::{Path, PathBuf};

use lanai_types::YamlLimits;
use lanai_yaml::{
    Document, SequenceIndent, Stream, detect_sequence_indent, encode_document, format_document, format_stream,
};
use serde_json::Value;

/// Fixtures that we write otherwise than kyaml, each with its reason.
const DEVIATIONS: &[(&str, &str)] = &[
    ("comment-on-anchor", "kyaml takes annotations that are an alias for empty and loses them"),
    ("comment-without-space", "not YAML: a comment needs a space before it"),
    ("invalid-document-end-without-start", "kyaml loses what stands behind `...`"),
    ("invalid-template-block", "not YAML: a template"),
    ("scalar-urls-in-flow", "go-yaml reads `[x:]` as a text, YAML as a pair"),
];

#[test]
fn fixtures_are_written_as_kyaml_writes_them() {
    let folder = lanai_testkit::workspace_root().join("tests/oracle");
    let mut count = 0;
    let mut differing = Vec::new();
    for path in files_below(&folder.join("fixtures")) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("fixtures have names").to_owned();
        let Ok(answer) = std::fs::read_to_string(folder.join(format!("answers/{name}.format.yaml"))) else {
            continue;
        };
        let source = std::fs::read_to_string(&path).expect("what kyaml writes is UTF-8");
        count += 1;
        if let Some(difference) = difference(&source, &answer, format_stream) {
            if !DEVIATIONS.iter().any(|(deviation, _)| *deviation == name) {
                println!("{name}: {difference}");
            }
            differing.push(name);
        }
    }
    println!("reference fixtures: {count}, {} differ: {differing:?}", differing.len());
    assert!(count >= 60, "there are at least sixty fixtures that kyaml writes");
    let listed: Vec<_> = DEVIATIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(differing, listed);
}

#[test]
fn oracle_corpus_format() {
    let Some((corpus, files)) = corpus_files("oracle_corpus_format") else { return };
    let files: Vec<_> =
        files.into_iter().filter(|path| path.extension().is_none_or(|end| end != "json")).collect();
    let Some(answers) = ask("oracle_corpus_format", &["format"], &files) else { return };
    compare(&corpus, &files, &answers, format_stream);
}

/// go-yaml alone. Only files without separators: it gives the comments around them to other nodes than kyaml does, and
/// those of files with CRLF too.
#[test]
fn oracle_corpus_encode() {
    let Some((corpus, files)) = corpus_files("oracle_corpus_encode") else { return };
    let single = |path: &PathBuf| {
        std::fs::read_to_string(path).is_ok_and(|text| !text.contains("\n---") && !text.contains('\r'))
    };
    let files: Vec<_> = files.into_iter().filter(single).collect();
    for (flag, indent) in [("--compact", SequenceIndent::Compact), ("--wide", SequenceIndent::Wide)] {
        let Some(answers) = ask("oracle_corpus_encode", &["format", "--plain", flag], &files) else { return };
        compare(&corpus, &files, &answers, |stream| {
            stream.documents().iter().map(|document| encode_document(document, indent)).collect()
        });
    }
}

#[test]
fn oracle_generated_format() {
    let folder = std::env::temp_dir().join(format!("lanai-reference-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let files: Vec<_> = (0..8).map(|seed| folder.join(format!("{seed}.yaml"))).collect();
    for (seed, path) in (0..).zip(&files) {
        std::fs::write(path, lanai_testkit::manifests(seed, 100)).unwrap();
    }
    let answers = ask("oracle_generated_format", &["format"], &files);
    if let Some(answers) = &answers {
        compare(&folder, &files, answers, format_stream);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is readable") {
            let path = entry.expect("the folder is readable").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn corpus_files(test: &str) -> Option<(PathBuf, Vec<PathBuf>)> {
    let Some(corpus) = lanai_testkit::corpus("manifests") else {
        lanai_testkit::skip(test, "the corpus manifests is not there");
        return None;
    };
    let mut files = files_below(&corpus);
    files.retain(|path| path.file_name().is_some_and(|name| name != "README.md"));
    Some((corpus, files))
}

fn ask(test: &str, arguments: &[&str], files: &[PathBuf]) -> Option<Vec<Value>> {
    let Some(oracle) = lanai_testkit::oracle() else {
        lanai_testkit::skip(test, "the Go oracle cannot be built");
        return None;
    };
    #[allow(clippy::disallowed_methods, reason = "the oracle is a program of its own")]
    let output =
        std::process::Command::new(oracle).args(arguments).args(files).output().expect("the oracle runs");
    let answers = String::from_utf8(output.stdout).expect("the oracle writes UTF-8");
    let answers: Vec<_> =
        answers.lines().map(|line| serde_json::from_str(line).expect("the oracle writes JSON")).collect();
    assert_eq!(answers.len(), files.len(), "an answer for each file");
    Some(answers)
}

/// Compares all files that the oracle writes; at least 99 of 100 must be equal.
fn compare(folder: &Path, files: &[PathBuf], answers: &[Value], write: impl Fn(&Stream) -> String) {
    let (mut equal, mut different) = (0, 0);
    for (path, answer) in files.iter().zip(answers) {
        let Some(expected) = answer.get("output").and_then(Value::as_str) else { continue };
        let source = std::fs::read_to_string(path).expect("what the oracle writes is UTF-8");
        match difference(&source, expected, &write) {
            None => equal += 1,
            Some(difference) => {
                different += 1;
                println!("{}: {difference}", path.strip_prefix(folder).unwrap_or(path).display());
            }
        }
    }
    println!("reference format: {equal} files equal, {different} different");
    assert!(
        equal > 0 && different * 100 <= equal + different,
        "{different} of {} files differ",
        equal + different
    );
}

/// The first line in which our text and the expected one differ.
fn difference(source: &str, expected: &str, write: impl Fn(&Stream) -> String) -> Option<String> {
    let written = match Stream::parse(source) {
        Ok(stream) => write(&stream),
        Err(error) => return Some(format!("we refuse it: {error}")),
    };
    if written == expected {
        return None;
    }
    let line =
        written.split('\n').zip(expected.split('\n')).take_while(|(ours, theirs)| ours == theirs).count();
    let around = |text: &str| {
        text.split('\n').skip(line.saturating_sub(2)).take(5).collect::<Vec<_>>().join("\n        ")
    };
    Some(format!(
        "line {}\n    ours:\n        {}\n    theirs:\n        {}",
        line + 1,
        around(&written),
        around(expected)
    ))
}

/// Deep nesting costs memory, not stack: the thread has 2 MiB.
#[test]
fn a_thousand_levels_do_not_overflow_the_stack() {
    let deep = || {
        let limits = YamlLimits { max_depth: 1_000, ..YamlLimits::default() };
        let flow = format!("{}{}\n", "[".repeat(1_000), "]".repeat(1_000));
        let block = (0..999).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<Vec<_>>().concat();
        for text in [flow, format!("{block}{}b: 1\n", " ".repeat(999))] {
            let stream = Stream::parse_within(&*text, &limits).unwrap();
            let written = format_stream(&stream);
            let again = Stream::parse_within(&*written, &limits).unwrap();
            assert_eq!(format_stream(&again), written);
            assert!(written.len() >= text.len(), "{} levels are written", 1_000);
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(deep).unwrap().join().unwrap();
}

#[test]
fn a_document_of_its_own_is_written_with_the_indentation_asked_for() {
    let text = "metadata:\n    annotations: {}\nlist:\n    - a   # one\n\n    - b\n";
    let document = Document::parse(text).unwrap();
    assert_eq!(format_document(&document, SequenceIndent::Wide), "list:\n  - a # one\n  - b\n");
    assert_eq!(format_document(&document, detect_sequence_indent(text)), "list:\n- a # one\n- b\n");
}
