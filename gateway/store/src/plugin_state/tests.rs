//! State in a real server.

use std::sync::Arc;

use moongate_model::state::contract::check_backend;

use super::*;
use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_store_behaves_like_the_other_backends() {
    let Some(server) = TestServer::start(&[]).await else { return };
    check_backend(Arc::new(server.store().await)).await;
}

#[tokio::test]
async fn a_store_without_memory_refuses_writes_and_keeps_data() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let store = server.store().await;
    let owner: StateOwner = "plugin:a".parse().unwrap();
    let value = |text: &str| StoredValue::from(text.as_bytes());
    store.set(&owner, "a".into(), value("1"), 1_000).await.unwrap();
    let limit = async |bytes: &str| {
        let mut set = cmd("CONFIG");
        set.arg("SET").arg("maxmemory").arg(bytes);
        store.run::<()>(StoreUse::State, &set).await.unwrap();
    };
    limit("1").await;
    let refused = store.set(&owner, "b".into(), value("1"), 1_000).await;
    assert_eq!(refused, Err(StateError::NoMemory));
    assert_eq!(store.increment(&owner, "a".into(), 1, 1_000).await, Err(StateError::NoMemory));
    assert_eq!(store.get(&owner, "a".into()).await.unwrap().as_deref(), Some(&b"1"[..]));
    store.delete(&owner, "a".into()).await.unwrap();
    assert_eq!(store.owners().await.unwrap(), []);
    limit("0").await;
    store.set(&owner, "b".into(), value("1"), 1_000).await.unwrap();
}

#[tokio::test]
async fn a_foreign_key_is_an_error_and_stays() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let store = server.store().await;
    let owner: StateOwner = "plugin:a".parse().unwrap();
    let mut set = cmd("SET");
    set.arg(values_key(&store, &owner)).arg("theirs");
    store.run::<()>(StoreUse::State, &set).await.unwrap();
    assert_eq!(store.get(&owner, "a".into()).await, Err(StateError::Unavailable));
    assert_eq!(store.set(&owner, "a".into(), b"1"[..].into(), 1_000).await, Err(StateError::Unavailable));
    let theirs: String =
        store.run(StoreUse::State, cmd("GET").arg(values_key(&store, &owner))).await.unwrap();
    assert_eq!(theirs, "theirs");
}
