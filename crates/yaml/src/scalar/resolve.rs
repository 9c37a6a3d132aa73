//! What an untagged plain scalar means.
//!
//! [`resolve`] follows go-yaml v3, the reader whose verdict counts for Kubernetes configuration: the core
//! schema of YAML 1.2 plus octals with a leading zero, underscores in numbers, binary numbers and timestamps.
//! [`ambiguous`] is the cautious question of a writer: could any reader at all take the text for something
//! else than a string?

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

/// The meaning of a plain scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resolved {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer between `i64::MIN` and `u64::MAX`.
    Int(i128),
    /// Any other number; never the result of an overflow to infinity.
    Float(f64),
    /// Everything else.
    Str,
    /// A date, or a date with a time of day.
    Timestamp,
    /// `<<`, the merge key.
    Merge,
}

/// What `text` means as an untagged plain scalar.
///
/// An integer beyond `u64::MAX` is a [`Resolved::Float`]; a number beyond the range of `f64` is a string. The
/// words of YAML 1.1 (`yes`, `off`, …) and base 60 numbers are strings.
pub fn resolve(text: &str) -> Resolved {
    let Some(first) = text.as_bytes().first() else {
        return Resolved::Null;
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' => digits_or_sign(text),
        b'.' => dot(text),
        b't' | b'T' | b'f' | b'F' | b'n' | b'N' | b'~' => word(text),
        b'<' if text == "<<" => Resolved::Merge,
        _ => Resolved::Str,
    }
}

/// Whether any reader of YAML 1.1 or 1.2 could take the plain scalar `text` for something else than a string.
///
/// Guarantees that a text for which this is false [resolves](resolve) to [`Resolved::Str`]. It errs on the
/// side of yes: words count in every mixture of cases, and whatever begins with a date and goes on like a
/// time is a timestamp.
pub fn ambiguous(text: &str) -> bool {
    let Some(first) = text.as_bytes().first() else {
        return true;
    };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => {
            old_number(text) || looks_like_timestamp(text) || resolve(text) != Resolved::Str
        }
        b'~' | b'=' => text.len() == 1,
        b'<' => text == "<<",
        _ => old_word(text),
    }
}

fn word(text: &str) -> Resolved {
    match text {
        "~" | "null" | "Null" | "NULL" => Resolved::Null,
        "true" | "True" | "TRUE" => Resolved::Bool(true),
        "false" | "False" | "FALSE" => Resolved::Bool(false),
        _ => Resolved::Str,
    }
}

fn dot(text: &str) -> Resolved {
    match text {
        ".nan" | ".NaN" | ".NAN" => Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" => Resolved::Float(f64::INFINITY),
        _ if memchr(b'_', text.as_bytes()).is_none() => float(text),
        _ if underscores_separate_digits(text.as_bytes()) => float(&text.replace('_', "")),
        _ => Resolved::Str,
    }
}

/// The rule for numbers that begin with a dot; others may have underscores anywhere.
fn underscores_separate_digits(text: &[u8]) -> bool {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    memchr_iter(b'_', text).all(|at| at > 0 && digit(at - 1) && digit(at + 1))
}

fn digits_or_sign(text: &str) -> Resolved {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Float(f64::NEG_INFINITY),
        _ => {}
    }
    if timestamp(text.as_bytes()).is_some() {
        return Resolved::Timestamp;
    }
    if !text.bytes().all(in_a_number) {
        return Resolved::Str;
    }
    let compact = match memchr(b'_', text.as_bytes()) {
        Some(_) => Cow::Owned(text.replace('_', "")),
        None => Cow::Borrowed(text),
    };
    match integer(&compact) {
        Some(value) => Resolved::Int(value),
        None => float(&compact),
    }
}

fn in_a_number(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b'_' | b'+' | b'-' | b'.' | b'x' | b'X' | b'o' | b'O')
}

/// An integer with an optional sign and an optional prefix for its base. Without prefix a leading zero means
/// octal.
fn integer(text: &str) -> Option<i128> {
    // The reference takes a sign on either side of the prefix, though not on both.
    let inner = text
        .strip_prefix("0b")
        .map(|rest| (2, rest))
        .or_else(|| text.strip_prefix("0o").map(|rest| (8, rest)));
    if let Some((radix, rest)) = inner
        && rest.starts_with(['+', '-'])
    {
        let (sign, digits) = split_sign(rest);
        return in_range(sign, magnitude(digits, radix)?);
    }
    let (sign, rest) = split_sign(text);
    let bytes = rest.as_bytes();
    let (radix, digits) = match bytes {
        [b'0'] => (10, rest),
        [b'0', b'x' | b'X', _, ..] => (16, rest.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, rest.get(2..)?),
        [b'0', b'b' | b'B', _, ..] => (2, rest.get(2..)?),
        [b'0', ..] => (8, rest.get(1..)?),
        _ => (10, rest),
    };
    in_range(sign, magnitude(digits, radix)?)
}

