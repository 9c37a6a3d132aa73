//! How a server asks for memory, and gives it back.
//!
//! The allocator of the C library keeps a pool for each thread that met another one, and raises its own thresholds when large blocks are freed: a
//! server that answered a few long lists keeps several times of what it uses. Where there is another allocator, nothing here does anything.
//!
//! This is the one crate that may call foreign functions.

#![allow(unsafe_code, reason = "the allocator of the C library is told what to do by its own functions")]

/// Pools that all threads share. More cost memory; the threads of a server wait for the disk and the network, and seldom for each other here.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const POOLS: i32 = 2;

/// Blocks of at least this size are asked for one by one, and given back when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 512 << 10;

/// What may lie free at the end of a pool.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SPARE: i32 = 1 << 20;

/// Makes the process keep little more than it uses. To be called once, before threads begin.
pub fn keep_small() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (what, value) in
        [(libc::M_ARENA_MAX, POOLS), (libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, SPARE)]
    {
        // SAFETY: `mallopt` takes two numbers, keeps no pointer, and may be called at any time; what it does not know it refuses.
        unsafe { libc::mallopt(what, value) };
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    fn resident() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Large blocks go when they are freed, also those that were asked for after others were freed, and whatever lies behind them.
    #[test]
    fn large_blocks_go_when_they_are_freed() {
        keep_small();
        let blocks = || (0..64).map(|_| vec![1_u8; 1 << 20]).collect::<Vec<_>>();
        drop(blocks());
        let before = resident();
        let (large, small) = (blocks(), vec![1_u8; 100_000]);
        let full = resident();
        drop(large);
        let after = resident();
        assert!(full > before + 50_000, "{before} KiB, then {full} KiB");
        assert!(after < before + 10_000, "{before}, {full}, then {after} KiB beside {} bytes", small.len());
    }
}
