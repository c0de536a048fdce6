//! `[plugins.<id>.allow]`: what a plugin may reach.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use crate::config::Secret;
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{HandedOut, NameOrBoolean, Reading, Table, Text};
use crate::config::report::secrecy::is_named_secret;
use crate::names::StoreName;

mod asked;
mod credentials;
mod cure;
mod fuzz;
mod headers;
mod networks;
mod outgoing;
mod pattern;
mod public;
mod reading;
mod wider;

pub use asked::{Asked, Match};
pub use cure::{directory_item, directory_to_read, is_this_machine};
pub use fuzz::fuzz_grant;
pub use headers::{Reserved, is_same_header};
pub use outgoing::{Credential, HostPattern, HttpGrant, HttpOrigin, HttpScheme, NoTarget, Target};
pub use public::is_public;

/// What a plugin may reach. Nothing is allowed by default.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// Directories.
    pub dirs: Vec<DirGrant>,
    /// Environment variables, with the values they have.
    pub env: Vec<(String, String)>,
    /// What it may ask of the person or the model: `elicitation`, `sampling`, `roots`.
    pub client: BTreeSet<ClientFeature>,
    /// Whether it may add to the server's instructions.
    pub instructions: bool,
    /// Where it may send requests to.
    pub http: Vec<HttpGrant>,
    /// What the gateway adds to its requests, without the plugin knowing it.
    pub credentials: Vec<Credential>,
    /// Where it may keep state from one call to the next.
    pub state: StateGrant,
    /// Where in the file each key of the table stands, in bytes.
    pub places: BTreeMap<String, Range<usize>>,
}

impl Grants {
    pub(in crate::config) fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { dirs, env, client, instructions, http, credentials, state, places: _ } = self;
        dirs.len() == other.dirs.len()
            && dirs.iter().zip(&other.dirs).all(|(a, b)| a.says_the_same_as(b))
            && *env == other.env
            && *client == other.client
            && *instructions == other.instructions
            && http.len() == other.http.len()
            && http.iter().zip(&other.http).all(|(a, b)| a.says_the_same_as(b))
            && credentials.len() == other.credentials.len()
            && credentials.iter().zip(&other.credentials).all(|(a, b)| a.says_the_same_as(b))
            && *state == other.state
    }
}

/// Where a plugin may keep state from one call to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StateGrant {
    /// Nowhere.
    #[default]
    Refused,
    /// In a store of its own, under the name of its table.
    Own,
    /// In the store of that name, which others may share.
    Shared(StoreName),
}

/// A directory that a plugin may use. No two of a plugin have the same path inside the sandbox, nor does one lie
/// inside another: which of the two a path means would be up to the plugin's language.
#[derive(Debug, Clone)]
pub struct DirGrant {
    /// Where in the file the grant stands, in bytes.
    pub place: Range<usize>,
    /// The directory on this machine, canonical; where it isn't there, what it would be.
    pub host: PathBuf,
    /// The same as the file names it, absolute: the links in it may point elsewhere by the next reload.
    pub named: PathBuf,
    /// Its path inside the sandbox: absolute, without `.`, `..` and a `/` at the end.
    pub guest: String,
    /// Whether it may be changed.
    pub mode: DirMode,
}

impl DirGrant {
    fn says_the_same_as(&self, other: &Self) -> bool {
        let Self { place: _, host, named, guest, mode } = self;
        *host == other.host && *named == other.named && *guest == other.guest && *mode == other.mode
    }
}

/// Whether a directory may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirMode {
    /// Only read.
    ReadOnly,
    /// Read and written.
    ReadWrite,
}

/// Something that a plugin may ask of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientFeature {
    /// Ask the person.
    Elicitation,
    /// Ask the model.
    Sampling,
    /// Ask for the directories in use.
    Roots,
}

impl ClientFeature {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Elicitation, Self::Sampling, Self::Roots];

    /// The first word of MCP's capability for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }
}

