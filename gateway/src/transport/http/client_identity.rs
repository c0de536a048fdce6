//! The caller of a connection with a client certificate.
//!
//! A caller's name is the first alternative name of its certificate (host name, URI or e-mail address). The subject isn't
//! used: it has no defined form as text, its common name says nothing about its type, and certificates of workloads
//! (SPIFFE) can leave it empty.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moongate_auth::Authenticated;
use moongate_config::{CertificateContent, CertificateName};
use moongate_model::names::Principal;

/// The holder of a client certificate, which rustls has verified. Requests carry it as an extension.
#[derive(Debug, Clone)]
pub(crate) struct ClientIdentity {
    /// The name with its type, such as `dns:ci.example.com`.
    name: Arc<str>,
    not_after: SystemTime,
}

impl ClientIdentity {
    /// Reads a certificate. `None` if it has no name for a caller.
    pub(super) fn of_certificate(der: &[u8]) -> Option<Self> {
        let CertificateContent { names, not_after, .. } = CertificateContent::parse(der)?;
        let name = match names.first()? {
            CertificateName::Dns(name) => format!("dns:{name}"),
            CertificateName::Uri(uri) => format!("uri:{uri}"),
            CertificateName::Email(address) => format!("email:{address}"),
        };
        Some(Self { name: name.into(), not_after })
    }

    /// The caller and the rest of the certificate's validity. `None` if it has expired since the handshake.
    pub(crate) fn authenticate(&self) -> Option<Authenticated> {
        let rest = self.not_after.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO);
        let principal = Principal::Certificate(Arc::clone(&self.name));
        (rest > Duration::ZERO).then_some(Authenticated {
            principal,
            valid_for: Some(rest),
            revocation: None,
        })
    }
}
