//! The Unix socket: sessions of several clients, who can connect, and what becomes of the file.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use moongate_tests::{Http, Stdio, Workspace, peak_memory, send_signal, stateless_request, text, wait_until};
use serde_json::{Value, json};

use super::roles::{EVERYTHING, names, replace_in_config};

/// The address in the workspace.
const ADDRESS: &str = "unix:run/mcp.sock";

const SOCKET: &str = "[unix_socket]\npath = \"run/mcp.sock\"\n";

const CONVERT: &str = "time_convert_time";

fn workspace(tables: &str) -> Workspace {
    Workspace::new(&format!("{SOCKET}{tables}[plugins.time]\nsource = \"@time@\"\n"))
}

fn socket_path(workspace: &Workspace) -> PathBuf {
    workspace.path().join("run/mcp.sock")
}

fn own_uid(workspace: &Workspace) -> u32 {
    fs::metadata(workspace.path()).unwrap().uid()
}

/// Sends one line and returns the next one.
#[track_caller]
fn exchange(workspace: &Workspace, message: &Value) -> Value {
    let mut stream = UnixStream::connect(socket_path(workspace)).unwrap();
    writeln!(stream, "{message}").unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
}

#[test]
fn serves_several_sessions_of_every_revision_at_once() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let arguments = json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let mut clients = Vec::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Stdio::connect(&workspace, ADDRESS);
        client.initialize(revision);
        clients.push(client);
    }
    for client in &mut clients {
        let answer = client.call(CONVERT, arguments.clone());
        assert!(text(&answer).contains("21:00"), "{answer}");
    }
    let stateless = json!({ "name": CONVERT, "arguments": arguments });
    let answer = exchange(&workspace, &stateless_request(7, "tools/call", stateless));
    assert!(text(&answer).contains("21:00"), "{answer}");
    for client in clients {
        let (rest, status, log) = client.finish();
        assert!(rest.is_empty() && status.success(), "{status}: {log}");
    }
    drop(http);
}

#[test]
fn the_socket_is_private_and_removed_at_the_end() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let meta = fs::symlink_metadata(socket_path(&workspace)).unwrap();
    assert!(meta.file_type().is_socket());
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    let directory = fs::metadata(workspace.path().join("run")).unwrap();
    assert_eq!(directory.permissions().mode() & 0o777, 0o700);
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    assert!(!socket_path(&workspace).exists());
}

#[test]
fn a_live_socket_is_an_error_and_a_stale_one_is_replaced() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let second = workspace.run(&["serve", "--listen"]);
    let error = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{error}");
    assert!(error.contains("another program listens on it"), "{error}");
    send_signal(http.pid(), "KILL");
    drop(http);
    assert!(socket_path(&workspace).exists(), "a killed gateway leaves its socket behind");
    let _http = Http::start(&workspace);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(exchange(&workspace, &ping), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
}

