//! Counters, in the text form of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// What is counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Label {
    pub verb: &'static str,
    pub resource: String,
    pub code: u16,
}

#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<Label, Series>>,
}

#[derive(Debug, Default)]
struct Series {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

/// The most series: resources that nobody serves must not fill the memory.
const MAX_SERIES: usize = 4_096;

impl Metrics {
    pub fn record(&self, label: Label, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() >= MAX_SERIES && !requests.contains_key(&label) {
            return;
        }
        let series = requests.entry(label).or_default();
        series.count += 1;
        series.seconds += took.as_secs_f64();
        for (at, bound) in BUCKETS.iter().enumerate() {
            series.buckets[at] += u64::from(took.as_secs_f64() <= *bound);
        }
    }

    pub fn text(&self, open_requests: usize, open_watches: usize) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "# TYPE lanai_open_requests gauge\nlanai_open_requests {open_requests}");
        let _ = writeln!(text, "# TYPE lanai_open_watches gauge\nlanai_open_watches {open_watches}");
        let _ = writeln!(text, "# TYPE lanai_request_duration_seconds histogram");
        for (Label { verb, resource, code }, series) in
            &*self.requests.lock().unwrap_or_else(PoisonError::into_inner)
        {
            let labels = format!("verb=\"{verb}\",resource=\"{resource}\",code=\"{code}\"");
            for (bound, count) in BUCKETS.iter().zip(series.buckets) {
                let _ = writeln!(
                    text,
                    "lanai_request_duration_seconds_bucket{{{labels},le=\"{bound}\"}} {count}"
                );
            }
            let _ = writeln!(
                text,
                "lanai_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}} {}",
                series.count
            );
            let _ = writeln!(text, "lanai_request_duration_seconds_sum{{{labels}}} {}", series.seconds);
            let _ = writeln!(text, "lanai_request_duration_seconds_count{{{labels}}} {}", series.count);
        }
        text
    }
}
