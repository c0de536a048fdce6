//! Unit tests of what components say about their origin.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use super::*;

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// A section of any kind, with its length.
fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![id];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    bytes.push(u8::try_from(length).unwrap());
    [bytes, content.to_vec()].concat()
}

fn custom(name: &str, data: &[u8]) -> Vec<u8> {
    section(0, &[&[u8::try_from(name.len()).unwrap()], name.as_bytes(), data].concat())
}

fn compressed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn reads_the_sections_of_components_and_their_modules() {
    let packages = json!({ "packages": [
        { "name": "serde", "version": "1.0.0", "source": "registry", "dependencies": [1] },
        { "name": "cc", "version": "1.2.3", "source": "registry", "kind": "build" },
    ] });
    let module = [
        MODULE,
        &custom(".dep-v0", &compressed(packages.to_string().as_bytes())),
        &custom("source", b"of a module"),
    ];
    let links = json!([{ "type": "Repository", "value": "https://example.com" }]);
    let registry = json!({ "authors": ["A. Uthor"], "license": "MIT", "links": links });
    let component = [
        COMPONENT,
        &section(1, &module.concat()),
        &custom("source", b"https://example.com/time"),
        &custom("registry-metadata", registry.to_string().as_bytes()),
        &custom("licenses", &vec![b'x'; MAX_TEXT_BYTES + 1]),
    ];
    let Provenance { fields, packages, .. } = Provenance::read(&component.concat());
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(
        fields,
        [
            "authors=A. Uthor",
            "licenses=MIT",
            "repository=https://example.com",
            "source=https://example.com/time",
        ]
    );
    let packages: Vec<_> = packages.unwrap().into_iter().map(|package| package.name).collect();
    assert_eq!(packages, ["cc", "serde"]);
}

#[test]
fn leaves_out_what_it_cant_read() {
    let bomb = compressed(&vec![b' '; usize::try_from(MAX_AUDITABLE_BYTES).unwrap() + 1]);
    for data in [&bomb[..], b"", b"not compressed", &compressed(b"{}")] {
        let component = [COMPONENT, &custom(".dep-v0", data), &custom("source", b"here")].concat();
        let provenance = Provenance::read(&component);
        assert_eq!((provenance.packages, provenance.fields.len()), (None, 1));
    }
    for bytes in [&b""[..], b"text", COMPONENT, &[COMPONENT, &[0, 0xff, 0xff]].concat()] {
        assert!(Provenance::read(bytes).is_empty());
    }
}
