//! Paths: where they start, what must be there, and where the cache is.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::config::read::interpolate::is_variable_name;
use crate::config::read::nearby::{Entry, nearest_path};
use crate::config::overlap;
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Reading, Table, Text};

impl Reading<'_> {
    /// The absolute path that a text of the file stands for.
    pub(in crate::config) fn path(&mut self, text: &Text) -> Option<PathBuf> {
        let problem = if text.text.is_empty() {
            Problem::error(format!("`{}` is empty", text.path))
                .hint("name a path; \".\" is the directory of this file")
        } else if text.text == "~" || text.text.starts_with("~/") {
            Problem::error(format!("`~` isn't filled in in `{}`", text.path))
                .hint(format!("write \"${{HOME}}{}\"", &text.text[1..]))
        } else if let Some((name, rest)) = bare_variable(&text.text)
            && !self.base.join(&text.text).exists()
        {
            Problem::error(format!("`${name}` isn't filled in in `{}`", text.path))
                .hint(format!("write \"${{{name}}}{rest}\""))
        } else if text.text.contains('\0') {
            Problem::error(format!("`{}` holds a character that paths don't have", text.path))
        } else {
            return std::path::absolute(self.base.join(&text.text)).ok();
        };
        self.note(problem.at(text.place.clone()));
        None
    }

    /// The path of a component. Whether it is there and can be read turns out when it is loaded; it is said here
    /// only where other mistakes keep that from happening, so that all are said at once.
    pub(in crate::config) fn component(&mut self, text: &Text) -> Option<PathBuf> {
        if let Some((scheme, _)) = text.text.split_once("://") {
            let problem = Problem::error(format!(
                "a plugin can't be loaded from {} yet",
                quoted(&format!("{scheme}://"))
            ));
            let hint = if scheme == "file" {
                "name the path alone, without `file://`"
            } else {
                "download the component and name its path; pin it with `sha256`"
            };
            if text.text.contains(['@', '?']) {
                self.plain_secrets.push(text.place.clone()); // passwords and keys stand in addresses, too
            }
            self.note(problem.at(text.place.clone()).hint(hint));
            return None;
        }
        let path = self.path(text)?;
        self.files.insert(path.clone());
        let unread = |error| unreadable("the component", &text.text, &path, &error);
        let problem = match fs::metadata(&path) {
            Ok(found) if found.is_dir() => Some(
                Problem::error(format!("the component {} is a directory", quoted(&text.text)))
                    .hint("name the `.wasm` file in it"),
            ),
            Ok(found) if !found.is_file() => {
                Some(Problem::error(format!("the component {} is no regular file", quoted(&text.text))))
            }
            Ok(_) => fs::File::open(&path).err().map(unread),
            Err(error) => Some(unread(error)),
        };
        self.left_to_loading.extend(problem.map(|problem| problem.at(text.place.clone())));
        Some(path)
    }

    /// A directory, with every symbolic link followed. One that isn't there is its plugin's own mistake, like a component
    /// that isn't: nobody else waits for it, least of all for a grant to be taken away.
    pub(in crate::config) fn directory(&mut self, text: &Text) -> Option<PathBuf> {
        let path = self.path(text)?;
        let problem = match fs::canonicalize(&path) {
            Ok(found) if found.is_dir() => return Some(found),
            Ok(_) => Problem::error(format!("{} is no directory", quoted(&text.text)))
                .hint("grant the directory that it is in, or a directory of its own"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let problem = refused("the directory", &text.text, &path, Entry::Directory, &error, CORRECT);
                self.left_to_loading.push(problem.at(text.place.clone()));
                let end = overlap::end(&path);
                self.files.insert(path);
                return Some(end);
            }
            Err(error) => refused("the directory", &text.text, &path, Entry::Directory, &error, CORRECT),
        };
        self.files.insert(path);
        self.note(problem.at(text.place.clone()));
        None
    }

    /// A directory that the gateway makes for itself when it isn't there.
    pub(in crate::config) fn own_directory(&mut self, gateway: &Table<'_>, name: &str) -> Option<PathBuf> {
        let text = self.text(gateway, name)?;
        let path = self.path(&text)?;
        if path.exists() && !path.is_dir() {
            let problem = Problem::error(format!("{} is no directory", quoted(&text.text)));
            self.files.insert(path);
            self.note(problem.at(text.place).hint("name a directory; it is made when it isn't there"));
            return None;
        }
        if let Some(system) = ["/proc", "/sys"].into_iter().find(|system| path.starts_with(system)) {
            let problem = Problem::error(format!("no files can be kept in `{system}`"));
            self.note(
                problem.at(text.place).hint("name a directory on a disk; it is made when it isn't there"),
            );
            return None;
        }
        Some(path)
    }

    /// Where plugins' state is kept; none: nowhere, it is gone with the process.
    pub(in crate::config) fn state(&mut self, gateway: &Table<'_>) -> Option<PathBuf> {
        let written = self.own_directory(gateway, "state");
        self.wanted("MOONGATE_STATE_DIR").or(written)
    }

    /// The directory that a variable names, which goes before what the file says.
    fn wanted(&self, variable: &str) -> Option<PathBuf> {
        let wanted = self.environment.variable(variable).ok().filter(|path| !path.is_empty());
        wanted.and_then(|path| std::path::absolute(path).ok())
    }

    /// Where compiled code is kept.
    pub(in crate::config) fn cache(&mut self, gateway: &Table<'_>) -> PathBuf {
        let written = self.own_directory(gateway, "cache");
        let variable = |name: &str| {
            let value = self.environment.variable(name).ok().filter(|value| !value.is_empty());
            value.map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let usual = || {
            let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
            caches.map(|caches| caches.join("moongate"))
        };
        let wanted = self.wanted("MOONGATE_CACHE_DIR");
        if let Some(path) = wanted.or(written).or_else(usual) {
            return path;
        }
        self.note(
            Problem::error("there is no place for compiled code: neither `HOME` nor `XDG_CACHE_HOME` is set")
                .hint("set `MOONGATE_CACHE_DIR`, or `cache` in `[gateway]`"),
        );
        PathBuf::new()
    }
}

