//! Checks of single values.

use serde_json::Value;

use super::super::{Bound, Checks, End, Range};
use crate::cause::{Cause, FieldPath};

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    Items,
    Fields,
}

/// Checks a text or a number.
pub(super) fn check(value: &Value, checks: &Checks, at: &FieldPath, causes: &mut Vec<Cause>) {
    match value {
        Value::String(text) => self::text(text, checks, at, causes),
        Value::Number(number) => {
            if let Some(number) = number.as_f64() {
                self::number(value, number, checks, at, causes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
    }
}

fn text(text: &str, checks: &Checks, at: &FieldPath, causes: &mut Vec<Cause>) {
    // Only the first of these is said.
    let length = text.chars().count() as u64;
    if let Some(max) = checks.length.max.filter(|max| length > *max) {
        causes.push(Cause::too_long(at, usize::try_from(max).unwrap_or(usize::MAX)));
    } else if let Some(min) = checks.length.min.filter(|min| length < *min) {
        let detail = format!("{} in body should be at least {min} chars long", at.as_str());
        causes.push(Cause::invalid(at, text, detail));
    } else if let Some(pattern) = checks.pattern.as_ref().filter(|pattern| !pattern.fits(text)) {
        let detail = format!("{} in body should match '{}'", at.as_str(), pattern.text);
        causes.push(Cause::invalid(at, text, detail));
    }
    if let Some(format) = checks.format.filter(|format| !format.fits(text)) {
        let name = checks.format_name.as_deref().unwrap_or(format.name());
        let detail =
            format!("{} in body must be of type {name}: {}", at.as_str(), crate::cause::go_quote(text));
        causes.push(Cause::wrong_type(at, text, detail));
    }
}

fn number(value: &Value, number: f64, checks: &Checks, at: &FieldPath, causes: &mut Vec<Cause>) {
    let place = at.as_str();
    if let Some(multiple) =
        checks.multiple_of.filter(|multiple| *multiple > 0.0 && (number / multiple).fract() != 0.0)
    {
        causes.push(Cause::invalid(
            at,
            value.clone(),
            format!("{place} in body should be a multiple of {multiple}"),
        ));
    }
    if let Some(Bound { at: max, end }) = checks.maximum {
        let words = match end {
            End::Inside if number > max => Some("less than or equal to"),
            End::Outside if number >= max => Some("less than"),
            End::Inside | End::Outside => None,
        };
        if let Some(words) = words {
            causes.push(Cause::invalid(
                at,
                value.clone(),
                format!("{place} in body should be {words} {max}"),
            ));
        }
    }
    if let Some(Bound { at: min, end }) = checks.minimum {
        let words = match end {
            End::Inside if number < min => Some("greater than or equal to"),
            End::Outside if number <= min => Some("greater than"),
            End::Inside | End::Outside => None,
        };
        if let Some(words) = words {
            causes.push(Cause::invalid(
                at,
                value.clone(),
                format!("{place} in body should be {words} {min}"),
            ));
        }
    }
    let (least, most) = match checks.format_name.as_deref() {
        Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
        _ => return,
    };
    if number < least || number > most {
        let detail = format!("Checked value must be of type integer with format int32 in {place}");
        causes.push(Cause::invalid(at, value.clone(), detail));
    }
}

/// Checks that a value is one of those that are allowed.
pub(super) fn choices(value: &Value, choices: &[Value], at: &FieldPath, causes: &mut Vec<Cause>) {
    if choices.is_empty() || choices.iter().any(|choice| same(choice, value)) {
        return;
    }
    let shown = |choice: &Value| match choice {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let shown: Vec<String> = choices.iter().map(shown).collect();
    causes.push(Cause::not_supported(at, value.clone(), &shown));
}

fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

/// Checks how many items or fields there are.
pub(super) fn count(found: usize, range: Range, counted: Counted, at: &FieldPath, causes: &mut Vec<Cause>) {
    let place = at.as_str();
    if let Some(min) = range.min.filter(|min| (found as u64) < *min) {
        let words = match counted {
            Counted::Items => format!("{place} in body should have at least {min} items"),
            Counted::Fields => format!("{place} in body should have at least {min} properties"),
        };
        causes.push(Cause::invalid(at, found, words));
    }
    if let Some(max) = range.max.filter(|max| (found as u64) > *max) {
        causes.push(Cause::too_many(at, found, usize::try_from(max).unwrap_or(usize::MAX)));
    }
}