impl Reading<'_> {
    /// Reads the grants.
    pub(in crate::config) fn grants(&mut self, allow: &Table<'_>) -> Grants {
        let http = self.http_grants(allow);
        Grants {
            dirs: self.dirs(allow),
            env: self.env(allow),
            client: self.client(allow),
            instructions: self.boolean(allow, "instructions", false),
            credentials: self.credentials(allow, &http),
            http,
            state: self.state_grant(allow),
            places: allow
                .entries()
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.key_place))
                .collect(),
        }
    }

    fn state_grant(&mut self, allow: &Table<'_>) -> StateGrant {
        match self.name_or_boolean(allow, "state") {
            None | Some(NameOrBoolean::Boolean(false)) => StateGrant::Refused,
            Some(NameOrBoolean::Boolean(true)) => StateGrant::Own,
            Some(NameOrBoolean::Name(name)) if is_a_boolean_in_quotes(&name.text) => {
                let problem = Problem::error(format!("no store can be called {}", quoted(&name.text)));
                self.note(problem.at(name.place).hint("write `true` or `false` without quotes"));
                StateGrant::Refused
            }
            Some(NameOrBoolean::Name(name)) => match StoreName::new(&name.text) {
                Ok(name) => StateGrant::Shared(name),
                Err(error) => {
                    let problem = Problem::error(format!("a store can't be called so: {error}"));
                    self.note(problem.at(name.place).hint("`true` gives the plugin a store of its own"));
                    StateGrant::Refused
                }
            },
        }
    }

    fn client(&mut self, allow: &Table<'_>) -> BTreeSet<ClientFeature> {
        let all = ClientFeature::ALL;
        let named = self.texts(allow, "client").unwrap_or_default();
        named
            .iter()
            .filter_map(|text| all.into_iter().find(|feature| feature.as_str() == text.text))
            .collect()
    }

    fn env(&mut self, allow: &Table<'_>) -> Vec<(String, String)> {
        let mut granted: Vec<(String, String)> = Vec::new();
        for name in self.texts(allow, "env").unwrap_or_default() {
            match self.variable(&name) {
                Ok(_) if granted.iter().any(|(other, _)| *other == name.text) => {
                    let problem = Problem::warning(format!("{} is granted twice", quoted(&name.text)));
                    self.note(problem.at(name.place).hint("remove one of the two"));
                }
                Ok(value) => {
                    let secret = Secret::new(value.as_str());
                    if is_named_secret(&name.text) {
                        self.note_secret(secret.clone());
                    }
                    self.handed_out.push(HandedOut::to_plugin(name.place, secret));
                    granted.push((name.text, value));
                }
                Err(problem) => self.note(problem.at(name.place)),
            }
        }
        granted
    }

    fn dirs(&mut self, allow: &Table<'_>) -> Vec<DirGrant> {
        let mut dirs: Vec<(DirGrant, Text)> = Vec::new();
        for table in self.tables(allow, "dirs") {
            let host = self.text(&table, "host");
            let host = host.and_then(|text| Some((self.directory(&text)?, self.path(&text)?, text.place)));
            let guest = self.text(&table, "guest").filter(|guest| self.is_guest_path(guest));
            let mode = self.text(&table, "mode");
            let mode = match mode.as_ref().map(|mode| mode.text.as_str()) {
                Some("rw") => DirMode::ReadWrite,
                Some(_) | None => DirMode::ReadOnly, // anything else was noted
            };
            let Some(guest) = guest else { continue };
            if let Some((_, other)) = dirs.iter().find(|(_, other)| is_within(&guest.text, &other.text)) {
                let problem = both(&guest.text, &other.text);
                self.note(problem.at(guest.place.clone()).related(other.place.clone(), "first here"));
            }
            if let Some((host, named, place)) = host {
                dirs.push((DirGrant { place, host, named, guest: guest.text.clone(), mode }, guest));
            }
        }
        dirs.into_iter().map(|(grant, _)| grant).collect()
    }

    /// Notes a path that can't stand for a directory inside the sandbox.
    fn is_guest_path(&mut self, guest: &Text) -> bool {
        let text = guest.text.as_str();
        let hint = if !text.starts_with('/') {
            "start it with `/`"
        } else if text.len() > 1
            && text[1..].split('/').any(|part| part.is_empty() || part == "." || part == "..")
        {
            "write it without `.`, `..`, doubled `/` and `/` at the end"
        } else if text.contains(|c: char| c.is_control() || c == '\\') {
            "write it without control characters and `\\`"
        } else {
            return true;
        };
        let message = format!("{} can't be a path inside the sandbox", quoted(text));
        self.note(Problem::error(message).at(guest.place.clone()).hint(hint));
        false
    }
}

/// A slip that would make all plugins with it share a store.
fn is_a_boolean_in_quotes(name: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Says that two paths inside the sandbox can't both be granted.
fn both(path: &str, first: &str) -> Problem {
    if path == first {
        let problem = Problem::error(format!("{} stands for two directories", quoted(path)));
        return problem.hint(format!(
            "give this one another path, such as \"{}-2\", or remove it",
            path.trim_end_matches('/')
        ));
    }
    let (path, first) = (quoted(path), quoted(first));
    Problem::error(format!("{path} and {first} can't both be granted: one lies inside the other"))
        .hint("choose paths that stand side by side, such as `/a` and `/b`")
}

/// Is one of two paths inside the sandbox the other, or inside it?
fn is_within(a: &str, b: &str) -> bool {
    let inside = |inner: &str, outer: &str| {
        let outer = outer.trim_end_matches('/');
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    inside(a, b) || inside(b, a)
}
