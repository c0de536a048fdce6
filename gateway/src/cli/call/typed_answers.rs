//! `--answer`: the answers on the command line, and the responses that are sent to the tool. Used by `call`.
//!
//! `KEY.FIELD=VALUE` fills in one field of a form and `KEY={…}` all of them; `KEY=decline` and `KEY=cancel` refuse it.
//! For a question to the model, the value is the model's text; for directories, a path or a URI; for a page, `opened`.
//!
//! Answers are given before the questions are known, and a tool can ask something else the next time. So an answer to
//! one kind of question is invalid for another kind, and each answer is printed when it is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use moongate_model::json;
use moongate_model::text::escaped_line;
use serde_json::{Map, Value, json};
use url::Url;

use super::questions::{OPENED_ANSWER, Question, QuestionKind};
use crate::cli::print;
use crate::cli::schema_fields::{SchemaField, parse_typed};

/// All answers on the command line, each for one question, and those that a person gave on the terminal.
#[derive(Debug, Default)]
pub(super) struct TypedAnswers {
    given: Vec<TypedAnswer>,
    /// True if other questions are asked on the terminal.
    asks_person: bool,
    /// The keys that were already used.
    answered: BTreeSet<String>,
}

#[derive(Debug)]
struct TypedAnswer {
    text: String,
    used: bool,
}

/// The answer that is sent to the tool.
#[derive(Debug, PartialEq)]
pub(super) struct SentAnswer {
    /// The response in the protocol.
    pub(super) response: Value,
    /// The answer as text that fits within a line.
    pub(super) shown: String,
}

/// The values given for one question.
#[derive(Debug, Default)]
struct AnswerParts<'a> {
    /// The values after `KEY=`.
    whole: Vec<&'a str>,
    /// The values after `KEY.`
    parts: Vec<&'a str>,
}

impl TypedAnswers {
    /// Parses the options.
    ///
    /// # Errors
    /// An option isn't a valid answer.
    pub(super) fn read(texts: &[String]) -> Result<Self, String> {
        if let Some(text) = texts.iter().find(|text| text.find('=').is_none_or(|at| at == 0)) {
            let text = print::inline(text);
            return Err(format!(
                "invalid `--answer {text}`: write `--answer KEY=VALUE`, or `KEY.FIELD=VALUE`"
            ));
        }
        let given = texts.iter().map(|text| TypedAnswer { text: text.clone(), used: false }).collect();
        Ok(Self { given, asks_person: false, answered: BTreeSet::new() })
    }

    /// The same answers; a person on the terminal is asked for others.
    pub(super) fn asking_person(self) -> Self {
        Self { asks_person: true, ..self }
    }

    /// True if a person on the terminal can be asked.
    pub(super) fn asks_person(&self) -> bool {
        self.asks_person
    }

    /// Adds answers for one question, which are valid like options.
    pub(super) fn add(&mut self, texts: Vec<String>) {
        self.given.extend(texts.into_iter().map(|text| TypedAnswer { text, used: false }));
    }

    /// The answer to a question; `None` if there is none.
    ///
    /// # Errors
    /// The answer doesn't fit the question.
    pub(super) fn to(&mut self, question: &Question) -> Result<Option<SentAnswer>, String> {
        let mut typed = AnswerParts::default();
        for given in self.given.iter_mut().filter(|given| !given.used) {
            let Some(rest) = given.text.strip_prefix(&question.key) else { continue };
            if let Some(whole) = rest.strip_prefix('=') {
                typed.whole.push(whole);
            } else if let Some(part) = rest.strip_prefix('.') {
                typed.parts.push(part);
            } else {
                continue;
            }
            given.used = true;
        }
        if typed.whole.is_empty() && typed.parts.is_empty() {
            return Ok(None);
        }
        let answer = typed.answer(question);
        self.answered.insert(question.key.clone());
        answer.map(Some).map_err(|why| format!("invalid answer to `{}`: {why}", print::inline(&question.key)))
    }

    /// True if this question was answered before.
    pub(super) fn answered(&self, key: &str) -> bool {
        self.answered.contains(key)
    }

