//! From the file to a [`Config`], with all that is wrong on the way.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use crate::config::read::environment::Environment;
use crate::config::files;
use crate::config::spec::keys::{GATEWAY, ROOT};
use crate::config::masking;
use crate::config::overlap;
use crate::config::model::diagnostic::{Problem, Source};
use crate::config::read::reader::{HandedOut, Reading, Table};
use crate::config::syntax;
use crate::config::{Config, Secret};

/// No configuration is longer; whoever names a log or a disk by mistake should hear of it.
const LONGEST: u64 = 4 * 1024 * 1024;

/// How many calls run at once, of all plugins together.
const CONCURRENCY: u32 = 64;

/// How long calls that run may go on when the gateway stops.
const STOP_GRACE: Duration = Duration::from_secs(30);

/// What became of a file.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The text that places point into; secrets that it should not have are blotted out.
    pub source: Source,
    /// The configuration; none if there is an error among the problems.
    pub config: Option<Config>,
    /// All that is wrong, in the order of the file.
    pub problems: Vec<Problem>,
    /// What else is wrong for those who serve HTTP: tokens that aren't there. Hosts that start a gateway of their own
    /// needn't know any.
    pub of_http: Vec<Problem>,
    /// Every file that was looked at, absolute, there or not: the configuration, components, secrets; and
    /// directories that couldn't be used. When one of them changes, reading again may come to something else.
    pub files: BTreeSet<PathBuf>,
}

impl Loaded {
    /// The same for those who serve HTTP.
    #[must_use]
    pub fn for_http(mut self) -> Self {
        self.problems.append(&mut self.of_http);
        finish(&mut self.problems, &mut self.config);
        self
    }
}

/// Puts problems into the order of the file; with an error among them there is no configuration.
fn finish(problems: &mut [Problem], config: &mut Option<Config>) {
    problems.sort_by_key(|problem| problem.place.as_ref().map_or(0, |place| place.start));
    if problems.iter().any(Problem::is_error) {
        *config = None;
    }
}

/// Reads `file`, and the files and variables that it names.
#[must_use]
pub fn load(file: &Path, environment: &dyn Environment) -> Loaded {
    match read(file) {
        Ok(text) => from_text(file, text, environment),
        Err(error) => {
            let problem = files::no_configuration(file, &error);
            let source = Source { path: file.to_owned(), text: String::new() };
            let files = BTreeSet::from([absolute(file)]);
            Loaded { source, config: None, problems: vec![problem], of_http: Vec::new(), files }
        }
    }
}

/// Reads `text` as if `file` held it.
#[must_use]
pub fn from_text(file: &Path, text: String, environment: &dyn Environment) -> Loaded {
    let (resolved, is_broken) = {
        let (parsed, errors) = DeTable::parse_recoverable(&text);
        let resolved = match errors.as_slice() {
            [] => resolve(absolute(file), &text, parsed.get_ref(), environment),
            errors => Resolved::nothing(absolute(file), syntax::problems(errors, parsed.get_ref(), &text)),
        };
        (resolved, !errors.is_empty())
    };
    let Resolved { mut config, mut problems, of_http, plain_secrets, files } = resolved;
    let text =
        if is_broken { masking::mask_broken(&text) } else { masking::mask(&blot_out(text, &plain_secrets)) };
    let source = Source { path: file.to_owned(), text };
    finish(&mut problems, &mut config);
    Loaded { source, config, problems, of_http, files }
}

fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

fn read(file: &Path) -> io::Result<String> {
    let found = fs::metadata(file)?;
    if found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if !found.is_file() {
        // A pipe that nobody writes to would be waited for without a word, and none could be read a second time.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut text = String::new();
    fs::File::open(file)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 4 MiB"));
    }
    Ok(text)
}

/// What reading came to.
struct Resolved {
    config: Option<Config>,
    problems: Vec<Problem>,
    of_http: Vec<Problem>,
    plain_secrets: Vec<std::ops::Range<usize>>,
    files: BTreeSet<PathBuf>,
}

impl Resolved {
    /// Reading ended early.
    fn nothing(file: PathBuf, problems: Vec<Problem>) -> Self {
        let files = BTreeSet::from([file]);
        Self { config: None, problems, of_http: Vec::new(), plain_secrets: Vec::new(), files }
    }
}

