//! Formats of texts: those that the server checks, by its rules.

mod words;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a text should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `2026-01-31T08:00:00Z`
    DateTime,
    /// `2026-01-31`
    Date,
    /// An address of IPv4.
    Ipv4,
    /// An address of IPv6.
    Ipv6,
    /// A range of addresses.
    Cidr,
    /// The address of a network card.
    Mac,
    /// `123e4567-e89b-12d3-a456-426614174000`, with or without dashes.
    Uuid,
    /// Bytes in base 64.
    Byte,
    /// An address of something, or an absolute path.
    Uri,
    /// An address of mail.
    Email,
    /// The name of a host.
    Hostname,
    /// `1h30m`, or `PT1H30M`.
    Duration,
}

impl Format {
    /// The format of that name; `None` for those that are not checked.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "date-time" | "datetime" => Self::DateTime,
            "date" => Self::Date,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "uuid" => Self::Uuid,
            "byte" => Self::Byte,
            "uri" => Self::Uri,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "duration" => Self::Duration,
            _ => return None,
        })
    }

    /// The name that messages use.
    pub fn name(self) -> &'static str {
        match self {
            Self::DateTime => "date-time",
            Self::Date => "date",
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Cidr => "cidr",
            Self::Mac => "mac",
            Self::Uuid => "uuid",
            Self::Byte => "byte",
            Self::Uri => "uri",
            Self::Email => "email",
            Self::Hostname => "hostname",
            Self::Duration => "duration",
        }
    }

    /// How such a text looks.
    pub fn expected(self) -> &'static str {
        match self {
            Self::DateTime => "a time such as 2026-01-31T08:00:00Z is expected",
            Self::Date => "a date such as 2026-01-31 is expected",
            Self::Ipv4 => "an address such as 192.0.2.1 is expected",
            Self::Ipv6 => "an address such as 2001:db8::1 is expected",
            Self::Cidr => "a range such as 192.0.2.0/24 is expected",
            Self::Mac => "an address such as 00:00:5e:00:53:01 is expected",
            Self::Uuid => "32 hexadecimal digits are expected",
            Self::Byte => "base 64 is expected",
            Self::Uri => "an address such as https://example.com/path is expected",
            Self::Email => "an address such as ann@example.com is expected",
            Self::Hostname => "a name such as www.example.com is expected",
            Self::Duration => "a duration such as 1h30m is expected",
        }
    }

    /// Whether a text has the format.
    pub fn fits(self, text: &str) -> bool {
        match self {
            Self::DateTime => is_date_time(text),
            Self::Date => is_date(text.as_bytes()),
            Self::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
            Self::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
            Self::Cidr => is_cidr(text),
            Self::Mac => is_mac(text),
            Self::Uuid => is_uuid(text),
            Self::Byte => is_base64(text),
            Self::Uri => words::is_uri(text),
            Self::Email => words::is_email(text),
            Self::Hostname => words::is_hostname(text),
            Self::Duration => words::is_duration(text),
        }
    }
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_at_checked(10) else { return false };
    let Some(time) = time.strip_prefix(['T', 't']) else { return false };
    let Some((clock, rest)) = time.split_at_checked(8) else { return false };
    let digits =
        rest.strip_prefix('.').map_or(0, |rest| 1 + rest.bytes().take_while(u8::is_ascii_digit).count());
    let zone = &rest[digits..];
    is_date(date.as_bytes()) && digits != 1 && is_clock(clock.as_bytes()) && is_zone(zone)
}

fn is_zone(text: &str) -> bool {
    if matches!(text, "Z" | "z") {
        return true;
    }
    let Some(offset) = text.strip_prefix(['+', '-']) else { return false };
    let offset = offset.as_bytes();
    matches!(offset, [_, _, b':', _, _])
        && number(&offset[..2]).is_some_and(|hours| hours < 24)
        && number(&offset[3..]).is_some_and(|minutes| minutes < 60)
}

fn is_clock(text: &[u8]) -> bool {
    matches!(text, [_, _, b':', _, _, b':', _, _])
        && number(&text[..2]).is_some_and(|hours| hours < 24)
        && number(&text[3..5]).is_some_and(|minutes| minutes < 60)
        && number(&text[6..]).is_some_and(|seconds| seconds < 60)
}

