//! `[admin]`: the admin listener, which needs credentials if other machines can reach it.

use std::net::{Ipv4Addr, SocketAddr};

use toml::de::DeTable;
use url::Host;

use super::http::{ListenerKind, Reachability, check_token, is_weak_token, read_address, read_hosts};
use super::http_tls::{TlsConfig, read_tls};
use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret};
use crate::read::{ConfigReader, Environment, TomlTable};
use crate::report::ConfigSource;
use crate::sections::http::HttpConfig;
use crate::spec::keys::ROOT;

/// The operators that may try tools on the status page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolTrialPolicy {
    /// None.
    Off,
    /// Those on this machine, if the admin listener needs credentials, or the endpoint needs none and there are no roles.
    #[default]
    Local,
    /// Everyone who may use the admin listener.
    All,
}

/// The admin listener: health, metrics, status and reloads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminConfig {
    /// The address to listen on. It differs from that of the HTTP endpoint. A non-loopback address needs credentials.
    pub listen: SocketAddr,
    /// The token of operators and monitors.
    pub token: Option<Secret>,
    /// True if the token's variable or file can't be used. `token` is `None` then.
    pub has_unreadable_token: bool,
    /// The certificate of the listener. `None` means plain HTTP.
    pub tls: Option<TlsConfig>,
    /// True if `[admin.tls]` has files that can't be used. `tls` is `None` then.
    pub has_broken_tls: bool,
    /// Hosts that requests may be addressed to, in addition to loopback names and the listening address.
    pub allowed_hosts: Vec<Host<String>>,
    /// The operators that may try tools on the status page.
    pub try_tools: ToolTrialPolicy,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8932)),
            token: None,
            has_unreadable_token: false,
            tls: None,
            has_broken_tls: false,
            allowed_hosts: Vec::new(),
            try_tools: ToolTrialPolicy::default(),
        }
    }
}

impl AdminConfig {
    /// Reports whether `http` uses the same port of the same address.
    ///
    /// The reader rejects this. Check again if the command line sets another address.
    #[must_use]
    pub fn collides_with(&self, http: SocketAddr) -> bool {
        let own = self.listen.ip().to_canonical();
        let other = http.ip().to_canonical();
        let is_same = own == other || own.is_unspecified() || other.is_unspecified();
        self.listen.port() != 0 && self.listen.port() == http.port() && is_same
    }

    /// The scheme of the listener's address.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() || self.has_broken_tls { "https" } else { "http" }
    }

    /// Reports whether a client certificate authenticates a request.
    #[must_use]
    pub fn accepts_certificates(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.client_authority.is_some())
    }

    /// Reports whether requests need a token or a client certificate. Files that can't be used aren't the same as none.
    #[must_use]
    pub fn requires_authentication(&self) -> bool {
        self.token.is_some()
            || self.has_unreadable_token
            || self.accepts_certificates()
            || self.has_broken_tls
    }

    /// Reports whether anyone on the network could use the listener at `listen`.
    ///
    /// The reader rejects this. Check again if the command line sets another address.
    #[must_use]
    pub fn is_open_without_credentials(&self, listen: SocketAddr) -> bool {
        !listen.ip().to_canonical().is_loopback() && !self.requires_authentication()
    }

    /// Reports whether anyone on the network could guess the token of a listener at `listen`.
    ///
    /// The reader rejects this. Check again if the command line sets another address.
    #[must_use]
    pub fn has_weak_token(&self, listen: SocketAddr) -> bool {
        !listen.ip().to_canonical().is_loopback() && self.token.as_ref().is_some_and(is_weak_token)
    }

    /// Reports whether a listener at `listen` receives its token and sends its status unencrypted over a network.
    #[must_use]
    pub fn is_unencrypted(&self, listen: SocketAddr) -> bool {
        !listen.ip().to_canonical().is_loopback() && self.scheme() == "http"
    }
}

