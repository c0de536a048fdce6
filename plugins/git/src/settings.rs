//! The repository's configuration file. Included files and the configuration of the user and the system are outside the
//! sandbox and aren't read.

use bstr::ByteSlice as _;

use crate::fault::GitResult;
use crate::files;
use std::path::Path;

/// The settings of a repository, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct RepositorySettings(Vec<(String, String)>);

impl RepositorySettings {
    /// Reads a file. A missing file has no settings.
    pub(crate) fn read(path: &Path) -> GitResult<Self> {
        let text = files::read(path)?.unwrap_or_default();
        Ok(Self::parse(&text.to_str_lossy()))
    }

    /// Reads settings from text (git-config, "Syntax"). Invalid lines are ignored.
    pub(crate) fn parse(text: &str) -> Self {
        let mut settings = Vec::new();
        let mut section = String::new();
        let joined = text.replace("\r\n", "\n");
        let mut lines = joined.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim_start();
            if line.starts_with('[')
                && let Some(end) = section_end(line)
            {
                section = section_name(&line[1..end]);
                line = line[end + 1..].trim_start();
            }
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = match line.split_once('=') {
                Some((key, rest)) => (key, value(rest, &mut lines)),
                // A key without a value is true.
                None => (line.split(['#', ';']).next().unwrap_or(line), "true".to_owned()),
            };
            settings.push((format!("{section}.{}", key.trim().to_lowercase()), value));
        }
        Self(settings)
    }

    /// The last value of a key, such as `core.bare` or `branch.main.remote`.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The value of a key as a Boolean. `None` if it is missing or has another type.
    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)?.to_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" | "" => Some(false),
            _ => None,
        }
    }
}

/// The position of the bracket that ends a section's name, which can be in quotes.
fn section_end(line: &str) -> Option<usize> {
    let mut quoted = false;
    let mut escaped = false;
    line.char_indices().find_map(|(at, c)| {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
        None
    })
}

/// `branch "Main"` as `branch.Main`.
fn section_name(text: &str) -> String {
    match text.split_once('"') {
        Some((section, rest)) => {
            let mut name = String::new();
            let mut chars = rest.chars();
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => name.extend(chars.next()),
                    c => name.push(c),
                }
            }
            format!("{}.{name}", section.trim().to_lowercase())
        }
        None => text.trim().to_lowercase(),
    }
}

/// A value without quotes, comments and line breaks.
fn value<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut value = String::new();
    // The length of the value without trailing white space outside quotes.
    let mut end = 0;
    let mut quoted = false;
    let mut line = first.trim_start().to_owned();
    loop {
        let mut continues = false;
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\u{8}'),
                    Some(c) => value.push(c),
                    None => continues = true,
                },
                '"' => quoted = !quoted,
                '#' | ';' if !quoted => break,
                c if c.is_whitespace() && !quoted => {
                    value.push(c);
                    continue;
                }
                c => value.push(c),
            }
            end = value.len();
        }
        if !continues {
            break;
        }
        match lines.next() {
            Some(next) => next.clone_into(&mut line),
            None => break,
        }
    }
    value.truncate(end);
    value
}

#[cfg(test)]
mod tests;
