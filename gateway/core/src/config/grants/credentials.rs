//! `allow.credentials`: headers that the gateway adds, with secrets that neither the plugin nor any message shows.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::config::model::reserved_headers::Reserved;
use crate::config::model::http_grant::{Credential, HostPattern, HttpGrant, HttpOrigin, HttpScheme};
use crate::config::model::http_pattern::{self, Fault, Pattern};
use crate::config::grants::http::is_token;
use crate::config::read::interpolate::variables;
use crate::config::spec::keys::Kind;
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{HandedOut, Reading, Table, Text, Value};
use crate::config::report::secrecy::{is_scheme, is_variable};
use crate::config::{Secret, keys};

/// A header with its value, and where its name stands.
type Added = (String, Secret, Range<usize>);

impl Reading<'_> {
    /// What is added to requests; `http`: where requests may go.
    pub(in crate::config) fn credentials(&mut self, allow: &Table<'_>, http: &[HttpGrant]) -> Vec<Credential> {
        let mut all: Vec<Credential> = Vec::new();
        let mut seen: Vec<(HttpOrigin, String, Range<usize>)> = Vec::new();
        for table in self.tables(allow, "credentials") {
            let origin = self.text(&table, "origin").and_then(|text| Some((self.origin(&text)?, text)));
            let (headers, filled_from) = self.added(&table);
            let Some((origin, text)) = origin else { continue };
            self.judge_origin(&origin, &text, http);
            for (name, _, place) in &headers {
                let known = seen.iter().find(|(other, its, _)| *other == origin && its == name);
                match known {
                    Some((_, _, first)) => {
                        let message = format!("`{name}` is sent to `{origin}` twice");
                        let problem = Problem::error(message).at(place.clone());
                        self.note(problem.related(first.clone(), "first here").hint("keep one of the two"));
                    }
                    None => seen.push((origin.clone(), name.clone(), place.clone())),
                }
            }
            let headers = headers.into_iter().map(|(name, value, _)| (name, value)).collect();
            all.push(Credential { place: text.place, origin, headers, filled_from });
        }
        all
    }

    /// Warns where the origin can't be reached.
    fn judge_origin(&mut self, origin: &HttpOrigin, text: &Text, http: &[HttpGrant]) {
        if !http.iter().any(|grant| grant.covers_origin(origin)) {
            let problem = Problem::warning(format!("no request may go to `{origin}`, so this is never sent"));
            self.note(
                problem.at(text.place.clone()).hint(format!("add \"{origin}\" to `http`, or remove this")),
            );
        }
    }

    fn origin(&mut self, text: &Text) -> Option<HttpOrigin> {
        match origin(&text.text) {
            Ok(origin) => Some(origin),
            Err(fault) => {
                self.fault(text, fault);
                None
            }
        }
    }

    /// The headers of a table with their places, and what they are filled from.
    fn added(&mut self, table: &Table<'_>) -> (Vec<Added>, BTreeSet<String>) {
        let (mut headers, mut filled_from) = (Vec::new(), BTreeSet::new());
        let named = self.named(table, "headers");
        if let Some(value) = table.get("headers").filter(|value| value.inner.is_table() && named.is_empty()) {
            let problem = Problem::error("no header is named").at(value.place);
            self.note(
                problem.hint("name one such as `authorization = { env = \"TOKEN\", prefix = \"Bearer \" }`"),
            );
        }
        for (name, value) in named {
            let is_good = self.is_added(name, &value);
            let Some(secret) = self.header(&value, &mut filled_from) else { continue };
            if is_good {
                headers.push((name.to_ascii_lowercase(), secret, value.key_place));
            }
        }
        (headers, filled_from)
    }

    /// Notes a header that can't be added.
    fn is_added(&mut self, name: &str, value: &Value<'_>) -> bool {
        let shown = quoted(name);
        let problem = if !is_token(name) {
            Problem::error(format!("no header can be called {shown}"))
                .hint("write it such as `authorization`")
        } else if let Some(reserved) = Reserved::of(name) {
            let problem = Problem::error(format!("the header {shown} can't be added"));
            problem.hint(format!("remove it: it {}", reserved.reason()))
        } else {
            return true;
        };
        self.note(problem.at(value.key_place.clone()));
        false
    }

    /// The whole value of a header.
    fn header(&mut self, value: &Value<'_>, filled_from: &mut BTreeSet<String>) -> Option<Secret> {
        if !value.inner.is_table() {
            self.wrong_type(value, &Kind::Secret); // which hides what may be one
            return None;
        }
        let noted = self.problems.len();
        let table = self.as_table(value, keys::HEADER)?;
        if let Some(prefix) = table.get("prefix")
            && prefix.inner.as_str().is_none_or(|written| !is_scheme(written) && !is_variable(written))
        {
            self.plain_secrets.push(prefix.place); // it may be the whole secret
        }
        let prefix = match table.get("prefix") {
            Some(_) => self.text(&table, "prefix")?,
            None => Text::empty(),
        };
        let written = |key: &str| table.get(key).and_then(|value| value.inner.as_str());
        filled_from.extend(written("env").map(|name| format!("env {name}")));
        filled_from.extend(written("file").map(|path| format!("file {}", self.base.join(path).display())));
        filled_from
            .extend(written("prefix").into_iter().flat_map(variables).map(|name| format!("env {name}")));
        let secret = self.secret_of(&table, value, noted)?;
        let whole = Secret::new(format!("{}{}", prefix.text, secret.expose()));
        let place = ["env", "file"]
            .iter()
            .find_map(|key| table.get(key))
            .map_or(value.place.clone(), |value| value.place);
        let (what, place) = if is_wrong(&prefix.text).is_some() {
            (is_wrong(&prefix.text), prefix.place.clone())
        } else {
            (is_wrong(secret.expose()).or_else(|| is_wrong_whole(whole.expose())), place)
        };
        match what {
            None => {
                if let Some((message, hint)) = glued(&prefix.text, secret.expose()) {
                    self.note(Problem::warning(message).at(prefix.place).hint(hint));
                }
                self.handed_out.push(HandedOut::to_server(value.place.clone(), whole.clone()));
                Some(whole)
            }
            Some((message, hint)) => {
                self.note(Problem::error(message).at(place).hint(hint));
                None
            }
        }
    }
}

