//! `lanai pkg tree`: packages, resources and files as a tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lanai_krm::Package;
use lanai_krm::ignore::Dialect;
use lanai_krm::package::{Folder, Mode, ReadOptions};

use super::args::Tree;
use super::ignored;
use super::local::{Local, Purpose};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};

pub(super) fn run(tree: &Tree, dialect: Dialect, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let local = Local::open(&tree.folder, Purpose::Look, io)?;
    ignored::warn(&local.package, dialect, io);
    let options = ReadOptions { ignore: dialect, ..ReadOptions::default() };
    let text = draw(&local.package, &local.name(), options).map_err(|error| {
        Failure::of(
            Code::Text,
            match error {
                lanai_krm::package::Error::Unreadable { path, cause } => {
                    format!("{}: {cause:#}", local.root.join(path.as_str()).display())
                }
                lanai_krm::package::Error::Ignore { path, cause } => {
                    format!("{}: {cause}", local.root.join(path.as_str()).display())
                }
                other => other.to_string(),
            },
        )
    })?;
    io.print(&text)?;
    Ok(Exit::Success)
}

/// A folder that is shown.
#[derive(Default)]
struct Branch {
    /// By file, namespace, name, kind and version.
    resources: BTreeSet<Leaf>,
    /// By path from here.
    files: BTreeSet<String>,
    folders: BTreeSet<Folder>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Leaf {
    file: String,
    namespace: String,
    name: String,
    kind: String,
    api_version: String,
}

fn draw(package: &Package, name: &str, options: ReadOptions) -> Result<String, lanai_krm::package::Error> {
    let mut branches: BTreeMap<Folder, Branch> = BTreeMap::from([(Folder::Root, Branch::default())]);
    let mut with_resources = BTreeSet::new();
    for located in package.resources(options)? {
        let id = located.resource.id();
        let leaf = Leaf {
            file: located.path.file_name().into(),
            api_version: id.api_version(),
            namespace: id.namespace,
            name: id.name,
            kind: id.kind,
        };
        branches.entry(Folder::of(&located.path)).or_default().resources.insert(leaf);
        with_resources.insert(located.path);
    }
    let shown: BTreeSet<Folder> = branches.keys().cloned().collect();
    for folder in shown.iter().filter(|folder| **folder != Folder::Root) {
        let outer = nearest(folder.parent(), &shown);
        branches.entry(outer).or_default().folders.insert(folder.clone());
    }
    for (path, file) in package.iter() {
        let hidden = path.file_name().starts_with('.');
        if with_resources.contains(path) || hidden || file.mode() == Mode::Symlink {
            continue;
        }
        let folder = nearest(Some(Folder::of(path)), &shown);
        let inside = folder.relative(path).unwrap_or_else(|| path.clone());
        branches.entry(folder).or_default().files.insert(inside.to_string());
    }
    let mut text = format!("{}\n", title(package, &Folder::Root, name));
    draw_branch(package, &branches, &Folder::Root, "", &mut text);
    Ok(text)
}

/// The folder itself or the nearest around it that is shown.
fn nearest(folder: Option<Folder>, shown: &BTreeSet<Folder>) -> Folder {
    let mut folders = std::iter::successors(folder, Folder::parent);
    folders.find(|folder| shown.contains(folder)).unwrap_or(Folder::Root)
}

fn draw_branch(
    package: &Package,
    branches: &BTreeMap<Folder, Branch>,
    folder: &Folder,
    indent: &str,
    text: &mut String,
) {
    let Some(branch) = branches.get(folder) else { return };
    let mut left = branch.resources.len() + branch.files.len() + branch.folders.len();
    let mut fork = || {
        left -= 1;
        if left == 0 { ("└── ", "    ") } else { ("├── ", "│   ") }
    };
    for Leaf { file, namespace, name, kind, .. } in &branch.resources {
        let slash = if namespace.is_empty() { "" } else { "/" };
        let _ = writeln!(text, "{indent}{}[{file}]  {kind} {namespace}{slash}{name}", fork().0);
    }
    for file in &branch.files {
        let _ = writeln!(text, "{indent}{}{file}", fork().0);
    }
    for inner in &branch.folders {
        let (here, below) = fork();
        let name = match inner {
            Folder::Root => "",
            Folder::At(path) => path.file_name(),
        };
        let _ = writeln!(text, "{indent}{here}{}", title(package, inner, name));
        draw_branch(package, branches, inner, &format!("{indent}{below}"), text);
    }
}

fn title(package: &Package, folder: &Folder, name: &str) -> String {
    if package.is_package(folder) { format!("Package \"{name}\"") } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_krm::package::File;
    use lanai_types::Limits;

    fn check(files: &[(&str, &str)], expected: &str) {
        let files = files.iter().map(|(path, text)| (*path, File::from_text(text)));
        let package = Package::from_entries(files, Limits::default()).unwrap();
        assert_eq!(draw(&package, "top", ReadOptions::default()).unwrap(), expected);
    }

    #[test]
    fn folders_without_resources_are_left_out() {
        check(
            &[
                ("d/e/f.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: a}\n"),
                ("d/x.txt", ""),
                ("d/e/g/y.txt", ""),
            ],
            "top\n├── d/x.txt\n└── e\n    ├── [f.yaml]  A a\n    └── g/y.txt\n",
        );
    }

    #[test]
    fn resources_are_sorted_within_a_file() {
        check(
            &[
                ("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: other}\n"),
                (
                    "a.yaml",
                    "apiVersion: v1\nkind: B\nmetadata: {name: z}\n---\napiVersion: v1\nkind: A\nmetadata: {name: b, namespace: n}\n",
                ),
                ("values.yaml", "a: 1\n"),
                (".hidden", ""),
            ],
            "Package \"top\"\n├── [Kptfile]  Kptfile other\n├── [a.yaml]  B z\n├── [a.yaml]  A n/b\n└── values.yaml\n",
        );
    }
}
