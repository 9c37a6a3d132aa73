//! Files that are not merged by fields: text by lines, all else as a whole.

use lanai_krm::package::{File, Mode};
use lanai_types::SafePath;
use lanai_yaml::Path;

use crate::conflict::{ConflictKind, Subject};
use crate::judge::{Case, Judge, Values};
use crate::options::Take;
use crate::text;

/// A file on each side.
#[derive(Clone, Copy)]
pub(crate) struct Versions<'a> {
    pub original: Option<&'a File>,
    pub upstream: Option<&'a File>,
    pub local: Option<&'a File>,
}

/// What the file is after the merge; `None` when there is none.
pub(crate) fn merge(judge: &mut Judge<'_>, path: &SafePath, versions: Versions<'_>) -> Option<File> {
    let Versions { original, upstream, local } = versions;
    if upstream == original {
        return local.cloned();
    }
    let kind = match natural(versions) {
        Natural::File(file) => {
            return match judge.pinned(path.as_str()) {
                Some(take) => taken(take, versions),
                None => file,
            };
        }
        Natural::Conflict(kind) => kind,
    };
    let text = |file: Option<&File>| file.and_then(File::text).map(Into::into);
    let case = Case {
        id: path.as_str().into(),
        path: path.clone(),
        subject: Subject::File,
        field: Path::root(),
        kind,
        values: Values { original: text(original), upstream: text(upstream), local: text(local) },
    };
    let take =
        if upstream.is_none() || local.is_none() { judge.keep_local(case) } else { judge.by_policy(case) };
    taken(&take, versions)
}

/// The mode of a file that both sides have, where it is clear.
pub(crate) fn mode(versions: Versions<'_>) -> Option<Mode> {
    let of = |file: Option<&File>| file.map(File::mode);
    let (original, upstream, local) = (of(versions.original), of(versions.upstream), of(versions.local));
    if upstream == original || upstream == local {
        return local;
    }
    if local == original { upstream } else { None }
}

enum Natural {
    File(Option<File>),
    Conflict(ConflictKind),
}

fn natural(versions: Versions<'_>) -> Natural {
    let Versions { original, upstream, local } = versions;
    if local == original {
        return Natural::File(upstream.cloned());
    }
    if upstream == local {
        return Natural::File(local.cloned());
    }
    let (Some(theirs), Some(ours)) = (upstream, local) else {
        return Natural::Conflict(match upstream {
            None => ConflictKind::RemovedUpstreamChangedLocally,
            Some(_) => ConflictKind::RemovedLocallyChangedUpstream,
        });
    };
    let Some(base) = original else { return Natural::Conflict(ConflictKind::AddedOnBoth) };
    let lines = match (base.text(), theirs.text(), ours.text()) {
        (Some(base), Some(theirs), Some(ours)) => text::merge(base, theirs, ours),
        _ => None,
    };
    match (lines, mode(versions)) {
        (Some(lines), Some(mode)) => Natural::File(Some(File::new(lines.as_bytes(), mode))),
        _ => Natural::Conflict(ConflictKind::FileChanged),
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
