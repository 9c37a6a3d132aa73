//! The numbers and types of fields, as `scripts/protobuf` found them.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    Bytes,
    Boolean,
    Integer,
    Number,
    Time,
    MicroTime,
    /// JSON as bytes, in a message of its own.
    Json,
    /// A message with one list of texts.
    Texts,
    /// A schema, or a list of schemas.
    SchemaOrList,
    /// A schema, or true or false.
    SchemaOrBoolean,
    /// A schema, or a list of texts.
    SchemaOrTexts,
    /// A message, by its place in the table.
    Message(usize),
}

/// How often it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Many {
    One,
    List,
    Map,
}

/// What becomes of zero, false and empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zero {
    Kept,
    Dropped,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub number: u32,
    pub name: &'static str,
    pub shape: Shape,
    pub many: Many,
    pub zero: Zero,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub fields: Vec<Field>,
}

impl Message {
    pub fn field(&self, number: u32) -> Option<&Field> {
        self.fields.iter().find(|field| field.number == number)
    }
}

/// All messages, and which of them are kinds.
#[derive(Debug, Default)]
pub(super) struct Table {
    messages: Vec<Message>,
    kinds: HashMap<(&'static str, &'static str), usize>,
    /// The message of schemas.
    pub schema: usize,
}

impl Table {
    pub fn message(&self, at: usize) -> &Message {
        &self.messages[at]
    }

    /// The message of a kind. Options are the same in all groups.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<usize> {
        self.kinds.get(&(api_version, kind)).or_else(|| self.kinds.get(&("-", kind))).copied()
    }
}

static TEXT: &str = include_str!("fields.txt");

/// The table.
pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| read(TEXT));
    &TABLE
}

fn read(text: &'static str) -> Table {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let names = lines().filter_map(|line| line.strip_prefix("T "));
    let places: HashMap<&str, usize> = names.enumerate().map(|(at, name)| (name, at)).collect();
    let place = |name: &str| *places.get(name).expect("the table has every type that it names");
    let mut table = Table { schema: place("apiextensions.v1.JSONSchemaProps"), ..Table::default() };
    for line in lines() {
        let words: Vec<&'static str> = line.split(' ').collect();
        match words.as_slice() {
            ["K", group, version, kind, name] => {
                let api_version: &'static str = match (*group, *version) {
                    ("core", version) => version,
                    ("-", _) => "-",
                    (group, version) => &*format!("{group}/{version}").leak(),
                };
                table.kinds.insert((api_version, kind), place(name));
            }
            ["T", _] => table.messages.push(Message::default()),
            [number, name, shape, zero @ ..] => {
                let (many, shape) = match shape.split_at(1) {
                    ("*", rest) => (Many::List, rest),
                    ("{", rest) => (Many::Map, rest),
                    _ => (Many::One, *shape),
                };
                let field = Field {
                    number: number.parse().expect("fields of the table have numbers"),
                    name,
                    shape: shape_of(shape, &place),
                    many,
                    zero: if zero.is_empty() { Zero::Kept } else { Zero::Dropped },
                };
                let message = table.messages.last_mut().expect("fields of the table stand behind a type");
                message.fields.push(field);
            }
            _ => unreachable!("the table has lines of three forms"),
        }
    }
    table
}

fn shape_of(text: &str, place: &impl Fn(&str) -> usize) -> Shape {
    match text {
        "s" => Shape::Text,
        "y" => Shape::Bytes,
        "b" => Shape::Boolean,
        "i" => Shape::Integer,
        "f" => Shape::Number,
        "t" => Shape::Time,
        "u" => Shape::MicroTime,
        "j" => Shape::Json,
        "Is" => Shape::Texts,
        "A" => Shape::SchemaOrList,
        "B" => Shape::SchemaOrBoolean,
        "S" => Shape::SchemaOrTexts,
        other => Shape::Message(place(other.strip_prefix('@').expect("the table has no other shapes"))),
    }
}
