//! `[sources]`: signatures and plain HTTP, and the sources of plugins.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use moongate_model::names::{Digest, PluginId};
use moongate_model::text::nearest_name;

use super::plugin::{NAME_HINT, or_report_name};
use crate::lock_file::{LockFile, LockedComponent};
use crate::model::diagnostic::quoted;
use crate::model::{
    Diagnostic, PlainHttpHosts, RemoteSource, SignatureKey, SignatureKeyContent, SignatureRule,
    SourceProblem, SourceReference,
};
use crate::read::{ConfigReader, TomlString, TomlTable, is_builtin, paths};
use crate::spec::keys::ValueKind;

/// The directory of components in the cache directory.
pub const COMPONENT_DIRECTORY: &str = "components";

/// The largest file of a public key, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 16 * 1024;

/// `[sources]`, and the lock file.
#[derive(Debug, Clone, Default)]
pub struct SourcesConfig {
    /// The hosts that are contacted over plain HTTP.
    pub plain_http: PlainHttpHosts,
    /// The keys that components can be signed with, in the order of the file.
    pub signers: Vec<Arc<SignatureKey>>,
    /// True if every component from an address must be signed.
    pub require_signature: bool,
    /// The files of the keys.
    pub key_files: Vec<PathBuf>,
    /// The lock file.
    pub lock_file: PathBuf,
    /// The directory of components.
    pub components: PathBuf,
}

/// The file of a component, and its source if that is an address.
pub(crate) type ComponentFile = (PathBuf, Option<RemoteSource>);

/// The sources of plugins, while they are read.
pub(crate) struct SourceReader {
    pub(crate) config: SourcesConfig,
    /// The names of all signers, including those whose key is invalid.
    signer_names: BTreeSet<String>,
    /// The lock file, read for the first plugin from an address.
    lock: OnceCell<Result<LockFile, SourceProblem>>,
}

impl SourcesConfig {
    /// The signatures that a component from an address needs, if its table doesn't say otherwise.
    #[must_use]
    pub fn default_rule(&self) -> SignatureRule {
        if self.require_signature {
            SignatureRule::AnyOf(self.signers.clone())
        } else {
            SignatureRule::NotRequired
        }
    }

    /// The file of a component in the store.
    #[must_use]
    pub fn component_file(&self, digest: &Digest) -> PathBuf {
        self.components.join(component_file_name(digest))
    }
}

/// The name of a component's file in the store.
#[must_use]
pub fn component_file_name(digest: &Digest) -> String {
    format!("{digest}.wasm")
}

/// Reads `[sources]`. `cache` is the cache directory.
pub(crate) fn read_sources(
    reader: &mut ConfigReader<'_>,
    root: &TomlTable<'_>,
    file: &Path,
    cache: &Path,
) -> SourceReader {
    let mut config = SourcesConfig {
        lock_file: LockFile::path_for(file),
        components: cache.join(COMPONENT_DIRECTORY),
        ..SourcesConfig::default()
    };
    let mut signer_names = BTreeSet::new();
    if let Some(table) = reader.table(root, "sources") {
        let hosts = reader.strings(&table, "plain_http").unwrap_or_default();
        match PlainHttpHosts::parse(hosts.iter().map(|host| host.text.as_str())) {
            Ok(hosts) => config.plain_http = hosts,
            Err(wrong) => {
                let span = hosts.iter().find(|host| host.text == wrong).map(|host| host.span.clone());
                let problem = Diagnostic::error(format!("invalid host {}", quoted(wrong)));
                let problem = problem.with_span(span.unwrap_or_else(|| table.span.clone()));
                reader.report(
                    problem
                        .with_hint("write a host with an optional port, such as \"registry.internal:5000\""),
                );
            }
        }
        config.require_signature = reader.boolean(&table, "require_signature", false);
        signer_names = read_signers(reader, &table, &mut config);
        if config.require_signature && signer_names.is_empty() {
            let problem = Diagnostic::error("`require_signature` needs a key in `[sources.signers]`");
            let span = table.get("require_signature").map_or_else(|| table.span.clone(), |value| value.span);
            reader.report(
                problem.with_span(span).with_hint("add one, such as `acme = { file = \"acme.pub\" }`"),
            );
        }
    }
    SourceReader { config, signer_names, lock: OnceCell::new() }
}

