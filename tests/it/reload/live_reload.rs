//! Changes to plugins and configuration while the gateway serves.

use std::fs;
use std::process::Command;

use moongate_generated::Plugin;
use moongate_tests::{
    BrokenPlugin, Http, MAX_FILE_SIZE, ReplaceableFile, Stdio, TAKEN_TOOL, Workspace, text, wait_until,
};
use serde_json::{Value, json};

/// The names of all tools.
fn tools(http: &Http) -> Vec<String> {
    let list = http.request_and_wait("tools/list", json!({})).json();
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tool list: {list}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The version that answers.
fn version(http: &Http, tool: &str) -> String {
    text(&http.call(tool, json!({}))).to_owned()
}

#[track_caller]
fn wait_until_tools(http: &Http, wanted: &[&str]) {
    wait_until(&format!("the tools are {wanted:?}: {}", http.log()), || tools(http) == wanted);
}

fn wait_until_tools_start_with(http: &Http, prefix: &str) {
    wait_until(&format!("the tools start with {prefix}"), || {
        tools(http).iter().all(|tool| tool.starts_with(prefix))
    });
}

/// A plugin in version 1, in its own file, with further settings in `more`.
fn versioned_plugin(more: &str) -> (Workspace, ReplaceableFile) {
    let workspace = Workspace::new(&config_text(more));
    let mut file = ReplaceableFile::new(workspace.path().join("one.wasm"));
    file.replace(&Plugin::version(1).build());
    (workspace, file)
}

fn config_text(more: &str) -> String {
    format!("version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.one]\nsource = \"one.wasm\"\n{more}\n")
}

/// Replaces the configuration by renaming, like most editors.
fn write_config(workspace: &Workspace, text: &str) {
    let new_file = workspace.path().join("gateway.toml.new");
    fs::write(&new_file, text).unwrap();
    fs::rename(new_file, workspace.config()).unwrap();
}

fn send_sighup(http: &Http) {
    let status = Command::new("kill").args(["-HUP", &http.pid().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn replaced_file_is_served_and_announced() {
    let (workspace, mut file) = versioned_plugin("");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    file.replace(&Plugin::version(2).tool("extra").build());
    while stdio.receive()["method"] != "notifications/tools/list_changed" {}
    let list = stdio.request_and_wait("tools/list", json!({}));
    let names: Vec<_> =
        list["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["one_version", "one_extra"]);
    assert_eq!(text(&stdio.call("one_extra", json!({}))), "v2");
}

#[test]
fn broken_builds_keep_the_running_version_and_log_the_cause() {
    let more = format!(
        "prefix = \"\"\nlimits = {{ component = \"{MAX_FILE_SIZE}\", describe_timeout = \"500ms\", cpu_time = \"20s\" }}\n\
         [plugins.other]\nsource = \"other.wasm\"\nprefix = \"\""
    );
    let (workspace, mut file) = versioned_plugin(&more);
    workspace.write("other.wasm", Plugin::version(1).without("version").tool(TAKEN_TOOL).build());
    let http = Http::start(&workspace);
    let machine_code = fs::read(precompiled(&workspace)).unwrap();
    assert_eq!(tools(&http), ["version", TAKEN_TOOL]);
    let mut newest = 1;
    for broken in BrokenPlugin::ALL {
        let known = http.log().len();
        broken.write_to(file.file(), newest + 1, &machine_code);
        let rejection_line = |log: &str| {
            let line = log[known..].lines().find(|line| line.contains("earlier version"));
            line.map(str::to_owned)
        };
        wait_until(&format!("{broken:?} is logged: {}", http.log()), || {
            rejection_line(&http.log()).is_some()
        });
        let line = rejection_line(&http.log()).unwrap();
        let file_or_table = if broken == BrokenPlugin::Conflict { "`one`" } else { "one.wasm" };
        for word in broken.expected_words().iter().chain(&[file_or_table]) {
            assert!(line.contains(word), "{broken:?}: `{word}` is missing in: {line}");
        }
        assert_eq!(version(&http, "version"), format!("v{newest}"), "{broken:?}");
        assert_eq!(tools(&http), ["version", TAKEN_TOOL]);
        broken.clear(file.file());
        newest += 2;
        file.replace(&Plugin::version(newest).build());
        wait_until(&format!("version {newest} replaces {broken:?}: {}", http.log()), || {
            version(&http, "version") == format!("v{newest}")
        });
    }
}

/// Machine code compiled by the gateway.
fn precompiled(workspace: &Workspace) -> std::path::PathBuf {
    let cache = workspace.path().join("code");
    let mut check = workspace.command(&["check"]);
    let output = check.env("MOONGATE_CACHE_DIR", &cache).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut files = fs::read_dir(&cache).unwrap().flatten().map(|entry| entry.path());
    files.find(|path| fs::metadata(path).is_ok_and(|meta| meta.len() > 10_000)).unwrap()
}

#[test]
fn reload_adds_removes_and_renames_plugins() {
    let (workspace, _file) = versioned_plugin("");
    workspace.write("two.wasm", Plugin::version(7).build());
    let http = Http::start(&workspace);
    write_config(&workspace, &config_text("[plugins.two]\nsource = \"two.wasm\""));
    wait_until_tools(&http, &["one_version", "two_version"]);
    assert_eq!(version(&http, "two_version"), "v7");
    write_config(&workspace, &config_text("[plugins.other]\nsource = \"two.wasm\""));
    wait_until_tools(&http, &["one_version", "other_version"]);
    write_config(&workspace, &config_text("prefix = \"x\""));
    wait_until_tools(&http, &["x_version"]);
    write_config(&workspace, &config_text("tools = { rename = { version = \"which\" } }"));
    wait_until_tools(&http, &["which"]);
}

#[test]
fn invalid_config_changes_nothing_and_logs_its_location() {
    let (workspace, mut file) = versioned_plugin("");
    let http = Http::start(&workspace);
    write_config(&workspace, &config_text("prefix = \"x\"\nsorce = 3"));
    http.wait_for_log("gateway.toml:7");
    http.wait_for_log("`source`");
    assert_eq!(tools(&http), ["one_version"]);
    file.replace(&Plugin::version(2).build());
    wait_until("version 2 is served", || version(&http, "one_version") == "v2");
    write_config(&workspace, &config_text("prefix = \"x\""));
    wait_until_tools(&http, &["x_version"]);
}

#[test]
fn grants_and_limits_apply_without_recompiling() {
    let text = |more: &str| {
        format!(
            "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = {:?}\n{more}\n",
            moongate_tests::component("zoo").display().to_string()
        )
    };
    let workspace = Workspace::new(&text(""));
    let http = Http::start(&workspace);
    let variable = || http.call("zoo_read_env", json!({}))["result"]["structuredContent"].clone();
    let before: Value = variable();
    write_config(&workspace, &text("allow.env = [\"PATH\"]"));
    wait_until(&format!("the variable is granted: {}", http.log()), || variable() != before);
    write_config(&workspace, &text(""));
    wait_until("the variable is revoked", || variable() == before);
    assert!(!http.log().contains("replaced:"), "{}", http.log());
}

#[test]
fn logs_granted_and_revoked_permissions_without_secrets() {
    let text = |more: &str| {
        let zoo = moongate_tests::component("zoo");
        format!("version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = {zoo:?}\n{more}\n")
    };
    let first = "[plugins.zoo.allow]\nenv = [\"PATH\"]\nhttp = [\"https://example.com\"]\n\
                 dirs = [{ host = \"notes\", guest = \"/notes\", mode = \"rw\" }]";
    let second = "config.key = { file = \"key\" }\n[plugins.zoo.allow]\nstate = true\nhttp = [\"https://example.com\"]\n\
                  credentials = [{ origin = \"https://example.com\", headers = { x-key = { file = \"key\" } } }]\n\
                  dirs = [{ host = \"notes\", guest = \"/notes\", mode = \"ro\" }]";
    let workspace = Workspace::new(&text(first));
    fs::create_dir(workspace.path().join("notes")).unwrap();
    workspace.write("key", "a-secret-of-some-length");
    let http = Http::start(&workspace);
    write_config(&workspace, &text(second));
    http.wait_for_log("newly granted: ");
    let log = http.log();
    let line = log.lines().find(|line| line.contains("newly granted: ")).unwrap();
    for name in ["state", "x-key", "config from file"] {
        let granted = line.split("revoked").next().unwrap();
        assert!(granted.contains(name), "{name}: {line}");
    }
    let taken = line.split("; revoked: ").nth(1).unwrap_or_else(|| panic!("{line}"));
    assert!(taken.contains("env PATH") && taken.contains("/notes") && taken.contains("(rw)"), "{line}");
    let kept = taken.split("; still granted: ").nth(1).unwrap_or_else(|| panic!("{line}"));
    assert!(kept.contains("/notes") && kept.contains("(ro)") && !kept.contains("example.com"), "{line}");
    assert!(!line.contains("https://example.com,"), "an unchanged grant was logged: {line}");
    assert!(!http.log().contains("a-secret"), "{}", http.log());
    write_config(&workspace, &text(&format!("prefix = \"x\"\n{second}")));
    wait_until_tools_start_with(&http, "x_");
    assert_eq!(http.log().matches("newly granted: ").count(), 1, "{}", http.log());
}

#[test]
fn revokes_grants_even_if_the_new_build_is_broken() {
    let text = |source: &str, more: &str| {
        format!("version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = {source:?}\n{more}\n")
    };
    let zoo = moongate_tests::component("zoo").display().to_string();
    let workspace = Workspace::new(&text(&zoo, "allow.env = [\"PATH\"]"));
    workspace.write("broken.wasm", &fs::read(&zoo).unwrap()[..10_000]);
    let http = Http::start(&workspace);
    let variables = || http.call("zoo_read_env", json!({}))["result"]["structuredContent"].to_string();
    assert!(variables().contains("PATH"));
    write_config(&workspace, &text("broken.wasm", ""));
    http.wait_for_log("the earlier version keeps serving");
    assert!(!variables().contains("PATH"), "{}", variables());
}

#[test]
fn missing_source_is_reported_once() {
    let (workspace, _file) = versioned_plugin("");
    let http = Http::start(&workspace);
    write_config(&workspace, &config_text("").replace("one.wasm", "nowhere.wasm"));
    http.wait_for_log("the earlier version keeps serving");
    let log = http.log();
    assert_eq!(log.matches("reconfigured with").count(), 1, "{log}");
    assert_eq!(version(&http, "one_version"), "v1");
}

#[test]
fn pinned_plugins_wait_for_a_reload_request() {
    let (workspace, mut file) = versioned_plugin("reload = \"pinned\"");
    let http = Http::start(&workspace);
    file.replace(&Plugin::version(2).build());
    http.wait_for_log("which isn't loaded because of `reload = \"pinned\"`");
    assert_eq!(version(&http, "one_version"), "v1");
    send_sighup(&http);
    wait_until("version 2 is served", || version(&http, "one_version") == "v2");
}

/// The digest of a plugin, as reported by the gateway.
fn sha256(plugin: &[u8]) -> String {
    let workspace = Workspace::new("[plugins.one]\nsource = \"one.wasm\"\n");
    workspace.write("one.wasm", plugin);
    let output = workspace.run(&["list", "plugins", "--format", "json"]);
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    list["plugins"][0]["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn loads_only_content_that_matches_the_pin() {
    let bytes = Plugin::version(1).build();
    let digest = sha256(&bytes);
    let (workspace, mut file) = versioned_plugin(&format!("sha256 = \"{digest}\""));
    let http = Http::start(&workspace);
    let new = Plugin::version(2).build();
    file.replace(&new);
    http.wait_for_log(&format!(" instead of {digest}"));
    assert_eq!(version(&http, "one_version"), "v1");
    write_config(&workspace, &config_text(&format!("sha256 = \"{}\"", sha256(&new))));
    wait_until("version 2 is served", || version(&http, "one_version") == "v2");
}

#[test]
fn wider_grants_wait_for_a_reload_request() {
    let text = |more: &str| {
        format!(
            "[gateway]\nwider_grants = \"wait\"\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.one]\nsource = \"one.wasm\"\n{more}\n"
        )
    };
    let (workspace, _file) = versioned_plugin("");
    write_config(&workspace, &format!("version = 1\n{}", text("")));
    let http = Http::start(&workspace);
    let two = "prefix = \"x\"\nallow.state = true\n[plugins.two]\nsource = \"one.wasm\"";
    write_config(&workspace, &format!("version = 1\n{}", text(two)));
    wait_until_tools(&http, &["one_version", "two_version"]);
    http.wait_for_log("`wider_grants = \"wait\"`");
    send_sighup(&http);
    wait_until_tools(&http, &["x_version", "two_version"]);
}

#[test]
fn revokes_grants_even_if_the_component_is_a_directory() {
    let text = |more: &str| {
        format!(
            "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"zoo.wasm\"\n{more}\n"
        )
    };
    let workspace = Workspace::new(&text("allow.env = [\"PATH\"]"));
    let component = workspace.path().join("zoo.wasm");
    fs::copy(moongate_tests::component("zoo"), &component).unwrap();
    let http = Http::start(&workspace);
    let variables = || http.call("zoo_read_env", json!({}))["result"]["structuredContent"].to_string();
    assert!(variables().contains("PATH"));
    fs::remove_file(&component).unwrap();
    fs::create_dir(&component).unwrap();
    write_config(&workspace, &text(""));
    wait_until(&format!("the grant is revoked: {}", http.log()), || !variables().contains("PATH"));
    http.wait_for_log("zoo.wasm` is a directory; the earlier version keeps serving");
}

#[test]
fn rejects_config_that_a_plugin_can_write() {
    let text = |more: &str| {
        format!(
            "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"zoo.wasm\"\n{more}\n"
        )
    };
    let workspace =
        Workspace::new(&text("allow.dirs = [{ host = \"own\", guest = \"/own\", mode = \"rw\" }]"));
    fs::create_dir(workspace.path().join("own")).unwrap();
    fs::copy(moongate_tests::component("zoo"), workspace.path().join("zoo.wasm")).unwrap();
    let http = Http::start(&workspace);
    let wish = text("allow.env = [\"PATH\"]");
    let written = http.call("zoo_write_file", json!({ "path": "/own/gateway.toml", "text": wish }));
    assert_eq!(moongate_tests::text(&written), "written");
    let link = workspace.path().join("link");
    std::os::unix::fs::symlink("own/gateway.toml", &link).unwrap();
    fs::rename(link, workspace.config()).unwrap();
    http.wait_for_log("the plugin `zoo` could change the configuration");
    let variables = http.call("zoo_read_env", json!({}))["result"]["structuredContent"].to_string();
    assert!(!variables.contains("PATH"), "{variables}");
}
