//! Times as objects have them.

use jiff::Timestamp;

/// A time in whole seconds: `2026-01-31T08:00:00Z`.
pub fn text(at: Timestamp) -> String {
    let whole = Timestamp::from_second(at.as_second()).unwrap_or(at);
    whole.to_string()
}

/// A time in microseconds, as leases and events have it: `2026-01-31T08:00:00.000000Z`.
pub fn micro_text(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
