//! Headers that neither a plugin nor a credential puts into a request, each with its reason: the one list of them.
//!
//! Servers that hand headers on as variables can't tell `_` from `-`, so neither does the list.

/// Why a header isn't for whoever sends a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It says where a message goes or ends, or holds for one connection (RFC 9110, 7.6.1; RFC 9112): the sender's.
    Framing,
    /// How long the body is: a plugin may say it, and is held to it; nobody adds it.
    Length,
    /// Proxies say with it whom they pass a request on for. A plugin is none, and servers believe it.
    Passing,
    /// It asks the server to take the request for one of another method, path or host than was compared with the
    /// grants.
    Rewriting,
}

/// The headers, but for those that begin with [`FORWARDED`].
const ALL: [(&str, Reserved); 45] = [
    ("connection", Reserved::Framing),
    ("expect", Reserved::Framing), // whether the body follows; the sender doesn't wait with it
    ("host", Reserved::Framing),
    ("http2-settings", Reserved::Framing),
    ("keep-alive", Reserved::Framing),
    ("proxy-authenticate", Reserved::Framing), // these three are for a proxy, of which there is none
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
    ("remote-user", Reserved::Passing), // whom a proxy says that it has recognised
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

/// What proxies have invented beside `Forwarded`: `-for`, `-host`, `-prefix`, `-uri` and others.
const FORWARDED: &str = "x-forwarded-";

impl Reserved {
    /// Why this header isn't for whoever sends a request; nothing for most. Capitals make no difference.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let plain = plain(name);
        let listed = ALL.iter().find(|(its, _)| *its == plain).map(|(_, reserved)| *reserved);
        listed.or_else(|| plain.starts_with(FORWARDED).then_some(Self::Passing))
    }

    /// May a plugin say it?
    #[must_use]
    pub fn is_for_plugins(self) -> bool {
        match self {
            Self::Length => true,
            Self::Framing | Self::Passing | Self::Rewriting => false,
        }
    }

    /// The reason, reading on after "it".
    pub(in crate::config) fn reason(self) -> &'static str {
        match self {
            Self::Framing | Self::Length => "says how a message is sent, not who sends it",
            Self::Passing => "is said by proxies of those whom they pass requests on for",
            Self::Rewriting => "would let a request stand for another than the one that is granted",
        }
    }
}

/// Are these one header to a server that can't tell `_` from `-`?
#[must_use]
pub fn is_same_header(name: &str, other: &str) -> bool {
    plain(name) == plain(other)
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests;
