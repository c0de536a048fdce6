//! `[admin]`: the admin listener, which is reachable from this machine only.

use std::net::{Ipv4Addr, SocketAddr};

use toml::de::DeTable;

use super::http::{ListenerKind, read_address};
use crate::model::Diagnostic;
use crate::model::diagnostic::quoted;
use crate::read::{ConfigReader, Environment, TomlTable};
use crate::report::ConfigSource;
use crate::sections::http::HttpConfig;
use crate::spec::keys::ROOT;

/// The admin listener: health, metrics, status and reloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdminConfig {
    /// The address to listen on. It is loopback and differs from that of the HTTP endpoint.
    pub listen: SocketAddr,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8932)) }
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
        self.listen.port() != 0
            && self.listen.port() == http.port()
            && (own == other || other.is_unspecified())
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
    admin.listen.ip().to_canonical().is_loopback().then_some(admin)
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
    let admin = AdminConfig { listen };
    let span = written.map_or(table.span, |text| text.span);
    if !listen.ip().to_canonical().is_loopback() {
        let message =
            format!("the admin listener must use a loopback address, not {}", quoted(&listen.to_string()));
        reader.report(Diagnostic::error(message).with_span(span).with_hint(format!(
            "listen on \"127.0.0.1:{0}\" or \"[::1]:{0}\": the admin listener has no authentication",
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
    }
    Some(admin)
}
