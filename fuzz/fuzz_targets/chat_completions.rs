#![no_main]

use libfuzzer_sys::fuzz_target;
use tool_providers::Api;

fuzz_target!(|data: &[u8]| tool_fuzz::read(&Api::chat_completions(), data));
