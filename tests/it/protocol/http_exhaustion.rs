//! HTTP clients that use up connections, memory or guesses don't affect other clients.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use moongate_tests::{
    Http, ResourceUsage, Workspace, initialize_params, request, stateless_request, wait_until,
};
use serde_json::{Value, json};

/// The time limit for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

const GREEDY: (&str, &str) = ("Authorization", "Bearer greedy-token-0123456789");
const HONEST: (&str, &str) = ("Authorization", "Bearer honest-token-0123456789");

/// A gateway with an admin listener, two tokens and a zoo of plugins; `http` are more lines of `[http]`.
fn workspace(http: &str) -> Workspace {
    workspace_with_memory("4GiB", http)
}

fn workspace_with_memory(memory: &str, http: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        r#"
        [gateway]
        memory = "{memory}"
        [http]
        listen = "127.0.0.1:0"
        {http}
        [[http.auth.tokens]]
        name = "greedy"
        token = {{ file = "greedy" }}
        [[http.auth.tokens]]
        name = "honest"
        token = {{ file = "honest" }}
        [admin]
        listen = "127.0.0.1:0"
        [plugins.zoo]
        source = "@zoo@"
        [plugins.zoo.limits]
        timeout = "1h"
        [plugins.time]
        source = "@time@"
        "#
    ));
    workspace.write("greedy", "greedy-token-0123456789");
    workspace.write("honest", "honest-token-0123456789");
    workspace
}

/// Sends a 2026-07-28 request with a token on a connection that stays open.
fn send(stream: &mut TcpStream, token: (&str, &str), method: &str, params: Value) {
    let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    let body = stateless_request(1, method, params).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{}: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: {method}\r\n{name}Content-Length: {}\r\n\r\n{body}",
        token.0,
        token.1,
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("the gateway reads");
}

fn connect(http: &Http) -> TcpStream {
    let stream = TcpStream::connect(http.address()).expect("the gateway listens");
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).expect("a timeout");
    stream
}

/// Reads until `text` arrives.
#[track_caller]
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut seen = String::new();
    while !seen.contains(text) {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).expect("an answer");
        assert!(count > 0, "the connection was closed: {seen}");
        seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
    }
    seen
}

/// True unless the gateway has closed the connection or sent something.
fn is_silent(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let read = stream.peek(&mut [0; 16]);
    stream.set_nonblocking(false).expect("a socket");
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[track_caller]
fn assert_served(http: &Http, token: (&str, &str)) {
    let reply = http.post(&[token], &request(1, "initialize", initialize_params("2025-11-25")));
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[test]
fn silent_connections_close_no_connection_of_a_client() {
    let workspace = workspace("keep_alive = \"1h\"\nmax_connections = 256");
    let http = Http::start(&workspace);
    let mut kept = connect(&http);
    send(&mut kept, HONEST, "tools/list", json!({}));
    read_until(&mut kept, "\"tools\"");
    let mut listening = connect(&http);
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    send(&mut listening, HONEST, "subscriptions/listen", filter);
    read_until(&mut listening, "notifications/subscriptions/acknowledged");
    let session = http.open_session(&[HONEST], "2025-11-25");
    let mut events = connect(&http);
    let get = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\n{}: {}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n",
        HONEST.0, HONEST.1
    );
    events.write_all(get.as_bytes()).unwrap();
    read_until(&mut events, "retry:");
    // More than the places of connections without an authenticated request.
    let mut silent: Vec<TcpStream> = (0..300).map(|_| connect(&http)).collect();
    for guess in &mut silent[200..] {
        let _ = guess.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer guess\r\n");
    }
    for _ in 0..5 {
        assert_served(&http, HONEST);
    }
    let closed = silent[0].read(&mut [0; 16]);
    assert!(
        closed.as_ref().is_ok_and(|count| *count == 0) || closed.is_err(),
        "the oldest of them is closed"
    );
    send(&mut kept, HONEST, "tools/list", json!({}));
    read_until(&mut kept, "\"tools\"");
    assert!(is_silent(&listening) && is_silent(&events), "streams stay open");
}

#[test]
fn incomplete_heads_have_a_common_limit() {
    const HEAD: usize = 62_000;
    const COUNT: usize = 200;
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let answered = |token: (&str, &str)| {
        let mut stream = connect(&http);
        send(&mut stream, token, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "x" } }));
        read_until(&mut stream, "\"result\"");
        stream
    };
    let mut kept = answered(HONEST);
    let mut honest = answered(HONEST);
    honest.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n").unwrap();
    let greedy: Vec<TcpStream> = (0..COUNT)
        .map(|_| {
            let mut stream = answered(GREEDY);
            let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Large: {}", "x".repeat(HEAD));
            let _ = stream.write_all(head.as_bytes());
            stream
        })
        .collect();
    let least = COUNT - (8 << 20) / HEAD;
    wait_until("the excess is closed", || greedy.iter().filter(|stream| !is_silent(stream)).count() >= least);
    assert!(is_silent(&honest), "it was closed for heads of another caller");
    send(&mut kept, HONEST, "tools/list", json!({}));
    read_until(&mut kept, "\"tools\"");
}

