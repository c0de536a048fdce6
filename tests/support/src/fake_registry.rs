//! An OCI registry that can also lie: it serves manifests and blobs under any digest, requires logins, redirects to
//! another host, and lists referrers or doesn't.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_model::names::Digest;
use serde_json::{Value, json};

use crate::ReceivedRequest;

/// The user and the password of a registry that requires a login.
pub const REGISTRY_LOGIN: &str = "moon:gate";

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// The login that a registry requires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RegistryLogin {
    /// None.
    #[default]
    None,
    /// A user name and a password.
    Basic,
    /// A token, which the registry itself issues to anyone.
    AnonymousToken,
    /// A token, which the registry itself issues for a user name and a password.
    Token,
    /// A token that is too large.
    LargeToken,
}

/// The registry, on a loopback address. Dropping it stops it.
#[derive(Debug)]
pub struct FakeRegistry {
    address: SocketAddr,
    state: Arc<Mutex<RegistryState>>,
    ended: Arc<AtomicBool>,
}

/// What the registry has, and how it behaves.
#[derive(Debug, Default)]
pub struct RegistryState {
    /// The login that it requires.
    pub login: RegistryLogin,
    /// True if it has the referrers API.
    pub lists_referrers: bool,
    /// The origin to which blobs are redirected.
    pub blob_origin: Option<String>,
    /// Media types and manifests, by tag and by digest.
    pub manifests: BTreeMap<String, (String, Vec<u8>)>,
    /// Blobs, by digest.
    pub blobs: BTreeMap<String, Vec<u8>>,
    /// Referrers, by the digest of their subject.
    pub referrers: BTreeMap<String, Vec<Value>>,
    /// The requests so far.
    pub requests: Vec<ReceivedRequest>,
}

/// A response: a status, headers and a body.
type RegistryAnswer = (&'static str, String, Vec<u8>);

impl FakeRegistry {
    /// Starts an empty registry.
    ///
    /// # Panics
    /// If no port is free.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let state = Arc::<Mutex<RegistryState>>::default();
        let ended = Arc::new(AtomicBool::new(false));
        let (shared, is_ended) = (Arc::clone(&state), Arc::clone(&ended));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_ended.load(Ordering::Relaxed) {
                    return;
                }
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&state, stream, address));
            }
        });
        Self { address, state, ended }
    }

    /// The host and port.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// A reference into the registry, such as `oci://127.0.0.1:5000/acme/time:1`.
    #[must_use]
    pub fn reference(&self, rest: &str) -> String {
        format!("oci://{}/acme/{rest}", self.address)
    }

    /// Its state, to change it.
    ///
    /// # Panics
    /// If a connection thread panicked.
    pub fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().expect("no connection panics while it holds this")
    }

    /// Adds an artifact with one layer. Returns the digest of its manifest.
    pub fn add_artifact(&self, tag: &str, media_type: &str, component: &[u8]) -> Digest {
        let layer = self.add_blob(component);
        self.add_manifest(tag, &json!({
            "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": self.empty_config(),
            "layers": [{ "mediaType": media_type, "digest": format!("sha256:{layer}"), "size": component.len() }],
        }))
    }

    /// Adds a manifest under a tag and its digest.
    pub fn add_manifest(&self, tag: &str, manifest: &Value) -> Digest {
        let bytes = manifest.to_string().into_bytes();
        let digest = Digest::of(&bytes);
        let media_type = if manifest.get("manifests").is_some() { INDEX_TYPE } else { MANIFEST_TYPE };
        let entry = (media_type.to_owned(), bytes);
        let mut state = self.state();
        state.manifests.insert(format!("sha256:{digest}"), entry.clone());
        state.manifests.insert(tag.to_owned(), entry);
        digest
    }

    /// Adds a blob under its digest.
    pub fn add_blob(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        self.state().blobs.insert(digest.to_string(), bytes.to_owned());
        digest
    }

    /// Adds a manifest that refers to another: to the list of referrers, or to the tag that replaces it.
    pub fn add_referrer(&self, subject: &Digest, artifact_type: &str, content: &[u8]) {
        let layer = self.add_blob(content);
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "artifactType": artifact_type, "config": self.empty_config(),
            "layers": [{ "mediaType": artifact_type, "digest": format!("sha256:{layer}"), "size": content.len() }],
            "subject": { "mediaType": MANIFEST_TYPE, "digest": format!("sha256:{subject}"), "size": 1 },
        });
        let digest =
            self.add_manifest(&format!("sha256:{}", Digest::of(manifest.to_string().as_bytes())), &manifest);
        let descriptor = json!({
            "mediaType": MANIFEST_TYPE, "artifactType": artifact_type, "digest": format!("sha256:{digest}"),
            "size": manifest.to_string().len(),
        });
        let all = {
            let mut state = self.state();
            let all = state.referrers.entry(subject.to_string()).or_default();
            all.push(descriptor);
            all.clone()
        };
        if !self.state().lists_referrers {
            let index = json!({ "schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": all });
            self.add_manifest(&format!("sha256-{subject}"), &index);
        }
    }

    fn empty_config(&self) -> Value {
        let digest = self.add_blob(b"{}");
        json!({ "mediaType": "application/vnd.wasm.config.v0+json", "digest": format!("sha256:{digest}"), "size": 2 })
    }
}

