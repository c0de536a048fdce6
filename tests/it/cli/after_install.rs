//! The first days after the quick start: mistakes in `init`, `add`, `call` and `client`, and what the commands say about
//! them.

use std::fs;
use std::path::Path;

use moongate_generated::Plugin;
use moongate_tests::{Http, TestAuthority, Workspace};
use serde_json::json;

use super::install::Home;

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The notes of a command that succeeds.
#[track_caller]
fn notes(home: &Home, words: &[&str]) -> String {
    let output = home.run(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    utf8(&output.stderr)
}

/// The message of a command that fails with this code.
#[track_caller]
fn failure(home: &Home, words: &[&str], code: i32) -> String {
    let output = home.run(words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
    utf8(&output.stderr)
}

#[test]
fn every_backup_of_a_hosts_file_is_kept() {
    let home = Home::new();
    home.succeed(&["init"]);
    for (host, file, comment) in [("cursor", ".cursor/mcp.json", "//"), ("codex", ".codex/config.toml", "#")]
    {
        let path = home.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let backup = |ending: &str| fs::read_to_string(home.path(&format!("{file}.moongate-backup{ending}")));
        let original = format!("{comment} mine\n");
        fs::write(&path, &original).unwrap();
        assert!(notes(&home, &["client", host, "--write"]).contains(".moongate-backup`"));
        let edited = format!("{}{comment} edited\n", fs::read_to_string(&path).unwrap());
        fs::write(&path, &edited).unwrap();
        assert!(notes(&home, &["client", host, "--write", "--name", "b"]).contains(".moongate-backup.2`"));
        assert_eq!((backup("").unwrap(), backup(".2").unwrap()), (original.clone(), edited), "{host}");
        // The same content needs no other copy.
        fs::write(&path, &original).unwrap();
        assert!(notes(&home, &["client", host, "--write"]).contains(".moongate-backup`"));
        assert!(backup(".3").is_err(), "{host}");
    }
}

#[test]
fn client_write_names_the_servers_that_plugins_replace() {
    let home = Home::new();
    home.succeed(&["add", "memory", "--yes"]);
    home.succeed(&["add", "time", "--yes"]);
    let json = r#"{ "mcpServers": {
        "graph": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory@2025.9.25"] },
        "clock": { "command": "uvx", "args": ["mcp-server-time"] },
        "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/srv"] }
    } }"#;
    let toml = "[mcp_servers.graph]\ncommand = \"npx\"\nargs = [\"-y\", \"@modelcontextprotocol/server-memory\"]\n\
                [mcp_servers.clock]\ncommand = \"mcp-server-time\"\n";
    for (host, file, text) in [("cursor", ".cursor/mcp.json", json), ("codex", ".codex/config.toml", toml)] {
        fs::create_dir_all(home.path(file).parent().unwrap()).unwrap();
        fs::write(home.path(file), text).unwrap();
        let printed = notes(&home, &["client", host, "--write"]);
        for (package, plugin) in
            [("@modelcontextprotocol/server-memory", "memory"), ("mcp-server-time", "time")]
        {
            let note = format!("starts `{package}`; the plugin `{plugin}` replaces it");
            assert!(printed.contains(&note), "{host}: {printed}");
        }
        assert!(!printed.contains("server-filesystem"), "{printed}");
        assert_eq!(notes(&home, &["client", host, "--write", "--quiet"]), "");
    }
}

