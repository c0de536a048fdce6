//! The tests that every backend passes. Each gets a backend without entries.

use std::sync::Arc;

use super::{
    ENTRY_OVERHEAD_BYTES, KeyPage, MAX_PAGE_KEYS, MAX_VALUE_BYTES, StateBackend, StateError, StateOwner,
    StoredValue, SwapConflict, parse_number,
};

/// A size that no test exceeds.
const PLENTY: u64 = 1 << 20;

fn owner(text: &str) -> StateOwner {
    text.parse().unwrap()
}

/// The store of one owner.
struct Store<'a> {
    backend: &'a dyn StateBackend,
    owner: StateOwner,
}

impl<'a> Store<'a> {
    fn new(backend: &'a dyn StateBackend, text: &str) -> Self {
        Self { backend, owner: owner(text) }
    }

    async fn text(&self, key: &str) -> Option<String> {
        let value = self.backend.get(&self.owner, key.into()).await.unwrap();
        value.map(|value| String::from_utf8(value.to_vec()).unwrap())
    }

    async fn set(&self, key: &str, value: &[u8], limit: u64) -> Result<(), StateError> {
        self.backend.set(&self.owner, key.into(), value.into(), limit).await
    }

    async fn delete(&self, key: &str) {
        self.backend.delete(&self.owner, key.into()).await.unwrap();
    }

    async fn add(&self, key: &str, delta: i64, limit: u64) -> Result<i64, StateError> {
        self.backend.increment(&self.owner, key.into(), delta, limit).await
    }

    async fn size(&self) -> u64 {
        let owners = self.backend.owners().await.unwrap();
        owners.into_iter().find(|(owner, _)| *owner == self.owner).map_or(0, |(_, size)| size)
    }
}

/// Runs all tests. Each uses owners of its own.
///
/// # Panics
/// The backend doesn't behave as the trait says.
pub async fn check_backend(backend: Arc<dyn StateBackend>) {
    keys_have_values_until_deleted(&*backend).await;
    owners_are_separate(&*backend).await;
    keys_are_ordered_as_bytes(&*backend).await;
    pages_list_every_lasting_key_once(&*backend).await;
    the_limit_includes_keys_and_values(&*backend).await;
    values_can_have_the_maximum_length(&*backend).await;
    increments_are_64_bit(&*backend).await;
    a_swap_fails_if_the_value_changed(&*backend).await;
    concurrent_increments_lose_nothing(backend).await;
}

async fn keys_have_values_until_deleted(backend: &dyn StateBackend) {
    let store = Store::new(backend, "plugin:values");
    let exists = async |key: &str| backend.exists(&store.owner, key.into()).await;
    assert_eq!(backend.get(&store.owner, "a".into()).await, Ok(None));
    assert_eq!(exists("a").await, Ok(false));
    store.set("a", b"1", PLENTY).await.unwrap();
    store.set("a", b"\0\xff", PLENTY).await.unwrap();
    store.set("empty", b"", PLENTY).await.unwrap();
    let value = async |key: &str| backend.get(&store.owner, key.into()).await.unwrap();
    assert_eq!(value("a").await.as_deref(), Some(&b"\0\xff"[..]));
    assert_eq!(value("empty").await.as_deref(), Some(&b""[..]));
    assert_eq!(exists("empty").await, Ok(true));
    store.delete("a").await;
    store.delete("a").await;
    assert_eq!(value("a").await, None);
    assert_eq!(store.size().await, ENTRY_OVERHEAD_BYTES + 5);
    store.delete("empty").await;
    assert_eq!(store.size().await, 0, "an owner without entries isn't listed, or is empty");
}

