//! From the installed binary to a tool in a host: `init`, `add`, `remove`, `client --write` and built-in plugins.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio as ProcessStdio};

use moongate_generated::{Behaviour, Plugin};
use moongate_tests::{Http, Stdio, Workspace, component, initialize_params, on_terminal, project_root};
use serde_json::{Value, json};

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// An empty home directory, in which no configuration is named.
pub(super) struct Home(pub(super) Workspace);

impl Home {
    pub(super) fn new() -> Self {
        let workspace = Workspace::new("");
        fs::remove_file(workspace.config()).unwrap();
        Self(workspace)
    }

    pub(super) fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.0.command(words);
        command.env_remove("MOONGATE_CONFIG");
        command
    }

    pub(super) fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    #[track_caller]
    pub(super) fn succeed(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        utf8(&output.stdout)
    }

    /// Runs a command on a terminal, on which `typed` is typed, and returns its exit code and the screen.
    pub(super) fn run_on_terminal(&self, words: &[&str], typed: &str) -> (Option<i32>, String) {
        let mut terminal = on_terminal(&self.command(words));
        let mut child = terminal.stdin(ProcessStdio::piped()).stdout(ProcessStdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), utf8(&output.stdout))
    }
}

#[test]
fn two_commands_lead_to_a_tool_in_the_host() {
    let home = Home::new();
    let notes = home.path("notes");
    fs::create_dir(&notes).unwrap();
    fs::write(notes.join("today.md"), "buy milk").unwrap();
    let notes = notes.canonicalize().unwrap();
    home.succeed(&["add", "filesystem", "notes:rw", "--yes"]);
    home.succeed(&["client", "claude-desktop", "--write"]);
    let host = fs::read(home.path(".config/Claude/claude_desktop_config.json")).unwrap();
    let host: Value = serde_json::from_slice(&host).unwrap();
    let server = &host["mcpServers"]["moongate"];
    let config = home.path(".config/moongate/gateway.toml");
    assert_eq!(server["args"], json!(["serve", "--stdio", "--config", config.to_str().unwrap()]));
    // The host starts what it was told to.
    let served = Workspace::new("");
    fs::copy(&config, served.config()).unwrap();
    let mut stdio = Stdio::initialized(&served, "2025-11-25");
    let tools = stdio.request_and_wait("tools/list", json!({}));
    let read = tools["result"]["tools"].as_array().unwrap();
    let read = read.iter().find(|tool| tool["name"] == "filesystem_read_text_file").unwrap();
    let about = read["inputSchema"]["properties"]["path"]["description"].as_str().unwrap();
    assert!(about.contains(&format!("`{}`.", notes.display())), "{about}");
    let arguments = json!({ "path": notes.join("today.md") });
    let call = json!({ "name": "filesystem_read_text_file", "arguments": arguments });
    let called = stdio.request_and_wait("tools/call", call);
    assert_eq!(called["result"]["content"][0]["text"], "buy milk", "{called}");
}

