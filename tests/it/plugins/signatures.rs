//! Signatures of plugins from addresses: minisign, and cosign with static keys in both forms.

use std::fs;

use moongate_generated::Plugin;
use moongate_tests::{CosignSigner, FakeRegistry, MinisignSigner, TestServer};
use serde_json::json;

use super::remote_sources::{Sources, put, server, version};

const BUNDLE_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// A configuration with these signers, one of which must have signed the plugin.
fn signed(address: &str, signers: &str) -> String {
    format!(
        "version = 1\n[sources]\nrequire_signature = true\n[sources.signers]\n{signers}\n[plugins.one]\nsource = \"{address}\"\n"
    )
}

fn sources(address: &str, signers: &str) -> Sources {
    Sources::new(&signed(address, signers))
}

fn component() -> Vec<u8> {
    Plugin::version(1).build()
}

/// The configuration of a minisign key.
fn minisign(name: &str, signer: &MinisignSigner) -> String {
    format!("{name} = {{ minisign = \"{}\" }}", signer.public_key())
}

#[test]
fn files_are_loaded_only_with_the_right_minisign_signature() {
    let [ours, stranger] = [MinisignSigner::generate(), MinisignSigner::generate()];
    let server = server(1);
    server.handle("/one.wasm.minisig", |_| ("404 Not Found", String::new()));
    let address = server.url("/one.wasm");
    let sources = sources(&address, &minisign("acme", &ours));
    let unsigned = sources.fail(&["fetch"]);
    assert!(unsigned.contains("isn't signed by `acme`: there is no signature"), "{unsigned}");
    for (signature, expected) in [
        (stranger.sign(&component()), "its minisign signature is by another key"),
        (ours.sign(b"other bytes"), "one of them was replaced"),
        (ours.sign(&component())[..80].to_owned(), "its minisign signature is damaged"),
        ("<html>".to_owned(), "its minisign signature is damaged"),
    ] {
        server.put("/one.wasm.minisig", &[], signature);
        let refused = sources.fail(&["fetch"]);
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(sources.lock(), "");
    }
    server.put("/one.wasm.minisig", &[], ours.sign(&component()));
    assert!(sources.succeed(&["fetch"]).contains("signed by acme"));
    assert!(sources.lock().contains("signer = \"minisign:sha256:"), "{}", sources.lock());
    assert_eq!(version(&sources.serve()), "v1");
    // An update to another file without a signature of its own is refused, too.
    put(&server, 2);
    assert!(sources.fail(&["update", "--yes"]).contains("one of them was replaced"));
}

#[test]
fn another_key_needs_another_check() {
    let [old, new] = [MinisignSigner::generate(), MinisignSigner::generate()];
    let server = server(1);
    server.put("/one.wasm.minisig", &[], old.sign(&component()));
    let address = server.url("/one.wasm");
    let sources = sources(&address, &minisign("acme", &old));
    sources.succeed(&["fetch"]);
    sources.succeed(&["check"]);
    fs::write(sources.workspace.config(), signed(&address, &minisign("acme", &new))).unwrap();
    let refused = sources.fail(&["check"]);
    assert!(refused.contains("signed with a key that isn't accepted any more"), "{refused}");
    assert!(refused.contains("hint: run `moongate fetch one`, which checks the signature"), "{refused}");
    assert!(sources.fail(&["fetch", "--locked"]).contains("its signature must be checked"));
    assert!(sources.fail(&["fetch"]).contains("is by another key"));
    assert!(sources.fail(&["check"]).contains("isn't accepted any more"));
    server.put("/one.wasm.minisig", &[], new.sign(&component()));
    assert!(sources.succeed(&["fetch"]).contains("signature checked"));
    sources.succeed(&["check"]);
}

#[test]
fn signed_by_selects_the_keys_of_one_plugin() {
    let [ours, other] = [MinisignSigner::generate(), MinisignSigner::generate()];
    let server = server(1);
    server.put("/one.wasm.minisig", &[], ours.sign(&component()));
    let address = server.url("/one.wasm");
    let signers = format!("[sources.signers]\n{}\n{}\n", minisign("ours", &ours), minisign("other", &other));
    let sources = Sources::one(&address, &format!("signed_by = [\"other\"]\n{signers}"));
    assert!(sources.fail(&["fetch"]).contains("isn't signed by `other`"));
    let config = fs::read_to_string(sources.workspace.config()).unwrap();
    fs::write(sources.workspace.config(), config.replace("[\"other\"]", "[\"other\", \"ours\"]")).unwrap();
    assert!(sources.succeed(&["fetch"]).contains("signed by ours"));
    sources.succeed(&["check"]);
    // A file on this machine can't have signers.
    let local = format!("version = 1\n[plugins.one]\nsource = \"@time@\"\nsigned_by = [\"ours\"]\n{signers}");
    let refused = Sources::new(&local).fail(&["check"]);
    assert!(refused.contains("`signed_by` applies only to plugins from addresses"), "{refused}");
}

