//! The annotation by which resources of Config Connector tell which tools they went through.

use lanai_krm::Resource;

/// The annotation.
const BLUEPRINT: &str = "cnrm.cloud.google.com/blueprint";
/// What the part of the annotation begins with that is about tools for packages.
const PREFIX: &str = "krm-";
/// The groups of commands that such a part names, in its order.
const GROUPS: [&str; 3] = ["pkg", "fn", "live"];
/// The group of this one.
const GROUP: &str = "fn";

/// Whether a resource is another one now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Made,
    Nothing,
}

/// Writes into a resource of Config Connector that functions were run on it. One whose annotations cannot be edited stays as
/// it is.
pub(crate) fn attribute(item: &mut Resource) -> Change {
    if item.api_version().is_none_or(|version| !version.contains(".cnrm.")) {
        return Change::Nothing;
    }
    let value = value(item);
    if item.annotation(BLUEPRINT).is_some_and(|old| old == value) {
        return Change::Nothing;
    }
    match item.set_annotation(BLUEPRINT, &value) {
        Ok(()) => Change::Made,
        Err(_) => Change::Nothing,
    }
}

fn value(item: &Resource) -> String {
    let Some(old) = item.annotation(BLUEPRINT).filter(|old| !old.is_empty()) else {
        return format!("{PREFIX}{GROUP}");
    };
    if !old.split(',').any(|part| part.starts_with(PREFIX)) {
        return format!("{old},{PREFIX}{GROUP}");
    }
    let parts = old.split(',').map(|part| match part.strip_prefix(PREFIX) {
        Some(groups) => with_group(groups),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(",")
}

fn with_group(groups: &str) -> String {
    let has = |group: &&str| *group == GROUP || groups.split('-').any(|named| named == *group);
    let groups: Vec<&str> = GROUPS.into_iter().filter(has).collect();
    format!("{PREFIX}{}", groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_gather_in_their_order() {
        for (old, new) in [
            ("", "krm-fn"),
            ("krm-pkg", "krm-pkg-fn"),
            ("krm-live", "krm-fn-live"),
            ("krm-pkg-live", "krm-pkg-fn-live"),
            ("krm-fn", "krm-fn"),
            ("krm-xx", "krm-fn"),
            ("a/b:c", "a/b:c,krm-fn"),
            ("a/b:c,krm-pkg,z", "a/b:c,krm-pkg-fn,z"),
        ] {
            let version = "apiVersion: x.cnrm.cloud.google.com/v1\n";
            let text = format!("{version}metadata:\n  annotations:\n    {BLUEPRINT}: '{old}'\n");
            let mut item = Resource::parse(&text).unwrap();
            attribute(&mut item);
            assert_eq!(item.annotation(BLUEPRINT).unwrap(), new, "{old}");
            assert_eq!(attribute(&mut item), Change::Nothing);
        }
        let mut other = Resource::parse("apiVersion: v1\nkind: A\n").unwrap();
        assert_eq!(attribute(&mut other), Change::Nothing);
    }
}
