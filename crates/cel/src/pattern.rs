//! Patterns, matched step by step.
//!
//! How long a pattern takes to match depends on both the pattern and the text, so the clock is looked at in between. The automaton is
//! made while it is used: most bytes take one look into a table, some take a walk over the whole pattern.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};

use crate::meter::Meter;
use crate::{MAX_PATTERN, Stop};

/// What tables of an automaton may take. Beyond that it begins anew.
const MAX_TABLES: usize = 2 << 20;
/// How many bytes of text are looked up in one step.
const BYTES: usize = 16;
/// How many parts of a pattern are walked over in one step.
const PARTS: u64 = 8;

/// A pattern that is ready.
pub(crate) struct Pattern {
    text: String,
    nfa: NFA,
    dfa: DFA,
    cache: Cache,
}

impl Pattern {
    /// Makes a pattern ready, which takes steps by its size.
    pub fn new(text: &str, meter: &mut Meter<'_>) -> Result<Self, Stop> {
        let limit = Some(MAX_PATTERN);
        let config = Config::new().nfa_size_limit(limit).which_captures(WhichCaptures::None);
        meter.step(text.len() as u64)?;
        let nfa = Compiler::new().configure(config).build(text);
        let nfa = nfa.map_err(|error| match error.size_limit() {
            Some(_) => Stop::Pattern,
            None => not_a_pattern(text, &error.to_string()),
        })?;
        meter.step(nfa.memory_usage() as u64 / BYTES as u64)?;
        let config = DFA::config().cache_capacity(MAX_TABLES).skip_cache_capacity_check(true);
        let builder =
            DFA::builder().configure(config.unicode_word_boundary(true)).build_from_nfa(nfa.clone());
        let dfa = builder.map_err(|error| not_a_pattern(text, &error.to_string()))?;
        let cache = dfa.create_cache();
        Ok(Self { text: text.to_owned(), nfa, dfa, cache })
    }

    /// What it was made from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is anywhere in a text.
    pub fn is_in(&mut self, text: &str, meter: &mut Meter<'_>) -> Result<bool, Stop> {
        let parts = self.nfa.states().len() as u64;
        let Ok(mut state) = self.dfa.start_state_forward(&mut self.cache, &Input::new(text)) else {
            return self.is_in_slowly(text, meter);
        };
        for block in text.as_bytes().chunks(BYTES) {
            meter.step(1)?;
            for byte in block {
                let tables = self.cache.memory_usage();
                let Ok(next) = self.dfa.next_state(&mut self.cache, state, *byte) else {
                    return self.is_in_slowly(text, meter);
                };
                if self.cache.memory_usage() != tables {
                    meter.step(parts / PARTS + 1)?;
                }
                if next.is_match() || next.is_dead() {
                    return Ok(next.is_match());
                }
                if next.is_quit() {
                    return self.is_in_slowly(text, meter);
                }
                state = next;
            }
        }
        match self.dfa.next_eoi_state(&mut self.cache, state) {
            Ok(last) => Ok(last.is_match()),
            Err(_) => self.is_in_slowly(text, meter),
        }
    }

    /// The same in one go, for what the automaton does not know: borders of words beside letters that are not ASCII. All that it can
    /// take is asked for before.
    fn is_in_slowly(&self, text: &str, meter: &mut Meter<'_>) -> Result<bool, Stop> {
        let parts = self.nfa.states().len() as u64;
        meter.step((text.len() as u64).saturating_mul(parts.div_ceil(2)))?;
        let vm = PikeVM::new_from_nfa(self.nfa.clone());
        let vm = vm.map_err(|error| not_a_pattern(&self.text, &error.to_string()))?;
        Ok(vm.is_match(&mut vm.create_cache(), text))
    }
}

fn not_a_pattern(text: &str, cause: &str) -> Stop {
    Stop::Failed(format!("'{text}' is no pattern: {cause}"))
}
