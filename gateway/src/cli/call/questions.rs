//! What a tool asks, as a client is asked it, and the options that would answer. Used by `call`.

use serde_json::{Value, json};

use crate::cli::fields::{Field, Room, fields, lines};
use crate::cli::print;

/// One question.
#[derive(Debug, Clone)]
pub(super) struct Question {
    /// The tool's name for it.
    pub(super) key: String,
    /// The request as the protocol has it: `method` and `params`.
    pub(super) request: Value,
}

/// What is asked, of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// A person, field by field.
    Form,
    /// A person, to open a page.
    Page,
    /// A model.
    Model,
    /// The host, for folders.
    Folders,
    /// What nobody knows here.
    Other,
}

/// What agrees to a page: nothing that agrees to anything else.
pub(super) const OPENED: &str = "opened";

/// An answer as it is typed, also where somebody else chose its words.
pub(super) fn option(answer: &str) -> String {
    format!("--answer {}", print::word(&print::said(answer)))
}

impl Question {
    /// The questions of a result that asks, longest keys first: a shorter one may be the beginning of a longer one.
    pub(super) fn all(result: &Value) -> Vec<Self> {
        let requests = result["inputRequests"].as_object().into_iter().flatten();
        let mut all: Vec<Self> =
            requests.map(|(key, request)| Self { key: key.clone(), request: request.clone() }).collect();
        all.sort_by_key(|question| std::cmp::Reverse(question.key.len()));
        all
    }

    pub(super) fn asks(&self) -> Asks {
        match (self.method(), self.request["params"]["mode"].as_str()) {
            ("elicitation/create", Some("url")) => Asks::Page,
            ("elicitation/create", _) => Asks::Form,
            ("sampling/createMessage", _) => Asks::Model,
            ("roots/list", _) => Asks::Folders,
            _ => Asks::Other,
        }
    }

    /// The method of the protocol that asks it.
    pub(super) fn method(&self) -> &str {
        self.request["method"].as_str().unwrap_or_default()
    }

    /// The fields of a form.
    pub(super) fn fields(&self) -> Vec<Field<'_>> {
        fields(&self.request["params"]["requestedSchema"])
    }

    /// For programs.
    pub(super) fn document(&self) -> Value {
        let Self { key, request } = self;
        json!({ "key": key, "method": request["method"], "params": request["params"], "answers": self.answers() })
    }

    /// For people, over several lines.
    pub(super) fn text(&self) -> String {
        let mut told = vec![format!("  `{}` {}", print::said(&self.key), self.sentence())];
        match self.asks() {
            Asks::Form => told.extend(lines(&self.fields()).iter().map(|line| format!("    {line}"))),
            Asks::Page => told.push(format!("    the page: {}", self.member("url"))),
            Asks::Model => told.extend(self.messages()),
            Asks::Folders | Asks::Other => {}
        }
        let options = self.answers().iter().map(|answer| option(answer)).collect::<Vec<_>>().join(" ");
        match self.asks() {
            Asks::Form | Asks::Page => {
                let [decline, cancel] = ["decline", "cancel"].map(|no| option(&format!("{}={no}", self.key)));
                told.push(format!("    {options}, or {decline}, or {cancel}"));
                if let (Some(field), true) = (self.fields().first(), self.needed().is_empty()) {
                    let field = option(&format!("{}.{}", self.key, field.example(&mut Room::new())));
                    told.push(format!("    and for a field: {field}"));
                }
            }
            Asks::Model | Asks::Folders if !options.is_empty() => told.push(format!("    {options}")),
            Asks::Model | Asks::Folders | Asks::Other => {}
        }
        told.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Who is asked what.
    pub(super) fn sentence(&self) -> String {
        match self.asks() {
            Asks::Form => format!("asks a person: {}", self.member("message")),
            Asks::Page => format!("asks a person to open a page: {}", self.member("message")),
            Asks::Model => "asks the model".to_owned(),
            Asks::Folders => "asks for the folders that the client works in".to_owned(),
            Asks::Other => format!("asks by `{}`, which `call` doesn't know", print::said(self.method())),
        }
    }

    pub(super) fn member(&self, key: &str) -> String {
        print::said(self.request["params"][key].as_str().unwrap_or_default())
    }

    /// What the model is asked.
    fn messages(&self) -> Vec<String> {
        let params = &self.request["params"];
        let system = params["systemPrompt"].as_str().map(|text| format!("    system: {}", print::said(text)));
        let messages = params["messages"].as_array().into_iter().flatten();
        let blocks = messages.flat_map(|message| {
            let role = message["role"].as_str().unwrap_or_default();
            let blocks = match &message["content"] {
                Value::Array(blocks) => blocks.iter().collect(),
                block => vec![block],
            };
            blocks.into_iter().map(move |block| {
                let kind = block["type"].as_str().unwrap_or_default();
                let said =
                    block["text"].as_str().map_or_else(|| format!("[{}]", print::said(kind)), print::said);
                format!("    {}: {said}", print::said(role))
            })
        });
        system.into_iter().chain(blocks).collect()
    }

    /// The fields without which a form isn't filled in.
    fn needed(&self) -> Vec<Field<'_>> {
        let is_needed = |field: &Field<'_>| field.required && field.schema.get("default").is_none();
        self.fields().into_iter().filter(is_needed).collect()
    }

    /// Could an answer to it be meant for the field of a form? Whoever asks could have chosen the key for that.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.asks() != Asks::Form && self.key.contains(['.', '='])
    }

    /// What `--answer` would be given, once each, to say yes; nothing where nothing can be said.
    pub(super) fn answers(&self) -> Vec<String> {
        let key = &self.key;
        if self.is_ambiguous() {
            return Vec::new();
        }
        match self.asks() {
            Asks::Form => {
                let (needed, mut room) = (self.needed(), Room::new());
                let fields = needed.iter().map(|field| format!("{key}.{}", field.example(&mut room)));
                if needed.is_empty() { vec![format!("{key}=accept")] } else { fields.collect() }
            }
            Asks::Page => vec![format!("{key}={OPENED}")],
            Asks::Model => vec![format!("{key}=what the model says")],
            Asks::Folders => vec![format!("{key}=./")],
            Asks::Other => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
