//! Files and names of plugins.

use super::*;

#[test]
fn an_argument_like_a_path_is_a_file() {
    for file in ["a/b", "./fetch", "fetch.wasm", "/x.wasm", "a b", ".wasm"] {
        assert_eq!(plugin_id(Path::new(file)), None, "{file}");
    }
    assert_eq!(plugin_id(Path::new("fetch")).unwrap().as_str(), "fetch");
}

#[test]
fn a_file_of_any_name_is_a_plugin_without_grants() {
    for name in ["x.wasm", "a name with blanks.wasm", "ünï.wasm"] {
        let found = configuration::bare(Path::new(name)).unwrap();
        let [plugin] = found.plugins.as_slice() else { panic!("one plugin") };
        assert!(plugin.source.ends_with(name) && plugin.allow.describe_all().is_empty(), "{plugin:?}");
    }
}
