//! `[http]`: the HTTP endpoint, its address, tokens, hosts and origins.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;
use ipnet::IpNet;
use url::Host;

use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret, WebOrigin, parse_host};
use crate::read::{ConfigReader, TomlString, TomlTable};
use crate::sections::http_tls::{TlsConfig, read_tls};
use crate::sections::oauth::{OAuthConfig, read_oauth};

/// The shortest token, in characters. A shorter one could be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// The HTTP endpoint.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The address to listen on. A non-loopback address needs authentication.
    pub listen: SocketAddr,
    /// The tokens of callers. If there are none, no issuers and no `unreadable_tokens`, anyone who can reach the address
    /// can call the gateway.
    pub tokens: Vec<BearerToken>,
    /// OAuth: the issuers of access tokens.
    pub oauth: OAuthConfig,
    /// The certificate of the endpoint. `None` means plain HTTP.
    pub tls: Option<TlsConfig>,
    /// True if `[http.tls]` has files that can't be used. `tls` is `None` then.
    pub has_broken_tls: bool,
    /// The number of tokens, client secrets, certificates and keys whose variable or file can't be used. HTTP can't be
    /// served then, see [`LoadedConfig::require_http`](crate::LoadedConfig::require_http).
    pub unreadable_tokens: usize,
    /// Hosts that requests may be addressed to, in addition to loopback names and the listening address.
    pub allowed_hosts: Vec<Host<String>>,
    /// Origins of web pages that may call, in addition to loopback ones.
    pub allowed_origins: Vec<WebOrigin>,
    /// The largest request body.
    pub max_body: ByteSize,
    /// The number of concurrent sessions.
    pub max_sessions: u32,
    /// The time after which an idle session ends.
    pub session_idle: Duration,
    /// The interval of keep-alive comments on silent event streams.
    pub keep_alive: Duration,
    /// The time after which a connection without a request is closed.
    pub idle_timeout: Duration,
    /// The time after which the connection of an event stream is closed, for its client to reconnect. `None` means never.
    pub close_streams_after: Option<Duration>,
    /// True if the HTTP+SSE transport of 2024-11-05 is supported.
    pub legacy_sse: bool,
    /// True if WebSockets are supported.
    pub websocket: bool,
    /// The number of open connections. `None` means as many as the limit on open files and the memory allow.
    pub max_connections: Option<u32>,
    /// Proxies whose `X-Forwarded-For` names the client.
    pub trusted_proxies: Vec<IpNet>,
    /// True if health probes are answered too, without authentication.
    pub health: bool,
}

/// A bearer token and its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BearerToken {
    /// The principal's name.
    pub principal: Arc<str>,
    /// The token itself.
    pub token: Secret,
    /// The variable that it was read from. `None` means a file.
    pub variable: Option<Arc<str>>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8931)),
            tokens: Vec::new(),
            oauth: OAuthConfig::default(),
            tls: None,
            has_broken_tls: false,
            unreadable_tokens: 0,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body: ByteSize::mib(4),
            max_sessions: 1_000,
            session_idle: Duration::from_secs(30 * 60),
            keep_alive: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(620),
            close_streams_after: None,
            legacy_sse: false,
            websocket: false,
            max_connections: None,
            trusted_proxies: Vec::new(),
            health: false,
        }
    }
}

impl HttpConfig {
    /// The scheme of the endpoint's address.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Reports whether callers need a token.
    #[must_use]
    pub fn requires_tokens(&self) -> bool {
        !self.tokens.is_empty() || !self.oauth.issuers.is_empty() || self.unreadable_tokens > 0
    }

    /// Reports whether callers need a token or a client certificate.
    #[must_use]
    pub fn requires_authentication(&self) -> bool {
        self.requires_tokens() || self.accepts_certificates()
    }

    /// Reports whether a client certificate authenticates a caller.
    #[must_use]
    pub fn accepts_certificates(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client_authority.is_some())
    }

    /// Reports whether anyone on the network could call the gateway: the address isn't loopback and neither a token nor a
    /// client certificate is required.
    ///
    /// The reader rejects this. Check again if the command line sets another address.
    #[must_use]
    pub fn is_open_without_tokens(&self, listen: SocketAddr) -> bool {
        !listen.ip().to_canonical().is_loopback() && !self.requires_authentication()
    }

    /// The first token that anyone on the network could guess: it is short, and the address isn't loopback.
    ///
    /// The reader rejects this. Check again if the command line sets another address.
    #[must_use]
    pub fn weak_token(&self, listen: SocketAddr) -> Option<&BearerToken> {
        let is_reachable = !listen.ip().to_canonical().is_loopback();
        self.tokens.iter().find(|token| is_reachable && is_weak_token(&token.token))
    }
}

