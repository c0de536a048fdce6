//! Notifications to the service manager, and the systemd unit file.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use moongate_tests::{Http, Workspace, gateway_binary, project_root, send_signal};
use tempfile::TempDir;

/// How long a test waits for an expected event. Generous, because the machine can be busy.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

/// A stand-in for the service manager.
struct ServiceManager {
    socket: UnixDatagram,
    directory: TempDir,
}

impl ServiceManager {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
        Self { socket, directory }
    }

    fn command(&self, workspace: &Workspace) -> Command {
        let mut command = workspace.command(&["serve"]);
        command.env("NOTIFY_SOCKET", self.directory.path().join("notify"));
        command
    }

    /// The lines of the next notification.
    #[track_caller]
    fn next_notification(&self) -> Vec<String> {
        let mut message = [0; 4096];
        let size = self.socket.recv(&mut message).expect("a notification arrives");
        String::from_utf8_lossy(&message[..size]).lines().map(str::to_owned).collect()
    }

    /// The next notification that contains this line.
    #[track_caller]
    fn wait_for(&self, line: &str) -> Vec<String> {
        loop {
            let lines = self.next_notification();
            if lines.iter().any(|received| received == line) {
                return lines;
            }
        }
    }

    /// The time of the next reload notification.
    #[track_caller]
    fn wait_for_reload(&self) -> u128 {
        let lines = self.next_notification();
        assert_eq!(lines.first().map(String::as_str), Some("RELOADING=1"), "{lines:?}");
        let time = lines.iter().find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
        let time = time.unwrap_or_else(|| panic!("no time: {lines:?}")).parse().unwrap();
        assert_eq!(self.next_notification(), ["READY=1", "STATUS=1 plugin, 2 tools"]);
        time
    }
}

#[test]
fn notifies_systemd_of_start_reload_and_stop() {
    let manager = ServiceManager::new();
    let workspace = Workspace::with_plugin("time");
    let http = Http::spawn(manager.command(&workspace));
    assert_eq!(manager.next_notification(), ["STATUS=loading 1 plugin"]);
    assert_eq!(manager.next_notification(), ["READY=1", "STATUS=1 plugin, 2 tools"]);
    send_signal(http.pid(), "HUP");
    let first = manager.wait_for_reload();
    send_signal(http.pid(), "HUP");
    assert!(manager.wait_for_reload() > first, "the timestamp must be newer than the first one");
    let (status, log) = http.terminate();
    assert!(status.success(), "{status}: {log}");
    assert_eq!(manager.next_notification()[0], "STOPPING=1");
    manager.socket.set_nonblocking(true).unwrap();
    assert!(manager.socket.recv(&mut [0; 1]).is_err(), "a notification arrived after the exit");
}

#[test]
fn sighup_during_startup_reloads_afterwards() {
    let manager = ServiceManager::new();
    let workspace = Workspace::with_plugin("time");
    let mut child = manager.command(&workspace).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(manager.next_notification(), ["STATUS=loading 1 plugin"]);
    send_signal(child.id(), "HUP");
    assert_eq!(manager.next_notification()[0], "READY=1");
    manager.wait_for_reload();
    send_signal(child.id(), "TERM");
    assert!(child.wait().unwrap().success());
}

#[test]
fn status_notification_follows_reloads() {
    let manager = ServiceManager::new();
    let workspace = Workspace::with_plugin("time");
    let http = Http::spawn(manager.command(&workspace));
    manager.wait_for("READY=1");
    let config = fs::read_to_string(workspace.config()).unwrap();
    workspace.write(
        "gateway.toml",
        config.replace("[plugins.time]", "[plugins.time]\ntools.deny = [\"convert_time\"]"),
    );
    manager.wait_for("STATUS=1 plugin, 1 tool");
    workspace.write("torn.wasm", b"\0asm");
    workspace.write("gateway.toml", format!("{config}[plugins.torn]\nsource = \"torn.wasm\"\n"));
    manager.wait_for("STATUS=1 plugin, 2 tools; 1 failed");
    drop(http);
}

#[test]
fn sends_watchdog_notifications() {
    let manager = ServiceManager::new();
    let workspace = Workspace::with_plugin("time");
    let mut command = manager.command(&workspace);
    let http = Http::spawn({
        command.env("WATCHDOG_USEC", "20000");
        command
    });
    manager.wait_for("READY=1");
    for _ in 0..3 {
        manager.wait_for("WATCHDOG=1");
    }
    drop(http);
}

/// Keys that can occur more than once in a unit.
const REPEATABLE_KEYS: [&str; 3] = ["Environment", "SystemCallFilter", "LoadCredential"];

