//! `krmfn.star`: which resource is it?

use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictRef;

/// The members of `krmfn`.
#[starlark_module]
pub fn members(builder: &mut GlobalsBuilder) {
    /// Whether a resource is of that type. A version without a group matches it in any group.
    fn match_gvk(
        #[starlark(require = pos)] obj: Value<'_>,
        #[starlark(require = pos)] api_version: &str,
        #[starlark(require = pos)] kind: &str,
    ) -> anyhow::Result<bool> {
        let is = Type::of(&text(obj, &["apiVersion"]), text(obj, &["kind"]));
        Ok(Type::of(api_version, kind.to_owned()).matches(&is))
    }

    /// Whether a resource has that name.
    fn match_name(
        #[starlark(require = pos)] obj: Value<'_>,
        #[starlark(require = pos)] name: &str,
    ) -> anyhow::Result<bool> {
        Ok(text(obj, &["metadata", "name"]) == name)
    }

    /// Whether a resource is in that namespace.
    fn match_namespace(
        #[starlark(require = pos)] obj: Value<'_>,
        #[starlark(require = pos)] namespace: &str,
    ) -> anyhow::Result<bool> {
        Ok(text(obj, &["metadata", "namespace"]) == namespace)
    }
}

/// What a resource is; a part that is empty matches all.
struct Type {
    group: String,
    version: String,
    kind: String,
}

impl Type {
    fn of(api_version: &str, kind: String) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind }
    }

    fn matches(&self, is: &Self) -> bool {
        let same = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
        same(&self.group, &is.group) && same(&self.version, &is.version) && same(&self.kind, &is.kind)
    }
}

/// The text below these keys; empty where there is none.
fn text(obj: Value<'_>, keys: &[&str]) -> String {
    let found = keys.iter().try_fold(obj, |value, key| DictRef::from_value(value)?.get_str(key));
    found.and_then(Value::unpack_str).unwrap_or_default().to_owned()
}
