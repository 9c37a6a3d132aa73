//! Names under which some file system finds a repository's `.git` folder.

/// True when some file system could take the segment for `.git`.
///
/// | disguise | who is fooled |
/// |---|---|
/// | `.GIT` | file systems that do not know case |
/// | `.git.`, `.git `, `.git . .` | Windows, which drops blanks and dots at the end |
/// | `.git:stream`, `.git::$INDEX_ALLOCATION` | NTFS, where a colon names a part of the file |
/// | `git~1` | NTFS, as the short name that it gave to `.git` |
/// | `.g<U+200C>it` | HFS+, which does not see such characters |
///
/// The disguises are undone together, so combinations are found too.
pub(crate) fn is_disguise(segment: &str) -> bool {
    let visible: String = segment.chars().filter(|c| !is_ignored_by_hfs(*c)).collect();
    let file = visible.split(':').next().unwrap_or_default();
    let name = file.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    name == ".git" || name.strip_prefix("git~").is_some_and(is_number)
}

fn is_ignored_by_hfs(character: char) -> bool {
    matches!(character,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
