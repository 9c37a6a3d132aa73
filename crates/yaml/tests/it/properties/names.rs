//! What the fuzz target for names checks.

use std::fmt::Debug;
use std::str::FromStr;

use lanai_types::{
    ByteSize, CommitId, GitObjectId, Namespace, ObjectName, PackageName, PackageObjectName, RefName,
    RepositoryName, ResourceVersion, SafePath, Sha256Digest, Uid, WorkspaceName, dns,
};

/// Any text: every type takes it or refuses it, and what is taken is harmless and reads back as itself.
pub fn types_names(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(path) = read::<SafePath>(text) {
        harmless(path.as_str());
        assert!(
            !path.as_str().contains('\\')
                && path.components().all(|name| name != "." && name != ".." && !name.is_empty()),
            "{text:?}"
        );
        assert!(path.components().all(|name| !is_git_folder(name)), "{text:?}");
        assert!(
            path.join(&path).is_err()
                || path.join(&path).unwrap().strip_prefix(&path).as_ref() == Some(&path)
        );
        assert!(path.parent().is_none_or(|parent| path.starts_with(&parent)));
    }
    if let Some(name) = read::<RefName>(text) {
        harmless(name.as_str());
        assert!(
            name.as_str().starts_with("refs/")
                && !name.as_str().contains([' ', '~', '^', ':', '?', '*', '[', '\\']),
            "{text:?}"
        );
        assert!(
            !name.as_str().contains("..")
                && !name.as_str().contains("@{")
                && !name.as_str().ends_with(['.', '/']),
            "{text:?}"
        );
    }
    for name in [read::<PackageName>(text), PackageName::imported(text).ok()].into_iter().flatten() {
        label(name.as_str());
        assert_eq!(name.folder().as_str(), name.as_str());
        assert_eq!(PackageName::imported(name.as_str()).as_ref(), Ok(&name), "{text:?}");
    }
    for name in [read::<WorkspaceName>(text), WorkspaceName::imported(text).ok()].into_iter().flatten() {
        label(name.as_str());
        assert!(RefName::branch(&format!("drafts/x/{name}")).is_ok(), "{text:?}");
        assert_eq!(WorkspaceName::imported(name.as_str()).as_ref(), Ok(&name), "{text:?}");
    }
    if let Some(name) = read::<ObjectName>(text) {
        label(name.as_str());
        let again = ObjectName::compose(name.repository(), name.package(), name.workspace());
        assert_eq!(again.as_ref(), Ok(&name), "{text:?}");
    }
    if let Some(name) = read::<PackageObjectName>(text) {
        label(name.as_str());
        assert_eq!(
            PackageObjectName::compose(name.repository(), name.package()).as_ref(),
            Ok(&name),
            "{text:?}"
        );
    }
    if let Some(name) = read::<RepositoryName>(text) {
        label(name.as_str());
    }
    if let Some(name) = read::<Namespace>(text) {
        label(name.as_str());
    }
    read::<GitObjectId>(text);
    read::<CommitId>(text);
    read::<Sha256Digest>(text);
    read::<ResourceVersion>(text);
    read::<Uid>(text);
    if let Ok(size) = text.parse::<ByteSize>() {
        assert_eq!(size.to_string().parse(), Ok(size), "{text:?}");
    }
    _ = (dns::check_label(text), dns::check_subdomain(text), dns::check_path(text));
}

/// Parses; what was taken is written as something that is taken again for the same.
fn read<T: FromStr + ToString + PartialEq + Debug>(text: &str) -> Option<T>
where
    T::Err: Debug + ToString,
{
    match text.parse::<T>() {
        Ok(value) => {
            let again = value.to_string().parse::<T>();
            assert_eq!(again.as_ref().ok(), Some(&value), "{text:?}");
            Some(value)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty(), "{text:?}");
            None
        }
    }
}

fn harmless(text: &str) {
    assert!(!text.is_empty() && !text.starts_with('/') && !text.contains('\0'), "{text:?}");
    assert!(!text.chars().any(char::is_control), "{text:?}");
}

fn label(text: &str) {
    harmless(text);
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '/');
    assert!(text.chars().all(allowed) && !text.contains("..") && !text.contains("//"), "{text:?}");
}

/// Whether a file system that ignores case, invisible characters or endings opens Git's own folder by this name.
fn is_git_folder(name: &str) -> bool {
    let visible: String = name.chars().filter(|c| !c.is_control() && !matches!(*c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')).collect();
    let plain = visible.to_lowercase();
    let stem = plain.split(':').next().unwrap_or("").trim_end_matches([' ', '.']);
    stem == ".git" || stem == "git~1"
}
