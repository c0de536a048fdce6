//! What a site lets programs read: `robots.txt` (RFC 9309), as Google's parser reads it.

use std::collections::BTreeMap;
use std::io::Read as _;

use moongate_sdk::http::{HttpError, Request};
use robotstxt::matcher::{RobotsMatchStrategy, RobotsMatcher};
use url::Url;

use crate::charset;

/// How much of a `robots.txt` is read: as much as RFC 9309 (section 2.5) wants at least, in bytes.
const READ: u64 = 500 * 1024;
/// How many redirects of a `robots.txt` are followed (section 2.3.1.2).
const REDIRECTS: usize = 5;
/// How much of a `robots.txt` a refusal quotes, in characters.
const QUOTED: usize = 2000;

/// Why a page may not be read.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Refusal {
    /// Nobody knows what it says.
    #[error("Failed to fetch robots.txt {url} due to a connection issue: {error}")]
    Unreachable {
        /// Where it should be.
        url: String,
        /// Why it can't be read.
        error: HttpError,
    },
    /// The site doesn't even show it.
    #[error(
        "{url} was answered with status {status}, so programs may not read this site by themselves; \
         a person can, with the prompt `fetch`"
    )]
    Hidden {
        /// Where it is.
        url: String,
        /// The status.
        status: u16,
    },
    /// It says no.
    #[error(
        "{robots_url} doesn't let programs read this page by themselves.\n<useragent>{agent}</useragent>\n\
         <url>{url}</url>\n<robots>\n{robots}\n</robots>\nTell the user that the page could not be read, and why. \
         They can read it themselves with the prompt `fetch`."
    )]
    Disallowed {
        /// Where it says so.
        robots_url: String,
        /// Who was refused.
        agent: String,
        /// What was refused.
        url: String,
        /// Its text.
        robots: String,
    },
}

/// The rules of the sites that one call comes to.
#[derive(Debug)]
pub(crate) struct Robots<'a> {
    agent: &'a str,
    /// By the URL of `robots.txt`; nothing: anything may be read.
    known: BTreeMap<String, Option<String>>,
}

impl<'a> Robots<'a> {
    /// Nothing is known yet.
    pub(crate) fn new(agent: &'a str) -> Self {
        Self { agent, known: BTreeMap::new() }
    }

    /// May this page be read?
    pub(crate) fn check(&mut self, url: &Url) -> Result<(), Refusal> {
        let mut robots_url = url.clone();
        robots_url.set_path("/robots.txt");
        robots_url.set_query(None);
        robots_url.set_fragment(None);
        let robots_url = String::from(robots_url);
        if !self.known.contains_key(&robots_url) {
            let rules = self.read(&robots_url)?;
            self.known.insert(robots_url.clone(), rules);
        }
        let Some(Some(rules)) = self.known.get(&robots_url) else { return Ok(()) };
        if allows(rules, product(self.agent), url.as_str()) {
            return Ok(());
        }
        let mut robots: String = rules.chars().take(QUOTED).collect();
        if robots.len() < rules.len() {
            robots.push('…');
        }
        Err(Refusal::Disallowed { robots_url, agent: self.agent.to_owned(), url: url.to_string(), robots })
    }

    fn read(&self, robots_url: &str) -> Result<Option<String>, Refusal> {
        let unreachable = |error| Refusal::Unreachable { url: robots_url.to_owned(), error };
        let request = Request::get(robots_url).header("user-agent", self.agent).redirects(REDIRECTS);
        let response = request.max_body(u64::MAX).send().map_err(unreachable)?;
        match response.status() {
            401 | 403 | 500.. => {
                Err(Refusal::Hidden { url: robots_url.to_owned(), status: response.status() })
            }
            400..500 => Ok(None),
            _ => {
                let mut bytes = Vec::new();
                response.take(READ).read_to_end(&mut bytes).map_err(|error| {
                    unreachable(error.downcast().unwrap_or_else(|error| HttpError::Other(error.to_string())))
                })?;
                Ok(Some(charset::decode(&bytes, "charset=utf-8")))
            }
        }
    }
}

/// Do the rules let this agent read this URL?
fn allows(rules: &str, agent: &str, url: &str) -> bool {
    RobotsMatcher::<LongestMatch>::default().one_agent_allowed_by_robots(rules, agent, url)
}

/// The longest pattern that fits decides (section 2.2.2). The library's own way of the same name takes minutes for a
/// pattern of some hundred `*`.
#[derive(Debug, Default)]
struct LongestMatch;

impl RobotsMatchStrategy for LongestMatch {
    fn match_allow(&self, path: &str, pattern: &str) -> i32 {
        if fits(path, pattern) { i32::try_from(pattern.len()).unwrap_or(i32::MAX) } else { -1 }
    }

    fn match_disallow(&self, path: &str, pattern: &str) -> i32 {
        self.match_allow(path, pattern)
    }
}

/// Does the path begin with this pattern, in which `*` stands for any text and a `$` at its end for the path's end?
fn fits(path: &str, pattern: &str) -> bool {
    let (pattern, whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !whole || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if whole && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The first place is the best one: it leaves most for what follows.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// The word that rules name: what a user agent begins with (section 2.2.1).
fn product(agent: &str) -> &str {
    let end = agent.find(|c: char| !c.is_ascii_alphabetic() && c != '-' && c != '_');
    &agent[..end.unwrap_or(agent.len())]
}

#[cfg(test)]
mod tests;
