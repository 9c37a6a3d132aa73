//! JSON patches (RFC 6902), with the limits of kube-apiserver.

use json_patch::PatchOperation;
use lanai_api::decode::{MAX_DEPTH, depth};
use serde_json::Value;

/// How many bytes the operations of a patch may copy and move together: each copy can be copied again, and what is moved can be moved without end.
pub const MAX_COPIED: usize = 3 << 20;
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
    /// More than [`MAX_COPIED`]: answer 413, `RequestEntityTooLarge`.
    #[error("The allowed maximum of what a JSON patch copies and moves is {MAX_COPIED} bytes")]
    CopiesTooMuch,
    /// It would make the object deeper than [`MAX_DEPTH`]: answer 422, `Invalid`.
    #[error("the patch makes an object that is deeper than {MAX_DEPTH}")]
    TooDeep,
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
    let mut copied = 0;
    for operation in &operations.0 {
        if is_absent(&patched, operation) {
            continue;
        }
        check(&patched, operation, &mut copied)?;
        json_patch::patch_unsafe(&mut patched, std::slice::from_ref(operation))
            .map_err(|error| Error::Failed(error.to_string()))?;
    }
    Ok(patched)
}

/// What an operation puts somewhere must not be too deep there, and not too much. Few operations could make an object that no stack and no memory holds.
fn check(object: &Value, operation: &PatchOperation, copied: &mut usize) -> Result<(), Error> {
    let (path, value) = match operation {
        PatchOperation::Add(add) => (&add.path, Some(&add.value)),
        PatchOperation::Replace(replace) => (&replace.path, Some(&replace.value)),
        PatchOperation::Move(from) => (&from.path, charged(object.pointer(from.from.as_str()), copied)?),
        PatchOperation::Copy(from) => (&from.path, charged(object.pointer(from.from.as_str()), copied)?),
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Ok(()),
    };
    if path.count() + value.map_or(0, depth) > MAX_DEPTH { Err(Error::TooDeep) } else { Ok(()) }
}

fn charged<'v>(value: Option<&'v Value>, copied: &mut usize) -> Result<Option<&'v Value>, Error> {
    *copied += value.map_or(0, |value| value.to_string().len());
    if *copied > MAX_COPIED { Err(Error::CopiesTooMuch) } else { Ok(value) }
}

/// True for a test that a field is null, of an object without that field: kube-apiserver takes it for one that holds, and clients test so that there is none.
fn is_absent(object: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else { return false };
    let Some((above, key)) = test.path.as_str().rsplit_once('/') else { return false };
    let key = key.replace("~1", "/").replace("~0", "~");
    let parent = object.pointer(above).and_then(Value::as_object);
    test.value.is_null() && parent.is_some_and(|parent| !parent.contains_key(&key))
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
    fn copies_of_copies_end() {
        let object = json!({"a": {"b": "x".repeat(1000)}});
        let copies = |count: usize| {
            let copies =
                (0..count).map(|at| json!({"op": "copy", "from": "/a", "path": format!("/a/c{at}")}));
            patch(&object, &copies.collect())
        };
        assert!(copies(8).is_ok());
        assert!(matches!(copies(30), Err(Error::CopiesTooMuch)), "it would be a terabyte");
        let there_and_back = [
            json!({"op": "move", "from": "/a", "path": "/z"}),
            json!({"op": "move", "from": "/z", "path": "/a"}),
        ];
        let moves =
            |count: usize| patch(&object, &there_and_back.iter().cycle().take(count).cloned().collect());
        assert!(moves(3_000).is_ok());
        assert!(matches!(moves(4_000), Err(Error::CopiesTooMuch)));
        let whole = json!([{"op": "copy", "from": "", "path": "/a/d"}]);
        assert!(patch(&object, &whole).is_ok());
    }

    #[test]
    fn objects_stay_as_deep_as_they_may_be() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({"a": inner}));
        let object = json!({"a": {}});
        let add = |depth: usize| json!([{"op": "add", "path": "/a/b", "value": nested(depth)}]);
        assert!(patch(&object, &add(MAX_DEPTH - 2)).is_ok());
        assert_eq!(patch(&object, &add(MAX_DEPTH - 1)), Err(Error::TooDeep));
        let deeper = json!([{"op": "add", "path": "/a/b", "value": nested(60)},
                            {"op": "copy", "from": "/a/b", "path": &format!("/a/b{}", "/a".repeat(60))},
                            {"op": "copy", "from": "/a/b", "path": &format!("/a/b{}", "/a".repeat(119))}]);
        assert_eq!(patch(&object, &deeper), Err(Error::TooDeep));
    }

    #[test]
    fn a_field_that_is_not_there_is_null_for_tests() {
        let test = |path: &str, value: Value| json!([{"op": "test", "path": path, "value": value}]);
        let object = json!({"metadata": {"name": "a", "x/y": 1}});
        assert!(patch(&object, &test("/metadata/finalizers", Value::Null)).is_ok());
        assert!(patch(&object, &test("/metadata/finalizers", json!([]))).is_err());
        assert!(patch(&object, &test("/metadata/name", Value::Null)).is_err());
        assert!(patch(&object, &test("/metadata/x~1y", Value::Null)).is_err());
        assert!(patch(&object, &test("/nothing/finalizers", Value::Null)).is_err());
        let both =
            json!([{"op": "add", "path": "/b", "value": 1}, {"op": "test", "path": "/b", "value": null}]);
        assert!(patch(&object, &both).is_err(), "operations see what those before them did");
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