#[test]
fn instructions_name_the_granted_directories() {
    let home = Home::new();
    fs::create_dir(home.path("notes")).unwrap();
    home.succeed(&["add", "filesystem", "notes", "--yes"]);
    let served = Workspace::new("");
    fs::copy(home.path(".config/moongate/gateway.toml"), served.config()).unwrap();
    let mut stdio = Stdio::spawn_loading(served.command(&["serve", "--stdio"]));
    let started = stdio.request_and_wait("initialize", initialize_params("2025-11-25"));
    let notes = home.path("notes").canonicalize().unwrap();
    let instructions = started["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains(&format!("`{}` (read-only)", notes.display())), "{instructions}");
}

#[test]
fn shows_the_permissions_and_asks_on_a_terminal() {
    let home = Home::new();
    fs::create_dir(home.path("notes")).unwrap();
    let config = home.path(".config/moongate/gateway.toml");
    let words = ["add", "filesystem", "notes:rw"];
    for answer in ["n\n", "\n", "yess\n"] {
        let (code, screen) = home.run_on_terminal(&words, answer);
        assert_eq!(code, Some(1), "{screen}");
        assert!(!config.exists(), "{answer:?}: {screen}");
    }
    let (code, screen) = home.run_on_terminal(&words, "y\n");
    assert_eq!(code, Some(0), "{screen}");
    let notes = home.path("notes").canonicalize().unwrap();
    for row in ["  reads    ", "  writes   "] {
        assert!(screen.contains(&format!("{row}{}", notes.display())), "{screen}");
    }
    for row in
        ["  sends    nothing", "  asks     nothing", "  keeps    nothing", "builtin:filesystem", "[y/N]"]
    {
        assert!(screen.contains(row), "`{row}` is missing: {screen}");
    }
    assert!(config.exists());
}

/// The README shows the page that `add` prints, with another home directory.
#[test]
fn the_readme_shows_the_permissions_of_the_quick_start() {
    let home = Home::new();
    fs::create_dir(home.path("notes")).unwrap();
    let (_, screen) = home.run_on_terminal(&["add", "filesystem", "notes:rw"], "n\n");
    let readme = fs::read_to_string(project_root().join("README.md")).unwrap();
    let (_, shown) = readme.split_once("```text\nfilesystem ").unwrap();
    let shown = format!("filesystem {}", shown.split_once("\n```").unwrap().0);
    let digest = screen.lines().find_map(|line| line.trim().strip_prefix("digest  ")).unwrap().trim();
    let place = home.path("").canonicalize().unwrap().to_str().unwrap().to_owned();
    let screen = screen.replace("\r\n", "\n").replace(digest, "<digest>");
    let screen = screen.replace(&place, "/home/ann").replace(home.path("").to_str().unwrap(), "/home/ann/");
    assert!(screen.contains(&shown), "{screen}\n{shown}");
}

#[test]
fn grants_nothing_without_consent() {
    let home = Home::new();
    for words in [&["add", "memory"][..], &["add", "fetch", "--grant", "http = []"]] {
        let output = home.run(words);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = utf8(&output.stderr);
        assert!(text.contains("permissions") && text.contains("`--yes`"), "{text}");
        assert!(!home.path(".config/moongate/gateway.toml").exists());
    }
}

/// The component crashes as soon as it has a variable, so the page shows that it had none.
#[test]
fn nothing_runs_with_its_grants_before_consent() {
    let home = Home::new();
    fs::write(home.path("spy.wasm"), Plugin::version(1).describe(Behaviour::RefusesVariables).build())
        .unwrap();
    fs::write(home.path("other.wasm"), Plugin::version(2).build()).unwrap();
    // With another plugin in the file, conflicts are looked for too.
    home.succeed(&["add", "./other.wasm", "--yes"]);
    let words = ["add", "./spy.wasm", "--grant", "env = [\"HOME\"]"];
    let output = home.run(&words);
    let page = utf8(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{page}");
    assert!(page.contains("tools   1 tool: version") && page.contains("the variable HOME"), "{page}");
    assert!(page.contains("pass `--yes`"), "{page}");
    let (code, screen) = home.run_on_terminal(&words, "n\n");
    assert_eq!(code, Some(1), "{screen}");
    assert!(screen.contains("1 tool: version") && screen.contains("wasn't added"), "{screen}");
    // After consent, it has them.
    let crashed = home.run(&[&words[..], &["--yes"]].concat());
    assert!(utf8(&crashed.stderr).contains("describe"), "{crashed:?}");
    let config = fs::read_to_string(home.path(".config/moongate/gateway.toml")).unwrap();
    assert!(!config.contains("spy"), "{config}");
}

#[test]
fn a_plugin_that_needs_its_grants_is_described_after_consent() {
    let home = Home::new();
    fs::write(home.path("needs.wasm"), Plugin::version(1).describe(Behaviour::NeedsVariables).build())
        .unwrap();
    let words = ["add", "./needs.wasm", "--grant", "env = [\"HOME\"]"];
    let page = utf8(&home.run(&words).stderr);
    assert!(
        page.contains("can't describe itself without grants") && page.contains("the variable HOME"),
        "{page}"
    );
    assert!(page.contains("pass `--yes`"), "{page}");
    assert!(home.succeed(&[&words[..], &["--yes"]].concat()).contains("added `needs` with 1 tool"));
    // Without a grant, there is nothing to agree to.
    let output = home.run(&["add", "./needs.wasm", "--name", "bare", "--yes"]);
    assert!(utf8(&output.stderr).contains("describe"), "{output:?}");
}

#[test]
fn edits_the_file_without_touching_the_rest() {
    let before = "# Mine.\nversion   =   1 # the format\n\n[http]\nlisten = '127.0.0.1:0'\n\n\n# The end.";
    for before in [before, "version = 1\r\n[http]\r\nlisten = \"127.0.0.1:0\"\r\n"] {
        let home = Home::new();
        let file = home.path("gateway.toml");
        fs::write(&file, before).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        home.succeed(&["add", "memory", "--yes", "--name", "graph"]);
        let with = fs::read_to_string(&file).unwrap();
        assert!(with.starts_with(before) && with.contains("[plugins.graph.allow]"), "{with}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        home.succeed(&["remove", "graph"]);
        assert_eq!(fs::read_to_string(&file).unwrap().trim_end(), before.trim_end());
        let mut names = fs::read_dir(home.path("")).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(
            names.all(|name| !name.to_string_lossy().starts_with(".gateway")),
            "a temporary file is left"
        );
    }
}

#[test]
fn writes_no_invalid_configuration() {
    let home = Home::new();
    let file = home.path("gateway.toml");
    let valid = "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.time]\nsource = \"builtin:time\"\n";
    for (before, words, code) in [
        ("version = 1\nplugins = {}\n", &["add", "time", "--yes"][..], 78),
        ("version = 1\nnonsense = 1\n", &["add", "time", "--yes"], 78),
        ("version = 1\n", &["add", "fetch", "--grant", "http = [\"ftp://x\"]", "--yes"], 78),
        ("version = 1\n", &["add", "fetch", "--grant", "http = [", "--yes"], 78),
        ("version = 1\n", &["add", "fetch", "--grant", "timeout = \"1s\"", "--yes"], 2),
        ("version = 1\n", &["add", "filesystem", "--yes"], 2),
        ("version = 1\n", &["add", "filesystem", "missing", "--yes"], 2),
        ("version = 1\n", &["add", "filesytem", ".", "--yes"], 2),
        ("version = 1\n", &["add", "https://127.0.0.1:1/x.wasm", "--yes"], 1),
        ("version = 1\n", &["add", "ftp://example.com/x.wasm", "--yes"], 78),
        ("version = 1\n", &["add", "./missing.wasm", "--yes"], 2),
        (valid, &["add", "time", "--yes"], 1),
        (valid, &["remove", "tme"], 1),
    ] {
        fs::write(&file, before).unwrap();
        let output = home.run(words);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), before, "{words:?}");
        assert!(utf8(&output.stderr).contains("error: "), "{output:?}");
    }
    // The granted directory contains the configuration.
    let output = home.run(&["add", "filesystem", ".:rw", "--yes"]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
}

#[test]
fn adds_a_component_file_with_the_grants_that_are_named() {
    let home = Home::new();
    fs::write(home.path("gateway.toml"), "version = 1\n").unwrap();
    fs::copy(component("stateful"), home.path("kept.wasm")).unwrap();
    let refused = home.run(&["add", "./kept.wasm"]);
    let sheet = utf8(&refused.stderr);
    assert!(
        sheet.contains("nothing; it requests this: to grant it, pass `--grant 'state = true'`"),
        "{sheet}"
    );
    home.succeed(&["add", "./kept.wasm", "--grant", "state = true", "--yes"]);
    let text = fs::read_to_string(home.path("gateway.toml")).unwrap();
    assert!(text.contains("[plugins.kept]\nsource = \"kept.wasm\"\n"), "{text}");
    assert!(text.contains("[plugins.kept.allow]\nstate = true\n"), "{text}");
    fs::write(home.path("text.wasm"), "not a component").unwrap();
    let broken = home.run(&["add", "text.wasm", "--yes"]);
    assert_eq!(broken.status.code(), Some(78), "{broken:?}");
    assert!(utf8(&broken.stderr).contains("doesn't start with"), "{broken:?}");
}

#[test]
fn commands_in_hints_work_as_they_are_written() {
    let home = Home::new();
    let config = ["--config", "my files/gateway.toml"];
    home.succeed(&[&["add", "time", "--yes"], &config[..]].concat());
    let again = home.run(&[&["add", "time", "--yes"], &config[..]].concat());
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    let missing = home.run(&["check"]);
    for (output, verb) in [(again, "remove"), (missing, "init")] {
        let text = utf8(&output.stderr);
        let mut commands = text.split('`').filter_map(|part| part.strip_prefix("moongate "));
        let command = commands.next().unwrap_or_else(|| panic!("no command: {text}"));
        assert!(command.starts_with(verb), "{command}");
        let unquoted = command.replace('\'', "");
        let mut words: Vec<&str> = unquoted.split(" --config ").collect();
        if let [command, file] = words[..] {
            words = command.split(' ').chain(["--config", file]).collect();
        }
        home.succeed(&words);
    }
}

#[test]
fn init_creates_a_valid_file_and_never_overwrites_one() {
    let home = Home::new();
    home.succeed(&["init"]);
    let file = home.path("gateway.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("# [plugins.filesystem]"), "{text}");
    let check = home.run(&["validate"]);
    assert!(check.status.success(), "{check:?}");
    fs::write(&file, "version = 1 # mine\n").unwrap();
    let again = home.run(&["init"]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert!(utf8(&again.stderr).contains("already exists"), "{again:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "version = 1 # mine\n");
    // What it shows as an example is valid, too.
    let shown: Vec<&str> = text.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    let example = shown.iter().skip_while(|line| **line != "[plugins.filesystem]").copied();
    fs::create_dir(home.path("notes")).unwrap();
    fs::write(&file, format!("version = 1\n{}\n", example.collect::<Vec<_>>().join("\n"))).unwrap();
    let check = home.command(&["check"]).env("LANG", "C").output().unwrap();
    assert!(check.status.success(), "{check:?}");
}

#[test]
fn a_running_gateway_applies_what_add_and_remove_write() {
    let workspace = Workspace::new("");
    let http = Http::start(&workspace);
    let added = workspace.run(&["add", "time", "--yes"]);
    assert!(added.status.success(), "{added:?}");
    http.wait_for_log("`time` ");
    let removed = workspace.run(&["remove", "time"]);
    assert!(removed.status.success(), "{removed:?}");
    http.wait_for_log("`time` removed");
}

#[test]
fn lists_and_calls_builtin_plugins_without_files() {
    let home = Home::new();
    let text = home.succeed(&["list", "builtin"]);
    for name in ["filesystem", "fetch", "git", "memory", "sequential-thinking", "time", "everything"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("{name} "))), "{text}");
    }
    let document: Value =
        serde_json::from_str(&home.succeed(&["list", "builtin", "--format", "json"])).unwrap();
    let time =
        document["builtin"].as_array().unwrap().iter().find(|plugin| plugin["name"] == "time").unwrap();
    let inspected = home.succeed(&["inspect", "builtin:time", "--format", "json"]);
    let inspected: Value = serde_json::from_str(&inspected).unwrap();
    assert_eq!(inspected["digest"], time["digest"]);
    assert_eq!(inspected["description"], time["description"]);
    let zone = ["source_timezone=UTC", "time=12:00", "target_timezone=Asia/Kathmandu"];
    let called = home.succeed(&[&["call", "--plugin", "builtin:time", "convert_time"][..], &zone].concat());
    assert!(called.contains("+5.75h"), "{called}");
    let unknown = home.run(&["inspect", "builtin:none"]);
    assert!(utf8(&unknown.stderr).contains("`moongate list builtin`"), "{unknown:?}");
}

#[test]
fn descriptions_of_builtin_plugins_are_their_own() {
    let home = Home::new();
    let document: Value =
        serde_json::from_str(&home.succeed(&["list", "builtin", "--format", "json"])).unwrap();
    for plugin in document["builtin"].as_array().unwrap() {
        let source = plugin["source"].as_str().unwrap();
        let inspected: Value =
            serde_json::from_str(&home.succeed(&["inspect", source, "--format", "json"])).unwrap();
        assert_eq!(inspected["description"], plugin["description"], "{source}");
        assert_eq!(inspected["name"], plugin["name"], "{source}");
    }
}

#[test]
fn configurations_name_builtin_plugins_and_their_digests() {
    let digest = |home: &Home, name: &str| -> String {
        let document = home.succeed(&["inspect", &format!("builtin:{name}"), "--format", "json"]);
        serde_json::from_str::<Value>(&document).unwrap()["digest"].as_str().unwrap().to_owned()
    };
    let home = Home::new();
    let pinned = digest(&home, "time");
    let with = |source: &str, sha256: &str| {
        Workspace::new(&format!("[plugins.a]\nsource = \"{source}\"\nsha256 = \"{sha256}\"\n"))
    };
    let good = with("builtin:time", &pinned).run(&["check"]);
    assert!(good.status.success(), "{good:?}");
    let resolved = with("builtin:time", &pinned).run(&["check", "--print-resolved"]);
    assert!(utf8(&resolved.stdout).contains("source = \"builtin:time\""), "{resolved:?}");
    let other = with("builtin:memory", &pinned).run(&["check"]);
    assert_eq!(other.status.code(), Some(78), "{other:?}");
    assert!(utf8(&other.stderr).contains(&digest(&home, "memory")), "{other:?}");
    let unknown = with("builtin:tme", &pinned).run(&["check"]);
    assert!(utf8(&unknown.stderr).contains("did you mean `time`?"), "{unknown:?}");
}

#[test]
fn granted_directories_keep_their_path_without_guest() {
    let workspace = Workspace::new(
        "[plugins.files]\nsource = \"builtin:filesystem\"\n[plugins.files.allow]\ndirs = [{ host = \"link\" }]\n",
    );
    workspace.write("real/a.txt", "content");
    std::os::unix::fs::symlink("real", workspace.path().join("link")).unwrap();
    let real = workspace.path().join("real").canonicalize().unwrap();
    let path = format!("path={}", real.join("a.txt").display());
    let output = workspace.run(&["call", "files_read_text_file", &path]);
    assert_eq!(utf8(&output.stdout).trim_end(), "content", "{output:?}");
    let bad = Workspace::new(
        "[plugins.files]\nsource = \"builtin:filesystem\"\n[plugins.files.allow]\ndirs = [{ host = 'a\\b' }]\n",
    );
    fs::create_dir(bad.path().join("a\\b")).unwrap();
    let output = bad.run(&["check"]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(utf8(&output.stderr).contains("set `guest` to a path such as"), "{output:?}");
}

#[test]
fn client_write_adds_the_gateway_and_keeps_a_backup() {
    let home = Home::new();
    home.succeed(&["init"]);
    for (host, file) in [
        ("claude-code", ".claude.json"),
        ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json"),
        ("zed", ".config/zed/settings.json"),
        ("codex", ".codex/config.toml"),
    ] {
        let first = home.succeed(&["client", host, "--write"]);
        assert!(first.starts_with("created `"), "{host}: {first}");
        let again = home.succeed(&["client", host, "--write"]);
        assert!(again.contains("already contains"), "{host}: {again}");
        let other = home.succeed(&["client", host, "--write", "--name", "second"]);
        assert!(other.contains("added `second`"), "{host}: {other}");
        let text = fs::read_to_string(home.path(file)).unwrap();
        assert!(text.contains("moongate") && text.contains("second"), "{host}: {text}");
        let backup = fs::read_to_string(home.path(&format!("{file}.moongate-backup"))).unwrap();
        assert!(!backup.contains("second"), "{host}: {backup}");
    }
    let inspector = home.run(&["client", "inspector", "--write"]);
    assert_eq!(inspector.status.code(), Some(2), "{inspector:?}");
    let named = home.succeed(&["client", "vscode", "--write", "--file", ".vscode/mcp.json"]);
    assert!(named.contains(".vscode/mcp.json") && home.path(".vscode/mcp.json").is_file(), "{named}");
}

#[test]
fn call_asks_for_missing_arguments_on_a_terminal() {
    let home = Home::new();
    let words = ["call", "--plugin", "builtin:time", "convert_time", "source_timezone=UTC"];
    let (code, screen) = home.run_on_terminal(&words, "12:00\nAsia/Kathmandu\n");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("+5.75h") && screen.contains("time: text (required)"), "{screen}");
    let (code, screen) = home.run_on_terminal(&words, "\n");
    assert_eq!(code, Some(5), "{screen}");
    assert!(screen.contains("needs `time` and `target_timezone`"), "{screen}");
}

#[test]
fn call_asks_the_questions_of_a_tool_on_a_terminal() {
    let home = Home::new();
    let words = ["call", "--plugin", "builtin:everything", "test_elicitation", "message=Who?"];
    let (code, screen) = home.run_on_terminal(&words, "ada\nada@example.com\n");
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("asks the user: ") && screen.contains("Who?"), "{screen}");
    let content = r#"action=accept, content={"username":"ada","email":"ada@example.com"}"#;
    assert!(screen.contains(content), "{screen}");
    let (_, screen) = home.run_on_terminal(&words, "ada\n\u{4}");
    assert!(screen.contains("action=cancel"), "{screen}");
    // People type `no` instead of `false`.
    let form = ["call", "--plugin", "builtin:everything", "test_elicitation_sep1034_defaults"];
    let (_, screen) = home.run_on_terminal(&form, "\n\n\n\nno\n");
    assert!(screen.contains("\"verified\":false"), "{screen}");
    let answered = [&words[..], &["--answer", "user=decline"]].concat();
    let (_, screen) = home.run_on_terminal(&answered, "");
    assert!(screen.contains("action=decline") && !screen.contains("username: "), "{screen}");
}

#[test]
fn verbs_that_people_try_first_work() {
    let home = Home::new();
    home.succeed(&["init"]);
    let help = home.succeed(&["help", "serve"]);
    assert_eq!(help, home.succeed(&["serve", "--help"]));
    for words in [&["help"][..], &["version"], &["--version"], &["-V"], &["validate"], &["help", "add"]] {
        home.succeed(words);
    }
    assert_eq!(home.succeed(&["version"]), home.succeed(&["--version"]));
}
