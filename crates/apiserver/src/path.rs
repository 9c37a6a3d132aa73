//! What a path means.

use percent_encoding::percent_decode_str;

use crate::status::Status;

/// What is behind a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// `/api`: the versions of the core group.
    CoreVersions,
    /// `/apis`: the other groups.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/VERSION` or `/apis/GROUP/VERSION`: what is served there.
    Resources(GroupVersion),
    /// Objects.
    Objects(ResourcePath),
    /// Anything else, as it is written.
    Other(String),
}

/// A group, empty for the core group, and one of its versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// Empty for the core group.
    pub group: String,
    /// As `v1`.
    pub version: String,
}

impl std::fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group.as_str() {
            "" => f.write_str(&self.version),
            group => write!(f, "{group}/{}", self.version),
        }
    }
}

/// Where objects are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePath {
    /// Their group and version.
    pub gv: GroupVersion,
    /// Their namespace; none for those of all namespaces, or in none.
    pub namespace: Option<String>,
    /// The plural.
    pub resource: String,
    /// One object; none for all.
    pub name: Option<String>,
    /// A part or a side of the object.
    pub subresource: Option<String>,
}

/// Sub-resources of namespaces themselves; everything else behind a namespace is a resource in it.
const OF_NAMESPACES: [&str; 2] = ["status", "finalize"];

/// Reads a path. Empty segments are left out.
///
/// # Errors
/// When a segment is not UTF-8 behind its percent signs, or has a slash there.
pub fn parse(path: &str) -> Result<Target, Status> {
    let segments = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(decode)
        .collect::<Result<Vec<String>, Status>>()?;
    let words: Vec<&str> = segments.iter().map(String::as_str).collect();
    Ok(match words.as_slice() {
        ["api"] => Target::CoreVersions,
        ["apis"] => Target::Groups,
        ["apis", group] => Target::Group((*group).to_owned()),
        ["api", version] => Target::Resources(gv("", version)),
        ["apis", group, version] => Target::Resources(gv(group, version)),
        ["api", version, rest @ ..] => objects(gv("", version), rest),
        ["apis", group, version, rest @ ..] => objects(gv(group, version), rest),
        _ => Target::Other(path.to_owned()),
    })
}

fn gv(group: &str, version: &str) -> GroupVersion {
    GroupVersion { group: group.to_owned(), version: version.to_owned() }
}

fn objects(gv: GroupVersion, rest: &[&str]) -> Target {
    let is_core = gv.group.is_empty();
    let (namespace, rest) = match rest {
        ["namespaces", _, side] if is_core && OF_NAMESPACES.contains(side) => (None, rest),
        ["namespaces", namespace, behind @ ..] if !behind.is_empty() => {
            (Some((*namespace).to_owned()), behind)
        }
        _ => (None, rest),
    };
    let [resource, behind @ ..] = rest else { return Target::Other(String::new()) };
    let path = ResourcePath {
        gv,
        namespace,
        resource: (*resource).to_owned(),
        name: behind.first().map(|name| (*name).to_owned()),
        subresource: (behind.len() > 1).then(|| behind[1..].join("/")),
    };
    Target::Objects(path)
}

fn decode(segment: &str) -> Result<String, Status> {
    let text = percent_decode_str(segment).decode_utf8().ok();
    text.filter(|text| !text.contains('/'))
        .map(std::borrow::Cow::into_owned)
        .ok_or_else(|| Status::bad_request(format!("the segment \"{segment}\" of the path is not a name")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: &str) {
        let shown = match parse(path).unwrap() {
            Target::Objects(path) => {
                let or = |text: Option<String>| text.unwrap_or_else(|| "-".into());
                let (resource, gv) = (path.resource, path.gv);
                format!("{gv} {} {resource} {} {}", or(path.namespace), or(path.name), or(path.subresource))
            }
            other => format!("{other:?}"),
        };
        assert_eq!(shown, expected, "{path}");
    }

    #[test]
    fn paths_name_objects() {
        check("/api/v1/namespaces", "v1 - namespaces - -");
        check("/api/v1/namespaces/a", "v1 - namespaces a -");
        check("/api/v1/namespaces/a/status", "v1 - namespaces a status");
        check("/api/v1/namespaces/a/finalize", "v1 - namespaces a finalize");
        check("/api/v1/namespaces/a/configmaps", "v1 a configmaps - -");
        check("/api/v1/namespaces/a/configmaps/b%20c", "v1 a configmaps b c -");
        check("/api/v1/namespaces/a/serviceaccounts/b/token", "v1 a serviceaccounts b token");
        check("/api/v1/configmaps/", "v1 - configmaps - -");
        check("/apis/flyte.org/v1/namespaces/a/taskactions/b/status", "flyte.org/v1 a taskactions b status");
        check("/apis/x.org/v1/namespaces/a", "x.org/v1 - namespaces a -");
    }

    #[test]
    fn other_paths() {
        check("/api", "CoreVersions");
        check("/apis/", "Groups");
        check("/apis/a.b", "Group(\"a.b\")");
        check("/openapi/v3/apis/a", "Other(\"/openapi/v3/apis/a\")");
        check("/", "Other(\"/\")");
        assert!(parse("/api/v1/configmaps/a%2Fb").is_err());
        assert!(parse("/api/v1/configmaps/%ff").is_err());
    }
}
