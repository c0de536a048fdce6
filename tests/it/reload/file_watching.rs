//! File changes while the gateway serves, in every way in which programs write files.
//!
//! Polling runs once an hour here unless a test configures it, so the system's notifications are what detects changes.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{Stdio, Workspace, text};
use serde_json::json;

const PLUGIN: &str = "dist/p.wasm";

/// A plugin with a tool named after its version.
fn plugin_version(version: u32) -> Vec<u8> {
    Plugin::version(version).tool(format!("only_{version}")).build()
}

fn config_text(source: &str) -> String {
    format!("[gateway]\npoll = \"1h\"\n[plugins.p]\nsource = \"{source}\"\n")
}

/// A gateway with a client that lists the tools again after each notification.
struct Client {
    workspace: Workspace,
    stdio: Stdio,
    notifications: usize,
}

impl Client {
    fn new(workspace: Workspace) -> Self {
        let stdio = Stdio::initialized(&workspace, "2025-11-25");
        let mut client = Self { workspace, stdio, notifications: 0 };
        client.tools(); // wait until the gateway serves
        client
    }

    /// Version 1 of a plugin at [`PLUGIN`].
    fn with_plugin() -> Self {
        let workspace = Workspace::new(&config_text(PLUGIN));
        workspace.write(PLUGIN, plugin_version(1));
        let mut client = Self::new(workspace);
        client.wait_for_version(1);
        client
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    fn tools(&mut self) -> Vec<String> {
        let list = self.stdio.request_and_wait("tools/list", json!({}));
        let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tool list: {list}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for a `list_changed` notification.
    fn wait_for_notification(&mut self) {
        while self.stdio.receive()["method"] != "notifications/tools/list_changed" {}
        self.notifications += 1;
    }

    /// Waits until the tool is listed.
    fn wait_until_listed(&mut self, tool: &str) {
        while !self.tools().iter().any(|name| name == tool) {
            self.wait_for_notification();
        }
    }

    /// Waits until this version is listed, and checks that it answers.
    fn wait_for_version(&mut self, version: u32) {
        self.wait_until_listed(&format!("p_only_{version}"));
        self.assert_version(version);
    }

    fn assert_version(&mut self, version: u32) {
        let answer = self.stdio.call(&format!("p_{TOOL}"), json!({}));
        assert_eq!(text(&answer), format!("v{version}"));
    }
}

#[test]
fn detects_rename_over_the_file() {
    let mut client = Client::with_plugin();
    for version in 2..5 {
        client.workspace.write("dist/.p.wasm.tmp", plugin_version(version));
        fs::rename(client.path("dist/.p.wasm.tmp"), client.path(PLUGIN)).unwrap();
        client.wait_for_version(version);
    }
}

#[test]
fn detects_slow_in_place_writes() {
    let mut client = Client::with_plugin();
    for version in 2..4 {
        let bytes = plugin_version(version);
        let mut file = File::create(client.path(PLUGIN)).unwrap();
        for part in bytes.chunks(bytes.len() / 4) {
            client.assert_version(version - 1);
            file.write_all(part).unwrap();
            file.flush().unwrap();
        }
        drop(file);
        client.wait_for_version(version);
    }
}

#[test]
fn detects_delete_and_create() {
    let mut client = Client::with_plugin();
    fs::remove_file(client.path(PLUGIN)).unwrap();
    client.workspace.write(PLUGIN, plugin_version(2));
    client.wait_for_version(2);
    fs::remove_file(client.path(PLUGIN)).unwrap();
    client.assert_version(2);
    client.workspace.write(PLUGIN, plugin_version(3));
    client.wait_for_version(3);
}

#[test]
fn detects_move_from_another_directory() {
    let mut client = Client::with_plugin();
    client.workspace.write("build/out.wasm", plugin_version(2));
    fs::rename(client.path("build/out.wasm"), client.path(PLUGIN)).unwrap();
    client.wait_for_version(2);
}

#[test]
fn detects_hard_link_replacement() {
    let mut client = Client::with_plugin();
    for version in 2..4 {
        client.workspace.write(&format!("build/{version}.wasm"), plugin_version(version));
        fs::remove_file(client.path(PLUGIN)).unwrap();
        fs::hard_link(client.path(&format!("build/{version}.wasm")), client.path(PLUGIN)).unwrap();
        client.wait_for_version(version);
    }
}

#[test]
fn detects_retargeted_file_symlink() {
    let workspace = Workspace::new(&config_text("current.wasm"));
    for version in 1..4 {
        workspace.write(&format!("releases/{version}/p.wasm"), plugin_version(version));
    }
    symlink("releases/1/p.wasm", workspace.path().join("current.wasm")).unwrap();
    let mut client = Client::new(workspace);
    client.wait_for_version(1);
    // Like `ln -sfn`.
    symlink("releases/2/p.wasm", client.path("next")).unwrap();
    fs::rename(client.path("next"), client.path("current.wasm")).unwrap();
    client.wait_for_version(2);
    fs::remove_file(client.path("current.wasm")).unwrap();
    symlink(client.path("releases/3/p.wasm"), client.path("current.wasm")).unwrap();
    client.wait_for_version(3);
    client.workspace.write("releases/3/p.wasm", plugin_version(4));
    client.wait_for_version(4);
}

#[test]
fn detects_retargeted_directory_symlink() {
    let workspace = Workspace::new(&config_text("current/p.wasm"));
    workspace.write("releases/1/p.wasm", plugin_version(1));
    workspace.write("releases/2/p.wasm", plugin_version(2));
    symlink("releases/1", workspace.path().join("current")).unwrap();
    let mut client = Client::new(workspace);
    client.wait_for_version(1);
    symlink("releases/2", client.path("next")).unwrap();
    fs::rename(client.path("next"), client.path("current")).unwrap();
    client.wait_for_version(2);
}

/// Updates a mounted volume in `directory` like Kubernetes: files are symlinks through the symlink `..data`, which is
/// retargeted.
fn swap(directory: &Path, version: u32, files: &[(&str, &[u8])]) {
    let name = format!("..2024_{version}");
    fs::create_dir_all(directory.join(&name)).unwrap();
    for (file, content) in files {
        fs::write(directory.join(&name).join(file), content).unwrap();
        if version == 1 {
            symlink(Path::new("..data").join(file), directory.join(file)).unwrap();
        }
    }
    symlink(&name, directory.join("..data_tmp")).unwrap();
    fs::rename(directory.join("..data_tmp"), directory.join("..data")).unwrap();
    let _ = fs::remove_dir_all(directory.join(format!("..2024_{}", version - 1)));
}

#[test]
fn detects_component_in_updated_kubernetes_volume() {
    let workspace = Workspace::new(&config_text("map/p.wasm"));
    let map = workspace.path().join("map");
    swap(&map, 1, &[("p.wasm", &plugin_version(1))]);
    let mut client = Client::new(workspace);
    client.wait_for_version(1);
    for version in 2..5 {
        swap(&map, version, &[("p.wasm", &plugin_version(version))]);
        client.wait_for_version(version);
    }
}

#[test]
fn detects_config_in_updated_kubernetes_volume() {
    let workspace = Workspace::new("");
    let directory = workspace.path().to_owned();
    let listen = "[http]\nlisten = \"127.0.0.1:0\"\n";
    let config = |prefix: &str| {
        format!(
            "version = 1\n{}prefix = \"{prefix}\"\n{listen}",
            config_text(&directory.join(PLUGIN).display().to_string())
        )
    };
    workspace.write(PLUGIN, plugin_version(1));
    fs::remove_file(workspace.config()).unwrap();
    swap(&directory, 1, &[("gateway.toml", config("one").as_bytes())]);
    let mut client = Client::new(workspace);
    client.wait_until_listed("one_only_1");
    swap(&directory, 2, &[("gateway.toml", config("two").as_bytes())]);
    client.wait_until_listed("two_only_1");
    swap(&directory, 3, &[("gateway.toml", config("three").as_bytes())]);
    client.wait_until_listed("three_only_1");
}

#[test]
fn detects_directory_created_later() {
    let mut client = Client::new(Workspace::new(&config_text("target/wasm/release/p.wasm")));
    assert!(client.tools().is_empty());
    client.workspace.write("target/wasm/release/p.wasm", plugin_version(1));
    client.wait_for_version(1);
    client.workspace.write("target/wasm/release/p.wasm", plugin_version(2));
    client.wait_for_version(2);
}

#[test]
fn detects_directory_removed_and_recreated() {
    let mut client = Client::with_plugin();
    for version in 2..5 {
        fs::remove_dir_all(client.path("dist")).unwrap();
        client.workspace.write(PLUGIN, plugin_version(version));
        client.wait_for_version(version);
    }
    client.workspace.write(PLUGIN, plugin_version(5));
    client.wait_for_version(5);
    let (_, _, log) = client.stdio.finish();
    assert!(!log.contains("notify"), "a removed directory must not be reported: {log}");
}

#[test]
fn detects_replaced_directory() {
    let mut client = Client::with_plugin();
    for version in 2..4 {
        client.workspace.write("dist.new/p.wasm", plugin_version(version));
        fs::rename(client.path("dist"), client.path(&format!("dist.{version}"))).unwrap();
        fs::rename(client.path("dist.new"), client.path("dist")).unwrap();
        client.wait_for_version(version);
    }
}

#[test]
fn ignores_unrelated_files_in_the_directory() {
    let mut client = Client::with_plugin();
    for number in 0..2000 {
        client.workspace.write(&format!("dist/{number}.o"), "x");
    }
    client.workspace.write("dist/.p.wasm.tmp", plugin_version(2));
    fs::rename(client.path("dist/.p.wasm.tmp"), client.path(PLUGIN)).unwrap();
    client.wait_for_version(2);
    assert_eq!(client.notifications, 1);
}

#[test]
fn constant_writes_do_not_delay_other_reloads() {
    let mut client = Client::with_plugin();
    let config = fs::read(client.workspace.config()).unwrap();
    let next = client.path("gateway.toml.next");
    let place = client.workspace.config();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                fs::write(&next, &config).unwrap();
                fs::rename(&next, &place).unwrap();
            }
        });
        for version in 2..4 {
            client.workspace.write("dist/.p.wasm.tmp", plugin_version(version));
            fs::rename(client.path("dist/.p.wasm.tmp"), client.path(PLUGIN)).unwrap();
            client.wait_for_version(version);
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(client.notifications, 2);
}

