//! The keys of `[http.tls]`.

use super::kind::{Key, ValueKind, key, required};

/// The certificate of the endpoint.
pub(super) static HTTP_TLS: &[Key] = &[
    required(
        "certificate",
        ValueKind::Path("certificate.pem"),
        "A PEM file with the certificate, followed by those of intermediate authorities. A changed file is used for new \
         connections, without a restart.",
    ),
    required(
        "key",
        ValueKind::Path("key.pem"),
        "A PEM file with the private key of the certificate: RSA, ECDSA or Ed25519, not encrypted. Plugins can't reach it.",
    ),
    key(
        "client_ca",
        ValueKind::Path("client-ca.pem"),
        "A PEM file with the authority that issues callers' certificates. A caller's name is then the first host name, URI \
         or e-mail address of its certificate, such as `dns:ci.example.com`.",
    ),
    key(
        "client_certificates",
        ValueKind::OneOf(&["required", "optional"]),
        "With `client_ca`. `required` (the default): clients without a certificate can't connect. `optional`: they need \
         a token from `[http.auth]`.",
    ),
];
