//! `--answer`: what is typed as an answer to a question, and what the tool is told. Used by `call`.
//!
//! `KEY.FIELD=VALUE` fills in one field of a form and `KEY={…}` all of them; `KEY=decline` and `KEY=cancel` say no. To a
//! model's question the value is what the model says, to one for folders a path or a URI, to a page `opened`.
//!
//! Answers are typed before it is known who asks what, and whoever asks may ask something else the next time. So what
//! answers one kind of question doesn't read as an answer to another, and what is sent is said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use moongate_model::json;
use serde_json::{Map, Value, json};
use url::Url;

use super::questions::{Asks, OPENED, Question};
use crate::cli::fields::{Field, read};
use crate::cli::print;

/// Answers, each for one question, whenever it comes.
#[derive(Debug, Default)]
pub(super) struct Answers {
    given: Vec<Given>,
    /// The keys that were answered.
    answered: BTreeSet<String>,
}

#[derive(Debug)]
struct Given {
    text: String,
    used: bool,
}

/// What the tool is told.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// As the protocol has it.
    pub(super) response: Value,
    /// For whoever typed it, as a part of a line.
    pub(super) shown: String,
}

/// What was typed for one question.
#[derive(Debug, Default)]
struct Typed<'a> {
    /// What stands behind `KEY=`.
    whole: Vec<&'a str>,
    /// What stands behind `KEY.`
    parts: Vec<&'a str>,
}

impl Answers {
    /// Takes what was typed; an error says what is no answer.
    pub(super) fn read(texts: &[String]) -> Result<Self, String> {
        if let Some(text) = texts.iter().find(|text| text.find('=').is_none_or(|at| at == 0)) {
            let text = print::said(text);
            return Err(format!(
                "`--answer {text}` is no answer: write `--answer KEY=VALUE`, or `KEY.FIELD=VALUE`"
            ));
        }
        let given = texts.iter().map(|text| Given { text: text.clone(), used: false }).collect();
        Ok(Self { given, answered: BTreeSet::new() })
    }

    /// The answer to a question; none: nobody gave one. An error says what doesn't fit it.
    pub(super) fn to(&mut self, question: &Question) -> Result<Option<Answer>, String> {
        let mut typed = Typed::default();
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
        answer
            .map(Some)
            .map_err(|why| format!("the answer to `{}` can't be given: {why}", print::said(&question.key)))
    }

    /// Was this question answered before?
    pub(super) fn answered(&self, key: &str) -> bool {
        self.answered.contains(key)
    }

    /// What nobody asked for.
    pub(super) fn unused(&self) -> Vec<&str> {
        self.given.iter().filter(|given| !given.used).map(|given| given.text.as_str()).collect()
    }
}

impl Typed<'_> {
    fn answer(&self, question: &Question) -> Result<Answer, String> {
        let asks = question.asks();
        if question.is_ambiguous() {
            return Err("with a `.` or `=` in its key it can't be told from one to a form".to_owned());
        }
        if let (false, Some(part)) = (asks == Asks::Form, self.parts.first()) {
            let (key, part) = (print::said(&question.key), print::said(part));
            return Err(format!("it has no fields, so `{key}.{part}` means nothing; write `{key}=VALUE`"));
        }
        match asks {
            Asks::Form => self.form(question),
            Asks::Page => match self.one()? {
                OPENED => Ok(Answer {
                    response: json!({ "action": "accept" }),
                    shown: format!("{OPENED} {}", question.member("url")),
                }),
                action @ ("decline" | "cancel") => Ok(no(action)),
                other => {
                    Err(format!("`{}` is neither `{OPENED}` nor `decline` nor `cancel`", print::said(other)))
                }
            },
            Asks::Model => {
                let text = self.one()?;
                let content = json!({ "type": "text", "text": text });
                let response = json!({ "role": "assistant", "content": content, "model": "moongate-call", "stopReason": "endTurn" });
                Ok(Answer { response, shown: shown(&json!(text)) })
            }
            Asks::Folders => {
                let roots = self.whole.iter().flat_map(|text| folders(text)).map(|folder| root(&folder));
                let roots = roots.collect::<Result<Vec<String>, String>>()?;
                let shown = if roots.is_empty() { "no folders".to_owned() } else { roots.join(", ") };
                let roots: Vec<Value> = roots.iter().map(|uri| json!({ "uri": uri })).collect();
                Ok(Answer { response: json!({ "roots": roots }), shown })
            }
            Asks::Other => Err(format!("`call` doesn't know `{}`", print::said(question.method()))),
        }
    }

    /// The only value.
    fn one(&self) -> Result<&str, String> {
        match self.whole.as_slice() {
            [one] => Ok(one),
            _ => Err("it is given twice".to_owned()),
        }
    }

    fn form(&self, question: &Question) -> Result<Answer, String> {
        let fields = question.fields();
        let mut content = match (self.whole.is_empty(), self.parts.is_empty()) {
            (true, _) => filled(&self.parts, &fields)?,
            (false, true) => match whole(self.one()?, &fields, &question.key)? {
                Whole::Action(action) => return Ok(no(action)),
                Whole::Content(content) => content,
            },
            (false, false) => return Err("it is given as a whole and by its fields; choose one".to_owned()),
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
        Ok(Answer { response, shown: format!("{{{}}}", members.join(",")) })
    }
}