fn split_sign(text: &str) -> (Option<u8>, &str) {
    match text.as_bytes().first() {
        Some(sign @ (b'+' | b'-')) => (Some(*sign), text.get(1..).unwrap_or_default()),
        _ => (None, text),
    }
}

/// The value of a non-empty run of digits, if it fits into 64 bits.
fn magnitude(digits: &str, radix: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for char in digits.chars() {
        value = value.checked_mul(u64::from(radix))?.checked_add(u64::from(char.to_digit(radix)?))?;
    }
    Some(value)
}

/// The signed value, if the reference has a type for it: unsigned numbers reach further than those with a
/// `+`.
fn in_range(sign: Option<u8>, magnitude: u64) -> Option<i128> {
    let value = match sign {
        Some(b'-') => -i128::from(magnitude),
        _ => i128::from(magnitude),
    };
    let signed = i128::from(i64::MIN)..=i128::from(i64::MAX);
    (sign.is_none() || signed.contains(&value)).then_some(value)
}

fn float(text: &str) -> Resolved {
    if !decimal(text.as_bytes()) {
        return Resolved::Str;
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Resolved::Float(value),
        _ => Resolved::Str,
    }
}

/// Sign, digits with at most one dot among or next to them, exponent; no more than that.
fn decimal(text: &[u8]) -> bool {
    let rest = skip_sign(text);
    let (whole, rest) = skip_digits(rest);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => skip_digits(rest),
        _ => (0, rest),
    };
    whole + fraction > 0 && exponent_to_end(rest)
}

/// Nothing, or an exponent and then nothing.
fn exponent_to_end(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b'e' | b'E', rest @ ..] => {
            let (digits, rest) = skip_digits(skip_sign(rest));
            digits > 0 && rest.is_empty()
        }
        _ => false,
    }
}

fn skip_sign(text: &[u8]) -> &[u8] {
    match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    }
}

fn skip_digits(text: &[u8]) -> (usize, &[u8]) {
    skip_while(text, |byte| byte.is_ascii_digit())
}

fn skip_while(text: &[u8], wanted: impl Fn(u8) -> bool) -> (usize, &[u8]) {
    let count = text.iter().take_while(|&&byte| wanted(byte)).count();
    (count, text.get(count..).unwrap_or_default())
}

/// `2006-1-2`, alone or followed by a time: `T15:4:5Z`, `t15:4:5.5+01:00` or ` 15:4:5`.
///
/// Yields nothing of the moment itself, only whether it exists.
fn timestamp(text: &[u8]) -> Option<()> {
    let (year_digits, rest) = skip_digits(text);
    if year_digits != 4 {
        return None;
    }
    let year = text.iter().take(4).fold(0, |year, digit| year * 10 + u32::from(digit - b'0'));
    let (month, rest) = one_or_two_digits(expect(rest, b'-')?)?;
    let (day, rest) = one_or_two_digits(expect(rest, b'-')?)?;
    if !(1..=12).contains(&month) || !(1..=days_in(month, year)).contains(&day) {
        return None;
    }
    match rest {
        [] => Some(()),
        [b'T' | b't', rest @ ..] => zone(time_of_day(rest)?),
        [b' ', ..] => {
            let (_, rest) = skip_while(rest, |byte| byte == b' ');
            time_of_day(rest)?.is_empty().then_some(())
        }
        _ => None,
    }
}

fn expect(text: &[u8], byte: u8) -> Option<&[u8]> {
    text.split_first().filter(|(first, _)| **first == byte).map(|(_, rest)| rest)
}

