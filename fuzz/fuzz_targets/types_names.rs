#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| lanai_fuzz::names::types_names(bytes));