#[test]
fn unwatched_files_are_reloaded_on_request() {
    let config = format!("[gateway]\nwatch = false\n[plugins.p]\nsource = \"{PLUGIN}\"\n");
    let workspace = Workspace::new(&config);
    workspace.write(PLUGIN, plugin_version(1));
    let mut client = Client::new(workspace);
    client.wait_for_version(1);
    for version in 2..4 {
        client.workspace.write(PLUGIN, plugin_version(version));
        client.assert_version(1);
    }
    let pid = client.stdio.pid().to_string();
    assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    client.wait_for_version(3);
    assert_eq!(client.notifications, 1);
}

#[test]
fn ignores_identical_content() {
    let mut client = Client::with_plugin();
    client.workspace.write("other.wasm", Plugin::version(1).tool("other_1").build());
    client.workspace.write("gateway.toml.next", with_another(&client.workspace));
    client.workspace.write(PLUGIN, plugin_version(1));
    client.workspace.write("dist/again.wasm", plugin_version(1));
    fs::rename(client.path("dist/again.wasm"), client.path(PLUGIN)).unwrap();
    client.workspace.write("gateway.toml", fs::read(client.workspace.config()).unwrap());
    // A real change follows.
    fs::rename(client.path("gateway.toml.next"), client.workspace.config()).unwrap();
    client.wait_until_listed("another_other_1");
    assert_eq!(client.notifications, 1);
    client.workspace.write("dist/again.wasm", plugin_version(2));
    fs::rename(client.path("dist/again.wasm"), client.path(PLUGIN)).unwrap();
    client.wait_for_version(2);
    assert_eq!(client.notifications, 2);
}

