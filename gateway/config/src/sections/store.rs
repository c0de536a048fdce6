//! `[store]`: the store that several gateways share.

use std::path::PathBuf;
use std::time::Duration;

pub use moongate_model::shared_store::RatesWhenDown;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret};
use crate::read::{ConfigReader, TomlString, TomlTable};

/// The port of a server if the address has none.
const DEFAULT_PORT: u16 = 6379;

/// The most databases that a server can be configured to have.
const MAX_DATABASE: u32 = 65_535;

/// The longest prefix, in bytes: it is part of every key.
const MAX_PREFIX_BYTES: usize = 64;

/// The shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreConfig {
    /// The address.
    pub address: StoreAddress,
    /// The number of the database.
    pub database: u32,
    /// The user. `None` means the server's default user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// The start of every key.
    pub prefix: String,
    /// The time limit for a connection, including TLS and authentication.
    pub connect_timeout: Duration,
    /// The time limit for the response to an operation.
    pub response_timeout: Duration,
    /// The effect on calls with a rate while the store is unreachable.
    pub rates_when_down: RatesWhenDown,
}

/// The address of a shared store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A server on the network.
    Tcp {
        /// The host name or IP address, without brackets.
        host: String,
        /// The port.
        port: u16,
        /// The encryption of the connection.
        encryption: StoreEncryption,
    },
    /// A Unix socket.
    Unix(PathBuf),
}

/// The encryption of a connection to a shared store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreEncryption {
    /// Plain text.
    None,
    /// TLS.
    Tls,
}

impl std::fmt::Display for StoreAddress {
    /// The address as a URL, without user and database.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp { host, port, encryption } => {
                let scheme = match encryption {
                    StoreEncryption::None => "redis",
                    StoreEncryption::Tls => "rediss",
                };
                if host.contains(':') {
                    write!(f, "{scheme}://[{host}]:{port}")
                } else {
                    write!(f, "{scheme}://{host}:{port}")
                }
            }
            Self::Unix(path) => write!(f, "unix://{}", path.display()),
        }
    }
}

/// Reads `[store]`. Without the table, nothing is shared. `sealing_key` is the gateway's.
pub(crate) fn read_store(
    reader: &mut ConfigReader<'_>,
    root: &TomlTable<'_>,
    gateway: &TomlTable<'_>,
    sealing_key: Option<&Secret>,
) -> Option<StoreConfig> {
    let table = reader.table(root, "store")?;
    let password = table.get("password").and_then(|value| reader.secret(&value));
    let prefix = match reader.string(&table, "prefix") {
        Some(text) => read_prefix(reader, text),
        None => "moongate:".to_owned(),
    };
    let refuses = reader.string(&table, "rates_when_down").is_some_and(|written| written.text == "refuse");
    let connect_timeout = reader.duration(&table, "connect_timeout", Duration::from_secs(2));
    let response_timeout = reader.duration(&table, "response_timeout", Duration::from_secs(1));
    if sealing_key.is_none() && gateway.get("sealing_key").is_none() {
        let message = "`[store]` needs a sealing key that all gateways share";
        let problem = Diagnostic::error(message).with_span(table.span.clone());
        reader.report(
            problem.with_hint("add `sealing_key = { file = \"secrets/sealing-key\" }` to `[gateway]`"),
        );
    }
    if let Some(state) = gateway.get("state") {
        let problem = Diagnostic::warning("`state` has no effect, because `[store]` keeps plugins' state");
        let hint = "remove it; `moongate state export` and `import` move existing state to the store";
        reader.report(problem.with_span(state.key_span).with_hint(hint));
    }
    let text = reader.string(&table, "url")?;
    let StoreUrl { address, database, user } = match read_url(&text.text) {
        Ok(url) => url,
        Err(StoreUrlError { message, hint, is_secret }) => {
            if is_secret {
                reader.secret_spans.push(text.span.clone());
            }
            reader.report(Diagnostic::error(message).with_span(text.span).with_hint(hint));
            return None;
        }
    };
    if user.is_some() && table.get("password").is_none() {
        let problem = Diagnostic::error("the address of the store names a user without a password");
        let hint = "add `password = { file = \"secrets/store\" }` to `[store]`";
        reader.report(problem.with_span(text.span).with_hint(hint));
    }
    Some(StoreConfig {
        address,
        database,
        user,
        password,
        prefix,
        connect_timeout,
        response_timeout,
        rates_when_down: if refuses { RatesWhenDown::Refuse } else { RatesWhenDown::Local },
    })
}

fn read_prefix(reader: &mut ConfigReader<'_>, text: TomlString) -> String {
    let is_valid = !text.text.is_empty()
        && text.text.len() <= MAX_PREFIX_BYTES
        && text.text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/".contains(c));
    if !is_valid {
        let problem = Diagnostic::error(format!("invalid prefix {}", quoted(&text.text)));
        reader.report(problem.with_span(text.span).with_hint(format!(
            "use 1 to {MAX_PREFIX_BYTES} letters, digits, `_`, `-`, `.`, `:` and `/`, such as \"moongate:\""
        )));
    }
    text.text
}

