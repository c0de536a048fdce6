//! Resolves and checks the paths in the file, and explains unusable ones.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::environment::is_variable_name;
use super::nearest_path::{EntryKind, nearest_path};
use super::reader::{ConfigReader, TomlString, TomlTable};
use super::resolved_path::ResolvedPath;
use crate::model::Diagnostic;
use crate::model::diagnostic::quoted;

/// The hint for a path that doesn't exist if no other path is similar.
const MISSING_HINT: &str = "correct the path, or create it; paths are relative to the directory of this file";

impl ConfigReader<'_> {
    /// The absolute path of a string.
    pub(crate) fn path(&mut self, text: &TomlString) -> Option<PathBuf> {
        let problem = if text.text.is_empty() {
            Diagnostic::error(format!("`{}` is empty", text.path))
                .with_hint("set it to a path; \".\" is the directory of this file")
        } else if text.text == "~" || text.text.starts_with("~/") {
            Diagnostic::error(format!("`~` isn't expanded in `{}`", text.path))
                .with_hint(format!("write \"${{HOME}}{}\"", &text.text[1..]))
        } else if let Some((name, rest)) = shell_variable(&text.text)
            && !self.base.join(&text.text).exists()
        {
            Diagnostic::error(format!("`${name}` isn't expanded in `{}`", text.path))
                .with_hint(format!("write \"${{{name}}}{rest}\""))
        } else if text.text.contains('\0') {
            Diagnostic::error(format!("`{}` contains NUL", text.path)).with_hint("remove it")
        } else {
            return std::path::absolute(self.base.join(&text.text)).ok();
        };
        self.report(problem.with_span(text.span.clone()));
        None
    }

    /// The path of a component. Loading reports whether it can be read.
    pub(crate) fn component(&mut self, text: &TomlString) -> Option<PathBuf> {
        let path = self.path(text)?;
        self.files.insert(path.clone());
        self.component_files.push((text.clone(), path.clone()));
        Some(path)
    }

    /// The problems of components that can't be read.
    pub(crate) fn component_problems(&self) -> impl Iterator<Item = Diagnostic> {
        self.component_files.iter().filter_map(|(text, path)| {
            let unreadable = |error| unreadable("the component", &text.text, path, &error);
            let problem = match fs::metadata(path) {
                Ok(found) if found.is_dir() => Some(
                    Diagnostic::error(format!("the component {} is a directory", quoted(&text.text)))
                        .with_hint("name the `.wasm` file in it"),
                ),
                Ok(found) if !found.is_file() => Some(
                    Diagnostic::error(format!("the component {} isn't a regular file", quoted(&text.text)))
                        .with_hint("name a `.wasm` file"),
                ),
                Ok(_) => fs::File::open(path).err().map(unreadable),
                Err(error) => Some(unreadable(error)),
            };
            problem.map(|problem| problem.with_span(text.span.clone()))
        })
    }

    /// A directory with all symlinks resolved. If it doesn't exist, only loading its plugin fails, as with a missing
    /// component. Other plugins still load, and removed grants still take effect.
    pub(crate) fn directory(&mut self, text: &TomlString) -> Option<PathBuf> {
        let path = self.path(text)?;
        let unusable = |error| {
            unusable("the directory", &text.text, &path, EntryKind::Directory, error, MISSING_HINT)
                .with_span(text.span.clone())
        };
        let problem = match fs::canonicalize(&path) {
            Ok(found) if found.is_dir() => return Some(found),
            Ok(_) => Diagnostic::error(format!("{} isn't a directory", quoted(&text.text)))
                .with_hint("grant the directory that it is in, or a directory of its own")
                .with_span(text.span.clone()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.loading_problems.push(unusable(&error));
                let end = ResolvedPath::new(&path).end;
                self.files.insert(path);
                return Some(end);
            }
            Err(error) => unusable(&error),
        };
        self.files.insert(path);
        self.report(problem);
        None
    }

    /// A directory that the gateway creates if it doesn't exist.
    pub(crate) fn own_directory(&mut self, gateway: &TomlTable<'_>, name: &str) -> Option<PathBuf> {
        let text = self.string(gateway, name)?;
        let path = self.path(&text)?;
        let problem = if path.exists() && !path.is_dir() {
            self.files.insert(path);
            Diagnostic::error(format!("{} isn't a directory", quoted(&text.text)))
        } else if let Some(system) = ["/proc", "/sys"].into_iter().find(|system| path.starts_with(system)) {
            Diagnostic::error(format!("`{system}` can't store files"))
        } else {
            return Some(path);
        };
        self.report(
            problem.with_span(text.span).with_hint("name a directory; it is created if it doesn't exist"),
        );
        None
    }

    /// The directory for plugins' state. `None` keeps state in memory.
    pub(crate) fn state_directory(&mut self, gateway: &TomlTable<'_>) -> Option<PathBuf> {
        let configured = self.own_directory(gateway, "state");
        self.overridden("MOONGATE_STATE_DIR").or(configured)
    }

    /// The directory for compiled code.
    pub(crate) fn cache_directory(&mut self, gateway: &TomlTable<'_>) -> PathBuf {
        let configured = self.own_directory(gateway, "cache");
        let variable = |name: &str| {
            let value = self.environment.variable(name).ok().filter(|value| !value.is_empty());
            value.map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let default = || {
            let caches = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
            caches.map(|caches| caches.join("moongate"))
        };
        let overridden = self.overridden("MOONGATE_CACHE_DIR");
        if let Some(path) = overridden.or(configured).or_else(default) {
            return path;
        }
        self.report(
            Diagnostic::error("no directory for compiled code: neither `HOME` nor `XDG_CACHE_HOME` is set")
                .with_hint("set `MOONGATE_CACHE_DIR`, or `cache` in `[gateway]`"),
        );
        PathBuf::new()
    }

    /// The system's certificate stores that variables name. `SSL_CERT_DIR` can name several.
    pub(crate) fn certificate_stores(&self) -> Vec<PathBuf> {
        let variable = |name: &str| self.environment.variable(name).unwrap_or_default();
        let file = PathBuf::from(variable("SSL_CERT_FILE"));
        let directories = variable("SSL_CERT_DIR");
        let paths = [file].into_iter().chain(std::env::split_paths(&directories));
        paths.filter(|path| !path.as_os_str().is_empty()).collect()
    }

    /// The directory that a variable sets, which takes precedence over the file.
    fn overridden(&self, variable: &str) -> Option<PathBuf> {
        let path = self.environment.variable(variable).ok().filter(|path| !path.is_empty());
        path.and_then(|path| std::path::absolute(path).ok())
    }
}

