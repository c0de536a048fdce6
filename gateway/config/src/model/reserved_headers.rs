//! Headers that neither a plugin nor a credential may set, each with its reason.
//!
//! Servers that pass headers on as variables can't tell `_` from `-`, so the list treats both as equal.

/// The reason why a header is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It frames a message or applies to one connection (RFC 9110, 7.6.1; RFC 9112). Only the HTTP client sets it.
    Framing,
    /// The length of the body. A plugin may set it, and must then send a body of that length. A credential can't set
    /// it.
    Length,
    /// Proxies identify the original client with it, and servers trust it.
    Passing,
    /// It makes the server use another method, path or host than those that the grants were checked against.
    Rewriting,
}

/// The reserved headers, except those that start with [`FORWARDED_PREFIX`].
const RESERVED_HEADERS: [(&str, Reserved); 45] = [
    ("connection", Reserved::Framing),
    ("expect", Reserved::Framing), // the client doesn't wait before it sends the body
    ("host", Reserved::Framing),
    ("http2-settings", Reserved::Framing),
    ("keep-alive", Reserved::Framing),
    ("proxy-authenticate", Reserved::Framing), // these three are for proxies
    ("proxy-authorization", Reserved::Framing),
    ("proxy-connection", Reserved::Framing),
    ("te", Reserved::Framing),
    ("trailer", Reserved::Framing),
    ("transfer-encoding", Reserved::Framing),
    ("upgrade", Reserved::Framing),
    ("content-length", Reserved::Length),
    ("cdn-loop", Reserved::Passing),   // RFC 8586
    ("early-data", Reserved::Passing), // RFC 8470
    ("forwarded", Reserved::Passing),  // RFC 7239
    ("via", Reserved::Passing),
    ("proxy", Reserved::Passing), // read as the variable `HTTP_PROXY` by CGI programs
    ("cf-connecting-ip", Reserved::Passing),
    ("client-ip", Reserved::Passing),
    ("fastly-client-ip", Reserved::Passing),
    ("remote-user", Reserved::Passing), // the user that a proxy has authenticated
    ("true-client-ip", Reserved::Passing),
    ("x-azure-clientip", Reserved::Passing),
    ("x-client-ip", Reserved::Passing),
    ("x-cluster-client-ip", Reserved::Passing),
    ("x-envoy-external-address", Reserved::Passing),
    ("x-forwarded", Reserved::Passing),
    ("x-originating-ip", Reserved::Passing),
    ("x-real-ip", Reserved::Passing),
    ("x-remote-addr", Reserved::Passing),
    ("x-remote-ip", Reserved::Passing),
    ("x-remote-user", Reserved::Passing),
    ("x-envoy-original-path", Reserved::Rewriting),
    ("x-host", Reserved::Rewriting),
    ("x-http-host-override", Reserved::Rewriting),
    ("x-http-method", Reserved::Rewriting),
    ("x-http-method-override", Reserved::Rewriting),
    ("x-method-override", Reserved::Rewriting),
    ("x-ms-original-url", Reserved::Rewriting),
    ("x-original-host", Reserved::Rewriting),
    ("x-original-uri", Reserved::Rewriting),
    ("x-original-url", Reserved::Rewriting),
    ("x-override-url", Reserved::Rewriting),
    ("x-rewrite-url", Reserved::Rewriting),
];

/// The headers of proxies that predate `Forwarded`: `-for`, `-host`, `-prefix`, `-uri` and others.
const FORWARDED_PREFIX: &str = "x-forwarded-";

impl Reserved {
    /// The reason why this header is reserved, if it is. Case doesn't matter.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let normalized = normalized(name);
        let listed =
            RESERVED_HEADERS.iter().find(|(its, _)| *its == normalized).map(|(_, reserved)| *reserved);
        listed.or_else(|| normalized.starts_with(FORWARDED_PREFIX).then_some(Self::Passing))
    }

    /// Reports whether a plugin may set it.
    #[must_use]
    pub fn is_for_plugins(self) -> bool {
        match self {
            Self::Length => true,
            Self::Framing | Self::Passing | Self::Rewriting => false,
        }
    }

    /// A verb phrase that follows "it".
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Framing | Self::Length => "frames the message",
            Self::Passing => "identifies the client behind a proxy",
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
