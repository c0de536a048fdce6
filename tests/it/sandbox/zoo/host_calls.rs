//! WASI calls that no library makes: with invalid sizes, times and flags, in loops, and without a grant. Each one is
//! denied or ends the call; the next call and every other plugin work.

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

/// The result of a call: the error flag and the text.
#[track_caller]
fn outcome(answer: &Value) -> (bool, String) {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("no result: {answer}"));
    let texts: Vec<_> = blocks.iter().map(|block| block["text"].as_str().unwrap()).collect();
    (answer["result"]["isError"] == true, texts.join("\n"))
}

/// Tools whose calls the gateway ends, with words of the error.
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

/// Tools that are denied something and continue, with words of their result.
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
fn nonsensical_host_calls_end_only_their_call() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, words) in ENDED {
        let (failed, message) = outcome(&stdio.call(&format!("zoo_{tool}"), json!({})));
        assert!(failed && message.contains("plugin `zoo`"), "{tool}: {message}");
        for word in *words {
            assert!(message.contains(word), "{tool}: `{word}` isn't in: {message}");
        }
        assert_eq!(text(&stdio.call("zoo_echo", json!({ "text": "next" }))), "next", "{tool}");
    }
    let hasty = Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\nlimits.timeout = \"300ms\"\n");
    let mut stdio = Stdio::initialized(&hasty, "2025-11-25");
    let (failed, message) = outcome(&stdio.call("zoo_wait_for_the_end_of_time", json!({})));
    assert!(failed && message.contains("plugins.zoo.limits.timeout"), "{message}");
}

#[test]
fn denied_host_calls_do_not_end_the_call() {
    let workspace = workspace();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, arguments, words) in REFUSED {
        let arguments = serde_json::from_str(arguments).unwrap();
        let (failed, message) = outcome(&stdio.call(&format!("zoo_{tool}"), arguments));
        assert!(!failed, "{tool}: {message}");
        for word in *words {
            assert!(message.contains(word), "{tool}: `{word}` isn't in: {message}");
        }
    }
    let (_, _, log) = stdio.finish();
    assert!(!log.lines().any(|line| line.starts_with("2026-01-01")), "a forged line: {log}");
    assert!(!log.contains(is_unsafe_character), "{log:?}");
}
