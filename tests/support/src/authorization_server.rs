//! A small OAuth authorization server: it signs whatever tokens a test wants, publishes its keys and metadata, answers
//! introspection requests, counts all requests, and can be down or lie.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use crate::{ReceivedRequest, TestServer};

/// An RSA key. It is always the same, because ring can't generate one.
const RSA_KEY: &[u8] = include_bytes!("../../../gateway/auth/src/jwk/test-rsa-key.der");

/// The path of the keys.
const JWKS_PATH: &str = "/jwks";

/// The path of the introspection endpoint.
const INTROSPECTION_PATH: &str = "/introspect";

/// The path of the metadata.
const METADATA_PATH: &str = "/.well-known/oauth-authorization-server";

/// A key that signs tokens.
pub struct SigningKey {
    id: String,
    pair: SigningKeyPair,
}

enum SigningKeyPair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.id).finish_non_exhaustive()
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl SigningKey {
    /// The RSA key, with this id.
    ///
    /// # Panics
    /// Never: the key is valid.
    #[must_use]
    pub fn rsa(id: &str) -> Self {
        let pair = RsaKeyPair::from_pkcs8(RSA_KEY).expect("a valid key");
        Self { id: id.to_owned(), pair: SigningKeyPair::Rsa(pair) }
    }

    /// A new P-256 key.
    ///
    /// # Panics
    /// If the system has no randomness.
    #[must_use]
    pub fn p256(id: &str) -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("randomness");
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).expect("a valid key");
        Self { id: id.to_owned(), pair: SigningKeyPair::P256(pair) }
    }

    /// A new Ed25519 key.
    ///
    /// # Panics
    /// If the system has no randomness.
    #[must_use]
    pub fn ed25519(id: &str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("randomness");
        let pair = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a valid key");
        Self { id: id.to_owned(), pair: SigningKeyPair::Ed25519(pair) }
    }

    /// The header of its tokens.
    #[must_use]
    pub fn header(&self) -> Value {
        let algorithm = match self.pair {
            SigningKeyPair::Rsa(_) => "RS256",
            SigningKeyPair::P256(_) => "ES256",
            SigningKeyPair::Ed25519(_) => "EdDSA",
        };
        json!({ "alg": algorithm, "typ": "at+jwt", "kid": self.id })
    }

    /// The public key.
    #[must_use]
    pub fn jwk(&self) -> Value {
        match &self.pair {
            SigningKeyPair::Rsa(pair) => {
                let PublicKeyComponents { n, e } = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "use": "sig", "kid": self.id, "n": encoded(n), "e": encoded(e) })
            }
            SigningKeyPair::P256(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "kid": self.id, "x": encoded(x), "y": encoded(y) })
            }
            SigningKeyPair::Ed25519(pair) => {
                let x = encoded(pair.public_key().as_ref());
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": x })
            }
        }
    }

    /// The public key as the bytes that a careless verifier would use as the key of an HMAC.
    ///
    /// # Panics
    /// If it isn't the RSA key.
    #[must_use]
    pub fn public_bytes(&self) -> Vec<u8> {
        match &self.pair {
            SigningKeyPair::Rsa(pair) => pair.public().as_ref().to_vec(),
            SigningKeyPair::P256(_) | SigningKeyPair::Ed25519(_) => panic!("only used for RSA"),
        }
    }

    /// A token with these claims.
    #[must_use]
    pub fn token(&self, claims: &Value) -> String {
        self.sign(&self.header(), &claims.to_string())
    }

    /// A signed token with this header and payload.
    ///
    /// # Panics
    /// If signing fails.
    #[must_use]
    pub fn sign(&self, header: &Value, payload: &str) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(payload));
        let random = SystemRandom::new();
        let bytes = message.as_bytes();
        let signature = match &self.pair {
            SigningKeyPair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, bytes, &mut signature).expect("a signature");
                signature
            }
            SigningKeyPair::P256(pair) => pair.sign(&random, bytes).expect("a signature").as_ref().to_vec(),
            SigningKeyPair::Ed25519(pair) => pair.sign(bytes).as_ref().to_vec(),
        };
        format!("{message}.{}", encoded(signature))
    }
}

/// The behaviour of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerBehaviour {
    /// Answers every request.
    Up,
    /// Answers with status 503.
    Down,
    /// Accepts requests and doesn't answer until its behaviour changes.
    Hangs,
    /// Answers with status 200 and an HTML page.
    SendsPages,
    /// Answers with a very large document.
    Floods,
    /// Claims to be another issuer.
    LiesAboutItsName,
}

#[derive(Debug)]
struct IssuerState {
    behaviour: Mutex<IssuerBehaviour>,
    changed: Condvar,
    keys: Mutex<Vec<Value>>,
    /// The answers of the introspection endpoint, by token.
    opaque_tokens: Mutex<BTreeMap<String, Value>>,
}

/// The server. Dropping it stops the server.
#[derive(Debug)]
pub struct AuthorizationServer {
    server: TestServer,
    state: Arc<IssuerState>,
}

