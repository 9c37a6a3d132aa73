//! The fields by which package revisions are selected.

use std::collections::BTreeSet;

use lanai_apiserver::{FieldOperator, Status};
use lanai_engine::rows::LEAF;
use lanai_store::{Requirement, Subject, Test};
use lanai_types::Lifecycle;

/// What a term asks of rows; `None` for name and namespace, which are in the key.
pub(super) fn requirement(
    field: &str,
    operator: FieldOperator,
    value: &str,
) -> Result<Option<Requirement>, Status> {
    if matches!(field, "metadata.name" | "metadata.namespace") {
        return Ok(None);
    }
    let (subject, value) = subject(field, value)?;
    if value.is_empty() {
        let shown = if operator == FieldOperator::Is { "=" } else { "!=" };
        let text =
            format!("unsupported fieldSelector value \"\" for field \"{field}\" with operator \"{shown}\"");
        return Err(Status::bad_request(text));
    }
    let test = match operator {
        FieldOperator::Is => Test::Equals(value),
        FieldOperator::IsNot => Test::NotIn(BTreeSet::from([value])),
    };
    Ok(Some(Requirement { subject: Subject::Field(subject), test }))
}

/// The field of rows, and the value as rows have it.
fn subject(field: &str, value: &str) -> Result<(String, String), Status> {
    match field {
        "spec.repository" | "spec.workspaceName" => Ok((field.to_owned(), value.to_owned())),
        // A name without folders is that of packages in any of them.
        "spec.packageName" => match value.trim_start_matches('/') {
            path if path.contains('/') => Ok((field.to_owned(), path.to_owned())),
            leaf => Ok((LEAF.to_owned(), leaf.to_owned())),
        },
        "spec.revision" => {
            let number = value.strip_prefix('v').unwrap_or(value);
            let number =
                if value.is_empty() { String::new() } else { number.parse().unwrap_or(-1i64).to_string() };
            Ok((field.to_owned(), number))
        }
        "spec.lifecycle" => match value.parse::<Lifecycle>() {
            Ok(lifecycle) => Ok((field.to_owned(), lifecycle.to_string())),
            Err(_) if value.is_empty() => Ok((field.to_owned(), String::new())),
            Err(_) => Err(Status::bad_request(format!(
                "unsupported fieldSelector value \"{value}\" for field \"spec.lifecycle\""
            ))),
        },
        other => {
            let label =
                other.strip_prefix("spec.packageMetadata.labels[").and_then(|rest| rest.strip_suffix(']'));
            match label {
                Some("") => Err(Status::bad_request(format!(
                    "label key cannot be empty in field selector \"{other}\""
                ))),
                Some(_) => Ok((other.to_owned(), value.to_owned())),
                None => Err(Status::bad_request(format!("\"{other}\" is not a known field selector"))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(field: &str, value: &str, expected: Result<(&str, &str), &str>) {
        let found = requirement(field, FieldOperator::Is, value).map(|found| {
            let found = found.expect("a requirement");
            (found.subject, found.test)
        });
        match expected {
            Ok((subject, value)) => {
                let wanted = (Subject::Field(subject.to_owned()), Test::Equals(value.to_owned()));
                assert_eq!(found.unwrap(), wanted, "{field}={value}");
            }
            Err(words) => assert!(found.unwrap_err().message.contains(words), "{field}={value}"),
        }
    }

    #[test]
    fn fields_are_those_of_porch() {
        check("spec.repository", "r", Ok(("spec.repository", "r")));
        check("spec.packageName", "dns", Ok(("leaf", "dns")));
        check("spec.packageName", "/net/dns", Ok(("spec.packageName", "net/dns")));
        check("spec.revision", "v3", Ok(("spec.revision", "3")));
        check("spec.revision", "x", Ok(("spec.revision", "-1")));
        check("spec.lifecycle", "Draft", Ok(("spec.lifecycle", "Draft")));
        check("spec.lifecycle", "draft", Err("unsupported fieldSelector value \"draft\""));
        check("spec.repository", "", Err("unsupported fieldSelector value \"\""));
        check("spec.packageMetadata.labels[a/b]", "c", Ok(("spec.packageMetadata.labels[a/b]", "c")));
        check("spec.packageMetadata.labels[]", "c", Err("label key cannot be empty"));
        check("spec.tasks", "c", Err("\"spec.tasks\" is not a known field selector"));
    }
}
