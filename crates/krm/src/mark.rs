//! The marks by which a resource is known when it is merged later, whatever it is called then.
//!
//! A comment on `metadata` for merging, and an annotation that functions keep. Both are kpt's.

use lanai_types::SafePath;
use lanai_yaml::path::Segment;
use lanai_yaml::{CommentPlace, Content, Document, Kind, NodeRef, Path, Stream, edit};

use crate::ignore::Dialect;
use crate::merge_mark::{MergeMark, UPSTREAM_IDENTIFIER, is_mark};
use crate::package::{File, Package, ReadOptions};

/// How many threads mark files, and how many files are worth one.
const MAX_THREADS: usize = 8;
const MIN_SHARE: usize = 16;

/// Marks every resource with a name, a namespace or labels in the YAML files of a package. All other bytes stay.
///
/// Marks that are there stay as they are; another comment on `metadata` moves to the line above it. Left out are Kptfiles,
/// JSON, files that are ignored, and what cannot be read or edited.
pub fn mark(package: &mut Package, dialect: Dialect) {
    let options = ReadOptions { ignore: dialect, ..ReadOptions::default() };
    let Ok(files) = package.resource_files(options) else { return };
    let files: Vec<&SafePath> = files.into_iter().filter(|path| is_marked_kind(path)).collect();
    let one = |path: &SafePath| {
        let file = package.get(path)?;
        let text = marked_text(file.text()?)?;
        Some((path.clone(), File::new(text.into_bytes(), file.mode())))
    };
    let many = |files: &[&SafePath]| files.iter().filter_map(|path| one(path)).collect::<Vec<_>>();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let share = files.len().div_ceil(threads).max(MIN_SHARE);
    let marked: Vec<(SafePath, File)> = std::thread::scope(|scope| {
        let work: Vec<_> = files.chunks(share).map(|part| scope.spawn(|| many(part))).collect();
        work.into_iter()
            .flat_map(|part| part.join().expect("reading and editing a text does not panic"))
            .collect()
    });
    for (path, file) in marked {
        // A package that is full stays without.
        let _ = package.insert(path, file);
    }
}

fn is_marked_kind(path: &SafePath) -> bool {
    matches!(path.extension(), Some("yaml" | "yml"))
}

/// The text with marks; `None` when there is nothing to do.
fn marked_text(text: &str) -> Option<String> {
    let mut stream = Stream::parse(text).ok()?;
    for document in stream.documents_mut() {
        if let Some(wanted) = Wanted::of(document) {
            // What cannot be marked is merged by what it is called.
            let _ = wanted.put(document);
        }
    }
    stream.is_edited().then(|| stream.to_string())
}

/// What a document lacks.
struct Wanted {
    comment: Option<String>,
    /// What is to stand above `metadata`, where another comment is in the place of the mark.
    head: Option<String>,
    annotation: Option<String>,
}

impl Wanted {
    fn of(document: &Document) -> Option<Self> {
        let root = document.root();
        let api_version = text(root.get("apiVersion")).unwrap_or_default();
        let kind = text(root.get("kind"))?;
        let (key, metadata) = root.own_entry("metadata")?;
        let name = text(metadata.get("name")).unwrap_or_default();
        let namespace = text(metadata.get("namespace")).unwrap_or_default();
        let has_labels = metadata.get("labels").is_some_and(|labels| !labels.is_empty());
        if name.is_empty() && namespace.is_empty() && !has_labels {
            return None;
        }
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let comments = [metadata.line_comment(), key.line_comment()];
        let existing = comments.into_iter().flatten().next();
        let marked = existing.as_deref().and_then(MergeMark::parse).filter(|mark| !mark.name.is_empty());
        let is_marked = existing.as_deref().is_some_and(is_mark);
        let head = existing.filter(|_| !is_marked).map(|comment| {
            let above = key.head_comment().map_or_else(String::new, |above| above + "\n");
            above + &comment
        });
        let mark = marked.unwrap_or(MergeMark { namespace, name });
        let in_namespace = if mark.namespace.is_empty() { "default" } else { &mark.namespace };
        let annotated = metadata.get("annotations").and_then(|all| all.get(UPSTREAM_IDENTIFIER)).is_some();
        Some(Self {
            comment: (!is_marked).then(|| format!("# {mark}")),
            head,
            annotation: (!annotated).then(|| format!("{group}|{kind}|{in_namespace}|{}", mark.name)),
        })
    }

