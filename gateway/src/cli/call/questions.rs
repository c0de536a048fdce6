//! A tool's questions, and the options that answer them. Used by `call`.

use serde_json::{Value, json};

use crate::cli::print;
use crate::cli::schema_fields::{ExampleBudget, SchemaField, field_lines, fields};

/// One question.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// The question's key, chosen by the tool.
    pub(super) key: String,
    /// The request in the protocol: `method` and `params`.
    pub(super) request: Value,
}

/// The kind of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionKind {
    /// A form for the user.
    Form,
    /// A page for the user to open.
    Page,
    /// A question to the model.
    Model,
    /// The client's directories.
    Directories,
    /// An unsupported kind.
    Other,
}

/// The answer that accepts a page; it accepts no other kind of question.
pub(super) const OPENED_ANSWER: &str = "opened";

/// An answer as an option, with text from the tool escaped.
pub(super) fn answer_option(answer: &str) -> String {
    format!("--answer {}", print::shell_word(&print::inline(answer)))
}

impl Question {
    /// The questions of a result, longest keys first, because one key can be a prefix of another.
    pub(super) fn all(result: &Value) -> Vec<Self> {
        let requests = result["inputRequests"].as_object().into_iter().flatten();
        let mut all: Vec<Self> =
            requests.map(|(key, request)| Self { key: key.clone(), request: request.clone() }).collect();
        all.sort_by_key(|question| std::cmp::Reverse(question.key.len()));
        all
    }

    pub(super) fn kind(&self) -> QuestionKind {
        match (self.method(), self.request["params"]["mode"].as_str()) {
            ("elicitation/create", Some("url")) => QuestionKind::Page,
            ("elicitation/create", _) => QuestionKind::Form,
            ("sampling/createMessage", _) => QuestionKind::Model,
            ("roots/list", _) => QuestionKind::Directories,
            _ => QuestionKind::Other,
        }
    }

    /// The method of the protocol.
    pub(super) fn method(&self) -> &str {
        self.request["method"].as_str().unwrap_or_default()
    }

    /// The fields of a form.
    pub(super) fn fields(&self) -> Vec<SchemaField<'_>> {
        fields(&self.request["params"]["requestedSchema"])
    }

    /// The question as JSON.
    pub(super) fn document(&self) -> Value {
        let Self { key, request } = self;
        json!({ "key": key, "method": request["method"], "params": request["params"], "answers": self.answers() })
    }

    /// The question as several lines of text.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![format!("  `{}` {}", print::inline(&self.key), self.sentence())];
        match self.kind() {
            QuestionKind::Form => {
                lines.extend(field_lines(&self.fields()).iter().map(|line| format!("    {line}")))
            }
            QuestionKind::Page => lines.push(format!("    the page: {}", self.member("url"))),
            QuestionKind::Model => lines.extend(self.messages()),
            QuestionKind::Directories | QuestionKind::Other => {}
        }
        let options = self.answers().iter().map(|answer| answer_option(answer)).collect::<Vec<_>>().join(" ");
        match self.kind() {
            QuestionKind::Form | QuestionKind::Page => {
                let [decline, cancel] =
                    ["decline", "cancel"].map(|no| answer_option(&format!("{}={no}", self.key)));
                lines.push(format!("    {options}, or {decline}, or {cancel}"));
                if let (Some(field), true) = (self.fields().first(), self.unfilled_fields().is_empty()) {
                    let field =
                        answer_option(&format!("{}.{}", self.key, field.example(&mut ExampleBudget::new())));
                    lines.push(format!("    to set a field: {field}"));
                }
            }
            QuestionKind::Model | QuestionKind::Directories if !options.is_empty() => {
                lines.push(format!("    {options}"))
            }
            QuestionKind::Model | QuestionKind::Directories | QuestionKind::Other => {}
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The question as the predicate of a sentence.
    pub(super) fn sentence(&self) -> String {
        match self.kind() {
            QuestionKind::Form => format!("asks the user: {}", self.member("message")),
            QuestionKind::Page => format!("asks the user to open a page: {}", self.member("message")),
            QuestionKind::Model => "asks the model".to_owned(),
            QuestionKind::Directories => "asks for the client's directories".to_owned(),
            QuestionKind::Other => {
                format!("sends `{}`, which `call` doesn't support", print::inline(self.method()))
            }
        }
    }

    pub(super) fn member(&self, key: &str) -> String {
        print::inline(self.request["params"][key].as_str().unwrap_or_default())
    }

    /// The messages to the model.
    pub(super) fn messages(&self) -> Vec<String> {
        let params = &self.request["params"];
        let system =
            params["systemPrompt"].as_str().map(|text| format!("    system: {}", print::inline(text)));
        let messages = params["messages"].as_array().into_iter().flatten();
        let blocks = messages.flat_map(|message| {
            let role = message["role"].as_str().unwrap_or_default();
            let blocks = match &message["content"] {
                Value::Array(blocks) => blocks.iter().collect(),
                block => vec![block],
            };
            blocks.into_iter().map(move |block| {
                let kind = block["type"].as_str().unwrap_or_default();
                let text = block["text"]
                    .as_str()
                    .map_or_else(|| format!("[{}]", print::inline(kind)), print::inline);
                format!("    {}: {text}", print::inline(role))
            })
        });
        system.into_iter().chain(blocks).collect()
    }

    /// The required fields without a default.
    fn unfilled_fields(&self) -> Vec<SchemaField<'_>> {
        let is_needed = |field: &SchemaField<'_>| field.required && field.schema.get("default").is_none();
        self.fields().into_iter().filter(is_needed).collect()
    }

    /// True if an answer could also be for a field of a form; a tool could choose such a key on purpose.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.kind() != QuestionKind::Form && self.key.contains(['.', '='])
    }

    /// The values of `--answer` that accept the question; empty if it can't be answered.
    pub(super) fn answers(&self) -> Vec<String> {
        let key = &self.key;
        if self.is_ambiguous() {
            return Vec::new();
        }
        match self.kind() {
            QuestionKind::Form => {
                let unfilled_fields = self.unfilled_fields();
                let mut budget = ExampleBudget::new();
                let fields =
                    unfilled_fields.iter().map(|field| format!("{key}.{}", field.example(&mut budget)));
                if unfilled_fields.is_empty() { vec![format!("{key}=accept")] } else { fields.collect() }
            }
            QuestionKind::Page => vec![format!("{key}={OPENED_ANSWER}")],
            QuestionKind::Model => vec![format!("{key}=text of the reply")],
            QuestionKind::Directories => vec![format!("{key}=./")],
            QuestionKind::Other => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
