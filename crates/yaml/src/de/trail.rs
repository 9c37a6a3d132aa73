//! The path of an error, written from the inside out while the error travels up.

use crate::path::{Path, Segment};

/// Puts a key before a path: `spec` before `replicas`, before `[0].image`, or before nothing.
pub(crate) fn put_key(path: &mut String, key: &str) {
    put(path, Segment::Key(key.into()));
}

/// Puts the index of an item before a path.
pub(crate) fn put_index(path: &mut String, index: usize) {
    put(path, Segment::Index(index.try_into().unwrap_or(isize::MAX)));
}

fn put(path: &mut String, segment: Segment) {
    let step = Path::from_iter([segment]).to_string();
    let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
    path.insert_str(0, &format!("{step}{dot}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_a_path() {
        let segments = [
            Segment::Key("spec".into()),
            Segment::Key(String::new()),
            Segment::Key("a.b".into()),
            Segment::Key("containers".into()),
            Segment::Index(0),
            Segment::Index(1),
            Segment::Key("0".into()),
            Segment::Key("image".into()),
        ];
        let mut path = String::new();
        for segment in segments.iter().rev() {
            put(&mut path, segment.clone());
        }
        assert_eq!(Path::parse(&path).expect("it is a path").segments(), segments);
        assert!(path.ends_with("containers[0][1].0.image"), "{path}");
    }
}