/// Reads the keys, and returns the names of all signers.
fn read_signers(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
    config: &mut SourcesConfig,
) -> BTreeSet<String> {
    let ValueKind::Named(ValueKind::Table(keys)) = table.key("signers").kind else {
        unreachable!("`signers` has named tables in the key table")
    };
    let entries = reader.named_entries(table, "signers");
    let names = entries.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (name, value) in entries {
        or_report_name(reader, PluginId::new(name), &value.key_span, "invalid signer name", NAME_HINT);
        let Some(signer) = reader.as_table(&value, keys) else { continue };
        let minisign = reader.string(&signer, "minisign");
        let file = reader.string(&signer, "file");
        let (text, place) = match (minisign, file) {
            (Some(key), None) => (key.text, key.span),
            (None, Some(file)) => {
                let Some(path) = reader.path(&file) else { continue };
                reader.files.insert(path.clone());
                match read_key_file(&path) {
                    Ok(text) => {
                        config.key_files.push(path);
                        (text, file.span)
                    }
                    Err(error) => {
                        let problem = paths::unreadable("the public key", &file.text, &path, &error);
                        reader.report(problem.with_span(file.span));
                        continue;
                    }
                }
            }
            (Some(_), Some(_)) | (None, None) => {
                let problem =
                    Diagnostic::error(format!("`{}` needs either `minisign` or `file`", value.path));
                let hint = "write `{ file = \"acme.pub\" }`, or `{ minisign = \"RW…\" }`";
                reader.report(problem.with_span(value.key_span).with_hint(hint));
                continue;
            }
        };
        match SignatureKeyContent::parse(&text) {
            Ok(content) => config.signers.push(Arc::new(SignatureKey { name: name.to_owned(), content })),
            Err(hint) => {
                let problem = Diagnostic::error(format!("invalid public key of {}", quoted(name)));
                reader.report(problem.with_span(place).with_hint(hint));
            }
        }
    }
    names
}

