//! What is kept, what isn't, and that calls at the same time lose nothing.

use std::path::PathBuf;
use std::thread;

use super::*;

/// More than any test keeps.
const PLENTY: u64 = 1 << 20;

fn keys(page: &Page) -> Vec<&str> {
    page.keys.iter().map(String::as_str).collect()
}

fn config(id: &str, state: StateGrant) -> PluginConfig {
    let mut config = PluginConfig::bare(PluginId::new(id).unwrap(), PathBuf::new());
    config.allow.state = state;
    config
}

#[test]
fn a_plugin_has_a_store_only_where_it_is_granted_one() {
    let stores = Stores::default();
    let name = StoreName::new("a").unwrap();
    assert!(matches!(stores.of(&config("a", StateGrant::Refused)), Access::Refused(_)));
    let granted = |id: &str, state| match stores.of(&config(id, state)) {
        Access::Granted(kept) => kept,
        Access::Refused(_) => panic!("refused"),
    };
    let own = granted("a", StateGrant::Own);
    let again = granted("a", StateGrant::Own);
    let other = granted("b", StateGrant::Own);
    let shared = granted("a", StateGrant::Shared(name.clone()));
    let same = granted("b", StateGrant::Shared(name));
    assert!(Arc::ptr_eq(&own, &again) && Arc::ptr_eq(&shared, &same));
    assert!(!Arc::ptr_eq(&own, &other) && !Arc::ptr_eq(&own, &shared), "a name is no plugin");
}

#[test]
fn keys_hold_values_until_they_are_deleted() {
    let kept = Kept::default();
    assert_eq!(kept.get("a"), Ok(None));
    kept.set("a".into(), b"1".into(), PLENTY).unwrap();
    kept.set("a".into(), b"\0\xff".into(), PLENTY).unwrap();
    assert_eq!(kept.get("a").unwrap().as_deref(), Some(&b"\0\xff"[..]));
    kept.delete("a").unwrap();
    kept.delete("a").unwrap();
    assert_eq!(kept.get("a"), Ok(None));
    assert_eq!(kept.lock().size, 0);
}

#[test]
fn pages_hold_every_key_that_stays_once() {
    let kept = Kept::default();
    for number in 0..PAGE + 2 {
        kept.set(format!("{number:04}"), Vec::new(), PLENTY).unwrap();
    }
    let first = kept.page(None);
    assert_eq!((first.keys.len(), first.cursor.as_deref()), (PAGE, Some("0499")));
    kept.delete("0499").unwrap();
    kept.set("0000x".into(), Vec::new(), PLENTY).unwrap();
    kept.set("0500x".into(), Vec::new(), PLENTY).unwrap();
    let last = kept.page(first.cursor.as_deref());
    assert_eq!((keys(&last), &last.cursor), (vec!["0500", "0500x", "0501"], &None));
    assert_eq!(kept.page(Some("z")), Page { keys: Vec::new(), cursor: None });
}

#[test]
fn the_limit_holds_for_keys_and_values_together() {
    let kept = Kept::default();
    let most = 2 * ENTRY + 10;
    kept.set("a".into(), vec![0; 4], most).unwrap();
    kept.set("b".into(), vec![0; 4], most).unwrap();
    for (key, value) in [("c", 0), ("a", 5)] {
        assert_eq!(kept.set(key.into(), vec![0; value], most), Err(KeepError::Full(most)), "{key}");
    }
    assert_eq!(kept.get("a").unwrap().unwrap().len(), 4, "what was there stays");
    // What makes it smaller goes even under a limit that was lowered.
    kept.set("a".into(), vec![0; 3], 1).unwrap();
    kept.delete("b").unwrap();
    kept.set("c".into(), vec![0; 5], most).unwrap();
}

#[test]
fn that_there_is_no_room_is_news_until_there_was_some() {
    let (kept, most) = (Kept::default(), ENTRY + 1);
    kept.set("a".into(), Vec::new(), most).unwrap();
    assert!(kept.set("b".into(), Vec::new(), most).is_err());
    assert!(kept.is_news() && !kept.is_news());
    kept.delete("a").unwrap();
    kept.set("b".into(), Vec::new(), most).unwrap();
    assert!(kept.is_news());
}

#[test]
fn keys_and_values_have_a_length() {
    let (kept, all) = (Kept::default(), u64::MAX / 2);
    let long = "k".repeat(KEY + 1);
    let refused = KeepError::LongKey(KEY + 1);
    assert_eq!(kept.get(&long), Err(refused.clone()));
    assert_eq!(kept.delete(&long), Err(refused.clone()));
    assert_eq!(kept.increment(long.clone(), 1, all), Err(refused.clone()));
    assert_eq!(kept.set(long.clone(), Vec::new(), all), Err(refused));
    kept.set(long[1..].to_owned(), vec![0; VALUE], all).unwrap();
    assert_eq!(kept.set("a".into(), vec![0; VALUE + 1], all), Err(KeepError::LongValue(VALUE + 1)));
    let said = KeepError::LongValue(VALUE + 1).to_string();
    assert_eq!(said, "the value has 1.0 MiB, but at most 1.0 MiB are allowed");
}

#[test]
fn numbers_are_added_up_in_64_bits() {
    let kept = Kept::default();
    assert_eq!(kept.increment("n".into(), 5, PLENTY), Ok(5));
    assert_eq!(kept.increment("n".into(), -7, PLENTY), Ok(-2));
    assert_eq!(kept.get("n").unwrap().as_deref(), Some(&b"-2"[..]));
    kept.set("n".into(), i64::MAX.to_string().into(), PLENTY).unwrap();
    assert_eq!(kept.increment("n".into(), 1, PLENTY), Err(KeepError::Overflow));
    for text in ["", "x", "1.5", " 1", "9223372036854775808", "\u{663}"] {
        kept.set("n".into(), text.into(), PLENTY).unwrap();
        assert_eq!(kept.increment("n".into(), 1, PLENTY), Err(KeepError::NoNumber), "{text:?}");
    }
}

#[test]
fn a_swap_needs_the_value_that_was_seen() {
    let kept = Kept::default();
    assert_eq!(kept.swap("a".into(), None, b"1".into(), PLENTY), Ok(Ok(())));
    let one = kept.get("a").unwrap();
    assert_eq!(kept.swap("a".into(), None, b"2".into(), PLENTY), Ok(Err(Changed(one.clone()))));
    assert_eq!(kept.swap("a".into(), one.as_ref(), b"2".into(), PLENTY), Ok(Ok(())));
    kept.delete("a").unwrap();
    assert_eq!(kept.swap("a".into(), one.as_ref(), b"3".into(), PLENTY), Ok(Err(Changed(None))));
    assert_eq!(kept.swap("a".into(), None, b"3".into(), 1), Err(KeepError::Full(1)));
}

#[test]
fn threads_that_count_together_lose_nothing() {
    let kept = Kept::default();
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..500 {
                    kept.increment("sum".into(), 1, PLENTY).unwrap();
                    let mut seen = kept.get("swapped").unwrap();
                    loop {
                        let next = seen.as_deref().map_or(0, |value| number(value).unwrap()) + 1;
                        let swapped =
                            kept.swap("swapped".into(), seen.as_ref(), next.to_string().into(), PLENTY);
                        match swapped.unwrap() {
                            Ok(()) => break,
                            Err(Changed(now)) => seen = now,
                        }
                    }
                }
            });
        }
    });
    for key in ["sum", "swapped"] {
        assert_eq!(kept.get(key).unwrap().as_deref(), Some(&b"4000"[..]), "{key}");
    }
}
