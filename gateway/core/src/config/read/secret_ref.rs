//! `{ env = "NAME" }` and `{ file = "path" }`: texts that don't stand in the file.

use std::env::VarError;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::config::Secret;
use crate::config::read::environment::meant;
use crate::config::read::interpolate::is_variable_name;
use crate::config::files;
use crate::config::spec::keys::{Kind, SECRET};
use crate::config::model::diagnostic::{Problem, quoted};
use crate::config::read::reader::{Reading, Table, Text, Value};

/// No secret is longer; whoever names a log or a disk by mistake should hear of it.
const LONGEST: u64 = 64 * 1024;

impl Reading<'_> {
    /// Reads a secret. It is never empty.
    pub(in crate::config) fn secret(&mut self, value: &Value<'_>) -> Option<Secret> {
        self.secret_for_some(value).unwrap_or_else(|problem| {
            self.note(*problem);
            None
        })
    }

    /// Reads a secret that not everybody needs: the problem is one of those who do.
    pub(in crate::config) fn secret_for_some(&mut self, value: &Value<'_>) -> Result<Option<Secret>, Box<Problem>> {
        if !value.inner.is_table() {
            self.wrong_type(value, &Kind::Secret);
            return Ok(None);
        }
        let noted = self.problems.len();
        match self.as_table(value, SECRET) {
            Some(table) => self.secret_named(&table, value, noted),
            None => Ok(None),
        }
    }

    /// Reads the secret that a table names, whatever else stands in it; `value` is the table, and `noted` how
    /// many problems there were before it was looked at.
    pub(in crate::config) fn secret_of(&mut self, table: &Table<'_>, value: &Value<'_>, noted: usize) -> Option<Secret> {
        self.secret_named(table, value, noted).unwrap_or_else(|problem| {
            self.note(*problem);
            None
        })
    }

    /// The same, where what is said of a variable or a file that can't be read is left to the caller. What is written
    /// wrongly is noted.
    fn secret_named(
        &mut self,
        table: &Table<'_>,
        value: &Value<'_>,
        noted: usize,
    ) -> Result<Option<Secret>, Box<Problem>> {
        let (env, file) = (table.get("env"), table.get("file"));
        if env.is_some() == file.is_some() {
            if self.problems.len() == noted {
                let message = format!("`{}` must be {}", value.path, Kind::Secret.expected());
                self.note(Problem::error(message).at(value.place.clone()).hint("give one of the two"));
            }
            return Ok(None);
        }
        match (self.text(table, "env"), self.text(table, "file")) {
            (Some(name), _) => self.secret_variable(&name),
            (None, Some(path)) => self.secret_file(&path),
            (None, None) => Ok(None),
        }
    }

    fn secret_variable(&mut self, name: &Text) -> Result<Option<Secret>, Box<Problem>> {
        if !is_variable_name(name.text.trim_start_matches('$')) {
            // It may be the secret itself.
            self.plain_secrets.push(name.place.clone());
            let problem = Problem::error("this can't be the name of an environment variable");
            let hint =
                "give the name of the variable that holds the secret, without `$`: letters, digits and `_`";
            self.note(problem.at(name.place.clone()).hint(hint));
            return Ok(None);
        }
        let problem = match self.variable(name) {
            Err(problem) => *problem,
            Ok(value) if value.is_empty() => {
                Problem::error(format!("the environment variable `{}` is empty", name.text))
                    .hint("set it to the secret")
            }
            Ok(value) => return Ok(Some(self.noted(value))),
        };
        Err(Box::new(problem.at(name.place.clone())))
    }

    fn noted(&mut self, text: String) -> Secret {
        let secret = Secret::new(text);
        self.note_secret(secret.clone());
        secret
    }

    /// The value of the variable that `name` names.
    pub(in crate::config) fn variable(&mut self, name: &Text) -> Result<String, Box<Problem>> {
        let shown = quoted(&name.text);
        if !is_variable_name(&name.text) {
            // What stands behind a `=` is the value that the operator meant to hand over; the rest is Base64.
            let shown = match name.text.split_once('=') {
                Some((name, value)) if is_variable_name(name) && !value.trim_matches('=').is_empty() => {
                    quoted(&format!("{name}=…"))
                }
                Some(_) => "this".to_owned(),
                None if name.text.contains(['/', '+']) => "this".to_owned(),
                None => shown,
            };
            if name.text.contains(['=', '/', '+']) {
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

    fn secret_file(&mut self, text: &Text) -> Result<Option<Secret>, Box<Problem>> {
        let Some(path) = self.path(text) else { return Ok(None) };
        if !self.secret_files.contains(&path) {
            self.secret_files.push(path.clone());
        }
        self.files.insert(path.clone());
        let problem = match read(&path) {
            Ok(secret) if secret.is_empty() => {
                Problem::error(format!("the secret file {} is empty", quoted(&text.text)))
                    .hint("put the secret into it")
            }
            Ok(secret) => return Ok(Some(self.noted(secret))),
            Err(error) => files::unreadable("the secret file", &text.text, &path, &error),
        };
        Err(Box::new(problem.at(text.place.clone())))
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
