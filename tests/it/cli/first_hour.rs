//! From an empty directory to a working tool: `new`, `call --plugin`, `call --url` and `client`, as documented.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use moongate_tests::{Http, Stdio, Workspace, component, project_root};
use serde_json::{Value, json};

use super::other_languages::publishes;

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}\n{}", utf8(&output.stdout), utf8(&output.stderr));
    utf8(&output.stdout)
}

/// The build directory of new projects. Their dependencies are kept between runs.
fn target_dir() -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("new-plugin")
}

/// `cargo` in a project outside the repository.
fn cargo(project: &Path, words: &[&str]) -> Output {
    let mut command = Command::new("cargo");
    command
        .args(words)
        .current_dir(project)
        .env("CARGO_TARGET_DIR", target_dir())
        .env("CARGO_BUILD_BUILD_DIR", target_dir()) // not in cargo's home
        .env_remove("RUSTFLAGS")
        .env("CARGO_NET_OFFLINE", "true");
    // The toolchain comes from the project's own file, as for its author.
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(name);
    }
    command.output().unwrap()
}

/// A new project with the repository's dependency versions, so that nothing is downloaded.
fn new_project(workspace: &Workspace, name: &str) -> PathBuf {
    let output = workspace.run(&["new", name, "--sdk", project_root().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let project = workspace.path().join(name);
    fs::copy(project_root().join("Cargo.lock"), project.join("Cargo.lock")).unwrap();
    project
}

#[test]
fn a_new_plugin_passes_its_tests_and_serves() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "word-count");
    succeeded(&cargo(&project, &["fmt", "--check"]));
    succeeded(&cargo(&project, &["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"]));
    succeeded(&cargo(&project, &["test", "--quiet"]));
    succeeded(&cargo(&project, &["build", "--quiet", "--release", "--target", "wasm32-wasip2"]));
    let file = target_dir().join("wasm32-wasip2/release/word_count.wasm");
    let file = file.to_str().unwrap();
    for tool in ["greet", "word_count_greet"] {
        let output = workspace.run(&["call", "--plugin", file, tool, "name=Ada"]);
        assert_eq!(succeeded(&output), "Hello, Ada!\n");
    }
    // The project's configuration expects the file in cargo's default build directory.
    let own = project.join("target/wasm32-wasip2/release");
    fs::create_dir_all(&own).unwrap();
    fs::copy(file, own.join("word_count.wasm")).unwrap();
    let config = fs::read_to_string(project.join("gateway.toml")).unwrap();
    let served = Workspace::new(&config.replace("target/", &format!("{}/target/", project.display())));
    let mut stdio = Stdio::initialized(&served, "2025-11-25");
    let tools = stdio.request_and_wait("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"][0]["name"], "word-count_greet");
    publishes(Path::new(file), "word-count");
}

#[test]
fn new_prints_next_steps_and_the_sdk_source() {
    let workspace = Workspace::new("");
    let output = workspace.run(&["new", "hello", "--sdk", project_root().to_str().unwrap()]);
    let out = utf8(&output.stdout);
    let err = utf8(&output.stderr);
    assert_eq!(out, "created `hello`: a plugin with the tool `greet` and its test\n");
    assert!(err.contains("the project uses the SDK in `") && err.contains("plugin-sdk`"), "{err}");
    let next: Vec<&str> = err.lines().skip_while(|line| *line != "next:").skip(1).map(str::trim).collect();
    assert_eq!(next.len(), 2, "{err}");
    assert_eq!(next[0], "cd hello && cargo test");
    assert!(next[1].ends_with("target/wasm32-wasip2/release/hello.wasm greet name=Ada"), "{err}");
    for file in [
        "Cargo.toml",
        "src/lib.rs",
        "README.md",
        ".gitignore",
        "rust-toolchain.toml",
        ".cargo/config.toml",
        "gateway.toml",
    ] {
        assert!(workspace.path().join("hello").join(file).is_file(), "{file}");
    }
}

#[test]
fn new_respects_cargo_target_dir() {
    let workspace = Workspace::new("");
    let words = ["new", "hello", "--sdk", "https://git.example/moongate"];
    let output = workspace.command(&words).env("CARGO_TARGET_DIR", "/all built").output().unwrap();
    let err = utf8(&output.stderr);
    let project = workspace.path().join("hello");
    assert!(err.contains("--plugin '/all built/wasm32-wasip2/release/hello.wasm' greet"), "{err}");
    let config = fs::read_to_string(project.join("gateway.toml")).unwrap();
    assert!(config.contains("source = \"/all built/wasm32-wasip2/release/hello.wasm\""), "{config}");
    let readme = fs::read_to_string(project.join("README.md")).unwrap();
    assert!(readme.contains("--plugin '/all built/wasm32-wasip2/release/hello.wasm' greet"), "{readme}");
}

