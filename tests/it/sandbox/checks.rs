//! Checks of arguments against a plugin's schema belong to the call: they end with it, and delay no other caller.

use std::thread::available_parallelism;
use std::time::Duration;

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{Http, ResourceUsage, Workspace, cpu_time, text, wait_until};
use serde_json::{Value, json};

const GATEWAY: &str = r#"
[http]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[plugins.slow]
source = "slow.wasm"
[plugins.slow.limits]
cpu_time = "5m"
timeout = "5m"
[plugins.time]
source = "@time@"
"#;

/// Checking a string takes a step for each of its bytes and each of 900 places.
fn slow_plugin() -> Vec<u8> {
    let word = json!({ "not": { "pattern": "[ab]*a[ab]{900}c" } });
    let schema = json!({ "type": "object", "properties": { "words": { "type": "array", "items": word }, "word": word } });
    Plugin::version(1).schema(schema.to_string()).build()
}

/// Texts that differ and have no period, because the engine remembers what it has seen (xorshift, Marsaglia 2003).
struct Words(u32);

impl Words {
    fn word(&mut self, length: usize) -> String {
        let letter = |_| {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 17;
            self.0 ^= self.0 << 5;
            if self.0 & 1 == 0 { 'a' } else { 'b' }
        };
        (0..length).map(letter).collect()
    }

    fn arguments(&mut self, count: usize) -> Value {
        let words: Vec<String> = (0..count).map(|_| self.word(1_000)).collect();
        json!({ "words": words })
    }
}

#[test]
fn abandoned_checks_leave_processors_and_threads() {
    const ABANDONED: u32 = 80;
    let workspace = Workspace::new(GATEWAY);
    workspace.write("slow.wasm", slow_plugin());
    let http = Http::start(&workspace);
    let tool = format!("slow_{TOOL}");
    let mut words = Words(1);
    let before = cpu_time(http.pid());
    assert_eq!(text(&http.call(&tool, words.arguments(20))), "v1");
    let whole_check = cpu_time(http.pid()) - before;
    let threads = ResourceUsage::of(http.pid()).threads;

    let before = cpu_time(http.pid());
    for _ in 0..ABANDONED {
        drop(http.start_call(&tool, words.arguments(20)));
    }
    // This waits for a thread behind all of them, and another caller isn't delayed meanwhile.
    assert!(text(&http.call("time_get_current_time", json!({ "timezone": "UTC" }))).contains("UTC"));
    assert_eq!(text(&http.call(&tool, words.arguments(4))), "v1");
    let waiting = || http.admin().metric("moongate_plugin_calls_waiting{plugin=\"slow\"}");
    wait_until("no call waits", || waiting().is_none_or(|calls| calls == 0.0));
    let used = cpu_time(http.pid()) - before;
    assert!(used < whole_check * (ABANDONED / 4), "{used:?}, and {whole_check:?} for a whole check");
    let processors = available_parallelism().unwrap().get() as u64;
    let now = ResourceUsage::of(http.pid()).threads;
    assert!(now <= threads + processors + 4, "{threads} threads became {now}");
}

#[test]
fn refuses_a_long_match_before_it_starts() {
    let workspace = Workspace::new(GATEWAY);
    workspace.write("slow.wasm", slow_plugin());
    let http = Http::start(&workspace);
    let tool = format!("slow_{TOOL}");
    let mut words = Words(1);
    let before = cpu_time(http.pid());
    let answer = http.call(&tool, json!({ "word": words.word(540 << 10) }));
    assert!(answer.to_string().contains("the value is too large for this schema"), "{answer}");
    let used = cpu_time(http.pid()) - before;
    assert!(used < Duration::from_secs(2), "{used:?}");
    assert_eq!(text(&http.call(&tool, json!({ "word": words.word(1_000) }))), "v1");
}
