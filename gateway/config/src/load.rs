//! Loads a file into a [`Config`], or reports diagnostics.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use moongate_model::names::Digest;
use toml::de::{DeTable, DeValue};

use super::model::Diagnostic;
use super::model::diagnostic::quoted;
use super::read::{ConfigReader, DisclosedValue, Environment, TomlTable, paths};
use super::report::ConfigSource;
use super::report::redact::{redact, redact_invalid, scrub};
use super::report::syntax::syntax_problems;
use super::sections::admin::read_admin;
use super::sections::audit::read_audit;
use super::sections::gateway::{
    DEFAULT_CONCURRENCY, DEFAULT_STARTUP_WAIT, DEFAULT_STOP_GRACE, read_ca_file, read_memory, read_page_size,
    read_sealing_key, read_watch, read_wider_grants,
};
use super::sections::http::read_http;
use super::sections::plugin::{callers_state_in_memory, read_defaults, read_plugins};
use super::sections::rates::{read_callers, shared_tool_rates};
use super::sections::roles::{RoleReferences, read_roles};
use super::sections::sources::read_sources;
use super::sections::store::read_store;
use super::sections::telemetry::read_telemetry;
use super::sections::unix_socket::read_unix_socket;
use super::spec::keys::{GATEWAY, ROOT, ValueKind};
use super::{Config, Secret, protected_paths};

/// The largest configuration. A larger file was probably named by mistake, such as a log or a disk.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The result of loading a file.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    /// The text that spans refer to, redacted.
    pub source: ConfigSource,
    /// The configuration. `None` means that the problems include an error.
    pub config: Option<Config>,
    /// All problems, in the order of the file.
    pub problems: Vec<Diagnostic>,
    /// Problems that matter only if HTTP is served: missing secrets. A client that starts its own gateway doesn't need
    /// them.
    pub http_problems: Vec<Diagnostic>,
    /// Static tokens that can't be used, which matter only if HTTP is served. A running gateway refuses them.
    pub token_problems: Vec<Diagnostic>,
    /// Problems with certificates and keys, which matter only if HTTP is served. A running gateway keeps using its
    /// current ones.
    pub tls_problems: Vec<Diagnostic>,
    /// The absolute path of every file that counts, whether it exists or not: the configuration, components, secrets, and
    /// directories that can't be used. If one of them changes, loading again can give another result.
    pub files: BTreeSet<PathBuf>,
}

impl LoadedConfig {
    /// The result of a file that can't be used.
    #[must_use]
    pub fn invalid(source: ConfigSource, problems: Vec<Diagnostic>, files: BTreeSet<PathBuf>) -> Self {
        Self {
            source,
            config: None,
            problems,
            http_problems: Vec::new(),
            token_problems: Vec::new(),
            tls_problems: Vec::new(),
            files,
        }
    }

    /// The result for serving HTTP.
    #[must_use]
    pub fn require_http(mut self) -> Self {
        self.problems.append(&mut self.http_problems);
        self.problems.append(&mut self.token_problems);
        self.problems.append(&mut self.tls_problems);
        finish(&mut self.problems, &mut self.config);
        self
    }

    /// The result for a gateway that already serves HTTP: tokens, certificates and keys that can't be used stay separate
    /// problems, because such tokens can be refused, and the certificates in use can be kept.
    #[must_use]
    pub fn require_http_except_credentials(mut self) -> Self {
        self.problems.append(&mut self.http_problems);
        self.problems.extend(self.tls_problems.extract_if(.., |problem| !problem.is_error()));
        finish(&mut self.problems, &mut self.config);
        self
    }

    /// The result with this problem, if there is one. An error rejects the configuration.
    #[must_use]
    pub fn with_problem(mut self, problem: Option<Diagnostic>) -> Self {
        self.problems.extend(problem);
        finish(&mut self.problems, &mut self.config);
        self
    }
}

/// Sorts problems in the order of the file, and discards the configuration if one of them is an error.
fn finish(problems: &mut [Diagnostic], config: &mut Option<Config>) {
    problems.sort_by_key(|problem| problem.span.as_ref().map_or(0, |place| place.start));
    if problems.iter().any(Diagnostic::is_error) {
        *config = None;
    }
}

/// Loads `file`, and the files and variables that it names.
#[must_use]
pub fn load_config(file: &Path, environment: &dyn Environment) -> LoadedConfig {
    match read(file) {
        Ok(text) => parse_config(file, text, environment),
        Err(error) => {
            let problem = paths::unreadable_configuration(file, &error);
            let source = ConfigSource { path: file.to_owned(), text: String::new() };
            let files = BTreeSet::from([absolute(file)]);
            LoadedConfig::invalid(source, vec![problem], files)
        }
    }
}