#[test]
fn one_caller_with_all_its_connections_busy_keeps_no_other_out() {
    let workspace = workspace("max_connections = 64");
    let http = Http::start(&workspace);
    let greedy: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = connect(&http);
            send(&mut stream, GREEDY, "tools/call", json!({ "name": "zoo_sleep_forever", "arguments": {} }));
            stream
        })
        .collect();
    let refused = "moongate_refused_requests_total{listener=\"mcp\",reason=\"connections\"}";
    wait_until("its last connections are refused", || greedy.iter().any(|stream| !is_silent(stream)));
    assert!(http.admin().metric(refused) >= Some(1.0));
    let mut answered: Vec<&TcpStream> = greedy.iter().filter(|stream| !is_silent(stream)).collect();
    let mut answer = String::new();
    answered.pop().expect("a refused one").read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("busy: too many"), "{answer}");
    for _ in 0..10 {
        assert_served(&http, HONEST);
    }
    // Its own idle connections make room.
    drop(greedy);
    for _ in 0..100 {
        let mut stream = connect(&http);
        send(&mut stream, HONEST, "tools/list", json!({}));
        read_until(&mut stream, "\"tools\"");
    }
}

#[test]
fn unread_responses_have_a_limit() {
    const SIZE: usize = 8_000_000;
    /// The caller's part of `[gateway] memory`, 64 MiB, and the answers of 16 calls and of those that have ended at the
    /// same time.
    const MAX_KIB: u64 = (64 + 2 * 16 * 8) * 1024;
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let before = ResourceUsage::of(http.pid()).resident;
    let unread: Vec<TcpStream> = (0..150)
        .map(|_| {
            let mut stream = connect(&http);
            let arguments = json!({ "bytes": SIZE });
            send(
                &mut stream,
                GREEDY,
                "tools/call",
                json!({ "name": "zoo_huge_result", "arguments": arguments }),
            );
            stream
        })
        .collect();
    wait_until("every call is answered or refused", || unread.iter().all(|stream| !is_silent(stream)));
    let bytes = http.admin().metric("moongate_unread_response_bytes").expect("a gauge");
    assert!(bytes >= 64.0 * 1024.0 * 1024.0, "the answers are read: {bytes}");
    let more = ResourceUsage::of(http.pid()).resident - before;
    assert!(more < MAX_KIB + 400 * 1024, "{more} KiB for {bytes} bytes of answers");
    let refused = http.post(&[GREEDY], &request(1, "initialize", initialize_params("2025-11-25")));
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.contains("too many unread responses"), "{refused:?}");
    assert_served(&http, HONEST);
    drop(unread);
    wait_until("the answers are dropped", || {
        http.admin().metric("moongate_unread_response_bytes") == Some(0.0)
    });
    assert_served(&http, GREEDY);
}

#[test]
fn unread_responses_count_even_if_the_system_could_keep_them() {
    const SIZE: u32 = 2_000_000;
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let unread: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut stream = connect(&http);
            let call = json!({ "name": "zoo_huge_result", "arguments": { "bytes": SIZE } });
            send(&mut stream, GREEDY, "tools/call", call);
            stream
        })
        .collect();
    // The rest of each is in the buffer of the client, which is the test itself.
    let least = f64::from(SIZE) * 10.0 / 2.0;
    wait_until("they are counted", || {
        http.admin().metric("moongate_unread_response_bytes").is_some_and(|bytes| bytes >= least)
    });
    drop(unread);
}

