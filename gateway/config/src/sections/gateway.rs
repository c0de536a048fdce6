//! `[gateway]`: the gateway itself.

use std::fs;
use std::io::{self, Read as _};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytesize::ByteSize;

use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret};
use crate::read::paths;
use crate::read::{ConfigReader, TomlTable};

/// The default number of concurrent calls to all plugins together.
pub(crate) const DEFAULT_CONCURRENCY: u32 = 64;

/// The default time that running calls get to finish on shutdown.
pub(crate) const DEFAULT_STOP_GRACE: Duration = Duration::from_secs(30);

/// The default of `startup_wait`: most plugins compile faster, and clients wait longer.
pub(crate) const DEFAULT_STARTUP_WAIT: Duration = Duration::from_secs(2);

/// The shortest sealing key, in characters. A shorter one could be guessed: anyone with a sealed text can try any
/// number of keys.
const MIN_SEALING_KEY_CHARS: usize = 32;

/// The shortest poll interval. A shorter one would only keep the disk busy.
const MIN_POLL: Duration = Duration::from_millis(100);

/// The largest CA bundle that is read: a bundle of all public authorities is a quarter of a megabyte.
const MAX_CA_BYTES: u64 = 16 << 20;

/// Settings for noticing changed files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchConfig {
    /// True if files are watched. Otherwise, changes take effect only when the operator requests a reload.
    pub watches_files: bool,
    /// The interval at which every file is checked, because some mounts don't report changes. From 100 ms to an hour.
    pub poll_interval: Duration,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self { watches_files: true, poll_interval: Duration::from_secs(5) }
    }
}

/// The time at which a wider grant takes effect. For `serve --stdio`, the default is [`Self::Wait`]: the host's model
/// can often edit files, and could otherwise grant itself access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WiderGrantsPolicy {
    /// Immediately, like any other change.
    #[default]
    Live,
    /// On the operator's reload request, by SIGHUP or at the admin listener.
    Wait,
}

pub(crate) fn read_watch(reader: &mut ConfigReader<'_>, gateway: &TomlTable<'_>) -> WatchConfig {
    let default = WatchConfig::default();
    let poll = reader.duration(gateway, "poll", default.poll_interval);
    if let Some(value) = gateway.get("poll")
        && poll < MIN_POLL
    {
        let problem =
            Diagnostic::error(format!("`{}` can't be less than 100ms", value.path)).with_span(value.span);
        reader.report(
            problem.with_hint("raise it: polling is only for file systems that don't report changes"),
        );
    }
    WatchConfig {
        watches_files: reader.boolean(gateway, "watch", default.watches_files),
        poll_interval: poll,
    }
}

pub(crate) fn read_wider_grants(
    reader: &mut ConfigReader<'_>,
    gateway: &TomlTable<'_>,
) -> Option<WiderGrantsPolicy> {
    match reader.string(gateway, "wider_grants")?.text.as_str() {
        "live" => Some(WiderGrantsPolicy::Live),
        "wait" => Some(WiderGrantsPolicy::Wait),
        _ => None, // was reported
    }
}

pub(crate) fn read_memory(reader: &mut ConfigReader<'_>, gateway: &TomlTable<'_>) -> Option<ByteSize> {
    gateway.get("memory").map(|_| reader.size(gateway, "memory", ByteSize::b(u64::MAX)))
}

pub(crate) fn read_page_size(reader: &mut ConfigReader<'_>, gateway: &TomlTable<'_>) -> Option<NonZeroU32> {
    gateway.get("page_size")?;
    NonZeroU32::new(reader.integer(gateway, "page_size", 0))
}

/// Reads the path of the CA bundle. The certificates themselves are read when the gateway starts.
pub(crate) fn read_ca_file(reader: &mut ConfigReader<'_>, gateway: &TomlTable<'_>) -> Option<PathBuf> {
    let text = reader.string(gateway, "ca_file")?;
    let path = reader.path(&text)?;
    let problem = match read_bundle(&path) {
        Ok(bytes) if contains(&bytes, b"-----BEGIN CERTIFICATE-----") => return Some(path),
        Ok(_) => Diagnostic::error(format!("the CA bundle {} contains no certificate", quoted(&text.text)))
            .with_hint("use certificates in PEM, which start with `-----BEGIN CERTIFICATE-----`"),
        Err(error) => paths::unreadable("the CA bundle", &text.text, &path, &error),
    };
    reader.report(problem.with_span(text.span));
    None
}

pub(crate) fn read_sealing_key(reader: &mut ConfigReader<'_>, gateway: &TomlTable<'_>) -> Option<Secret> {
    let value = gateway.get("sealing_key")?;
    let key = reader.secret(&value)?;
    if key.expose().chars().count() < MIN_SEALING_KEY_CHARS {
        let message =
            format!("the sealing key is too short: it needs {MIN_SEALING_KEY_CHARS} characters or more");
        let problem = Diagnostic::error(message).with_span(value.span);
        reader.report(problem.with_hint("generate one with `openssl rand -hex 32`"));
        return None;
    }
    Some(key)
}

fn read_bundle(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_CA_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|part| part == needle)
}
