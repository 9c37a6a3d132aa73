//! What is counted, in the text form of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 11] = [0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];
/// The most series: images that callers make up must not fill the memory.
const MAX_SERIES: usize = 2_048;

/// Durations of calls, by evaluator, image and outcome.
#[derive(Debug, Default)]
pub struct Metrics {
    calls: Mutex<BTreeMap<Label, Series>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    evaluator: String,
    image: String,
    code: &'static str,
}

#[derive(Debug, Default)]
struct Series {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Metrics {
    /// A call has ended.
    pub fn record(&self, evaluator: &str, image: &str, code: tonic::Code, took: Duration) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut label = Label { evaluator: evaluator.to_owned(), image: image.to_owned(), code: name(code) };
        if calls.len() >= MAX_SERIES && !calls.contains_key(&label) {
            "other".clone_into(&mut label.image);
        }
        let series = calls.entry(label).or_default();
        let seconds = took.as_secs_f64();
        series.count += 1;
        series.seconds += seconds;
        for (bucket, bound) in series.buckets.iter_mut().zip(BUCKETS) {
            *bucket += u64::from(seconds <= bound);
        }
    }

    /// All of it, as text. `load` is how many calls run and wait.
    pub fn text(&self, load: (usize, usize)) -> String {
        let (running, waiting) = load;
        format!(
            "# TYPE lanai_functions_running gauge\nlanai_functions_running {running}\n\
             # TYPE lanai_functions_waiting gauge\nlanai_functions_waiting {waiting}\n{}",
            self.durations()
        )
    }

    /// The durations alone.
    pub fn durations(&self) -> String {
        const NAME: &str = "lanai_function_duration_seconds";
        let mut text = format!("# TYPE {NAME} histogram\n");
        for (label, series) in &*self.calls.lock().unwrap_or_else(PoisonError::into_inner) {
            let labels = format!(
                "evaluator=\"{}\",image=\"{}\",code=\"{}\"",
                escaped(&label.evaluator),
                escaped(&label.image),
                label.code
            );
            for (bound, count) in BUCKETS.iter().zip(series.buckets) {
                let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(text, "{NAME}_bucket{{{labels},le=\"+Inf\"}} {}", series.count);
            let _ = writeln!(text, "{NAME}_sum{{{labels}}} {}", series.seconds);
            let _ = writeln!(text, "{NAME}_count{{{labels}}} {}", series.count);
        }
        text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn name(code: tonic::Code) -> &'static str {
    use tonic::Code;
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "cancelled",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::Unknown
        | Code::AlreadyExists
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::DataLoss
        | Code::Unauthenticated => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_callers_make_up_do_not_fill_the_memory() {
        let metrics = Metrics::default();
        for image in 0..MAX_SERIES + 10 {
            metrics.record("native", &format!("a\"{image}"), tonic::Code::Ok, Duration::from_millis(1));
        }
        let text = metrics.text((1, 2));
        assert!(text.contains("lanai_functions_running 1\n") && text.contains("lanai_functions_waiting 2\n"));
        assert!(text.contains("image=\"a\\\"7\",code=\"ok\",le=\"0.001\"} 1\n"), "{text}");
        assert!(text.contains("_count{evaluator=\"native\",image=\"other\",code=\"ok\"} 10\n"));
    }
}
