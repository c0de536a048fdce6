//! `{ env = "NAME" }` and `{ file = "path" }`: references to secrets outside the file.

use std::env::VarError;

use super::environment::{Environment, is_variable_name, nearest_variable};
use super::paths;
use super::reader::{ConfigReader, TomlString, TomlTable, TomlValue};
use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, Secret};
use crate::spec::keys::{SECRET, ValueKind};

impl ConfigReader<'_> {
    /// Reads a secret. It is never empty.
    pub(crate) fn secret(&mut self, value: &TomlValue<'_>) -> Option<Secret> {
        let read = self.optional_secret(value);
        self.or_report(read)
    }

    /// Reads a secret that isn't always needed.
    ///
    /// # Errors
    /// The variable or file can't be read. The caller must report this.
    pub(crate) fn optional_secret(
        &mut self,
        value: &TomlValue<'_>,
    ) -> Result<Option<Secret>, Box<Diagnostic>> {
        if !value.inner.is_table() {
            self.report_wrong_type(value, &ValueKind::Secret);
            return Ok(None);
        }
        let reported = self.problems.len();
        match self.as_table(value, SECRET) {
            Some(table) => self.resolve_secret(&table, value, reported),
            None => Ok(None),
        }
    }

    /// Reads the secret that a table with more keys refers to. `reported` is the number of problems before the table was
    /// read.
    pub(crate) fn secret_in(
        &mut self,
        table: &TomlTable<'_>,
        value: &TomlValue<'_>,
        reported: usize,
    ) -> Option<Secret> {
        let read = self.resolve_secret(table, value, reported);
        self.or_report(read)
    }

    fn or_report(&mut self, read: Result<Option<Secret>, Box<Diagnostic>>) -> Option<Secret> {
        read.unwrap_or_else(|problem| {
            self.report(*problem);
            None
        })
    }

    fn resolve_secret(
        &mut self,
        table: &TomlTable<'_>,
        value: &TomlValue<'_>,
        reported: usize,
    ) -> Result<Option<Secret>, Box<Diagnostic>> {
        if table.get("env").is_some() == table.get("file").is_some() {
            if self.problems.len() == reported {
                let message = format!("`{}` must be {}", value.path, ValueKind::Secret.expected());
                let problem = Diagnostic::error(message).with_span(value.span.clone());
                self.report(problem.with_hint("use exactly one of the two"));
            }
            return Ok(None);
        }
        let variable = self.string(table, "env");
        let file = self.string(table, "file");
        match (variable, file) {
            (Some(name), _) => self.secret_variable(&name),
            (None, Some(path)) => self.secret_file(&path),
            (None, None) => Ok(None),
        }
    }

    fn secret_variable(&mut self, name: &TomlString) -> Result<Option<Secret>, Box<Diagnostic>> {
        if !is_variable_name(name.text.trim_start_matches('$')) {
            self.secret_spans.push(name.span.clone()); // it can be the secret itself
            let problem =
                Diagnostic::error("invalid name of an environment variable").with_span(name.span.clone());
            self.report(
                problem.with_hint("write the name of the variable that holds the secret, without `$`"),
            );
            return Ok(None);
        }
        let problem = match self.named_variable(name, |environment, name| environment.secret(name)) {
            Err(problem) => *problem,
            Ok(value) if value.is_empty() => {
                Diagnostic::error(format!("environment variable `{}` is empty", name.text))
                    .with_hint("set it to the secret")
            }
            Ok(value) => return Ok(Some(self.added_secret(value))),
        };
        Err(Box::new(problem.with_span(name.span.clone())))
    }

    fn added_secret(&mut self, text: String) -> Secret {
        let secret = Secret::new(text);
        self.add_secret(secret.clone());
        secret
    }

    /// The value of the variable that `name` names.
    pub(crate) fn variable(&mut self, name: &TomlString) -> Result<String, Box<Diagnostic>> {
        self.named_variable(name, |environment, name| environment.variable(name))
    }

    fn named_variable(
        &mut self,
        name: &TomlString,
        look_up: impl FnOnce(&dyn Environment, &str) -> Result<String, VarError>,
    ) -> Result<String, Box<Diagnostic>> {
        if !is_variable_name(&name.text) {
            let is_name = name.text.chars().all(|c| c.is_ascii_alphanumeric() || "_-$. ".contains(c));
            let problem = if is_name {
                Diagnostic::error(format!("invalid name of an environment variable: {}", quoted(&name.text)))
            } else {
                self.secret_spans.push(name.span.clone()); // it can be the value of the variable
                Diagnostic::error("invalid name of an environment variable")
            };
            return Err(Box::new(problem.with_hint("write the name alone, without `$` and `=`")));
        }
        let shown = quoted(&name.text);
        look_up(self.environment, &name.text).map_err(|error| {
            Box::new(match error {
                VarError::NotPresent => {
                    let problem = Diagnostic::error(format!("environment variable {shown} isn't set"));
                    match nearest_variable(&name.text, self.environment) {
                        Some(other) => problem.with_hint(format!("did you mean `{other}`, which is set?")),
                        None => problem.with_hint("set it, or remove this entry"),
                    }
                }
                VarError::NotUnicode(_) => {
                    Diagnostic::error(format!("environment variable {shown} isn't valid UTF-8"))
                        .with_hint("set it to valid UTF-8")
                }
            })
        })
    }

    fn secret_file(&mut self, text: &TomlString) -> Result<Option<Secret>, Box<Diagnostic>> {
        let Some(path) = self.path(text) else { return Ok(None) };
        if !self.secret_files.contains(&path) {
            self.secret_files.push(path.clone());
        }
        self.files.insert(path.clone());
        let problem = match self.environment.secret_file(&path) {
            Ok(secret) if secret.is_empty() => {
                Diagnostic::error(format!("the secret file {} is empty", quoted(&text.text)))
                    .with_hint("write the secret to it")
            }
            Ok(secret) => return Ok(Some(self.added_secret(secret))),
            Err(error) => paths::unreadable("the secret file", &text.text, &path, &error),
        };
        Err(Box::new(problem.with_span(text.span.clone())))
    }
}
