//! Whether time grows with the input: each measurement at one size, at twice and at four times that size.

use std::time::Duration;

use serde_json::json;

use crate::clock::PATIENCE;
use crate::report::{Report, say};

/// A doubling of the input that takes more than this many times longer is named.
const SUSPICIOUS: f64 = 2.5;

/// How often a suspicious time is taken again.
const RETRIES: usize = 3;

/// Shorter times count as this much: page faults and caches decide there.
const NOISE: Duration = Duration::from_millis(1);

/// How the time grew.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// With the input, or nearly.
    Linear,
    /// Once faster than that: the input left a cache, or the allocator took another way.
    Uneven,
    /// Faster at each doubling.
    Steep,
    /// It was too slow to go on with a larger input.
    Stopped,
}

impl Growth {
    fn of(ratios: &[f64], stopped: bool) -> Self {
        let steep = ratios.iter().filter(|ratio| **ratio > SUSPICIOUS).count();
        match steep {
            _ if stopped => Growth::Stopped,
            0 => Growth::Linear,
            _ if steep == ratios.len() => Growth::Steep,
            _ => Growth::Uneven,
        }
    }

    fn note(self) -> &'static str {
        match self {
            Growth::Linear => "",
            Growth::Uneven => "  above 2.5 once",
            Growth::Steep => "  STEEP: above 2.5 each time",
            Growth::Stopped => "  STOPPED: too slow to go on",
        }
    }
}

/// Measures `time` at three sizes and adds a line to the report.
pub(crate) fn measure(
    report: &mut Report,
    (shape, what): (&str, &str),
    smallest: usize,
    mut time: impl FnMut(usize) -> Duration,
) -> Growth {
    let mut times: Vec<Duration> = Vec::new();
    for size in [smallest, smallest * 2, smallest * 4] {
        let mut took = time(size);
        let before = times.last().copied();
        for _ in 0..RETRIES {
            if took > PATIENCE || before.is_none_or(|before| ratio(took, before) <= SUSPICIOUS) {
                break;
            }
            // The machine may have been busy; what is really slow stays slow.
            took = took.min(time(size));
        }
        times.push(took);
        if took > PATIENCE {
            break;
        }
    }
    let ratios: Vec<f64> = times.windows(2).map(|pair| ratio(pair[1], pair[0])).collect();
    let growth = Growth::of(&ratios, times.len() < 3);
    let columns: Vec<String> =
        times.iter().map(|time| format!("{:>9.2}", time.as_secs_f64() * 1e3)).collect();
    let factors: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:>6.2}")).collect();
    let (columns, factors) = (columns.join(" "), factors.join(" "));
    say(&format!("{shape:<34} {what:<16} {columns:<29} ms {factors}{}", growth.note()));
    let seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    report.keep(json!({
        "shape": shape, "what": what, "smallest": smallest, "seconds": seconds, "ratios": ratios,
        "note": growth.note().trim(),
    }));
    growth
}

fn ratio(later: Duration, earlier: Duration) -> f64 {
    later.max(NOISE).as_secs_f64() / earlier.max(NOISE).as_secs_f64()
}