/// The reachability of an address.
#[derive(Clone, Copy)]
pub(crate) enum Reachability {
    Locally,
    Remotely,
}

impl Reachability {
    pub(crate) fn of(address: SocketAddr) -> Self {
        if address.ip().to_canonical().is_loopback() { Self::Locally } else { Self::Remotely }
    }
}

/// Reports whether a token is so short that it could be guessed.
pub(crate) fn is_weak_token(token: &Secret) -> bool {
    token.expose().len() < MIN_TOKEN_CHARS
}

/// A listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerKind {
    /// The MCP endpoint.
    Http,
    /// The admin listener.
    Admin,
}

/// Reads `[http]`.
pub(crate) fn read_http(reader: &mut ConfigReader<'_>, root: &TomlTable<'_>) -> HttpConfig {
    let default = HttpConfig::default();
    let Some(table) = reader.table(root, "http") else { return default };
    let written = reader.string(&table, "listen");
    let listen = written.as_ref().and_then(|text| read_address(reader, text, ListenerKind::Http));
    let reachable = listen.map_or(Reachability::Locally, Reachability::of);
    let auth = reader.table(&table, "auth");
    let tokens = auth.as_ref().map(|auth| read_tokens(reader, auth, reachable)).unwrap_or_default();
    let oauth = auth.as_ref().map(|auth| read_oauth(reader, auth)).unwrap_or_default();
    let tls = read_tls(reader, &table);
    let has_broken_tls = tls.is_none() && table.get("tls").is_some();
    let unusable = reader.http_problems.iter().chain(&reader.token_problems);
    let unreadable = unusable.filter(|problem| problem.is_error()).count();
    let http = HttpConfig {
        listen: listen.unwrap_or(default.listen),
        unreadable_tokens: unreadable + usize::from(has_broken_tls),
        tokens,
        oauth,
        tls,
        has_broken_tls,
        allowed_hosts: read_hosts(reader, &table),
        allowed_origins: read_checked(reader, &table, "allowed_origins", origin),
        max_body: reader.size(&table, "max_body", default.max_body),
        max_sessions: reader.integer(&table, "max_sessions", default.max_sessions),
        session_idle: reader.duration(&table, "session_idle", default.session_idle),
        keep_alive: reader.duration(&table, "keep_alive", default.keep_alive),
        idle_timeout: reader.duration(&table, "idle_timeout", default.idle_timeout),
        close_streams_after: table
            .get("close_streams_after")
            .map(|_| reader.duration(&table, "close_streams_after", Duration::MAX)),
        legacy_sse: reader.boolean(&table, "legacy_sse", default.legacy_sse),
        websocket: reader.boolean(&table, "websocket", default.websocket),
        max_connections: table
            .get("max_connections")
            .map(|_| reader.integer(&table, "max_connections", u32::MAX)),
        trusted_proxies: read_checked(reader, &table, "trusted_proxies", proxy),
        health: reader.boolean(&table, "health", default.health),
    };
    if let Some(text) = written
        && http.is_open_without_tokens(http.listen)
        && !mentions_credentials(&table)
    {
        let problem = Diagnostic::error("a non-loopback address needs authentication").with_span(text.span);
        reader.report(problem.with_hint(format!(
            "listen on \"127.0.0.1:{}\", or add `tokens = [{{ name = \"ci\", token = {{ env = \"MOONGATE_TOKEN\" }} }}]` to `[http.auth]`",
            http.listen.port()
        )));
    }
    http
}

/// Reads an address to listen on.
pub(crate) fn read_address(
    reader: &mut ConfigReader<'_>,
    text: &TomlString,
    listener: ListenerKind,
) -> Option<SocketAddr> {
    if let Some(address) = parse_address(&text.text) {
        return Some(address);
    }
    let default_port = match listener {
        ListenerKind::Http => 8931,
        ListenerKind::Admin => 8932,
    };
    let hint = match text.text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => format!("add the port: \"{address}:{default_port}\""),
        Ok(IpAddr::V6(_)) => {
            format!("put an IPv6 address in brackets and add the port, such as \"[::1]:{default_port}\"")
        }
        Err(_) => format!("write an IP address and a port, such as \"127.0.0.1:{default_port}\""),
    };
    let problem = Diagnostic::error(format!("invalid address {}", quoted(&text.text)));
    reader.report(problem.with_span(text.span.clone()).with_hint(hint));
    None
}

