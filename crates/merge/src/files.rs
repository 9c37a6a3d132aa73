//! Files that are not merged by fields: text by lines, all else as a whole.

use lanai_krm::digest;
use lanai_krm::package::{File, Mode};
use lanai_types::SafePath;
use lanai_yaml::Path;

use crate::conflict::{ConflictKind, Side, Subject};
use crate::judge::{Case, Judge, Rule, Values};
use crate::names::{self, Aspect};
use crate::options::Take;
use crate::text;

/// A file on each side.
#[derive(Clone, Copy)]
pub(crate) struct Versions<'a> {
    pub original: Option<&'a File>,
    pub upstream: Option<&'a File>,
    pub local: Option<&'a File>,
}

impl Versions<'_> {
    /// What is merged of a file that is where one side has a file and the other one a folder: the file of the side that was
    /// taken is as if it were new, so that nothing of it goes.
    pub fn where_taken(self, taken: Side) -> Self {
        let nothing = Self { original: None, upstream: None, local: None };
        match taken {
            Side::Upstream if self.upstream.is_some() => Self { upstream: self.upstream, ..nothing },
            Side::Upstream => Self { upstream: None, ..self },
            Side::Local if self.local.is_some() => Self { local: self.local, ..nothing },
            Side::Local => Self { local: None, ..self },
            Side::Original | Side::Value => nothing,
        }
    }

    /// Whether the side whose file or folder was taken has the file.
    pub fn is_taken(self, taken: Side) -> bool {
        match taken {
            Side::Upstream => self.upstream.is_some() && self.local.is_none(),
            Side::Local => self.local.is_some() && self.upstream.is_none(),
            Side::Original | Side::Value => false,
        }
    }
}

/// What the file is after the merge; `None` when there is none.
pub(crate) fn merge(judge: &mut Judge<'_>, path: &SafePath, versions: Versions<'_>) -> Option<File> {
    let Versions { original, upstream, local } = versions;
    if upstream == original {
        return local.cloned();
    }
    let id = names::file(path);
    let kind = match natural(versions) {
        Natural::File(file) => {
            let file = match judge.pinned(&id) {
                Some(take) => taken(take, versions)?,
                None => file.cloned()?,
            };
            let mode_pinned = judge.pinned(&names::aspect(&id, Aspect::Mode)).is_some();
            let mode = if mode_pinned { mode(judge, path, Subject::File, versions) } else { None };
            return Some(file.with_mode(mode.unwrap_or(file.mode())));
        }
        Natural::Content(content) => {
            let content = match judge.pinned(&id) {
                Some(take) => taken(take, versions)?.content().to_vec(),
                None => content,
            };
            let mode = mode(judge, path, Subject::File, versions).or(local.map(File::mode))?;
            return Some(File::new(content, mode));
        }
        Natural::Conflict(kind) => kind,
    };
    let case = Case {
        id,
        path: path.clone(),
        subject: Subject::File,
        field: Path::root(),
        kind,
        values: values(versions),
    };
    let removed = upstream.is_none() || local.is_none();
    let take = judge.decide(case, if removed { Rule::Local } else { Rule::Policy });
    let file = taken(&take, versions)?;
    // A link is what it points to; of other files, the mode merges by itself.
    let modes = [original, upstream, local].map(|file| file.map(File::mode));
    if removed || modes.contains(&Some(Mode::Symlink)) {
        return Some(file);
    }
    let mode = mode(judge, path, Subject::File, versions).unwrap_or(file.mode());
    Some(file.with_mode(mode))
}

/// The mode of a file that local and upstream have; `None` where one of them has none. Records a conflict where both
/// changed it.
pub(crate) fn mode(
    judge: &mut Judge<'_>,
    path: &SafePath,
    subject: Subject,
    versions: Versions<'_>,
) -> Option<Mode> {
    let original = versions.original.map(File::mode);
    let (upstream, local) = (versions.upstream?.mode(), versions.local?.mode());
    let id = names::aspect(&names::file(path), Aspect::Mode);
    let clear = if original == Some(upstream) || upstream == local {
        Some(Take::Local)
    } else if original == Some(local) {
        Some(Take::Upstream)
    } else {
        None
    };
    let take = match clear {
        Some(take) => judge.pinned(&id).cloned().unwrap_or(take),
        None => judge.decide(
            Case {
                id,
                path: path.clone(),
                subject,
                field: Path::root(),
                kind: ConflictKind::ModesDiffer,
                values: Values {
                    original: original.map(|mode| word(mode).into()),
                    upstream: Some(word(upstream).into()),
                    local: Some(word(local).into()),
                },
            },
            Rule::Policy,
        ),
    };
    Some(match take {
        Take::Upstream => upstream,
        Take::Local => local,
        Take::Original => original.unwrap_or(local),
        Take::Value(name) => mode_of(&name).unwrap_or(local),
    })
}