/// The parts of a store's URL.
#[derive(Debug, PartialEq, Eq)]
struct StoreUrl {
    address: StoreAddress,
    database: u32,
    user: Option<String>,
}

/// A URL that isn't that of a store.
#[derive(Debug, PartialEq, Eq)]
struct StoreUrlError {
    message: String,
    hint: String,
    /// True if the URL contains a password.
    is_secret: bool,
}

fn read_url(text: &str) -> Result<StoreUrl, StoreUrlError> {
    let error =
        |message: String, hint: &str| StoreUrlError { message, hint: hint.to_owned(), is_secret: false };
    let example = "write an address such as \"redis://127.0.0.1:6379/0\", \"rediss://store.example.com\" or \
                   \"unix:///run/valkey/valkey.sock\"";
    let url = Url::parse(text).map_err(|reason| {
        let error = error(format!("invalid address of the store: {reason}"), example);
        StoreUrlError { is_secret: text.contains('@'), ..error }
    })?;
    if url.password().is_some() {
        return Err(StoreUrlError {
            message: "the address of the store contains a password".to_owned(),
            hint: "remove it, and add `password = { env = \"NAME\" }` or `{ file = \"path\" }` to `[store]`"
                .to_owned(),
            is_secret: true,
        });
    }
    let invalid_database = || {
        error(
            "invalid database in the address of the store".to_owned(),
            "write its number after the host, such as \"redis://127.0.0.1/2\"",
        )
    };
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number <= MAX_DATABASE);
    let user = (!url.username().is_empty())
        .then(|| percent_decode_str(url.username()).decode_utf8_lossy().into_owned());
    let encryption = match url.scheme() {
        "redis" | "valkey" => StoreEncryption::None,
        "rediss" | "valkeys" => StoreEncryption::Tls,
        "unix" => {
            let path = percent_decode_str(url.path()).decode_utf8_lossy().into_owned();
            let database = match url.query().map(|query| query.strip_prefix("db=").and_then(number)) {
                None => 0,
                Some(database) => database.ok_or_else(invalid_database)?,
            };
            if path.len() < 2 || url.host().is_some() {
                return Err(error("the address of the store has no absolute path".to_owned(), example));
            }
            return Ok(StoreUrl { address: StoreAddress::Unix(path.into()), database, user });
        }
        other => {
            return Err(error(format!("unknown scheme {} of the store's address", quoted(other)), example));
        }
    };
    let host = match url.host_str().map(Host::parse) {
        Some(Ok(Host::Domain(name))) => name,
        Some(Ok(Host::Ipv4(address))) => address.to_string(),
        Some(Ok(Host::Ipv6(address))) => address.to_string(),
        Some(Err(_)) | None => {
            return Err(error("the address of the store has no valid host".to_owned(), example));
        }
    };
    if url.query().is_some() || url.fragment().is_some() {
        let message = "the address of the store has options that aren't supported";
        return Err(error(message.to_owned(), "remove everything after the number of the database"));
    }
    let database = match url.path().trim_matches('/') {
        "" => 0,
        text => number(text).ok_or_else(invalid_database)?,
    };
    let address = StoreAddress::Tcp { host, port: url.port().unwrap_or(DEFAULT_PORT), encryption };
    Ok(StoreUrl { address, database, user })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_host_port_and_database() {
        for (text, shown, database, user) in [
            ("redis://127.0.0.1", "redis://127.0.0.1:6379", 0, None),
            ("rediss://moongate@store.example:6380/3", "rediss://store.example:6380", 3, Some("moongate")),
            ("valkeys://[::1]:7/", "rediss://[::1]:7", 0, None),
            ("valkey://a%20b@localhost", "redis://localhost:6379", 0, Some("a b")),
            ("unix:///run/valkey.sock?db=2", "unix:///run/valkey.sock", 2, None),
        ] {
            let url = read_url(text).unwrap();
            assert_eq!(
                (url.address.to_string().as_str(), url.database, url.user.as_deref()),
                (shown, database, user)
            );
        }
    }

    #[test]
    fn other_urls_are_refused() {
        for (text, reason) in [
            ("127.0.0.1:6379", "invalid address"),
            ("localhost:6379", "unknown scheme `localhost`"),
            ("http://localhost", "unknown scheme `http`"),
            ("redis://", "no valid host"),
            ("redis://localhost/x", "invalid database"),
            ("redis://localhost/-1", "invalid database"),
            ("redis://localhost/65536", "invalid database"),
            ("redis://localhost?protocol=resp3", "options"),
            ("redis://:hunter2@localhost", "contains a password"),
            ("unix://", "no absolute path"),
            ("unix:///a?db=x", "invalid database"),
        ] {
            let error = read_url(text).unwrap_err();
            assert!(error.message.contains(reason), "{text}: {error:?}");
            assert!(!error.message.contains("hunter2"));
        }
    }
}