#[test]
fn new_overwrites_nothing_and_suggests_an_alternative() {
    let workspace = Workspace::new("");
    workspace.write("taken/precious", "x");
    for (words, what) in [
        (&["new", "taken", "--sdk", "https://git.example/m"][..], "already exists"),
        (&["new", "gateway.toml"], "invalid plugin name"),
        (&["new", "match"], "reserved in Rust"),
        (&["new", "fine", "--sdk", "nowhere"], "no `moongate-sdk` in `nowhere`"),
        (&["new", "fine"], "isn't a release"),
    ] {
        let output = workspace.run(words);
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {err}");
        assert!(err.contains(what) && err.contains("\nhint: "), "{words:?}: {err}");
    }
    let left: Vec<_> = fs::read_dir(workspace.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(fs::read_dir(workspace.path().join("taken")).unwrap().count(), 1);
}

#[test]
fn a_component_file_gets_no_grants_and_a_bad_one_is_reported() {
    let workspace = Workspace::new("");
    let time = component("time");
    let call = |words: &[&str]| workspace.run(&[&["call", "--plugin"], words].concat());
    let time = time.to_str().unwrap();
    assert!(succeeded(&call(&[time, "get_current_time", "timezone=UTC"])).contains("\"UTC\""));
    let unknown = call(&[time, "get_curent_time"]);
    assert_eq!(unknown.status.code(), Some(5), "{unknown:?}");
    assert!(utf8(&unknown.stderr).contains("time_get_current_time"), "{unknown:?}");
    workspace.write("bad.wasm", "no component");
    for file in ["bad.wasm", "missing.wasm"] {
        let output = call(&[file, "x"]);
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        assert!(utf8(&output.stderr).contains(file), "{output:?}");
    }
    let state = call(&[component("stateful").to_str().unwrap(), "set", "key=a", "value=b", "--explain"]);
    assert!(utf8(&state.stderr).contains("state"), "{state:?}");
}

#[test]
fn call_reaches_a_running_gateway_by_url() {
    let http = Http::start(&Workspace::new(
        "[plugins.everything]\nsource = \"@everything@\"\nallow.client = [\"elicitation\"]\n",
    ));
    let url = format!("http://{}/mcp", http.address());
    let workspace = Workspace::new("");
    let call = |words: &[&str]| workspace.run(&[&["call", "--url", &url], words].concat());
    let text = succeeded(&call(&["everything_test_simple_text"]));
    assert!(text.contains("simple text"), "{text}");
    let annotated = succeeded(&call(&["everything_test_x_mcp_header", "region=Zürich", "level=3"]));
    assert!(annotated.contains("region=Zürich, level=3"), "{annotated}");
    let json = succeeded(&call(&["everything_test_image_content", "--format", "json"]));
    let document: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["content"][0]["type"], "image", "{document}");
    assert_eq!(call(&["everything_test_error_handling"]).status.code(), Some(5));
    let unknown = call(&["everything_test_simple_tex"]);
    assert_eq!(unknown.status.code(), Some(5), "{unknown:?}");
    assert!(utf8(&unknown.stderr).contains("everything_test_simple_text"), "{unknown:?}");
    let asks = call(&["everything_test_elicitation", "message=x"]);
    assert_eq!(asks.status.code(), Some(5), "{asks:?}");
    assert!(utf8(&asks.stderr).contains("`user` asks the user"), "{asks:?}");
}

#[test]
fn exit_codes_distinguish_no_gateway_from_a_missing_token() {
    let workspace = Workspace::new("");
    // The listener closes each connection, and keeps other programs from taking the port.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let hangs_up = std::thread::spawn(move || drop(listener.accept()));
    let output = workspace.run(&["call", "--url", &format!("http://{address}/mcp"), "x"]);
    hangs_up.join().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    for bad in ["127.0.0.1:8931", "ftp://127.0.0.1/mcp", "http://user:hunter2@127.0.0.1:1/mcp"] {
        let usage = workspace.run(&["call", "--url", bad, "x"]);
        assert_eq!(usage.status.code(), Some(2), "{usage:?}");
    }
    let token = "an-unguessable-token";
    let secured = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[http.auth]\ntokens = [{ name = \"me\", token = { file = \"token\" } }]\n",
    );
    secured.write("token", token);
    let http = Http::start(&secured);
    let words =
        ["call", "--url", &format!("http://{}/mcp", http.address()), "time_get_current_time", "timezone=UTC"];
    let refused = workspace.run(&words);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(utf8(&refused.stderr).contains("MOONGATE_TOKEN"), "{refused:?}");
    // A URL without the path finds no endpoint, which isn't a tool or token error.
    let elsewhere = ["call", "--url", &format!("http://{}/", http.address()), "x"];
    let elsewhere = workspace.command(&elsewhere).env("MOONGATE_TOKEN", token).output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(4), "{elsewhere:?}");
    assert!(utf8(&elsewhere.stderr).contains("the path of the endpoint is `/mcp`"), "{elsewhere:?}");
    let allowed = workspace.command(&words).env("MOONGATE_TOKEN", token).output().unwrap();
    assert!(succeeded(&allowed).contains("UTC"));
}

