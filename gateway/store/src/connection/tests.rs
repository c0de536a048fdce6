//! Connections to a real server, and their errors.

use moongate_config::{StoreAddress, StoreEncryption};
use moongate_model::shared_store::SharedOnce as _;
use redis::cmd;
use tokio::net::TcpListener;

use super::*;
use crate::test_server::TestServer;

/// The problem that keeps this store from being used.
async fn problem(store: &SharedStore) -> StoreError {
    assert_eq!(store.connected().await, Err(StoreError::Unreachable));
    store.status().problem.unwrap()
}

#[tokio::test]
async fn a_store_comes_back_without_a_restart_of_the_gateway() {
    let Some(mut server) = TestServer::start(&[]).await else { return };
    let store = server.store().await;
    assert_eq!(store.mark_used(1, 7, Duration::from_secs(60)).await, Ok(true));
    assert_eq!(store.mark_used(1, 7, Duration::from_secs(60)).await, Ok(false));
    server.kill();
    while store.mark_used(1, 7, Duration::from_secs(60)).await.is_ok() {}
    assert!(!store.status().is_connected);
    server.restart().await;
    // It has lost its memory, which isn't an error.
    while store.mark_used(1, 7, Duration::from_secs(60)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(store.mark_used(1, 7, Duration::from_secs(60)).await, Ok(false));
    let StoreStatus { is_connected, problem, counts, server, .. } = store.status();
    assert!(is_connected && problem.is_none() && server.is_some());
    let (purpose, counted) = counts[2];
    assert!(purpose == StoreUse::UsedOnce && counted.operations > counted.errors && counted.errors > 0);
}

#[tokio::test]
async fn passwords_are_checked() {
    let Some(server) = TestServer::start(&["--requirepass", "right"]).await else { return };
    server.store_with_password("right").await.connected().await.unwrap();
    assert_eq!(problem(&server.store_with_password("wrong").await).await, StoreError::PasswordRefused);
    let without = SharedStore::open(&server.config(), None).await;
    assert_eq!(problem(&without).await, StoreError::PasswordRequired);
}

#[tokio::test]
async fn a_password_that_the_server_lacks_is_named() {
    let Some(server) = TestServer::start(&[]).await else { return };
    assert_eq!(problem(&server.store_with_password("needless").await).await, StoreError::PasswordUnknown);
}

#[tokio::test]
async fn keys_of_other_programs_and_newer_versions_are_refused() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let other = SharedStore::open(&StoreConfig { prefix: "other:".into(), ..server.config() }, None).await;
    let set = async |key: &str, value: &str| {
        let mut set = cmd("SET");
        set.arg(key).arg(value);
        other.run::<()>(StoreUse::State, &set).await.unwrap();
    };
    let delete = async |key: &str| {
        other.run::<i64>(StoreUse::State, cmd("DEL").arg(key)).await.unwrap();
    };
    let open = async || SharedStore::open(&server.config(), None).await;
    set("test:queue", "theirs").await;
    assert_eq!(problem(&open().await).await, StoreError::Foreign("test:queue".into()));
    delete("test:queue").await;
    set("test:state:{plugin:a}:size", "0").await;
    open().await.connected().await.unwrap(); // a store that has lost only its marker
    set("test:schema", "moongate 2").await;
    assert_eq!(problem(&open().await).await, StoreError::Newer("2".into()));
    set("test:schema", "theirs").await;
    assert_eq!(problem(&open().await).await, StoreError::Foreign("test:schema".into()));
}

#[tokio::test]
async fn replicas_are_refused() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let store = server.store().await;
    let mut replicate = cmd("REPLICAOF");
    replicate.arg("127.0.0.1").arg(1);
    store.run::<()>(StoreUse::State, &replicate).await.unwrap();
    assert_eq!(problem(&SharedStore::open(&server.config(), None).await).await, StoreError::ReadOnly);
    assert!(store.mark_used(1, 1, Duration::from_secs(1)).await.is_err());
}

#[tokio::test]
async fn operations_dont_wait_for_a_store_that_is_down() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = StoreConfig {
        address: StoreAddress::Tcp { host: "127.0.0.1".into(), port, encryption: StoreEncryption::None },
        database: 0,
        user: None,
        password: None,
        prefix: "test:".into(),
        connect_timeout: Duration::from_secs(60 * 60),
        response_timeout: Duration::from_secs(60 * 60),
        rates_when_down: moongate_config::RatesWhenDown::Local,
    };
    let store = SharedStore::open(&config, None).await;
    let (refused, _) = listener.accept().await.unwrap();
    drop(refused);
    problem(&store).await;
    // The next attempt gets no answer, and an operation doesn't wait for it.
    let _silent = listener.accept().await.unwrap();
    assert!(store.mark_used(1, 1, Duration::from_secs(1)).await.is_err());
}

#[tokio::test]
async fn addresses_without_a_server_are_errors() {
    let config = |address| StoreConfig {
        address,
        database: 0,
        user: None,
        password: None,
        prefix: "test:".into(),
        connect_timeout: Duration::from_millis(200),
        response_timeout: Duration::from_millis(200),
        rates_when_down: moongate_config::RatesWhenDown::Local,
    };
    let tcp = |port, encryption| StoreAddress::Tcp { host: "127.0.0.1".into(), port, encryption };
    for (address, part) in [
        (tcp(1, StoreEncryption::None), "connection refused"),
        (StoreAddress::Unix("/nowhere/store.sock".into()), "the socket doesn't exist"),
    ] {
        let store = SharedStore::open(&config(address), None).await;
        let error = problem(&store).await;
        assert!(error.to_string().contains(part), "{error}");
    }
    // Servers that say nothing, or something else.
    for (encryption, answer, part) in [
        (StoreEncryption::None, "", "no response in time"),
        (StoreEncryption::None, "HTTP/1.1 400 Bad Request\r\n\r\n", "connection was lost"),
        (StoreEncryption::Tls, "-ERR unknown command\r\n", "can't connect with TLS"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp(listener.local_addr().unwrap().port(), encryption);
        let server = tokio::spawn(async move {
            let mut open = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::io::AsyncWriteExt::write_all(&mut stream, answer.as_bytes()).await.unwrap();
                open.push(stream);
            }
        });
        let error = problem(&SharedStore::open(&config(address), None).await).await;
        assert!(error.to_string().contains(part), "{answer:?}: {error}");
        server.abort();
    }
}