/// The admin listener of a file, even if the rest of the file has errors. `None` means that no usable one is
/// configured.
///
/// Commands use it to find a running gateway, which keeps its last valid configuration, if its file is broken.
#[must_use]
pub fn admin_listener(source: &ConfigSource, environment: &dyn Environment) -> Option<AdminConfig> {
    let (parsed, _) = DeTable::parse_recoverable(&source.text);
    let mut reader = ConfigReader::new(&source.path, &source.text, environment);
    let root = TomlTable::root(parsed.get_ref(), ROOT);
    let admin = read_admin(&mut reader, &root, &HttpConfig::default())?;
    (!admin.is_open_without_credentials(admin.listen)).then_some(admin)
}

/// Reads `[admin]`. Without the table, there is no listener.
pub(crate) fn read_admin(
    reader: &mut ConfigReader<'_>,
    root: &TomlTable<'_>,
    http: &HttpConfig,
) -> Option<AdminConfig> {
    let table = reader.table(root, "admin")?;
    let written = reader.string(&table, "listen");
    let listen = match &written {
        Some(text) => read_address(reader, text, ListenerKind::Admin)?,
        None => AdminConfig::default().listen,
    };
    let token = read_token(reader, &table, listen, http);
    let tls = read_tls(reader, &table);
    let admin = AdminConfig {
        listen,
        has_unreadable_token: token.is_none() && table.get("token").is_some(),
        token,
        has_broken_tls: tls.is_none() && table.get("tls").is_some(),
        tls,
        allowed_hosts: read_hosts(reader, &table),
        try_tools: match reader.string(&table, "try_tools").as_ref().map(|word| word.text.as_str()) {
            Some("off") => ToolTrialPolicy::Off,
            Some("all") => ToolTrialPolicy::All,
            Some(_) | None => ToolTrialPolicy::Local, // another word was reported
        },
    };
    let span = written.map_or(table.span, |text| text.span);
    if admin.is_open_without_credentials(listen) {
        let problem = Diagnostic::error("a non-loopback address of the admin listener needs authentication");
        reader.report(problem.with_span(span).with_hint(format!(
            "listen on \"127.0.0.1:{0}\" or \"[::1]:{0}\", or add `token = {{ file = \"secrets/admin\" }}` to \
             `[admin]`, or `client_ca` to `[admin.tls]`",
            listen.port()
        )));
    } else if admin.collides_with(http.listen) {
        let message = format!("the HTTP endpoint already listens on {}", quoted(&http.listen.to_string()));
        let problem = Diagnostic::error(message).with_span(span).with_hint("use a different port for each");
        let other = root.get("http").and_then(|http| Some(http.inner.get("listen")?.span()));
        reader.report(match other {
            Some(other) => problem.with_related(other, "set here"),
            None => problem,
        });
    } else if admin.is_unencrypted(listen) {
        let problem = Diagnostic::warning("the admin listener sends and receives everything unencrypted");
        let hint =
            "add `[admin.tls]` with `certificate` and `key`, or let a proxy on this machine terminate TLS";
        reader.report(problem.with_span(span).with_hint(hint));
    }
    Some(admin)
}

/// Reads the token. It must differ from the tokens of callers, who aren't operators.
fn read_token(
    reader: &mut ConfigReader<'_>,
    admin: &TomlTable<'_>,
    listen: SocketAddr,
    http: &HttpConfig,
) -> Option<Secret> {
    let value = admin.get("token")?;
    let token = match reader.optional_secret(&value) {
        Ok(token) => token?,
        Err(problem) => {
            reader.http_problems.push(*problem);
            return None;
        }
    };
    if let Some(problem) = check_token(&token, &value.span, Reachability::of(listen)) {
        reader.report(problem);
    }
    if let Some(caller) = http.tokens.iter().find(|caller| caller.token == token) {
        let message = format!("the caller `{}` has the same token", caller.principal);
        let problem = Diagnostic::error(message).with_span(value.span);
        reader.report(problem.with_hint("generate a token for each with `openssl rand -hex 32`"));
    }
    Some(token)
}
