//! A gateway without plugins, in this process, from its start to its end.

use std::collections::BTreeMap;
use std::path::Path;

use moongate_config::parse_config;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex};
use tokio::net::{TcpListener, TcpStream};

use super::*;

fn config(directory: &TempDir) -> Config {
    let cache = directory.path().join("cache").display().to_string();
    let variables = BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), cache)]);
    let text = "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n".to_owned();
    let loaded = parse_config(Path::new("gateway.toml"), text, &variables);
    loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems))
}

fn over_http(address: &str) -> AppOptions {
    AppOptions { http: Some(address.parse().unwrap()), ..AppOptions::default() }
}

#[tokio::test]
async fn listens_until_it_is_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let app = App::start(&config(&directory), over_http("127.0.0.1:0")).await.unwrap();
    let address = app.address().unwrap();
    assert!(TcpStream::connect(address).await.is_ok());
    assert_eq!(app.stop(StopReason::Requested, std::future::pending::<()>()).await, StopOutcome::Clean);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn port_in_use_is_found_before_anything_starts() {
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = App::start(&config(&directory), over_http(&address)).await.unwrap_err();
    assert!(matches!(error, AppStartError::Bind(_)), "{error:?}");
    assert!(!directory.path().join("cache").exists());
}

#[tokio::test]
async fn non_loopback_address_needs_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let error = App::start(&config(&directory), over_http("0.0.0.0:0")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "refusing to listen on non-loopback address 0.0.0.0:0 without authentication"
    );
    assert!(error.hint().unwrap().contains("[http.auth]"));
}

#[tokio::test]
async fn ends_with_its_stdio_client() {
    let directory = tempfile::tempdir().unwrap();
    let (mut to, input) = duplex(1024);
    let (output, from) = duplex(1024);
    let stdio = Some(StdioStreams::from_streams(Box::new(input), Box::new(output)));
    let app = App::start(&config(&directory), AppOptions { stdio, ..AppOptions::default() }).await.unwrap();
    assert_eq!(app.address(), None);
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    let mut line = String::new();
    BufReader::new(from).read_line(&mut line).await.unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    drop(to);
    app.stdio_client_gone().await;
    assert_eq!(app.stop(StopReason::StdioClientGone, std::future::pending::<()>()).await, StopOutcome::Clean);
}
