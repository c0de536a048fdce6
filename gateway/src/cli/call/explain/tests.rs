//! Suggested lines can be pasted into the configuration.

use moongate_config::DirGrant;
use moongate_model::names::PluginId;

use super::*;

#[test]
fn keys_are_not_repeated() {
    let suggestions = [
        "http = [\"https://a.example\"]",
        "state = true",
        "http = [{ url = \"http://b.example\", networks = [\"10.0.0.1/32\"] }]",
        "http = [\"https://a.example\"]",
        "state = true",
    ];
    assert_eq!(
        merge_keys(suggestions.into_iter()),
        [
            "http = [\"https://a.example\", { url = \"http://b.example\", networks = [\"10.0.0.1/32\"] }]",
            "state = true",
        ]
    );
}

#[test]
fn a_reached_limit_is_shown_with_a_higher_value() {
    let grant_report = GrantReport::default();
    for what in ["wrote more", "wrote much more"] {
        grant_report.record(GrantEvent::Limited { key: Some("written"), what: what.to_owned() });
    }
    let plugin = PluginConfig::ungranted(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let text = explanation_text(&grant_report, &plugin);
    let end =
        "set in gateway.toml:\n  [plugins.notes.limits]\n  written = \"128MiB\"  # instead of \"64MiB\"\n";
    assert!(
        text.contains("  the plugin wrote more\n  the plugin wrote much more\n") && text.ends_with(end),
        "{text}"
    );
    let held = &document(&grant_report, &plugin)["held_back"];
    assert_eq!(
        (&held[0]["limit"], &held[0]["value"]),
        (&json!("plugins.notes.limits.written"), &json!("\"64MiB\""))
    );
}

#[test]
fn write_access_replaces_the_read_only_directory() {
    let mut plugin = PluginConfig::ungranted(PluginId::new("notes").unwrap(), "notes.wasm".into());
    plugin.allow.dirs = ["/a", "/b"]
        .map(|path| DirGrant {
            span: 0..0,
            host_path: path.into(),
            unresolved_host_path: path.into(),
            guest_path: path.to_owned(),
            mode: DirMode::ReadOnly,
            allows_system: false,
        })
        .to_vec();
    let grant_report = GrantReport::default();
    let fix = Some(GrantFix::ChangeDirectory { host: "/b".to_owned(), guest: "/b".to_owned() });
    grant_report.record(GrantEvent::Missing { wanted: "to change what is in `/b`".to_owned(), fix });
    let line = "dirs = [{ host = \"/a\", guest = \"/a\", mode = \"ro\" }, { host = \"/b\", guest = \"/b\", mode = \"rw\" }]";
    let text = explanation_text(&grant_report, &plugin);
    assert!(
        text.ends_with(&format!("replace `dirs` in gateway.toml:\n  [plugins.notes.allow]\n  {line}\n")),
        "{text}"
    );
    assert!(!text.contains("extend existing lists"), "{text}");
    let lacked = &document(&grant_report, &plugin)["lacked"][0];
    assert_eq!((&lacked["cure"], &lacked["replaces"]), (&json!(line), &json!(true)));
}

#[test]
fn a_missing_directory_is_added_to_the_granted_ones() {
    let mut plugin = PluginConfig::ungranted(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let grant_report = GrantReport::default();
    let new = "{ host = \"…\", guest = \"/data\", mode = \"ro\" }";
    let fix = Some(GrantFix::ReadDirectory { guest: Some("/data".to_owned()) });
    grant_report.record(GrantEvent::Missing { wanted: "the path `/data/x`".to_owned(), fix });
    let text = explanation_text(&grant_report, &plugin);
    let lines = format!(
        "extend existing lists):\n  [plugins.notes.allow]\n  dirs = [{new}]\nreplace `…` with a directory"
    );
    assert!(text.contains(&lines) && !text.contains("replace `dirs`"), "{text}");
    assert_eq!(document(&grant_report, &plugin)["lacked"][0]["replaces"], false);
    let host_path = "/a".into();
    let unresolved_host_path = "/a".into();
    plugin.allow.dirs = vec![DirGrant {
        span: 0..0,
        host_path,
        unresolved_host_path,
        guest_path: "/a".to_owned(),
        mode: DirMode::ReadOnly,
        allows_system: false,
    }];
    let all = format!("dirs = [{{ host = \"/a\", guest = \"/a\", mode = \"ro\" }}, {new}]");
    let text = explanation_text(&grant_report, &plugin);
    assert!(
        text.contains(&format!(
            "to allow it, replace `dirs` in gateway.toml:\n  [plugins.notes.allow]\n  {all}\n"
        )),
        "{text}"
    );
    let lacked = &document(&grant_report, &plugin)["lacked"][0];
    assert_eq!((&lacked["cure"], &lacked["replaces"]), (&json!(all), &json!(true)));
}

#[test]
fn several_directories_are_one_line() {
    let mut plugin = PluginConfig::ungranted(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let grant_report = GrantReport::default();
    for guest in [Some("/data"), Some("…"), None] {
        let fix = Some(GrantFix::ReadDirectory { guest: guest.map(str::to_owned) });
        grant_report.record(GrantEvent::Missing { wanted: format!("{guest:?}"), fix });
    }
    let state = Some(GrantFix::Line("state = true".to_owned()));
    grant_report.record(GrantEvent::Missing { wanted: "to keep state".to_owned(), fix: state });
    let item = |guest: &str| format!("{{ host = \"…\", guest = \"{guest}\", mode = \"ro\" }}");
    let lacked = document(&grant_report, &plugin)["lacked"].clone();
    let suggestions: Vec<_> =
        lacked.as_array().unwrap().iter().filter(|its| its["cure"] != "state = true").collect();
    // A directory named `…` gives the same line as one without a known name.
    let all = format!("dirs = [{}, {}]", item("…"), item("/data"));
    assert_eq!(suggestions.len(), 3);
    assert!(suggestions.iter().all(|its| its["cure"] == *all && its["replaces"] == true), "{lacked}");
    assert!(
        explanation_text(&grant_report, &plugin)
            .contains(&format!("  state = true\n  {all}\nreplace each `…` with a directory"))
    );
    let host_path = "/a".into();
    let unresolved_host_path = "/a".into();
    plugin.allow.dirs = vec![DirGrant {
        span: 0..0,
        host_path,
        unresolved_host_path,
        guest_path: "/…".to_owned(),
        mode: DirMode::ReadOnly,
        allows_system: false,
    }];
    let grant_report = GrantReport::default();
    let fix = Some(GrantFix::ChangeDirectory { host: "/a".to_owned(), guest: "/…".to_owned() });
    grant_report.record(GrantEvent::Missing { wanted: "to change what is in `/…`".to_owned(), fix });
    let text = explanation_text(&grant_report, &plugin);
    assert!(text.contains("to allow changes, replace") && !text.contains("replace `…`"), "{text}");
}

#[test]
fn a_limit_without_a_key_has_no_suggestion() {
    let grant_report = GrantReport::default();
    grant_report.record(GrantEvent::Limited { key: None, what: "wanted too many files".to_owned() });
    let plugin = PluginConfig::ungranted(PluginId::new("notes").unwrap(), "notes.wasm".into());
    let text = explanation_text(&grant_report, &plugin);
    assert!(text.ends_with("reached limits\n  the plugin wanted too many files\n"), "{text}");
    let held = &document(&grant_report, &plugin)["held_back"];
    assert_eq!(held[0], json!({ "limit": null, "value": null, "what": "wanted too many files" }));
}
