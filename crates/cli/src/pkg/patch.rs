//! The files of two packages that differ, as a patch.

use std::fmt::Write as _;

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::SafePath;

use crate::diff::unified;
use crate::io::Colour;

/// What the two sides of a patch are called.
#[derive(Clone, Copy)]
pub(crate) struct Labels<'a> {
    pub before: &'a str,
    pub after: &'a str,
}

/// All files of two packages that differ, as `patch -p1` and `git apply` read it. Of files that are no text it says that
/// they differ.
pub(crate) fn changes(before: &Package, after: &Package, labels: Labels<'_>, colour: Colour) -> String {
    let diff = before.diff(after);
    let mut paths: Vec<_> = diff.added.iter().chain(&diff.removed).chain(&diff.changed).collect();
    paths.sort();
    let mut out = String::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        let text = |file: Option<&File>| file.map_or(Some(""), File::text).map(String::from);
        let names = (name(labels.before, path, old), name(labels.after, path, new));
        if let (Some(old), Some(new)) = (old, new)
            && old.mode() != new.mode()
        {
            let (from, to) = (names.0.trim_end(), names.1.trim_end());
            let _ = writeln!(out, "diff --git {from} {to}");
            let _ = writeln!(out, "old mode {}\nnew mode {}", old.mode().git(), new.mode().git());
        }
        match (text(old), text(new)) {
            (Some(before), Some(after)) => {
                let part = unified("\u{1}", &before, &after, colour);
                let part = part.replacen('\u{1}', &names.0, 1).replacen('\u{1}', &names.1, 1);
                if part.is_empty() && old.is_none() != new.is_none() {
                    let _ = writeln!(out, "--- {}\n+++ {}", names.0, names.1);
                }
                out += &part;
            }
            (None, _) | (_, None) => {
                let _ =
                    writeln!(out, "Binary files {} and {} differ", names.0.trim_end(), names.1.trim_end());
            }
        }
    }
    out
}

/// A name as Git writes it into patches: with a tab behind one that has blanks, which would end it otherwise; in quotes
/// where it has a character that a line of a patch cannot have.
fn name(side: &str, path: &SafePath, file: Option<&File>) -> String {
    if file.is_none() {
        return "/dev/null".to_owned();
    }
    let name = format!("{side}/{path}");
    if name.contains(['"', '\\']) || name.contains(char::is_control) {
        return quoted(&name);
    }
    if name.contains(' ') { name + "\t" } else { name }
}

/// In quotes, as C writes texts.
fn quoted(name: &str) -> String {
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use lanai_krm::package::Mode;

    use super::*;

    #[test]
    fn a_mode_alone_is_a_patch_as_git_writes_it() {
        let package = |mode: Mode| {
            let mut package = Package::new(lanai_types::Limits::DEFAULT);
            package.insert("run.sh".parse().unwrap(), File::new(b"true\n".to_vec(), mode)).unwrap();
            package
        };
        let labels = Labels { before: "a", after: "b" };
        let (before, after) = (package(Mode::Executable), package(Mode::Regular));
        let expected = "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n";
        assert_eq!(changes(&before, &after, labels, Colour::Plain), expected);
    }

    #[test]
    fn names_are_written_as_git_does() {
        let check = |path: &str, expected: &str| {
            let file = File::from_text("");
            assert_eq!(name("a", &path.parse().unwrap(), Some(&file)), expected);
            assert_eq!(name("a", &path.parse().unwrap(), None), "/dev/null");
        };
        check("b/c.yaml", "a/b/c.yaml");
        check("my file", "a/my file\t");
        check("say \"hi\"", "\"a/say \\\"hi\\\"\"");
        check("Ärger", "a/Ärger");
        assert_eq!(quoted("a\u{1}\u{85}\n\t\\"), "\"a\\001\\302\\205\\n\\t\\\\\"");
    }
}
