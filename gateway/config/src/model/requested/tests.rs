//! Tests of grants compared with imports.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::{Environment, parse_config};

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

fn config(more: &str) -> Arc<PluginConfig> {
    let text = format!("version = 1\n[plugins.p]\nsource = \"p.wasm\"\n{more}\n");
    let loaded = parse_config(Path::new("gateway.toml"), text, &Nothing);
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    Arc::clone(&config.plugins[0])
}

fn needing(needs: &[GuestCapability]) -> Interfaces {
    Interfaces { capabilities: needs.iter().copied().collect(), ..Interfaces::default() }
}

/// The warnings if state is kept on disk.
fn grant_mismatches(config: &PluginConfig, needs: &[GuestCapability]) -> Vec<Diagnostic> {
    config.grant_warnings(&needing(needs), &PluginInfo::default(), Some(Path::new("/state")))
}

/// Lines that grant a capability.
fn granting(need: GuestCapability, directory: &Path) -> String {
    match need {
        GuestCapability::Files => format!("allow.dirs = [{{ host = {directory:?}, guest = \"/a\" }}]"),
        GuestCapability::Http => "allow.http = [\"https://example.com\"]".to_owned(),
        GuestCapability::State => "allow.state = true".to_owned(),
        GuestCapability::Variables => "allow.env = [\"LANG\"]".to_owned(),
        GuestCapability::Settings => "config = { a = 1 }".to_owned(),
        GuestCapability::Client => "allow.client = [\"roots\"]".to_owned(),
    }
}

#[test]
fn requested_grants_give_no_warning() {
    let directory = tempfile::tempdir().unwrap();
    for need in GuestCapability::ALL {
        let config = config(&granting(need, directory.path()));
        assert_eq!(grant_mismatches(&config, &[need]), [], "{need:?}");
        let found = config.compare_with_imports(&needing(&[need]));
        assert!(found.len() == 1 && found[0].granted.len() == 1, "{found:?}");
    }
}

#[test]
fn warns_about_unused_grants() {
    let directory = tempfile::tempdir().unwrap();
    for need in GuestCapability::ALL {
        let config = config(&granting(need, directory.path()));
        let grant_mismatches = grant_mismatches(&config, &[]);
        assert!(
            grant_mismatches.len() == 1 && grant_mismatches[0].message.contains(need.config_key()),
            "{grant_mismatches:?}"
        );
    }
}

#[test]
fn warns_about_missing_grants_if_the_request_is_deliberate() {
    for need in GuestCapability::ALL {
        let grant_mismatches = grant_mismatches(&config(""), &[need]);
        let warnings =
            matches!(need, GuestCapability::Http | GuestCapability::State | GuestCapability::Client);
        assert_eq!(grant_mismatches.len(), usize::from(warnings), "{grant_mismatches:?}");
        assert!(
            grant_mismatches.iter().all(|mismatch| mismatch
                .hint
                .as_deref()
                .unwrap()
                .contains(need.example_line()))
        );
    }
    assert_eq!(config("").compare_with_imports(&needing(&[])), []);
}

#[test]
fn warnings_point_at_the_key() {
    let config = config("allow.client = [\"roots\"]\nallow.env = [\"LANG\"]");
    let places: Vec<_> =
        grant_mismatches(&config, &[]).into_iter().map(|problem| problem.span.unwrap()).collect();
    assert_eq!(places.len(), 2);
    assert!(places.iter().all(|place| *place != config.span) && places[0] != places[1], "{places:?}");
}

#[test]
fn warns_about_unused_instructions() {
    let config = config("allow.instructions = true");
    let warnings = |instructions: Option<&str>| {
        let info = PluginInfo { instructions: instructions.map(str::to_owned), ..PluginInfo::default() };
        config.grant_warnings(&needing(&[]), &info, None).len()
    };
    assert_eq!((warnings(None), warnings(Some(" ")), warnings(Some("ask twice"))), (1, 1, 0));
}

#[test]
fn warns_about_state_in_memory() {
    let granted = config("allow.state = true");
    let info = PluginInfo::default();
    let warnings = granted.grant_warnings(&needing(&[GuestCapability::State]), &info, None);
    assert!(
        warnings.len() == 1 && warnings[0].hint.as_deref().unwrap().contains("state = \"state\""),
        "{warnings:?}"
    );
    assert!(!warnings[0].is_error());
    assert_eq!(
        granted.grant_warnings(&needing(&[GuestCapability::State]), &info, Some(Path::new("/state"))),
        []
    );
    assert!(granted.grant_warnings(&needing(&[]), &info, None)[0].message.contains("is granted `state`"));
}

#[test]
fn names_the_origins_of_settings_without_values() {
    let config =
        config("config = { zone = \"Europe/Paris\", key = { env = \"LANG\" }, text = \"in ${HOME}\" }");
    let found = config.compare_with_imports(&needing(&[GuestCapability::Settings]));
    assert_eq!(found[0].granted, ["key (from env LANG)", "text (from env HOME)", "zone"]);
}
