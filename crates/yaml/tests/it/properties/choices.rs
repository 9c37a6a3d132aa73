//! Decisions read from bytes, so that a property test and a fuzzer can share one generator.

/// Bytes that decide. When they are used up every answer is the first one, which is always the plainest.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub fn is_used_up(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number below `count`, which is at most 256.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count.max(1)
    }

    /// Yes, once in `times`; no when the bytes are used up.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub fn of<T: Copy>(&mut self, table: &[T]) -> T {
        table[self.below(table.len())]
    }
}