/// Reads the hosts that requests to a listener may be addressed to.
pub(crate) fn read_hosts(reader: &mut ConfigReader<'_>, listener: &TomlTable<'_>) -> Vec<Host<String>> {
    read_checked(reader, listener, "allowed_hosts", host)
}

/// Reads an array of strings and validates each one with `check`.
fn read_checked<T>(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
    name: &str,
    check: fn(&str) -> Result<T, &'static str>,
) -> Vec<T> {
    let texts = reader.strings(table, name).unwrap_or_default();
    let mut valid = Vec::with_capacity(texts.len());
    for text in texts {
        match check(&text.text) {
            Ok(checked) => valid.push(checked),
            Err(hint) => {
                let message = format!("invalid value {} in `{name}`", quoted(&text.text));
                reader.report(Diagnostic::error(message).with_span(text.span).with_hint(hint));
            }
        }
    }
    valid
}

fn read_tokens(
    reader: &mut ConfigReader<'_>,
    auth: &TomlTable<'_>,
    reachable: Reachability,
) -> Vec<BearerToken> {
    let mut names: BTreeMap<String, Range<usize>> = BTreeMap::new();
    let mut secrets: Vec<(Secret, Range<usize>)> = Vec::new();
    let mut tokens = Vec::new();
    for table in reader.tables(auth, "tokens") {
        let name = reader.string(&table, "name").filter(|name| check_principal(reader, name));
        let value = table.get("token");
        let token = match value.as_ref().map(|value| reader.optional_secret(value)) {
            Some(Ok(token)) => token,
            Some(Err(problem)) => {
                reader.token_problems.push(*problem);
                None
            }
            None => None,
        };
        if let Some(name) = &name {
            if let Some(first) = names.get(&name.text) {
                let problem = Diagnostic::error(format!("duplicate token name {}", quoted(&name.text)));
                let problem =
                    problem.with_span(name.span.clone()).with_related(first.clone(), "first defined here");
                reader.report(
                    problem.with_hint("use a different name for each token: sessions belong to a name"),
                );
            }
            names.entry(name.text.clone()).or_insert_with(|| name.span.clone());
        }
        let (Some(token), Some(value)) = (token, value) else { continue };
        match check_token(&token, &value.span, reachable) {
            Some(problem) if problem.is_error() => {
                reader.token_problems.push(problem);
                continue;
            }
            problem => problem.into_iter().for_each(|problem| reader.report(problem)),
        }
        if let Some((_, first)) = secrets.iter().find(|(other, _)| *other == token) {
            let problem = Diagnostic::error("two names have the same token").with_span(value.span.clone());
            let problem = problem.with_related(first.clone(), "the same token here");
            reader.report(problem.with_hint("generate a token for each with `openssl rand -hex 32`"));
        }
        secrets.push((token.clone(), value.span.clone()));
        if let Some(name) = name {
            let variable = value.inner.get("env").and_then(|name| name.get_ref().as_str()).map(Arc::from);
            tokens.push(BearerToken { principal: name.text.into(), token, variable });
        }
    }
    tokens
}

/// Reports a name that a principal can't have.
fn check_principal(reader: &mut ConfigReader<'_>, name: &TomlString) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_-.@+".contains(c);
    let hint = if name.text.is_empty() || name.text.len() > 64 || !name.text.chars().all(is_allowed) {
        "use 1 to 64 ASCII letters, digits and `_ - . @ +`".to_owned()
    } else if name.text == "local" || name.text == "anonymous" {
        format!("choose another name: `{}` is reserved for callers without a token", name.text)
    } else {
        return true;
    };
    let message = format!("invalid token name {}", quoted(&name.text));
    reader.report(Diagnostic::error(message).with_span(name.span.clone()).with_hint(hint));
    false
}

