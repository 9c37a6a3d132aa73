//! JSON patches (RFC 6902), with the limits of kube-apiserver.

use serde_json::Value;

/// How many operations a patch may have.
pub const MAX_OPERATIONS: usize = 10_000;

/// Why a patch was refused; `Display` gives kube-apiserver's words, with a cause of ours where its own names inner parts of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no JSON patch: answer 400, `BadRequest`.
    #[error("error decoding patch: {0}")]
    Decode(String),
    /// More than [`MAX_OPERATIONS`]: answer 413, `RequestEntityTooLarge`.
    #[error("The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {0}")]
    TooMany(usize),
    /// An operation fails on this object: answer 422, `Invalid`.
    #[error("{0}")]
    Failed(String),
}

/// The object with a JSON patch applied to it, all of it or nothing.
///
/// # Errors
/// When it is no patch, has too many operations, or one of them fails.
pub fn patch(object: &Value, patch: &Value) -> Result<Value, Error> {
    let Value::Array(operations) = patch else {
        return Err(Error::Decode("a JSON patch is a list of operations".to_owned()));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(Error::TooMany(operations.len()));
    }
    if !operations.iter().all(Value::is_object) {
        return Err(Error::Decode("an operation is not an object".to_owned()));
    }
    // kube-apiserver finds out that it does not know an operation when it comes to it.
    let operations: json_patch::Patch =
        serde_json::from_value(patch.clone()).map_err(|error| Error::Failed(error.to_string()))?;
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &operations).map_err(|error| Error::Failed(error.to_string()))?;
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patches_apply_as_a_whole() {
        let object = json!({"a": 1, "list": [1, 2]});
        let good =
            json!([{"op": "test", "path": "/a", "value": 1}, {"op": "add", "path": "/list/-", "value": 3}]);
        assert_eq!(patch(&object, &good), Ok(json!({"a": 1, "list": [1, 2, 3]})));
        let bad = json!([{"op": "remove", "path": "/a"}, {"op": "test", "path": "/list/0", "value": 9}]);
        assert!(matches!(patch(&object, &bad), Err(Error::Failed(_))));
        assert!(matches!(patch(&object, &json!({"a": 1})), Err(Error::Decode(_))));
        assert!(matches!(patch(&object, &json!([1])), Err(Error::Decode(_))));
        assert!(matches!(patch(&object, &json!([{"op": "fly"}])), Err(Error::Failed(_))));
    }

    #[test]
    fn a_patch_has_ten_thousand_operations_at_most() {
        let one = json!({"op": "test", "path": "/a", "value": 1});
        let object = json!({"a": 1});
        assert_eq!(patch(&object, &vec![one.clone(); MAX_OPERATIONS].into()), Ok(object.clone()));
        let error = patch(&object, &vec![one; MAX_OPERATIONS + 1].into()).unwrap_err();
        assert_eq!(error.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
    }
}
