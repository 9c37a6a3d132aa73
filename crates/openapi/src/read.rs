//! Reading the table; its first lines say how it is written.

use crate::table::{List, Merge, Shape, Table, Type, TypeId, Version, Whole};

/// The table in a text. Lines that are not written as they should be have no meaning, types that are not there are left out.
pub(crate) fn table(text: &'static str) -> Table {
    let mut table = Table::default();
    let count = text.lines().filter(|line| line.starts_with("t ")).count();
    for line in text.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("k") => read_kind(&mut table, words, count),
            Some("t") => table.types.push(read_type(words.skip(1), count)),
            Some(_) | None => {}
        }
    }
    table
}

fn read_kind(table: &mut Table, mut words: impl Iterator<Item = &'static str>, count: usize) {
    let (Some(api), Some(kind), Some(number)) = (words.next(), words.next(), words.next()) else { return };
    let Some((group, name)) = api.split_once('/') else { return };
    let Some(id) = type_id(number, count) else { return };
    table.kinds.entry(group).or_default().entry(kind).or_default().push(Version { name, id });
}

fn read_type(mut words: impl Iterator<Item = &'static str>, count: usize) -> Type {
    let mut read = Type::default();
    let name = words.next().unwrap_or_default();
    read.name = name.trim_end_matches('=');
    read.merge = if name.ends_with('=') { Whole::Atomic } else { Whole::ByField };
    for word in words {
        let Some((name, shape)) = word.split_once(':') else { continue };
        let Some(shape) = read_shape(shape, count) else { continue };
        let has_variants = name.ends_with('|');
        let name = name.trim_end_matches('|');
        let is_required = name.ends_with('!');
        let name = name.trim_end_matches('!');
        read.required.extend(is_required.then_some(name));
        read.variants.extend(has_variants.then_some(name));
        read.fields.push((name, shape));
    }
    read.fields.sort_unstable_by_key(|(name, _)| *name);
    read
}

fn read_shape(text: &'static str, count: usize) -> Option<Shape> {
    if let Some(rest) = text.strip_prefix("{}") {
        return Some(Shape::Map(Box::new(read_shape(rest, count)?)));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (keys, items) = rest.split_once(']')?;
        let (keys, patch_keys) = keys.split_once(';').unwrap_or((keys, keys));
        let (merge, patch) = (read_merge(keys), read_merge(patch_keys));
        return Some(Shape::List(Box::new(List { merge, patch, items: read_shape(items, count)? })));
    }
    Some(match text {
        "s" => Shape::Text,
        "y" => Shape::Bytes,
        "d" => Shape::Time,
        "q" => Shape::Quantity,
        "x" => Shape::IntegerOrText,
        "i" => Shape::Int32,
        "l" => Shape::Int64,
        "n" => Shape::Number,
        "b" => Shape::Boolean,
        "o" => Shape::Object,
        "a" => Shape::Any,
        number => Shape::Type(type_id(number, count)?),
    })
}

fn read_merge(keys: &'static str) -> Merge {
    match keys {
        "" => Merge::Whole,
        "*" => Merge::Set,
        keys => Merge::Keys(keys.split(',').collect()),
    }
}

/// A type that is there.
fn type_id(number: &str, count: usize) -> Option<TypeId> {
    number.parse().ok().filter(|number| *number < count).map(TypeId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read() {
        let both = |merge, patch, items| Some(Shape::List(Box::new(List { merge, patch, items })));
        let list = |merge: Merge, items| both(merge.clone(), merge, items);
        assert_eq!(read_shape("s", 9), Some(Shape::Text));
        assert_eq!(read_shape("8", 9), Some(Shape::Type(TypeId(8))));
        assert_eq!(read_shape("9", 9), None, "there is no such type");
        assert_eq!(read_shape("z", 9), None);
        assert_eq!(read_shape("[]s", 9), list(Merge::Whole, Shape::Text));
        assert_eq!(read_shape("[*]s", 9), list(Merge::Set, Shape::Text));
        assert_eq!(read_shape("[a,b]3", 9), list(Merge::Keys(vec!["a", "b"]), Shape::Type(TypeId(3))));
        let (keys, key) = (Merge::Keys(vec!["a", "b"]), Merge::Keys(vec!["a"]));
        assert_eq!(read_shape("[a,b;a]s", 9), both(keys, key.clone(), Shape::Text));
        assert_eq!(read_shape("[a;]s", 9), both(key, Merge::Whole, Shape::Text));
        let map = Shape::Map(Box::new(read_shape("[]s", 9).unwrap()));
        assert_eq!(read_shape("{}[]s", 9), Some(map));
    }

    #[test]
    fn what_is_not_written_as_it_should_be_has_no_meaning() {
        let read = table("k apps/v1 A 0\nk v1 B 0\nk apps/v1 C 7\nt 0 io.A= a!:s b:? c|:l d\nx y z\n");
        assert!(read.kind("apps", "v1", "A").is_some());
        assert!(read.versions("", "B").is_empty());
        assert!(read.versions("apps", "C").is_empty());
        let fields: Vec<_> = read.types[0].fields().map(|(name, _)| name).collect();
        assert_eq!(fields, ["a", "c"]);
        assert_eq!(read.types[0].required(), ["a"]);
        assert_eq!((read.types[0].name(), read.types[0].merge()), ("io.A", Whole::Atomic));
        assert!(read.types[0].has_variants("c") && !read.types[0].has_variants("a"));
    }
}
