//! Missing grants are logged with the line to add, and reported to callers without details that only operators may see.

use super::*;

/// The zoo with these lines in its `allow` table.
fn zoo(allow: &str) -> Workspace {
    Workspace::new(&format!("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\n{allow}\n"))
}

/// The stderr of `call --explain`.
fn explained(workspace: &Workspace, tool: &str, arguments: &Value) -> String {
    stderr_of(workspace, &["call", tool, "--json", &arguments.to_string(), "--explain"])
}

const NOTES: &str = "dirs = [{ host = \"notes\", guest = \"/notes\" }]";

#[test]
fn reports_a_path_outside_grants_with_the_line_to_add() {
    let nothing = zoo("");
    let notes = zoo(NOTES);
    notes.write("notes/a.txt", "hello");
    let open = "{ host = \"…\", guest = \"…\", mode = \"ro\" }";
    let host = notes.path().join("notes").display().to_string();
    let there = format!("{{ host = {host:?}, guest = \"/notes\", mode = \"ro\" }}");
    let needed = |named: bool| json!({ "path": "/data/x.txt", "named": named });
    for (workspace, tool, arguments, wanted, line) in [
        // One call that still succeeds, and one that fails.
        (
            &nothing,
            "zoo_read_file",
            json!({ "path": "/data/x.txt" }),
            "perhaps access to a file or directory",
            format!("dirs = [{open}]"),
        ),
        (
            &nothing,
            "zoo_need_file",
            needed(true),
            "access to a file or directory",
            format!("dirs = [{open}]"),
        ),
        (
            &notes,
            "zoo_need_file",
            needed(true),
            "access to a file or directory outside `/notes`",
            format!("dirs = [{there}, {open}]"),
        ),
        (
            &notes,
            "zoo_need_file",
            needed(false),
            "access to a file or directory outside `/notes`",
            format!("dirs = [{there}, {open}]"),
        ),
    ] {
        let stderr = explained(workspace, tool, &arguments);
        let lacked = format!("missing\n  {wanted}\n");
        let pasted = format!("  [plugins.zoo.allow]\n  {line}\nreplace ");
        assert!(stderr.contains(&lacked) && stderr.contains(&pasted), "{tool}: {stderr}");
    }
}

#[test]
fn reports_no_grant_for_granted_or_unopened_paths() {
    let nothing = zoo("");
    let notes = zoo(NOTES);
    notes.write("notes/a.txt", "hello");
    for (workspace, tool, arguments) in [
        (&nothing, "zoo_echo", json!({ "text": "/data/x" })),
        (&nothing, "zoo_error_result", json!({ "message": "`/data/x` isn't there" })),
        (&nothing, "zoo_panic", json!({})),
        // Python tries to open its sources for a traceback; this is such a traceback.
        (
            &nothing,
            "zoo_last_words",
            json!({ "text": "  File \"/0/app.py\", line 1, in a\nKeyError: 'a'\n", "look": "/0/app.py" }),
        ),
        (&notes, "zoo_need_file", json!({ "path": "/notes/a.txt", "named": true })),
        (&notes, "zoo_need_file", json!({ "path": "/notes/b.txt", "named": true })),
        (&notes, "zoo_need_file", json!({ "path": "/notes/b.txt", "named": false })),
        (&notes, "zoo_list_dirs", json!({})),
    ] {
        let stderr = explained(workspace, tool, &arguments);
        assert!(!stderr.contains("missing\n") && !stderr.contains("was denied"), "{tool}: {stderr}");
    }
}

#[test]
fn logs_missing_directory_grants_once_and_only_to_the_operator() {
    let workspace = zoo("");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.call("zoo_read_file", json!({ "path": "/data/other" }));
    for path in ["/data/x", "/data/x", "/etc/passwd"] {
        let answer = stdio.call("zoo_need_file", json!({ "path": path, "named": true }));
        assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1, "{answer}");
    }
    let (_, _, log) = stdio.finish();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("was denied")).collect();
    let [line] = lines.as_slice() else { panic!("{log}") };
    let expected = "plugin `zoo` was denied access to a file or directory; to allow it, add `dirs = [{ host = \"…\", guest = \"…\", \
                mode = \"ro\" }]` to `[plugins.zoo.allow]`";
    assert!(line.contains("WARN") && line.contains(expected), "{line}");
}

