//! Which packages there are, and in which order their pipelines run.

use lanai_krm::package::{Folder, Mode};
use lanai_krm::{Kptfile, Package, kptfile};

/// A package of the tree.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Where it is.
    pub folder: Folder,
    /// How many packages it is in, itself included.
    pub depth: usize,
    /// The names of the packages from the root down, joined by slashes; only the last part of a path is a name.
    pub name: String,
    /// The package that it is in directly.
    pub outer: Option<usize>,
    /// The packages that are in it directly, in order.
    pub inner: Vec<usize>,
}

/// The Kptfiles of the packages, in their order, each read once.
pub(crate) type Kptfiles = Vec<Result<Kptfile, kptfile::Error>>;

/// What is done with a package when its turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    /// Its pipeline is checked, and its resources are read.
    Enter(usize),
    /// Its pipeline runs.
    Run(usize),
}

/// In which order pipelines run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The inner before the outer.
    DepthFirst,
    /// The outer before the inner, level by level.
    BreadthFirst,
}

/// The annotation that asks for [`Order::BreadthFirst`].
const BREADTH_FIRST: &str = "kpt.dev/bfs-rendering";
/// The annotation that asks for what was done to be kept when something fails.
const SAVE_ON_FAILURE: &str = "kpt.dev/save-on-render-failure";

/// The packages by their paths, the outer before the inner, so that the first is the root. `name` is that of the root.
pub(crate) fn packages(package: &Package, name: &str) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    // The outer come first, so the last that holds a package is the nearest.
    let mut open: Vec<usize> = Vec::new();
    for folder in package.package_roots() {
        let at = nodes.len();
        let node = match &folder {
            Folder::Root => Node { folder, depth: 1, name: name.to_owned(), outer: None, inner: Vec::new() },
            Folder::At(path) => {
                while open.pop_if(|outer| !nodes[*outer].folder.holds(path)).is_some() {}
                let outer = open.last().copied();
                let (depth, above) =
                    outer.map_or((1, ""), |outer| (nodes[outer].depth + 1, &nodes[outer].name));
                let name = [above, path.file_name()].into_iter().filter(|part| !part.is_empty());
                let name = name.collect::<Vec<_>>().join("/");
                Node { folder, depth, name, outer, inner: Vec::new() }
            }
        };
        if let Some(outer) = node.outer {
            nodes[outer].inner.push(at);
        }
        open.push(at);
        nodes.push(node);
    }
    nodes
}

/// What is done with which package, in order.
///
/// Depth first, a package is entered, then the packages in it have their turn, then it runs: what stands later in the tree
/// is not looked at before. Breadth first, all are entered before the first runs.
pub(crate) fn schedule(nodes: &[Node], order: Order) -> Vec<Visit> {
    let mut visits = Vec::with_capacity(2 * nodes.len());
    match order {
        Order::BreadthFirst => {
            let mut levels: Vec<usize> = (0..nodes.len()).collect();
            levels.sort_by_key(|at| nodes[*at].depth);
            visits.extend(levels.iter().map(|at| Visit::Enter(*at)));
            visits.extend(levels.iter().map(|at| Visit::Run(*at)));
        }
        Order::DepthFirst => {
            let mut open: Vec<usize> = Vec::new();
            for (at, node) in nodes.iter().enumerate() {
                while let Some(last) = open.pop_if(|last| nodes[*last].depth >= node.depth) {
                    visits.push(Visit::Run(last));
                }
                visits.push(Visit::Enter(at));
                open.push(at);
            }
            visits.extend(open.into_iter().rev().map(Visit::Run));
        }
    }
    visits
}

pub(crate) fn order(root: &Kptfile) -> Order {
    if is_true(root, BREADTH_FIRST) { Order::BreadthFirst } else { Order::DepthFirst }
}

pub(crate) fn saves_on_failure(root: &Kptfile) -> bool {
    is_true(root, SAVE_ON_FAILURE)
}

fn is_true(kptfile: &Kptfile, annotation: &str) -> bool {
    let annotations = &kptfile.fields().metadata.annotations;
    annotations.get(annotation).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The Kptfile of a package. A symbolic link is none.
pub(crate) fn kptfile(package: &Package, folder: &Folder) -> Result<Kptfile, kptfile::Error> {
    let path = kptfile::FILE_NAME.parse().ok().and_then(|name| crate::config::inside(folder, &name));
    let file = path.and_then(|path| package.get(&path)).filter(|file| file.mode() != Mode::Symlink);
    Kptfile::parse(&String::from_utf8_lossy(file.ok_or(kptfile::Error::NotFound)?.content()))
}

/// The Kptfiles of all packages.
pub(crate) fn kptfiles(package: &Package, nodes: &[Node]) -> Kptfiles {
    nodes.iter().map(|node| kptfile(package, &node.folder)).collect()
}

#[cfg(test)]
mod tests {
    use lanai_krm::package::File;

    use super::*;

    fn visits(order: Order) -> Vec<String> {
        let files = [
            "Kptfile",
            "a/Kptfile",
            "a/deep/d/Kptfile",
            "a-b/Kptfile",
            "B/Kptfile",
            "m/n/Kptfile",
            "x/y.yaml",
        ];
        let files = files.map(|path| (path, File::from_text("")));
        let package = Package::from_entries(files, lanai_types::Limits::default()).unwrap();
        let nodes = packages(&package, "p");
        let visits = schedule(&nodes, order).into_iter().map(|visit| match visit {
            Visit::Enter(at) => format!("+{}", nodes[at].name),
            Visit::Run(at) => nodes[at].name.clone(),
        });
        visits.collect()
    }

    #[test]
    fn the_inner_run_before_the_outer() {
        let expected = "+p +p/B p/B +p/a +p/a/d p/a/d p/a +p/a-b p/a-b +p/n p/n p";
        assert_eq!(visits(Order::DepthFirst).join(" "), expected);
    }

    #[test]
    fn the_outer_run_before_the_inner() {
        let expected = "+p +p/B +p/a +p/a-b +p/n +p/a/d p p/B p/a p/a-b p/n p/a/d";
        assert_eq!(visits(Order::BreadthFirst).join(" "), expected);
    }
}
