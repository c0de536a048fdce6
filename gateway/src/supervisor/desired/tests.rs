//! What holds at once and what waits.

use moongate_core::config::Grants;
use moongate_core::names::PluginId;

use super::*;

fn granted() -> PluginConfig {
    let mut table = PluginConfig::bare(PluginId::new("a").unwrap(), PathBuf::from("a.wasm"));
    table.allow.instructions = true;
    table
}

#[test]
fn only_grants_that_are_new_wait_and_only_where_they_should() {
    let (table, before) = (granted(), granted().allow);
    assert_eq!(fate(None, &table, WiderGrants::Live), Fate::Take);
    assert_eq!(fate(Some(&before), &table, WiderGrants::Wait), Fate::Take);
    assert!(matches!(fate(Some(&Grants::default()), &table, WiderGrants::Wait), Fate::Hold(_)));
    assert!(matches!(fate(None, &table, WiderGrants::Wait), Fate::Hold(_)));
    let bare = PluginConfig { allow: Grants::default(), ..table };
    assert_eq!(fate(Some(&before), &bare, WiderGrants::Wait), Fate::Take, "less is granted at once");
}

#[test]
fn only_the_operator_loosens_what_becomes_of_wider_grants() {
    use WiderGrants::{Live, Wait};
    for (now, written, asked, next) in [
        (Live, Wait, false, Wait),
        (Wait, Live, false, Wait),
        (Wait, Live, true, Live),
        (Live, Live, false, Live),
        (Wait, Wait, true, Wait),
    ] {
        assert_eq!(policy(now, written, asked), next, "{now:?} {written:?} {asked}");
    }
}
