//! How long ago something was, as kubectl shows it.

use jiff::Timestamp;

/// The time between two instants in at most two units: `5s`, `3m20s`, `26h`, `5d4h`, `2y30d`; `<invalid>` for what is to come.
pub fn since(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    human(seconds.max(0))
}

fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |big: i64, big_unit: char, small: i64, small_unit: char| {
        if small == 0 { format!("{big}{big_unit}") } else { format!("{big}{big_unit}{small}{small_unit}") }
    };
    match () {
        () if seconds < 60 * 2 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 60 * 3 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if hours < 24 * 8 => two(days, 'd', hours % 24, 'h'),
        () if hours < 24 * 365 * 2 => format!("{days}d"),
        () if hours < 24 * 365 * 8 => two(years, 'y', days % 365, 'd'),
        () => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_units_at_most() {
        let table = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (200, "3m20s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_072_000 + 86_400, "2y1d"),
            (8 * 31_536_000, "8y"),
        ];
        for (seconds, expected) in table {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn what_is_to_come_has_no_age() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(since(at(100), at(105)), "5s");
        assert_eq!(since(at(101), at(100)), "0s");
        assert_eq!(since(at(102), at(100)), "<invalid>");
    }
}
