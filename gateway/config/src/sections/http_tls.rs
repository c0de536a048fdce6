//! `[http.tls]` and `[admin.tls]`: the certificate of a listener, and the authority of its clients' certificates.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moongate_model::names::Digest;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, RootCertStore};
use toml::de::DeTable;

use crate::Config;
use crate::model::diagnostic::quoted;
use crate::model::{CertificateContent, Diagnostic};
use crate::read::paths::unreadable;
use crate::read::{ConfigReader, Environment, TomlString, TomlTable};
use crate::report::ConfigSource;
use crate::sections::http::ListenerKind;
use crate::spec::keys::ROOT;

/// The largest file. A larger one was probably named by mistake, such as a log or a disk.
const MAX_PEM_BYTES: u64 = 1024 * 1024;

/// The TLS of a listener.
#[derive(Debug, Clone)]
pub struct TlsConfig {
    /// The file with the certificate and those of its authorities.
    pub certificate_file: PathBuf,
    /// The file with its key.
    pub key_file: PathBuf,
    /// The certificate with its key.
    pub certified_key: Arc<CertifiedKey>,
    /// The authority of callers' certificates. `None` means that callers aren't asked for one.
    pub client_authority: Option<ClientAuthority>,
    /// The content of all files.
    content: Digest,
}

/// The authority of callers' certificates.
#[derive(Debug, Clone)]
pub struct ClientAuthority {
    /// The file with its certificates.
    pub file: PathBuf,
    /// Its certificates, of which there is at least one.
    pub roots: Arc<RootCertStore>,
    /// The handling of clients without a certificate.
    pub policy: ClientCertificatePolicy,
    /// The content of the file.
    content: Digest,
}

impl ClientAuthority {
    /// Reports whether both accept the same certificates.
    #[must_use]
    pub fn accepts_same(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

/// The handling of clients without a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCertificatePolicy {
    /// They can't connect.
    Required,
    /// They can connect, and need a token.
    Optional,
}

impl PartialEq for TlsConfig {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content && !self.changes_authentication(other)
    }
}

impl Eq for TlsConfig {}

impl TlsConfig {
    /// Reports whether changing to `new` needs a restart, because it changes whether certificates are accepted.
    pub(crate) fn changes_authentication(&self, new: &Self) -> bool {
        let policy = |tls: &Self| tls.client_authority.as_ref().map(|authority| authority.policy);
        policy(self) != policy(new)
    }

    /// Reports whether changing from `started` to `new` needs a restart.
    pub(crate) fn needs_restart(started: Option<&Self>, new: Option<&Self>) -> bool {
        match (started, new) {
            (Some(started), Some(new)) => started.changes_authentication(new),
            (started, new) => started.is_some() != new.is_some(),
        }
    }

    /// The names for which the certificate is valid, and its time.
    #[must_use]
    pub fn certificate(&self) -> Option<CertificateContent> {
        CertificateContent::parse(self.certified_key.end_entity_cert().ok()?)
    }
}

impl Config {
    /// Replaces certificates and keys that can't be used with those in use, so that the rest of the file can be
    /// applied: a broken certificate must not keep a token from being revoked.
    pub fn keep_tls_in_use(&mut self, http: Option<&TlsConfig>, admin: Option<&TlsConfig>) {
        if std::mem::take(&mut self.http.has_broken_tls) {
            self.http.tls = http.cloned();
            self.http.unreadable_tokens -= 1;
        }
        if let Some(new) = &mut self.admin
            && std::mem::take(&mut new.has_broken_tls)
        {
            new.tls = admin.cloned();
        }
    }
}

/// The certificate of a listener in a file, even if the rest of the file has errors.
///
/// Commands use it to trust a running gateway, which keeps its last valid configuration, if its file is broken.
#[must_use]
pub fn listener_certificate(
    source: &ConfigSource,
    environment: &dyn Environment,
    listener: ListenerKind,
) -> Option<CertificateDer<'static>> {
    let (parsed, _) = DeTable::parse_recoverable(&source.text);
    let mut reader = ConfigReader::new(&source.path, &source.text, environment);
    let root = TomlTable::root(parsed.get_ref(), ROOT);
    let name = match listener {
        ListenerKind::Http => "http",
        ListenerKind::Admin => "admin",
    };
    let listener = reader.table(&root, name)?;
    let tls = reader.table(&listener, "tls")?;
    let file = reader.string(&tls, "certificate")?;
    let path = reader.path(&file)?;
    certificates(&read_pem(&path).ok()?)?.into_iter().next()
}

