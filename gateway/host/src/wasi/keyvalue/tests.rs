//! Stores in memory and on disk: owners, limits on lengths, and the rules of all backends.

mod disk;

use std::path::Path;

use moongate_model::names::{LocalUser, PluginId, StoreName, TokenFacts, TokenSubject};
use moongate_model::state::ENTRY_OVERHEAD_BYTES;
use moongate_model::state::contract::{check_backend, count};
use tempfile::TempDir;

use super::*;

/// A size that no test exceeds.
const PLENTY: u64 = 1 << 20;

fn config(id: &str, state: StateGrant) -> PluginConfig {
    let mut config = PluginConfig::ungranted(PluginId::new(id).unwrap(), PathBuf::new());
    config.allow.state = state;
    config
}

/// The store of a plugin with this name and grant.
fn granted(stores: &KeyValueStores, id: &str, state: StateGrant) -> Arc<KeyValueStore> {
    match stores.of(&config(id, state), &Principal::Local) {
        StoreAccess::Granted(kept) => kept,
        StoreAccess::Refused => panic!("refused"),
    }
}

fn in_memory() -> KeyValueStores {
    KeyValueStores::new(StateLocation::Memory)
}

fn on_disk(directory: &Path) -> KeyValueStores {
    KeyValueStores::new(StateLocation::Directory(directory.join("state")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn both_backends_follow_the_rules() {
    let directory = TempDir::new().unwrap();
    for stores in [in_memory(), on_disk(directory.path())] {
        check_backend(stores.backend).await;
    }
}

/// An empty store of each kind.
struct Both {
    _directory: TempDir,
    stores: [Arc<KeyValueStore>; 2],
}

impl Both {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let stores = [in_memory(), on_disk(directory.path())];
        Self { stores: stores.map(|stores| granted(&stores, "a", StateGrant::Own)), _directory: directory }
    }

    fn each(&self) -> impl Iterator<Item = &Arc<KeyValueStore>> {
        self.stores.iter()
    }
}

impl KeyValueStore {
    async fn text(&self, key: &str) -> Option<String> {
        let value = self.get(key.into()).await.unwrap();
        value.map(|value| String::from_utf8(value.to_vec()).unwrap())
    }

    /// The size of the store.
    async fn size(&self) -> u64 {
        let owners = self.backend.owners().await.unwrap();
        owners.into_iter().find(|(owner, _)| *owner == self.owner).map_or(0, |(_, size)| size)
    }
}

#[tokio::test]
async fn a_plugin_has_a_store_only_if_granted() {
    let directory = TempDir::new().unwrap();
    for stores in [in_memory(), on_disk(directory.path())] {
        let name = StoreName::new("a").unwrap();
        assert!(matches!(
            stores.of(&config("a", StateGrant::NotGranted), &Principal::Local),
            StoreAccess::Refused
        ));
        let own = granted(&stores, "a", StateGrant::Own);
        own.set("key".into(), b"own".into(), PLENTY).await.unwrap();
        assert_eq!(granted(&stores, "a", StateGrant::Own).text("key").await.as_deref(), Some("own"));
        assert_eq!(granted(&stores, "b", StateGrant::Own).text("key").await, None);
        let shared = granted(&stores, "a", StateGrant::Shared(name.clone()));
        assert_eq!(shared.text("key").await, None, "a name isn't a plugin");
        shared.set("key".into(), b"shared".into(), PLENTY).await.unwrap();
        let same = granted(&stores, "b", StateGrant::Shared(name));
        assert_eq!(same.text("key").await.as_deref(), Some("shared"));
        assert_eq!(own.text("key").await.as_deref(), Some("own"));
    }
}

#[tokio::test]
async fn callers_have_stores_of_their_own_if_configured() {
    let directory = TempDir::new().unwrap();
    let ann = |issuer: &str| TokenSubject::new(issuer.into(), "ann".into(), "ann");
    let callers = [
        Principal::Local,
        Principal::Anonymous,
        Principal::Named("ann".into()),
        Principal::Named("bob".into()),
        Principal::Subject(Arc::new(ann("https://a.example"))),
        Principal::Subject(Arc::new(ann("https://b.example"))),
    ];
    let mut config = config("a", StateGrant::Own);
    config.allow.state_scope = StateScope::Caller;
    for stores in [in_memory(), on_disk(directory.path())] {
        let store = |caller: &Principal| match stores.of(&config, caller) {
            StoreAccess::Granted(kept) => kept,
            StoreAccess::Refused => panic!("refused"),
        };
        for (number, caller) in callers.iter().enumerate() {
            assert_eq!(store(caller).text("key").await, None, "{caller} sees another caller's state");
            store(caller).set("key".into(), number.to_string().into_bytes(), 100).await.unwrap();
        }
        for (number, caller) in callers.iter().enumerate() {
            assert_eq!(store(caller).text("key").await, Some(number.to_string()), "{caller}");
        }
        let facts = TokenFacts { scopes: ["more".to_owned()].into(), ..TokenFacts::default() };
        let renewed = Principal::Subject(Arc::new(ann("https://a.example").with_facts(facts)));
        assert_eq!(store(&renewed).text("key").await.as_deref(), Some("4"));
        assert_eq!(granted(&stores, "a", StateGrant::Own).text("key").await, None);
    }
}

#[test]
fn local_callers_of_a_shared_backend_belong_to_their_machine() {
    let shared = KeyValueStores::new(StateLocation::Shared(StateLocation::Memory.backend()));
    let mut config = config("a", StateGrant::Own);
    config.allow.state_scope = StateScope::Caller;
    let owner = |stores: &KeyValueStores, caller: &Principal| match stores.of(&config, caller) {
        StoreAccess::Granted(kept) => kept.owner.to_string(),
        StoreAccess::Refused => panic!("refused"),
    };
    let machine = machine_id().unwrap();
    assert_eq!(owner(&shared, &Principal::Local), format!("plugin:a/stdio@{machine}"));
    let user = Principal::User(LocalUser::new(1000));
    assert_eq!(owner(&shared, &user), format!("plugin:a/uid:1000@{machine}"));
    assert_eq!(owner(&in_memory(), &user), "plugin:a/uid:1000");
    let everywhere = Principal::Named("ann".into());
    assert_eq!(owner(&shared, &everywhere), "plugin:a/token:ann");
}

#[tokio::test]
async fn keys_and_values_have_a_maximum_length() {
    for kept in Both::new().each() {
        let all = u64::MAX / 4;
        let long = "k".repeat(MAX_KEY_BYTES + 1);
        let refused = StateError::KeyTooLong(MAX_KEY_BYTES + 1);
        assert_eq!(kept.get(long.clone()).await, Err(refused.clone()));
        assert_eq!(kept.exists(long.clone()).await, Err(refused.clone()));
        assert_eq!(kept.delete(long.clone()).await, Err(refused.clone()));
        assert_eq!(kept.increment(long.clone(), 1, all).await, Err(refused.clone()));
        assert_eq!(kept.swap(long.clone(), None, Vec::new(), all).await, Err(refused.clone()));
        assert_eq!(kept.set(long.clone(), Vec::new(), all).await, Err(refused));
        kept.set(long[1..].to_owned(), vec![7; MAX_VALUE_BYTES], all).await.unwrap();
        assert_eq!(kept.get(long[1..].to_owned()).await.unwrap().unwrap()[..], vec![7; MAX_VALUE_BYTES]);
        let error = StateError::ValueTooLong(MAX_VALUE_BYTES + 1);
        assert_eq!(kept.set("a".into(), vec![0; MAX_VALUE_BYTES + 1], all).await, Err(error));
    }
    let message = StateError::ValueTooLong(MAX_VALUE_BYTES + 1).to_string();
    assert_eq!(message, "the value has 1.0 MiB, and the limit is 1.0 MiB; split it over several keys");
}
