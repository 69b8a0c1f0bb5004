#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| holdstead_fuzz::signatures::run(bytes));