/// The variable that a path begins with, as shells write it, and what follows.
fn bare_variable(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix('$')?;
    let end = rest.find('/').unwrap_or(rest.len());
    is_variable_name(&rest[..end]).then(|| rest.split_at(end))
}

/// Says why a file can't be used. `text` is how the operator wrote its path.
pub(in crate::config) fn unreadable(what: &str, text: &str, path: &Path, error: &io::Error) -> Problem {
    refused(what, text, path, Entry::File, error, CORRECT)
}

/// The same of the configuration itself.
pub(in crate::config) fn no_configuration(file: &Path, error: &io::Error) -> Problem {
    let hint = "name another with `--config`";
    refused("the configuration", &file.to_string_lossy(), file, Entry::File, error, hint)
}

/// What to do about a path that leads nowhere, and that nothing is like.
const CORRECT: &str =
    "correct the path, or make it first; a relative path starts at the directory of this file";

/// The same of a file or a directory. `otherwise`: what to do where nothing is there that is like it.
fn refused(
    what: &str,
    text: &str,
    path: &Path,
    wanted: Entry,
    error: &io::Error,
    otherwise: &str,
) -> Problem {
    let written = quoted(text);
    // Only where there is a `..` do links count for what the path is called.
    let found = path.components().any(|part| part == Component::ParentDir).then(|| overlap::end(path));
    let path = found.as_deref().unwrap_or(path);
    let place = quoted(&path.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound => {
            let problem =
                Problem::error(format!("{what} {written} isn't there")).label(format!("looked in {place}"));
            match nearest_path(path, wanted) {
                Some(near) => {
                    problem.hint(format!("did you mean {}?", quoted(&as_written(text, path, &near))))
                }
                None => problem.hint(otherwise),
            }
        }
        io::ErrorKind::PermissionDenied => Problem::error(format!("{what} {written} may not be read"))
            .label(format!("tried {place}"))
            .hint("let the user that the gateway runs as read it"),
        io::ErrorKind::InvalidData => {
            Problem::error(format!("{what} {written} doesn't hold text")).hint("it must be valid UTF-8")
        }
        _ => Problem::error(format!("{what} {written} can't be read: {error}"))
            .hint("name a file on this machine that can be read"),
    }
}

/// Another path as the operator would write it in place of `text`, which stands for `path`.
fn as_written(text: &str, path: &Path, other: &Path) -> String {
    let (dot, relative) = text.strip_prefix("./").map_or(("", text), |rest| ("./", rest));
    let levels = Path::new(relative).components().count();
    let base = path.ancestors().nth(levels).filter(|base| base.join(relative) == path);
    match base.and_then(|base| other.strip_prefix(base).ok()) {
        Some(rest) => format!("{dot}{}", rest.display()),
        None => other.display().to_string(),
    }
}