/// Loads `text` as the content of `file`.
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "callers have no use for the text afterwards")]
pub fn parse_config(file: &Path, text: String, environment: &dyn Environment) -> LoadedConfig {
    let path = file.to_owned();
    let (parsed, errors) = DeTable::parse_recoverable(&text);
    if !errors.is_empty() {
        let problems = syntax_problems(&errors, &text);
        let source = ConfigSource { path, text: redact_invalid(&text) };
        let files = BTreeSet::from([absolute(file)]);
        return LoadedConfig::invalid(source, problems, files);
    }
    let root = parsed.get_ref();
    let read = read_config(absolute(file), &text, root, environment);
    let ReadResult { mut config, problems, http_problems, token_problems, tls_problems, secret_spans, files } =
        read;
    let (redacted, masked) = redact(&text, root, &secret_spans);
    if let Some(config) = &mut config {
        config.digest = Digest::of(redacted.as_bytes());
    }
    let scrubbed = |problems: Vec<Diagnostic>| -> Vec<Diagnostic> {
        problems.into_iter().map(|problem| scrub(problem, &text, &masked)).collect()
    };
    let mut problems = scrubbed(problems);
    let of_http = scrubbed(http_problems);
    let of_tokens = scrubbed(token_problems);
    let of_tls = scrubbed(tls_problems);
    finish(&mut problems, &mut config);
    LoadedConfig {
        source: ConfigSource { path, text: redacted },
        config,
        problems,
        http_problems: of_http,
        token_problems: of_tokens,
        tls_problems: of_tls,
        files,
    }
}