/// The problem of a certificate, in words.
#[must_use]
pub fn certificate_problem(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "its authority is unknown".to_owned(),
        CertificateError::BadSignature => "its authority has the name of a trusted one, but another key".to_owned(),
        // The verifier's own errors have no other form.
        CertificateError::Other(other) if other.to_string().contains("UnsupportedCertVersion") => {
            "it is an X.509 certificate of version 1 or 2; create it with extensions, such as `subjectAltName` (with \
             `openssl x509`, pass them with `-extfile`)"
                .to_owned()
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "it is the certificate of an authority; create a certificate with `basicConstraints=CA:FALSE` (with \
             `openssl req -x509`, pass it with `-addext`)"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// Reads the `tls` of a listener's table. Without it, the listener uses plain HTTP. A problem with its files matters
/// only if the listener is used.
pub(crate) fn read_tls(reader: &mut ConfigReader<'_>, listener: &TomlTable<'_>) -> Option<TlsConfig> {
    let table = reader.table(listener, "tls")?;
    let certificate = reader.string(&table, "certificate");
    let key = reader.string(&table, "key");
    let (certificate, key) = (certificate?, key?);
    let certificate_file = reader.path(&certificate)?;
    let key_file = reader.path(&key)?;
    reader.files.extend([certificate_file.clone(), key_file.clone()]);
    if !reader.secret_files.contains(&key_file) {
        reader.secret_files.push(key_file.clone());
    }
    let chain = read_certificates(reader, &certificate, &certificate_file);
    let private_key = read_key(reader, &key, &key_file);
    let clients = read_client_authority(reader, &table);
    let ((chain, chain_pem), (private_key, key_pem)) = (chain?, private_key?);
    let (client_authority, client_pem) = clients.ok()?.unzip();
    let provider = rustls::crypto::ring::default_provider();
    match CertifiedKey::from_der(chain, private_key, &provider) {
        Ok(certified_key) => {
            let content = Digest::of(&[chain_pem, key_pem, client_pem.unwrap_or_default()].concat());
            let certified_key = Arc::new(certified_key);
            Some(TlsConfig { certificate_file, key_file, certified_key, client_authority, content })
        }
        Err(rustls::Error::InconsistentKeys(_)) => {
            let message = format!(
                "the key {} doesn't belong to the certificate {}",
                quoted(&key.text),
                quoted(&certificate.text)
            );
            let problem = Diagnostic::error(message).with_span(key.span);
            reader.tls_problems.push(problem.with_related(certificate.span, "the certificate").with_hint(
                "use the key of this certificate; the endpoint's own certificate must be the first one in its file",
            ));
            None
        }
        Err(rustls::Error::InvalidCertificate(problem)) => {
            let problem = certificate_problem(&problem);
            let message = format!("can't use the certificate {}: {problem}", quoted(&certificate.text));
            reader.tls_problems.push(Diagnostic::error(message).with_span(certificate.span));
            None
        }
        Err(error) => {
            let message = format!("can't use the key {}: {error}", quoted(&key.text));
            let problem = Diagnostic::error(message).with_span(key.span);
            reader.tls_problems.push(problem.with_hint("use an RSA, ECDSA (P-256 or P-384) or Ed25519 key"));
            None
        }
    }
}

/// An invalid value, which was reported.
struct Reported;

/// Reads the authority of callers' certificates, if there is one, and returns the content of its file too.
fn read_client_authority(
    reader: &mut ConfigReader<'_>,
    tls: &TomlTable<'_>,
) -> Result<Option<(ClientAuthority, Vec<u8>)>, Reported> {
    let policy = reader.string(tls, "client_certificates");
    let Some(text) = reader.string(tls, "client_ca") else {
        if let Some(policy) = policy {
            let problem = Diagnostic::error("`client_certificates` has no effect without `client_ca`");
            let hint =
                "add `client_ca` with the issuer of clients' certificates, or remove `client_certificates`";
            reader.report(problem.with_span(policy.span).with_hint(hint));
        }
        return if tls.get("client_ca").is_some() { Err(Reported) } else { Ok(None) };
    };
    let policy = match policy.as_ref().map(|policy| &*policy.text) {
        Some("optional") => ClientCertificatePolicy::Optional,
        Some(_) | None => ClientCertificatePolicy::Required,
    };
    let file = reader.path(&text).ok_or(Reported)?;
    reader.files.insert(file.clone());
    let problem = match read_pem(&file).map(|pem| (client_roots(&pem), pem)) {
        Ok((Some(roots), pem)) => {
            let content = Digest::of(&pem);
            return Ok(Some((ClientAuthority { file, roots: Arc::new(roots), policy, content }, pem)));
        }
        Ok((None, _)) => not_pem("certificate", &text, "CERTIFICATE"),
        Err(error) => unreadable("the client CA", &text.text, &file, &error),
    };
    reader.tls_problems.push(problem.with_span(text.span));
    Err(Reported)
}

/// The certificates of an authority, all of which must be valid.
fn client_roots(pem: &[u8]) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(pem)? {
        roots.add(certificate).ok()?;
    }
    Some(roots)
}

/// Reads a certificate and those of its authorities, and warns if it isn't valid now.
fn read_certificates(
    reader: &mut ConfigReader<'_>,
    text: &TomlString,
    path: &Path,
) -> Option<(Vec<CertificateDer<'static>>, Vec<u8>)> {
    let problem = match read_pem(path).map(|pem| (certificates(&pem), pem)) {
        Ok((Some(chain), pem)) => {
            match chain.first().and_then(|certificate| CertificateContent::parse(certificate)) {
                Some(content) => {
                    reader.tls_problems.extend(out_of_time(text, &content));
                    return Some((chain, pem));
                }
                None => not_pem("certificate", text, "CERTIFICATE"),
            }
        }
        Ok((None, _)) => not_pem("certificate", text, "CERTIFICATE"),
        Err(error) => unreadable("the certificate", &text.text, path, &error),
    };
    reader.tls_problems.push(problem.with_span(text.span.clone()));
    None
}

fn read_key(
    reader: &mut ConfigReader<'_>,
    text: &TomlString,
    path: &Path,
) -> Option<(PrivateKeyDer<'static>, Vec<u8>)> {
    let problem = match read_pem(path) {
        Ok(pem) if contains(&pem, b"-----BEGIN ENCRYPTED PRIVATE KEY-----") || is_encrypted(&pem) => {
            Diagnostic::error(format!("the key {} is encrypted", quoted(&text.text)))
                .with_hint("decrypt it with `openssl pkey -in KEY -out NEW-KEY`, and make it readable only by the gateway's user")
        }
        Ok(pem) => match PrivateKeyDer::from_pem_slice(&pem) {
            Ok(key) => return Some((key, pem)),
            Err(_) => not_pem("key", text, "PRIVATE KEY"),
        },
        Err(error) => unreadable("the key", &text.text, path, &error),
    };
    reader.tls_problems.push(problem.with_span(text.span.clone()));
    None
}

/// The certificates in a file, of which there is at least one.
fn certificates(pem: &[u8]) -> Option<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty())
}

