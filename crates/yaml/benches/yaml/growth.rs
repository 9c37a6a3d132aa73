//! Whether time grows with the input: each measurement at one size, at twice and at four times that size.

use std::time::Duration;

use serde_json::json;

use crate::clock::Effort;
use crate::report::Report;

/// A doubling of the input that takes more than this many times longer is named.
const SUSPICIOUS: f64 = 2.5;

/// Times are too short to compare below this.
const NOISE: Duration = Duration::from_micros(50);

/// Measures `time` at the sizes and adds a line to the report.
pub(crate) fn measure(
    effort: &Effort,
    report: &mut Report,
    (shape, what): (&str, &str),
    smallest: usize,
    mut time: impl FnMut(usize) -> Duration,
) {
    let mut times: Vec<Duration> = Vec::new();
    for size in [smallest, smallest * 2, smallest * 4] {
        let mut took = time(size);
        if let Some(last) = times.last()
            && ratio(took, *last) > SUSPICIOUS
        {
            // The machine may have been busy; what is really slow stays slow.
            took = took.min(time(size));
        }
        times.push(took);
        if took > effort.patience {
            break;
        }
    }
    let ratios: Vec<f64> = times.windows(2).map(|pair| ratio(pair[1], pair[0])).collect();
    let stopped = times.len() < 3;
    let steep = stopped || ratios.iter().any(|ratio| *ratio > SUSPICIOUS);
    let note = match (stopped, steep) {
        (true, _) => "  STOPPED: too slow to go on",
        (false, true) => "  ABOVE 2.5",
        (false, false) => "",
    };
    let columns: String = times.iter().map(|time| format!("{:>10.2}", time.as_secs_f64() * 1e3)).collect();
    let factors: String = ratios.iter().map(|ratio| format!("{ratio:>7.2}")).collect();
    report.say(&format!("{shape:<34} {what:<16}{columns:<30} ms {factors}{note}"));
    let seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    report.keep(json!({
        "shape": shape, "what": what, "smallest": smallest, "seconds": seconds, "ratios": ratios, "steep": steep,
    }));
}

fn ratio(later: Duration, earlier: Duration) -> f64 {
    later.max(NOISE).as_secs_f64() / earlier.max(NOISE).as_secs_f64()
}