async fn owners_are_separate(backend: &dyn StateBackend) {
    let texts = [
        "plugin:own",
        "plugin:own2",
        "name:own",
        "plugin:own/stdio",
        "plugin:own/token:ann",
        "plugin:own/token:*",
        "plugin:own/subject:https://a.example {x}:sizes",
        "plugin:own/subject:https://a.example \u{e4}nn",
    ];
    let stores: Vec<Store<'_>> = texts.iter().map(|text| Store::new(backend, text)).collect();
    for store in &stores {
        assert_eq!(store.text("key").await, None, "{} sees another owner's state", store.owner);
        store.set("key", store.owner.as_str().as_bytes(), PLENTY).await.unwrap();
    }
    for store in &stores {
        assert_eq!(store.text("key").await.as_deref(), Some(store.owner.as_str()));
    }
    let listed: Vec<StateOwner> =
        backend.owners().await.unwrap().into_iter().map(|(owner, _)| owner).collect();
    assert!(listed.is_sorted(), "{listed:?}");
    assert!(stores.iter().all(|store| listed.contains(&store.owner)), "{listed:?}");
}

async fn keys_are_ordered_as_bytes(backend: &dyn StateBackend) {
    let keys = [
        "",
        "\0",
        "\0a",
        " ",
        "%",
        "'",
        "(",
        "+",
        "-",
        "A",
        "[",
        "_",
        "a",
        "a\0",
        "a\0b",
        "a\n",
        "é",
        "\u{ffff}",
        "\u{1f600}",
    ];
    let store = Store::new(backend, "plugin:order");
    let page =
        async |cursor: Option<&str>| backend.page(&store.owner, cursor.map(str::to_owned)).await.unwrap();
    for key in keys.iter().rev() {
        store.set(key, key.as_bytes(), PLENTY).await.unwrap();
    }
    assert_eq!(page(None).await, KeyPage { keys: keys.map(str::to_owned).into(), cursor: None });
    for (at, key) in keys.iter().enumerate() {
        assert_eq!(store.text(key).await.as_deref(), Some(*key));
        assert_eq!(page(Some(key)).await.keys, keys[at + 1..], "after {key:?}");
    }
}

async fn pages_list_every_lasting_key_once(backend: &dyn StateBackend) {
    let store = Store::new(backend, "plugin:pages");
    let page = async |cursor: Option<String>| backend.page(&store.owner, cursor).await.unwrap();
    for number in 0..MAX_PAGE_KEYS + 2 {
        store.set(&format!("{number:04}"), b"", PLENTY).await.unwrap();
    }
    let first = page(None).await;
    assert_eq!((first.keys.len(), first.cursor.as_deref()), (MAX_PAGE_KEYS, Some("0499")));
    store.delete("0499").await;
    store.set("0000x", b"", PLENTY).await.unwrap();
    store.set("0500x", b"", PLENTY).await.unwrap();
    let last = page(first.cursor).await;
    assert_eq!(last, KeyPage { keys: ["0500", "0500x", "0501"].map(str::to_owned).into(), cursor: None });
    assert_eq!(page(Some("z".into())).await, KeyPage { keys: Vec::new(), cursor: None });
}

async fn the_limit_includes_keys_and_values(backend: &dyn StateBackend) {
    let store = Store::new(backend, "plugin:limit");
    let limit = 2 * ENTRY_OVERHEAD_BYTES + 10;
    store.set("a", &[0; 4], limit).await.unwrap();
    store.set("b", &[0; 4], limit).await.unwrap();
    for (key, value) in [("c", 0), ("a", 5)] {
        assert_eq!(store.set(key, &vec![0; value], limit).await, Err(StateError::Full(limit)), "{key}");
    }
    assert_eq!(store.add("c", 1, limit).await, Err(StateError::Full(limit)));
    assert_eq!(store.text("c").await, None);
    assert_eq!(store.text("a").await.unwrap().len(), 4, "existing data is kept");
    assert_eq!(store.size().await, limit);
    // A change that makes it smaller works even if the limit was lowered.
    store.set("a", &[0; 3], 1).await.unwrap();
    store.delete("b").await;
    store.set("c", &[0; 5], limit).await.unwrap();
    assert_eq!(store.size().await, limit);
}

async fn values_can_have_the_maximum_length(backend: &dyn StateBackend) {
    let store = Store::new(backend, "plugin:lengths");
    let key = "k".repeat(super::MAX_KEY_BYTES);
    let value = vec![7; MAX_VALUE_BYTES];
    store.set(&key, &value, u64::MAX / 4).await.unwrap();
    assert_eq!(backend.get(&store.owner, key).await.unwrap().unwrap()[..], value);
}

