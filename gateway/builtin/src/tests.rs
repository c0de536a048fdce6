//! The embedded components.

use super::*;

#[test]
fn every_builtin_plugin_unpacks_to_its_digest() {
    assert_eq!(COMPONENTS.len(), BuiltinPlugin::ALL.len());
    for plugin in BuiltinPlugin::ALL {
        let component = component(plugin);
        let bytes = component.unpack().unwrap();
        assert_eq!(bytes.len() as u64, component.size(), "{plugin:?}");
        assert_eq!(Digest::of(&bytes), component.digest(), "{plugin:?}");
        assert!(bytes.starts_with(b"\0asm\x0d\0\x01\0"), "{plugin:?} isn't a component");
    }
}
