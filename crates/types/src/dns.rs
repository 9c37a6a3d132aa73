//! Kubernetes's rules for names, in the words that Kubernetes uses.

use std::fmt;

/// The most bytes of a label.
pub const MAX_LABEL_BYTES: usize = 63;
/// The most bytes of a subdomain.
pub const MAX_SUBDOMAIN_BYTES: usize = 253;

/// One thing that is wrong with a name. `Display` gives the text that Kubernetes gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A label of more than 63 bytes.
    #[error("must be no more than {MAX_LABEL_BYTES} characters")]
    LabelTooLong,
    /// Would be a fine subdomain, but a label has no dots.
    #[error("must not contain dots")]
    Dots,
    /// Not a label.
    #[error(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
         with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    )]
    NotALabel,
    /// A path with two slashes together.
    #[error("consecutive '/' characters are not allowed")]
    DoubleSlash,
    /// A subdomain of more than 253 bytes.
    #[error("must be no more than {MAX_SUBDOMAIN_BYTES} characters")]
    SubdomainTooLong,
    /// Not a subdomain.
    #[error(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )]
    NotASubdomain,
}

/// Everything that is wrong with one name, in Kubernetes's order; at least one problem. `Display` joins the texts with
/// commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// The problems.
    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

/// Checks that the text is a DNS-1123 label: lower-case letters, digits and hyphens, no hyphen at either end, at most 63.
pub fn check_label(raw: &str) -> Result<(), Problems> {
    none_of(label_problems(raw))
}

/// Checks that the text is a DNS-1123 subdomain: labels (of any length) between single dots, at most 253 bytes together.
pub fn check_subdomain(raw: &str) -> Result<(), Problems> {
    let mut problems = Vec::new();
    if raw.len() > MAX_SUBDOMAIN_BYTES {
        problems.push(Problem::SubdomainTooLong);
    }
    if !has_form_of_subdomain(raw) {
        problems.push(Problem::NotASubdomain);
    }
    none_of(problems)
}

/// Checks a path by Porch's rule: no two slashes together, and without its slashes it is one label.
///
/// So all segments together count towards the 63, and a segment on its own may still begin or end with a hyphen.
pub fn check_path(raw: &str) -> Result<(), Problems> {
    let mut problems = Vec::new();
    if raw.contains("//") {
        problems.push(Problem::DoubleSlash);
    }
    problems.extend(label_problems(&raw.replace('/', "")));
    none_of(problems)
}

fn none_of(problems: Vec<Problem>) -> Result<(), Problems> {
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn label_problems(raw: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    if raw.len() > MAX_LABEL_BYTES {
        problems.push(Problem::LabelTooLong);
    }
    if !has_form_of_label(raw) {
        let only_dots = has_form_of_subdomain(raw);
        problems.push(if only_dots { Problem::Dots } else { Problem::NotALabel });
    }
    problems
}

fn has_form_of_subdomain(raw: &str) -> bool {
    raw.split('.').all(has_form_of_label)
}

fn has_form_of_label(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(|byte| is_alphanumeric(*byte)))
        && bytes.iter().all(|byte| is_alphanumeric(*byte) || *byte == b'-')
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}
