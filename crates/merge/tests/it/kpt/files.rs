//! Files of a package as texts, and how they stand in the file of answers.

use std::collections::BTreeMap;
use std::fmt::Write;

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::Limits;

/// Texts by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(pub BTreeMap<String, String>);

/// What kpt said, and the digest of what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub digest: String,
    pub answer: Answer,
}

/// What kpt said: the files, or why it stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Files(Files),
    Stopped(String),
}

impl Files {
    pub fn with(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.into(), text.into());
        self
    }

    pub fn package(&self) -> Package {
        let files = self.0.iter().map(|(path, text)| (path, File::from_text(text)));
        Package::from_entries(files, Limits::default()).expect("a small package")
    }
}

/// Reads `== case NAME`, `== asked DIGEST`, `== file PATH`, `== stopped` and what stands below each.
pub fn read(text: &str) -> BTreeMap<String, Kept> {
    let mut answers = BTreeMap::new();
    for case in text.split("== case ").skip(1) {
        let (name, rest) = case.split_once('\n').expect("a name");
        let asked = rest.strip_prefix("== asked ").and_then(|rest| rest.split_once('\n'));
        let (digest, rest) = asked.unwrap_or(("", rest));
        let answer = if let Some((_, why)) = rest.split_once("== stopped\n") {
            Answer::Stopped(why.trim_end().into())
        } else {
            let parts = rest.split("== file ").skip(1).map(|part| part.split_once('\n').expect("a path"));
            Answer::Files(Files(parts.map(|(path, text)| (path.into(), text.into())).collect()))
        };
        answers.insert(name.into(), Kept { digest: digest.into(), answer });
    }
    answers
}

pub fn write(answers: &[(&str, Kept)]) -> String {
    let mut out = String::from("# What kpt answers. Made by scripts/oracle-merge.sh; do not edit.\n");
    for (name, Kept { digest, answer }) in answers {
        writeln!(out, "== case {name}\n== asked {digest}").expect("a string");
        match answer {
            Answer::Stopped(why) => writeln!(out, "== stopped\n{why}").expect("a string"),
            Answer::Files(files) => {
                for (path, text) in &files.0 {
                    write!(out, "== file {path}\n{text}").expect("a string");
                    if !text.ends_with('\n') {
                        out.push('\n');
                    }
                }
            }
        }
    }
    out
}
