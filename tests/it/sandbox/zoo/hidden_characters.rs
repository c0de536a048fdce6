//! Hidden characters are removed from every string that a model, a terminal or a log displays: names, descriptions,
//! instructions, messages and log lines. The result of a call is data and is passed through, except for JSON that some
//! clients can't read: they would refuse the whole message.

use moongate_tests::{
    Http, Stdio, Workspace, component, initialize_params, is_unsafe_character, request, stateless_request,
    text,
};
use serde_json::{Value, json};

const GATEWAY: &str = r#"
[http]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[plugins.malformed]
source = "@malformed@"
[plugins.malformed.allow]
instructions = true
client = ["elicitation"]
"#;

/// The requests of each client, in addition to tool calls.
const REQUESTS: &[(&str, &str)] = &[
    ("tools/list", "{}"),
    ("resources/list", "{}"),
    ("resources/templates/list", "{}"),
    ("prompts/list", "{}"),
    ("prompts/get", r#"{"name":"malformed_speech"}"#),
    ("resources/read", r#"{"uri":"malformed://text"}"#),
    ("resources/read", r#"{"uri":"malformed://lost"}"#),
    ("resources/read", r#"{"uri":"malformed://words/some"}"#),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"malformed_speech"},"argument":{"name":"word","value":"a"}}"#,
    ),
];

/// Tools of the plugin, each of which sends text in a different place.
const TOOLS: [&str; 13] = [
    "log",
    "log_no_json",
    "log_unreadable",
    "progress",
    "panic_strangely",
    "print",
    "fail_params",
    "fail_not_found",
    "fail_internal",
    "fail_custom",
    "fail_hugely",
    "lack",
    "answer",
];

/// The places where every client receives text from the plugin.
const PLACES: [&str; 19] = [
    "instructions",
    "tool description",
    "schema title",
    "argument",
    "resource name",
    "resource description",
    "template description",
    "prompt description",
    "argument description",
    "prompt result",
    "said",
    "content",
    "completion",
    "result",
    "log value",
    "message",
    "wrong",
    "broken",
    "custom",
];

/// The places where every client receives a text that was cut inside an emoji, as they are in the message.
const CUT_PLACES: [&str; 8] = [
    r#""examples":[{"cut �":"cut �"}]"#,
    r#""example.com/cut-read-meta":{"cut �":"cut �"}"#,
    r#""example.com/cut-prompt-result-meta":{"cut �":"cut �"}"#,
    r#""example.com/cut-result-meta":{"cut �":"cut �"}"#,
    r#""text":"cut �""#,
    r#""data":{"cut":"cut �""#,
    r#""data":"cut �""#,
    r#""data":{"cut �":"cut �"}"#,
];

/// The additional ones in revisions that have metadata of tools and structured content.
const NEWER_CUT_PLACES: [&str; 2] =
    [r#""example.com/cut-tool-meta":{"cut �":"cut �"}"#, r#""cut":{"cut �":"cut �"}"#];

/// The additional places in revisions that have titles and progress messages.
const TITLE_PLACES: [&str; 5] =
    ["tool title", "resource title", "template title", "prompt title", "progress"];

/// Returns true if this path belongs to the data that a call returned.
fn is_data(path: &[String]) -> bool {
    let path: Vec<&str> =
        path.iter().map(String::as_str).filter(|part| part.parse::<u32>().is_err()).collect();
    matches!(
        path.as_slice(),
        ["result", "content" | "contents", "text"]
            | ["result", "messages", "content", "text"]
            | ["result", "structuredContent", ..]
    )
}

/// Asserts that every string and key of a message, except for data, has no hidden characters.
#[track_caller]
fn assert_clean(value: &Value, path: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            assert!(is_data(path) || !text.contains(is_unsafe_character), "/{}: {text:?}", path.join("/"));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(at.to_string());
                assert_clean(item, path);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                assert!(
                    is_data(path) || !key.contains(is_unsafe_character),
                    "/{}: key {key:?}",
                    path.join("/")
                );
                path.push(key.clone());
                assert_clean(member, path);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A client of one revision, with all messages that it received.
struct Client {
    stdio: Stdio,
    revision: &'static str,
    next: u64,
    inbox: Vec<Value>,
}

impl Client {
    fn start(workspace: &Workspace, revision: &'static str) -> Self {
        let mut client = Self { stdio: Stdio::start(workspace), revision, next: 1, inbox: Vec::new() };
        if revision < "2026" {
            let mut params = initialize_params(revision);
            params["capabilities"] = json!({ "elicitation": {} });
            client.request_and_wait("initialize", params);
            client.stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            client.request_and_wait("logging/setLevel", json!({ "level": "debug" }));
        } else {
            client.request_and_wait("server/discover", json!({}));
        }
        client
    }

    fn message(&mut self, method: &str, mut params: Value) -> (u64, Value) {
        self.next += 1;
        let id = self.next;
        if self.revision < "2026" {
            params["_meta"] = json!({ "progressToken": id });
            return (id, request(id, method, params));
        }
        let mut message = stateless_request(id, method, params);
        let meta = &mut message["params"]["_meta"];
        meta["progressToken"] = json!(id);
        meta["io.modelcontextprotocol/logLevel"] = json!("debug");
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": { "form": {} } });
        (id, message)
    }

    fn request_and_wait(&mut self, method: &str, params: Value) -> Value {
        let (id, message) = self.message(method, params);
        self.stdio.send(&message);
        let answer = self.stdio.response(id);
        self.inbox.extend(self.stdio.take_queued());
        self.inbox.push(answer.clone());
        answer
    }

    /// Calls the tool that asks the user a question, and answers it.
    fn answer_question(&mut self) {
        let (id, message) = self.message("tools/call", json!({ "name": "malformed_ask", "arguments": {} }));
        self.stdio.send(&message);
        let question = self.stdio.receive();
        if question["method"] == "elicitation/create" {
            let answer = json!({ "action": "accept", "content": { "word": "x" } });
            self.stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
            assert_eq!(text(&self.stdio.response(id)), "was answered");
        }
        self.inbox.push(question);
    }
}

#[test]
fn removes_hidden_characters_in_every_revision() {
    let workspace = Workspace::new(GATEWAY);
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut client = Client::start(&workspace, revision);
        for (method, params) in REQUESTS {
            client.request_and_wait(method, serde_json::from_str(params).unwrap());
        }
        for tool in TOOLS {
            client.request_and_wait(
                "tools/call",
                json!({ "name": format!("malformed_{tool}"), "arguments": {} }),
            );
        }
        client.answer_question();
        for message in &client.inbox {
            assert_clean(message, &mut Vec::new());
        }
        let all = client.inbox.iter().map(Value::to_string).collect::<String>();
        let has_titles = revision >= "2025-06-18";
        for place in PLACES.iter().chain(TITLE_PLACES.iter().filter(|_| has_titles)) {
            assert!(
                all.contains(&format!("{place} begins")),
                "{revision}: no message has the {place}: {all}"
            );
        }
        for place in CUT_PLACES.iter().chain(NEWER_CUT_PLACES.iter().filter(|_| has_titles)) {
            assert!(all.contains(place), "{revision}: no message has {place}: {all}");
        }
        let is_asked = all.contains("question begins �") && all.contains("label begins");
        assert_eq!(is_asked, has_titles, "{revision}: {all}");
        let (_, status, log) = client.stdio.finish();
        assert!(status.success());
        assert_log_clean(&log);
        for place in ["log value", "message", "logger", "printed", "panic"] {
            assert!(log.contains(&format!("{place} begins")), "{revision}: {place} isn't logged: {log}");
        }
    }
}

/// Asserts that every line was written by the gateway, and none moves the cursor.
#[track_caller]
fn assert_log_clean(log: &str) {
    for line in log.lines() {
        assert!(!line.contains(is_unsafe_character), "{line:?}");
        assert!(!line.starts_with("2026-01-01"), "a forged line: {line:?}");
    }
}

#[test]
fn replaces_half_an_emoji_in_results_and_log_messages() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.request_and_wait("logging/setLevel", json!({ "level": "error" }));
    let answer = stdio.call("zoo_cut_emoji", json!({}));
    let cut = json!({ "cut \u{fffd}": "cut \u{fffd}" });
    assert_eq!(answer["result"]["structuredContent"], cut, "{answer}");
    assert_eq!(answer["result"]["_meta"]["example.com/cut"], cut, "{answer}");
    let logged = stdio.take_queued().remove(0);
    assert_eq!(logged["params"]["data"], "cut \u{fffd}", "{logged}");
}

#[test]
fn refuses_results_that_clients_cant_read() {
    let workspace = Workspace::new(GATEWAY);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (which, reason) in [
        (0, "number out of range"),
        (1, "number out of range"),
        (2, "duplicate key `a`"),
        (3, "nested deeper than 100 levels"),
    ] {
        let answer = stdio.call("malformed_answer_unreadable", json!({ "which": which }));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(text(&answer).contains(reason), "{answer}");
    }
}

#[test]
fn removes_hidden_characters_from_operator_output() {
    let workspace = Workspace::new(GATEWAY);
    for arguments in
        [&["check"][..], &["list"], &["list", "--format", "json"], &["call", "malformed_fail_internal"]]
    {
        let output = workspace.run(arguments);
        let streams = [output.stdout, output.stderr].map(|stream| String::from_utf8(stream).unwrap());
        for line in streams.iter().flat_map(|stream| stream.lines()) {
            assert!(!line.contains(is_unsafe_character), "{arguments:?}: {line:?}");
        }
    }
    let http = Http::start(&workspace);
    for page in ["/status.json", "/metrics"] {
        let body = http.admin().get(page).body;
        assert!(!body.contains(is_unsafe_character) && !body.contains("\\u00"), "{page}: {body:?}");
    }
    assert_log_clean(&http.log());
}

/// A plugin's behaviour when it is asked for its lists, and words of the log. `None` means that the plugin is loaded.
const MOODS: &[(&str, Option<&[&str]>)] = &[
    ("panic", Some(&["`lifecycle.describe` failed", "aborted"])),
    ("exit", Some(&["`lifecycle.describe` failed", "it exited instead of returning a result"])),
    ("spin", Some(&["`lifecycle.describe` failed"])),
    ("hang", Some(&["`lifecycle.describe` failed", "longer than"])),
    ("recurse", Some(&["`lifecycle.describe` failed"])),
    ("memory", Some(&["`lifecycle.describe` failed", "memory"])),
    ("many", Some(&["`tools.list-tools` failed"])),
    ("huge description", Some(&["`tools.list-tools` failed"])),
    ("long description", None),
    ("long texts", None),
    ("long name", None),
    ("slow pattern", None),
    ("failure", Some(&["`tools.list-tools` failed", "failure in a list begins"])),
];

/// Items that are left out of a plugin that is loaded, with words of the log.
const LEFT_OUT: &[(&str, &[&str])] = &[
    ("long uri", &["is left out: invalid URI", "4,096"]),
    ("deep schema", &["tool `deep`", "input-schema"]),
    ("broken schema", &["tool `broken`", "input-schema"]),
    ("strange name", &["tool `name begins"]),
    ("twice", &["tool `log` of plugin", "an earlier tool has the same name"]),
    ("remote schema", &["tool `remote`", "refers to another document"]),
];

#[test]
fn rejects_only_the_plugin_or_item_that_fails() {
    let mut config = String::from("[plugins.time]\nsource = \"@time@\"\n");
    let cases = MOODS.iter().copied().map(|(mood, words)| (mood, words.is_none(), words.unwrap_or_default()));
    let cases = cases.chain(LEFT_OUT.iter().map(|(mood, words)| (*mood, true, *words)));
    let cases: Vec<(&str, bool, &[&str])> = cases.collect();
    for (at, (mood, ..)) in cases.iter().enumerate() {
        let timeout = "2s";
        let cpu = "1s";
        config.push_str(&format!(
            "[plugins.m{at}]\nsource = \"{}\"\nconfig = {{ describes = \"{mood}\" }}\n[plugins.m{at}.limits]\ndescribe_timeout = \"{timeout}\"\ncpu_time = \"{cpu}\"\n",
            component("malformed").display()
        ));
    }
    let workspace = Workspace::new(&config);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let time = stdio.call("time_get_current_time", json!({ "timezone": "UTC" }));
    assert!(text(&time).contains("UTC"), "{time}");
    let tools = stdio.request_and_wait("tools/list", json!({})).to_string();
    let (_, status, log) = stdio.finish();
    assert!(status.success(), "{log}");
    assert_log_clean(&log);
    for (at, (mood, is_loaded, words)) in cases.iter().enumerate() {
        let is_there = tools.contains(&format!("\"m{at}_log\""));
        assert_eq!(is_there, *is_loaded, "{mood}: {log}");
        for word in *words {
            assert!(log.contains(word), "{mood}: `{word}` isn't in: {log}");
        }
    }
}
