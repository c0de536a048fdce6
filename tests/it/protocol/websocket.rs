//! WebSocket: the checks of the handshake, sessions, the limits of a connection, and the reasons for closing it.

use moongate_tests::{
    Http, ResourceUsage, Stdio, WebSocket, Workspace, initialize_params, request, send_signal,
    stateless_request, text, wait_until,
};
use serde_json::{Value, json};

use super::oauth::bearer;
use super::roles::{EVERYTHING, names, replace_in_config, token};

const CONVERT: &str = "time_convert_time";

const ZOO: &str =
    "[gateway]\nmemory = \"512MiB\"\n[admin]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\n";

const TOKENS: &str = "auth.tokens = [{ name = \"ann\", token = { file = \"ann\" } }]";

fn workspace(http: &str, tables: &str) -> Workspace {
    let config = format!("[http]\nwebsocket = true\n{http}\n{tables}\n[plugins.time]\nsource = \"@time@\"\n");
    let workspace = Workspace::new(&config);
    workspace.write("ann", token("ann"));
    workspace
}

fn conversion() -> Value {
    let arguments = json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    json!({ "name": CONVERT, "arguments": arguments })
}

/// The header with the token of `ann`.
fn ann() -> String {
    bearer(&token("ann"))
}

fn initialize(socket: &mut WebSocket, revision: &str) {
    socket.send(&request(1, "initialize", initialize_params(revision)));
    assert_eq!(socket.receive()["result"]["protocolVersion"], revision);
    socket.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
}

#[test]
fn serves_several_sessions_of_every_revision_over_websockets() {
    let workspace = workspace("", "");
    let http = Http::start(&workspace);
    let mut sockets = Vec::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut socket = WebSocket::connect(&http, &[]).unwrap();
        initialize(&mut socket, revision);
        sockets.push(socket);
    }
    for socket in &mut sockets {
        socket.send(&request(2, "tools/call", conversion()));
        socket.send(&stateless_request(3, "tools/call", conversion()));
        for _ in 0..2 {
            let answer = socket.receive();
            assert!(text(&answer).contains("21:00"), "{answer}");
        }
        // A message in several frames, with line breaks, and a ping between them.
        let (first, rest) = b"{\n\"jsonrpc\": \"2.0\",\n\"id\": 4, \"method\": \"ping\" }\n".split_at(20);
        socket.send_frame(0x01, first);
        socket.send_frame(0x8a, b"an answer to no ping");
        socket.send_frame(0x80, rest);
        assert_eq!(socket.receive(), json!({ "jsonrpc": "2.0", "id": 4, "result": {} }));
        socket.send_frame(0x88, &1000_u16.to_be_bytes());
        assert_eq!(socket.closed().0, 1000);
    }
}

#[test]
fn handshakes_have_the_checks_of_requests() {
    let workspace = workspace(TOKENS, "");
    let http = Http::start(&workspace);
    let ann = ann();
    let good = ("authorization", &*ann);
    for (headers, status) in [
        (&[][..], 401),
        (&[("authorization", "Bearer wrong")], 401),
        (&[("sec-websocket-protocol", &*format!("mcp, {}", token("ann")))], 401),
        (&[good, ("origin", "https://evil.example")], 403),
        (&[good, ("origin", "null")], 403),
        (&[good, ("host", "evil.example")], 403),
        (&[good, ("sec-websocket-version", "8")], 426),
        (&[good, ("sec-websocket-key", "")], 400),
        (&[good, ("sec-websocket-key", "short")], 400),
        (&[good, ("connection", "close")], 400),
        (&[good, ("sec-websocket-protocol", "")], 400),
        (&[good, ("sec-websocket-protocol", "chat")], 400),
    ] {
        assert_eq!(WebSocket::connect(&http, headers).map(drop), Err(status), "{headers:?}");
    }
    assert!(WebSocket::connect(&http, &[good, ("origin", "http://localhost:3000")]).is_ok());
    assert!(WebSocket::connect(&http, &[good, ("sec-websocket-protocol", "chat, mcp")]).is_ok());
    http.wait_for_log("listener=\"mcp\" reason=\"websocket_handshake\"");
    replace_in_config(&workspace, "websocket = true\n", "");
    drop(http);
    let http = Http::start(&workspace);
    assert!(WebSocket::connect(&http, &[good]).is_err(), "off by default");
}

