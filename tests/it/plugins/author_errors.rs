//! Mistakes of plugins have the same errors in Rust, Python, JavaScript and C. The table in docs/plugins.md lists them.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use moongate_tests::{Stdio, TestServer, Workspace, build_in_c, project_root, text};
use serde_json::{Value, json};

/// The guests, one in each language, with the same tools.
const LANGUAGES: [&str; 4] = ["misuse", "misuse-python", "misuse-javascript", "misuse-c"];

/// Compiles the interpreters once into the cache of all tests.
static COMPILED: LazyLock<()> = LazyLock::new(|| {
    let output = all("", "").run(&["check"]);
    assert!(output.status.success(), "{output:?}");
});

/// The guest in C. The gateway's own command builds it.
static IN_C: LazyLock<PathBuf> =
    LazyLock::new(|| build_in_c("misuse-c", &project_root().join("tests/guests/misuse-c/src/plugin.c")));

/// The component of a guest, in a configuration.
fn source(name: &str) -> String {
    if name == "misuse-c" { IN_C.display().to_string() } else { format!("@{name}@") }
}

/// All guests with these tables.
fn all(allow: &str, limits: &str) -> Workspace {
    let tables = LANGUAGES.map(|name| {
        let source = source(name);
        format!(
            "[plugins.{name}]\nsource = \"{source}\"\n[plugins.{name}.allow]\n{allow}\n[plugins.{name}.limits]\n{limits}\n"
        )
    });
    Workspace::new(&tables.concat())
}

/// Makes the same call in each language; all fail, with a message that contains this text. Returns the gateway's log.
#[track_caller]
fn fails_alike(workspace: &Workspace, tool: &str, arguments: &Value, expected: &str) -> String {
    LazyLock::force(&COMPILED);
    let mut stdio = Stdio::initialized(workspace, "2025-11-25");
    for language in LANGUAGES {
        let answer = stdio.call(&format!("{language}_{tool}"), arguments.clone());
        let message = match &answer["error"]["message"] {
            Value::String(message) => message.clone(),
            _ => {
                assert_eq!(answer["result"]["isError"], true, "{language}: {answer}");
                text(&answer).to_owned()
            }
        };
        assert!(message.contains(expected), "{language}: `{expected}` isn't in: {message}");
    }
    stdio.finish().2
}

#[test]
fn wrong_arguments_fail_alike() {
    let workspace = all("", "");
    for (arguments, expected) in [
        (json!({ "count": "one" }), "`count` must be of type integer"),
        (json!({ "count": -1 }), "`count` must be at least 0"),
        (json!({}), "`count` is missing"),
        (json!({ "count": 1, "town": "Oslo" }), "`town`"),
    ] {
        fails_alike(&workspace, "typed", &arguments, expected);
    }
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for language in LANGUAGES {
        let answer = stdio.call(&format!("{language}_typed"), json!({ "count": 1, "city": null }));
        assert_eq!(text(&answer), "1 ", "{language}: {answer}");
    }
}

#[test]
fn missing_grants_fail_alike() {
    let workspace = all("", "");
    fails_alike(&workspace, "state", &json!({}), "state isn't granted; an operator can allow it");
    let request = json!({ "url": "https://rates.example/x?key=secret" });
    let expected = "the request GET https://rates.example isn't granted; an operator can allow it";
    fails_alike(&workspace, "request", &request, expected);
    let file = json!({ "path": "/etc/hostname" });
    fails_alike(&workspace, "file", &file, "`/etc/hostname`: No such file or directory");
    let setting = "missing `unit` in `[plugins.<name>.config]` of `gateway.toml`";
    fails_alike(&workspace, "setting", &json!({}), setting);
    fails_alike(&workspace, "ask", &json!({}), "asking the client for elicitation is not granted");
}

#[test]
fn large_data_fails_alike() {
    let server = TestServer::start();
    let url = server.origin();
    let allow = format!("state = true\nhttp = [{{ url = \"{url}\", networks = [\"127.0.0.0/8\"] }}]");
    let workspace = all(&allow, "state = \"64KiB\"\ntransfer = \"64KiB\"");
    let expected = format!("the response from `{url}` is larger than 1000 bytes");
    fails_alike(&workspace, "request", &json!({ "url": server.url("/bytes/1001") }), &expected);
    fails_alike(&workspace, "store", &json!({ "bytes": 100_000 }), "limits.");
    fails_alike(&workspace, "large", &json!({ "bytes": 100_000 }), "limits.transfer");
}

#[test]
fn updates_are_repeated_if_the_value_changes_meanwhile() {
    for language in LANGUAGES {
        let source = source(language);
        let table = format!("[plugins.{language}]\nsource = \"{source}\"\nallow.state = true\n");
        let workspace = Workspace::new(&table);
        LazyLock::force(&COMPILED);
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        let answer = stdio.call(&format!("{language}_contend"), json!({}));
        assert_eq!(text(&answer), "11", "{language}: {answer}");
    }
}

#[test]
fn broken_servers_fail_alike() {
    let server = TestServer::start();
    let url = server.origin();
    let workspace = all(&format!("http = [{{ url = \"{url}\", networks = [\"127.0.0.0/8\"] }}]"), "");
    let truncated = format!("invalid response from `{url}`: truncated");
    fails_alike(&workspace, "request", &json!({ "url": server.url("/short") }), &truncated);
    fails_alike(
        &workspace,
        "request",
        &json!({ "url": "ftp://rates.example" }),
        "invalid URL `ftp://rates.example",
    );
}

#[test]
fn crashes_and_wrong_results_fail_alike() {
    let workspace = all("", "");
    let log = fails_alike(&workspace, "crash", &json!({}), "crashed");
    for language in LANGUAGES {
        let mark = format!("plugin={language}");
        let reports = |line: &str| line.contains("a bug in the plugin") && line.contains(&mark);
        assert!(log.lines().any(reports), "{language}: {log}");
    }
    let javascript =
        fs::read_to_string(project_root().join("tests/guests/misuse-javascript/src/plugin.js")).unwrap();
    let line = 1 + javascript.lines().position(|line| line.contains("\"crash\"")).unwrap();
    // Chained calls are one line of the bundle.
    let place = format!("src/plugin.js:{line}\"");
    for file in ["src/lib.rs", "plugin.py", &place, "src/plugin.c"] {
        assert!(log.contains(file), "`{file}` isn't in: {log}");
    }
    let mut reports = log.lines().filter(|line| line.contains("the plugin crashed;"));
    assert!(reports.all(|line| !line.contains("RUST_BACKTRACE")), "{log}");
    fails_alike(&workspace, "wrong", &json!({}), "`bytes` must be of type integer, not string");
}

#[test]
fn documentation_lists_the_errors() {
    let page = fs::read_to_string(project_root().join("docs/plugins.md")).unwrap();
    for message in [
        "state isn't granted; an operator can allow it",
        "the request GET https://rates.example isn't granted; an operator can allow it",
        "`/etc/hostname`: No such file or directory",
        "missing `unit` in `[plugins.<name>.config]` of `gateway.toml`",
        "is larger than 1000 bytes",
    ] {
        assert!(page.contains(message), "{message}");
    }
}
