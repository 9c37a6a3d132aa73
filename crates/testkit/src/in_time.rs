//! Things that must end in time.

use std::time::{Duration, Instant};

/// How much longer than its limit on time something may take until it is reported and nothing of it is left.
const GRACE: Duration = Duration::from_secs(1);
/// How often something is run that took too long before. Somebody else may have had the machine meanwhile.
const TRIES: usize = 3;

/// Runs something that must end inside of a limit on time plus a second. What took longer is run again, twice at most.
///
/// # Panics
/// When it took longer each time.
pub async fn in_time<T>(limit: Duration, run: impl AsyncFn() -> T) -> T {
    in_time_of(limit, async || {
        let start = Instant::now();
        (run().await, start.elapsed())
    })
    .await
}

/// The same for something that says itself how long it took.
///
/// # Panics
/// When it took longer each time.
pub async fn in_time_of<T>(limit: Duration, run: impl AsyncFn() -> (T, Duration)) -> T {
    let mut times = Vec::new();
    loop {
        let (ended, took) = run().await;
        times.push(took);
        if took <= limit + GRACE {
            return ended;
        }
        assert!(times.len() < TRIES, "it ends inside of {limit:?} and {GRACE:?}, not after {times:?}");
    }
}