impl AuthorizationServer {
    /// Starts a server that publishes these keys.
    ///
    /// # Panics
    /// If no port is free.
    #[must_use]
    pub fn start(keys: &[&SigningKey]) -> Self {
        let server = TestServer::start();
        let state = Arc::new(IssuerState {
            behaviour: Mutex::new(IssuerBehaviour::Up),
            changed: Condvar::new(),
            keys: Mutex::new(keys.iter().map(|key| key.jwk()).collect()),
            opaque_tokens: Mutex::default(),
        });
        let origin = server.origin();
        let metadata = json!({
            "issuer": origin,
            "jwks_uri": format!("{origin}{JWKS_PATH}"),
            "introspection_endpoint": format!("{origin}{INTROSPECTION_PATH}"),
        });
        let shared = Arc::clone(&state);
        server.handle(METADATA_PATH, move |_| {
            shared.answer(|behaviour| match behaviour {
                IssuerBehaviour::LiesAboutItsName => {
                    json!({ "issuer": "https://other.example", "jwks_uri": metadata["jwks_uri"] })
                }
                _ => metadata.clone(),
            })
        });
        let shared = Arc::clone(&state);
        server.handle(JWKS_PATH, move |_| {
            shared.answer(|_| json!({ "keys": *shared.keys.lock().expect("no panic") }))
        });
        let shared = Arc::clone(&state);
        server.handle(INTROSPECTION_PATH, move |request: &ReceivedRequest| {
            let token =
                request.body.split('&').find_map(|pair| pair.strip_prefix("token=")).unwrap_or_default();
            let known = shared.opaque_tokens.lock().expect("no panic").get(token).cloned();
            shared.answer(|_| known.clone().unwrap_or(json!({ "active": false })))
        });
        Self { server, state }
    }

    /// The issuer's identifier.
    #[must_use]
    pub fn issuer(&self) -> String {
        self.server.origin()
    }

    /// Publishes other keys.
    ///
    /// # Panics
    /// If a connection thread panicked.
    pub fn publish(&self, keys: &[&SigningKey]) {
        *self.state.keys.lock().expect("no panic") = keys.iter().map(|key| key.jwk()).collect();
    }

    /// Changes the behaviour.
    ///
    /// # Panics
    /// If a connection thread panicked.
    pub fn set_behaviour(&self, behaviour: IssuerBehaviour) {
        *self.state.behaviour.lock().expect("no panic") = behaviour;
        self.state.changed.notify_all();
    }

    /// Makes an opaque token known to the introspection endpoint, with this answer.
    ///
    /// # Panics
    /// If a connection thread panicked.
    pub fn set_opaque_token(&self, token: &str, answer: Value) {
        self.state.opaque_tokens.lock().expect("no panic").insert(token.to_owned(), answer);
    }

    /// The number of requests for the keys.
    #[must_use]
    pub fn key_requests(&self) -> usize {
        self.requests_to(JWKS_PATH).len()
    }

    /// The introspection requests.
    #[must_use]
    pub fn introspection_requests(&self) -> Vec<ReceivedRequest> {
        self.requests_to(INTROSPECTION_PATH)
    }

    /// The number of all requests.
    #[must_use]
    pub fn request_count(&self) -> usize {
        self.server.requests().len()
    }

    fn requests_to(&self, path: &str) -> Vec<ReceivedRequest> {
        let is_to_path = |request: &ReceivedRequest| request.line().split(' ').nth(1) == Some(path);
        self.server.requests().into_iter().filter(is_to_path).collect()
    }

    /// The claims of a token for `resource` that is valid for an hour and has the scope `mcp`.
    #[must_use]
    pub fn claims(&self, resource: &str, subject: &str) -> Value {
        json!({
            "iss": self.issuer(),
            "aud": resource,
            "sub": subject,
            "scope": "mcp",
            "client_id": "test",
            "exp": seconds_from_now(3600),
        })
    }
}

impl IssuerState {
    /// The answer according to the current behaviour.
    fn answer(&self, document: impl Fn(IssuerBehaviour) -> Value) -> (&'static str, String) {
        let behaviour = self.behaviour.lock().expect("no panic");
        let hangs = |behaviour: &mut IssuerBehaviour| *behaviour == IssuerBehaviour::Hangs;
        let behaviour = *self.changed.wait_while(behaviour, hangs).expect("no panic");
        match behaviour {
            IssuerBehaviour::Down | IssuerBehaviour::Hangs => ("503 Service Unavailable", String::new()),
            IssuerBehaviour::SendsPages => ("200 OK", "<html>Sign in</html>".to_owned()),
            IssuerBehaviour::Floods => ("200 OK", format!("{{\"keys\":[{}]}}", " ".repeat(8 << 20))),
            IssuerBehaviour::Up | IssuerBehaviour::LiesAboutItsName => {
                ("200 OK", document(behaviour).to_string())
            }
        }
    }
}

/// A time in seconds since 1970.
///
/// # Panics
/// If the clock is before 1970.
#[must_use]
pub fn seconds_from_now(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    i64::try_from(now).expect("before the year 292 billion") + seconds
}
