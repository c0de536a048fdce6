//! Unit tests of reading a component's imports and exports.

use super::*;

fn component() -> Vec<u8> {
    wat::parse_str(
        r#"(component
            (import "wasi:http/outgoing-handler@0.2.4" (instance (export "handle" (func))))
            (import "wasi:cli/environment@0.2.0" (instance (export "get-arguments" (func))))
            (component (import "wasi:keyvalue/store@0.2.0-draft2" (instance)))
            (core module)
            (import "run" (func $run))
            (export "go" (func $run)))"#,
    )
    .unwrap()
}

#[test]
fn reads_imports_exports_and_capabilities_of_the_component_itself() {
    let bytes = component();
    let found = read_interfaces(&bytes).unwrap();
    assert_eq!(found.imports, ["wasi:http/outgoing-handler@0.2.4", "wasi:cli/environment@0.2.0", "run"]);
    assert_eq!(found.exports, ["go"]);
    assert_eq!(found.capabilities, [GuestCapability::Http].into());
    assert_eq!(found.file_size, bytes.len() as u64);
}

#[test]
fn a_component_cut_within_a_section_is_broken() {
    let bytes = component();
    let whole = read_interfaces(&bytes).unwrap();
    for end in 0..bytes.len() {
        // A cut between two sections isn't visible, except by what is missing.
        if let Ok(found) = read_interfaces(&bytes[..end]) {
            assert_ne!(found, whole, "cut at {end}");
        }
    }
    assert!(
        read_interfaces(&bytes[..bytes.len() / 2 + 1]).is_err() || read_interfaces(&bytes[..20]).is_err()
    );
}