/// The URL of a fake gateway that answers one request with this response.
fn answering(status: &'static str, body: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let _ = stream.read(&mut head);
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        let _ = stream.write_all(answer.as_bytes());
    });
    format!("http://{address}/mcp")
}

#[test]
fn a_hostile_gateway_cannot_forge_output() {
    let evil = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no\nhint: run this\u001b]0;x"}}"#;
    let call = |url: &str| Workspace::new("").run(&["call", "--url", url, "x"]);
    let output = call(&answering("200 OK", evil));
    let err = utf8(&output.stderr);
    assert!(err.contains(r"no\nhint: run this\u{1b}]0;x") && err.matches("\nhint: ").count() == 0, "{err:?}");
    let refused = r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"this origin isn't allowed"}}"#;
    assert_eq!(call(&answering("403 Forbidden", refused)).status.code(), Some(5));
    assert_eq!(call(&answering("200 OK", "<html>")).status.code(), Some(4));
}

#[test]
fn prints_a_snippet_with_absolute_paths_for_each_host() {
    let workspace = Workspace::with_plugin("time");
    for host in ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "inspector"] {
        let output = workspace.run(&["client", host]);
        let place = utf8(&output.stderr);
        let text = succeeded(&output);
        assert!(text.contains(workspace.config().to_str().unwrap()), "{host}: {text}");
        assert!(place.starts_with("note: "), "{host}: {place}");
        let json = succeeded(&workspace.run(&["client", host, "--format", "json"]));
        let document: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(document["text"], text, "{host}");
    }
    let http = succeeded(&workspace.run(&["client", "claude-code", "--url", "http://gate.example/mcp"]));
    assert_eq!(http, "claude mcp add --transport http moongate http://gate.example/mcp\n");
    assert_eq!(workspace.run(&["client", "claude-desktop", "--http"]).status.code(), Some(2));
    assert_eq!(workspace.run(&["client", "nobody"]).status.code(), Some(2));
}

#[test]
fn client_names_only_the_variables_that_are_needed() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.config]\nzone = \"${ZONE:-UTC}\"\n",
    );
    let notes = |name: &str, value: &str| {
        let mut command = workspace.command(&["client", "cursor"]);
        let output = command.env_remove("MOONGATE_CACHE_DIR").env(name, value).output().unwrap();
        utf8(&output.stderr)
    };
    let named = notes("ZONE", "Asia/Tokyo");
    assert!(named.contains("uses the environment variables ZONE;"), "{named}");
    let none = notes("XDG_CACHE_HOME", "/nowhere");
    assert!(!none.contains("environment"), "{none}");
}

#[test]
fn client_names_secrets_without_needing_them() {
    let workspace = Workspace::new(
        "[http.auth]\ntokens = [{ name = \"ci\", token = { env = \"UNSET_TOKEN\" } }]\n\
         [plugins.time]\nsource = \"@time@\"\nconfig.key = { env = \"UNSET_KEY\" }\n\
         [plugins.fetch]\nsource = \"@fetch@\"\nallow.http = [\"https://example.com\"]\n\
         allow.credentials = [{ origin = \"https://example.com\", headers = { authorization = { env = \"UNSET_API\", prefix = \"Bearer \" } } }]\n",
    );
    for host in ["claude-desktop", "claude-code", "cursor", "vscode", "codex", "inspector"] {
        let output = workspace.run(&["client", host]);
        let printed = utf8(&output.stdout) + &utf8(&output.stderr);
        assert!(output.status.success(), "{host}: {printed}");
        assert!(printed.contains("UNSET_KEY") && printed.contains("UNSET_API"), "{host}: {printed}");
        assert!(!printed.contains("UNSET_TOKEN") && !printed.contains("0123456789"), "{host}: {printed}");
    }
}

#[test]
fn client_suggests_a_similar_variable() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.config]\nzone = \"${MY_TIMEZON}\"\n",
    );
    let mut command = workspace.command(&["client", "cursor"]);
    let output = command.env("MY_TIMEZONE", "UTC").output().unwrap();
    let stderr = utf8(&output.stderr);
    assert!(stderr.contains("did you mean `MY_TIMEZONE`, which is set?"), "{stderr}");
}

/// The command in a snippet starts a server that answers.
#[test]
fn the_command_in_a_snippet_serves() {
    let workspace = Workspace::with_plugin("time");
    let text = succeeded(&workspace.run(&["client", "cursor"]));
    let document: Value = serde_json::from_str(&text).unwrap();
    let server = &document["mcpServers"]["moongate"];
    let words: Vec<&str> = server["args"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(server["command"], moongate_tests::gateway_binary().to_str().unwrap());
    let mut stdio = Stdio::spawn_initialized(workspace.command(&words), "2025-11-25");
    let tools = stdio.request_and_wait("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 2, "{tools}");
}