fn one_or_two_digits(text: &[u8]) -> Option<(u32, &[u8])> {
    match text {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', rest @ ..] => {
            Some((u32::from(a - b'0') * 10 + u32::from(b - b'0'), rest))
        }
        [a @ b'0'..=b'9', rest @ ..] => Some((u32::from(a - b'0'), rest)),
        _ => None,
    }
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads hour, minute and second with an optional fraction; yields what follows.
fn time_of_day(text: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = one_or_two_digits(text)?;
    let (minute, rest) = one_or_two_digits(expect(rest, b':')?)?;
    let (second, rest) = one_or_two_digits(expect(rest, b':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    match rest {
        [b'.' | b',', b'0'..=b'9', fraction @ ..] => Some(skip_digits(fraction).1),
        _ => Some(rest),
    }
}

/// `Z` or `+hh:mm` up to the end; hour 24 and minute 60 are let through as the reference does.
fn zone(text: &[u8]) -> Option<()> {
    match text {
        b"Z" => Some(()),
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            let (hour, hour_end) = one_or_two_digits(&[*h1, *h2]).map(|(n, rest)| (n, rest.is_empty()))?;
            let (minute, minute_end) =
                one_or_two_digits(&[*m1, *m2]).map(|(n, rest)| (n, rest.is_empty()))?;
            (hour_end && minute_end && hour <= 24 && minute <= 60).then_some(())
        }
        _ => None,
    }
}

/// The words that some reader takes for null, bool, infinity or "not a number".
fn old_word(text: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    text.len() <= 5 && WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// A number in any notation of YAML 1.1 or 1.2: with a base, in base 60, with underscores, or special.
fn old_number(text: &str) -> bool {
    let bytes = skip_sign(text.as_bytes());
    match bytes {
        [b'.', word @ ..] if word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"nan") => {
            return true;
        }
        [b'0', b'x' | b'X', digits @ ..] => {
            return !digits.is_empty() && digits.iter().all(|&byte| byte == b'_' || byte.is_ascii_hexdigit());
        }
        [b'0', b'o' | b'O' | b'b' | b'B', digits @ ..] => {
            return !digits.is_empty() && digits.iter().all(|byte| matches!(byte, b'_' | b'0'..=b'7'));
        }
        _ => {}
    }
    let (whole, rest) = spaced_digits(bytes);
    let mut digits = whole;
    let mut rest = rest;
    while let [b':', after @ ..] = rest {
        if digits == 0 {
            return false;
        }
        let (count, after) = skip_digits(after);
        if !(1..=2).contains(&count) {
            return false;
        }
        digits += count;
        rest = after;
    }
    if let [b'.', after @ ..] = rest {
        let (count, after) = spaced_digits(after);
        digits += count;
        rest = after;
    }
    digits > 0 && exponent_to_end(rest)
}

/// Skips digits and underscores, and counts the digits.
fn spaced_digits(text: &[u8]) -> (usize, &[u8]) {
    let (count, rest) = skip_while(text, |byte| byte == b'_' || byte.is_ascii_digit());
    let digits = text.iter().take(count).filter(|byte| **byte != b'_').count();
    (digits, rest)
}

