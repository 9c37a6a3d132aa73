//! References to images: `name[:tag][@digest]`, where the name may begin with a registry.

/// Why a text is not a reference to an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is nothing.
    #[error("repository name must have at least one component")]
    Empty,
    /// It would be one in lower case.
    #[error("repository name must be lowercase")]
    Uppercase,
    /// The name is too long.
    #[error("repository name must not be more than 255 characters")]
    TooLong,
    /// The algorithm of the digest has another length.
    #[error("invalid checksum digest length")]
    DigestLength,
    /// The algorithm of the digest is unknown.
    #[error("unsupported digest algorithm")]
    DigestAlgorithm,
    /// Anything else.
    #[error("invalid reference format")]
    Format,
}

/// Checks that a text is a reference to an image.
pub fn check(text: &str) -> Result<(), Error> {
    if text.is_empty() {
        return Err(Error::Empty);
    }
    let Some((name, digest)) = split(text) else {
        let lower = text.to_lowercase();
        return Err(if split(&lower).is_some() { Error::Uppercase } else { Error::Format });
    };
    if path_of(name).len() > 255 {
        return Err(Error::TooLong);
    }
    digest.map_or(Ok(()), check_digest)
}

/// Name and digest of a reference that is well formed.
fn split(text: &str) -> Option<(&str, Option<&str>)> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let name = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') && is_tag(tag) && is_name(name) => name,
        _ => rest,
    };
    let fits = is_name(name) && digest.is_none_or(is_digest);
    fits.then_some((name, digest))
}

/// The name without its registry.
fn path_of(name: &str) -> &str {
    match name.split_once('/') {
        Some((domain, path)) if is_domain(domain) => path,
        _ => name,
    }
}

fn is_name(name: &str) -> bool {
    let is_path = |path: &str| path.split('/').all(is_component);
    is_path(name) || name.split_once('/').is_some_and(|(domain, path)| is_domain(domain) && is_path(path))
}

/// Letters and digits, with separators between them: a dot, one or two underscores, any number of dashes.
fn is_component(text: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let ends = text.starts_with(word) && text.ends_with(word);
    let separators = text.split(word).filter(|between| !between.is_empty());
    let fits = |between: &str| matches!(between, "." | "_" | "__") || between.chars().all(|c| c == '-');
    ends && separators.into_iter().all(fits)
}

/// A host, with a port or without.
fn is_domain(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_label = |label: &str| {
        let edge = |c: char| c.is_ascii_alphanumeric();
        label.starts_with(edge) && label.ends_with(edge) && label.chars().all(|c| edge(c) || c == '-')
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_address = address.is_some_and(|address| {
        !address.is_empty() && address.chars().all(|c| c.is_ascii_hexdigit() || c == ':')
    });
    let is_port = |port: &str| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    (is_address || host.split('.').all(is_label)) && port.is_none_or(is_port)
}

fn is_tag(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() <= 128 && text.starts_with(word) && text.chars().all(|c| word(c) || c == '.' || c == '-')
}

/// `algorithm:hex`, with at least 32 digits.
fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let mut parts = algorithm.split(['+', '.', '-', '_']);
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic()) && part.chars().all(|c| c.is_ascii_alphanumeric())
    };
    parts.all(is_part) && hex.len() >= 32 && hex.chars().all(|c| c.is_ascii_hexdigit())
}

fn check_digest(digest: &str) -> Result<(), Error> {
    let (algorithm, hex) = digest.split_once(':').unwrap_or((digest, ""));
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Err(Error::DigestAlgorithm),
    };
    if hex.len() != length {
        return Err(Error::DigestLength);
    }
    let lower = hex.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c));
    if lower { Ok(()) } else { Err(Error::Format) }
}
