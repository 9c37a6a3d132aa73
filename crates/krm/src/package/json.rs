//! Resources in JSON files.

use lanai_types::SafePath;

use super::Error;
use crate::Resource;

pub(super) fn is_json_name(path: &SafePath) -> bool {
    path.extension() == Some("json")
}

/// The text of a resource as JSON: as it is where it is JSON already, else anew, two spaces a level, keys in their
/// order.
pub(super) fn text(path: &SafePath, resource: &Resource) -> Result<String, Error> {
    let written = resource.to_string();
    if serde_json::from_str::<serde::de::IgnoredAny>(&written).is_ok() {
        return Ok(written);
    }
    let failed = |cause: String| Error::NotJson { path: path.clone(), cause };
    let value: serde_json::Value =
        resource.root().deserialize().map_err(|error| failed(error.to_string()))?;
    let mut text = serde_json::to_string_pretty(&value).map_err(|error| failed(error.to_string()))?;
    text.push('\n');
    Ok(text)
}