impl Drop for FakeRegistry {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(state: &Mutex<RegistryState>, stream: TcpStream, address: SocketAddr) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body)?;
        let request =
            ReceivedRequest { connection: 0, head, body: String::from_utf8_lossy(&body).into_owned() };
        let (status, headers, content) = {
            let mut state = state.lock().expect("no connection panics while it holds this");
            state.requests.push(request.clone());
            state.answer(&request, body, address)
        };
        let out = stream.get_mut();
        write!(out, "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", content.len())?;
        if !request.line().starts_with("HEAD ") {
            out.write_all(&content)?;
        }
        out.flush()?;
    }
}

impl RegistryState {
    fn answer(&mut self, request: &ReceivedRequest, body: Vec<u8>, address: SocketAddr) -> RegistryAnswer {
        let mut words = request.line().split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let target = words.next().unwrap_or_default().to_owned();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let not_found = || ("404 Not Found", String::new(), error("MANIFEST_UNKNOWN", "not here"));
        let basic = format!("Basic {}", BASE64_STANDARD.encode(REGISTRY_LOGIN));
        let authorization = request.header("authorization").unwrap_or_default();
        if path == "/token" {
            if self.login == RegistryLogin::LargeToken {
                return (
                    "200 OK",
                    String::new(),
                    json!({ "token": "x".repeat(65 << 10) }).to_string().into(),
                );
            }
            let is_known = self.login == RegistryLogin::AnonymousToken || authorization == basic;
            return match is_known && query.contains("service=fake") && query.contains("scope=repository") {
                true => ("200 OK", String::new(), json!({ "token": "granted" }).to_string().into()),
                false => ("401 Unauthorized", String::new(), error("DENIED", "no")),
            };
        }
        let (expected, challenge) = match self.login {
            RegistryLogin::None => ("", String::new()),
            RegistryLogin::Basic => (basic.as_str(), "Basic realm=\"fake\"".to_owned()),
            RegistryLogin::AnonymousToken | RegistryLogin::Token | RegistryLogin::LargeToken => {
                let realm =
                    format!("Bearer realm=\"http://{address}/token\",service=\"fake\",scope=\"ignored\"");
                ("Bearer granted", realm)
            }
        };
        if authorization != expected {
            let headers = format!("WWW-Authenticate: {challenge}\r\n");
            return ("401 Unauthorized", headers, error("UNAUTHORIZED", "log in"));
        }
        let path = path.trim_start_matches("/v2/");
        let Some((kind, name)) = ["manifests", "blobs", "referrers"]
            .iter()
            .find_map(|kind| Some((*kind, path.split_once(&format!("/{kind}/"))?.1)))
        else {
            return not_found();
        };
        match (method.as_str(), kind) {
            ("GET" | "HEAD", "manifests") => match self.manifests.get(name) {
                Some((media_type, bytes)) => {
                    ("200 OK", format!("Content-Type: {media_type}\r\n"), bytes.clone())
                }
                None => not_found(),
            },
            ("GET" | "HEAD", "blobs") => {
                match (&self.blob_origin, self.blobs.get(name.trim_start_matches("sha256:"))) {
                    (Some(origin), Some(_)) => {
                        ("307 Temporary Redirect", format!("Location: {origin}/{name}\r\n"), Vec::new())
                    }
                    (None, Some(bytes)) => ("200 OK", String::new(), bytes.clone()),
                    (_, None) => not_found(),
                }
            }
            ("GET", "referrers") if self.lists_referrers => {
                let found =
                    self.referrers.get(name.trim_start_matches("sha256:")).cloned().unwrap_or_default();
                let index = json!({ "schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": found });
                ("200 OK", format!("Content-Type: {INDEX_TYPE}\r\n"), index.to_string().into())
            }
            ("POST", "blobs") => ("202 Accepted", format!("Location: /v2/{path}1?state=x\r\n"), Vec::new()),
            ("PUT", "blobs") => {
                let digest = query.rsplit_once("sha256").map(|(_, digest)| digest.trim_start_matches("%3A"));
                self.blobs.insert(digest.unwrap_or_default().to_owned(), body);
                ("201 Created", String::new(), Vec::new())
            }
            ("PUT", "manifests") => {
                let entry = (MANIFEST_TYPE.to_owned(), body);
                self.manifests.insert(format!("sha256:{}", Digest::of(&entry.1)), entry.clone());
                self.manifests.insert(name.to_owned(), entry);
                ("201 Created", String::new(), Vec::new())
            }
            _ => not_found(),
        }
    }
}

fn error(code: &str, message: &str) -> Vec<u8> {
    json!({ "errors": [{ "code": code, "message": message }] }).to_string().into()
}