#[test]
fn close_codes_name_the_reason() {
    let workspace = workspace("max_body = \"4KiB\"", "");
    let http = Http::start(&workspace);
    let long = [b' '; 5000];
    for (frames, code, part) in [
        (&[(0x82, &b"{}"[..])][..], 1003, "binary"),
        (&[(0x81, b"\xff")], 1007, "UTF-8"),
        (&[(0xc1, b"{}")], 1002, "compression"),
        (&[(0x81, &long)], 1009, "max_body"),
        (&[(0x01, &long[..3000]), (0x80, &long[..3000])], 1009, "max_body"),
    ] {
        let mut socket = WebSocket::connect(&http, &[]).unwrap();
        for (first, payload) in frames {
            socket.send_frame(*first, payload);
        }
        let (found, reason) = socket.closed();
        assert_eq!(found, code, "{reason}");
        assert!(reason.contains(part), "{code}: {reason}");
    }
    let mut socket = WebSocket::connect(&http, &[]).unwrap();
    socket.send(&request(1, "ping", json!({})));
    assert_eq!(socket.receive()["id"], 1);
    send_signal(http.pid(), "TERM");
    assert_eq!(socket.closed(), (1001, "the gateway is stopping".to_owned()));
}

#[test]
fn a_websocket_ends_with_its_token() {
    let workspace = workspace(TOKENS, "");
    let http = Http::start(&workspace);
    let ann = ann();
    let mut socket = WebSocket::connect(&http, &[("authorization", &ann)]).unwrap();
    initialize(&mut socket, "2025-11-25");
    workspace.write("ann", token("somebody-else"));
    let (code, reason) = socket.closed();
    assert_eq!((code, &*reason), (1008, "the token or certificate has expired or was revoked"));
    assert_eq!(WebSocket::connect(&http, &[("authorization", &ann)]).map(drop), Err(401));
}

#[test]
fn roles_and_their_changes_apply_to_open_websockets() {
    let role = "[roles.some]\nmembers = [{ token = \"ann\" }]\nallow.plugins = [\"time\"]\n";
    let workspace = workspace(TOKENS, &format!("{EVERYTHING}{role}"));
    let http = Http::start(&workspace);
    let mut socket = WebSocket::connect(&http, &[("authorization", &ann())]).unwrap();
    initialize(&mut socket, "2025-11-25");
    let mut tools = || {
        socket.send(&request(9, "tools/list", json!({})));
        loop {
            // A notification of the change can come first.
            let message = socket.receive();
            if message["id"] == 9 {
                return names(&message["result"], "tools", "name");
            }
        }
    };
    assert!(!tools().is_empty() && tools().iter().all(|tool| tool.starts_with("time_")));
    replace_in_config(&workspace, "plugins = [\"time\"]", "plugins = [\"everything\"]");
    wait_until("the role applies", || tools().iter().all(|tool| tool.starts_with("everything_")));
    assert!(!tools().is_empty());
}

#[test]
fn a_silent_websocket_gets_pings() {
    let workspace = workspace("keep_alive = \"1s\"", "");
    let http = Http::start(&workspace);
    let mut socket = WebSocket::connect(&http, &[]).unwrap();
    assert_eq!(socket.frame(), (0x89, Vec::new()));
    socket.send_frame(0x8a, b"");
    assert_eq!(socket.frame(), (0x89, Vec::new()));
}

/// Unread answers count towards the memory of their caller, whose calls are refused above its part.
#[test]
fn a_client_that_does_not_read_is_refused_calls() {
    let workspace = workspace(TOKENS, ZOO);
    let http = Http::start(&workspace);
    let open = || {
        let mut socket = WebSocket::connect(&http, &[("authorization", &ann())]).unwrap();
        initialize(&mut socket, "2025-11-25");
        socket
    };
    let call = json!({ "name": "zoo_huge_result", "arguments": { "bytes": 2_000_000 } });
    let unread: Vec<WebSocket> = (0..12)
        .map(|_| {
            let mut socket = open();
            socket.send(&request(5, "tools/call", call.clone()));
            socket
        })
        .collect();
    let unread_bytes = || http.admin().metric("moongate_unread_response_bytes");
    wait_until("the answers are counted", || unread_bytes() >= Some(8.0 * 1024.0 * 1024.0));
    let headers = [("Authorization", &*ann())];
    wait_until("more calls are refused", || {
        let refused = http.post(&headers, &request(1, "initialize", initialize_params("2025-11-25")));
        refused.status == 503 && refused.body.contains("too many unread responses")
    });
    drop(unread);
    wait_until("the answers are dropped", || unread_bytes() == Some(0.0));
    let mut socket = open();
    socket.send(&request(5, "tools/call", call));
    assert!(text(&socket.receive()).len() > 1_000_000, "a long answer has several frames");
}