/// The problem of a token that can't be sent or that could be guessed.
pub(crate) fn check_token(
    token: &Secret,
    span: &Range<usize>,
    reachable: Reachability,
) -> Option<Diagnostic> {
    let text = token.expose();
    let problem = if !text.chars().all(|c| c.is_ascii_graphic()) {
        Diagnostic::error("invalid token: it contains white space or non-ASCII characters")
    } else if is_weak_token(token) {
        match reachable {
            Reachability::Locally => Diagnostic::warning(format!(
                "the token is short: use {MIN_TOKEN_CHARS} characters or more, as non-loopback addresses require"
            )),
            Reachability::Remotely => Diagnostic::error(format!(
                "the token is too short: it needs {MIN_TOKEN_CHARS} characters or more"
            )),
        }
    } else {
        return None;
    };
    Some(problem.with_span(span.clone()).with_hint("generate one with `openssl rand -hex 32`"))
}

/// Reports whether the file has tokens, issuers or an authority of client certificates, valid or not.
fn mentions_credentials(http: &TomlTable<'_>) -> bool {
    if http.get("tls").is_some_and(|tls| tls.inner.get("client_ca").is_some()) {
        return true;
    }
    ["tokens", "issuers"].iter().any(|name| {
        let entries = http.get("auth").and_then(|auth| auth.inner.get(*name).cloned());
        entries.is_some_and(|all| !all.get_ref().as_array().is_some_and(|all| all.is_empty()))
    })
}

/// Parses an address as on the command line, where `localhost` or an empty host stands for the loopback address.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let text = if host.is_empty() || host.eq_ignore_ascii_case("localhost") {
        format!("127.0.0.1:{port}")
    } else {
        text.to_owned()
    };
    text.parse().ok()
}

/// A host name or address as in the `Host` header, without a port. The error is a hint.
fn host(text: &str) -> Result<Host<String>, &'static str> {
    if text.contains('*') {
        return Err("list each host: wildcards aren't supported here");
    }
    let address = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = match address.split_once('%') {
        Some((address, _)) if address.parse::<Ipv6Addr>().is_ok() => {
            return Err("remove the zone after `%`: clients don't send it");
        }
        Some(_) => None,
        None => address.parse::<Ipv6Addr>().ok(),
    };
    if address.is_some() && !text.starts_with('[') && ends_like_port(text) {
        return Err(
            "put the IPv6 address in brackets, such as \"[2001:db8::1]\", without a port: `:PORT` would be read as part of the address",
        );
    }
    let bracketed = address.map(|address| format!("[{address}]"));
    if bracketed.is_none() && text.contains(['/', ':']) {
        return Err(
            "write the host alone, without a scheme or port, such as \"example.com\" or \"2001:db8::1\"",
        );
    }
    parse_host(bracketed.as_deref().unwrap_or(text)).ok_or(
        "write a host name such as \"example.com\", or an address such as \"192.0.2.1\" or \"2001:db8::1\"",
    )
}

/// True if an IPv6 address without brackets could also be a shorter address and a port.
fn ends_like_port(address: &str) -> bool {
    address.rsplit_once(':').is_some_and(|(address, port)| {
        port.len() > 1
            && port.bytes().all(|byte| byte.is_ascii_digit())
            && address.parse::<Ipv6Addr>().is_ok()
    })
}

/// An origin as browsers send it. The error is a hint.
fn origin(text: &str) -> Result<WebOrigin, &'static str> {
    if text.contains('*') {
        return Err("list each origin: with `*` every web page could call the plugins");
    }
    WebOrigin::parse(text)
        .ok_or("write the scheme, host and port as browsers send them, such as \"https://example.com\"")
}

/// The address or network of a proxy. The error is a hint.
fn proxy(text: &str) -> Result<IpNet, &'static str> {
    const HINT: &str = "write an address such as \"10.0.0.7\", or a network such as \"10.0.0.0/8\"";
    let network = match text.parse::<IpAddr>() {
        Ok(address) => IpNet::from(address.to_canonical()),
        Err(_) => text.parse::<IpNet>().map_err(|_| HINT)?,
    };
    match network {
        _ if network.addr() != network.network() => {
            Err("remove the bits after the prefix, as in \"10.0.0.0/8\"")
        }
        IpNet::V6(mapped) if mapped.addr().to_ipv4_mapped().is_some() => Err("write IPv4 networks as such"),
        _ if network.prefix_len() == 0 => Err("list your proxies: any client could claim any address"),
        _ => Ok(network),
    }
}
