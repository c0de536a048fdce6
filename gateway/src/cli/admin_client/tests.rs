//! The client against listeners that aren't a gateway.

use std::collections::BTreeMap;
use std::path::Path;

use moongate_config::parse_config;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

fn plain(address: SocketAddr) -> AdminClient {
    AdminClient { address: AdminAddress::new("http", address), token: None, tls: None }
}

/// A listener that responds to one request with these bytes; the task returns the request.
async fn answering(bytes: &'static str) -> (AdminClient, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = plain(listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    (gateway, asked)
}

#[tokio::test]
async fn sends_json_requests_and_reads_whole_responses() {
    let (gateway, asked) =
        answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n").await;
    let answer = gateway.post(AdminRoute::Reload).await.unwrap();
    assert!(answer.is_ok);
    assert_eq!(answer.body, "{}");
    let request = asked.await.unwrap();
    assert!(request.starts_with("POST /reload HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {}\r\n", gateway.address())), "{request}");
    assert!(request.contains("content-type: application/json\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{}"), "{request}");
}

#[tokio::test]
async fn reports_errors_of_gateways_and_of_other_servers() {
    let (gateway, _) = answering("HTTP/1.1 503 X\r\nContent-Length: 17\r\n\r\n{\"error\":\"later\"}").await;
    let answer = gateway.get(AdminRoute::Status, "").await.unwrap();
    assert!(!answer.is_ok);
    assert_eq!(answer.unexpected_response().to_string(), "the gateway reported an error: later");
    let (gateway, _) = answering("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>").await;
    let error = gateway.get(AdminRoute::Status, "").await.unwrap().json().unwrap_err();
    assert!(error.to_string().contains("isn't a Moongate gateway"), "{error}");
    let (gateway, _) = answering("SSH-2.0-server\r\n").await;
    let silence = gateway.get(AdminRoute::Status, "").await.unwrap_err();
    assert!(matches!(silence, AdminClientError::Unreachable(..)), "{silence}");
}

#[tokio::test]
async fn an_unreachable_gateway_is_named_by_its_address() {
    let address = "127.0.0.1:1".parse().unwrap();
    let silence = plain(address).get(AdminRoute::Livez, "").await.unwrap_err();
    assert_eq!(silence.to_string(), format!("no gateway responds at {address}: nothing listens there"));
}

#[test]
fn finds_the_address_in_an_invalid_configuration() {
    let of = |text: &str| {
        let text = format!("version = 1\n{text}");
        let loaded = parse_config(Path::new("gateway.toml"), text, &BTreeMap::new());
        AdminClient::of(&loaded, &ClientTlsOptions::default())
    };
    assert!(matches!(of(""), Err(AdminClientError::NoAdminListener)));
    assert!(matches!(of("[admin]\nlisten = \"127.0.0.1:0\"\n"), Err(AdminClientError::UnknownPort)));
    for (listen, reached) in [("0.0.0.0", "127.0.0.1"), ("[::]", "[::1]"), ("192.0.2.7", "192.0.2.7")] {
        let text = format!("[admin]\nlisten = \"{listen}:1\"\n");
        assert!(matches!(of(&text), Err(AdminClientError::NoAdminListener)), "without credentials");
        let text = format!("{text}token = {{ env = \"UNSET_IN_TESTS\" }}\n");
        assert_eq!(of(&text).unwrap().address().to_string(), format!("{reached}:1"));
    }
    for text in ["[admin]", "[admin]\n[gateway]\nunknown = 1", "[admin]\n[plugins.x]\nsource = "] {
        assert_eq!(of(text).unwrap().address().to_string(), "127.0.0.1:8932", "{text}");
    }
}

#[test]
fn typed_addresses_are_ports_socket_addresses_or_urls() {
    for (text, expected) in [
        ("8932", "127.0.0.1:8932"),
        ("[::1]:1", "[::1]:1"),
        ("http://192.0.2.7:1", "192.0.2.7:1"),
        ("https://gateway.example.com:8932", "https://gateway.example.com:8932"),
        ("https://gateway.example.com/", "https://gateway.example.com:443"),
    ] {
        assert_eq!(admin_address(text).unwrap().to_string(), expected);
    }
    for text in ["gateway.example.com:1", "ftp://x:1", "https://", "https://ann:secret@x:1"] {
        assert!(admin_address(text).is_err(), "{text}");
    }
}

/// A command line can name any server, which must not get the token of another one.
#[test]
fn the_configured_token_goes_only_to_its_own_listener() {
    let text = "version = 1\n[admin]\nlisten = \"192.0.2.7:8932\"\ntoken = { env = \"PATH\" }\n".to_owned();
    let loaded = parse_config(Path::new("gateway.toml"), text, &BTreeMap::new());
    let admin = admin_listener(&loaded.source, &ProcessEnvironment).unwrap();
    for (address, is_sent) in [
        ("192.0.2.7:8932", true),
        ("127.0.0.1:1", true),
        ("192.0.2.7:8933", false),
        ("192.0.2.8:8932", false),
        ("http://localhost.example.com:8932", false),
    ] {
        let address = admin_address(address).unwrap();
        let client = AdminClient::new(address.clone(), Some(&admin), &loaded, &ClientTlsOptions::default());
        assert_eq!(client.unwrap().token.is_some(), is_sent, "{address}");
    }
}