#[test]
fn idle_connections_keep_little_memory_after_large_requests() {
    const COUNT: u64 = 200;
    const MAX_KIB: u64 = COUNT * 80;
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let large_request = |bytes| {
        let mut stream = connect(&http);
        send(&mut stream, GREEDY, "tools/list", json!({ "padding": "x".repeat(bytes) }));
        read_until(&mut stream, "\"tools\"");
        stream
    };
    large_request(1_000_000);
    let before = ResourceUsage::of(http.pid()).resident;
    let idle: Vec<_> = (0..COUNT).map(|_| large_request(300_000)).collect();
    // The allocator returns memory after a second.
    wait_until("only buffers are kept", || {
        ResourceUsage::of(http.pid()).resident.saturating_sub(before) < MAX_KIB
    });
    drop(idle);
}

#[test]
fn bodies_that_stop_use_bounded_memory() {
    const SIZE: usize = 4 << 20;
    /// The part of 256 MiB for requests, and buffers of connections.
    const MAX_KIB: u64 = (32 + 64) * 1024;
    let workspace = workspace_with_memory("256MiB", "");
    let http = Http::start(&workspace);
    assert_served(&http, HONEST);
    let before = ResourceUsage::of(http.pid()).resident;
    let stopped: Vec<TcpStream> = (0..120)
        .map(|at| {
            let mut stream = connect(&http);
            let length = if at % 2 == 0 {
                format!("Content-Length: {SIZE}")
            } else {
                "Transfer-Encoding: chunked".to_owned()
            };
            let chunk = if at % 2 == 0 { String::new() } else { format!("{SIZE:x}\r\n") };
            let head = format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{}: {}\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\n{length}\r\n\r\n{chunk}",
                GREEDY.0, GREEDY.1
            );
            stream.write_all(head.as_bytes()).expect("the gateway reads");
            // A refused connection may be closed meanwhile.
            let _ = stream.write_all(&vec![b' '; SIZE - 1]);
            stream
        })
        .collect();
    let refused = "moongate_refused_requests_total{listener=\"mcp\",reason=\"request_memory\"}";
    wait_until("most are refused", || http.admin().metric(refused) >= Some(110.0));
    let more = ResourceUsage::of(http.pid()).resident.saturating_sub(before);
    assert!(more < MAX_KIB, "{more} KiB");
    for _ in 0..5 {
        assert_served(&http, HONEST);
    }
    let mut answered = stopped.iter().filter(|stream| !is_silent(stream));
    let mut answer = String::new();
    let _ = answered.next().expect("a refused one").read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("too many large requests"), "{answer}");
}

#[test]
fn large_headers_of_requests_in_flight_use_bounded_memory() {
    const HEAD: usize = 60_000;
    /// The part of 256 MiB for requests that one caller can have: 28 MiB.
    const MOST: usize = 28 * 1024 * 1024 / HEAD;
    let workspace = workspace_with_memory("256MiB", "");
    let http = Http::start(&workspace);
    let waiting: Vec<TcpStream> = (0..=MOST)
        .map(|_| {
            let mut stream = connect(&http);
            // The body never arrives.
            let head = format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{}: {}\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\nX-Large: {}\r\nContent-Length: 10\r\n\r\n",
                GREEDY.0,
                GREEDY.1,
                "x".repeat(HEAD)
            );
            stream.write_all(head.as_bytes()).expect("the gateway reads");
            stream
        })
        .collect();
    let refused = "moongate_refused_requests_total{listener=\"mcp\",reason=\"request_memory\"}";
    wait_until("half of them are refused", || http.admin().metric(refused) >= Some((MOST / 2 - 1) as f64));
    assert_served(&http, HONEST);
    drop(waiting);
}