#[test]
fn notes_of_client_are_about_what_the_configuration_needs() {
    let home = Home::new();
    home.succeed(&["init"]);
    let printed = |words: &[&str]| {
        let output = home.command(words).env("SSL_CERT_FILE", home.path("all.pem")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        utf8(&output.stderr)
    };
    let client = |host: &str, options: &[&str]| printed(&[&["client", host], options].concat());
    assert!(!client("cursor", &[]).contains("SSL_CERT_FILE"));
    let authority = TestAuthority::new();
    let server = authority.server();
    for (file, text) in
        [("all.pem", authority.certificate()), ("tls.pem", &server.certificate), ("tls.key", &server.key)]
    {
        fs::write(home.path(file), text).unwrap();
    }
    let config = "version = 1\ngateway.ca_file = \"${SSL_CERT_FILE}\"\n\
                  http.tls = { certificate = \"tls.pem\", key = \"tls.key\" }\n";
    fs::write(home.path("gateway.toml"), config).unwrap();
    assert!(client("cursor", &[]).contains("SSL_CERT_FILE"));
    assert!(!client("cursor", &[]).contains("NODE_EXTRA_CA_CERTS"));
    assert!(client("cursor", &["--http"]).contains("NODE_EXTRA_CA_CERTS"));
    assert!(client("vscode", &["--http", "--write"]).contains("NODE_EXTRA_CA_CERTS"));
    assert!(!client("codex", &["--http"]).contains("NODE_EXTRA_CA_CERTS"));
}

#[test]
fn init_names_the_configuration_that_it_hides() {
    let home = Home::new();
    let user_file = home.path(".config/moongate/gateway.toml");
    assert!(!notes(&home, &["init", "--config", user_file.to_str().unwrap()]).contains("instead of"));
    let printed = notes(&home, &["init"]);
    assert!(printed.contains(&format!("instead of `{}`", user_file.display())), "{printed}");
}

#[test]
fn errors_about_unknown_tools_name_the_configuration() {
    let home = Home::new();
    home.succeed(&["init"]);
    let file = home.path("gateway.toml").canonicalize().unwrap();
    let named = format!("the configuration is `{}`", file.display());
    for (words, code) in [(&["call", "filesystem_read_text_file"][..], 5), (&["call"], 2)] {
        let message = failure(&home, words, code);
        assert!(message.contains(&named), "{message}");
    }
    for words in [&["list"][..], &["list", "tools"]] {
        let printed = notes(&home, words);
        assert!(printed.contains(&named), "{printed}");
    }
    // A file that was passed needs no note.
    assert!(!failure(&home, &["call", "x", "--config", "gateway.toml"], 5).contains(&named));
}

#[test]
fn the_name_of_a_plugin_instead_of_a_tool_lists_its_tools() {
    let workspace = Workspace::new("[plugins.memory]\nsource = \"builtin:memory\"\n");
    let http = Http::start(&workspace);
    let url = format!("http://{}/mcp", http.address());
    for (words, message) in [
        (&["call", "memory"][..], "`memory` is a plugin, not a tool"),
        (&["call", "memory", "--url", &url], "no tool is called `memory`, but some names start with it"),
    ] {
        let output = workspace.run(words);
        let printed = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{printed}");
        assert!(printed.contains(message) && printed.contains("\n  memory_read_graph "), "{printed}");
    }
}

#[test]
fn add_refuses_grants_without_effect() {
    let home = Home::new();
    fs::create_dir(home.path("notes")).unwrap();
    for (words, key, hint) in [
        (&["add", "memory", "notes", "--yes"][..], "`dirs` has no effect", "remove the directories"),
        (
            &["add", "time", "--grant", "http = [\"https://*\"]", "--yes"],
            "`http` has no effect",
            "remove the grant",
        ),
    ] {
        let message = failure(&home, words, 2);
        assert!(message.contains(key) && message.contains(hint), "{message}");
        assert!(!home.path(".config/moongate/gateway.toml").exists());
    }
}

#[test]
fn two_instances_of_a_plugin_serve_together_or_the_second_isnt_added() {
    let home = Home::new();
    for directory in ["notes", "other"] {
        fs::create_dir(home.path(directory)).unwrap();
        fs::write(home.path(directory).join("a.txt"), directory).unwrap();
    }
    home.succeed(&["add", "filesystem", "notes", "--yes"]);
    let printed = notes(&home, &["add", "filesystem", "other", "--name", "second", "--yes"]);
    assert!(printed.contains("`second` gets only its tools"), "{printed}");
    home.succeed(&["check", "--deny-warnings"]);
    for (plugin, directory) in [("filesystem", "notes"), ("second", "other")] {
        let path = format!("path={}", home.path(directory).canonicalize().unwrap().join("a.txt").display());
        assert_eq!(home.succeed(&["call", &format!("{plugin}_read_text_file"), &path]).trim(), directory);
    }
    assert!(home.succeed(&["list", "templates"]).contains("file:///{+path}"));
    // Resources without a template that could be left out.
    home.succeed(&["add", "everything", "--yes"]);
    let config = home.path(".config/moongate/gateway.toml");
    let before = fs::read_to_string(&config).unwrap();
    let message = failure(&home, &["add", "everything", "--name", "more", "--yes"], 78);
    assert!(message.contains("`more` wasn't added, because it wouldn't be served"), "{message}");
    assert!(message.contains("both claim the resources") && message.contains("uris = ["), "{message}");
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
}

#[test]
fn add_names_missing_settings_and_takes_settings() {
    let home = Home::new();
    let schema = json!({
        "type": "object",
        "properties": { "server": { "type": "string" }, "days": { "type": "integer" } },
        "required": ["server", "days"],
    });
    fs::write(home.path("p.wasm"), Plugin::version(1).settings(schema.to_string()).build()).unwrap();
    let printed = notes(&home, &["add", "./p.wasm", "--setting", "days = 3", "--yes"]);
    assert!(
        printed.contains("required settings of `p` are missing; add `server` to `[plugins.p.config]`"),
        "{printed}"
    );
    assert!(failure(&home, &["check"], 78).contains("missing the required setting `server`"));
    let settings = ["--setting", "server = \"https://a.example\"", "--setting", "days=3"];
    home.succeed(&["remove", "p"]);
    let printed = notes(&home, &[&["add", "./p.wasm", "--yes"][..], &settings].concat());
    assert!(!printed.contains("warning"), "{printed}");
    home.succeed(&["check"]);
    // The permissions wouldn't show another table.
    for setting in ["[plugins.x] # = 1", "a = \"\"\"", "\"quoted\" = 1", "= 1"] {
        let message = failure(&home, &["add", "time", "--setting", setting, "--yes"], 2);
        assert!(message.contains("invalid setting"), "{message}");
    }
    let message = failure(&home, &["add", "time", "--setting", "local_timezone", "--yes"], 2);
    assert!(
        message.contains("invalid setting `local_timezone`") && message.contains("--setting 'unit ="),
        "{message}"
    );
    home.succeed(&["add", "time", "--setting", "local_timezone = \"Asia/Tokyo\"", "--yes"]);
    let config = fs::read_to_string(home.path(".config/moongate/gateway.toml")).unwrap();
    assert_eq!(config.matches("local_timezone").count(), 1, "{config}");
}

#[test]
fn remove_mentions_only_state_that_exists() {
    let home = Home::new();
    fs::write(home.path("gateway.toml"), "version = 1\n[gateway]\nstate = \"kept\"\n").unwrap();
    let add = ["add", "memory", "--yes"];
    home.succeed(&add);
    assert!(!notes(&home, &["remove", "memory"]).contains("kept"));
    home.succeed(&add);
    let entities = r#"{"entities":[{"name":"a","entityType":"b","observations":[]}]}"#;
    home.succeed(&["call", "memory_create_entities", "--json", entities]);
    let printed = notes(&home, &["remove", "memory"]);
    assert!(printed.contains("is still in `") && printed.contains("kept`"), "{printed}");
}

/// The command after `try` in the banner.
fn suggested_call(workspace: &Workspace) -> Option<String> {
    let http = Http::start(workspace);
    http.wait_for_log("\nserving ");
    let (_, log) = http.terminate();
    log.lines().find_map(|line| line.strip_prefix("try       ")).map(str::to_owned)
}

#[test]
fn the_suggested_call_is_one_that_its_caller_can_make() {
    let plugins =
        "[plugins.memory]\nsource = \"builtin:memory\"\n[plugins.time]\nsource = \"builtin:time\"\n";
    let tokens = "[http.auth]\ntokens = [{ name = \"ann\", token = { file = \"ann\" } }, \
                  { name = \"bob\", token = { file = \"bob\" } }]\n";
    let roles = "[roles.clock]\nmembers = [{ token = \"bob\" }]\nallow.tools = [\"time_*\"]\n";
    let call = |configuration: &[&str]| {
        let workspace = Workspace::new(&configuration.concat());
        for name in ["ann", "bob"] {
            workspace.write(name, format!("the-secret-token-of-{name}"));
        }
        suggested_call(&workspace)
    };
    let open = call(&[plugins]).unwrap();
    assert!(open.ends_with(" memory_read_graph") && !open.contains("MOONGATE_TOKEN"), "{open}");
    let of_ann = call(&[tokens, plugins]).unwrap();
    assert!(
        of_ann.starts_with("MOONGATE_TOKEN='the token ann' ") && of_ann.ends_with("_read_graph"),
        "{of_ann}"
    );
    let of_bob = call(&[tokens, plugins, roles]).unwrap();
    assert!(
        of_bob.starts_with("MOONGATE_TOKEN='the token bob' ") && of_bob.contains(" time_get"),
        "{of_bob}"
    );
    // Without a role, nobody sees a tool.
    let none = roles.replace("bob", "ann").replace("time_*", "none_*");
    assert_eq!(call(&[tokens, plugins, &none]), None);
}

#[test]
fn a_file_with_another_digest_shows_both() {
    let workspace = Workspace::new("[plugins.time]\nsource = \"time.wasm\"\nsha256 = \"@\"\n");
    let expected = "0".repeat(64);
    let config = fs::read_to_string(workspace.config()).unwrap().replace('@', &expected);
    fs::write(workspace.config(), config).unwrap();
    fs::copy(moongate_tests::component("time"), workspace.path().join(Path::new("time.wasm"))).unwrap();
    let output = workspace.run(&["check"]);
    let printed = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{printed}");
    assert!(printed.contains(&format!(" instead of {expected}")), "{printed}");
}
