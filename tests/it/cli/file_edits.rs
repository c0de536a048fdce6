//! Edits of files by several commands at once, by root, and of unusual files.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::install::Home;

/// A lock file that is cut off within an entry.
const HALF_A_LOCK: &str = "version = 1\n\n[plugins.web]\nsource = \"https://example.com/web.wasm\"\n";

/// Starts commands at once. Returns those that succeeded, and the messages of the others.
fn run_all(home: &Home, commands: &[Vec<String>]) -> (Vec<usize>, Vec<String>) {
    let start = |words: &Vec<String>| -> Child {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        home.command(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<Child> = commands.iter().map(start).collect();
    let (mut succeeded, mut messages) = (Vec::new(), Vec::new());
    for (number, child) in running.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            succeeded.push(number);
        } else {
            messages.push(String::from_utf8(output.stderr).unwrap());
        }
    }
    (succeeded, messages)
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn concurrent_edits_of_a_hosts_file_lose_nothing() {
    let home = Home::new();
    home.succeed(&["init"]);
    let commands: Vec<_> = (0..6)
        .map(|number| words(&format!("client cursor --write --file h.json --name m{number}")))
        .collect();
    let (succeeded, messages) = run_all(&home, &commands);
    assert_eq!(succeeded.len(), 6, "{messages:?}");
    let text: Value = serde_json::from_str(&fs::read_to_string(home.path("h.json")).unwrap()).unwrap();
    let servers = text["mcpServers"].as_object().unwrap();
    assert!((0..6).all(|number| servers.contains_key(&format!("m{number}"))), "{text}");
}

#[test]
fn a_concurrent_add_is_in_the_file_or_reports_that_it_isnt() {
    let home = Home::new();
    home.succeed(&["init"]);
    let commands: Vec<_> = (0..6).map(|number| words(&format!("add time --name t{number} --yes"))).collect();
    let (succeeded, messages) = run_all(&home, &commands);
    let config = fs::read_to_string(home.path("gateway.toml")).unwrap();
    for number in 0..6 {
        let is_there = config.contains(&format!("[plugins.t{number}]"));
        assert_eq!(is_there, succeeded.contains(&number), "t{number}: {config}");
    }
    assert!(!succeeded.is_empty());
    assert!(
        messages.iter().all(|message| message.contains("was changed by another program")),
        "{messages:?}"
    );
}

/// Root edits the configuration of a service and the files of users.
#[test]
fn root_keeps_owner_and_group() {
    let home = Home::new();
    home.succeed(&["init"]);
    fs::write(home.path("h.json"), "{}").unwrap();
    let files = ["gateway.toml", "h.json"].map(|name| home.path(name));
    for file in &files {
        if chown(file, Some(1234), Some(65532)).is_err() {
            return; // not root
        }
        fs::set_permissions(file, fs::Permissions::from_mode(0o640)).unwrap();
    }
    home.succeed(&["add", "time", "--yes"]);
    home.succeed(&["client", "cursor", "--write", "--file", "h.json"]);
    home.succeed(&["remove", "time"]);
    for file in files.iter().chain([&home.path("h.json.moongate-backup")]) {
        let found = fs::metadata(file).unwrap();
        let shown = (found.uid(), found.gid(), found.mode() & 0o777);
        assert_eq!(shown, (1234, 65532, 0o640), "{}", file.display());
    }
}

#[test]
fn unusual_hosts_files_are_followed_or_refused() {
    let home = Home::new();
    home.succeed(&["init"]);
    fs::create_dir(home.path("dotfiles")).unwrap();
    symlink("dotfiles/mcp.json", home.path("h.json")).unwrap();
    home.succeed(&["client", "cursor", "--write", "--file", "h.json"]);
    assert!(fs::symlink_metadata(home.path("h.json")).unwrap().is_symlink());
    assert!(home.path("dotfiles/mcp.json").is_file());
    let pipe = home.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for file in [pipe.to_str().unwrap(), "/dev/full"] {
        let output = home.run(&["client", "cursor", "--write", "--file", file]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("not a regular file"), "{output:?}");
    }
}

/// In a container, every process has the same id.
#[test]
fn the_remains_of_a_crash_prevent_no_edit() {
    let home = Home::new();
    home.succeed(&["init"]);
    for number in 0..3 {
        fs::write(home.path(&format!(".gateway.toml.{number}")), "").unwrap();
    }
    home.succeed(&["add", "time", "--yes"]);
}

#[test]
fn remove_changes_nothing_if_the_lock_file_is_unusable() {
    let home = Home::new();
    let config = "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.time]\nsource = \"builtin:time\"\n\n\
                  [plugins.web]\nsource = \"https://example.com/web.wasm\"\n";
    for lock in ["<<<<<<< ours\n", "version = 2\n", HALF_A_LOCK, ""] {
        fs::write(home.path("gateway.toml"), config).unwrap();
        fs::write(home.path("moongate.lock"), lock).unwrap();
        let failed = home.run(&["remove", "web"]);
        assert_eq!(failed.status.code(), Some(1), "{lock}: {failed:?}");
        assert_eq!(fs::read_to_string(home.path("gateway.toml")).unwrap(), config, "{lock}");
        // A built-in plugin has no entry in it.
        home.succeed(&["remove", "time"]);
        assert_eq!(fs::read_to_string(home.path("moongate.lock")).unwrap(), lock);
    }
}

#[test]
fn codex_keeps_the_variables_of_its_server() {
    let home = Home::new();
    home.succeed(&["init"]);
    home.succeed(&["client", "codex", "--write"]);
    let file = home.path(".codex/config.toml");
    let text = fs::read_to_string(&file).unwrap().replace("args = [", "args = [\"--old\", ");
    fs::write(&file, format!("{text}\n[mcp_servers.moongate.env]\nKEY = \"1\"\n")).unwrap();
    home.succeed(&["client", "codex", "--write"]);
    let after = fs::read_to_string(&file).unwrap();
    assert!(
        after.ends_with("[mcp_servers.moongate.env]\nKEY = \"1\"\n") && !after.contains("--old"),
        "{after}"
    );
    let again = home.succeed(&["client", "codex", "--write"]);
    assert!(again.contains("already contains"), "{again}");
}

#[test]
fn addresses_without_a_scheme_and_in_other_commands_have_a_hint() {
    let home = Home::new();
    home.succeed(&["init"]);
    for (words, hint) in [
        (["add", "ghcr.io/acme/time:1.0"], "write `oci://ghcr.io/acme/time:1.0`"),
        (["add", "localhost:5000/time@sha256:0"], "write `oci://localhost:5000/time@sha256:0`"),
        (["inspect", "oci://ghcr.io/acme/time:1.0"], "`moongate add oci://ghcr.io/acme/time:1.0`"),
    ] {
        let output = home.run(&words);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(hint), "{output:?}");
    }
    let upper = home.run(&["add", "HTTPS://127.0.0.1:1/time.wasm"]);
    assert!(String::from_utf8_lossy(&upper.stderr).contains("127.0.0.1:1"), "{upper:?}");
    assert_eq!(upper.status.code(), Some(1));
}
