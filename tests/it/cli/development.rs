//! `dev`: a plugin is built, served, and replaced after each save.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use moongate_tests::{
    Http, Terminal, Workspace, add_zig, component, path_with, send_signal, text, wait_for_exit, wait_until,
};
use serde_json::json;

use super::other_languages::{install_packages, moongate, new_project};

/// A new project in JavaScript, whose builds are fast.
fn project(workspace: &Workspace) -> PathBuf {
    let project = new_project(workspace, "hello", "javascript");
    install_packages(&project);
    project
}

/// Saves the plugin's source with these changes.
fn edit(project: &Path, changes: &[(&str, &str)]) {
    let file = project.join("src/plugin.js");
    let mut source = fs::read_to_string(&file).unwrap();
    for (from, to) in changes {
        assert!(source.contains(from), "{source}");
        source = source.replace(from, to);
    }
    fs::write(file, source).unwrap();
}

fn greeting(http: &Http) -> String {
    text(&http.call("hello_greet", json!({ "name": "Ada" }))).to_owned()
}

#[test]
fn each_save_replaces_the_plugin_and_a_failed_build_changes_nothing() {
    let workspace = Workspace::new("");
    let project = project(&workspace);
    let http = Http::spawn(moongate(&workspace, workspace.path(), &["dev", "hello", "--http", "0"]));
    assert_eq!(greeting(&http), "Hello, Ada!");
    // The log has each call.
    http.wait_for_log("hello_greet");

    edit(&project, &[("Hello, $", "Good day, $")]);
    http.wait_for_log("Building: `src/plugin.js` changed");
    http.wait_for_log("Live: 1 tool, ");
    assert!(http.log().contains(" s after the save"), "{}", http.log());
    assert_eq!(greeting(&http), "Good day, Ada!");

    edit(&project, &[("return `", "return (`")]);
    http.wait_for_log("Not live: the previous build keeps serving");
    assert!(http.log().contains("src/plugin.js:"), "{}", http.log());
    assert_eq!(greeting(&http), "Good day, Ada!");

    let second = ".tool(\"part\", { description: \"Say goodbye.\", input: {} }, () => \"Goodbye!\").tool(\n    \"greet\"";
    edit(&project, &[("return (`", "return `"), (".tool(\n    \"greet\"", second)]);
    http.wait_for_log("Live: 2 tools, ");
    assert_eq!(text(&http.call("hello_part", json!({}))), "Goodbye!");
    let url = format!("http://{}/mcp", http.address());
    let called = workspace.run(&["call", "--url", &url, "hello_part"]);
    assert_eq!(String::from_utf8(called.stdout).unwrap(), "Goodbye!\n");

    // The second save happens during the build of the first one.
    let builds = http.log().matches("Building: ").count();
    edit(&project, &[("Good day, $", "Good evening, $")]);
    wait_until("the build starts", || http.log().matches("Building: ").count() > builds);
    edit(&project, &[("Good evening, $", "Good night, $")]);
    wait_until("the last save is live", || greeting(&http) == "Good night, Ada!");

    send_signal(http.pid(), "INT");
    let (status, log) = http.wait_for_exit();
    assert!(status.success(), "{log}");
}

#[test]
fn grants_apply_without_a_build_and_written_files_cause_none() {
    let workspace = Workspace::new("");
    let project = project(&workspace);
    let config = fs::read_to_string(project.join("gateway.toml")).unwrap();
    fs::create_dir(project.join("notes")).unwrap();
    let granted = "allow.dirs = [{ host = \"notes\", guest = \"/notes\", mode = \"rw\" }]\n";
    fs::write(project.join("gateway.toml"), config.clone() + granted).unwrap();
    let http = Http::spawn(moongate(&workspace, &project, &["dev", "--http", "0"]));
    assert_eq!(greeting(&http), "Hello, Ada!");
    fs::write(project.join("notes/today.md"), "written by a call").unwrap();
    fs::write(project.join("gateway.toml"), config + granted + "prefix = \"\"\n").unwrap();
    wait_until("the configuration applies", || {
        http.call("greet", json!({ "name": "Ada" }))["result"]["content"][0]["text"] == "Hello, Ada!"
    });
    edit(&project, &[("Hello, $", "Good day, $")]);
    http.wait_for_log("Live: 1 tool, ");
    assert_eq!(http.log().matches("Building: ").count(), 2, "{}", http.log());
}

#[test]
fn a_save_replaces_a_plugin_in_c() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "hello", "c");
    let mut command = moongate(&workspace, &project, &["dev", "--http", "0"]);
    add_zig(&mut command);
    let http = Http::spawn(command);
    assert_eq!(greeting(&http), "Hello, Ada!");
    let source = project.join("src/plugin.c");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("Hello, %s!", "Good day, %s!")).unwrap();
    http.wait_for_log("Live: 1 tool, ");
    assert_eq!(greeting(&http), "Good day, Ada!");
}

