//! Calls of WASI that no library makes: with sizes, times and flags that make no sense, in loops, and for what isn't
//! granted. Each is refused or ended; the next call and every other plugin work.

use moongate_tests::{Stdio, Workspace, is_unsafe_character, text};
use serde_json::{Value, json};

const GATEWAY: &str = r#"
[http]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[plugins.zoo]
source = "@zoo@"
[plugins.zoo.allow]
dirs = [{ host = "in", guest = "/in", mode = "rw" }]
[plugins.zoo.limits]
timeout = "120s"
cpu_time = "500ms"
memory = "64MiB"
handles = 200
transfer = "1MiB"
output = "16KiB"
[plugins.time]
source = "@time@"
"#;

fn workspace() -> Workspace {
    let workspace = Workspace::new(GATEWAY);
    workspace.write("in/a.txt", "hello");
    workspace
}

/// What a call came to: whether it failed, and its texts.
#[track_caller]
fn outcome(answer: &Value) -> (bool, String) {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("no result: {answer}"));
    let texts: Vec<_> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
    (answer["result"]["isError"] == true, texts.join("\n"))
}

/// Tools whose calls the gateway ends, and words of what it says.
const ENDED: &[(&str, &[&str])] = &[
    ("recurse_through_host", &["crashed"]),
    ("copy_memory", &["plugins.zoo.limits.cpu_time"]),
    ("poll_without_end", &["plugins.zoo.limits.cpu_time"]),
    ("poll_crowds", &["plugins.zoo.limits.cpu_time"]),
    ("poll_nothing", &["crashed"]),
    ("exit_in_the_middle", &["it exited instead of returning a result"]),
    ("insecure_flood", &["crashed"]),
    ("many_files", &["plugins.zoo.limits.handles"]),
    ("write_zeros", &["crashed"]),
];

/// Tools that are refused something and go on, and what they say then.
const REFUSED: &[(&str, &str, &[&str])] = &[
    ("leak_handles", "{}", &["leaked 50 handles"]),
    ("strange_alarms", "{}", &["0 of 8"]),
    ("read_stdin", "{}", &["read 0 bytes"]),
    ("read_hugely", "{}", &["Closed"]),
    ("print_bytes", "{}", &["printed"]),
    ("write_unasked", "{}", &["may write Ok(65536)"]),
    ("listen", r#"{"address":"127.0.0.1:0"}"#, &["refused"]),
    ("send_datagram", r#"{"address":"127.0.0.1:9"}"#, &["refused"]),
    ("sockets", "{}", &["tcp: refused", "udp: refused", "name: refused"]),
    ("strange_flags", "{}", &["open: "]),
];

#[test]
fn what_makes_no_sense_ends_one_call() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, words) in ENDED {
        let (failed, said) = outcome(&stdio.call(&format!("zoo_{tool}"), json!({})));
        assert!(failed && said.contains("plugin `zoo`"), "{tool}: {said}");
        for word in *words {
            assert!(said.contains(word), "{tool}: `{word}` isn't in: {said}");
        }
        assert_eq!(text(&stdio.call("zoo_echo", json!({ "text": "next" }))), "next", "{tool}");
    }
    let hasty = Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\nlimits.timeout = \"300ms\"\n");
    let mut stdio = Stdio::initialized(&hasty, "2025-11-25");
    let (failed, said) = outcome(&stdio.call("zoo_wait_for_the_end_of_time", json!({})));
    assert!(failed && said.contains("plugins.zoo.limits.timeout"), "{said}");
}

#[test]
fn what_is_not_there_to_be_had_is_refused_and_the_call_goes_on() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, arguments, words) in REFUSED {
        let arguments = serde_json::from_str(arguments).unwrap();
        let (failed, said) = outcome(&stdio.call(&format!("zoo_{tool}"), arguments));
        assert!(!failed, "{tool}: {said}");
        for word in *words {
            assert!(said.contains(word), "{tool}: `{word}` isn't in: {said}");
        }
    }
    let (_, _, log) = stdio.finish();
    assert!(!log.lines().any(|line| line.starts_with("2026-01-01")), "a forged line: {log}");
    assert!(!log.contains(is_unsafe_character), "{log:?}");
}