#[test]
fn artifacts_are_loaded_with_a_cosign_signature_in_either_form() {
    let [ours, stranger] = [CosignSigner::generate(), CosignSigner::generate()];
    for form in ["payload", "referrers", "tag"] {
        let registry = FakeRegistry::start();
        registry.state().lists_referrers = form == "referrers";
        let manifest = registry.add_artifact("1", "application/wasm", &component());
        let other = registry.add_artifact("other", "application/wasm", &Plugin::version(2).build());
        let sources = sources(&registry.reference("one:1"), "acme = { file = \"acme.pub\" }");
        sources.workspace.write("acme.pub", ours.public_key());
        let sign = |signer: &CosignSigner, signed: &moongate_model::names::Digest| {
            if form == "payload" {
                let (payload, signature) = signer.sign_payload(signed);
                let digest = registry.add_blob(payload.as_bytes());
                registry.add_manifest(&format!("sha256-{manifest}.sig"), &json!({
                    "schemaVersion": 2,
                    "layers": [{
                        "mediaType": "application/vnd.dev.cosign.simplesigning.v1+json", "digest": format!("sha256:{digest}"),
                        "size": payload.len(), "annotations": { "dev.cosignproject.cosign/signature": signature },
                    }],
                }));
            } else {
                registry.add_referrer(&manifest, BUNDLE_TYPE, signer.bundle(signed).as_bytes());
            }
        };
        let unsigned = sources.fail(&["fetch"]);
        assert!(
            unsigned.contains("isn't signed by `acme`: it has no cosign signature"),
            "{form}: {unsigned}"
        );
        sign(&stranger, &manifest);
        let by_stranger = sources.fail(&["fetch"]);
        assert!(by_stranger.contains("by other keys, or for another manifest"), "{form}: {by_stranger}");
        sign(&ours, &other);
        let of_other = sources.fail(&["fetch"]);
        assert!(of_other.contains("by other keys, or for another manifest"), "{form}: {of_other}");
        sign(&ours, &manifest);
        assert!(sources.succeed(&["fetch"]).contains("signed by acme"), "{form}");
        sources.succeed(&["check"]);
    }
}

#[test]
fn a_minisign_signature_is_published_with_its_artifact() {
    let ours = MinisignSigner::generate();
    let registry = FakeRegistry::start();
    let sources = sources(&registry.reference("one:1"), &minisign("acme", &ours));
    let file = sources.path("one.wasm");
    fs::write(&file, component()).unwrap();
    let push = ["push", &file.display().to_string(), &registry.reference("one:1")];
    sources.succeed(&push);
    assert!(sources.fail(&["fetch"]).contains("isn't signed by `acme`: it has no signature"));
    fs::write(sources.path("one.wasm.minisig"), ours.sign(&component())).unwrap();
    sources.succeed(&push);
    assert!(sources.succeed(&["fetch"]).contains("signed by acme"));
    assert_eq!(version(&sources.serve()), "v1");
    // With a cosign key, a file on a web server can't be verified.
    let server = TestServer::start();
    put(&server, 1);
    let cosign = sources_with_cosign_key(&server.url("/one.wasm"));
    assert!(cosign.fail(&["fetch"]).contains("needs a minisign signature"));
}

fn sources_with_cosign_key(address: &str) -> Sources {
    let sources = sources(address, "acme = { file = \"acme.pub\" }");
    sources.workspace.write("acme.pub", CosignSigner::generate().public_key());
    sources
}

#[test]
fn only_the_first_signatures_are_tried() {
    let [ours, stranger] = [CosignSigner::generate(), CosignSigner::generate()];
    for (position, is_tried) in [(31, true), (32, false)] {
        let registry = FakeRegistry::start();
        let manifest = registry.add_artifact("1", "application/wasm", &component());
        let sources = sources(&registry.reference("one:1"), "acme = { file = \"acme.pub\" }");
        sources.workspace.write("acme.pub", ours.public_key());
        for number in 0..=position {
            let signer = if number == position { &ours } else { &stranger };
            registry.add_referrer(&manifest, BUNDLE_TYPE, signer.bundle(&manifest).as_bytes());
        }
        let output = sources.run(&["fetch"]);
        assert_eq!(output.status.success(), is_tried, "{position}: {output:?}");
    }
}
