//! `[admin]`: the listener for operators, which only this machine reaches.

use std::net::{Ipv4Addr, SocketAddr};

use toml::de::DeTable;

use crate::config::HttpConfig;
use crate::config::read::environment::Environment;
use crate::config::sections::http::Listener;
use crate::config::spec::keys::ROOT;
use crate::config::model::diagnostic::{Problem, Source, quoted};
use crate::config::read::reader::{Reading, Table};

/// The listener for operators: health, metrics, status, and asking for a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdminConfig {
    /// The address to listen on: loopback, and not that of the HTTP endpoint.
    pub listen: SocketAddr,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8932)) }
    }
}

impl AdminConfig {
    /// Would `http` take the same port of the same address?
    ///
    /// The file is refused then; ask again where another address is given on the command line.
    #[must_use]
    pub fn collides_with(&self, http: SocketAddr) -> bool {
        let (own, its) = (self.listen.ip().to_canonical(), http.ip().to_canonical());
        self.listen.port() != 0 && self.listen.port() == http.port() && (own == its || its.is_unspecified())
    }
}

/// The admin listener that a text asks for, whatever else is wrong with it; none: it asks for none that could be.
///
/// A gateway that runs goes on with the last configuration that could be used, and is found by the file that can't.
#[must_use]
pub fn admin_listener(source: &Source, environment: &dyn Environment) -> Option<AdminConfig> {
    let (parsed, _) = DeTable::parse_recoverable(&source.text);
    let mut reading = Reading::new(&source.path, &source.text, environment);
    let admin = reading.admin(&Table::root(parsed.get_ref(), ROOT), &HttpConfig::default())?;
    admin.listen.ip().to_canonical().is_loopback().then_some(admin)
}

impl Reading<'_> {
    /// Reads `[admin]`; without the table there is no listener.
    pub(in crate::config) fn admin(&mut self, root: &Table<'_>, http: &HttpConfig) -> Option<AdminConfig> {
        let table = self.table(root, "admin")?;
        let written = self.text(&table, "listen");
        let listen = match &written {
            Some(text) => self.address(text, &table, Listener::Admin)?,
            None => AdminConfig::default().listen,
        };
        let admin = AdminConfig { listen };
        let place = written.map_or(table.place, |text| text.place);
        if !listen.ip().to_canonical().is_loopback() {
            let message = format!("others could reach the admin listener at {}", quoted(&listen.to_string()));
            self.note(Problem::error(message).at(place).hint(format!(
                "it asks nobody for a token: listen on \"127.0.0.1:{0}\" or \"[::1]:{0}\"",
                listen.port()
            )));
        } else if admin.collides_with(http.listen) {
            let message =
                format!("the HTTP endpoint already listens on {}", quoted(&http.listen.to_string()));
            let problem = Problem::error(message).at(place).hint("give each a port of its own");
            let other = root.get("http").and_then(|http| Some(http.inner.get("listen")?.span()));
            self.note(match other {
                Some(other) => problem.related(other, "it is set here"),
                None => problem,
            });
        }
        Some(admin)
    }
}
