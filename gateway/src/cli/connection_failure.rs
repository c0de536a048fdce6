//! Why a connection to a gateway failed: nothing responds there, or one side refused the other's certificate.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::iter::successors;

use moongate_config::certificate_problem;
use rustls::{AlertDescription, CertificateError};

use crate::cli::ExitKind;
use crate::cli::error::CommandError;

/// The reason that a connection failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConnectionFailure {
    /// Nothing responds.
    Silence(String),
    /// The certificate of the gateway isn't trusted.
    UntrustedGateway {
        reason: String,
        /// True if its authority isn't trusted, or isn't known.
        is_unknown_authority: bool,
    },
    /// The other side doesn't use TLS.
    NoTls,
    /// The gateway requires a client certificate.
    CertificateRequired,
    /// The gateway refused the client certificate.
    CertificateRefused(String),
    /// The connection ended after TLS had begun.
    Interrupted(String),
}

impl ConnectionFailure {
    /// The reason for an error of a connection, with TLS or without.
    pub(super) fn of(error: &(dyn Error + 'static), is_tls: bool) -> Self {
        if let Some(reason) = tls_error(error) {
            return Self::of_tls(reason);
        }
        let root = causes(error).last().unwrap_or(error).to_string();
        // The system doesn't tell why the other side ended the connection.
        let is_interrupted = causes(error).any(|cause| {
            cause.downcast_ref::<hyper::Error>().is_some_and(|error| {
                error.is_incomplete_message() || error.is_canceled() || error.is_closed()
            }) || cause.downcast_ref::<io::Error>().is_some_and(|error| {
                use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
                matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
            })
        });
        if is_tls && is_interrupted { Self::Interrupted(root) } else { Self::Silence(root) }
    }

    fn of_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(problem) => Self::UntrustedGateway {
                reason: certificate_problem(problem),
                is_unknown_authority: matches!(problem, CertificateError::UnknownIssuer),
            },
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => Self::CertificateRequired,
            rustls::Error::AlertReceived(alert) => match alert {
                AlertDescription::BadCertificate
                | AlertDescription::UnsupportedCertificate
                | AlertDescription::CertificateRevoked
                | AlertDescription::CertificateExpired
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnknownCA
                | AlertDescription::AccessDenied => Self::CertificateRefused(format!("{alert:?}")),
                _ => Self::Interrupted(error.to_string()),
            },
            rustls::Error::InvalidMessage(_) => Self::NoTls,
            _ => Self::Silence(error.to_string()),
        }
    }

    /// The message about a gateway at `address`.
    pub(super) fn message(&self, address: &dyn Display) -> String {
        match self {
            Self::Silence(reason) => format!("no gateway responds at {address}: {reason}"),
            Self::UntrustedGateway { reason, .. } => {
                format!("the certificate of the gateway at {address} isn't trusted: {reason}")
            }
            Self::NoTls => format!("the gateway at {address} doesn't use TLS"),
            Self::CertificateRequired => format!("the gateway at {address} requires a client certificate"),
            Self::CertificateRefused(reason) => {
                format!("the gateway at {address} refused the client certificate: {reason}")
            }
            Self::Interrupted(reason) => format!("the gateway at {address} closed the connection: {reason}"),
        }
    }

    /// The hint. `None` if nothing responds.
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Silence(_) => None,
            Self::UntrustedGateway { is_unknown_authority: true, .. } => {
                Some("pass the certificate of its authority with `--ca`")
            }
            Self::UntrustedGateway { is_unknown_authority: false, .. } => {
                Some("use a host name in the certificate, or replace the gateway's certificate")
            }
            Self::NoTls => Some("use http:// instead of https://, or ws:// instead of wss://"),
            Self::CertificateRequired => Some("pass a client certificate with `--cert` and `--key`"),
            Self::CertificateRefused(_) => Some(
                "pass a certificate of the authority in `client_ca` with `--cert` and `--key`; the gateway's log has \
                 the reason",
            ),
            Self::Interrupted(_) => Some(
                "if the gateway requires a client certificate, pass one with `--cert` and `--key`; the gateway's log \
                 has the reason",
            ),
        }
    }

    /// The exit code.
    pub(super) fn exit(&self) -> ExitKind {
        match self {
            Self::CertificateRequired | Self::CertificateRefused(_) => ExitKind::Unauthorized,
            Self::Silence(_) | Self::NoTls | Self::UntrustedGateway { .. } | Self::Interrupted(_) => {
                ExitKind::Unreachable
            }
        }
    }

    /// The error of a command, with this hint if nothing responds.
    pub(super) fn to_error(&self, address: &dyn Display, silence_hint: &str) -> CommandError {
        let hint = self.hint().unwrap_or(silence_hint);
        CommandError::new(self.exit()).message(&self.message(address), Some(hint))
    }
}

/// The error of TLS among the causes of an error.
pub(super) fn tls_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// An error and its causes.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    successors(Some(error), |&error| {
        // The source of an `io::Error` is that of the error in it, not that error.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.map_or_else(|| error.source(), |inner| Some(inner as &(dyn Error + 'static)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("wrapped")]
    struct Wrapped(#[source] io::Error);

    #[test]
    fn finds_the_reason_in_the_chain_of_causes() {
        let required = rustls::Error::AlertReceived(AlertDescription::CertificateRequired);
        let refused = rustls::Error::AlertReceived(AlertDescription::UnknownCA);
        let untrusted = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        for (error, expected) in [(required, "--cert"), (refused, "client_ca"), (untrusted, "--ca")] {
            for error in [
                io::Error::other(error.clone()),
                io::Error::other(io::Error::other(error.clone())),
                io::Error::other(Wrapped(io::Error::other(error))),
            ] {
                let failure = ConnectionFailure::of(&Wrapped(error), false);
                assert!(failure.hint().unwrap().contains(expected), "{failure:?}");
            }
        }
        let refused = Wrapped(io::ErrorKind::ConnectionRefused.into());
        assert!(matches!(ConnectionFailure::of(&refused, false), ConnectionFailure::Silence(_)));
        assert!(matches!(ConnectionFailure::of(&refused, true), ConnectionFailure::Silence(_)));
        let closed = Wrapped(io::ErrorKind::ConnectionReset.into());
        assert!(matches!(ConnectionFailure::of(&closed, true), ConnectionFailure::Interrupted(_)));
    }
}
