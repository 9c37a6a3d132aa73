//! `time.star`: instants in UTC. There is no clock: equal lists give equal answers at any time.

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::values::tuple::AllocTuple;
use starlark::values::{Heap, Value};

/// What a script sees. Durations are numbers of seconds.
pub const PRELUDE: &str = "\
_RFC3339 = '2006-01-02T15:04:05Z07:00'

def _time(moment):
    sec, nsec = moment
    fields = native.fields(sec, nsec)
    return struct(
        year = fields[0],
        month = fields[1],
        day = fields[2],
        hour = fields[3],
        minute = fields[4],
        second = fields[5],
        nanosecond = nsec,
        unix = sec,
        unix_nano = sec * 1000000000 + nsec,
        format = lambda layout: native.format(sec, nsec, layout),
        in_location = lambda location: native.utc(location) and _time(moment),
    )

def _of(year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0, nanosecond = 0, location = 'UTC'):
    native.utc(location)
    return _time(native.of(year, month, day, hour, minute, second, nanosecond))

def _parse(x, format = _RFC3339, location = 'UTC'):
    native.utc(location)
    return _time(native.parse(x, format))

time = struct(
    now = lambda: native.now(),
    from_timestamp = lambda sec, nsec = 0: _time((sec, nsec)),
    is_valid_timezone = lambda location: location in ('', 'UTC'),
    parse_duration = lambda d: native.duration(d),
    parse_time = _parse,
    time = _of,
    nanosecond = 1e-9,
    microsecond = 1e-6,
    millisecond = 1e-3,
    second = 1,
    minute = 60,
    hour = 3600,
)
";

/// The parts of a layout as Go writes them, and as `strftime` does; those that begin alike, the longer first.
const LAYOUT: &[(&str, &str)] = &[
    ("January", "%B"),
    ("Jan", "%b"),
    ("Monday", "%A"),
    ("Mon", "%a"),
    ("MST", "%Z"),
    ("2006", "%Y"),
    ("-07:00", "%:z"),
    ("-0700", "%z"),
    ("Z07:00", "Z"),
    (".000000000", ".%9f"),
    (".000000", ".%6f"),
    (".000", ".%3f"),
    ("01", "%m"),
    ("02", "%d"),
    ("03", "%I"),
    ("04", "%M"),
    ("05", "%S"),
    ("06", "%y"),
    ("15", "%H"),
    ("PM", "%p"),
    ("_2", "%e"),
    ("1", "%-m"),
    ("2", "%-d"),
    ("3", "%-I"),
    ("4", "%-M"),
    ("5", "%-S"),
    ("%", "%%"),
];

/// The units of durations, in seconds; those that begin alike, the longer first.
const UNITS: &[(&str, f64)] =
    &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// What the prelude is made of.
#[starlark_module]
pub fn native(builder: &mut GlobalsBuilder) {
    fn now() -> anyhow::Result<bool> {
        anyhow::bail!(
            "time.now is not available: equal lists give equal answers; pass the time as a parameter"
        )
    }

    fn utc(location: &str) -> anyhow::Result<bool> {
        match location {
            "" | "UTC" => Ok(true),
            other => anyhow::bail!("the time zone \"{other}\" is not available: only UTC is"),
        }
    }

    fn fields<'v>(sec: i64, nsec: i32, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let at = moment(sec, nsec)?;
        let fields = [at.year(), at.month().into(), at.day().into(), at.hour().into()];
        let fields = fields.into_iter().chain([at.minute().into(), at.second().into()]).map(i32::from);
        Ok(heap.alloc(AllocTuple(fields.collect::<Vec<_>>())))
    }

    fn of<'v>(
        year: i32,
        month: i32,
        day: i32,
        hour: i32,
        minute: i32,
        second: i32,
        nanosecond: i32,
        heap: Heap<'v>,
    ) -> anyhow::Result<Value<'v>> {
        let small = |number: i32| i8::try_from(number).context("time.time");
        let at = DateTime::new(
            i16::try_from(year).context("time.time")?,
            small(month)?,
            small(day)?,
            small(hour)?,
            small(minute)?,
            small(second)?,
            nanosecond,
        );
        Ok(pair(at.context("time.time")?.to_zoned(TimeZone::UTC).context("time.time")?.timestamp(), heap))
    }

    fn parse<'v>(text: &str, layout: &str, heap: Heap<'v>) -> anyhow::Result<Value<'v>> {
        let wrong = || format!("the time \"{text}\" is not written as \"{layout}\"");
        if layout.ends_with("Z07:00") {
            return Ok(pair(text.parse::<Timestamp>().with_context(wrong)?, heap));
        }
        let parsed = strtime::parse(strftime(layout), text).with_context(wrong)?;
        let at = parsed.to_timestamp().or_else(|_| {
            let at = parsed
                .to_datetime()
                .or_else(|_| Ok(parsed.to_date()?.to_datetime(jiff::civil::Time::midnight())));
            at.and_then(|at| at.to_zoned(TimeZone::UTC)).map(|at| at.timestamp())
        });
        Ok(pair(at.with_context(wrong)?, heap))
    }

    fn format(sec: i64, nsec: i32, layout: &str) -> anyhow::Result<String> {
        let at = moment(sec, nsec)?.to_zoned(TimeZone::UTC)?;
        Ok(strtime::format(strftime(layout), &at)?)
    }

    fn duration(text: &str) -> anyhow::Result<f64> {
        let wrong = || anyhow::anyhow!("\"{text}\" is no duration, such as \"1h30m\"");
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1.0, rest),
            None => (1.0, text),
        };
        let mut seconds = 0.0;
        while !rest.is_empty() && rest != "0" {
            let end =
                rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(wrong)?;
            let number: f64 = rest[..end].parse().map_err(|_| wrong())?;
            let unit = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit)).ok_or_else(wrong)?;
            seconds += number * unit.1;
            rest = &rest[end + unit.0.len()..];
        }
        if text.is_empty() { Err(wrong()) } else { Ok(sign * seconds) }
    }
}

fn moment(sec: i64, nsec: i32) -> anyhow::Result<DateTime> {
    Ok(Timestamp::new(sec, nsec).context("time")?.to_zoned(TimeZone::UTC).datetime())
}

fn pair(at: Timestamp, heap: Heap<'_>) -> Value<'_> {
    let at = (at.as_second(), i64::from(at.subsec_nanosecond()));
    heap.alloc(AllocTuple([at.0, at.1]))
}

/// A layout of Go as one of `strftime`.
fn strftime(layout: &str) -> String {
    let mut out = String::new();
    let mut rest = layout;
    while let Some(first) = rest.chars().next() {
        if let Some((part, format)) = LAYOUT.iter().find(|(part, _)| rest.starts_with(part)) {
            out.push_str(format);
            rest = &rest[part.len()..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}
