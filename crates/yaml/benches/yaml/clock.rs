//! Taking times.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long one measurement may take in all its rounds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(3);

/// How much work a run does.
pub(crate) struct Effort {
    /// How often something is timed; the best time counts.
    pub rounds: usize,
    /// As `rounds`, for the many measurements of growth.
    pub growth_rounds: usize,
    /// Documents of the stream that is read.
    pub documents: usize,
    /// Bytes of the smallest input of a shape; it is doubled twice.
    pub shape_bytes: usize,
    /// Entries of the smallest collection that is edited; it is doubled twice.
    pub entries: usize,
}

impl Effort {
    /// What the numbers in the documentation are made with.
    pub const FULL: Self =
        Self { rounds: 11, growth_rounds: 5, documents: 12_000, shape_bytes: 1_000_000, entries: 4_000 };

    /// Enough to see that everything runs.
    pub const SMOKE: Self =
        Self { rounds: 1, growth_rounds: 1, documents: 100, shape_bytes: 10_000, entries: 50 };
}

/// The best time of `work` over fresh values of `prepare`, after one round that does not count.
///
/// Preparing and dropping what `work` returns are outside of the time. What is so slow that it spends [`PATIENCE`] is
/// not repeated as often.
pub(crate) fn best<P, R>(
    rounds: usize,
    mut prepare: impl FnMut() -> P,
    mut work: impl FnMut(P) -> R,
) -> Duration {
    let mut best = Duration::MAX;
    let mut spent = Duration::ZERO;
    for round in 0..=rounds {
        let prepared = black_box(prepare());
        let start = Instant::now();
        let result = black_box(work(prepared));
        let took = start.elapsed();
        drop(result);
        spent += took;
        let impatient = spent > PATIENCE;
        if round > 0 || impatient {
            best = best.min(took);
        }
        if impatient {
            break;
        }
    }
    best
}

/// Millions of bytes per second.
pub(crate) fn speed(bytes: usize, time: Duration) -> f64 {
    real(bytes) / 1e6 / time.as_secs_f64()
}

/// A count as a number to divide.
#[allow(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}