    /// The unused answers.
    pub(super) fn unused(&self) -> Vec<&str> {
        self.given.iter().filter(|given| !given.used).map(|given| given.text.as_str()).collect()
    }
}

impl AnswerParts<'_> {
    fn answer(&self, question: &Question) -> Result<SentAnswer, String> {
        let asks = question.kind();
        if question.is_ambiguous() {
            return Err(
                "the key contains `.` or `=`, so the answer could be for a field of a form".to_owned()
            );
        }
        if let (false, Some(part)) = (asks == QuestionKind::Form, self.parts.first()) {
            let key = print::inline(&question.key);
            let part = print::inline(part);
            return Err(format!("the question has no fields like `{key}.{part}`; write `{key}=VALUE`"));
        }
        match asks {
            QuestionKind::Form => self.form(question),
            QuestionKind::Page => match self.single_value()? {
                OPENED_ANSWER => Ok(SentAnswer {
                    response: json!({ "action": "accept" }),
                    shown: format!("{OPENED_ANSWER} {}", question.member("url")),
                }),
                action @ ("decline" | "cancel") => Ok(refusal(action)),
                other => {
                    Err(format!("`{}` isn't `{OPENED_ANSWER}`, `decline` or `cancel`", print::inline(other)))
                }
            },
            QuestionKind::Model => {
                let text = self.single_value()?;
                let content = json!({ "type": "text", "text": text });
                let response = json!({ "role": "assistant", "content": content, "model": "moongate-call", "stopReason": "endTurn" });
                Ok(SentAnswer { response, shown: shown(&json!(text)) })
            }
            QuestionKind::Directories => {
                let roots = self
                    .whole
                    .iter()
                    .flat_map(|text| directories(text))
                    .map(|directory| directory_uri(&directory));
                let roots = roots.collect::<Result<Vec<String>, String>>()?;
                let shown = if roots.is_empty() { "no directories".to_owned() } else { roots.join(", ") };
                let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
                Ok(SentAnswer { response: json!({ "roots": roots }), shown })
            }
            QuestionKind::Other => {
                Err(format!("`call` doesn't support `{}`", print::inline(question.method())))
            }
        }
    }

    /// The only value.
    fn single_value(&self) -> Result<&str, String> {
        match self.whole.as_slice() {
            [one] => Ok(one),
            _ => Err("there are two answers".to_owned()),
        }
    }

    fn form(&self, question: &Question) -> Result<SentAnswer, String> {
        let fields = question.fields();
        let mut content = match (self.whole.is_empty(), self.parts.is_empty()) {
            (true, _) => form_from_fields(&self.parts, &fields)?,
            (false, true) => match parse_whole_form(self.single_value()?, &fields, &question.key)? {
                WholeForm::Action(action) => return Ok(refusal(action)),
                WholeForm::Content(content) => content,
            },
            (false, false) => return Err("answer the whole form or its fields, not both".to_owned()),
        };
        let member = |name: &str, value: &Value| format!("{}:{}", shown(&json!(name)), shown(value));
        let mut members: Vec<String> = content.iter().map(|(name, value)| member(name, value)).collect();
        for field in fields {
            if let (false, Some(default)) = (content.contains_key(field.name), field.schema.get("default")) {
                content.insert(field.name.to_owned(), default.clone());
                members.push(format!("{} (default)", member(field.name, default)));
            }
        }
        let response = json!({ "action": "accept", "content": content });
        Ok(SentAnswer { response, shown: format!("{{{}}}", members.join(",")) })
    }
}

fn refusal(action: &str) -> SentAnswer {
    SentAnswer { response: json!({ "action": action }), shown: action.to_owned() }
}

/// The maximum length of a value that is shown whole, in characters.
const MAX_SHOWN_CHARS: usize = 200;

/// A value, shortened so that it can't hide the text after it.
fn shown(value: &Value) -> String {
    escaped_line(&value.to_string(), MAX_SHOWN_CHARS)
}

enum WholeForm<'a> {
    Action(&'a str),
    Content(Map<String, Value>),
}

