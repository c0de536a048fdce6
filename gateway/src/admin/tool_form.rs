//! HTML forms made from JSON Schemas: the fields, and the values that a browser sends for them. Schemas come from plugins,
//! so inputs are named by their position, and never by their names.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};

use moongate_model::json;
use serde_json::Value;
use url::form_urlencoded;

use crate::input_schema::{choices, fields, types};

/// The maximum number of fields. Others can be set in the JSON text.
const MAX_FORM_FIELDS: usize = 100;

/// The maximum number of choices of a field.
const MAX_FORM_CHOICES: usize = 500;

/// The maximum number of choices of a form. Further fields are JSON text.
const MAX_CHOICES_OF_FORM: usize = 2_000;

/// The maximum length of a default that a form shows, in bytes.
const MAX_DEFAULT_BYTES: usize = 16 * 1024;

/// The maximum number of inputs that are read. Forms have fewer: a tool can ask 16 questions with 64 fields each.
const MAX_INPUTS: usize = 4096;

/// The values of a submitted form, by the names of its inputs.
#[derive(Debug, Default)]
pub(super) struct FormValues(HashMap<String, String>);

/// The errors of a form, by the names of its inputs.
pub(super) type FormErrors = BTreeMap<String, String>;

/// The way in which a value is entered.
#[derive(Debug, PartialEq)]
pub(super) enum FieldControl<'s> {
    /// Text in one line, because its format is that of a line.
    Line,
    /// Text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// One of these values, with their titles.
    Choice(Vec<(&'s Value, Option<&'s str>)>),
    /// JSON text.
    Json,
}

/// A field of a form.
#[derive(Debug)]
pub(super) struct FormField<'s> {
    /// The name of its input.
    pub(super) input: String,
    /// The name of the member.
    pub(super) name: &'s str,
    /// Its title, if it has one.
    pub(super) title: Option<&'s str>,
    /// Its description, if it has one.
    pub(super) description: Option<&'s str>,
    pub(super) is_required: bool,
    pub(super) control: FieldControl<'s>,
    default: Option<&'s Value>,
}

impl FormValues {
    /// The values in the body of a form.
    pub(super) fn parse(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().take(MAX_INPUTS).collect())
    }

    /// The value of an input.
    pub(super) fn get(&self, input: &str) -> Option<&str> {
        self.0.get(input).map(String::as_str)
    }

    /// The value of an input, unless it is empty.
    pub(super) fn filled(&self, input: &str) -> Option<&str> {
        self.get(input).filter(|text| !text.trim().is_empty())
    }

    /// The value of one input.
    pub(super) fn of_input(input: &str, value: String) -> Self {
        Self(HashMap::from([(input.to_owned(), value)]))
    }

    /// The values of a form that shows the members of an object. `None` if the form would send another object. `members`
    /// is the object's JSON text. Fields show large values only if they are strings.
    pub(super) fn of_members(fields: &[FormField<'_>], members: &str) -> Option<Self> {
        let fields: HashMap<&str, &FormField<'_>> = fields.iter().map(|field| (field.name, field)).collect();
        let mut shown = HashMap::new();
        let shows_all = json::visit_members(members, |name, value| {
            let is_shown = value.len() <= MAX_DEFAULT_BYTES || json::type_of_text(value) == "string";
            let field = fields.get(&*name).filter(|_| is_shown).ok_or(())?;
            shown.insert(field.input.clone(), field.exact_text(value).ok_or(())?);
            Ok::<_, ()>(())
        });
        shows_all.is_ok().then_some(Self(shown))
    }
}

/// At most `most` bytes of the indented JSON text of a value, and whether it is complete. Indentation can make a text many
/// times as long.
pub(super) fn indented(value: &Value, most: usize) -> (String, bool) {
    let mut text = CappedText { text: String::new(), most };
    let is_complete = write!(text, "{value:#}").is_ok();
    (text.text, is_complete)
}

/// Text that ends with an error at its maximum length, in bytes.
struct CappedText {
    text: String,
    most: usize,
}

impl fmt::Write for CappedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.most - self.text.len();
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        self.text.push_str(&part[..part.floor_char_boundary(room)]);
        Err(fmt::Error)
    }
}

/// The fields for the members of an object. The names of their inputs begin with `prefix`.
pub(super) fn form_fields<'s>(schema: &'s Value, prefix: &str) -> Vec<FormField<'s>> {
    let members = fields(schema).into_iter().take(MAX_FORM_FIELDS).enumerate();
    let mut choices_left = MAX_CHOICES_OF_FORM;
    let form_fields = members.map(|(at, member)| {
        let own = schema["properties"].get(member.name).unwrap_or(member.schema);
        let text = |key: &str| own[key].as_str().or_else(|| member.schema[key].as_str());
        FormField {
            input: format!("{prefix}{at}"),
            name: member.name,
            title: text("title"),
            description: text("description"),
            is_required: member.required,
            control: control(member.schema, &mut choices_left),
            default: own.get("default").or_else(|| member.schema.get("default")),
        }
    });
    form_fields.collect()
}

