//! granit-parser, an independent YAML 1.2 reader, on everything that we have: both accept the same and see the same.

use granit_parser::{Event, Parser, ScalarStyle};
use lanai_yaml::{Kind, NodeRef, Stream, Style};

/// The shape of a stream as granit reports it: one line for each event, without styles.
fn granit(text: &str) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    for next in Parser::new_from_str(text) {
        match next.ok()?.0 {
            Event::DocumentStart(..) => lines.push("document".to_owned()),
            Event::MappingStart(..) => lines.push("mapping".to_owned()),
            Event::SequenceStart(..) => lines.push("sequence".to_owned()),
            Event::MappingEnd | Event::SequenceEnd => lines.push("end".to_owned()),
            Event::Alias(..) => lines.push("alias".to_owned()),
            // An empty value is reported as `~`; a literal at the end of a text without a line break gets one.
            Event::Scalar(value, ScalarStyle::Plain, ..) if value == "~" => {
                lines.push("scalar \"\"".to_owned());
            }
            Event::Scalar(value, ..) => lines.push(format!("scalar {:?}", value.trim_end_matches('\n'))),
            _ => {}
        }
    }
    Some(lines)
}

fn ours(text: &str) -> Option<Vec<String>> {
    let stream = Stream::parse(text).ok()?;
    let mut lines = Vec::new();
    for document in stream.documents() {
        lines.push("document".to_owned());
        walk(document.root(), &mut lines);
    }
    Some(lines)
}

fn walk(node: NodeRef<'_>, lines: &mut Vec<String>) {
    match node.kind() {
        Kind::Alias => lines.push("alias".to_owned()),
        Kind::Scalar if node.value() == "~" && node.style() == Style::Plain => {
            lines.push("scalar \"\"".to_owned());
        }
        Kind::Scalar => lines.push(format!("scalar {:?}", node.value().trim_end_matches('\n'))),
        Kind::Sequence => {
            lines.push("sequence".to_owned());
            node.items().for_each(|item| walk(item, lines));
            lines.push("end".to_owned());
        }
        Kind::Mapping => {
            lines.push("mapping".to_owned());
            for (key, value) in node.entries() {
                walk(key, lines);
                walk(value, lines);
            }
            lines.push("end".to_owned());
        }
    }
}

/// Fixtures that granit reads otherwise; the reasons are in `docs/yaml.md`.
const DEVIATIONS: &[&str] = &["file-bom-inside", "file-bom-second-document"];

#[test]
fn fixtures_and_generated_manifests_agree() {
    let folder = lanai_testkit::workspace_root().join("tests/oracle/fixtures");
    let mut differing = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the fixtures are there") {
        let path = entry.expect("the folder is readable").path();
        let Ok(text) = String::from_utf8(std::fs::read(&path).expect("fixtures are readable")) else {
            continue;
        };
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("fixtures have names").to_owned();
        if path.extension().is_some_and(|end| end == "yaml") && ours(&text) != granit(&text) {
            println!("{name}\n  ours   {:?}\n  granit {:?}", ours(&text), granit(&text));
            differing.push(name);
        }
    }
    differing.sort();
    assert_eq!(differing, DEVIATIONS, "exactly the listed ones differ");
    let stream = lanai_testkit::manifests(7, 300);
    assert_eq!(ours(&stream), granit(&stream));
}

#[test]
fn real_manifests_agree() {
    let Some(corpus) = lanai_testkit::corpus("manifests") else {
        return lanai_testkit::skip("granit on real manifests", "the corpus manifests is not there");
    };
    let mut work = vec![corpus];
    let mut files = 0;
    while let Some(path) = work.pop() {
        if path.is_dir() {
            work.extend(
                std::fs::read_dir(&path)
                    .expect("the corpus is readable")
                    .map(|entry| entry.expect("an entry").path()),
            );
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            files += 1;
            let stream = Stream::parse(text.as_str());
            if let Ok(stream) = &stream {
                assert_eq!(stream.to_string(), text, "{} is not written as it was read", path.display());
            }
            assert!(ours(&text) == granit(&text), "{} differs: {:?}", path.display(), stream.err());
        }
    }
    println!("granit agrees on {files} files");
}
