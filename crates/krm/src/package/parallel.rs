//! Work on many files at the same time.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread;

/// No more threads are worth their start: the work is short.
const MAX_THREADS: usize = 4;
/// Fewer files are not worth a thread.
const MIN_FILES: usize = 32;

/// Does work on all items, and gives what came out in the order of the items.
pub(super) fn each<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(MAX_THREADS).min(items.len() / MIN_FILES);
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let size = items.len().div_ceil(threads);
    let mut rest = items.into_iter();
    let work = &work;
    thread::scope(|scope| {
        let chunks: Vec<Vec<T>> = (0..threads).map(|_| rest.by_ref().take(size).collect()).collect();
        let run = |chunk: Vec<T>| chunk.into_iter().map(work).collect::<Vec<R>>();
        let running: Vec<_> = chunks.into_iter().map(|chunk| scope.spawn(move || run(chunk))).collect();
        running.into_iter().flat_map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_out_is_in_order() {
        for length in [0, 1, MIN_FILES, 2 * MIN_FILES, 2 * MIN_FILES + 1, 1_000] {
            let doubled = each((0..length).collect(), |number| 2 * number);
            assert_eq!(doubled, (0..length).map(|number| 2 * number).collect::<Vec<_>>());
        }
    }
}
