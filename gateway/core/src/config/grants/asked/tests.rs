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
        assert_eq!(table.misfits(&needing(&[need])), [], "{need:?}");
        let found = table.against(&needing(&[need]));
        assert!(found.len() == 1 && found[0].granted.len() == 1, "{found:?}");
    }
}

#[test]
fn what_is_granted_and_not_asked_for_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for need in Need::ALL {
        let table = table(&granting(need, folder.path()));
        let misfits = table.misfits(&needing(&[]));
        assert!(misfits.len() == 1 && misfits[0].message.contains(need.key()), "{misfits:?}");
    }
}

#[test]
fn what_is_asked_for_and_not_granted_is_told_where_the_author_meant_it() {
    for need in Need::ALL {
        let misfits = table("").misfits(&needing(&[need]));
        let told = matches!(need, Need::Http | Need::State | Need::Client);
        assert_eq!(misfits.len(), usize::from(told), "{misfits:?}");
        assert!(misfits.iter().all(|misfit| misfit.hint.as_deref().unwrap().contains(need.example())));
    }
    assert_eq!(table("").against(&needing(&[])), []);
}