/// A form with a single answer: a refusal, `accept`, all fields as JSON, or its only field.
fn parse_whole_form<'a>(
    text: &'a str,
    fields: &[SchemaField<'_>],
    key: &str,
) -> Result<WholeForm<'a>, String> {
    match (text, fields) {
        ("decline" | "cancel", _) => return Ok(WholeForm::Action(text)),
        ("accept", _) => return Ok(WholeForm::Content(Map::new())),
        _ => {}
    }
    if text.trim_start().starts_with('{') {
        let content = json::parse_strict(text).map_err(|error| format!("not valid JSON: {error}"))?;
        let Value::Object(content) = content else { return Err("not a JSON object".to_owned()) };
        if let Some(name) = content.keys().find(|name| fields.iter().all(|field| field.name != *name)) {
            return Err(unknown_field(name, fields));
        }
        return Ok(WholeForm::Content(content));
    }
    if let [field] = fields {
        return Ok(WholeForm::Content(Map::from_iter([(field.name.to_owned(), value(text, field))])));
    }
    let key = print::inline(key);
    Err(format!("write `{key}.FIELD=VALUE` for each field ({}), or `{key}=decline`", field_names(fields)))
}

/// A form with answers for individual fields.
fn form_from_fields(parts: &[&str], fields: &[SchemaField<'_>]) -> Result<Map<String, Value>, String> {
    let mut typed: BTreeMap<&str, (&SchemaField<'_>, Vec<Value>)> = BTreeMap::new();
    for part in parts {
        // A field's name can contain `=`.
        let meant = fields
            .iter()
            .filter_map(|field| Some((field, part.strip_prefix(field.name)?.strip_prefix('=')?)));
        let Some((field, text)) = meant.max_by_key(|(field, _)| field.name.len()) else {
            return Err(unknown_field(part.split('=').next().unwrap_or(part), fields));
        };
        typed.entry(field.name).or_insert((field, Vec::new())).1.push(value(text, field));
    }
    let mut content = Map::new();
    for (name, (field, mut values)) in typed {
        let is_list = field.schema["type"] == "array";
        let value = match values.len() {
            1 => values.remove(0),
            _ if is_list => values
                .into_iter()
                .flat_map(|value| match value {
                    Value::Array(values) => values,
                    other => vec![other],
                })
                .collect(),
            _ => return Err(format!("there are two values for the field `{}`", print::inline(name))),
        };
        content.insert(name.to_owned(), value);
    }
    Ok(content)
}

/// The value of a field; commas can separate the values of a list.
fn value(text: &str, field: &SchemaField<'_>) -> Value {
    match parse_typed(text, Some(field.schema)) {
        Value::String(text) if field.schema["type"] == "array" => text.split(',').map(str::trim).collect(),
        value => value,
    }
}

fn unknown_field(name: &str, fields: &[SchemaField<'_>]) -> String {
    format!("the form has no field `{}`; its fields are {}", print::inline(name), field_names(fields))
}

fn field_names(fields: &[SchemaField<'_>]) -> String {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", print::inline(field.name))).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Directories on the command line: one, none, or a JSON list.
fn directories(text: &str) -> Vec<String> {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(several) => several,
        Err(_) if text.is_empty() => Vec::new(),
        Err(_) => vec![text.to_owned()],
    }
}

/// The URI of a directory. Text that could answer another kind of question is rejected.
fn directory_uri(directory: &str) -> Result<String, String> {
    if directory.starts_with("file://") {
        return Ok(directory.to_owned());
    }
    let is_path = ["/", "./", "../"].iter().any(|beginning| directory.starts_with(beginning));
    let path = std::path::absolute(Path::new(directory)).ok().filter(|_| is_path);
    let uri = path.and_then(|path| Url::from_file_path(path).ok());
    let uri = uri.ok_or_else(|| {
        let directory = print::inline(directory);
        format!(
            "`{directory}` isn't a directory: start its path with `/`, `./` or `../`, or its URI with `file://`"
        )
    })?;
    Ok(uri.into())
}

#[cfg(test)]
mod tests;
