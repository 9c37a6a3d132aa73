//! Fields that are named once for all resources of a kind, such as `spec/template/metadata/labels`.

use lanai_krm::{Resource, ResourceId};
use lanai_yaml::{Kind, NodeRef, Path};

use crate::config::{self, Wrong};
use crate::plan::{below, item};

/// What happens where a field is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is added, with the mappings on the way.
    Create,
    /// Nothing.
    Skip,
}

/// A field of the resources of a kind. What is empty matches every group, version or kind.
#[derive(Clone, Debug)]
pub struct FieldSpec {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The keys that lead to the field, with slashes between them. Lists on the way stand for all their items; a key that
    /// ends in `[]` must be one.
    pub path: String,
    /// What happens where the field is missing.
    pub missing: Missing,
}

impl FieldSpec {
    /// Reads one from an item of a list in a configuration.
    ///
    /// # Errors
    /// When a field is of the wrong type, or there is no path.
    pub fn read(node: NodeRef<'_>, list: &str) -> Result<Self, Wrong> {
        let wrong = |wrong: Wrong| Wrong { path: format!("{list}[].{}", wrong.path), ..wrong };
        if node.target().kind() != Kind::Mapping {
            let found = crate::sites::describe(node);
            return Err(Wrong { path: format!("{list}[]"), found, expected: "a mapping" });
        }
        let field = |key| Ok(config::scalar(node, key).map_err(wrong)?.unwrap_or_default());
        let path: String = field("path")?;
        if path.trim_matches('/').is_empty() {
            return Err(Wrong {
                path: format!("{list}[].path"),
                found: "missing",
                expected: "a path with slashes",
            });
        }
        let missing = if field("create")? == "true" { Missing::Create } else { Missing::Skip };
        Ok(Self { group: field("group")?, version: field("version")?, kind: field("kind")?, path, missing })
    }

    /// Whether it is about resources of this type.
    pub fn matches(&self, id: &ResourceId) -> bool {
        let fits = |asked: &str, is: &str| asked.is_empty() || asked == is;
        fits(&self.group, &id.group) && fits(&self.version, &id.version) && fits(&self.kind, &id.kind)
    }

    /// The places in a resource that it leads to.
    ///
    /// # Errors
    /// The path of something on the way that is no mapping.
    pub fn places<'a>(&self, resource: &'a Resource) -> Result<Vec<Place<'a>>, Path> {
        places(resource.root(), &self.path, self.missing)
    }
}

/// Where a field is, or would be.
pub struct Place<'a> {
    /// The way to it.
    pub path: Path,
    /// What is there.
    pub node: Option<NodeRef<'a>>,
}

/// The places below a node that a path with slashes leads to. Null counts as missing. A slash that belongs to a key has a
/// backslash before it.
///
/// # Errors
/// The path of something on the way that is no mapping.
pub fn places<'a>(root: NodeRef<'a>, path: &str, missing: Missing) -> Result<Vec<Place<'a>>, Path> {
    let keys = keys(path);
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    follow(Place { path: Path::root(), node: Some(root) }, &keys, missing, &mut found)?;
    Ok(found)
}

fn keys(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut letters = path.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, keys.last_mut()) {
            ('\\', Some(key)) if letters.next_if_eq(&'/').is_some() => key.push('/'),
            ('/', _) => keys.push(String::new()),
            (letter, Some(key)) => key.push(letter),
            (_, None) => {}
        }
    }
    keys.retain(|key| !key.is_empty());
    keys
}

fn follow<'a>(
    at: Place<'a>,
    keys: &[&str],
    missing: Missing,
    found: &mut Vec<Place<'a>>,
) -> Result<(), Path> {
    let node = at.node.map(NodeRef::target).filter(|node| !node.is_null());
    let Some((key, rest)) = keys.split_first() else {
        found.push(Place { path: at.path, node });
        return Ok(());
    };
    match node.map(NodeRef::kind) {
        Some(Kind::Sequence) => {
            let items = node.into_iter().flat_map(NodeRef::items).enumerate();
            let items: Vec<_> =
                items.map(|(index, node)| Place { path: item(&at.path, index), node: Some(node) }).collect();
            items.into_iter().try_for_each(|at| follow(at, keys, missing, found))
        }
        Some(Kind::Mapping) | None => {
            let name = key.strip_suffix("[]").unwrap_or(key);
            let value = node.and_then(|node| node.get(name));
            let is_missing = value.is_none_or(NodeRef::is_null);
            if is_missing && (missing == Missing::Skip || name != *key) {
                return Ok(());
            }
            follow(Place { path: below(&at.path, name), node: value }, rest, missing, found)
        }
        Some(Kind::Scalar | Kind::Alias) => Err(at.path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_may_belong_to_a_key() {
        assert_eq!(keys("/a/b\\/c//d\\e"), ["a", "b/c", "d\\e"]);
    }
}