#[test]
fn refuses_a_directory_that_others_can_change() {
    let workspace = workspace("");
    let run = workspace.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
    let output = workspace.run(&["serve", "--listen"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("is writable by others") && error.contains("$XDG_RUNTIME_DIR"), "{error}");
    assert!(!socket_path(&workspace).exists());
}

#[test]
fn plugins_cannot_be_granted_the_directory_of_the_socket() {
    let workspace = Workspace::new(&format!(
        "{SOCKET}[plugins.zoo]\nsource = \"@zoo@\"\nallow.dirs = [{{ host = \"run\", guest = \"/run\", mode = \"rw\" }}]\n"
    ));
    fs::create_dir(workspace.path().join("run")).unwrap();
    let output = workspace.run(&["check"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("could change the Unix socket"), "{error}");
    let text = fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", text.replace(SOCKET, ""));
    let output = workspace.run(&["serve", "--listen", ADDRESS]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(78), "{error}");
    assert!(error.contains("could change the Unix socket"), "{error}");
    assert!(!socket_path(&workspace).exists());
}

#[test]
fn roles_name_users_by_their_number() {
    let workspace = workspace(EVERYTHING);
    let own = own_uid(&workspace);
    let role = |uid: u32| format!("[roles.own]\nmembers = [{{ uid = {uid} }}]\nallow.plugins = [\"time\"]\n");
    let text = fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", format!("{text}{}", role(own + 1)));
    let http = Http::start(&workspace);
    let mut client = Stdio::connect(&workspace, ADDRESS);
    client.initialize("2025-11-25");
    let mut tools = || {
        let list = client.request_and_wait("tools/list", json!({}));
        names(&list["result"], "tools", "name")
    };
    assert_eq!(tools(), [""; 0]);
    replace_in_config(&workspace, &role(own + 1), &role(own));
    wait_until("the role applies", || !tools().is_empty());
    assert!(tools().iter().all(|tool| tool.starts_with("time_")));
    let listed = workspace.run(&["list", "tools", "--as", &format!("uid:{own}"), "--format", "json"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains(CONVERT) && !listed.contains("everything_"), "{listed}");
    drop(http);
}

#[test]
fn commands_reach_the_gateway_over_the_socket() {
    let workspace = workspace("");
    let arguments = ["source_timezone=UTC", "time=12:00", "target_timezone=Asia/Tokyo"];
    let call = [&["call", "--url", ADDRESS, CONVERT], &arguments[..]].concat();
    let silent = workspace.run(&call);
    assert_eq!(silent.status.code(), Some(4), "{silent:?}");
    let silent = workspace.run(&["connect"]);
    assert_eq!(silent.status.code(), Some(4), "{silent:?}");
    let _http = Http::start(&workspace);
    let called = workspace.run(&call);
    assert!(String::from_utf8_lossy(&called.stdout).contains("21:00"), "{called:?}");
    let listed = workspace.run(&["list", "tools", "--url", ADDRESS]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains(CONVERT), "{listed:?}");
}

#[test]
fn the_socket_can_be_the_only_listener() {
    let workspace = Workspace::with_plugin("time");
    let mut command = workspace.command(&["serve", "--stdio", "--listen", "unix:run/mcp.sock"]);
    command.env("MOONGATE_LOG", "debug");
    let mut host = Stdio::spawn_initialized(command, "2025-11-25");
    let mut client = Stdio::connect(&workspace, ADDRESS);
    client.initialize("2025-11-25");
    assert_eq!(client.request_and_wait("ping", json!({}))["result"], json!({}));
    assert_eq!(host.request_and_wait("ping", json!({}))["result"], json!({}));
    let (_, status, log) = host.finish();
    assert!(status.success(), "{log}");
    assert!(log.contains("endpoint  unix:/") && !log.contains("endpoint  http"), "{log}");
    let (_, status, log) = client.wait_for_exit();
    assert_eq!(status.code(), Some(4), "the gateway has closed the connection: {log}");
}

#[test]
fn broken_and_oversized_lines_leave_the_connection_usable() {
    let workspace = workspace("");
    let _http = Http::start(&workspace);
    let mut stream = UnixStream::connect(socket_path(&workspace)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut exchange = |bytes: &[u8]| {
        stream.write_all(bytes).unwrap();
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    assert_eq!(exchange(b"{\n")["error"]["code"], -32700);
    let mut long = br#"{"jsonrpc":"2.0","method":"ping","params":{"x":""#.to_vec();
    long.resize(11 << 20, b'x');
    long.extend_from_slice(b"\"},\"id\":\"long\"}\n");
    let error = exchange(&long);
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!("long"), &json!(-32600)));
    assert_eq!(exchange(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n")["id"], 2);
    stream.shutdown(Shutdown::Write).unwrap();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

/// Small requests aren't counted in the memory for requests, so their number is limited for each connection.
#[test]
fn pipelined_small_calls_take_little_memory() {
    const CONNECTIONS: usize = 40;
    const CALLS: usize = 3_000;
    let workspace = Workspace::new(&format!("{SOCKET}[plugins.zoo]\nsource = \"@zoo@\"\n"));
    let http = Http::start(&workspace);
    let call = stateless_request(7, "tools/call", json!({ "name": "zoo_sleep_forever", "arguments": {} }));
    let calls = format!("{call}\n").repeat(CALLS);
    // The first instances take most of the memory.
    let first = exchange(
        &workspace,
        &stateless_request(7, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "first" } })),
    );
    assert_eq!(text(&first), "first");
    let before = peak_memory(http.pid());
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (mut stream, calls) = (UnixStream::connect(socket_path(&workspace)).unwrap(), calls.clone());
            let mut answers = stream.try_clone().unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
            let reader = thread::spawn(move || drop(io::copy(&mut answers, &mut io::sink())));
            let writer = thread::spawn(move || {
                let _ = stream.write_all(calls.as_bytes()); // it waits once enough calls run
                let _ = stream.shutdown(Shutdown::Both);
            });
            [reader, writer]
        })
        .collect();
    for thread in clients.into_iter().flatten() {
        thread.join().unwrap();
    }
    let grown = peak_memory(http.pid()) - before;
    assert!(grown < 64 << 20, "{} MiB", grown >> 20);
    let after = exchange(
        &workspace,
        &stateless_request(7, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "after" } })),
    );
    assert_eq!(text(&after), "after");
}
