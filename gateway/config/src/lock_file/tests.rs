//! Unit tests of the lock file.

use super::*;

const PATH: &str = "moongate.lock";

fn entry(source: &str) -> LockedComponent {
    LockedComponent {
        source: source.to_owned(),
        resolved: Some(format!("oci://example.com/time@sha256:{}", Digest::of(b"manifest"))),
        component: Digest::of(b"component"),
        size: 9,
        signer: Some(format!("minisign:sha256:{}", Digest::of(b"key")).parse().unwrap()),
        fetched: "2026-11-29T18:00:00Z".to_owned(),
    }
}

fn parse(text: &str) -> Result<LockFile, LockFileError> {
    LockFile::parse(Path::new(PATH), text)
}

#[test]
fn reads_what_it_writes_in_alphabetical_order() {
    let mut lock = LockFile::default();
    let plain =
        LockedComponent { resolved: None, signer: None, ..entry("https://example.com/\"odd\u{7f}\".wasm") };
    for (name, component) in [("time", entry("oci://example.com/time:1")), ("fetch", plain)] {
        lock.plugins.insert(PluginId::new(name).unwrap(), component);
    }
    let text = lock.text();
    assert_eq!(parse(&text).unwrap(), lock, "{text}");
    assert!(text.find("[plugins.fetch]") < text.find("[plugins.time]"), "{text}");
    assert_eq!(parse(&LockFile::default().text()).unwrap(), LockFile::default());
}

#[test]
fn names_the_problem_of_every_broken_lock_file() {
    let mut lock = LockFile::default();
    lock.plugins.insert(PluginId::new("time").unwrap(), entry("oci://example.com/time:1"));
    let good = lock.text();
    let broken = [
        (format!("<<<<<<< ours\n{good}=======\n{good}>>>>>>> theirs\n"), "contains a merge conflict"),
        (good.replace("version = 1", "version = 2"), "has version 2"),
        (good.replace("version = 1\n", ""), "no `version`"),
        (good.replace("version = 1", "version = \"1\""), "no `version`"),
        (good[..good.len() / 2].to_owned(), "damaged: line"),
        (good.replace("size = 9", "size = -9"), "damaged: line"),
        (good.replace("size = 9", "size = 9\nweight = 9"), "weight"),
        (good.replace("component = \"sha256:", "component = \"sha256:0"), "invalid `component` of `time`"),
        (good.replace("minisign:", "other:"), "invalid `signer` of `time`"),
        (good.replace("[plugins.time]", "[plugins.\"a b\"]"), "invalid name"),
        (format!("{good}{}", &good[good.find("[plugins").unwrap()..]), "duplicate key"),
        (String::new(), "no `version`"),
        ("not TOML".to_owned(), "damaged: line 1"),
    ];
    for (text, expected) in broken {
        let error = parse(&text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}\n{text}");
        assert!(error.to_string().starts_with("`moongate.lock` "), "{error}");
        assert!(error.hint().contains('`') || error.hint().contains("Moongate"), "{}", error.hint());
    }
}

#[test]
fn names_the_lock_file_after_the_configuration() {
    for (configuration, lock) in
        [("/etc/gateway.toml", "/etc/moongate.lock"), ("/etc/staging.toml", "/etc/staging.lock")]
    {
        assert_eq!(LockFile::path_for(Path::new(configuration)), Path::new(lock));
    }
}
