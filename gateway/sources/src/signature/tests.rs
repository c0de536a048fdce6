//! Unit tests of minisign signatures, as `minisign` 0.11 writes them: over the BLAKE2b digest of the file.

use super::*;

const KEY: &str = "RWQRHhztgocIRDs2za1lpW+deziAT05489QSf+Mo5dNKSVKQsSEMfq5Q";

const SIGNATURE: &str = "\
untrusted comment: signature from minisign secret key
RUQRHhztgocIRKbdpmTctvtDW3LTKCZYIi0jUyimZ8zEA+GJtRkt5tu0/YeB6g4VlRbd0kDYD2rAw33p9QJ0KdNLL0OrBe78XAY=
trusted comment: time 1.2
evLFoylV14yjdlKjhDf2Z8lJBB+jpGGKF/MZydDZVROwmqcDtvA00WkzNr96a5llBDzL4YzvZqrKsTDG8MeIDA==
";

/// A key from the content of its file.
fn key(text: &str) -> Arc<SignatureKey> {
    let content = SignatureKeyContent::parse(text).unwrap();
    Arc::new(SignatureKey { name: "acme".to_owned(), content })
}

#[test]
fn accepts_only_signatures_of_the_bytes_by_a_key() {
    let ours = key(&format!("untrusted comment: minisign public key 44088782ED1C1E11\n{KEY}\n"));
    let other = key("RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3");
    let keys = [Arc::clone(&other), Arc::clone(&ours)];
    assert_eq!(verify_minisign(&keys, b"component", SIGNATURE), Ok(ours.id()));
    assert_eq!(verify_minisign(&keys, b"component", &SIGNATURE.replace('\n', "\r\n")), Ok(ours.id()));
    for (bytes, signature, keys) in [
        (&b"component2"[..], SIGNATURE.to_owned(), &keys[..]),
        (b"component", SIGNATURE.replace("time 1.2", "time 1.3"), &keys[..]),
        (b"component", SIGNATURE.replace("RUQR", "RUQS"), &keys[..]),
        (b"component", SIGNATURE.to_owned(), &keys[..1]),
        (b"component", String::new(), &keys[..]),
    ] {
        assert!(verify_minisign(keys, bytes, &signature).is_err(), "{signature}");
    }
}

#[test]
fn recognises_public_keys_and_nothing_else() {
    assert_eq!(key(KEY).id(), key(&format!("untrusted comment: x\n{KEY}\n")).id());
    let private = "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n";
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for text in ["", "RW", &KEY[..50], &KEY.replace("RWQ", "RWR")[1..], private, certificate, "acme.pub"] {
        assert!(SignatureKeyContent::parse(text).is_err(), "{text}");
    }
}