fn not_pem(what: &str, text: &TomlString, label: &str) -> Diagnostic {
    Diagnostic::error(format!("the file {} contains no {what} in PEM", quoted(&text.text)))
        .with_hint(format!("use a file with the line `-----BEGIN {label}-----`"))
}

/// The older form of encrypted keys (RFC 1421).
fn is_encrypted(pem: &[u8]) -> bool {
    contains(pem, b"Proc-Type: 4,ENCRYPTED")
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|part| part == needle)
}

/// A warning about a certificate that isn't valid now. Clients refuse it, but a wrong clock mustn't keep the gateway from
/// starting.
fn out_of_time(text: &TomlString, content: &CertificateContent) -> Option<Diagnostic> {
    let now = SystemTime::now();
    let name = quoted(&text.text);
    let message = if content.not_after < now {
        format!("the certificate {name} expired on {}", date(content.not_after))
    } else if content.not_before > now + Duration::from_secs(60) {
        format!("the certificate {name} isn't valid before {}", date(content.not_before))
    } else {
        return None;
    };
    let hint = "replace the file; the new certificate is used without a restart";
    Some(Diagnostic::warning(message).with_span(text.span.clone()).with_hint(hint))
}

fn date(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

/// Reads a file with certificates or a key.
fn read_pem(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut pem = Vec::new();
    fs::File::open(path)?.take(MAX_PEM_BYTES + 1).read_to_end(&mut pem)?;
    if pem.len() as u64 > MAX_PEM_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB"));
    }
    Ok(pem)
}
