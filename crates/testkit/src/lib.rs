//! Fixtures and oracles that the tests of all crates share.
