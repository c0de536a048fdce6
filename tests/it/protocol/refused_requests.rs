//! Requests that are refused before their body is read: each has a clear status, a line in the log with the reason and
//! without the token, and costs others nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use moongate_tests::{Http, Workspace, initialize_params, request};

use super::oauth::bearer;

const SECRET: &str = "a-static-token-that-nobody-may-see";

/// Sends these bytes on a connection and returns everything that the gateway sends until it closes the connection.
fn exchange(http: &Http, bytes: &[u8]) -> String {
    let mut connection = TcpStream::connect(http.address()).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    connection.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    // The gateway may reset a connection that it closes before it has read everything.
    let _ = connection.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request with these lines after the usual ones.
fn message(target: &str, lines: &[&str], body: &str) -> String {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    format!(
        "POST {target} HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         {lines}\r\n{body}"
    )
}

/// The statuses of all responses on a connection.
fn statuses(answer: &str) -> Vec<&str> {
    answer.match_indices("HTTP/1.1 ").map(|(at, start)| &answer[at + start.len()..][..3]).collect()
}

fn gateway_with_a_static_token() -> (Workspace, Http) {
    let workspace = Workspace::new(
        "[http]\nauth.tokens = [{ name = \"ci\", token = { file = \"ci\" } }]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    workspace.write("ci", SECRET);
    let http = Http::start(&workspace);
    (workspace, http)
}

#[test]
fn tokens_count_only_in_one_bearer_header() {
    let (_workspace, http) = gateway_with_a_static_token();
    let body = request(1, "initialize", initialize_params("2025-11-25")).to_string();
    let length = format!("Content-Length: {}", body.len());
    let common = ["Host: localhost", "Connection: close", &length];
    let authorization = format!("Authorization: Bearer {SECRET}");
    let send = |target: &str, more: &[&str]| {
        exchange(&http, message(target, &[&common[..], more].concat(), &body).as_bytes())
    };
    assert_eq!(statuses(&send("/mcp", &[&authorization])), ["200"]);
    for (target, more) in [
        (format!("/mcp?access_token={SECRET}"), vec![]),
        (format!("/mcp?token={SECRET}&authorization=Bearer%20{SECRET}"), vec![]),
        ("/mcp".to_owned(), vec![format!("Authorization: Basic {SECRET}")]),
        ("/mcp".to_owned(), vec![format!("Authorization: {SECRET}")]),
        ("/mcp".to_owned(), vec![authorization.clone(), authorization.clone()]),
        ("/mcp".to_owned(), vec![authorization.clone(), "Authorization: Bearer other".to_owned()]),
        ("/mcp".to_owned(), vec![format!("Proxy-Authorization: Bearer {SECRET}")]),
        ("/mcp".to_owned(), vec![format!("X-Authorization: Bearer {SECRET}")]),
        ("/mcp".to_owned(), vec![format!("Cookie: access_token={SECRET}")]),
    ] {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let answer = send(&target, &more);
        assert_eq!(statuses(&answer), ["401"], "{target} {more:?}: {answer}");
        assert!(!answer.contains(SECRET), "{answer}");
    }
    for (length, status) in [(20_000, "401"), (100_000, "431")] {
        let oversize = format!("Authorization: Bearer {}", "x".repeat(length));
        assert_eq!(statuses(&send("/mcp", &[&oversize])), [status], "{length}");
    }
    for reason in ["missing_token", "unknown_token"] {
        http.wait_for_log(&format!("reason=\"{reason}\""));
    }
    let log = http.log();
    assert!(!log.contains(SECRET) && !log.contains("xxxx"), "{log}");
}

#[test]
fn ambiguous_requests_are_refused_and_hide_no_second_request() {
    let (_workspace, http) = gateway_with_a_static_token();
    let hidden = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {SECRET}\r\nConnection: close\r\n\r\n"
    );
    let length = format!("Content-Length: {}", hidden.len() + 5);
    let authorization = format!("Authorization: Bearer {SECRET}");
    let host = "Host: localhost";
    for lines in [
        // Two lengths of the body.
        vec![host, &length, "Transfer-Encoding: chunked"],
        vec![host, "Transfer-Encoding: chunked", &length],
        vec![host, &length, "Content-Length: 5"],
        vec![host, "Content-Length: 5, 6"],
        vec![host, "Content-Length: +5"],
        vec![host, "Content-Length: 5 5"],
        // A transfer encoding that only some servers understand.
        vec![host, "Transfer-Encoding: chunked, identity"],
        vec![host, "Transfer-Encoding: xchunked"],
        vec![host, "Transfer-Encoding : chunked"],
        vec![host, "Transfer-Encoding: \u{b}chunked"],
        // Header lines that servers split in different ways.
        vec![host, "Content-Length: 0", "X-Text: a\r\n Content-Length: 5"],
        vec![host, "Content-Length\0: 5"],
        vec![host, "Content-Length: 0", "X: a\rContent-Length: 5"],
        // Several hosts, or none.
        vec![host, "Host: evil.example", "Content-Length: 0", "Connection: close"],
        vec!["Host: localhost, evil.example", "Content-Length: 0", "Connection: close"],
        vec!["Content-Length: 0", "Connection: close"],
    ] {
        let lines = [&[&*authorization][..], &lines].concat();
        let answer = exchange(&http, message("/mcp", &lines, &format!("0\r\n\r\n{hidden}")).as_bytes());
        let statuses = statuses(&answer);
        assert!(
            statuses.len() == 1 && matches!(statuses[0], "400" | "403"),
            "{lines:?}: {statuses:?} {answer}"
        );
    }
    http.wait_for_log("reason=\"invalid_http\"");
    let log = http.log();
    assert!(!log.contains(SECRET), "{log}");
    let again = [("Authorization", &*bearer(SECRET))];
    assert_eq!(http.post(&again, &request(1, "initialize", initialize_params("2025-11-25"))).status, 200);
}