#[test]
fn unit_file_uses_existing_commands_and_options() {
    let unit = fs::read_to_string(project_root().join("contrib/systemd/moongate.service")).unwrap();
    let mut keys = BTreeSet::new();
    let mut sections = Vec::new();
    let value = |key: &str| {
        let lines = unit.lines().filter_map(|line| line.split_once('='));
        lines
            .filter(|(name, _)| *name == key)
            .map(|(_, value)| value)
            .next()
            .unwrap_or_else(|| panic!("missing key {key}"))
    };
    for line in unit.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(section) = line.strip_prefix('[') {
            sections.push(section.trim_end_matches(']'));
            continue;
        }
        let (key, _) = line.split_once('=').unwrap_or_else(|| panic!("not a setting: {line}"));
        assert!(key.chars().all(char::is_alphanumeric), "not a key: {line}");
        assert!(keys.insert(key) || REPEATABLE_KEYS.contains(&key), "duplicate key `{key}`");
    }
    assert_eq!(sections, ["Unit", "Service", "Install"]);
    assert!(!keys.contains("MemoryDenyWriteExecute"), "it would prevent compilation");
    // Older versions of systemd don't know `notify-reload`, and would run the service as `simple`.
    assert_eq!(value("Type"), "notify");
    assert_eq!(value("ExecReload"), "/bin/kill -HUP $MAINPID");

    let run = |arguments: &[&str]| {
        let output = Command::new(gateway_binary()).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let words: Vec<_> = value("ExecStart").split(' ').collect();
    assert!(words[0].ends_with("/moongate"));
    let help = run(&[words[1], "--help"]);
    for flag in words[2..].iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(flag), "`{}` has no `{flag}`: {help}", words[1]);
    }
    let codes = run(&["--help"]);
    for code in value("RestartPreventExitStatus").split(' ') {
        assert!(
            codes.lines().any(|line| line.trim_start().starts_with(&format!("{code}  "))),
            "{code}: {codes}"
        );
    }
    let grace: u64 = value("TimeoutStopSec").parse().unwrap();
    assert!(grace > 30, "must exceed the default `stop_grace`");
}

/// The drop-in replaces both settings with those that only newer versions know.
#[test]
fn drop_in_makes_newer_systemd_wait_for_reloads() {
    let directory = project_root().join("contrib/systemd/moongate.service.d");
    let drop_in = fs::read_to_string(directory.join("notify-reload.conf")).unwrap();
    let settings: Vec<_> =
        drop_in.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(settings, ["[Service]", "Type=notify-reload", "ExecReload="]);
}

/// Runs `systemd-analyze` if it is installed, as it is wherever the units can be used.
fn systemd_analyze(words: &[&str], directory: &Path) -> Option<Output> {
    let mut command = Command::new("systemd-analyze");
    match command.args(words).current_dir(directory).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("systemd-analyze: {error}"),
    }
}

/// The units as they are installed, with the path of the built gateway.
fn installed_units() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for unit in ["moongate.service", "moongate.socket"] {
        let text = fs::read_to_string(project_root().join("contrib/systemd").join(unit)).unwrap();
        let text = text.replace("/usr/local/bin/moongate", gateway_binary().to_str().unwrap());
        fs::write(directory.path().join(unit), text).unwrap();
    }
    directory
}

#[track_caller]
fn verify_units(directory: &Path) {
    let words = ["verify", "--man=no", "./moongate.service", "./moongate.socket"];
    if let Some(output) = systemd_analyze(&words, directory) {
        let warnings = String::from_utf8_lossy(&output.stderr).into_owned();
        // Known since systemd 258.
        let unexpected: Vec<_> =
            warnings.lines().filter(|line| !line.contains("AcceptFileDescriptors")).collect();
        assert!(output.status.success() && unexpected.is_empty(), "{output:?}");
    }
}

#[test]
fn systemd_accepts_the_units() {
    let directory = installed_units();
    verify_units(directory.path());
    // The exposure is 1.5 of 10. A higher one means that a restriction was lost.
    let words = ["security", "--offline=true", "--threshold=20", "--no-pager", "./moongate.service"];
    if let Some(output) = systemd_analyze(&words, directory.path()) {
        assert!(output.status.success(), "{output:?}");
    }
}

/// The drop-ins on the page are valid, and change only settings that the unit has or that grant something.
#[test]
fn systemd_accepts_the_documented_drop_ins() {
    let page = fs::read_to_string(project_root().join("docs/operations.md")).unwrap();
    let drop_ins: Vec<&str> = page
        .split("```ini\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(text, _)| text))
        .collect();
    assert!(drop_ins.len() >= 3, "{drop_ins:?}");
    for drop_in in drop_ins {
        let directory = installed_units();
        let own = directory.path().join("moongate.service.d");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("override.conf"), drop_in).unwrap();
        verify_units(directory.path());
    }
}
