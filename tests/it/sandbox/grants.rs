//! A guest gets nothing that isn't granted.

use moongate_tests::{Stdio, Workspace, text, wait_until};
use serde_json::{Value, json};

#[test]
fn a_guest_without_grants_reaches_nothing() {
    let workspace = Workspace::with_plugin("zoo");
    workspace.write("secret.txt", "do not read");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let environment = stdio.call("zoo_read_env", json!({}))["result"]["structuredContent"].clone();
    assert_eq!(environment["variables"], json!({}), "{environment}");
    assert_eq!(environment["arguments"], json!([]), "{environment}");
    assert_eq!(stdio.call("zoo_list_dirs", json!({}))["result"]["content"], json!([]));
    let secret = workspace.path().join("secret.txt").display().to_string();
    let fresh = workspace.path().join("fresh.txt").display().to_string();
    for (tool, arguments) in [
        ("read_file", json!({ "path": secret })),
        ("read_file", json!({ "path": "/etc/hostname" })),
        ("read_file", json!({ "path": "../../../etc/hostname" })),
        ("write_file", json!({ "path": fresh, "text": "x" })),
        ("list_dir", json!({ "path": "/" })),
        ("connect", json!({ "address": "127.0.0.1:80" })),
        ("resolve_name", json!({ "name": "localhost" })),
    ] {
        let answer = stdio.call(&format!("zoo_{tool}"), arguments);
        assert!(text(&answer).starts_with("refused"), "{tool}: {answer}");
    }
}

#[test]
fn restricts_file_access_to_the_granted_directory_and_mode() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\ndirs = [\n  { host = \"notes\", guest = \"/notes\", mode = \"ro\" },\n  { host = \"drafts\", guest = \"/drafts\", mode = \"rw\" },\n]\nenv = [\"HOME\"]\n",
    );
    workspace.write("notes/a.txt", "hello");
    workspace.write("drafts/b.txt", "draft");
    workspace.write("outside.txt", "out of reach");
    std::os::unix::fs::symlink(workspace.path().join("outside.txt"), workspace.path().join("drafts/link"))
        .unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut ask =
        |tool: &str, arguments: Value| text(&stdio.call(&format!("zoo_{tool}"), arguments)).to_owned();
    assert_eq!(ask("read_file", json!({ "path": "/notes/a.txt" })), "hello");
    assert_eq!(ask("list_dir", json!({ "path": "/drafts" })), "b.txt\nlink");
    for (path, text) in [
        ("/notes/a.txt", "x"),
        ("/notes/new.txt", "x"),
        ("/drafts/../outside.txt", "x"),
        ("/drafts/link", "x"),
    ] {
        let reply = ask("write_file", json!({ "path": path, "text": text }));
        assert!(reply.starts_with("refused"), "{path}: {reply}");
    }
    for path in ["/notes/../outside.txt", "/drafts/link", "/outside.txt", "outside.txt"] {
        let reply = ask("read_file", json!({ "path": path }));
        assert!(reply.starts_with("refused"), "{path}: {reply}");
    }
    assert!(!ask("write_file", json!({ "path": "/drafts/new.txt", "text": "kept" })).starts_with("refused"));
    assert_eq!(std::fs::read_to_string(workspace.path().join("drafts/new.txt")).unwrap(), "kept");
    assert_eq!(std::fs::read_to_string(workspace.path().join("outside.txt")).unwrap(), "out of reach");
    let environment = stdio.call("zoo_read_env", json!({}))["result"]["structuredContent"].clone();
    assert_eq!(
        environment["variables"],
        json!({ "HOME": workspace.path().display().to_string() }),
        "{environment}"
    );
}