/// A WebSocket keeps a few kilobytes, however large its messages are.
#[test]
fn websockets_keep_little_memory_after_large_messages() {
    const COUNT: u64 = 30;
    const MAX_KIB: u64 = COUNT * 200;
    let workspace = workspace(TOKENS, ZOO);
    let http = Http::start(&workspace);
    let large_message = || {
        let mut socket = WebSocket::connect(&http, &[("authorization", &ann())]).unwrap();
        initialize(&mut socket, "2025-11-25");
        socket.send(&request(5, "ping", json!({ "padding": "x".repeat(1_500_000) })));
        assert_eq!(socket.receive()["id"], 5);
        socket
    };
    large_message();
    let before = ResourceUsage::of(http.pid()).resident;
    let idle: Vec<_> = (0..COUNT).map(|_| large_message()).collect();
    // The allocator returns memory after a second.
    wait_until("only buffers are kept", || {
        ResourceUsage::of(http.pid()).resident.saturating_sub(before) < MAX_KIB
    });
    drop(idle);
}

#[test]
fn unfinished_messages_use_bounded_memory() {
    const SIZE: usize = 4 << 20;
    /// The part of 256 MiB for requests, and buffers of connections.
    const MAX_KIB: u64 = (32 + 64) * 1024;
    let workspace = workspace(TOKENS, "[gateway]\nmemory = \"256MiB\"\n");
    let http = Http::start(&workspace);
    let before = ResourceUsage::of(http.pid()).resident;
    let part =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"{}", "x".repeat(SIZE - 100));
    let mut stopped: Vec<WebSocket> = (0..40)
        .map(|_| {
            let mut socket = WebSocket::connect(&http, &[("authorization", &ann())]).unwrap();
            socket.send_frame(0x01, part.as_bytes());
            socket
        })
        .collect();
    let more = ResourceUsage::of(http.pid()).resident.saturating_sub(before);
    assert!(more < MAX_KIB, "{more} KiB");
    let last = stopped.last_mut().unwrap();
    last.send_frame(0x80, b"\"}");
    let answer = last.receive();
    assert!(
        answer["error"]["message"].as_str().is_some_and(|text| text.contains("too many large")),
        "{answer}"
    );
    last.send(&request(8, "ping", json!({})));
    assert_eq!(last.receive()["id"], 8, "the connection is still usable");
}

#[test]
fn connect_forwards_stdio_to_a_websocket() {
    let workspace = workspace(TOKENS, "");
    let http = Http::start(&workspace);
    let url = format!("ws://{}/mcp", http.address());
    let command = |url: &str, token: &str| {
        let mut command = workspace.command(&["connect", url]);
        command.env("MOONGATE_TOKEN", token);
        command
    };
    let connect = || {
        let mut client = Stdio::spawn_loading(command(&url, &token("ann")));
        client.initialize("2025-11-25");
        client
    };
    let mut client = connect();
    let answer = client.call(CONVERT, conversion()["arguments"].clone());
    assert!(text(&answer).contains("21:00"), "{answer}");
    let (rest, status, log) = client.finish();
    assert!(rest.is_empty() && status.success(), "{status}: {log}");
    for (url, token, code, part) in [
        (&url, String::new(), 3, "set the variable MOONGATE_TOKEN"),
        (&url, "wrong".to_owned(), 3, "set the variable MOONGATE_TOKEN"),
        (&url.replace("/mcp", "/other"), token("ann"), 4, "the path of the endpoint is `/mcp`"),
        (&url.replace("ws:", "wss:"), token("ann"), 4, "doesn't use TLS"),
        (&"ws://127.0.0.1:1/mcp".to_owned(), token("ann"), 4, "`websocket = true`"),
        (&"ws://ann:secret@127.0.0.1:1/mcp".to_owned(), token("ann"), 2, "MOONGATE_TOKEN"),
        (&"https://127.0.0.1:1/mcp".to_owned(), token("ann"), 2, "ws://127.0.0.1:8931/mcp"),
    ] {
        let output = command(url, &token).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{url}: {error}");
        assert!(error.contains(part), "{url}: {error}");
    }
    let client = connect();
    send_signal(http.pid(), "TERM");
    let (_, status, log) = client.wait_for_exit();
    assert_eq!(status.code(), Some(4), "{log}");
    assert!(log.contains("closed the connection: 1001 the gateway is stopping"), "{log}");
}
