//! Entries: read, missed and ignored.

use std::fs;
use std::path::PathBuf;

use bytesize::ByteSize;
use moongate_config::DirMode;
use moongate_config::{DirGrant, Secret};
use moongate_model::names::PluginId;
use tempfile::TempDir;

use super::*;
use crate::engine;

fn checks() -> PastChecks {
    PastChecks { valid_tools: [0, 2].into(), has_valid_settings: true }
}

fn config() -> PluginConfig {
    PluginConfig::ungranted(PluginId::new("guest").unwrap(), "guest.wasm".into())
}

/// A cache with the code of a component and its description.
fn filled(dir: &TempDir) -> (Engine, DescriptionCache, Digest) {
    let engine = engine::compile_only(false).unwrap();
    let component = wat::parse_str("(component)").unwrap();
    let digest = Digest::of(&component);
    let cache = Arc::new(CodeCache::open(&dir.path().join("cache")).unwrap());
    cache.put(&engine, &digest, &engine.precompile_component(&component).unwrap()).unwrap();
    let descriptions = DescriptionCache::open(&cache).unwrap();
    let mut manifest = Manifest::default();
    manifest.info.name = "guest".to_owned();
    descriptions.put(&engine, &digest, &config(), (&Interfaces::default(), &manifest, checks()));
    (engine, descriptions, digest)
}

/// The files with descriptions.
fn entries(dir: &TempDir) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.path().join("cache")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().ends_with(EXTENSION)).collect()
}

#[test]
fn entries_belong_to_code_and_configuration() {
    let dir = TempDir::new().unwrap();
    let (engine, descriptions, digest) = filled(&dir);
    let found = descriptions.get(&engine, &digest, &config()).unwrap();
    assert_eq!((found.manifest.info.name.as_str(), found.past_checks), ("guest", checks()));
    // Names and the place in the file don't matter.
    let mut renamed = config();
    renamed.prefix = "other".to_owned();
    renamed.span = 3..4;
    assert!(descriptions.get(&engine, &digest, &renamed).is_some());
    // Another gateway with the same directory has the same key.
    let cache = Arc::new(CodeCache::open(&dir.path().join("cache")).unwrap());
    assert!(DescriptionCache::open(&cache).unwrap().get(&engine, &digest, &config()).is_some());

    let with = |change: fn(&mut PluginConfig)| {
        let mut config = config();
        change(&mut config);
        config
    };
    for other in [
        with(|config| drop(config.settings.insert("zone".to_owned(), Secret::new("UTC")))),
        with(|config| config.allow.env.push(("LANG".to_owned(), "C".to_owned()))),
        with(|config| {
            config.allow.dirs.push(DirGrant {
                span: 0..0,
                host_path: "/srv".into(),
                unresolved_host_path: "/srv".into(),
                guest_path: "/srv".to_owned(),
                mode: DirMode::ReadOnly,
                allows_system: false,
            });
        }),
        with(|config| config.limits.handles += 1),
        with(|config| config.limits.read = ByteSize(config.limits.read.as_u64() + 1)),
    ] {
        assert!(descriptions.get(&engine, &digest, &other).is_none(), "{other:?}");
    }
    assert!(descriptions.get(&engine, &Digest::of(b"another"), &config()).is_none());
}

#[test]
fn names_do_not_disclose_settings() {
    let names = [TempDir::new().unwrap(), TempDir::new().unwrap()].map(|dir| {
        filled(&dir);
        entries(&dir).remove(0).file_name().unwrap().to_owned()
    });
    assert_ne!(names[0], names[1], "a name would be the same in every directory without a random key");
}

#[test]
fn ignores_corrupt_entries_and_those_without_code() {
    let dir = TempDir::new().unwrap();
    let (engine, descriptions, digest) = filled(&dir);
    let entry = entries(&dir).remove(0);
    let whole = fs::read(&entry).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() - 1] ^= 4;
    for broken in [&b""[..], b"nonsense", &whole[..whole.len() / 2], &flipped] {
        fs::write(&entry, broken).unwrap();
        assert!(descriptions.get(&engine, &digest, &config()).is_none());
        assert!(!entry.exists(), "an unusable entry is removed");
    }
    fs::write(&entry, &whole).unwrap();
    assert!(descriptions.get(&engine, &digest, &config()).is_some());
    let code = fs::read_dir(dir.path().join("cache")).unwrap().map(|entry| entry.unwrap().path());
    code.filter(|path| path.extension().is_some_and(|extension| extension == "cwasm"))
        .for_each(|code| fs::remove_file(code).unwrap());
    let cache = Arc::new(CodeCache::open(&dir.path().join("cache")).unwrap());
    let descriptions = DescriptionCache::open(&cache).unwrap();
    assert!(descriptions.get(&engine, &digest, &config()).is_none(), "the code would have to be compiled");
}