async fn increments_are_64_bit(backend: &dyn StateBackend) {
    let store = Store::new(backend, "plugin:numbers");
    assert_eq!(store.add("n", 5, PLENTY).await, Ok(5));
    assert_eq!(store.add("n", -7, PLENTY).await, Ok(-2));
    assert_eq!(store.text("n").await.as_deref(), Some("-2"));
    for (text, delta, sum) in [
        (i64::MAX.to_string(), 1, Err(StateError::Overflow)),
        (i64::MAX.to_string(), i64::MIN, Ok(-1)),
        (i64::MIN.to_string(), -1, Err(StateError::Overflow)),
        (i64::MIN.to_string(), 0, Ok(i64::MIN)),
        ("9007199254740993".to_owned(), 2, Ok(9_007_199_254_740_995)),
        ("+0007".to_owned(), 1, Ok(8)),
        ("-0".to_owned(), 0, Ok(0)),
        ("000".to_owned(), 3, Ok(3)),
    ] {
        store.set("n", text.as_bytes(), PLENTY).await.unwrap();
        assert_eq!(store.add("n", delta, PLENTY).await, sum, "{text:?} + {delta}");
        let after = sum.map_or(text, |sum| sum.to_string());
        assert_eq!(store.text("n").await, Some(after));
    }
    let size = ENTRY_OVERHEAD_BYTES + 2;
    assert_eq!(store.size().await, size);
    for text in ["", "x", "1.5", " 1", "1 ", "0x1", "+", "--1", "9223372036854775808", "\u{663}"] {
        store.set("n", text.as_bytes(), PLENTY).await.unwrap();
        assert_eq!(store.add("n", 1, PLENTY).await, Err(StateError::NotANumber), "{text:?}");
        assert_eq!(store.text("n").await.as_deref(), Some(text), "the value is unchanged");
    }
}

async fn a_swap_fails_if_the_value_changed(backend: &dyn StateBackend) {
    let store = Store::new(backend, "plugin:swaps");
    let swap = async |seen: &Option<StoredValue>, value: &[u8], limit| {
        backend.swap(&store.owner, "a".into(), seen.clone(), value.into(), limit).await
    };
    assert_eq!(swap(&None, b"", PLENTY).await, Ok(Ok(())));
    let empty = backend.get(&store.owner, "a".into()).await.unwrap();
    assert_eq!(empty.as_deref(), Some(&b""[..]));
    assert_eq!(swap(&None, b"2", PLENTY).await, Ok(Err(SwapConflict(empty.clone()))));
    assert_eq!(swap(&empty, b"2", PLENTY).await, Ok(Ok(())));
    store.delete("a").await;
    assert_eq!(swap(&empty, b"3", PLENTY).await, Ok(Err(SwapConflict(None))));
    assert_eq!(swap(&None, b"3", 1).await, Err(StateError::Full(1)));
}

/// Adds 1 to two numbers: to `sum` by addition and to `swapped` by swaps.
///
/// # Panics
/// An operation fails.
pub async fn count(backend: &dyn StateBackend, owner: &StateOwner, times: usize) {
    for _ in 0..times {
        backend.increment(owner, "sum".into(), 1, PLENTY).await.unwrap();
        let mut seen = backend.get(owner, "swapped".into()).await.unwrap();
        loop {
            let next = seen.as_deref().map_or(0, |value| parse_number(value).unwrap()) + 1;
            let next = next.to_string().into_bytes().into();
            match backend.swap(owner, "swapped".into(), seen, next, PLENTY).await.unwrap() {
                Ok(()) => break,
                Err(SwapConflict(now)) => seen = now,
            }
        }
    }
}

async fn concurrent_increments_lose_nothing(backend: Arc<dyn StateBackend>) {
    let counted = owner("plugin:counted");
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (backend, counted) = (Arc::clone(&backend), counted.clone());
            tokio::spawn(async move { count(&*backend, &counted, 50).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let store = Store { backend: &*backend, owner: counted };
    for key in ["sum", "swapped"] {
        assert_eq!(store.text(key).await.as_deref(), Some("400"), "{key}");
    }
    assert_eq!(store.size().await, 2 * ENTRY_OVERHEAD_BYTES + 10 + 6);
}
