//! Walking over a resource along the schema of a custom resource.

use std::fmt::Display;

use lanai_openapi::{Shape, Table};
use lanai_yaml::NodeRef;

use crate::built_in;
use crate::message::{self, Types, quote};
use crate::schema::{Bits, Bound, Choice, Count, Embedded, End, Null, Others, Schema};
use crate::unique;
use crate::value::{Value, fields};
use crate::walk::{UnknownFields, Walk};

/// Whether a schema describes a value, or is a condition on one that is described elsewhere. Conditions know nothing of other
/// fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Description,
    Condition,
}

/// The fields of an object that is a resource.
const TYPE_FIELDS: [&str; 2] = ["apiVersion", "kind"];
const METADATA: &str = "metadata";

/// Checks a resource.
pub(crate) fn resource(walk: &mut Walk<'_>, table: &Table, node: NodeRef<'_>, schema: &Schema) {
    Checker { table }.value(walk, node, schema, Role::Description);
}

struct Checker<'t> {
    table: &'t Table,
}

impl Checker<'_> {
    fn value(&self, walk: &mut Walk<'_>, node: NodeRef<'_>, schema: &Schema, role: Role) {
        if !walk.step() {
            return;
        }
        let value = Value::of(node);
        if matches!(value, Value::Null) {
            match schema.null {
                Null::Allowed | Null::Dropped => return,
                Null::Refused => {}
            }
        }
        if !schema.types.is_empty() && !schema.types.include(&value) {
            let wanted = match schema.null {
                Null::Allowed => schema.types.and(Types::NULL),
                Null::Refused | Null::Dropped => schema.types,
            };
            walk.report(message::wrong_type(&value, wanted));
            return;
        }
        choices(walk, &value, &schema.choices);
        match &value {
            Value::Null | Value::Boolean(_) => {}
            Value::Integer(number) => integer(walk, *number, schema),
            Value::Number(number) => ranges(walk, *number, number, schema),
            Value::Text(text) => self::text(walk, text, schema),
            Value::List(list) => self.list(walk, *list, schema, role),
            Value::Object(object) => self.object(walk, *object, schema, role),
        }
        self.conditions(walk, node, schema);
    }

    fn list(&self, walk: &mut Walk<'_>, list: NodeRef<'_>, schema: &Schema, role: Role) {
        counts(walk, ["minItems", "maxItems"], list.len(), schema.item_count);
        unique::check(walk, list, &schema.unique);
        let Some(items) = &schema.items else { return };
        for (at, item) in list.items().enumerate() {
            walk.below(&at.to_string(), |walk| self.value(walk, item, items, role));
        }
    }

    fn object(&self, walk: &mut Walk<'_>, object: NodeRef<'_>, schema: &Schema, role: Role) {
        let fields = fields(object);
        let is_resource = schema.embedded == Embedded::Resource;
        counts(walk, ["minProperties", "maxProperties"], fields.len(), schema.field_count);
        let is_missing = |name: &&str| fields.iter().all(|field| field.name != *name);
        let types = if is_resource { &TYPE_FIELDS[..] } else { &[] };
        let required = schema.required.iter().map(String::as_str).filter(|name| !types.contains(name));
        let missing: Vec<&str> = types.iter().copied().chain(required).filter(is_missing).collect();
        if !missing.is_empty() {
            walk.report(message::missing(&missing));
        }
        let is_implied = |name: &str| is_resource && (TYPE_FIELDS.contains(&name) || name == METADATA);
        let is_refused = match (&schema.others, role) {
            (Others::Refused, _) => true,
            (Others::Unknown, Role::Description) => walk.unknown() == UnknownFields::Refused,
            (Others::Unknown, Role::Condition) | (Others::Kept | Others::Like(_), _) => false,
        };
        if is_refused {
            let is_known = |name: &str| schema.properties.contains_key(name) || is_implied(name);
            let unknown = fields.iter().map(|field| &*field.name).filter(|name| !is_known(name));
            let unknown: Vec<&str> = unknown.collect();
            if !unknown.is_empty() {
                walk.report(message::additional(&unknown));
            }
        }
        for field in &fields {
            let name = &*field.name;
            if is_implied(name) {
                let shape = if name == METADATA { metadata(self.table) } else { Some(&Shape::Text) };
                let check = |walk: &mut Walk<'_>| {
                    if let Some(shape) = shape {
                        built_in::optional(walk, self.table, field.value, shape);
                    }
                };
                walk.below(name, check);
            }
            let described = match (&schema.others, schema.properties.get(name)) {
                (_, Some(schema)) => Some(schema),
                (Others::Like(_), None) if is_implied(name) => None,
                (Others::Like(schema), None) => Some(&**schema),
                (Others::Unknown | Others::Kept | Others::Refused, None) => None,
            };
            // Of metadata the definition may say more, but not all.
            let role = if is_implied(name) { Role::Condition } else { role };
            if let Some(schema) = described {
                walk.below(name, |walk| self.value(walk, field.value, schema, role));
            }
        }
    }

    fn conditions(&self, walk: &mut Walk<'_>, node: NodeRef<'_>, schema: &Schema) {
        for condition in &schema.all_of {
            self.value(walk, node, condition, Role::Condition);
        }
        let mut holds =
            |condition: &Schema| walk.holds(|walk| self.value(walk, node, condition, Role::Condition));
        let any = schema.any_of.is_empty() || schema.any_of.iter().any(&mut holds);
        let mut matching = schema.one_of.iter().enumerate().filter(|(_, condition)| holds(condition));
        let (first, second) = (matching.next(), matching.next());
        let not = schema.not.as_deref().is_some_and(&mut holds);
        if !any {
            walk.report("anyOf failed");
        }
        match (first, second) {
            (None, _) if !schema.one_of.is_empty() => walk.report("oneOf failed, none matched"),
            (Some((one, _)), Some((other, _))) => {
                walk.report(format!("oneOf failed, subschemas {one}, {other} matched"));
            }
            (None | Some(_), _) => {}
        }
        if not {
            walk.report("not failed");
        }
    }
}