#[test]
fn reports_a_denied_request_to_caller_and_operator() {
    let fetch = |http: &str| {
        Workspace::new(&format!(
            "[plugins.fetch]\nsource = \"@fetch@\"\n[plugins.fetch.allow]\nhttp = [{http}]\n"
        ))
    };
    for (granted, wanted, line, change) in [
        (
            "\"https://moongate.example/a\"",
            "GET https://moongate.example/robots.txt",
            "http = [{ url = \"https://moongate.example/robots.txt\", methods = [\"GET\"] }]",
            "add `{ url = \"https://moongate.example/robots.txt\", methods = [\"GET\"] }` to `http` in",
        ),
        (
            "",
            "GET https://moongate.example",
            "http = [\"https://moongate.example\"]",
            "add `http = [\"https://moongate.example\"]` to",
        ),
    ] {
        let workspace = fetch(granted);
        let arguments = json!({ "url": "https://moongate.example/a/b" });
        let stderr = explained(&workspace, "fetch_fetch", &arguments);
        assert!(stderr.contains(&format!("missing\n  {wanted}\n")) && stderr.contains(line), "{stderr}");
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        let answer = stdio.call("fetch_fetch", arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let content = answer["result"]["content"].as_array().unwrap();
        let texts: Vec<_> = content.iter().filter_map(|block| block["text"].as_str()).collect();
        let all = texts.join("\n");
        assert_eq!(
            all.matches(&format!("{wanted} ")).count() + all.matches(&format!("{wanted};")).count(),
            1,
            "{answer}"
        );
        assert!(all.contains("an operator can allow it") && !shows_a_grant(&answer), "{answer}");
        if !granted.is_empty() {
            let sentence = format!("moongate: plugin `fetch` was denied {wanted}; an operator can allow it");
            assert_eq!(texts.last(), Some(&&*sentence), "{answer}");
        }
        let (_, _, log) = stdio.finish();
        let logged =
            format!("plugin `fetch` was denied {wanted}; to allow it, {change} `[plugins.fetch.allow]`");
        assert!(log.contains(&logged), "{log}");
    }
}

#[test]
fn hides_networks_of_other_grants_from_callers() {
    let workspace = Workspace::new(
        "[plugins.fetch]\nsource = \"@fetch@\"\n[plugins.fetch.allow]\n\
         http = [{ url = \"https://inner.example/a\", networks = [\"10.1.2.0/24\"] }]\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("fetch_fetch", json!({ "url": "https://inner.example/a/b" }));
    let texts = answer["result"]["content"].to_string();
    let sentence = "was denied GET https://inner.example/robots.txt; an operator can allow it";
    assert!(texts.contains(sentence) && !texts.contains("10.1.2"), "{texts}");
    let (_, _, log) = stdio.finish();
    assert!(
        log.contains("networks = [\\\"10.1.2.0/24\\\"]") || log.contains("networks = [\"10.1.2.0/24\"]"),
        "{log}"
    );
}

#[test]
fn reports_missing_grant_and_capability_of_a_question() {
    let workspace = zoo("");
    let why = "asking the client for elicitation is not granted; an operator can allow it";
    let logged = "asking the client for elicitation is not granted; to allow it, add `client = [\"elicitation\"]` to \
                  `[plugins.zoo.allow]`";
    let stderr = explained(&workspace, "zoo_ask_name", &json!({}));
    assert!(stderr.contains(&format!("error: plugin `zoo`: {why}\n")), "{stderr}");
    let lacked = "missing\n  to ask the client for elicitation\nto allow it, add to gateway.toml (extend existing lists):\n  [plugins.zoo.allow]\n  client = [\"elicitation\"]\n";
    assert!(stderr.contains(lacked), "{stderr}");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("zoo_ask_name", json!({}));
    assert_eq!(text(&answer), format!("plugin `zoo`: {why}, but this client doesn't offer elicitation"));
    let (_, _, log) = stdio.finish();
    assert!(log.contains(logged), "{log}");
}

/// Reports whether an answer contains a part of a line that grants something, or names the file with the grants.
fn shows_a_grant(answer: &Value) -> bool {
    let text = answer.to_string().replace("\\\"", "\"");
    [
        "gateway.toml",
        ".allow]",
        "http = [",
        "dirs = [",
        "env = [",
        "client = [",
        "state = true",
        "networks = ",
    ]
    .iter()
    .any(|part| text.contains(part))
}

/// A model that can edit files could add a line that it reads in an answer.
#[test]
fn callers_never_read_a_line_that_grants_something() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\nlimits = { requests = 1 }\n[plugins.zoo.allow]\n\
         dirs = [{ host = \"notes\", guest = \"/notes\" }, { host = \"/etc\", guest = \"/settings\" }]\n\
         [plugins.stateful]\nsource = \"@stateful@\"\n[plugins.memory]\nsource = \"@memory@\"\n\
         [plugins.fetch]\nsource = \"@fetch@\"\nallow.http = [\"http://localhost:9\"]\n",
    );
    workspace.write("notes/a.txt", "hello");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.request_and_wait("logging/setLevel", json!({ "level": "debug" }));
    let requests = [
        ("tools/call", "zoo_need_file", json!({ "path": "/etc/passwd", "named": true })),
        ("tools/call", "zoo_need_file", json!({ "path": "/settings/passwd", "named": true })),
        ("tools/call", "zoo_write_file", json!({ "path": "/settings/moongate-test", "text": "x" })),
        ("tools/call", "zoo_write_file", json!({ "path": "/notes/a.txt", "text": "x" })),
        ("tools/call", "zoo_http_request", json!({ "url": "https://moongate.example/", "method": "GET" })),
        ("tools/call", "zoo_http_request", json!({ "url": "http://10.0.0.1/", "method": "GET" })),
        ("tools/call", "zoo_ask_name", json!({})),
        ("tools/call", "zoo_echo_context", json!({})),
        ("prompts/get", "zoo_asking_prompt", json!({})),
        ("tools/call", "stateful_set", json!({ "key": "a", "value": "b" })),
        ("tools/call", "memory_read_graph", json!({})),
        ("tools/call", "fetch_fetch", json!({ "url": "https://moongate.example/" })),
        ("tools/call", "fetch_fetch", json!({ "url": "http://localhost:9/" })),
        ("tools/call", "fetch_fetch", json!({ "url": "http://10.0.0.1/" })),
    ];
    for (method, name, arguments) in requests {
        let answer = stdio.request_and_wait(method, json!({ "name": name, "arguments": arguments }));
        assert!(!shows_a_grant(&answer), "{name}: {answer}");
    }
    let (messages, _, log) = stdio.finish();
    for message in &messages {
        assert!(!shows_a_grant(message), "{message}");
    }
    // The operator reads the lines, but none for a system directory.
    let lines = "to `[plugins.zoo.allow]`";
    assert!(log.contains(lines) && log.contains("no line is suggested"), "{log}");
    let suggests_etc = |line: &str| line.contains("to allow it") && line.contains("\"/etc");
    assert!(!log.replace("\\\"", "\"").lines().any(suggests_etc), "{log}");
}