fn resolve(file: PathBuf, text: &str, parsed: &DeTable<'_>, environment: &dyn Environment) -> Resolved {
    let mut reading = Reading::new(&file, text, environment);
    let root = Table::root(parsed, ROOT);
    if !reading.version(&root) {
        // Keys of another version would all look wrong.
        let problems = reading.problems;
        return Resolved::nothing(file, problems);
    }
    reading.check_keys(&root, &[]);
    let config = reading.config(&root, file);
    reading.keep_back(&config);
    reading.problems.extend(overlap::check(&config));
    if reading.problems.iter().any(Problem::is_error) {
        reading.problems.append(&mut reading.left_to_loading);
    }
    reading.hide_settings(parsed);
    let Reading { problems, of_http, plain_secrets, files, expansions, .. } = reading;
    let as_written = |problem| expansions.iter().fold(problem, |problem, expansion| expansion.undo(problem));
    let problems = problems.into_iter().map(as_written).collect();
    let of_http = of_http.into_iter().map(as_written).collect();
    Resolved { config: Some(config), problems, of_http, plain_secrets, files }
}

/// The text with secrets replaced, byte for byte: an excerpt may end in a log.
fn blot_out(mut text: String, secrets: &[std::ops::Range<usize>]) -> String {
    for place in secrets {
        let blot: String =
            text[place.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { '*' }).collect();
        text.replace_range(place.clone(), &blot);
    }
    text
}

impl Reading<'_> {
    /// Reads all tables.
    fn config(&mut self, root: &Table<'_>, file: PathBuf) -> Config {
        let nothing = DeTable::new();
        let gateway = self.table(root, "gateway").unwrap_or_else(|| Table::root(&nothing, GATEWAY));
        let http = self.http(root);
        let defaults = self.defaults(root);
        Config {
            admin: self.admin(root, &http),
            http,
            watch: self.watch(&gateway),
            wider_grants: self.wider_grants(&gateway),
            require_all: self.boolean(&gateway, "require_all", false),
            stop_grace: self.duration(&gateway, "stop_grace", STOP_GRACE),
            cache: self.cache(&gateway),
            state: self.state(&gateway),
            ca_file: self.ca_file(&gateway),
            concurrency: self.integer(&gateway, "concurrency", CONCURRENCY),
            page_size: self.page_size(&gateway),
            sealing_key: self.sealing_key(&gateway),
            plugins: self.plugins(root, &defaults).into_iter().map(Arc::new).collect(),
            secret_files: std::mem::take(&mut self.secret_files),
            secrets: std::mem::take(&mut self.secrets),
            written: Secret::new(self.text),
            file,
        }
    }

    /// Notes settings and variables by which a plugin would learn a secret of the gateway itself.
    fn keep_back(&mut self, config: &Config) {
        for HandedOut { place, text, how } in std::mem::take(&mut self.handed_out) {
            let tells = |secret: &Secret| secret.is_told_by(text.expose());
            if config.sealing_key.as_ref().is_some_and(tells) {
                let problem = Problem::error(format!("this would {how} the gateway's own sealing key"));
                let problem = problem.at(place.clone());
                self.note(problem.hint(
                    "whoever has it can forge what clients carry: give this plugin a secret of its own",
                ));
            }
            if let Some(token) = config.http.tokens.iter().find(|token| tells(&token.token)) {
                let message = format!("this would {how} the gateway's own token `{}`", token.name);
                let problem = Problem::error(message).at(place);
                self.note(
                    problem.hint("whoever has it can call every plugin: give this one a secret of its own"),
                );
            }
        }
    }

    /// Notes a version that isn't ours; false: nothing else in the file can be judged.
    fn version(&mut self, root: &Table<'_>) -> bool {
        let Some(value) = root.get("version") else { return true }; // noted with the missing keys
        match value.inner {
            DeValue::Integer(number) if number.to_string() == "1" => true,
            DeValue::Integer(number) => {
                let problem =
                    Problem::error(format!("this gateway reads version 1 of the format, not {number}"));
                self.note(problem.at(value.place).hint("update the gateway, or write `version = 1`"));
                false
            }
            DeValue::String(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                self.wrong_type(&value, &crate::config::spec::keys::Kind::Version);
                true
            }
        }
    }
}
