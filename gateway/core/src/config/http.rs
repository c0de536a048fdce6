//! `[http]`: the address, who may call, and from where.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytesize::ByteSize;

use super::problem::{Problem, quoted};
use super::reading::{Reading, Table, Text};
use super::{HttpConfig, Secret, Token};

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
pub(super) enum Listener {
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
    pub(super) fn http(&mut self, root: &Table<'_>) -> HttpConfig {
        let usual = HttpConfig::default();
        let Some(table) = self.table(root, "http") else { return usual };
        let written = self.text(&table, "listen");
        let listen = written.as_ref().and_then(|text| self.address(text, Listener::Http));
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
            && !self.mentions_tokens(&table)
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

    /// Does the file have tokens, right or wrong?
    fn mentions_tokens(&mut self, http: &Table<'_>) -> bool {
        let tokens = http.get("auth").and_then(|auth| auth.inner.get("tokens").cloned());
        tokens.is_some_and(|tokens| !tokens.get_ref().as_array().is_some_and(|tokens| tokens.is_empty()))
    }

    /// An address to listen on.
    pub(super) fn address(&mut self, text: &Text, listener: Listener) -> Option<SocketAddr> {
        let error = match text.text.parse() {
            Ok(address) => return Some(address),
            Err(_) => Problem::error(format!("{} is no address to listen on", quoted(&text.text))),
        };
        let usual = match listener {
            Listener::Http => "8931",
            Listener::Admin => "8932",
        };
        let port = text.text.rsplit(':').next().filter(|port| port.parse::<u16>().is_ok()).unwrap_or(usual);
        let hint = match (text.text.parse::<IpAddr>(), listener) {
            (Ok(IpAddr::V4(address)), _) => format!("add the port: \"{address}:{usual}\""),
            (Ok(IpAddr::V6(_)), _) if let Some(whole) = without_brackets(&text.text) => {
                format!("write the address in brackets: \"{whole}\"")
            }
            (Ok(IpAddr::V6(address)), _) => format!("add the port: \"[{address}]:{usual}\""),
            (Err(_), Listener::Http) => format!(
                "write an IP address and a port: \"127.0.0.1:{port}\", or \"0.0.0.0:{port}\" for all of this machine's addresses"
            ),
            (Err(_), Listener::Admin) => format!("write an IP address and a port: \"127.0.0.1:{port}\""),
        };
        self.note(error.at(text.place.clone()).hint(hint));
        None
    }

    /// A list of texts of which each passes `check`.
    fn checked(
        &mut self,
        table: &Table<'_>,
        name: &str,
        check: fn(&str) -> Result<String, &'static str>,
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

/// An IPv6 address and a port that were written without brackets, with them.
fn without_brackets(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.rsplit_once(':')?;
    // What ends in `::` may be an address alone; a port of one or two digits isn't one that is meant.
    let port = port.parse().ok().filter(|_| port.len() > 2)?;
    Some(SocketAddr::new(IpAddr::V6(address.parse().ok()?), port))
}

/// A host name or address as the `Host` header has it, without a port; or what to write instead.
fn host(text: &str) -> Result<String, &'static str> {
    let text = text.to_ascii_lowercase();
    if text.contains('/') {
        return Err("write the host's name alone, without `https://` and without a path");
    }
    if text.contains('*') {
        return Err("name each host: there are no wildcards here");
    }
    if let Ok(address) = text.trim_start_matches('[').trim_end_matches(']').parse::<Ipv6Addr>() {
        return Ok(format!("[{address}]"));
    }
    if text.contains(':') {
        return Err("leave the port away");
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == '_';
    if text.is_empty() || !text.chars().all(allowed) {
        return Err("write a host name such as `example.com`; a name in other letters in its `xn--` form");
    }
    Ok(text)
}

/// An origin as browsers send it: lower case, without a port that is the scheme's own; or what to write instead.
fn origin(text: &str) -> Result<String, &'static str> {
    const FORM: &str =
        "write scheme, host and port as the browser sends them, such as \"https://example.com\"";
    let text = text.to_ascii_lowercase();
    if text.contains('*') {
        return Err("name each origin: with `*` every web page could use the plugins");
    }
    let Some((scheme, rest)) = text.split_once("://") else { return Err(FORM) };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if !is_scheme || rest.contains(['/', '?', '#', '@']) {
        return Err(FORM);
    }
    let (name, port) = match rest.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse::<u16>().map_err(|_| FORM)?)),
        _ => (rest, None),
    };
    let name = host(name).map_err(|_| FORM)?;
    Ok(match (scheme, port) {
        ("http", Some(80)) | ("https", Some(443)) | (_, None) => format!("{scheme}://{name}"),
        (_, Some(port)) => format!("{scheme}://{name}:{port}"),
    })
}
