//! `[http]`: the address, who may call, and from where.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;

use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Asked, Reading, TOKENS, Table, Text, asked_for};
use crate::config::{HttpConfig, Secret, Token};

/// Shorter tokens can be guessed, in characters.
const SHORT_TOKEN: usize = 16;

/// Who can reach the address.
#[derive(Clone, Copy)]
enum Reach {
    /// Only this machine.
    Machine,
    Others,
}

/// Which listener an address is for.
#[derive(Clone, Copy)]
pub(in crate::config) enum Listener {
    Http,
    Admin,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8931)),
            tokens: Vec::new(),
            unread_tokens: 0,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_body: ByteSize::mib(4),
            max_sessions: 1_000,
            session_idle: Duration::from_secs(30 * 60),
            keep_alive: Duration::from_secs(15),
            close_streams_after: None,
            legacy_sse: false,
        }
    }
}

impl Reading<'_> {
    /// Reads `[http]`.
    pub(in crate::config) fn http(&mut self, root: &Table<'_>) -> HttpConfig {
        let usual = HttpConfig::default();
        let Some(table) = self.table(root, "http") else { return usual };
        let written = self.text(&table, "listen");
        let listen = written.as_ref().and_then(|text| self.address(text, &table, Listener::Http));
        let is_local = listen.is_none_or(|listen| listen.ip().to_canonical().is_loopback());
        let reach = if is_local { Reach::Machine } else { Reach::Others };
        let tokens = self.table(&table, "auth").map(|auth| self.tokens(&auth, reach)).unwrap_or_default();
        let http = HttpConfig {
            listen: listen.unwrap_or(usual.listen),
            unread_tokens: self.of_http.len(),
            tokens,
            allowed_hosts: self.checked(&table, "allowed_hosts", host),
            allowed_origins: self.checked(&table, "allowed_origins", origin),
            max_body: self.size(&table, "max_body", usual.max_body),
            max_sessions: self.integer(&table, "max_sessions", usual.max_sessions),
            session_idle: self.duration(&table, "session_idle", usual.session_idle),
            keep_alive: self.duration(&table, "keep_alive", usual.keep_alive),
            close_streams_after: table
                .get("close_streams_after")
                .map(|_| self.duration(&table, "close_streams_after", Duration::MAX)),
            legacy_sse: self.boolean(&table, "legacy_sse", usual.legacy_sse),
        };
        if let Some(text) = written
            && http.is_open_to_strangers(http.listen)
            && !mentions_tokens(&table)
        {
            self.note(
                Problem::error("others can reach this address, and nobody is asked for a token")
                    .at(text.place)
                    .hint(format!(
                        "write `listen = \"127.0.0.1:{}\"`, or add `tokens = [{{ name = \"ci\", token = {{ env = \"MOONGATE_TOKEN\" }} }}]` to `[http.auth]`",
                        http.listen.port()
                    )),
            );
        }
        http
    }

    /// An address to listen on; `table`: where it stands.
    pub(in crate::config) fn address(
        &mut self,
        text: &Text,
        table: &Table<'_>,
        listener: Listener,
    ) -> Option<SocketAddr> {
        if let Some(address) = as_typed(&text.text) {
            return Some(address);
        }
        let problem = Problem::error(format!("{} is no address to listen on", quoted(&text.text)));
        let usual = match listener {
            Listener::Http => "8931".to_owned(),
            Listener::Admin => "8932".to_owned(),
        };
        // Whoever writes an address in parts means this port.
        let port = table.get("port").and_then(|port| Some(port.inner.as_integer()?.as_str().to_owned()));
        let usual = port.unwrap_or(usual);
        let mut hint = match text.text.parse::<IpAddr>() {
            Ok(IpAddr::V6(_)) if let Some(whole) = without_brackets(&text.text) => {
                format!("write the address in brackets: \"{whole}\"")
            }
            parsed => match asked_for(&text.text, &usual) {
                Asked::Address(address) if parsed.is_ok() => format!("add the port: \"{address}\""),
                Asked::Address(address) => format!("write an IP address and a port: \"{address}\""),
                Asked::NoPort => {
                    format!("a port is at most 65535: write another, such as \"127.0.0.1:{usual}\"")
                }
            },
        };
        let meant = hint.split('"').nth(1).and_then(|meant| meant.parse::<SocketAddr>().ok());
        let is_open = meant.is_some_and(|meant| !meant.ip().to_canonical().is_loopback());
        if is_open && matches!(listener, Listener::Http) && !mentions_tokens(table) {
            hint += &format!("; and, because others can reach that address, add {TOKENS}");
        }
        self.note(problem.at(text.place.clone()).hint(hint));
        None
    }

    /// A list of texts of which each passes `check`.
    fn checked(
        &mut self,
        table: &Table<'_>,
        name: &str,
        check: fn(&str) -> Result<String, String>,
    ) -> Vec<String> {
        let texts = self.texts(table, name).unwrap_or_default();
        let mut good = Vec::with_capacity(texts.len());
        for text in texts {
            match check(&text.text) {
                Ok(text) => good.push(text),
                Err(reason) => {
                    let message = format!("{} can't stand in `{name}`", quoted(&text.text));
                    self.note(Problem::error(message).at(text.place).hint(reason));
                }
            }
        }
        good
    }

    fn tokens(&mut self, auth: &Table<'_>, reach: Reach) -> Vec<Token> {
        let mut names: BTreeMap<String, Range<usize>> = BTreeMap::new();
        let mut secrets: Vec<(Secret, Range<usize>)> = Vec::new();
        let mut tokens = Vec::new();
        for table in self.tables(auth, "tokens") {
            let name = self.text(&table, "name").filter(|name| self.is_principal(name));
            let value = table.get("token");
            let token = match value.as_ref().map(|value| self.secret_for_some(value)) {
                Some(Ok(token)) => token,
                Some(Err(problem)) => {
                    self.of_http.push(*problem);
                    None
                }
                None => None,
            };
            if let Some(name) = &name {
                if let Some(first) = names.get(&name.text) {
                    let message = format!("two tokens are named {}", quoted(&name.text));
                    let problem =
                        Problem::error(message).at(name.place.clone()).related(first.clone(), "first here");
                    self.note(problem.hint("give each its own name: sessions belong to it"));
                }
                names.entry(name.text.clone()).or_insert_with(|| name.place.clone());
            }
            let (Some(token), Some(value)) = (token, value) else { continue };
            self.judge_token(&token, &value.place, reach);
            if let Some((_, first)) = secrets.iter().find(|(other, _)| *other == token) {
                let problem = Problem::error("two names have the same token").at(value.place.clone());
                let problem = problem.related(first.clone(), "the same here");
                self.note(problem.hint("make a token for each: `openssl rand -hex 32` prints one"));
            }
            secrets.push((token.clone(), value.place.clone()));
            if let Some(name) = name {
                let variable = value.inner.get("env").and_then(|name| name.get_ref().as_str()).map(Arc::from);
                tokens.push(Token { name: name.text.into(), token, variable });
            }
        }
        tokens
    }

    /// Notes a name that a principal can't have.
    fn is_principal(&mut self, name: &Text) -> bool {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.@+".contains(c);
        let hint = if name.text.is_empty() || name.text.len() > 64 || !name.text.chars().all(allowed) {
            "use 1 to 64 letters, digits and `_ - . @ +`"
        } else if name.text == "local" || name.text == "anonymous" {
            "logs already call callers so that had no token"
        } else {
            return true;
        };
        let message = format!("{} can't be the name of a token", quoted(&name.text));
        self.note(Problem::error(message).at(name.place.clone()).hint(hint));
        false
    }

    /// Notes a token that can't be sent, or can be guessed.
    fn judge_token(&mut self, token: &Secret, place: &Range<usize>, reach: Reach) {
        let text = token.expose();
        let problem = if !text.chars().all(|c| c.is_ascii_graphic()) {
            Problem::error(
                "this token can't be sent in a header: it holds white space or other than ASCII characters",
            )
        } else if text.len() < SHORT_TOKEN {
            let message = format!("this token has fewer than {SHORT_TOKEN} characters and can be guessed");
            match reach {
                Reach::Machine => Problem::warning(message),
                Reach::Others => Problem::error(format!("{message}, and others can reach the address")),
            }
        } else {
            return;
        };
        self.note(problem.at(place.clone()).hint("`openssl rand -hex 32` prints a good one"));
    }
}