    fn put(&self, document: &mut Document) -> Result<(), edit::Error> {
        if let Some(value) = &self.annotation {
            let path = ["metadata", "annotations", UPSTREAM_IDENTIFIER].map(|key| Segment::Key(key.into()));
            let quoted = format!("'{}'", value.replace('\'', "''"));
            let content = Content::parse(&quoted).unwrap_or_else(|_| Content::string(value.as_str()));
            document.set(&Path::from_iter(path), content)?;
        }
        let Some(comment) = &self.comment else { return Ok(()) };
        document.edit_together(|document| {
            if let Some(head) = &self.head {
                document.root_mut().set_key_comment("metadata", CommentPlace::Head, head)?;
            }
            document.root_mut().set_key_comment("metadata", CommentPlace::Line, comment)
        })
    }
}

fn text(node: Option<NodeRef<'_>>) -> Option<String> {
    let node = node?.target();
    let text = (node.kind() == Kind::Scalar && !node.is_null()).then(|| node.value().into_owned());
    text.filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str) {
        assert_eq!(marked_text(before).as_deref().unwrap_or(before), after);
        assert_eq!(marked_text(after), None, "a second time changes nothing");
    }

    #[test]
    fn resources_are_marked_and_all_else_stays() {
        check(
            "# head\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name:   web\n  namespace: shop\nspec: {a:   1}\n\
             ---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n    name: cm\n    annotations:\n        x: \"y\" # why\n",
            "# head\napiVersion: apps/v1\nkind: Deployment\nmetadata: # kpt-merge: shop/web\n  name:   web\n  namespace: shop\n  \
             annotations:\n    internal.kpt.dev/upstream-identifier: 'apps|Deployment|shop|web'\nspec: {a:   1}\n\
             ---\napiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /cm\n    name: cm\n    annotations:\n        x: \"y\" # why\n        \
             internal.kpt.dev/upstream-identifier: '|ConfigMap|default|cm'\n",
        );
    }

    #[test]
    fn marks_and_comments_that_are_there_stay() {
        check(
            "kind: A\nmetadata: # kpt-merge: old/name\n  name: new\n",
            "kind: A\nmetadata: # kpt-merge: old/name\n  name: new\n  annotations:\n    \
             internal.kpt.dev/upstream-identifier: '|A|old|name'\n",
        );
        check(
            "kind: A\nmetadata: # mine\n  name: a\n",
            "kind: A\n# mine\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    \
             internal.kpt.dev/upstream-identifier: '|A|default|a'\n",
        );
        check(
            "kind: A\n# above\nmetadata: # mine\n  name: a\n  annotations:\n    internal.kpt.dev/upstream-identifier: x\n",
            "kind: A\n# above\n# mine\nmetadata: # kpt-merge: /a\n  name: a\n  annotations:\n    \
             internal.kpt.dev/upstream-identifier: x\n",
        );
        let foreign = "kind: A\nmetadata: # kpt-merge: /a\n  name: a\n  annotations: {internal.kpt.dev/upstream-identifier: x}\n";
        check(foreign, foreign);
    }

    #[test]
    fn resources_without_a_name_are_marked_as_kpt_does() {
        check(
            "kind: A\nmetadata:\n  namespace: n\n",
            "kind: A\nmetadata: # kpt-merge: n/\n  namespace: n\n  annotations:\n    \
             internal.kpt.dev/upstream-identifier: '|A|n|'\n",
        );
        check(
            "kind: A\nmetadata:\n  labels: {a: b}\n",
            "kind: A\nmetadata: # kpt-merge: /\n  labels: {a: b}\n  annotations:\n    \
             internal.kpt.dev/upstream-identifier: '|A|default|'\n",
        );
    }

    #[test]
    fn what_is_no_resource_is_left_alone() {
        for text in [
            "a:   1\n",
            "kind: A\n",
            "kind: A\nmetadata: {}\n",
            "- 1\n",
            "",
            "a: [\n",
            "kind: A\nmetadata:\n  name:\n",
            "kind: A\nmetadata:\n  annotations: {a: b}\n",
        ] {
            assert_eq!(marked_text(text), None, "{text}");
        }
    }
}