/// The variable at the start of a path in the syntax of shells, and the rest of the path.
fn shell_variable(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix('$')?;
    let end = rest.find('/').unwrap_or(rest.len());
    is_variable_name(&rest[..end]).then(|| rest.split_at(end))
}

/// The diagnostic for a file that can't be used. `text` is its path as written.
pub(crate) fn unreadable(what: &str, text: &str, path: &Path, error: &io::Error) -> Diagnostic {
    unusable(what, text, path, EntryKind::File, error, MISSING_HINT)
}

/// The diagnostic for a configuration that can't be read.
pub(crate) fn unreadable_configuration(file: &Path, error: &io::Error) -> Diagnostic {
    let hint = "name another file with `--config`";
    unusable("the configuration", &file.to_string_lossy(), file, EntryKind::File, error, hint)
}

/// The diagnostic for a file or directory. `missing_hint` is the hint if it doesn't exist and no other path is similar.
fn unusable(
    what: &str,
    text: &str,
    path: &Path,
    wanted: EntryKind,
    error: &io::Error,
    missing_hint: &str,
) -> Diagnostic {
    let written = quoted(text);
    // Symlinks matter to the path only if it contains `..`.
    let resolved =
        path.components().any(|part| part == Component::ParentDir).then(|| ResolvedPath::new(path).end);
    let path = resolved.as_deref().unwrap_or(path);
    let absolute = quoted(&path.to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound => {
            let problem = Diagnostic::error(format!("{what} {written} doesn't exist"))
                .with_label(format!("at {absolute}"));
            match nearest_path(path, wanted) {
                Some(near) => {
                    problem.with_hint(format!("did you mean {}?", quoted(&as_written(text, path, &near))))
                }
                None => problem.with_hint(missing_hint),
            }
        }
        io::ErrorKind::PermissionDenied => {
            Diagnostic::error(format!("permission denied to read {what} {written}"))
                .with_label(format!("at {absolute}"))
                .with_hint("let the gateway's user read it")
        }
        io::ErrorKind::InvalidData => {
            Diagnostic::error(format!("{what} {written} isn't valid UTF-8")).with_hint("convert it to UTF-8")
        }
        _ => Diagnostic::error(format!("can't read {what} {written}: {error}"))
            .with_hint("name a readable file on this machine"),
    }
}

/// Another path as the operator would write it instead of `text`, which refers to `path`.
fn as_written(text: &str, path: &Path, other: &Path) -> String {
    let (dot, relative) = text.strip_prefix("./").map_or(("", text), |rest| ("./", rest));
    let levels = Path::new(relative).components().count();
    let base = path.ancestors().nth(levels).filter(|base| base.join(relative) == path);
    match base.and_then(|base| other.strip_prefix(base).ok()) {
        Some(rest) => format!("{dot}{}", rest.display()),
        None => other.display().to_string(),
    }
}