/// The configuration with another plugin at `other.wasm`.
fn with_another(workspace: &Workspace) -> String {
    let config = fs::read_to_string(workspace.config()).unwrap();
    format!("{config}\n[plugins.another]\nsource = \"other.wasm\"\n")
}

#[test]
fn polling_finds_unreported_writes() {
    let config = config_text(PLUGIN).replace("1h", "100ms");
    let workspace = Workspace::new(&config);
    workspace.write("elsewhere/p.wasm", plugin_version(1));
    fs::create_dir(workspace.path().join("dist")).unwrap();
    fs::hard_link(workspace.path().join("elsewhere/p.wasm"), workspace.path().join(PLUGIN)).unwrap();
    let mut client = Client::new(workspace);
    client.wait_for_version(1);
    // Written through a hard link in an unwatched directory, like on a mount without notifications.
    for version in 2..4 {
        client.workspace.write("elsewhere/p.wasm", plugin_version(version));
        client.wait_for_version(version);
    }
}

#[test]
fn detects_config_saved_by_an_editor() {
    let mut client = Client::with_plugin();
    let (without, with) =
        (fs::read_to_string(client.workspace.config()).unwrap(), with_another(&client.workspace));
    client.workspace.write("other.wasm", Plugin::version(1).tool("other_1").build());
    // Written in place.
    client.workspace.write("gateway.toml", &with);
    client.wait_until_listed("another_other_1");
    // Renamed to a backup and created again.
    fs::rename(client.workspace.config(), client.path("gateway.toml~")).unwrap();
    client.workspace.write("gateway.toml", &without);
    while client.tools().iter().any(|tool| tool.starts_with("another_")) {
        client.wait_for_notification();
    }
    // An incomplete file is rejected without side effects.
    client.workspace.write("gateway.toml", "[plugins");
    client.assert_version(1);
    client.workspace.write("gateway.toml", &with);
    client.wait_until_listed("another_other_1");
}

#[test]
fn loads_component_created_after_its_config() {
    let mut client = Client::with_plugin();
    let with = with_another(&client.workspace);
    client.workspace.write("gateway.toml", &with);
    client.workspace.write("other.wasm", Plugin::version(1).tool("other_1").build());
    client.wait_until_listed("another_other_1");
    client.workspace.write("other.wasm", Plugin::version(1).tool("other_2").build());
    client.wait_until_listed("another_other_2");
}

#[test]
fn detects_changed_secret_file() {
    let workspace = Workspace::new(
        "[gateway]\npoll = \"1h\"\n[plugins.zoo]\nsource = \"@zoo@\"\n\
         [plugins.zoo.config]\ntoken = { file = \"secrets/token\" }\n",
    );
    let secrets = workspace.path().join("secrets");
    swap(&secrets, 1, &[("token", b"the-first-secret")]);
    let mut client = Client::new(workspace);
    for (version, secret) in [(2, "the-second-secret"), (3, "the-third-secret")] {
        swap(&secrets, version, &[("token", secret.as_bytes())]);
        // The lists don't change, so there is no notification.
        while text(&client.stdio.call("zoo_config_get", json!({ "key": "token" }))) != secret {}
    }
    assert_eq!(client.notifications, 0);
}
