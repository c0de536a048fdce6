//! Cures are lines that can be pasted.

use moongate_core::config::DirGrant;
use moongate_model::names::PluginId;

use super::*;

#[test]
fn no_key_stands_twice() {
    let cures = [
        "http = [\"https://a.example\"]",
        "state = true",
        "http = [{ url = \"http://b.example\", networks = [\"10.0.0.1/32\"] }]",
        "http = [\"https://a.example\"]",
        "state = true",
    ];
    assert_eq!(
        merged(cures.into_iter()),
        [
            "http = [\"https://a.example\", { url = \"http://b.example\", networks = [\"10.0.0.1/32\"] }]",
            "state = true",
        ]
    );
}

#[test]
fn a_limit_is_told_with_its_key_and_a_value_that_is_more() {
    let ledger = Ledger::default();
    for what in ["wrote more", "wrote much more"] {
        ledger.note(Entry::HeldBack { key: Some("written"), what: what.to_owned() });
    }
    let plugin = PluginConfig::bare(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let said = text(&ledger, &plugin);
    let end = "in gateway.toml:\n  [plugins.notes.limits]\n  written = \"128MiB\"  # instead of \"64MiB\"\n";
    assert!(said.contains("  it wrote more\n  it wrote much more\n") && said.ends_with(end), "{said}");
    let held = &document(&ledger, &plugin)["held_back"];
    assert_eq!(
        (&held[0]["limit"], &held[0]["value"]),
        (&json!("plugins.notes.limits.written"), &json!("\"64MiB\""))
    );
}

#[test]
fn a_directory_that_may_be_changed_takes_the_place_of_the_one_that_may_not() {
    let mut plugin = PluginConfig::bare(PluginId::new("notes").unwrap(), "notes.wasm".into());
    plugin.allow.dirs = ["/a", "/b"]
        .map(|path| DirGrant {
            place: 0..0,
            host: path.into(),
            named: path.into(),
            guest: path.to_owned(),
            mode: DirMode::ReadOnly,
        })
        .to_vec();
    let ledger = Ledger::default();
    let cure = Some(Cure::ChangeDirectory { host: "/b".to_owned(), guest: "/b".to_owned() });
    ledger.note(Entry::Lacked { wanted: "to change what is in `/b`".to_owned(), cure });
    let line = "dirs = [{ host = \"/a\", guest = \"/a\", mode = \"ro\" }, { host = \"/b\", guest = \"/b\", mode = \"rw\" }]";
    let said = text(&ledger, &plugin);
    assert!(
        said.ends_with(&format!(
            "in place of the `dirs` that are there:\n  [plugins.notes.allow]\n  {line}\n"
        )),
        "{said}"
    );
    assert!(!said.contains("add to it"), "{said}");
    let lacked = &document(&ledger, &plugin)["lacked"][0];
    assert_eq!((&lacked["cure"], &lacked["replaces"]), (&json!(line), &json!(true)));
}

#[test]
fn a_directory_that_is_lacking_is_added_to_those_that_are_there() {
    let mut plugin = PluginConfig::bare(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let ledger = Ledger::default();
    let new = "{ host = \"…\", guest = \"/data\", mode = \"ro\" }";
    let cure = Some(Cure::ReadDirectory { guest: Some("/data".to_owned()) });
    ledger.note(Entry::Lacked { wanted: "the path `/data/x`".to_owned(), cure });
    let said = text(&ledger, &plugin);
    let lines =
        format!("add to it):\n  [plugins.notes.allow]\n  dirs = [{new}]\nwith a directory of this machine");
    assert!(said.contains(&lines) && !said.contains("in place of the `dirs`"), "{said}");
    assert_eq!(document(&ledger, &plugin)["lacked"][0]["replaces"], false);
    let (host, named) = ("/a".into(), "/a".into());
    plugin.allow.dirs =
        vec![DirGrant { place: 0..0, host, named, guest: "/a".to_owned(), mode: DirMode::ReadOnly }];
    let all = format!("dirs = [{{ host = \"/a\", guest = \"/a\", mode = \"ro\" }}, {new}]");
    let said = text(&ledger, &plugin);
    assert!(said.contains(&format!("to allow it, in gateway.toml, in place of the `dirs` that are there:\n  [plugins.notes.allow]\n  {all}\n")), "{said}");
    let lacked = &document(&ledger, &plugin)["lacked"][0];
    assert_eq!((&lacked["cure"], &lacked["replaces"]), (&json!(all), &json!(true)));
}

#[test]
fn several_directories_are_one_line_and_none_of_them_undoes_another() {
    let mut plugin = PluginConfig::bare(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let ledger = Ledger::default();
    for guest in [Some("/data"), Some("…"), None] {
        let cure = Some(Cure::ReadDirectory { guest: guest.map(str::to_owned) });
        ledger.note(Entry::Lacked { wanted: format!("{guest:?}"), cure });
    }
    let state = Some(Cure::Line("state = true".to_owned()));
    ledger.note(Entry::Lacked { wanted: "to keep state".to_owned(), cure: state });
    let item = |guest: &str| format!("{{ host = \"…\", guest = \"{guest}\", mode = \"ro\" }}");
    let lacked = document(&ledger, &plugin)["lacked"].clone();
    let cures: Vec<_> =
        lacked.as_array().unwrap().iter().filter(|its| its["cure"] != "state = true").collect();
    // One that is called like the place for it is no other than one that nobody can name.
    let all = format!("dirs = [{}, {}]", item("…"), item("/data"));
    assert_eq!(cures.len(), 3);
    assert!(cures.iter().all(|its| its["cure"] == *all && its["replaces"] == true), "{lacked}");
    assert!(text(&ledger, &plugin).contains(&format!("  state = true\n  {all}\nwith a directory")));
    let (host, named) = ("/a".into(), "/a".into());
    plugin.allow.dirs =
        vec![DirGrant { place: 0..0, host, named, guest: "/…".to_owned(), mode: DirMode::ReadOnly }];
    let ledger = Ledger::default();
    let cure = Some(Cure::ChangeDirectory { host: "/a".to_owned(), guest: "/…".to_owned() });
    ledger.note(Entry::Lacked { wanted: "to change what is in `/…`".to_owned(), cure });
    let said = text(&ledger, &plugin);
    assert!(said.contains("to allow changes, in") && !said.contains("in place of `…`"), "{said}");
}

#[test]
fn a_share_without_a_key_is_told_and_nothing_is_to_be_raised() {
    let ledger = Ledger::default();
    ledger.note(Entry::HeldBack { key: None, what: "wanted too many files".to_owned() });
    let plugin = PluginConfig::bare(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let said = text(&ledger, &plugin);
    assert!(said.ends_with("held back by limits\n  it wanted too many files\n"), "{said}");
    let held = &document(&ledger, &plugin)["held_back"];
    assert_eq!(held[0], json!({ "limit": null, "value": null, "what": "wanted too many files" }));
}
