//! Names, addresses and durations, as the server reads them.

/// Whether a text is the name of a host: labels of letters, digits and dashes, with dots between them.
pub(super) fn is_hostname(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let is_label = |label: &str| {
        let is_inside = |letter: char| letter.is_alphanumeric() || letter == '-';
        (1..=63).contains(&label.len())
            && label.chars().all(is_inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Whether a text is an address of mail, with or without the name of whom it belongs to.
pub(super) fn is_email(text: &str) -> bool {
    let address = match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((_, address)) => address,
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let is_literal = domain.starts_with('[') && domain.ends_with(']');
    local.len() <= 64 && (is_quoted || is_dotted(local)) && (is_literal || is_dotted(domain))
}

/// Words of letters that need no quotes, with dots between them.
fn is_dotted(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(letter);
    text.split('.').all(|word| !word.is_empty() && word.chars().all(is_letter))
}

/// Whether a text is a URI, or an absolute path.
pub(super) fn is_uri(text: &str) -> bool {
    if text.chars().any(char::is_control) || !escapes_are_whole(text) {
        return false;
    }
    if text.starts_with('/') {
        return true;
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    if !scheme.starts_with(|letter: char| letter.is_ascii_alphabetic()) || !scheme.chars().all(is_inside) {
        return false;
    }
    let Some(authority) = rest.strip_prefix("//") else { return true };
    let end = authority.find(['/', '?', '#']).unwrap_or(authority.len());
    let host = authority[..end].rsplit_once('@').map_or(&authority[..end], |(_, host)| host);
    is_host_and_port(host)
}

/// Every `%` has two hexadecimal digits behind it.
fn escapes_are_whole(text: &str) -> bool {
    let behind = text.split('%').skip(1);
    behind.into_iter().all(|rest| rest.len() >= 2 && rest.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

fn is_host_and_port(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((_, "")) => return true,
        Some((_, port)) => match port.strip_prefix(':') {
            Some(port) => ("", port),
            None => return false,
        },
        None => text.split_once(':').unwrap_or((text, "")),
    };
    !host.contains([' ', '"', '<', '>', '^', '`', '{', '|', '}', '\\'])
        && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is a duration: `1h30m`, `2 days`, or `PT1H30M`.
pub(super) fn is_duration(text: &str) -> bool {
    text == "0" || is_units(text) || text.strip_prefix('P').is_some_and(is_period)
}

/// Units of durations, short ones and the stems of long ones.
const UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
const STEMS: [&str; 18] = [
    "d",
    "w",
    "nano",
    "nanosec",
    "nanosecond",
    "micro",
    "microsec",
    "microsecond",
    "milli",
    "millisec",
    "millisecond",
    "sec",
    "second",
    "min",
    "minute",
    "hour",
    "hr",
    "day",
];
const WEEKS: [&str; 2] = ["wk", "week"];

/// Numbers with units behind them, one at least.
fn is_units(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let behind = behind.trim_start_matches(' ');
        let end = behind.find(|letter: char| !letter.is_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        if !is_decimal(number) || !is_unit(unit) {
            return false;
        }
        rest = behind.trim_start_matches(' ');
    }
    true
}

fn is_unit(unit: &str) -> bool {
    let stem = unit.strip_suffix('s').unwrap_or(unit);
    UNITS.contains(&unit) || STEMS.contains(&stem) || WEEKS.contains(&stem)
}

fn is_decimal(number: &str) -> bool {
    number.bytes().any(|byte| byte.is_ascii_digit())
        && number.bytes().filter(|byte| *byte == b'.').count() <= 1
}

/// What stands behind the `P` of a duration: years to days, and behind a `T` hours to seconds; or weeks.
fn is_period(text: &str) -> bool {
    let (date, time) = text.split_once('T').map_or((text, None), |(date, time)| (date, Some(time)));
    let counts = |text: &str, units: &str| {
        let mut units = units.chars();
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let Some(unit) = rest[digits..].chars().next() else { return false };
            // Each unit at most once, in their order.
            if digits == 0 || !units.any(|known| known == unit) {
                return false;
            }
            rest = &rest[digits + unit.len_utf8()..];
        }
        true
    };
    let is_something = !date.is_empty() || time.is_some_and(|time| !time.is_empty());
    is_something
        && time != Some("")
        && (counts(date, "YMD") || (time.is_none() && counts(date, "W")))
        && time.is_none_or(|time| counts(time, "HMS"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is: fn(&str) -> bool, right: &[&str], wrong: &[&str]) {
        for text in right {
            assert!(is(text), "{text:?}");
        }
        for text in wrong {
            assert!(!is(text), "{text:?}");
        }
    }

    #[test]
    fn hosts_have_labels() {
        let long = "a".repeat(63);
        check(
            is_hostname,
            &["a", "example.com", "a-b.c1", "1.2", "example.com.", "bücher.example", &long],
            &["", ".", "a..b", "-a", "a-", "a_b", "a b", &"a".repeat(64), &["abcdefgh"; 30].join(".")],
        );
    }

    #[test]
    fn mail_has_two_parts() {
        check(
            is_email,
            &["a@b", "a.b+c@example.com", "Ann <ann@example.com>", "\"a b\"@c", "a@[192.0.2.1]"],
            &["", "a", "@b", "a@", "a b@c", "a..b@c", "a@b c", "<>", "a@b>"],
        );
    }

    #[test]
    fn uris_have_a_scheme_or_are_paths() {
        check(
            is_uri,
            &[
                "https://example.com",
                "http://u:p@h:8080/p?q#f",
                "mailto:a@b",
                "urn:x:y",
                "/a/b",
                "http://[::1]:80/",
                "a:%20",
            ],
            &[
                "",
                "example.com",
                "example.com/a",
                "://a",
                "1a://b",
                "http://a b/",
                "http://a:b/",
                "a:%2",
                "a:%zz",
                "a:\n",
                "http://[::1]x/",
            ],
        );
    }

    #[test]
    fn durations_are_numbers_with_units() {
        check(
            is_duration,
            &["0", "1h", "1h30m", "-1.5s", "10 days", "2w", "1 week", "5µs", "P1Y2M3DT4H5M6S", "PT1H", "P2W"],
            &["", "1", "h", "1x", "P", "PT", "P1H", "P1DT", "PT1H1H", "1..5s", "P1W2D", "one hour", "PT1"],
        );
    }
}