/// A date and then nothing, or only what a time and a time zone are made of.
fn looks_like_timestamp(text: &str) -> bool {
    let date = || {
        let (year, rest) = skip_digits(text.as_bytes());
        let (_, rest) = one_or_two_digits(expect(rest, b'-')?)?;
        let (_, rest) = one_or_two_digits(expect(rest, b'-')?)?;
        (year == 4).then_some(rest)
    };
    date().is_some_and(|rest| {
        rest.iter().all(|byte| {
            byte.is_ascii_digit()
                || matches!(byte, b':' | b'.' | b',' | b'+' | b'-' | b'Z' | b'z' | b'T' | b't' | b' ' | b'\t')
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(expected: Resolved, texts: &[&str]) {
        for text in texts {
            let got = resolve(text);
            let equal = match (got, expected) {
                (Resolved::Float(a), Resolved::Float(b)) => {
                    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
                }
                _ => got == expected,
            };
            assert!(equal, "{text:?}: got {got:?}, expected {expected:?}");
        }
    }

    #[test]
    fn words() {
        check(Resolved::Null, &["", "~", "null", "Null", "NULL"]);
        check(Resolved::Bool(true), &["true", "True", "TRUE"]);
        check(Resolved::Bool(false), &["false", "False", "FALSE"]);
        check(Resolved::Merge, &["<<"]);
        check(
            Resolved::Str,
            &["tRUE", "nULL", "y", "n", "yes", "No", "on", "OFF", "=", "<<<", "~~", "é", "nil"],
        );
    }

    #[test]
    fn integers() {
        check(Resolved::Int(0), &["0", "-0", "+0", "00", "0x0", "0_", "0b0"]);
        check(
            Resolved::Int(10),
            &["10", "+10", "1_0", "012", "0o12", "0xA", "0Xa", "0b1010", "0B1010", "0O12", "+_10"],
        );
        check(Resolved::Int(-10), &["-10", "-012", "-0o12", "-0xA", "-0b1010", "0b-1010", "0o-12"]);
        check(Resolved::Int(i128::from(i64::MIN)), &["-9223372036854775808"]);
        check(Resolved::Int(i128::from(u64::MAX)), &["18446744073709551615", "0xFFFFFFFFFFFFFFFF"]);
        check(
            Resolved::Str,
            &[
                "0x", "0o", "0b", "0b2", "0o8", "-", "+", "-_", "1a", "0xg", "0x-1", "-0b-1", "1:30", "--1",
                "0o", "0x1p3",
            ],
        );
    }

    #[test]
    fn floats() {
        check(Resolved::Float(1.5), &["1.5", "+1.5", "1_.5", "15e-1", "0.15E+1"]);
        check(Resolved::Float(0.5), &[".5", "+.5", "0.5", "5e-1", ".5_0"]);
        check(Resolved::Float(8.0), &["08", "8.", "8e0", "08.0"]);
        check(Resolved::Float(18_446_744_073_709_551_616.0), &["18446744073709551616"]);
        check(Resolved::Float(f64::INFINITY), &[".inf", ".Inf", ".INF", "+.inf"]);
        check(Resolved::Float(f64::NEG_INFINITY), &["-.inf", "-.INF"]);
        check(Resolved::Float(f64::NAN), &[".nan", ".NaN", ".NAN"]);
        check(Resolved::Float(0.0), &["1e-999"]);
        check(
            Resolved::Str,
            &[
                "1e999", "-1e999", ".", "..", ".e1", "1e", "1e+", "1.2.3", "10.0.0.1", "+.nan", "inf", "nan",
                "infinity", "._5", ".5_", ".5__0",
            ],
        );
    }

    #[test]
    fn timestamps() {
        check(
            Resolved::Timestamp,
            &[
                "2020-01-02",
                "2020-1-2",
                "2020-02-29",
                "2000-02-29",
                "2001-12-14t21:59:43.10-05:00",
                "2001-12-15T02:59:43.1Z",
                "2001-12-15T2:9:3,5Z",
                "2001-12-14 21:59:43.10",
                "2001-12-14   21:59:43",
                "2001-12-14T21:59:43+24:60",
            ],
        );
        check(
            Resolved::Str,
            &[
                "2019-02-29",
                "1900-02-29",
                "2020-13-01",
                "2020-00-01",
                "2020-01-00",
                "2020-01-32",
                "2001-12-14 21:59:43.10 -5",
                "2001-12-14T21:59:43",
                "2001-12-14 21:59:43Z",
                "2001-12-14T24:00:00Z",
                "2001-12-14T21:59:43+25:00",
                "2001-12-14T21:59:43+1:00",
                "2001-12-14\t21:59:43",
                "20201-01-02",
                "2020-01-021",
            ],
        );
    }

    #[test]
    fn ambiguity() {
        let yes = [
            "",
            "~",
            "null",
            "y",
            "N",
            "yes",
            "NO",
            "On",
            "oFF",
            "true",
            "=",
            "<<",
            "1",
            "-1",
            "+1",
            "012",
            "0o7",
            "0b1",
            "0x1F",
            "1_000",
            "1:30",
            "190:20:30",
            "190:20:30.15",
            ".5",
            "1e3",
            "1.",
            ".inf",
            "-.INF",
            ".NaN",
            "2020-01-01",
            "2001-12-14 21:59:43.10 -5",
            "0x_",
            "1__0.5",
            "6.8523015e+5",
            "08",
        ];
        for text in yes {
            assert!(ambiguous(text), "{text:?}");
        }
        let no = [
            "a",
            "yess",
            "1.2.3",
            "10.0.0.1",
            "1:a",
            "a:1",
            "nginx:1.2",
            "==",
            "<",
            "-",
            ".",
            "+",
            "_",
            "1a",
            "5m",
            "100Mi",
            "v1",
            "2020-01-01-release",
            "1e",
            "::1",
            "0xg",
            "é",
            "nope",
            "-a",
            "1:300",
        ];
        for text in no {
            assert!(!ambiguous(text), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_not_ambiguous_is_a_string(text in "[-+.0-9a-fxob_:eETtZ ]{0,12}|\\PC{0,6}") {
            prop_assert!(ambiguous(&text) || resolve(&text) == Resolved::Str);
        }
    }
}