/// Such a client could go on to the next guess at once.
#[test]
fn guesses_are_counted_although_their_client_hangs_up() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let hello = request(1, "initialize", initialize_params("2025-11-25"));
    let guess = |number: usize| http.post(&[("Authorization", &format!("Bearer guess-{number}"))], &hello);
    let refused = (0..100).find(|number| guess(*number).status == 429);
    assert!(refused.is_some(), "guesses are limited");
    let metric = "moongate_refused_requests_total{listener=\"mcp\",reason=\"failed_tokens\"}";
    assert_eq!(http.admin().metric(metric), Some(1.0));
    wait_until("a guess is counted", || {
        let mut stream = connect(&http);
        let head = "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer another-guess\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("the gateway reads");
        http.admin().metric(metric) > Some(1.0)
    });
    http.wait_for_log("reason=\"failed_tokens\"");
}

#[test]
fn guessed_tokens_are_counted_logged_and_slowed_down() {
    let workspace = workspace("");
    let http = Http::start(&workspace);
    let hello = request(1, "initialize", initialize_params("2025-11-25"));
    let started = Instant::now();
    let (mut ordinary, mut limited) = (0_u32, 0_u32);
    while limited < 2 {
        let token = format!("Bearer guess-{ordinary}-{limited}");
        let reply = http.post(&[("Authorization", &token)], &hello);
        let wait = reply.header("retry-after").and_then(|wait| wait.parse::<u64>().ok());
        if reply.status == 401 {
            assert!(wait.is_none() && ordinary < 100, "{reply:?}");
            ordinary += 1;
        } else {
            assert!(reply.status == 429 && wait.is_some_and(|wait| (1..=6).contains(&wait)), "{reply:?}");
            limited += 1;
        }
    }
    assert!(ordinary >= 10, "{ordinary}");
    assert_eq!(http.post(&[], &hello).status, 401);
    assert!(started.elapsed().as_secs() >= 2, "the last two are slowed down");
    assert_served(&http, HONEST);
    for (reason, count) in [
        ("unknown_token", f64::from(ordinary)),
        ("failed_tokens", f64::from(limited)),
        ("missing_token", 1.0),
    ] {
        let metric = format!("moongate_refused_requests_total{{listener=\"mcp\",reason=\"{reason}\"}}");
        assert_eq!(http.admin().metric(&metric), Some(count));
    }
    for reason in ["unknown_token", "failed_tokens", "missing_token"] {
        http.wait_for_log(&format!("reason=\"{reason}\""));
        let log = http.log();
        let is_line = |line: &&str| line.contains("WARN") && line.contains(&format!("reason=\"{reason}\""));
        let lines = log.lines().filter(is_line).count();
        assert!((1..=1 + started.elapsed().as_secs()).contains(&(lines as u64)), "{reason}: {log}");
    }
    let log = http.log();
    assert!(log.contains("address=127.0.0.1") && !log.contains("guess-"), "{log}");
}

#[test]
fn short_tokens_are_refused_on_public_addresses() {
    let workspace = workspace("");
    workspace.write("greedy", "g");
    for (address, exit) in [("0.0.0.0:0", 78), ("[::]:0", 78)] {
        let output = workspace.run(&["serve", "--http", address]);
        assert_eq!(output.status.code(), Some(exit), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("the token `greedy` is too short"), "{stderr}");
    }
    let http = Http::start(&workspace);
    assert_served(&http, ("Authorization", "Bearer g"));
}

#[test]
fn connections_leave_descriptors_free_at_a_low_limit() {
    let workspace = workspace("");
    let plain = workspace.command(&["serve"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 128; exec \"$0\" serve"]).arg(plain.get_program()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let http = Http::spawn(command);
    let mut greedy = Vec::new();
    for _ in 0..200 {
        greedy.push(connect(&http));
        let mut stream = connect(&http);
        send(&mut stream, GREEDY, "tools/call", json!({ "name": "zoo_sleep_forever", "arguments": {} }));
        greedy.push(stream);
    }
    for _ in 0..5 {
        assert_served(&http, HONEST);
    }
    assert!(ResourceUsage::of(http.pid()).descriptors < 120, "{:?}", ResourceUsage::of(http.pid()));
    assert!(!http.log().contains("can't accept"), "{}", http.log());
}
