//! Rules for programs in `robots.txt` (RFC 9309), parsed like Google's parser.

use std::collections::BTreeMap;
use std::io::Read as _;

use moongate_sdk::http::{HttpError, Request};
use robotstxt::matcher::{RobotsMatchStrategy, RobotsMatcher};
use url::Url;

use crate::charset;

/// The maximum size of a `robots.txt` in bytes: the minimum that RFC 9309 requires (section 2.5).
const MAX_READ_BYTES: u64 = 500 * 1024;
/// The maximum number of redirects of a `robots.txt` (section 2.3.1.2).
const MAX_REDIRECTS: usize = 5;
/// The number of characters of a `robots.txt` that an error quotes.
const MAX_QUOTED_CHARACTERS: usize = 2000;

/// The reason why a page must not be fetched.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Refusal {
    /// `robots.txt` can't be fetched.
    #[error("Failed to fetch robots.txt {url} due to a connection issue: {error}")]
    Unreachable {
        /// Its URL.
        url: String,
        /// The error of the request.
        error: HttpError,
    },
    /// The site denies access to `robots.txt`.
    #[error(
        "{url} returned status {status}, so programs must not fetch pages of this site; users can fetch \
         them with the prompt `fetch`"
    )]
    Hidden {
        /// Its URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// `robots.txt` forbids it.
    #[error(
        "{robots_url} disallows fetching of this page by programs.\n<useragent>{agent}</useragent>\n\
         <url>{url}</url>\n<robots>\n{robots}\n</robots>\nTell the user that the page can't be fetched, and why. \
         They can fetch it with the prompt `fetch`."
    )]
    Disallowed {
        /// Its URL.
        robots_url: String,
        /// The user agent.
        agent: String,
        /// The page.
        url: String,
        /// The text of `robots.txt`.
        robots: String,
    },
}

/// The rules of the sites that a call visits.
#[derive(Debug)]
pub(crate) struct Robots<'a> {
    agent: &'a str,
    /// Rules by the URL of `robots.txt`. `None` allows everything.
    known: BTreeMap<String, Option<String>>,
}

impl<'a> Robots<'a> {
    /// Starts without any rules.
    pub(crate) fn new(agent: &'a str) -> Self {
        Self { agent, known: BTreeMap::new() }
    }

    /// Checks that the page can be fetched.
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
        let mut robots: String = rules.chars().take(MAX_QUOTED_CHARACTERS).collect();
        if robots.len() < rules.len() {
            robots.push('…');
        }
        Err(Refusal::Disallowed { robots_url, agent: self.agent.to_owned(), url: url.to_string(), robots })
    }

    fn read(&self, robots_url: &str) -> Result<Option<String>, Refusal> {
        let unreachable = |error| Refusal::Unreachable { url: robots_url.to_owned(), error };
        let request = Request::get(robots_url).header("user-agent", self.agent).redirects(MAX_REDIRECTS);
        let response = request.max_body(u64::MAX).send().map_err(unreachable)?;
        match response.status() {
            401 | 403 | 500.. => {
                Err(Refusal::Hidden { url: robots_url.to_owned(), status: response.status() })
            }
            400..500 => Ok(None),
            _ => {
                let mut bytes = Vec::new();
                response.take(MAX_READ_BYTES).read_to_end(&mut bytes).map_err(|error| {
                    unreachable(error.downcast().unwrap_or_else(|error| HttpError::Other(error.to_string())))
                })?;
                Ok(Some(charset::decode(&bytes, "charset=utf-8")))
            }
        }
    }
}

/// Returns `true` if the rules allow this agent to fetch this URL.
fn allows(rules: &str, agent: &str, url: &str) -> bool {
    RobotsMatcher::<LongestMatch>::default().one_agent_allowed_by_robots(rules, agent, url)
}

/// Uses the longest matching pattern (section 2.2.2). The library's own matcher takes minutes for patterns with
/// hundreds of `*`.
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

/// Matches the start of the path against a pattern, in which `*` matches any string and a trailing `$` the end of the
/// path.
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
        // The first match is the best one: it leaves most of the path for the rest of the pattern.
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// The product token: the first word of a user agent (section 2.2.1).
fn product(agent: &str) -> &str {
    let end = agent.find(|c: char| !c.is_ascii_alphabetic() && c != '-' && c != '_');
    &agent[..end.unwrap_or(agent.len())]
}

#[cfg(test)]
mod tests;
