//! Stores in memory and on disk: contents, limits, and concurrent calls.

mod disk;

use std::path::Path;

use moongate_model::names::{StoreName, TokenFacts, TokenSubject};
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

fn on_disk(directory: &Path) -> KeyValueStores {
    KeyValueStores::new(Some(directory.join("state")))
}

/// An empty store of each kind.
struct Both {
    _directory: TempDir,
    stores: [Arc<KeyValueStore>; 2],
}

impl Both {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let stores = [KeyValueStores::default(), on_disk(directory.path())];
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
        match &self.backend {
            Backend::Memory(memory) => lock(memory).size,
            Backend::Disk(store) => store.size().await.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_plugin_has_a_store_only_if_granted() {
    let directory = TempDir::new().unwrap();
    for stores in [KeyValueStores::default(), on_disk(directory.path())] {
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
    for stores in [KeyValueStores::default(), on_disk(directory.path())] {
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

#[tokio::test]
async fn keys_have_values_until_deleted() {
    for kept in Both::new().each() {
        assert_eq!(kept.get("a".into()).await, Ok(None));
        assert_eq!(kept.exists("a".into()).await, Ok(false));
        kept.set("a".into(), b"1".into(), PLENTY).await.unwrap();
        kept.set("a".into(), b"\0\xff".into(), PLENTY).await.unwrap();
        kept.set("empty".into(), Vec::new(), PLENTY).await.unwrap();
        assert_eq!(kept.get("a".into()).await.unwrap().as_deref(), Some(&b"\0\xff"[..]));
        assert_eq!(kept.get("empty".into()).await.unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(kept.exists("empty".into()).await, Ok(true));
        kept.delete("a".into()).await.unwrap();
        kept.delete("a".into()).await.unwrap();
        assert_eq!(kept.get("a".into()).await, Ok(None));
        assert_eq!(kept.size().await, ENTRY_OVERHEAD_BYTES + 5);
    }
}

#[tokio::test]
async fn keys_are_ordered_as_bytes() {
    let keys =
        ["", "\0", "\0a", " ", "%", "'", "A", "_", "a", "a\0", "a\0b", "a\n", "é", "\u{ffff}", "\u{1f600}"];
    for kept in Both::new().each() {
        for key in keys.iter().rev() {
            kept.set((*key).into(), key.as_bytes().into(), PLENTY).await.unwrap();
        }
        assert_eq!(
            kept.first_page(None).await.unwrap(),
            KeyPage { keys: keys.map(str::to_owned).into(), cursor: None }
        );
        for (at, key) in keys.iter().enumerate() {
            assert_eq!(kept.text(key).await.as_deref(), Some(*key));
            assert_eq!(
                kept.first_page(Some((*key).into())).await.unwrap().keys,
                keys[at + 1..],
                "after {key:?}"
            );
        }
    }
}

#[tokio::test]
async fn pages_list_every_lasting_key_once() {
    for kept in Both::new().each() {
        for number in 0..MAX_PAGE_KEYS + 2 {
            kept.set(format!("{number:04}"), Vec::new(), PLENTY).await.unwrap();
        }
        let first = kept.first_page(None).await.unwrap();
        assert_eq!((first.keys.len(), first.cursor.as_deref()), (MAX_PAGE_KEYS, Some("0499")));
        kept.delete("0499".into()).await.unwrap();
        kept.set("0000x".into(), Vec::new(), PLENTY).await.unwrap();
        kept.set("0500x".into(), Vec::new(), PLENTY).await.unwrap();
        let last = kept.first_page(first.cursor).await.unwrap();
        assert_eq!(last, KeyPage { keys: ["0500", "0500x", "0501"].map(str::to_owned).into(), cursor: None });
        assert_eq!(
            kept.first_page(Some("z".into())).await.unwrap(),
            KeyPage { keys: Vec::new(), cursor: None }
        );
    }
}

#[tokio::test]
async fn the_limit_includes_keys_and_values() {
    for kept in Both::new().each() {
        let limit = 2 * ENTRY_OVERHEAD_BYTES + 10;
        kept.set("a".into(), vec![0; 4], limit).await.unwrap();
        kept.set("b".into(), vec![0; 4], limit).await.unwrap();
        for (key, value) in [("c", 0), ("a", 5)] {
            let set = kept.set(key.into(), vec![0; value], limit).await;
            assert_eq!(set, Err(KeyValueError::Full(limit)), "{key}");
        }
        assert_eq!(kept.increment("c".into(), 1, limit).await, Err(KeyValueError::Full(limit)));
        assert_eq!(kept.get("a".into()).await.unwrap().unwrap().len(), 4, "existing data is kept");
        assert_eq!(kept.size().await, limit);
        // A change that makes it smaller works even if the limit was lowered.
        kept.set("a".into(), vec![0; 3], 1).await.unwrap();
        kept.delete("b".into()).await.unwrap();
        kept.set("c".into(), vec![0; 5], limit).await.unwrap();
        assert_eq!(kept.size().await, limit);
    }
}

#[tokio::test]
async fn keys_and_values_have_a_maximum_length() {
    for kept in Both::new().each() {
        let all = u64::MAX / 4;
        let long = "k".repeat(MAX_KEY_BYTES + 1);
        let refused = KeyValueError::KeyTooLong(MAX_KEY_BYTES + 1);
        assert_eq!(kept.get(long.clone()).await, Err(refused.clone()));
        assert_eq!(kept.exists(long.clone()).await, Err(refused.clone()));
        assert_eq!(kept.delete(long.clone()).await, Err(refused.clone()));
        assert_eq!(kept.increment(long.clone(), 1, all).await, Err(refused.clone()));
        assert_eq!(kept.swap(long.clone(), None, Vec::new(), all).await, Err(refused.clone()));
        assert_eq!(kept.set(long.clone(), Vec::new(), all).await, Err(refused));
        kept.set(long[1..].to_owned(), vec![7; MAX_VALUE_BYTES], all).await.unwrap();
        assert_eq!(kept.get(long[1..].to_owned()).await.unwrap().unwrap()[..], vec![7; MAX_VALUE_BYTES]);
        let error = KeyValueError::ValueTooLong(MAX_VALUE_BYTES + 1);
        assert_eq!(kept.set("a".into(), vec![0; MAX_VALUE_BYTES + 1], all).await, Err(error));
    }
    let message = KeyValueError::ValueTooLong(MAX_VALUE_BYTES + 1).to_string();
    assert_eq!(message, "the value has 1.0 MiB, and the limit is 1.0 MiB; split it over several keys");
}

#[tokio::test]
async fn increments_are_64_bit() {
    for kept in Both::new().each() {
        assert_eq!(kept.increment("n".into(), 5, PLENTY).await, Ok(5));
        assert_eq!(kept.increment("n".into(), -7, PLENTY).await, Ok(-2));
        assert_eq!(kept.text("n").await.as_deref(), Some("-2"));
        kept.set("n".into(), i64::MAX.to_string().into(), PLENTY).await.unwrap();
        assert_eq!(kept.increment("n".into(), 1, PLENTY).await, Err(KeyValueError::Overflow));
        for text in ["", "x", "1.5", " 1", "9223372036854775808", "\u{663}"] {
            kept.set("n".into(), text.into(), PLENTY).await.unwrap();
            assert_eq!(
                kept.increment("n".into(), 1, PLENTY).await,
                Err(KeyValueError::NotANumber),
                "{text:?}"
            );
            assert_eq!(kept.text("n").await.as_deref(), Some(text), "the value is unchanged");
        }
    }
}

#[tokio::test]
async fn a_swap_fails_if_the_value_changed() {
    for kept in Both::new().each() {
        let swap = async |seen: &Option<StoredValue>, value: &[u8], limit| {
            kept.swap("a".into(), seen.clone(), value.into(), limit).await
        };
        assert_eq!(swap(&None, b"1", PLENTY).await, Ok(Ok(())));
        let one = kept.get("a".into()).await.unwrap();
        assert_eq!(swap(&None, b"2", PLENTY).await, Ok(Err(SwapConflict(one.clone()))));
        assert_eq!(swap(&one, b"2", PLENTY).await, Ok(Ok(())));
        kept.delete("a".into()).await.unwrap();
        assert_eq!(swap(&one, b"3", PLENTY).await, Ok(Err(SwapConflict(None))));
        assert_eq!(swap(&None, b"3", 1).await, Err(KeyValueError::Full(1)));
    }
}

/// Adds 1 to two numbers: to one by addition and to the other by swaps.
async fn count(kept: &KeyValueStore, times: usize) {
    for _ in 0..times {
        kept.increment("sum".into(), 1, PLENTY).await.unwrap();
        let mut seen = kept.get("swapped".into()).await.unwrap();
        loop {
            let next = seen.as_deref().map_or(0, |value| number(value).unwrap()) + 1;
            let next = next.to_string().into_bytes();
            match kept.swap("swapped".into(), seen, next, PLENTY).await.unwrap() {
                Ok(()) => break,
                Err(SwapConflict(now)) => seen = now,
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_increments_lose_nothing() {
    for kept in Both::new().each() {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let kept = Arc::clone(kept);
                tokio::spawn(async move { count(&kept, 50).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        for key in ["sum", "swapped"] {
            assert_eq!(kept.text(key).await.as_deref(), Some("400"), "{key}");
        }
        assert_eq!(kept.size().await, 2 * ENTRY_OVERHEAD_BYTES + 10 + 6);
    }
}