fn control<'s>(schema: &'s Value, choices_left: &mut usize) -> FieldControl<'s> {
    let most = MAX_FORM_CHOICES.min(*choices_left);
    let choices = choices(schema, most + 1);
    if !choices.is_empty() && choices.len() <= most {
        *choices_left -= choices.len();
        return FieldControl::Choice(choices);
    }
    match *types(schema) {
        ["string"] if schema["format"].is_string() => FieldControl::Line,
        ["string"] => FieldControl::Text,
        ["integer" | "number"] => FieldControl::Number,
        ["boolean"] => FieldControl::Boolean,
        _ => FieldControl::Json,
    }
}

impl FormField<'_> {
    /// The text that the form shows at first.
    pub(super) fn initial_text(&self) -> String {
        self.default.map(|value| self.text(value)).unwrap_or_default()
    }

    /// The text of a value in this field. That of a choice is its position.
    fn text(&self, value: &Value) -> String {
        match (&self.control, value) {
            (FieldControl::Choice(choices), _) => {
                let at = choices.iter().position(|(choice, _)| *choice == value);
                at.map(|at| at.to_string()).unwrap_or_default()
            }
            (FieldControl::Line | FieldControl::Text, Value::String(text)) => text.clone(),
            (FieldControl::Json, Value::Object(_) | Value::Array(_)) => {
                match indented(value, MAX_DEFAULT_BYTES) {
                    (text, true) => text,
                    (_, false) => String::new(),
                }
            }
            (_, Value::Null) => String::new(),
            (_, value) => value.to_string(),
        }
    }

    /// The text of a value in this field. `value` is its JSON text. `None` if a browser would send another value.
    fn exact_text(&self, value: &str) -> Option<String> {
        let parsed = serde_json::from_str::<Value>(value).ok()?;
        let text = match &self.control {
            // Parsing rounds large numbers.
            FieldControl::Number if parsed.is_number() => value.to_owned(),
            _ => self.text(&parsed),
        };
        // Browsers send a line break as CRLF, and none in an input of one line.
        let breaks: &[char] = if self.control == FieldControl::Line { &['\r', '\n'] } else { &['\r'] };
        let sent = self.value(&text).ok()??;
        let is_same = serde_json::from_str::<Value>(&sent).is_ok_and(|sent| sent == parsed);
        (is_same && !text.contains(breaks)).then_some(text)
    }

    /// The entered value as JSON text. `None` omits the member. Texts can be large, so they aren't parsed into values.
    ///
    /// # Errors
    /// A sentence without a period.
    fn value(&self, text: &str) -> Result<Option<String>, String> {
        let trimmed = text.trim();
        match &self.control {
            FieldControl::Line | FieldControl::Text => {
                // Browsers send line ends as CRLF (HTML Standard, constructing the entry list).
                let text = text.replace("\r\n", "\n");
                Ok((self.is_required || !text.is_empty()).then(|| quoted(&text)))
            }
            _ if trimmed.is_empty() => Ok(None),
            FieldControl::Number => match json::check_strict(trimmed) {
                Ok(()) if json::type_of_text(trimmed) == "number" => Ok(Some(trimmed.to_owned())),
                Ok(()) | Err(_) => Err("enter a number".to_owned()),
            },
            FieldControl::Boolean => match trimmed {
                "true" | "false" => Ok(Some(trimmed.to_owned())),
                _ => Err("choose true or false".to_owned()),
            },
            FieldControl::Choice(choices) => {
                let chosen = trimmed.parse::<usize>().ok().and_then(|at| choices.get(at));
                chosen.map(|(value, _)| Some(value.to_string())).ok_or("choose one of the values".to_owned())
            }
            FieldControl::Json => match json::check_strict(trimmed) {
                Ok(()) => Ok(Some(trimmed.to_owned())),
                Err(error) => Err(format!("invalid JSON: {error}")),
            },
        }
    }
}

/// A string as JSON text.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    json::push_string(&mut quoted, text);
    quoted
}

/// Adds a member to the JSON text of an object, without the closing brace. The text is empty at first.
pub(super) fn push_member(object: &mut String, name: &str, value: &str) {
    object.push(if object.is_empty() { '{' } else { ',' });
    json::push_string(object, name);
    object.push(':');
    object.push_str(value);
}

/// The text of an object that [`push_member`] built.
pub(super) fn finished_object(mut object: String) -> String {
    object.push_str(if object.is_empty() { "{}" } else { "}" });
    object
}

/// The JSON text of the object that a form describes.
///
/// # Errors
/// Those of its fields.
pub(super) fn read_object(fields: &[FormField<'_>], values: &FormValues) -> Result<String, FormErrors> {
    let mut object = String::new();
    let mut errors = FormErrors::new();
    for field in fields {
        match field.value(values.get(&field.input).unwrap_or_default()) {
            Ok(Some(value)) => push_member(&mut object, field.name, &value),
            Ok(None) => {}
            Err(error) => drop(errors.insert(field.input.clone(), error)),
        }
    }
    if errors.is_empty() { Ok(finished_object(object)) } else { Err(errors) }
}

#[cfg(test)]
mod tests;