fn no(action: &str) -> Answer {
    Answer { response: json!({ "action": action }), shown: action.to_owned() }
}

/// The longest value that is said whole, in characters.
const SHOWN: usize = 200;

/// A value, cut where it would hide what stands behind it.
fn shown(value: &Value) -> String {
    print::line(&value.to_string(), SHOWN)
}

enum Whole<'a> {
    Action(&'a str),
    Content(Map<String, Value>),
}

/// A form that is answered at once: by a no, by a yes, by all fields as JSON, or by its only field.
fn whole<'a>(text: &'a str, fields: &[Field<'_>], key: &str) -> Result<Whole<'a>, String> {
    match (text, fields) {
        ("decline" | "cancel", _) => return Ok(Whole::Action(text)),
        ("accept", _) => return Ok(Whole::Content(Map::new())),
        _ => {}
    }
    if text.trim_start().starts_with('{') {
        let content = json::parse_strict(text).map_err(|error| format!("it is no JSON: {error}"))?;
        let Value::Object(content) = content else { return Err("it is no JSON object".to_owned()) };
        if let Some(name) = content.keys().find(|name| fields.iter().all(|field| field.name != *name)) {
            return Err(no_field(name, fields));
        }
        return Ok(Whole::Content(content));
    }
    if let [field] = fields {
        return Ok(Whole::Content(Map::from_iter([(field.name.to_owned(), value(text, field))])));
    }
    let key = print::said(key);
    Err(format!("write `{key}.FIELD=VALUE` for each field ({}), or `{key}=decline`", names(fields)))
}

/// A form that is answered by its fields.
fn filled(parts: &[&str], fields: &[Field<'_>]) -> Result<Map<String, Value>, String> {
    let mut typed: BTreeMap<&str, (&Field<'_>, Vec<Value>)> = BTreeMap::new();
    for part in parts {
        // A field's name may itself hold `=`.
        let meant = fields
            .iter()
            .filter_map(|field| Some((field, part.strip_prefix(field.name)?.strip_prefix('=')?)));
        let Some((field, text)) = meant.max_by_key(|(field, _)| field.name.len()) else {
            return Err(no_field(part.split('=').next().unwrap_or(part), fields));
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
            _ => return Err(format!("the field `{}` is given twice", print::said(name))),
        };
        content.insert(name.to_owned(), value);
    }
    Ok(content)
}

/// A field's value; several of a list may stand in one text, with commas between them.
fn value(text: &str, field: &Field<'_>) -> Value {
    match read(text, Some(field.schema)) {
        Value::String(text) if field.schema["type"] == "array" => text.split(',').map(str::trim).collect(),
        value => value,
    }
}

fn no_field(name: &str, fields: &[Field<'_>]) -> String {
    format!("the form has no field `{}`; it has {}", print::said(name), names(fields))
}

fn names(fields: &[Field<'_>]) -> String {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", print::said(field.name))).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Folders as they are typed: one, none, or a JSON list of several.
fn folders(text: &str) -> Vec<String> {
    match serde_json::from_str::<Vec<String>>(text) {
        Ok(several) => several,
        Err(_) if text.is_empty() => Vec::new(),
        Err(_) => vec![text.to_owned()],
    }
}

/// A folder as clients name it. What may be the answer to something else is none.
fn root(folder: &str) -> Result<String, String> {
    if folder.starts_with("file://") {
        return Ok(folder.to_owned());
    }
    let is_path = ["/", "./", "../"].iter().any(|beginning| folder.starts_with(beginning));
    let path = std::path::absolute(Path::new(folder)).ok().filter(|_| is_path);
    let uri = path.and_then(|path| Url::from_file_path(path).ok());
    let uri = uri.ok_or_else(|| {
        let folder = print::said(folder);
        format!("`{folder}` is no folder: begin its path with `/`, `./` or `../`, or its URI with `file://`")
    })?;
    Ok(uri.into())
}

#[cfg(test)]
mod tests;