/// The metadata of every resource.
fn metadata(table: &Table) -> Option<&Shape> {
    table.kind("", "v1", "ConfigMap")?.field(METADATA)
}

fn choices(walk: &mut Walk<'_>, value: &Value<'_>, choices: &[Choice]) {
    #[expect(clippy::float_cmp, reason = "a choice is the same number, digit by digit")]
    let is = |choice: &Choice| match (choice, value) {
        (Choice::Null, Value::Null) | (Choice::Compound, Value::List(_) | Value::Object(_)) => true,
        (Choice::Boolean(one), Value::Boolean(other)) => one == other,
        (Choice::Integer(one), Value::Integer(other)) => one == other,
        (Choice::Number(one), Value::Number(other)) => one == other,
        (Choice::Text(one), Value::Text(other)) => one == other,
        (
            Choice::Null
            | Choice::Boolean(_)
            | Choice::Integer(_)
            | Choice::Number(_)
            | Choice::Text(_)
            | Choice::Compound,
            _,
        ) => false,
    };
    if choices.is_empty() || choices.iter().any(is) {
        return;
    }
    let shown: Option<Vec<String>> = choices.iter().map(show).collect();
    walk.report(match shown.as_deref() {
        None => "enum failed".into(),
        Some([only]) => format!("value must be {only}"),
        Some(several) => format!("value must be one of {}", several.join(", ")),
    });
}

/// A choice as messages show it; `None` for those that take more than a word.
fn show(choice: &Choice) -> Option<String> {
    Some(match choice {
        Choice::Null => "null".into(),
        Choice::Boolean(is) => is.to_string(),
        Choice::Integer(number) => number.to_string(),
        Choice::Number(number) => number.to_string(),
        Choice::Text(text) => quote(text),
        Choice::Compound => return None,
    })
}

fn integer(walk: &mut Walk<'_>, number: i128, schema: &Schema) {
    match schema.bits {
        Some(Bits::Int32) => built_in::range(walk, number, i128::from(i32::MIN), i128::from(i32::MAX)),
        Some(Bits::Int64) => built_in::range(walk, number, i128::from(i64::MIN), i128::from(i64::MAX)),
        None => {}
    }
    #[expect(clippy::cast_precision_loss, reason = "schemas state limits as floating-point numbers")]
    let value = number as f64;
    ranges(walk, value, &number, schema);
}

fn ranges(walk: &mut Walk<'_>, number: f64, shown: &dyn Display, schema: &Schema) {
    if let Some(Bound { at, end }) = schema.minimum {
        match end {
            End::Inside if number < at => walk.report(message::beyond("minimum", shown, at)),
            End::Outside if number <= at => walk.report(message::beyond("exclusiveMinimum", shown, at)),
            End::Inside | End::Outside => {}
        }
    }
    if let Some(Bound { at, end }) = schema.maximum {
        match end {
            End::Inside if number > at => walk.report(message::beyond("maximum", shown, at)),
            End::Outside if number >= at => walk.report(message::beyond("exclusiveMaximum", shown, at)),
            End::Inside | End::Outside => {}
        }
    }
    if let Some(unit) = schema.multiple_of {
        let times = number / unit;
        if (times - times.round()).abs() > 1e-9 * times.abs().max(1.0) {
            walk.report(message::beyond("multipleOf", shown, unit));
        }
    }
}

fn text(walk: &mut Walk<'_>, text: &str, schema: &Schema) {
    if schema.length.min.is_some() || schema.length.max.is_some() {
        counts(walk, ["minLength", "maxLength"], text.chars().count(), schema.length);
    }
    if let Some(pattern) = &schema.pattern
        && !pattern.fits(text)
    {
        walk.report(format!("{} does not match pattern {}", quote(text), quote(&pattern.text)));
    }
    if let Some(format) = schema.format
        && !format.fits(text)
    {
        walk.report(message::not_in_format(text, format));
    }
}

fn counts(walk: &mut Walk<'_>, [at_least, at_most]: [&str; 2], got: usize, count: Count) {
    let number = u64::try_from(got).unwrap_or(u64::MAX);
    if let Some(min) = count.min.filter(|min| number < *min) {
        walk.report(message::beyond(at_least, got, min));
    }
    if let Some(max) = count.max.filter(|max| number > *max) {
        walk.report(message::beyond(at_most, got, max));
    }
}
