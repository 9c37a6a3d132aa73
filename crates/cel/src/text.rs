//! Texts made from templates, as in `'%s has %d'.format([name, count])`.

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;

use crate::meter::Meter;
use crate::{Stop, kind};

/// How many digits are written of a number that says nothing else.
const PRECISION: usize = 6;
/// No number has more digits behind its point; what comes then is zeros.
const DIGITS: usize = 1100;

/// A text that grows within a meter.
struct Text<'m, 'd> {
    text: String,
    meter: &'m mut Meter<'d>,
}

/// Fills a template.
pub(crate) fn format(template: &str, values: &[Value], meter: &mut Meter<'_>) -> Result<String, Stop> {
    let mut text = Text { text: String::new(), meter };
    let mut values = values.iter();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('%') {
        text.push(before)?;
        if let Some(after) = after.strip_prefix('%') {
            text.push("%")?;
            rest = after;
            continue;
        }
        let (precision, after) = precision(after)?;
        let mut letters = after.chars();
        let verb = letters.next().ok_or_else(|| failed("the template ends with %"))?;
        let value = values.next().ok_or_else(|| failed("there are not enough values for the template"))?;
        text.value(verb, precision, value)?;
        rest = letters.as_str();
    }
    text.push(rest)?;
    Ok(text.text)
}

/// The precision that stands in front of a verb, and what comes then.
fn precision(text: &str) -> Result<(usize, &str), Stop> {
    let Some(text) = text.strip_prefix('.') else { return Ok((PRECISION, text)) };
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let precision = text[..end].parse().map_err(|_| failed("the precision is no number"))?;
    Ok((precision, &text[end..]))
}

impl Text<'_, '_> {
    fn push(&mut self, more: &str) -> Result<(), Stop> {
        self.meter.make(more.len() as u64)?;
        self.text.push_str(more);
        Ok(())
    }

    fn value(&mut self, verb: char, precision: usize, value: &Value) -> Result<(), Stop> {
        match (verb, value) {
            ('s', value) => self.plain(value),
            ('d', Value::Int(_) | Value::UInt(_)) => self.plain(value),
            ('f', Value::Float(number)) => {
                let text = format!("{number:.*}", precision.min(DIGITS));
                self.push(&text)?;
                self.zeros(*number, precision)
            }
            ('e', Value::Float(number)) => {
                let text = format!("{number:.*e}", precision.min(DIGITS));
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                self.push(digits)?;
                self.zeros(*number, precision)?;
                self.push(&exponent_of(exponent))
            }
            ('b', Value::Bool(value)) => self.push(if *value { "1" } else { "0" }),
            ('b', Value::Int(_) | Value::UInt(_)) => self.digits(value, |number| format!("{number:b}")),
            ('o', Value::Int(_) | Value::UInt(_)) => self.digits(value, |number| format!("{number:o}")),
            ('x', Value::Int(_) | Value::UInt(_)) => self.digits(value, |number| format!("{number:x}")),
            ('X', Value::Int(_) | Value::UInt(_)) => self.digits(value, |number| format!("{number:X}")),
            ('x', Value::String(text)) => self.bytes(text.as_bytes(), |byte| format!("{byte:02x}")),
            ('X', Value::String(text)) => self.bytes(text.as_bytes(), |byte| format!("{byte:02X}")),
            ('x', Value::Bytes(bytes)) => self.bytes(bytes, |byte| format!("{byte:02x}")),
            ('X', Value::Bytes(bytes)) => self.bytes(bytes, |byte| format!("{byte:02X}")),
            ('d' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X', other) => {
                Err(failed(&format!("%{verb} cannot write a value of the type {}", other.type_of())))
            }
            (_, _) => Err(failed(&format!("%{verb} is not known"))),
        }
    }

    /// What a number that cannot have so many digits ends with.
    fn zeros(&mut self, number: f64, precision: usize) -> Result<(), Stop> {
        let more = if number.is_finite() { precision.saturating_sub(DIGITS) } else { 0 };
        self.meter.make(more as u64)?;
        self.text.extend(std::iter::repeat_n('0', more));
        Ok(())
    }

    fn digits(&mut self, number: &Value, write: impl Fn(u64) -> String) -> Result<(), Stop> {
        match number {
            Value::UInt(number) => self.push(&write(*number)),
            Value::Int(number) => {
                let sign = if *number < 0 { "-" } else { "" };
                self.push(&format!("{sign}{}", write(number.unsigned_abs())))
            }
            _ => Ok(()),
        }
    }

    fn bytes(&mut self, bytes: &[u8], write: impl Fn(u8) -> String) -> Result<(), Stop> {
        self.meter.make(2 * bytes.len() as u64)?;
        self.meter.step(bytes.len() as u64)?;
        self.text.extend(bytes.iter().map(|byte| write(*byte)));
        Ok(())
    }

    /// A value as `%s` writes it.
    fn plain(&mut self, value: &Value) -> Result<(), Stop> {
        self.meter.step(1)?;
        match value {
            Value::String(text) => self.push(text),
            Value::Bytes(bytes) => self.push(&String::from_utf8_lossy(bytes)),
            Value::Int(number) => self.push(&number.to_string()),
            Value::UInt(number) => self.push(&number.to_string()),
            Value::Float(number) => self.push(&shortest(*number)),
            Value::Bool(value) => self.push(if *value { "true" } else { "false" }),
            Value::Null => self.push("null"),
            Value::List(items) => {
                self.push("[")?;
                for (at, item) in items.iter().enumerate() {
                    self.push(if at == 0 { "" } else { ", " })?;
                    self.inner(item)?;
                }
                self.push("]")
            }
            Value::Map(map) => {
                let mut keys: Vec<&Key> = map.map.keys().collect();
                keys.sort_unstable();
                self.push("{")?;
                for (at, key) in keys.into_iter().enumerate() {
                    self.push(if at == 0 { "" } else { ", " })?;
                    self.inner(&Value::from(key.clone()))?;
                    self.push(":")?;
                    if let Some(value) = map.map.get(key) {
                        self.inner(value)?;
                    }
                }
                self.push("}")
            }
            other => match kind::name(other) {
                Some(name) => self.push(name),
                None => Err(failed(&format!("%s cannot write a value of the type {}", other.type_of()))),
            },
        }
    }

    /// A value inside of another one.
    fn inner(&mut self, value: &Value) -> Result<(), Stop> {
        match value {
            Value::String(text) => {
                // Signs that nobody can see take up to ten letters.
                self.meter.make(10 * text.len() as u64)?;
                self.text.extend(std::iter::once(format!("{text:?}")));
                Ok(())
            }
            Value::Float(number) => self.push(&format!("{number:.PRECISION$}")),
            value => self.plain(value),
        }
    }
}

/// A number with as few letters as tell it from others, as Go has it.
fn shortest(number: f64) -> String {
    if !number.is_finite() {
        let sign = if number.is_sign_negative() { "-" } else { "+" };
        return if number.is_nan() { "NaN".to_owned() } else { format!("{sign}Inf") };
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse::<i32>() {
        Ok(power) if (-4..6).contains(&power) => number.to_string(),
        Ok(_) | Err(_) => format!("{digits}{}", exponent_of(exponent)),
    }
}

/// An exponent, which has a sign and two digits at least.
fn exponent_of(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(('+', number), |digits| ('-', digits));
    format!("e{sign}{digits:0>2}")
}

fn failed(why: &str) -> Stop {
    Stop::Failed(why.to_owned())
}
