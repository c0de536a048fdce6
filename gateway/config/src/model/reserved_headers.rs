//! Headers that neither a plugin nor a credential may set, each with its reason.
//!
//! Servers that pass headers on as variables can't tell `_` from `-`, so the list treats both as equal.

/// The reason why a header is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservedHeader {
    /// It frames a message or applies to one connection (RFC 9110, 7.6.1; RFC 9112). Only the HTTP client sets it.
    Framing,
    /// The length of the body. A plugin may set it, and must then send a body of that length. A credential can't set
    /// it.
    Length,
    /// Proxies identify the original client with it, and servers trust it.
    ClientIdentity,
    /// It makes the server use another method, path or host than those that the grants were checked against.
    Rewriting,
}

/// The reserved headers, except those that start with [`FORWARDED_PREFIX`].
const RESERVED_HEADERS: [(&str, ReservedHeader); 45] = [
    ("connection", ReservedHeader::Framing),
    ("expect", ReservedHeader::Framing), // the client doesn't wait before it sends the body
    ("host", ReservedHeader::Framing),
    ("http2-settings", ReservedHeader::Framing),
    ("keep-alive", ReservedHeader::Framing),
    ("proxy-authenticate", ReservedHeader::Framing), // these three are for proxies
    ("proxy-authorization", ReservedHeader::Framing),
    ("proxy-connection", ReservedHeader::Framing),
    ("te", ReservedHeader::Framing),
    ("trailer", ReservedHeader::Framing),
    ("transfer-encoding", ReservedHeader::Framing),
    ("upgrade", ReservedHeader::Framing),
    ("content-length", ReservedHeader::Length),
    ("cdn-loop", ReservedHeader::ClientIdentity),   // RFC 8586
    ("early-data", ReservedHeader::ClientIdentity), // RFC 8470
    ("forwarded", ReservedHeader::ClientIdentity),  // RFC 7239
    ("via", ReservedHeader::ClientIdentity),
    ("proxy", ReservedHeader::ClientIdentity), // read as the variable `HTTP_PROXY` by CGI programs
    ("cf-connecting-ip", ReservedHeader::ClientIdentity),
    ("client-ip", ReservedHeader::ClientIdentity),
    ("fastly-client-ip", ReservedHeader::ClientIdentity),
    ("remote-user", ReservedHeader::ClientIdentity), // the user that a proxy has authenticated
    ("true-client-ip", ReservedHeader::ClientIdentity),
    ("x-azure-clientip", ReservedHeader::ClientIdentity),
    ("x-client-ip", ReservedHeader::ClientIdentity),
    ("x-cluster-client-ip", ReservedHeader::ClientIdentity),
    ("x-envoy-external-address", ReservedHeader::ClientIdentity),
    ("x-forwarded", ReservedHeader::ClientIdentity),
    ("x-originating-ip", ReservedHeader::ClientIdentity),
    ("x-real-ip", ReservedHeader::ClientIdentity),
    ("x-remote-addr", ReservedHeader::ClientIdentity),
    ("x-remote-ip", ReservedHeader::ClientIdentity),
    ("x-remote-user", ReservedHeader::ClientIdentity),
    ("x-envoy-original-path", ReservedHeader::Rewriting),
    ("x-host", ReservedHeader::Rewriting),
    ("x-http-host-override", ReservedHeader::Rewriting),
    ("x-http-method", ReservedHeader::Rewriting),
    ("x-http-method-override", ReservedHeader::Rewriting),
    ("x-method-override", ReservedHeader::Rewriting),
    ("x-ms-original-url", ReservedHeader::Rewriting),
    ("x-original-host", ReservedHeader::Rewriting),
    ("x-original-uri", ReservedHeader::Rewriting),
    ("x-original-url", ReservedHeader::Rewriting),
    ("x-override-url", ReservedHeader::Rewriting),
    ("x-rewrite-url", ReservedHeader::Rewriting),
];

/// The headers of proxies that predate `Forwarded`: `-for`, `-host`, `-prefix`, `-uri` and others.
const FORWARDED_PREFIX: &str = "x-forwarded-";

impl ReservedHeader {
    /// The reason why this header is reserved, if it is. Case doesn't matter.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let normalized = normalized(name);
        let listed =
            RESERVED_HEADERS.iter().find(|(its, _)| *its == normalized).map(|(_, reserved)| *reserved);
        listed.or_else(|| normalized.starts_with(FORWARDED_PREFIX).then_some(Self::ClientIdentity))
    }

    /// Reports whether a plugin may set it.
    #[must_use]
    pub fn is_settable_by_plugins(self) -> bool {
        match self {
            Self::Length => true,
            Self::Framing | Self::ClientIdentity | Self::Rewriting => false,
        }
    }

    /// A verb phrase that follows "it".
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Framing | Self::Length => "frames the message",
            Self::ClientIdentity => "identifies the client behind a proxy",
            Self::Rewriting => "turns the request into one that isn't granted",
        }
    }
}

/// Reports whether a server that can't tell `_` from `-` sees the same header.
#[must_use]
pub fn is_same_header(name: &str, other: &str) -> bool {
    normalized(name) == normalized(other)
}

fn normalized(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests;