/// What a conflict shows: texts; modes where only they were changed.
fn values(Versions { original, upstream, local }: Versions<'_>) -> Values {
    let contents = [original, upstream, local].map(|file| file.map(File::content));
    let left = contents.into_iter().flatten().collect::<Vec<_>>();
    let only_mode = left.len() > 1 && left.windows(2).all(|pair| pair[0] == pair[1]);
    let remade = |file: &File| {
        original.is_some_and(|before| before.content() == file.content() && before.mode() != file.mode())
    };
    let show = |file: &File| if only_mode || remade(file) { word(file.mode()).into() } else { text_of(file) };
    Values { original: original.map(show), upstream: upstream.map(show), local: local.map(show) }
}

/// A file as the text that a conflict shows.
pub(crate) fn text_of(file: &File) -> String {
    match file.text() {
        Some(text) => text.into(),
        None if file.mode() == Mode::Symlink => {
            format!("symlink to {}", String::from_utf8_lossy(file.content()))
        }
        None => format!("binary, {} bytes, {}", file.len(), id_of(file)),
    }
}

/// The id that Git has for the content.
pub(crate) fn id_of(file: &File) -> String {
    digest::blob_id(file.content()).map_or_else(|collision| collision.to_string(), |id| id.to_string())
}

/// The mode that a word stands for.
pub(crate) fn mode_of(name: &str) -> Option<Mode> {
    let all = [Mode::Regular, Mode::Executable, Mode::Symlink];
    all.into_iter().find(|mode| word(*mode) == name)
}

pub(crate) const fn word(mode: Mode) -> &'static str {
    match mode {
        Mode::Regular => "regular",
        Mode::Executable => "executable",
        Mode::Symlink => "symlink",
    }
}

enum Natural<'a> {
    /// One side's file, or none.
    File(Option<&'a File>),
    /// Content; the mode is another matter.
    Content(Vec<u8>),
    Conflict(ConflictKind),
}

fn natural(versions: Versions<'_>) -> Natural<'_> {
    let Versions { original, upstream, local } = versions;
    if local == original {
        return Natural::File(upstream);
    }
    if upstream == local {
        return Natural::File(local);
    }
    let (Some(theirs), Some(ours)) = (upstream, local) else {
        return Natural::Conflict(match upstream {
            None => ConflictKind::RemovedUpstreamChangedLocally,
            Some(_) => ConflictKind::RemovedLocallyChangedUpstream,
        });
    };
    if theirs.content() == ours.content() {
        return Natural::Content(ours.content().to_vec());
    }
    let Some(base) = original else { return Natural::Conflict(ConflictKind::AddedOnBoth) };
    let sides = [base, theirs, ours];
    if sides.iter().any(|file| file.mode() == Mode::Symlink) && !sides.iter().all(|f| f.mode() == base.mode())
    {
        return Natural::Conflict(ConflictKind::FileChanged);
    }
    if base.content() == ours.content() {
        return Natural::Content(theirs.content().to_vec());
    }
    if base.content() == theirs.content() {
        return Natural::Content(ours.content().to_vec());
    }
    let lines = match (base.text(), theirs.text(), ours.text()) {
        (Some(base), Some(theirs), Some(ours)) => text::merge(base, theirs, ours),
        _ => None,
    };
    match lines.filter(|_| base.mode() != Mode::Symlink) {
        Some(lines) => Natural::Content(lines.into_bytes()),
        None => Natural::Conflict(ConflictKind::FileChanged),
    }
}

fn taken(take: &Take, versions: Versions<'_>) -> Option<File> {
    match take {
        Take::Upstream => versions.upstream.cloned(),
        Take::Local => versions.local.cloned(),
        Take::Original => versions.original.cloned(),
        Take::Value(text) => {
            let like = versions.local.or(versions.upstream).map_or(Mode::Regular, File::mode);
            let mode = if like == Mode::Symlink { Mode::Regular } else { like };
            Some(File::new(text.as_bytes(), mode))
        }
    }
}