fn absolute(file: &Path) -> PathBuf {
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

fn read(file: &Path) -> io::Result<String> {
    let found = fs::metadata(file)?;
    if found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if !found.is_file() {
        // Reading a pipe without a writer would block, and a pipe can't be read again.
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut text = String::new();
    fs::File::open(file)?.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 4 MiB"));
    }
    Ok(text)
}

/// The result of reading a valid TOML file.
struct ReadResult {
    config: Option<Config>,
    problems: Vec<Diagnostic>,
    http_problems: Vec<Diagnostic>,
    token_problems: Vec<Diagnostic>,
    tls_problems: Vec<Diagnostic>,
    secret_spans: Vec<Range<usize>>,
    files: BTreeSet<PathBuf>,
}

fn read_config(file: PathBuf, text: &str, parsed: &DeTable<'_>, environment: &dyn Environment) -> ReadResult {
    let mut reader = ConfigReader::new(&file, text, environment);
    let root = TomlTable::root(parsed, ROOT);
    let mut config = None;
    // Keys of another version of the format would all look wrong.
    if check_version(&mut reader, &root) {
        reader.check_keys(&root, &[]);
        let read = read_sections(&mut reader, &root, file);
        check_disclosed(&mut reader, &read);
        if read.state.is_none() && read.store.is_none() {
            reader.problems.extend(callers_state_in_memory(&read.plugins));
        }
        reader.problems.extend(shared_tool_rates(&read.http, &read.plugins));
        reader.problems.extend(protected_paths::check(&read));
        if reader.problems.iter().any(Diagnostic::is_error) {
            reader.problems.append(&mut reader.loading_problems);
            let unreadable: Vec<_> = reader.component_problems().collect();
            reader.problems.extend(unreadable);
        }
        config = Some(read);
    }
    let ConfigReader {
        problems,
        http_problems,
        token_problems,
        tls_problems,
        secret_spans,
        files,
        expansions,
        ..
    } = reader;
    let undone = |problem| expansions.iter().fold(problem, |problem, expansion| expansion.undo(problem));
    let as_written =
        |problems: Vec<Diagnostic>| -> Vec<Diagnostic> { problems.into_iter().map(undone).collect() };
    ReadResult {
        config,
        problems: as_written(problems),
        http_problems: as_written(http_problems),
        token_problems: as_written(token_problems),
        tls_problems: as_written(tls_problems),
        secret_spans,
        files,
    }
}

/// Reads all sections.
fn read_sections(reader: &mut ConfigReader<'_>, root: &TomlTable<'_>, file: PathBuf) -> Config {
    let empty = DeTable::new();
    let gateway = reader.table(root, "gateway").unwrap_or_else(|| TomlTable::root(&empty, GATEWAY));
    let http = read_http(reader, root);
    let defaults = read_defaults(reader, root);
    let cache = reader.cache_directory(&gateway);
    let sources = read_sources(reader, root, &file, &cache);
    let plugins: Vec<_> = read_plugins(reader, root, &defaults, &sources).into_iter().map(Arc::new).collect();
    let roles = read_roles(reader, root, RoleReferences { http: &http, plugins: &plugins });
    let sealing_key = read_sealing_key(reader, &gateway);
    Config {
        admin: read_admin(reader, root, &http),
        audit: read_audit(reader, root),
        telemetry: read_telemetry(reader, root),
        http,
        unix_socket: read_unix_socket(reader, root),
        watch: read_watch(reader, &gateway),
        callers: read_callers(reader, root),
        wider_grants: read_wider_grants(reader, &gateway),
        require_all: reader.boolean(&gateway, "require_all", false),
        startup_wait: reader.duration(&gateway, "startup_wait", DEFAULT_STARTUP_WAIT),
        stop_grace: reader.duration(&gateway, "stop_grace", DEFAULT_STOP_GRACE),
        cache,
        state: reader.state_directory(&gateway),
        ca_file: read_ca_file(reader, &gateway),
        certificates: reader.certificate_stores(),
        concurrency: reader.integer(&gateway, "concurrency", DEFAULT_CONCURRENCY),
        memory: read_memory(reader, &gateway),
        page_size: read_page_size(reader, &gateway),
        store: read_store(reader, root, &gateway, sealing_key.as_ref()),
        sealing_key,
        sources: sources.config,
        plugins,
        roles,
        secret_files: std::mem::take(&mut reader.secret_files),
        key_files: std::mem::take(&mut reader.key_files),
        secrets: std::mem::take(&mut reader.secrets),
        source_text: Secret::new(reader.source),
        digest: Digest::of(&[]), // of the redacted text, which is known later
        file,
    }
}

/// Reports settings and variables that would disclose a secret of the gateway itself.
fn check_disclosed(reader: &mut ConfigReader<'_>, config: &Config) {
    for DisclosedValue { span, value, action } in std::mem::take(&mut reader.disclosed) {
        let discloses = |secret: &Secret| secret.is_in(value.expose());
        if config.sealing_key.as_ref().is_some_and(discloses) {
            let problem = Diagnostic::error(format!("this would {action} the gateway's own sealing key"));
            reader
                .report(problem.with_span(span.clone()).with_hint("use a different secret for this plugin"));
        }
        if config.audit.as_ref().and_then(|audit| audit.key.as_ref()).is_some_and(discloses) {
            let problem = Diagnostic::error(format!("this would {action} the gateway's own audit key"));
            reader
                .report(problem.with_span(span.clone()).with_hint("use a different secret for this plugin"));
        }
        if config.store.as_ref().and_then(|store| store.password.as_ref()).is_some_and(discloses) {
            let problem =
                Diagnostic::error(format!("this would {action} the password of the gateway's store"));
            reader
                .report(problem.with_span(span.clone()).with_hint("use a different secret for this plugin"));
        }
        if let Some(token) = config.http.tokens.iter().find(|token| discloses(&token.token)) {
            let message = format!("this would {action} the gateway's own token `{}`", token.principal);
            let problem = Diagnostic::error(message).with_span(span.clone());
            reader.report(problem.with_hint("use a different secret for this plugin"));
        }
        if config.admin.as_ref().and_then(|admin| admin.token.as_ref()).is_some_and(discloses) {
            let problem = Diagnostic::error(format!("this would {action} the gateway's own admin token"));
            reader
                .report(problem.with_span(span.clone()).with_hint("use a different secret for this plugin"));
        }
        let mut headers = config.telemetry.iter().flat_map(|telemetry| &telemetry.headers);
        if headers.any(|(_, value)| discloses(value)) {
            let message = format!("this would {action} the gateway's own header for the collector");
            let problem = Diagnostic::error(message).with_span(span.clone());
            reader.report(problem.with_hint("use a different secret for this plugin"));
        }
        let mut clients = config.http.oauth.client_secrets();
        if let Some((issuer, _)) = clients.find(|(_, secret)| discloses(secret)) {
            let message =
                format!("this would {action} the gateway's own client secret for {}", quoted(issuer));
            let problem = Diagnostic::error(message).with_span(span);
            reader.report(problem.with_hint("use a different secret for this plugin"));
        }
    }
}

/// Reports an unsupported version of the format. If it returns `false`, nothing else can be checked.
fn check_version(reader: &mut ConfigReader<'_>, root: &TomlTable<'_>) -> bool {
    let Some(value) = root.get("version") else { return true }; // reported with the missing keys
    match value.inner {
        DeValue::Integer(number) if number.to_string() == "1" => true,
        DeValue::Integer(number) => {
            let problem =
                Diagnostic::error(format!("unsupported version {number} of the configuration format"));
            reader.report(
                problem.with_span(value.span).with_hint("update the gateway, or write `version = 1`"),
            );
            false
        }
        DeValue::String(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => {
            reader.report_wrong_type(&value, &ValueKind::Version);
            true
        }
    }
}
