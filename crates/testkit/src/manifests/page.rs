//! The paper: lines, indentation, sequences in the style of the document, and chance.

/// Text that grows by lines, and the seed's stream of choices.
pub(super) struct Page {
    text: String,
    state: u64,
    /// How far a dash stands to the right of its parent's key in this document: 0 or 2.
    shift: usize,
}

impl Page {
    pub(super) fn new(seed: u64) -> Self {
        Page { text: String::new(), state: seed, shift: 0 }
    }

    /// Chooses the style of sequences anew.
    pub(super) fn new_document(&mut self) {
        self.shift = self.pick(&[0, 2]);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn line(&mut self, depth: usize, text: &str) {
        self.text.extend(std::iter::repeat_n(' ', depth));
        self.text.push_str(text);
        self.text.push('\n');
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes an item of the sequence whose key stands at `depth`; returns the depth of further keys of the item.
    pub(super) fn item(&mut self, depth: usize, text: &str) -> usize {
        let depth = depth + self.shift;
        self.line(depth, &format!("- {text}"));
        depth + 2
    }

    /// True about once in `times` calls.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        // Multiply and keep the high half: even enough for fixtures, and without a division.
        let wide = u128::from(self.next()) * u128::from(end);
        u64::try_from(wide >> 64).expect("the high half of a product of two 64-bit numbers has 64 bits")
    }

    /// One of `choices`, of which there is at least one.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let count = u64::try_from(choices.len()).expect("a list in memory has fewer than 2^64 entries");
        let index = usize::try_from(self.below(count)).expect("the number is below a length");
        choices[index]
    }

    /// The generator `SplitMix64`: one addition and two multiplications a number.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