/// Reads an origin: a pattern that stands for one server, and nothing more.
pub(in crate::config) fn origin(text: &str) -> Result<HttpOrigin, Fault> {
    let Pattern { scheme, host, port, path: _, parts } = pattern::parse(text)?;
    let host = match (scheme, host) {
        (HttpScheme::Http, _) => {
            return Err(Fault::new(parts.scheme, "a secret isn't sent in the clear", "write `https`"));
        }
        (HttpScheme::Https, HostPattern::Below(_) | HostPattern::AnyName) => {
            let hint = "name the host; each has a table of its own";
            return Err(Fault::new(parts.host, "a secret is sent to one host only", hint));
        }
        (HttpScheme::Https, HostPattern::Exactly(host)) => host,
    };
    if text.len() > parts.path.start + 1 {
        return Err(Fault::new(
            parts.path,
            "a path can't stand here: a secret is sent to a whole origin",
            "leave it away",
        ));
    }
    Ok(HttpOrigin { scheme, host, port })
}

/// What is probably wrong where a prefix and a secret meet, without the secret.
fn glued(prefix: &str, secret: &str) -> Option<(String, String)> {
    let word = prefix.trim_end();
    if word.is_empty() || !is_scheme(word) {
        return None;
    }
    let twice = secret.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        && secret[word.len()..].starts_with(' ');
    if twice {
        let message = format!("the secret itself begins with `{word} `, which would be sent twice");
        return Some((message, "leave `prefix` away, or keep the secret alone".to_owned()));
    }
    (word == prefix && !secret.starts_with(' ')).then(|| {
        let message = format!("nothing stands between `{word}` and the secret");
        (message, format!("write \"{word} \", with a blank at its end"))
    })
}

/// Why a text can't stand in a header (RFC 9110, 5.5), without the text.
fn is_wrong(text: &str) -> Option<(&'static str, &'static str)> {
    if text.contains(['\n', '\r']) {
        return Some(("this holds a line break, which no header can", "keep the secret on one line"));
    }
    if text.contains(|c: char| c.is_control()) {
        return Some(("this holds a control character, which no header can", "write the secret anew"));
    }
    if !text.is_ascii() {
        return Some((
            "this holds other than ASCII characters, which servers read in different ways",
            "use a secret in ASCII",
        ));
    }
    None
}

/// The same of a whole value: white space at its ends is cut off on the way.
fn is_wrong_whole(text: &str) -> Option<(&'static str, &'static str)> {
    (text.trim_ascii() != text)
        .then_some(("this begins or ends with white space, which is lost on the way", "remove it there"))
}
