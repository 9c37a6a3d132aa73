//! The page about the functions.

use std::fmt::Write as _;

use crate::catalog::PREFIXES;
use crate::{Compared, Counterpart, Function};

/// What holds for all functions, before the functions.
const PREFACE: &str = "\
# Functions

These functions come with the binary. Each does what the function of the same name in the public catalog of KRM functions
does, for the tags that are listed; where it differs, a table says so, and the fixtures named there (below
`tests/it/fixtures` of the function's crate, in the folder of the function) show it. This page is generated from the code:
`UPDATE=1 cargo test -p lanai-runner`.

Every fixture was put before a program of that catalog, too: each section says which. Its answers stand beside ours
(`catalog.yaml`), and a test compares exit code, results and resources: the text of each in the format that those programs write,
comments included, or only the values, where the program writes resources anew. `deviation.txt` has what differs, and a
fixture with one that no table names fails the test.

For all of them:

- Resources are edited where they stand. Comments, order, quoting and layout of what is not changed stay byte for byte. (The
  functions of the catalog sort the list or write every resource anew; orchestrators repair that afterwards.)
- A function that runs a second time changes nothing.
- `items` is always written, and `results` is always a list. (Some functions of the catalog leave out empty items, or write results
  as a mapping with `items`.) Results name a file by the annotation for its path, the current one before the legacy one, with the
  index; those that are about no file have none.
- When a function fails, a result of severity error says why, the exit code is 1, and stderr has the same message once.
  Errors are failures for every function, and its resources are not to be used then. An error about a resource, a field or a file
  names it. (Some functions of the catalog say what is wrong only on stderr, or exit with 0.)
- A resource that a function has nothing to do with does not stop it, whatever its shape. (Functions of the catalog end where
  `metadata` is no mapping.)
- Texts in a configuration may be scalars of any type and count as their text. Lists and mappings in their place are refused:
  the message names the field.
- A value that gets an alias (`*name`) or stands below one is written in place of the alias; what the anchor names stays as it
  is. What an anchor names is changed like everything else, and its aliases follow.
";

/// The page about these functions, as `docs/functions.md` has it.
pub fn page(functions: &[&'static dyn Function]) -> String {
    let mut out = String::from(PREFACE);
    let prefixes: Vec<String> = PREFIXES.iter().map(|prefix| format!("`{prefix}`")).collect();
    let _ = write!(
        out,
        "\nA pipeline names a function by its name, or by an image: one of the prefixes {}\nor none, the name, and a tag of the \
         function, `latest`, or none.\n",
        prefixes.join(", ")
    );
    for function in functions {
        section(&mut out, *function);
    }
    out
}

/// The section about one function.
pub fn section(out: &mut String, function: &dyn Function) {
    let doc = function.doc();
    let _ = write!(out, "\n## {}\n\n{}\n\n", function.name(), doc.purpose);
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !function.aliases().is_empty() {
        let _ = write!(out, "Also called {}.\n\n", list(function.aliases()));
    }
    let tags = if function.tags().is_empty() { "none".into() } else { list(function.tags()) };
    let _ = writeln!(out, "Tags: {tags}");
    let _ = match function.counterpart() {
        Counterpart::Program { version, resources: Compared::Text } => {
            writeln!(out, "\nCompared with: {version}; resources by their text.")
        }
        Counterpart::Program { version, resources: Compared::Values } => {
            writeln!(out, "\nCompared with: {version}; resources by their values.")
        }
        Counterpart::None { why } => writeln!(out, "\nCompared with no program: {why}."),
    };
    if doc.config.is_empty() {
        out.push_str("\nIt takes no configuration.\n");
    } else {
        out.push_str("\n| field | meaning |\n|---|---|\n");
        for field in doc.config {
            let _ = writeln!(out, "| `{}` | {} |", cell(field.path), cell(field.meaning));
        }
    }
    if !doc.example.is_empty() {
        let _ = write!(out, "\n```yaml\n{}```\n", doc.example);
    }
    if !doc.deviations.is_empty() {
        out.push_str("\n| in the catalog | here | fixtures |\n|---|---|---|\n");
        for deviation in doc.deviations {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                cell(deviation.there),
                cell(deviation.here),
                list(deviation.fixtures)
            );
        }
    }
}

/// A text that is one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
