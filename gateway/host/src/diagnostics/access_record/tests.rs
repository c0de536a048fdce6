//! Records of accesses.

use super::*;

fn id(text: &str) -> PluginId {
    PluginId::new(text).unwrap()
}

#[test]
fn grants_have_their_last_use() {
    let mut config = PluginConfig::ungranted(id("notes"), "notes.wasm".into());
    config.allow.env = vec![("LANG".to_owned(), "C".to_owned()), ("TZ".to_owned(), "UTC".to_owned())];
    config.allow.instructions = true;
    let record = AccessRecord::default();
    record.used("env TZ".to_owned());
    record.used("env REMOVED".to_owned());
    let uses: Vec<_> = record.history(&config).grants;
    let is_used = |name: &str| uses.iter().find(|used| used.grant == name).unwrap().last_used;
    assert_eq!(is_used("LANG"), LastUse::Never);
    assert!(matches!(is_used("TZ"), LastUse::At(at) if at <= SystemTime::now()), "{uses:?}");
    assert_eq!(is_used("the server's instructions"), LastUse::Unknown);
    assert_eq!(uses.len(), 3);
}

#[test]
fn a_flood_of_refusals_is_bounded() {
    let record = AccessRecord::default();
    for at in 0..1000 {
        record.refused(format!("the variable V{at}"), || None);
        record.used(format!("env V{at}"));
        record.used(format!("env W{at}"));
    }
    record.refused("the variable V999".to_owned(), || Some("add it".to_owned()));
    record.limited("memory");
    record.limited("memory");
    let mut config = PluginConfig::ungranted(id("greedy"), "greedy.wasm".into());
    config.allow.env = vec![("W999".to_owned(), "C".to_owned())];
    let AccessHistory { refused, limited, grants } = record.history(&config);
    assert!(matches!(grants[0].last_used, LastUse::At(_)), "grants of earlier configurations make room");
    assert_eq!(refused.len(), MAX_REFUSED);
    assert_eq!((refused[0].count, refused[0].fix.as_deref()), (2, Some("add it")));
    assert_eq!(refused[1].wanted, "the variable V998");
    assert_eq!(limited.iter().map(|limit| (limit.name, limit.count)).collect::<Vec<_>>(), [("memory", 2)]);
    assert_eq!(record.used.read().unwrap().len(), MAX_USED);
}

#[test]
fn a_record_lasts_as_long_as_the_plugin() {
    let records = AccessRecords::default();
    let first = records.of(&id("notes"));
    first.limited("memory");
    let config = PluginConfig::ungranted(id("notes"), "notes.wasm".into());
    assert_eq!(records.of(&id("notes")).history(&config).limited.len(), 1);
    drop(first);
    assert_eq!(records.of(&id("notes")).history(&config).limited, []);
}
