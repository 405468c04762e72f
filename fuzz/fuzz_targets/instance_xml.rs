#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| eurekad_fuzz::instance_xml(bytes));
