//! Deep documents in a small thread: nothing that the crate does needs more stack for more depth.

use std::thread;

use lanai_types::YamlLimits;
use lanai_yaml::edit::Error;
use lanai_yaml::{Content, Document, Kind, NodeMut, SequenceIndent, Stream};

/// Runs in a thread with the stack that spawned threads have.
fn in_small_thread(work: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread can be started");
    thread.join().expect("the work is done");
}

fn depth() -> usize {
    YamlLimits::default().max_depth
}

/// The deepest texts that are allowed, by what they are made of.
fn texts() -> Vec<(&'static str, String)> {
    let deep = depth();
    let flow_list = format!("{}x{}\n", "[".repeat(deep), "]".repeat(deep));
    let flow_map = format!("{}x{}\n", "{k: ".repeat(deep), "}".repeat(deep));
    let dashes = format!("{}x\n", "- ".repeat(deep));
    let keys: Vec<String> = (0..deep).map(|at| " ".repeat(at) + "k:").collect();
    let block = keys.join("\n") + " x\n";
    let pairs = (0..deep / 2).map(|at| " ".repeat(2 * at) + "- # c\n" + &" ".repeat(2 * at + 1) + "k:\n");
    let mixed = pairs.collect::<String>() + &" ".repeat(deep) + "x\n";
    vec![
        ("flow list", flow_list),
        ("flow mapping", flow_map),
        ("dashes", dashes),
        ("block mapping", block),
        ("mixed", mixed),
    ]
}

fn bottom(document: &mut Document) -> NodeMut<'_> {
    let mut node = document.root_mut();
    loop {
        let read = node.read();
        node = match (read.at(0).is_some(), read.get("k").is_some()) {
            (true, _) => node.at_mut(0).expect("there is an item"),
            (_, true) => node.get_mut("k").expect("there is a value"),
            _ => return node,
        };
    }
}

#[test]
fn the_deepest_documents_are_read_and_one_more_is_refused() {
    in_small_thread(|| {
        for (name, text) in texts() {
            let stream = Stream::parse(text.as_str()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(stream.to_string(), text, "{name}");
            lanai_yaml::format_stream(&stream);
            lanai_yaml::encode_document(&stream.documents()[0], SequenceIndent::Wide);
            assert!(
                Stream::parse(format!("[{}]", text.trim_end())).is_err()
                    || name == "dashes"
                    || name == "mixed",
                "{name}"
            );
        }
    });
}

#[test]
fn the_deepest_documents_are_edited_at_their_bottom() {
    in_small_thread(|| {
        for (name, text) in texts() {
            let mut document = Document::parse(text.as_str()).expect("the text is YAML");
            bottom(&mut document).set("other").expect("a scalar can be set");
            let output = document.to_string();
            let mut again =
                Document::parse(output.as_str()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(bottom(&mut again).read().value(), "other", "{name}");
            assert_eq!(again.to_string(), output, "{name}");
        }
    });
}

/// Adds an entry to every collection, from the outermost to the innermost.
fn add_everywhere(document: &mut Document) -> Result<(), Error> {
    let mut node = document.root_mut();
    while !node.read().is_empty() {
        node = if node.read().kind() == Kind::Mapping {
            node.insert("new", 1)?;
            node.get_mut("k")?
        } else {
            node.push(1)?;
            node.at_mut(0)?
        };
    }
    Ok(())
}

/// Lets the two entries of every collection change places.
fn turn_everywhere(document: &mut Document) -> Result<(), Error> {
    let mut node = document.root_mut();
    while !node.read().is_empty() {
        node.reorder(&[1, 0])?;
        node = if node.read().kind() == Kind::Mapping { node.get_mut("k")? } else { node.at_mut(1)? };
    }
    Ok(())
}

#[test]
fn every_level_of_the_deepest_documents_is_edited() {
    in_small_thread(|| {
        for (name, text) in texts() {
            let mut document = Document::parse(text.as_str()).expect("the text is YAML");
            document.edit_together(add_everywhere).expect("there is a place on each level");
            let output = document.to_string();
            let again = Document::parse(output.as_str()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(again.root().len(), 2, "{name}");
            if matches!(name, "block mapping" | "mixed") {
                // A megabyte of indentation that is moved a thousand times; the dashes show the same.
                continue;
            }
            let mut document = again;
            document.edit_together(turn_everywhere).expect("two entries can change places");
            let output = document.to_string();
            assert!(Document::parse(output.as_str()).is_ok(), "{name}");
        }
    });
}

#[test]
fn documents_do_not_grow_deeper_than_can_be_read() {
    in_small_thread(|| {
        for (name, text) in texts() {
            let mut document = Document::parse(text.as_str()).expect("the text is YAML");
            for _ in 0..8 {
                let content = Content::from(document.root());
                if bottom(&mut document).set(content).is_err() {
                    break;
                }
            }
            let output = document.to_string();
            assert!(Document::parse(output.as_str()).is_ok(), "{name}: what was written cannot be read");
        }
    });
}

#[test]
fn the_deepest_documents_are_copied_written_anew_and_shown() {
    in_small_thread(|| {
        for (name, text) in texts() {
            let document = Document::parse(text.as_str()).expect("the text is YAML");
            let mut other = Document::parse("a: 1\n").expect("the text is YAML");
            let root = document.root();
            let inner = root.at(0).or_else(|| root.get("k")).expect("the root holds something");
            other.root_mut().insert("a", Content::from(inner)).expect("a copy can be set");
            let deeper = other.root_mut().insert("a", Content::from(root));
            assert!(matches!(deeper, Err(Error::TooDeep { .. })), "{name}");
            assert!(!other.to_string().is_empty(), "{name}");
            assert!(
                !format!("{:?}", document.root()).is_empty() && !format!("{document:?}").is_empty(),
                "{name}"
            );
            assert!(!lanai_yaml::format_document(&other, SequenceIndent::Compact).is_empty(), "{name}");
        }
    });
}

#[test]
fn values_that_are_too_deep_are_refused() {
    in_small_thread(|| {
        for (name, text) in texts() {
            let document = Document::parse(text.as_str()).expect("the text is YAML");
            assert!(document.root().deserialize::<serde_json::Value>().is_err(), "{name}");
            let deep =
                (0..500).fold(serde_json::Value::Null, |below, _| serde_json::Value::Array(vec![below]));
            assert!(Document::from_serialize(&deep).is_err());
        }
    });
}
