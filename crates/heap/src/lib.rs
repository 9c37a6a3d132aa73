//! How a server asks for memory, and gives it back.
//!
//! The allocator of the C library keeps a pool for each thread that met another one, and raises its own thresholds when large blocks are freed: a
//! server that answered a few long lists keeps several times of what it uses. Where there is another allocator, nothing here does anything.
//!
//! This crate is one of those that may call foreign functions.

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

/// Gives free memory back that lies between what is used. Takes some milliseconds: for the end of large work.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` takes a number, and touches only memory that the allocator knows to be free, under its own locks.
    unsafe {
        libc::malloc_trim(0);
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

    /// What lies between blocks that stay is given back.
    #[test]
    fn free_memory_between_used_blocks_goes() {
        keep_small();
        let blocks: Vec<Vec<u8>> = (0..40_000).map(|_| vec![1; 4_096]).collect();
        let full = resident();
        let kept: Vec<Vec<u8>> =
            blocks.into_iter().enumerate().filter(|(at, _)| at % 64 == 0).map(|(_, block)| block).collect();
        give_back();
        let after = resident();
        assert!(after + 64_000 < full, "{full} KiB, then {after} KiB with {} blocks", kept.len());
    }
}
