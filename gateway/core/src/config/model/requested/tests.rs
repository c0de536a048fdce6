//! Grants against imports, over all that can be said of either.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::config::{Environment, from_text};

struct Nothing;

impl Environment for Nothing {
    fn variable(&self, name: &str) -> Result<String, std::env::VarError> {
        match name {
            "HOME" => Ok("/nobody".to_owned()),
            "LANG" => Ok("C".to_owned()),
            _ => Err(std::env::VarError::NotPresent),
        }
    }
}

fn table(more: &str) -> Arc<PluginConfig> {
    let text = format!("version = 1\n[plugins.p]\nsource = \"p.wasm\"\n{more}\n");
    let loaded = from_text(Path::new("gateway.toml"), text, &Nothing);
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    Arc::clone(&config.plugins[0])
}

fn needing(needs: &[Need]) -> Interfaces {
    Interfaces { needs: needs.iter().copied().collect(), ..Interfaces::default() }
}

/// What doesn't fit, where state is kept on the disk.
fn misfits(table: &PluginConfig, needs: &[Need]) -> Vec<Problem> {
    table.misfits(&needing(needs), &PluginInfo::default(), Some(Path::new("/state")))
}

/// Each need with lines that grant it.
fn granting(need: Need, folder: &Path) -> String {
    match need {
        Need::Files => format!("allow.dirs = [{{ host = {folder:?}, guest = \"/a\" }}]"),
        Need::Http => "allow.http = [\"https://example.com\"]".to_owned(),
        Need::State => "allow.state = true".to_owned(),
        Need::Variables => "allow.env = [\"LANG\"]".to_owned(),
        Need::Settings => "config = { a = 1 }".to_owned(),
        Need::Client => "allow.client = [\"roots\"]".to_owned(),
    }
}

#[test]
fn what_is_asked_for_and_granted_fits() {
    let folder = tempfile::tempdir().unwrap();
    for need in Need::ALL {
        let table = table(&granting(need, folder.path()));
        assert_eq!(misfits(&table, &[need]), [], "{need:?}");
        let found = table.against(&needing(&[need]));
        assert!(found.len() == 1 && found[0].granted.len() == 1, "{found:?}");
    }
}

#[test]
fn what_is_granted_and_not_asked_for_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for need in Need::ALL {
        let table = table(&granting(need, folder.path()));
        let misfits = misfits(&table, &[]);
        assert!(misfits.len() == 1 && misfits[0].message.contains(need.key()), "{misfits:?}");
    }
}

#[test]
fn what_is_asked_for_and_not_granted_is_told_where_the_author_meant_it() {
    for need in Need::ALL {
        let misfits = misfits(&table(""), &[need]);
        let told = matches!(need, Need::Http | Need::State | Need::Client);
        assert_eq!(misfits.len(), usize::from(told), "{misfits:?}");
        assert!(misfits.iter().all(|misfit| misfit.hint.as_deref().unwrap().contains(need.example())));
    }
    assert_eq!(table("").against(&needing(&[])), []);
}

#[test]
fn a_warning_points_at_the_key_that_it_is_about() {
    let table = table("allow.client = [\"roots\"]\nallow.env = [\"LANG\"]");
    let places: Vec<_> = misfits(&table, &[]).into_iter().map(|problem| problem.place.unwrap()).collect();
    assert_eq!(places.len(), 2);
    assert!(places.iter().all(|place| *place != table.place) && places[0] != places[1], "{places:?}");
}

#[test]
fn instructions_that_are_granted_for_nothing_are_told() {
    let table = table("allow.instructions = true");
    let told = |instructions: Option<&str>| {
        let info = PluginInfo { instructions: instructions.map(str::to_owned), ..PluginInfo::default() };
        table.misfits(&needing(&[]), &info, None).len()
    };
    assert_eq!((told(None), told(Some(" ")), told(Some("ask twice"))), (1, 1, 0));
}

#[test]
fn state_that_is_lost_is_told_where_the_plugin_keeps_any() {
    let granted = table("allow.state = true");
    let info = PluginInfo::default();
    let told = granted.misfits(&needing(&[Need::State]), &info, None);
    assert!(told.len() == 1 && told[0].hint.as_deref().unwrap().contains("state = \"state\""), "{told:?}");
    assert!(!told[0].is_error());
    assert_eq!(granted.misfits(&needing(&[Need::State]), &info, Some(Path::new("/state"))), []);
    assert!(granted.misfits(&needing(&[]), &info, None)[0].message.contains("is granted `state`"));
}

#[test]
fn where_a_setting_comes_from_is_said_and_its_value_is_not() {
    let table =
        table("config = { zone = \"Europe/Paris\", key = { env = \"LANG\" }, text = \"in ${HOME}\" }");
    let found = table.against(&needing(&[Need::Settings]));
    assert_eq!(found[0].granted, ["key (from env LANG)", "text (from env HOME)", "zone"]);
}