/// A project whose builds run this script in place of cargo.
fn scripted_project(script: &str) -> (Workspace, Command) {
    let workspace = Workspace::new("");
    workspace.write("Cargo.toml", "");
    workspace.write("gateway.toml", "version = 1\n[plugins.clock]\nsource = \"clock.wasm\"\n");
    workspace.write("bin/cargo", format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(workspace.path().join("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = moongate(&workspace, workspace.path(), &["dev", "--http", "0"]);
    command.env("PATH", path_with(&workspace.path().join("bin")));
    (workspace, command)
}

/// The script of a build that writes this component.
fn writes(file: &str) -> String {
    format!("mkdir -p target && cp '{}' target/new && mv target/new {file}", component("time").display())
}

#[test]
fn a_corrected_source_is_built_without_another_save() {
    let (workspace, command) = scripted_project(&writes("target/other.wasm"));
    let mut terminal = Terminal::start(&command);
    terminal.wait_for("set `source` in `[plugins.clock]`");
    terminal.wait_for("save a file to build again");
    workspace.write("gateway.toml", "version = 1\n[plugins.other]\nsource = \"target/other.wasm\"\n");
    terminal.wait_for("`gateway.toml` changed");
    terminal.wait_for("watching  the sources");
    workspace.write("lib.rs", "");
    terminal.wait_for("the build made the same component");
    assert!(terminal.shown().contains("`lib.rs` changed"), "{}", terminal.shown());
}

#[test]
fn a_build_that_writes_sources_is_reported() {
    let (_workspace, command) =
        scripted_project(&format!("{}; sleep 0.1; echo >generated.rs", writes("clock.wasm")));
    let http = Http::spawn(command);
    http.wait_for_log("`generated.rs` changed during each of the last 3 builds");
}

#[test]
fn the_audit_log_of_a_project_causes_no_build() {
    let (workspace, command) = scripted_project(&writes("clock.wasm"));
    let config = fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", config + "[audit]\nfile = \"audit.jsonl\"\n");
    let http = Http::spawn(command);
    assert!(text(&http.call("clock_get_current_time", json!({ "timezone": "UTC" }))).contains("UTC"));
    workspace.write("lib.rs", "");
    http.wait_for_log("the build made the same component");
    assert!(http.log().contains("Building: `lib.rs` changed"), "{}", http.log());
}

#[test]
fn a_background_job_keeps_serving() {
    let (workspace, dev) = scripted_project(&writes("clock.wasm"));
    let words = [dev.get_program()].into_iter().chain(dev.get_args()).map(|word| word.to_str().unwrap());
    let job = words.collect::<Vec<_>>().join(" ");
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("set -m; {job} & trap 'kill %1' EXIT HUP TERM; wait")]);
    shell.envs(dev.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut terminal = Terminal::start(shell.current_dir(workspace.path()));
    let shown = terminal.wait_for("watching  the sources");
    let (_, url) = shown.split_once("endpoint  ").unwrap();
    let url = url.lines().next().unwrap().trim().to_owned();
    // Nobody reads this line: the system stops background jobs that read.
    terminal.type_keys("get_current_time timezone=UTC\n");
    let output = workspace.run(&["call", "--url", &url, "clock_get_current_time", "timezone=UTC"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_typed_call_asks_the_questions_of_the_tool() {
    let workspace = Workspace::new("");
    let project = project(&workspace);
    let source = r#"
        import { form, Plugin, s } from "moongate";
        const sure = { sure: s.boolean("Delete everything?") };
        export default new Plugin({ name: "hello", version: "0.1.0", description: "Notes." })
            .tool("clear", { description: "Delete all notes." }, (_, ctx) =>
                ctx.ask("sure", form("Delete 3 notes?", sure)).sure ? "deleted" : "kept")
            .tool("add", { description: "Add a note.", input: { note: s.string("Its text.") } }, ({ note }) => `added ${note}`);
    "#;
    fs::write(project.join("src/plugin.js"), source).unwrap();
    let config = fs::read_to_string(project.join("gateway.toml")).unwrap();
    fs::write(project.join("gateway.toml"), config + "allow.client = [\"elicitation\"]\n").unwrap();
    let command = moongate(&workspace, &project, &["dev", "--http", "0", "--inspect"]);
    let mut terminal = Terminal::start(&command);
    let shown = terminal.wait_for("call      type a tool").to_owned();
    assert!(shown.contains("inspect   http://127.0.0.1:") && shown.contains("/try"), "{shown}");
    terminal.type_keys("add note='Buy milk'\n");
    terminal.wait_for("added Buy milk");
    terminal.type_keys("add\n");
    terminal.wait_for("note: ");
    terminal.type_keys("Sell milk\n");
    terminal.wait_for("added Sell milk");
    terminal.type_keys("clear\n");
    terminal.wait_for("Delete 3 notes?");
    terminal.type_keys("perhaps\n");
    terminal.wait_for("invalid answer to `sure`");
    terminal.type_keys("yes\n");
    terminal.wait_for("deleted");
    // Ctrl-C
    terminal.type_keys("\u{3}");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn ctrl_c_ends_a_running_build_with_all_its_programs() {
    let workspace = Workspace::new("");
    workspace.write("Cargo.toml", "");
    workspace.write("gateway.toml", "version = 1\n[plugins.slow]\nsource = \"slow.wasm\"\n");
    workspace.write("bin/cargo", "#!/bin/sh\ntail -f /dev/null &\necho $! >started\nmv started pid\nwait\n");
    fs::set_permissions(workspace.path().join("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command: Command = moongate(&workspace, workspace.path(), &["dev"]);
    let path = format!("{}:/usr/bin:/bin", workspace.path().join("bin").display());
    let mut dev = command.env("PATH", path).spawn().unwrap();
    let pid = workspace.path().join("pid");
    wait_until("the build runs", || pid.exists());
    let process = PathBuf::from("/proc").join(fs::read_to_string(pid).unwrap().trim());
    assert!(process.exists());
    send_signal(dev.id(), "INT");
    assert!(wait_for_exit(&mut dev).success());
    wait_until("the programs of the build have ended", || {
        // A process that nobody has waited for yet.
        let status = fs::read_to_string(process.join("status")).unwrap_or_default();
        !process.exists() || status.contains("State:\tZ")
    });
}

#[test]
fn a_project_without_a_configuration_gets_one_without_grants() {
    let workspace = Workspace::new("");
    let project = new_project(&workspace, "hello", "javascript");
    let kept = fs::read_to_string(project.join("gateway.toml")).unwrap();
    fs::remove_file(project.join("gateway.toml")).unwrap();
    let mut terminal = Terminal::start(&moongate(&workspace, &project, &["dev"]));
    terminal.wait_for("created `gateway.toml`, which grants the plugin nothing");
    let shown = terminal.wait_for("save a file to build again").to_owned();
    assert!(shown.contains("`npm install`"), "{shown}");
    assert_eq!(fs::read_to_string(project.join("gateway.toml")).unwrap(), kept);
}

#[test]
fn dev_needs_a_project_with_one_component() {
    let workspace = Workspace::new("[plugins.a]\nsource = \"a.wasm\"\n[plugins.b]\nsource = \"b.wasm\"\n");
    let error = |words: &[&str]| {
        let output = moongate(&workspace, workspace.path(), words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(error(&["dev", "nowhere"]).contains("can't open the directory `nowhere`"));
    assert!(error(&["dev"]).contains("the current directory contains no plugin project"));
    workspace.write("package.json", "{}");
    assert!(error(&["dev"]).contains("`gateway.toml` must contain exactly one plugin"));
    assert!(error(&["build"]).contains("`gateway.toml` must contain exactly one plugin"));
}

#[test]
fn builds_need_no_secrets() {
    let allow = "http = [\"https://a.example\"]\n\
                 credentials = [{ origin = \"https://a.example\", headers = { x-key = { env = \"UNSET_KEY\" }, \
                 x-token = { file = \"secrets/token\" } } }]\n";
    let gateway = "[gateway]\nsealing_key = { env = \"UNSET_SEALING_KEY\" }\n\
                   [http.auth]\ntokens = [{ name = \"ann\", token = { env = \"UNSET_A\" } }, \
                   { name = \"bob\", token = { env = \"UNSET_B\" } }]\n";
    let workspace =
        Workspace::new(&format!("{gateway}[plugins.a]\nsource = \"a.wasm\"\n[plugins.a.allow]\n{allow}"));
    workspace.write("package.json", "{}");
    let error = || {
        let output = moongate(&workspace, workspace.path(), &["build"]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, problem) = error();
    assert!(code == Some(1) && problem.contains("the project's packages aren't installed"), "{problem}");
    // Other problems of the configuration are reported.
    workspace.write("gateway.toml", "version = 1\n[plugins.a]\nsource = \"a.wasm\"\nalow = {}\n");
    let (code, problem) = error();
    assert!(code == Some(78) && problem.contains("alow"), "{problem}");
}