/// Does the file have tokens, right or wrong?
fn mentions_tokens(http: &Table<'_>) -> bool {
    let tokens = http.get("auth").and_then(|auth| auth.inner.get("tokens").cloned());
    tokens.is_some_and(|tokens| !tokens.get_ref().as_array().is_some_and(|tokens| tokens.is_empty()))
}

/// An address as it may be typed on the command line, too: `localhost` for the host, or none.
fn as_typed(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let text = if matches!(host, "localhost" | "") { format!("127.0.0.1:{port}") } else { text.to_owned() };
    text.parse().ok()
}

/// An IPv6 address and a port that were written without brackets, with them.
fn without_brackets(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.rsplit_once(':')?;
    // What ends in `::` may be an address alone; a port of one or two digits isn't one that is meant.
    let port = port.parse().ok().filter(|_| port.len() > 2)?;
    Some(SocketAddr::new(IpAddr::V6(address.parse().ok()?), port))
}

/// A host name or address as the `Host` header has it, without a port; or what to write instead.
fn host(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    if text.contains('*') {
        return Err("name each host: there are no wildcards here".to_owned());
    }
    if let Ok(address) = text.trim_start_matches('[').trim_end_matches(']').parse::<Ipv6Addr>() {
        return Ok(format!("[{address}]"));
    }
    if text.contains(['/', ':']) {
        return Err(match host(name_in(&text)) {
            Ok(name) => format!("write the host's name alone: \"{}\"", name.trim_matches(['[', ']'])),
            Err(_) => "write the host's name alone, such as \"example.com\"".to_owned(),
        });
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
    if text.is_empty() || !text.chars().all(allowed) {
        let hint = "write a host name such as `example.com`; a name in other letters in its `xn--` form";
        return Err(hint.to_owned());
    }
    Ok(text)
}

/// The host in an address, without scheme, password, port and path; empty where there is none.
fn name_in(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') && !name.contains(':') || host.starts_with('[') => {
            if port.ends_with(']') { host } else { name }
        }
        Some(_) => "",
        None => host,
    }
}

/// An origin as browsers send it: lower case, without a port that is the scheme's own; or what to write instead.
fn origin(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    if text.contains('*') {
        return Err("name each origin: with `*` every web page could use the plugins".to_owned());
    }
    as_origin(&text).ok_or_else(|| {
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", &text));
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let meant = as_origin(&format!("{scheme}://{rest}")).filter(|_| rest.contains('.'));
        match meant {
            Some(meant) => format!("write \"{meant}\", as browsers send it"),
            None => "write scheme, host and port as browsers send them, such as \"https://example.com\""
                .to_owned(),
        }
    })
}

fn as_origin(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme || rest.contains(['/', '?', '#', '@']) {
        return None;
    }
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse::<u16>().ok()?)),
        _ => (rest, None),
    };
    let name = host(name).ok()?;
    Some(match (scheme, port) {
        ("http", Some(80)) | ("https", Some(443)) | (_, None) => format!("{scheme}://{name}"),
        (_, Some(port)) => format!("{scheme}://{name}:{port}"),
    })
}
