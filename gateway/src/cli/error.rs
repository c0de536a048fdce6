//! The error of a command: messages on stderr, and with `--format json` also a document on stdout.

use moongate_config::{ConfigSource, Diagnostic};
use moongate_model::text::escaped_line;
use serde_json::{Value, json};

use crate::cli::print::MAX_LINE_CHARS;
use crate::cli::stderr::StderrMessages;
use crate::cli::{ExitKind, print};
use crate::supervisor::SupervisorStartError;

/// The result of a command.
pub(super) type CommandResult = Result<ExitKind, CommandError>;

/// The error of a command.
#[derive(Debug)]
pub(super) struct CommandError {
    exit: ExitKind,
    /// The errors of the document.
    errors: Vec<Value>,
    /// Other members of the document.
    members: Vec<(&'static str, Value)>,
    /// The messages for stderr.
    messages: StderrMessages,
}

impl CommandError {
    /// An error with this exit code and no message yet.
    pub(super) fn new(exit: ExitKind) -> Self {
        Self { exit, errors: Vec::new(), members: Vec::new(), messages: StderrMessages::default() }
    }

    /// Adds a message and a hint.
    pub(super) fn message(self, message: &str, hint: Option<&str>) -> Self {
        self.message_with_details(message, "", hint)
    }

    /// Adds a message, details on lines of their own, and a hint.
    pub(super) fn message_with_details(self, message: &str, about: &str, hint: Option<&str>) -> Self {
        self.add_error(message, hint).messages(StderrMessages::error(message, about, hint))
    }

    /// Adds a message to the document only, because it was already printed.
    pub(super) fn add_error(mut self, message: &str, hint: Option<&str>) -> Self {
        self.errors.push(error(message, hint));
        self
    }

    /// The exit code.
    pub(super) fn exit(&self) -> ExitKind {
        self.exit
    }

    /// The first message. Empty if there is none.
    pub(super) fn first_message(&self) -> String {
        let first = self.errors.first().and_then(|error| error["message"].as_str());
        first.unwrap_or_default().to_owned()
    }

    /// Adds the problems of the configuration.
    pub(super) fn diagnostics(mut self, problems: &[Diagnostic], source: &ConfigSource) -> Self {
        self.errors.extend(errors(problems));
        self.messages(StderrMessages::diagnostics(problems, source))
    }

    /// Inserts earlier problems, which were already printed, into the document.
    pub(super) fn preceded_by(mut self, problems: &[Diagnostic]) -> Self {
        self.errors.splice(..0, errors(problems));
        self
    }

    /// Adds lines for stderr.
    pub(super) fn notes(self, text: &str) -> Self {
        self.messages(StderrMessages::lines(text))
    }

    /// Adds messages for stderr.
    pub(super) fn messages(mut self, messages: StderrMessages) -> Self {
        self.messages.append(messages);
        self
    }

    /// Adds a member to the document.
    pub(super) fn member(mut self, name: &'static str, value: Value) -> Self {
        self.members.push((name, value));
        self
    }

    /// Prints the error, also as a document if `is_json`; returns the exit code.
    pub(super) fn report(self, is_json: bool) -> ExitKind {
        let Self { exit, errors, members, messages } = self;
        messages.print();
        if is_json {
            let mut document = json!({ "errors": errors });
            for (name, value) in members {
                document[name] = value;
            }
            let _ = print::json(&document); // a closed stdout can't be reported
        }
        exit
    }
}

fn error(message: &str, hint: Option<&str>) -> Value {
    let line = |text: &str| escaped_line(text, MAX_LINE_CHARS);
    let message = line(message);
    let hint = hint.map(line);
    json!({ "message": message, "hint": hint })
}

fn errors(problems: &[Diagnostic]) -> Vec<Value> {
    let errors = problems.iter().filter(|problem| problem.is_error());
    errors.map(|problem| error(&problem.message, problem.hint.as_deref())).collect()
}

impl From<anyhow::Error> for CommandError {
    fn from(error: anyhow::Error) -> Self {
        Self::new(ExitKind::Failure).message(&format!("{error:#}"), None)
    }
}

impl From<SupervisorStartError> for CommandError {
    fn from(error: SupervisorStartError) -> Self {
        anyhow::Error::new(error).into()
    }
}
