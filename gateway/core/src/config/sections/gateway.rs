//! `[gateway]`: how long lists are, what seals the things that clients carry, and whom requests trust.

use std::fs;
use std::io::{self, Read as _};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Reading, Table};
use crate::config::{Secret, files};

/// Shorter keys can be guessed, in characters: whoever has one sealed text can try as many as they like.
const SHORT_KEY: usize = 32;

impl Reading<'_> {
    /// How many items a page of a list holds.
    pub(in crate::config) fn page_size(&mut self, gateway: &Table<'_>) -> Option<NonZeroU32> {
        gateway.get("page_size")?;
        NonZeroU32::new(self.integer(gateway, "page_size", 0))
    }

    /// Whom plugins' requests trust. The certificates themselves are read when the gateway starts.
    pub(in crate::config) fn ca_file(&mut self, gateway: &Table<'_>) -> Option<PathBuf> {
        let text = self.text(gateway, "ca_file")?;
        let path = self.path(&text)?;
        let problem = match read(&path) {
            Ok(bytes) if holds(&bytes, b"-----BEGIN CERTIFICATE-----") => return Some(path),
            Ok(_) => Problem::error(format!("the file {} holds no certificate", quoted(&text.text)))
                .hint("it must hold certificates in PEM, which begin with `-----BEGIN CERTIFICATE-----`"),
            Err(error) => files::unreadable("the file of authorities", &text.text, &path, &error),
        };
        self.note(problem.at(text.place));
        None
    }

    /// What texts are sealed with that clients carry from one request to the next.
    pub(in crate::config) fn sealing_key(&mut self, gateway: &Table<'_>) -> Option<Secret> {
        let value = gateway.get("sealing_key")?;
        let key = self.secret(&value)?;
        if key.expose().chars().count() < SHORT_KEY {
            let message = format!("this key has fewer than {SHORT_KEY} characters and can be guessed");
            let problem = Problem::error(message).at(value.place);
            self.note(problem.hint("`openssl rand -hex 32` prints a good one"));
            return None;
        }
        Some(key)
    }
}

/// The largest file of authorities: bundles of all that there are take a quarter of a megabyte.
const LARGEST: u64 = 16 << 20;

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn holds(hay: &[u8], needle: &[u8]) -> bool {
    hay.windows(needle.len()).any(|part| part == needle)
}
