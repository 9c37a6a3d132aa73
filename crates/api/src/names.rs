//! Rules for names, in the words that Kubernetes uses.

use lanai_types::dns;

/// The rule of labels that begin with a letter, such as the names of versions and resources.
const NOT_DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                            character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
                            validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NOT_QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const NOT_A_NAME_WITH_PREFIX: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                                      end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
                                      for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain \
                                      prefix and '/' (e.g. 'example.com/MyName')";
const NOT_A_LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                                 must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
                                 regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const NOT_A_CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                                'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// What is wrong with a label that must begin with a letter.
pub fn dns_1035_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > dns::MAX_LABEL_BYTES {
        problems.push(too_long(dns::MAX_LABEL_BYTES));
    }
    let begins = text.starts_with(|first: char| first.is_ascii_lowercase());
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !begins || !text.bytes().all(fits) || text.ends_with('-') {
        problems.push(NOT_DNS_1035.to_owned());
    }
    problems
}

/// What is wrong with a label.
pub fn dns_1123_label(text: &str) -> Vec<String> {
    problems(dns::check_label(text))
}

/// What is wrong with a subdomain.
pub fn dns_1123_subdomain(text: &str) -> Vec<String> {
    problems(dns::check_subdomain(text))
}

/// What is wrong with a name that is part of a path, such as that of a role.
pub fn path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    ['/', '%']
        .into_iter()
        .filter(|bad| text.contains(*bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// What is wrong with the key of a label or an annotation.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                found.push("prefix part must be non-empty".to_owned());
            } else {
                found
                    .extend(dns_1123_subdomain(prefix).into_iter().map(|text| format!("prefix part {text}")));
            }
            *name
        }
        _ => return vec![NOT_A_NAME_WITH_PREFIX.to_owned()],
    };
    if name.is_empty() {
        found.push("name part must be non-empty".to_owned());
    } else if name.len() > dns::MAX_LABEL_BYTES {
        found.push(format!("name part {}", too_long(dns::MAX_LABEL_BYTES)));
    }
    if !is_word(name) {
        found.push(NOT_QUALIFIED.to_owned());
    }
    found
}

/// What is wrong with the value of a label.
pub fn label_value(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > dns::MAX_LABEL_BYTES {
        found.push(too_long(dns::MAX_LABEL_BYTES));
    }
    if !text.is_empty() && !is_word(text) {
        found.push(NOT_A_LABEL_VALUE.to_owned());
    }
    found
}

/// What is wrong with a key of a `ConfigMap` or a `Secret`.
pub fn config_key(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > dns::MAX_SUBDOMAIN_BYTES {
        found.push(too_long(dns::MAX_SUBDOMAIN_BYTES));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(fits) {
        found.push(NOT_A_CONFIG_KEY.to_owned());
    }
    if text == "." {
        found.push("must not be '.'".to_owned());
    } else if text == ".." {
        found.push("must not be '..'".to_owned());
    } else if text.starts_with("..") {
        found.push("must not start with '..'".to_owned());
    }
    found
}

fn is_word(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn too_long(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn problems(checked: Result<(), dns::Problems>) -> Vec<String> {
    match checked {
        Ok(()) => Vec::new(),
        Err(problems) => problems.as_slice().iter().map(ToString::to_string).collect(),
    }
}
