//! Texts of new tables.

use moongate_model::builtin_plugin::BuiltinPlugin;

use super::*;

fn table(plugin: BuiltinPlugin, directories: &[&str], grants: &[&str]) -> Result<String, CommandError> {
    let id = PluginId::new(plugin.name()).unwrap();
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let requested = RequestedPlugin::Builtin(plugin);
    let file = Path::new("/etc/moongate/gateway.toml");
    PluginTable::new(&id, &requested, &owned(directories), &owned(grants), file)
        .map(|table| table.to_string())
}

#[test]
fn directories_are_read_only_unless_they_say_rw() {
    let text = table(BuiltinPlugin::Filesystem, &["/:ro", "/usr:rw", "/usr"], &[]).unwrap();
    let dirs = "dirs = [{ host = \"/\", mode = \"ro\" }, { host = \"/usr\", mode = \"rw\" }, { host = \"/usr\", mode = \"ro\" }]";
    assert!(text.contains(dirs), "{text}");
    assert!(text.ends_with("instructions = true\n"), "{text}");
    assert!(table(BuiltinPlugin::Filesystem, &[], &[]).is_err());
    assert!(table(BuiltinPlugin::Filesystem, &["/dev/null"], &[]).is_err());
    assert!(table(BuiltinPlugin::Filesystem, &["/usr"], &["dirs = []"]).is_err());
}

#[test]
fn grants_replace_suggestions_of_the_same_key() {
    let text = table(BuiltinPlugin::Everything, &[], &["client=[]"]).unwrap();
    assert!(text.contains("client = []\n") && text.contains("state = true\n"), "{text}");
    assert!(!text.contains("sampling"), "{text}");
    for bad in ["http", "http = []\n[plugins.other]", "timeout = '1s'", "= 1"] {
        assert!(table(BuiltinPlugin::Fetch, &[], &[bad]).is_err(), "{bad}");
    }
}

#[test]
fn every_suggestion_is_a_valid_table() {
    for plugin in BuiltinPlugin::ALL {
        let directories: &[&str] = if suggested_grants(plugin).needs_directory { &["/usr"] } else { &[] };
        let text = format!("version = 1\n\n{}", table(plugin, directories, &[]).unwrap());
        let file = Path::new("/etc/moongate/gateway.toml");
        let loaded = moongate_config::parse_config(file, text.clone(), &moongate_config::ProcessEnvironment);
        assert!(loaded.config.is_some(), "{text}{:?}", loaded.problems);
    }
}
