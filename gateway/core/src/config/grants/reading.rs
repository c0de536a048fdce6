//! From the texts and tables of `allow.http` and `allow.credentials` to grants.

use std::collections::BTreeSet;

use ipnet::IpNet;
use url::{Host, Url};

use super::outgoing::{Credential, HostPattern, HttpGrant, HttpOrigin, HttpScheme};
use crate::config::problem::{Problem, quoted};
use crate::config::reading::{Reading, Table, Text, TextOrTable};
use crate::config::{Secret, keys};

impl Reading<'_> {
    /// Where requests may go.
    pub(super) fn http_grants(&mut self, allow: &Table<'_>) -> Vec<HttpGrant> {
        let items = self.texts_or_tables(allow, "http");
        items.into_iter().filter_map(|item| self.http_grant(item)).collect()
    }

    fn http_grant(&mut self, item: TextOrTable<'_>) -> Option<HttpGrant> {
        let table = match item {
            TextOrTable::Text(text) => return self.pattern(&text),
            TextOrTable::Table(table) => table,
        };
        let written = self.text(&table, "url");
        let methods = self.texts(&table, "methods");
        let networks = self.texts(&table, "networks").unwrap_or_default();
        let networks = networks.into_iter().filter_map(|text| self.network(&text)).collect();
        let methods = methods.map(|methods| {
            methods.into_iter().map(|text| text.text.to_ascii_uppercase()).collect::<BTreeSet<_>>()
        });
        let grant = self.pattern(&written?)?;
        Some(HttpGrant { methods, networks, ..grant })
    }

    fn network(&mut self, text: &Text) -> Option<IpNet> {
        let parsed = text.text.parse::<IpNet>();
        parsed
            .map_err(|_| {
                let problem = Problem::error(format!("{} is no network", quoted(&text.text)));
                self.note(
                    problem.at(text.place.clone()).hint("write it such as \"10.1.0.0/16\" or \"fd00::/8\""),
                );
            })
            .ok()
    }

    /// Reads a pattern such as `https://*.example.org:8443/api`.
    fn pattern(&mut self, text: &Text) -> Option<HttpGrant> {
        match pattern(&text.text) {
            Ok(grant) => Some(HttpGrant { place: text.place.clone(), ..grant }),
            Err(hint) => {
                let problem = Problem::error(format!("no request can go to {}", quoted(&text.text)));
                self.note(problem.at(text.place.clone()).hint(hint));
                None
            }
        }
    }

    /// What is added to requests.
    pub(super) fn credentials(&mut self, allow: &Table<'_>) -> Vec<Credential> {
        let tables = self.tables(allow, "credentials");
        tables.into_iter().filter_map(|table| self.credential(&table)).collect()
    }

    fn credential(&mut self, table: &Table<'_>) -> Option<Credential> {
        let written = self.text(table, "origin");
        let mut headers = Vec::new();
        for (name, value) in self.named(table, "headers") {
            let noted = self.problems.len();
            let Some(table) = self.as_table(&value, keys::HEADER) else { continue };
            let prefix = self.text(&table, "prefix").map(|text| text.text).unwrap_or_default();
            let Some(secret) = self.secret_of(&table, &value, noted) else { continue };
            headers.push((name.to_ascii_lowercase(), Secret::new(format!("{prefix}{}", secret.expose()))));
        }
        let written = written?;
        let origin = Url::parse(&written.text).ok().as_ref().and_then(HttpOrigin::of);
        let Some(origin) = origin.filter(|origin| origin.scheme == HttpScheme::Https) else {
            let problem = Problem::error(format!("no secret is sent to {}", quoted(&written.text)));
            self.note(problem.at(written.place).hint("write one origin such as \"https://api.example.com\""));
            return None;
        };
        Some(Credential { place: written.place, origin, headers })
    }
}

/// Reads a pattern; or says what to write instead.
fn pattern(written: &str) -> Result<HttpGrant, &'static str> {
    const FORM: &str = "write a scheme and a host, such as \"https://*.example.org\"";
    let (scheme, rest) = written.split_once("://").ok_or(FORM)?;
    let scheme = match scheme {
        "http" => HttpScheme::Http,
        "https" => HttpScheme::Https,
        _ => return Err("requests are sent by `http://` or `https://`"),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (stars, plain) = match authority.strip_prefix("*.") {
        Some(below) => (Some(true), below.to_owned()),
        None if authority == "*" || authority.starts_with("*:") => {
            (Some(false), authority.replacen('*', "any", 1))
        }
        None => (None, authority.to_owned()),
    };
    if plain.contains('*') {
        return Err(
            "`*` stands for whole labels at the beginning: \"https://*.example.org\", or alone for every name",
        );
    }
    let url = Url::parse(&format!("{}://{plain}{path}", scheme.as_str())).map_err(|_| FORM)?;
    if !url.username().is_empty() || url.password().is_some() || authority.contains('@') {
        return Err("leave out the name and password; `credentials` is for secrets");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("leave out what follows `?` or `#`: a path is the most that is compared");
    }
    let HttpOrigin { scheme, host, port } = HttpOrigin::of(&url).ok_or(FORM)?;
    let host = match (stars, host) {
        (Some(true), Host::Domain(name)) => HostPattern::Below(name),
        (Some(true), Host::Ipv4(_) | Host::Ipv6(_)) => {
            return Err("addresses have no names below them; grant `networks`");
        }
        (Some(false), _) => HostPattern::AnyName,
        (None, host) => HostPattern::Exactly(host),
    };
    let path = url.path().trim_end_matches('/').to_owned();
    Ok(HttpGrant {
        place: 0..0,
        written: written.to_owned(),
        scheme,
        host,
        port,
        methods: None,
        path,
        networks: Vec::new(),
    })
}