#[test]
fn rejects_pipes_and_sockets_without_blocking() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.allow]\ndirs = [{ host = \"in\", guest = \"/in\", mode = \"rw\" }]\n[plugins.zoo.limits]\ntimeout = \"1h\"\n",
    );
    workspace.write("in/a.txt", "hello");
    let pipe = workspace.path().join("in/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(workspace.path().join("in/socket")).unwrap();
    std::os::unix::fs::symlink("pipe", workspace.path().join("in/link")).unwrap();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for path in ["/in/pipe", "/in/link", "/in/socket"] {
        let read = stdio.call("zoo_read_file", json!({ "path": path }));
        assert!(text(&read).starts_with("refused"), "{path}: {read}");
        let written = stdio.call("zoo_write_file", json!({ "path": path, "text": "x" }));
        assert!(text(&written).starts_with("refused"), "{path}: {written}");
    }
    assert_eq!(text(&stdio.call("zoo_read_file", json!({ "path": "/in/a.txt" }))), "hello");
}

#[test]
fn passes_settings_to_their_plugin() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.config]\ncity = \"Oslo\"\nlist = [1, \"two\"]\ntoken = { file = \"token\" }\n",
    );
    workspace.write("token", "a-long-secret-of-the-zoo\n");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut ask = |key: &str| stdio.call("zoo_config_get", json!({ "key": key }));
    assert_eq!(text(&ask("city")), "Oslo");
    assert_eq!(text(&ask("list")), r#"[1,"two"]"#);
    assert_eq!(text(&ask("token")), "a-long-secret-of-the-zoo");
    let (_, _, log) = stdio.finish();
    assert!(!log.contains("a-long-secret"), "a secret was logged: {log}");
}

#[test]
fn passes_settings_to_no_other_plugin() {
    let workspace = Workspace::new(
        "[plugins.one]\nsource = \"@time@\"\nconfig = { local_timezone = \"Europe/Oslo\" }\n[plugins.two]\nsource = \"@time@\"\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let list = stdio.request_and_wait("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    for (tool, own, others) in
        [(&tools[0], "'Europe/Oslo' as", "ask for it"), (&tools[2], "ask for it", "'Europe/Oslo' as")]
    {
        let reply = tool.to_string();
        assert!(reply.contains(own) && !reply.contains(others), "{reply}");
    }
}

#[test]
fn local_zone_of_time_is_the_gateways() {
    let workspace =
        Workspace::new("[plugins.time]\nsource = \"@time@\"\nconfig = { local_timezone = \"${TZ}\" }\n");
    let mut inspect = workspace.command(&["inspect", "time", "--format", "json"]);
    for value in ["Asia/Tokyo", ":Asia/Tokyo", "/usr/share/zoneinfo/Asia/Tokyo"] {
        let output = inspect.env("TZ", value).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("Use 'Asia/Tokyo' as the local time zone"), "{value}: {output:?}");
    }
    // The machine's zone is some zone of the built-in database.
    for value in [Some(""), None] {
        let mut inspect = workspace.command(&["inspect", "time", "--format", "json"]);
        inspect.env_remove("TZ").envs(value.map(|value| ("TZ", value)));
        let output = inspect.output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !log.contains("local_timezone"), "{output:?}");
    }
}

#[test]
fn rejects_a_grant_of_the_gateways_own_files() {
    for (host, word) in [(".", "gateway.toml"), ("plugins", "component"), ("..", "gateway.toml")] {
        let workspace = Workspace::new(&format!(
            "[plugins.zoo]\nsource = \"plugins/zoo.wasm\"\n[plugins.zoo.allow]\ndirs = [{{ host = \"{host}\", guest = \"/x\", mode = \"rw\" }}]\n"
        ));
        workspace.write("plugins/zoo.wasm", std::fs::read(moongate_tests::component("zoo")).unwrap());
        let output = workspace.run(&["check"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{host}: {message}");
        assert!(message.contains(word), "{host}: {message}");
    }
}

#[test]
fn a_missing_granted_directory_affects_only_its_plugin() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\nallow.dirs = [{ host = \"later\", guest = \"/in\" }]\n\
         [plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n",
    );
    let checked = workspace.run(&["check"]);
    assert_eq!(checked.status.code(), Some(78), "{checked:?}");
    let reply = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(reply.contains("gateway.toml:4:") && reply.contains("create the directory"), "{reply}");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let kept = |stdio: &mut Stdio| stdio.call("stateful_get", json!({ "key": "a" })).to_string();
    assert!(!kept(&mut stdio).contains("denied"), "the other plugin serves");
    // Other plugins' grants can still change.
    let before = std::fs::read_to_string(workspace.config()).unwrap();
    std::fs::write(workspace.config(), before.replace("state = true", "state = false")).unwrap();
    wait_until("the grant is removed", || kept(&mut stdio).contains("denied"));
    workspace.write("later/a.txt", "hello");
    wait_until("the plugin serves once the directory exists", || {
        stdio.call("zoo_read_file", json!({ "path": "/in/a.txt" })).to_string().contains("hello")
    });
}