fn read_key_file(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut text = String::new();
    fs::File::open(path)?.take(MAX_KEY_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

impl SourceReader {
    /// Reads `source`, `sha256` and `signed_by` of a plugin.
    pub(crate) fn read_component(
        &self,
        reader: &mut ConfigReader<'_>,
        id: &PluginId,
        table: &TomlTable<'_>,
        pinned: Option<&Digest>,
    ) -> Option<ComponentFile> {
        let text = reader.string(table, "source");
        let signed_by = self.read_signed_by(reader, table);
        let text = text?;
        match SourceReference::parse(&text.text, &self.config.plain_http) {
            Ok(None) => {
                if let Some(value) = table.get("signed_by") {
                    let problem = Diagnostic::error("`signed_by` applies only to plugins from addresses");
                    reader.report(
                        problem.with_span(value.key_span).with_hint("remove it; `sha256` pins a file"),
                    );
                }
                if is_builtin(&text.text) {
                    return Some((reader.builtin(&text)?.source().into(), None));
                }
                Some((reader.component(&text)?, None))
            }
            Ok(Some(reference)) => {
                if text.text != text.shown {
                    let problem =
                        Diagnostic::error("the address contains a secret, which the lock file would record");
                    let hint = "use an address without secrets; for a private plugin, use a registry and log in to it \
                                with `docker login` or `skopeo login`";
                    reader.report(problem.with_span(text.span.clone()).with_hint(hint));
                    return None;
                }
                hide_query(reader, &text);
                let signatures = signed_by.unwrap_or_else(|| self.config.default_rule());
                Some(self.locked(reader, id, &text, pinned, reference, signatures))
            }
            Err(error) => {
                hide_query(reader, &text);
                if text.text.contains('@') && !text.text.starts_with("oci://") {
                    reader.secret_spans.push(text.span.clone()); // the address can contain a password
                }
                let problem = Diagnostic::error(error.to_string()).with_span(text.span.clone());
                reader.report(problem.with_hint(error.hint()));
                None
            }
        }
    }

    /// The keys that `signed_by` names.
    fn read_signed_by(&self, reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> Option<SignatureRule> {
        let names = reader.strings(table, "signed_by")?;
        if names.is_empty()
            && let Some(value) = table.get("signed_by")
        {
            let problem = Diagnostic::error("`signed_by` is empty").with_span(value.span);
            reader.report(problem.with_hint("name a key of `[sources.signers]`, or remove the line"));
        }
        let by_name: BTreeMap<&str, &Arc<SignatureKey>> =
            self.config.signers.iter().map(|key| (key.name.as_str(), key)).collect();
        let mut keys = Vec::new();
        for TomlString { text, span, .. } in names {
            match by_name.get(text.as_str()) {
                Some(key) => keys.push(Arc::clone(key)),
                None if self.signer_names.contains(&text) => {} // its invalid key was reported
                None => {
                    let problem =
                        Diagnostic::error(format!("no key {} in `[sources.signers]`", quoted(&text)));
                    let near = nearest_name(&text, by_name.keys().copied());
                    let hint = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("add it, such as `{text} = {{ file = \"{text}.pub\" }}`"),
                    };
                    reader.report(problem.with_span(span).with_hint(hint));
                }
            }
        }
        Some(SignatureRule::AnyOf(keys))
    }

    /// Looks an address up in the lock file.
    fn locked(
        &self,
        reader: &mut ConfigReader<'_>,
        id: &PluginId,
        text: &TomlString,
        pinned: Option<&Digest>,
        reference: SourceReference,
        signatures: SignatureRule,
    ) -> ComponentFile {
        let lock_file = &self.config.lock_file;
        reader.files.insert(lock_file.clone());
        let lock = self.lock.get_or_init(|| {
            LockFile::read(lock_file)
                .map_err(|error| SourceProblem { message: error.to_string(), hint: error.hint() })
        });
        let locked = match lock {
            Ok(lock) => locked_component(lock, id, &text.text, pinned, &signatures, lock_file),
            Err(problem) => Err(problem.clone()),
        };
        if let Err(SourceProblem { message, hint }) = &locked {
            let problem = Diagnostic::error(format!("plugin `{id}` can't be loaded: {message}"));
            reader.loading_problems.push(problem.with_span(text.span.clone()).with_hint(hint.clone()));
        }
        let file = match &locked {
            Ok(locked) => self.config.component_file(&locked.component),
            // Not the lock file: that is a part of the configuration, and read again as such when it changes.
            Err(_) => self.config.components.join(format!("{id}.wasm")),
        };
        let pinned = pinned.copied();
        (file, Some(RemoteSource { text: text.text.clone(), reference, pinned, signatures, locked }))
    }
}

/// A query can contain a key, so diagnostics don't show it.
fn hide_query(reader: &mut ConfigReader<'_>, text: &TomlString) {
    if text.text.contains('?') {
        reader.secret_spans.push(text.span.clone());
    }
}

/// The entry of a plugin, if it is for this source and satisfies the configuration.
fn locked_component(
    lock: &LockFile,
    id: &PluginId,
    source: &str,
    pinned: Option<&Digest>,
    signatures: &SignatureRule,
    lock_file: &Path,
) -> Result<LockedComponent, SourceProblem> {
    let name = quoted(&lock_file.file_name().unwrap_or_default().to_string_lossy());
    let fetch = format!("run `moongate fetch {id}`");
    let problem = |message: String, hint: String| Err(SourceProblem { message, hint });
    let Some(locked) = lock.plugins.get(id) else {
        return problem(format!("its address isn't in {name} yet"), fetch);
    };
    if locked.source != source {
        return problem(format!("{name} has another address for it"), fetch);
    }
    if pinned.is_some_and(|pinned| *pinned != locked.component) {
        return problem(
            format!("the digest in {name} differs from `sha256`"),
            format!("correct `sha256`, or run `moongate update {id}`"),
        );
    }
    if !signatures.accepts(locked.signer.as_ref()) {
        let message = match &locked.signer {
            Some(_) => format!("it was signed with a key that isn't accepted any more, according to {name}"),
            None => format!("its signature wasn't checked yet, according to {name}"),
        };
        return problem(message, format!("{fetch}, which checks the signature"));
    }
    Ok(locked.clone())
}