fn is_date(text: &[u8]) -> bool {
    if !matches!(text, [_, _, _, _, b'-', _, _, b'-', _, _]) {
        return false;
    }
    let (Some(year), Some(month), Some(day)) = (number(&text[..4]), number(&text[5..7]), number(&text[8..]))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn number(digits: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    digits.iter().try_fold(0, |number, byte| Some(number * 10 + digit(byte)?))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    !bits.is_empty() && bits.len() <= 3 && number(bits.as_bytes()).is_some_and(|bits| bits <= max)
}

fn is_mac(text: &str) -> bool {
    let groups = |separator: char, width: usize| {
        let mut count = 0;
        let fit = text.split(separator).all(|group| {
            count += 1;
            group.len() == width && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        fit && matches!(count * width, 12 | 16 | 40)
    };
    groups(':', 2) || groups('-', 2) || groups('.', 4)
}

fn is_uuid(text: &str) -> bool {
    let digits = text.bytes().filter(|byte| *byte != b'-');
    digits.clone().count() == 32 && digits.clone().all(|byte| byte.is_ascii_hexdigit()) && text.len() <= 36
}

/// Line breaks do not count, as for the server.
fn is_base64(text: &str) -> bool {
    if text.contains(['\n', '\r']) {
        return STANDARD.decode(text.replace(['\n', '\r'], "")).is_ok();
    }
    STANDARD.decode(text).is_ok()
}

/// Bytes as a text in base 64.
pub fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes that a text in base 64 stands for; `None` for a text that is none.
pub fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.replace(['\n', '\r'], "")).ok()
}

/// Whether a text is a quantity: a number with a suffix such as `m`, `Gi` or `e3`.
pub fn is_quantity(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let has_digits = number.bytes().any(|byte| byte.is_ascii_digit());
    let one_dot = number.bytes().filter(|byte| *byte == b'.').count() <= 1;
    has_digits && one_dot && is_suffix(suffix)
}

fn is_suffix(suffix: &str) -> bool {
    const UNITS: [&str; 16] =
        ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if UNITS.contains(&suffix) {
        return true;
    }
    let Some(exponent) = suffix.strip_prefix(['e', 'E']) else { return false };
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, right: &[&str], wrong: &[&str]) {
        for text in right {
            assert!(format.fits(text), "{text:?} is {format:?}");
        }
        for text in wrong {
            assert!(!format.fits(text), "{text:?} is not {format:?}");
        }
    }

    #[test]
    fn texts_have_their_formats() {
        check(
            Format::DateTime,
            &["2026-01-31T08:00:00Z", "2024-02-29T23:59:59.123456+01:30", "2026-01-31t08:00:00z"],
            &[
                "2026-01-31",
                "2026-01-31T08:00:00",
                "2026-02-29T08:00:00Z",
                "2026-01-31T24:00:00Z",
                "2026-01-31T08:00:00.Z",
                "ééééé",
                "",
            ],
        );
        check(Format::Date, &["2000-02-29"], &["1900-02-29", "2026-13-01", "2026-1-1", "20260101"]);
        check(Format::Ipv4, &["10.0.0.1"], &["10.0.0", "10.0.0.256"]);
        check(Format::Ipv6, &["::1"], &["10.0.0.1"]);
        check(
            Format::Cidr,
            &["10.0.0.0/8", "::/0", "10.0.0.1/32"],
            &["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/"],
        );
        check(
            Format::Mac,
            &["00:00:5e:00:53:01", "0000.5e00.5301"],
            &["00:00:5e:00:53", "00:00:5e:00:53:0g"],
        );
        check(Format::Uuid, &["123e4567-e89b-12d3-a456-426614174000"], &["123e4567", ""]);
        check(Format::Byte, &["", "aGk=", "aG\nk=\n"], &["aGk", "%%%", "a===", "aG k="]);
    }

    #[test]
    fn quantities_are_numbers_with_suffixes() {
        for text in ["1", "500m", "1.5Gi", ".5", "1.", "+1", "-1Ki", "1e3", "1E-3", "12E", "100n"] {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["", "1GB", "1 Gi", "Gi", ".", "1.2.3", "1e", "1e1.5", "one", "1mi", "--1"] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}
