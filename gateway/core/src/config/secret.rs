//! `{ env = "NAME" }` and `{ file = "path" }`: texts that don't stand in the file.

use std::env::VarError;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use super::Secret;
use super::environment::meant;
use super::expand::is_variable_name;
use super::files;
use super::keys::{Kind, SECRET};
use super::problem::{Problem, quoted};
use super::reading::{Reading, Table, Text, Value};

/// No secret is longer; whoever names a log or a disk by mistake should hear of it.
const LONGEST: u64 = 64 * 1024;

impl Reading<'_> {
    /// Reads a secret. It is never empty.
    pub(super) fn secret(&mut self, value: &Value<'_>) -> Option<Secret> {
        if !value.inner.is_table() {
            self.wrong_type(value, &Kind::Secret);
            return None;
        }
        let noted = self.problems.len();
        let table = self.as_table(value, SECRET)?;
        self.secret_of(&table, value, noted)
    }

    /// Reads the secret that a table names, whatever else stands in it; `value` is the table, and `noted` how
    /// many problems there were before it was looked at.
    pub(super) fn secret_of(&mut self, table: &Table<'_>, value: &Value<'_>, noted: usize) -> Option<Secret> {
        let (env, file) = (table.get("env"), table.get("file"));
        if env.is_some() == file.is_some() {
            if self.problems.len() == noted {
                let message = format!("`{}` must be {}", value.path, Kind::Secret.expected());
                self.note(Problem::error(message).at(value.place.clone()).hint("give one of the two"));
            }
            return None;
        }
        match (self.text(table, "env"), self.text(table, "file")) {
            (Some(name), _) => self.secret_variable(&name),
            (None, Some(path)) => self.secret_file(&path),
            (None, None) => None,
        }
    }

    fn secret_variable(&mut self, name: &Text) -> Option<Secret> {
        if !is_variable_name(name.text.trim_start_matches('$')) {
            // It may be the secret itself.
            self.plain_secrets.push(name.place.clone());
            let problem = Problem::error("this can't be the name of an environment variable");
            let hint =
                "give the name of the variable that holds the secret, without `$`: letters, digits and `_`";
            self.note(problem.at(name.place.clone()).hint(hint));
            return None;
        }
        let problem = match self.variable(name) {
            Err(problem) => *problem,
            Ok(value) if value.is_empty() => {
                Problem::error(format!("the environment variable `{}` is empty", name.text))
                    .hint("set it to the secret")
            }
            Ok(value) => return Some(self.noted(value)),
        };
        self.note(problem.at(name.place.clone()));
        None
    }

    fn noted(&mut self, text: String) -> Secret {
        let secret = Secret::new(text);
        self.note_secret(secret.clone());
        secret
    }

    /// The value of the variable that `name` names.
    pub(super) fn variable(&mut self, name: &Text) -> Result<String, Box<Problem>> {
        let shown = quoted(&name.text);
        if !is_variable_name(&name.text) {
            // What stands behind a `=` is the value that the operator meant to hand over.
            let shown = match name.text.split_once('=') {
                Some((name, _)) => quoted(&format!("{name}=…")),
                None => shown,
            };
            if name.text.contains('=') {
                self.plain_secrets.push(name.place.clone());
            }
            let problem = Problem::error(format!("{shown} can't be the name of an environment variable"));
            return Err(Box::new(problem.hint("give the name alone, without `$`: letters, digits and `_`")));
        }
        self.environment.variable(&name.text).map_err(|error| {
            Box::new(match error {
                VarError::NotPresent => {
                    let problem = Problem::error(format!("the environment variable {shown} isn't set"));
                    match meant(&name.text, self.environment) {
                        Some(other) => problem.hint(format!("did you mean `{other}`, which is set?")),
                        None => problem.hint(format!("set it, or remove {}", removable(&name.path))),
                    }
                }
                VarError::NotUnicode(_) => {
                    Problem::error(format!("the environment variable {shown} doesn't hold text"))
                        .hint("set it to valid UTF-8")
                }
            })
        })
    }

    fn secret_file(&mut self, text: &Text) -> Option<Secret> {
        let path = self.path(text)?;
        if !self.secret_files.contains(&path) {
            self.secret_files.push(path.clone());
        }
        self.files.insert(path.clone());
        let problem = match read(&path) {
            Ok(secret) if secret.is_empty() => {
                Problem::error(format!("the secret file {} is empty", quoted(&text.text)))
                    .hint("put the secret into it")
            }
            Ok(secret) => return Some(self.noted(secret)),
            Err(error) => files::unreadable("the secret file", &text.text, &path, &error),
        };
        self.note(problem.at(text.place.clone()));
        None
    }
}

/// What can be removed with a variable that isn't set: of a list's item that lacks nothing the whole item.
fn removable(path: &str) -> String {
    match path.split_once("].") {
        Some((item, _)) => {
            let list = item.rsplit_once('[').map_or(item, |(list, _)| list);
            format!("this entry of `{list}`")
        }
        None => format!("`{}`", path.trim_end_matches(".env")),
    }
}

/// The content of a secret's file without one line break at its end.
fn read(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    let mut text = String::new();
    fs::File::open(path)?.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is longer than 64 KiB"));
    }
    if let Some(line) = text.strip_suffix('\n') {
        text.truncate(line.strip_suffix('\r').unwrap_or(line).len());
    }
    Ok(text)
}
