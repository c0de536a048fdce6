//! Missing grants are logged with the line that grants them, and shown to callers except for what only operators may know.

use super::*;

/// The zoo with these lines in its `allow` table.
fn zoo(allow: &str) -> Workspace {
    Workspace::new(&format!("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\n{allow}\n"))
}

/// What `call --explain` says of a call.
fn explained(workspace: &Workspace, tool: &str, arguments: &Value) -> String {
    said(workspace, &["call", tool, "--json", &arguments.to_string(), "--explain"])
}

const NOTES: &str = "dirs = [{ host = \"notes\", guest = \"/notes\" }]";

#[test]
fn a_path_without_a_granted_directory_is_told_with_the_line_that_grants_one() {
    let (nothing, notes) = (zoo(""), zoo(NOTES));
    notes.write("notes/a.txt", "hello");
    let open = "{ host = \"…\", guest = \"…\", mode = \"ro\" }";
    let host = notes.path().join("notes").display().to_string();
    let there = format!("{{ host = {host:?}, guest = \"/notes\", mode = \"ro\" }}");
    let needed = |named: bool| json!({ "path": "/data/x.txt", "named": named });
    for (workspace, tool, arguments, wanted, line) in [
        // One that succeeds all the same, and one that fails.
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
        let told = explained(workspace, tool, &arguments);
        let lacked = format!("missing\n  {wanted}\n");
        let pasted = format!("  [plugins.zoo.allow]\n  {line}\nreplace ");
        assert!(told.contains(&lacked) && told.contains(&pasted), "{tool}: {told}");
    }
}

#[test]
fn nothing_is_told_of_paths_where_none_was_looked_for_or_it_is_granted() {
    let (nothing, notes) = (zoo(""), zoo(NOTES));
    notes.write("notes/a.txt", "hello");
    for (workspace, tool, arguments) in [
        (&nothing, "zoo_echo", json!({ "text": "/data/x" })),
        (&nothing, "zoo_error_result", json!({ "message": "`/data/x` isn't there" })),
        (&nothing, "zoo_panic", json!({})),
        // Python looks for its sources when it shows a traceback; this is what it shows.
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
        let told = explained(workspace, tool, &arguments);
        assert!(!told.contains("lacked") && !told.contains("was denied"), "{tool}: {told}");
    }
}

#[test]
fn paths_without_a_grant_are_logged_once_if_calls_fail_and_no_caller_hears_of_it() {
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
    let told = "plugin `zoo` was denied access to a file or directory; to allow it, add `dirs = [{ host = \"…\", guest = \"…\", \
                mode = \"ro\" }]` to `[plugins.zoo.allow]`";
    assert!(line.contains("WARN") && line.contains(told), "{line}");
}

#[test]
fn a_caller_hears_of_a_refused_request_what_the_operator_hears() {
    let fetch = |http: &str| {
        Workspace::new(&format!(
            "[plugins.fetch]\nsource = \"@fetch@\"\n[plugins.fetch.allow]\nhttp = [{http}]\n"
        ))
    };
    for (granted, wanted, line) in [
        (
            "\"https://moongate.example/a\"",
            "GET https://moongate.example/robots.txt",
            "http = [{ url = \"https://moongate.example/robots.txt\", methods = [\"GET\"] }]",
        ),
        ("", "GET https://moongate.example", "http = [\"https://moongate.example\"]"),
    ] {
        let workspace = fetch(granted);
        let arguments = json!({ "url": "https://moongate.example/a/b" });
        let told = explained(&workspace, "fetch_fetch", &arguments);
        assert!(told.contains(&format!("missing\n  {wanted}\n")) && told.contains(line), "{told}");
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        let answer = stdio.call("fetch_fetch", arguments);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let content = answer["result"]["content"].as_array().unwrap();
        let heard: Vec<_> = content.iter().filter_map(|block| block["text"].as_str()).collect();
        assert_eq!(heard.join("\n").matches(&format!("`{line}`")).count(), 1, "{answer}");
        if !granted.is_empty() {
            let sentence = format!(
                "moongate: plugin `fetch` was denied {wanted}; to allow it, add `{line}` to `[plugins.fetch.allow]` in `gateway.toml`"
            );
            assert_eq!(heard.last(), Some(&&*sentence), "{answer}");
        }
        let (_, _, log) = stdio.finish();
        let logged = format!(
            "plugin `fetch` was denied {wanted}; to allow it, add `{line}` to `[plugins.fetch.allow]`"
        );
        assert!(log.contains(&logged), "{log}");
    }
}

#[test]
fn the_networks_of_other_grants_are_the_operators_alone() {
    let workspace = Workspace::new(
        "[plugins.fetch]\nsource = \"@fetch@\"\n[plugins.fetch.allow]\n\
         http = [{ url = \"https://inner.example/a\", networks = [\"10.1.2.0/24\"] }]\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("fetch_fetch", json!({ "url": "https://inner.example/a/b" }));
    let heard = answer["result"]["content"].to_string();
    let sentence =
        "was denied GET https://inner.example/robots.txt; the gateway's log shows the line that allows it";
    assert!(heard.contains(sentence) && !heard.contains("10.1.2"), "{heard}");
    let (_, _, log) = stdio.finish();
    assert!(
        log.contains("networks = [\\\"10.1.2.0/24\\\"]") || log.contains("networks = [\"10.1.2.0/24\"]"),
        "{log}"
    );
}

#[test]
fn a_question_without_a_grant_names_the_grant_and_what_the_client_lacks() {
    let workspace = zoo("");
    let why = "asking the client for elicitation is not granted; to allow it, add `client = [\"elicitation\"]` to \
               `[plugins.zoo.allow]`";
    let told = explained(&workspace, "zoo_ask_name", &json!({}));
    assert!(told.contains(&format!("error: plugin `zoo`: {why}\n")), "{told}");
    let lacked = "missing\n  to ask the client for elicitation\nto allow it, add to gateway.toml (extend existing lists):\n  [plugins.zoo.allow]\n  client = [\"elicitation\"]\n";
    assert!(told.contains(lacked), "{told}");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("zoo_ask_name", json!({}));
    assert_eq!(text(&answer), format!("plugin `zoo`: {why}, but this client doesn't offer elicitation"));
    let (_, _, log) = stdio.finish();
    assert!(log.contains(why), "{log}");
}
