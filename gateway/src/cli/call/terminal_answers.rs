//! Asks a tool's questions on the terminal. Used by `call`.
//!
//! Typed answers become values of `--answer`, so the same rules apply to both.

use anyhow::Result;

use super::questions::{OPENED_ANSWER, Question, QuestionKind};
use super::typed_answers::{SentAnswer, TypedAnswers};
use crate::cli::{print, prompt};

/// Asks the question until the answer is valid. `None` if the person ends the input instead. `reason` says why an earlier
/// answer was rejected.
///
/// # Errors
/// The terminal can't be read.
pub(super) fn ask(
    answers: &mut TypedAnswers,
    question: &Question,
    reason: Option<&str>,
) -> Result<Option<SentAnswer>> {
    let mut reason = reason.map(print::inline);
    loop {
        if let Some(reason) = reason.take() {
            print::note(&reason);
        }
        let Some(values) = ask_once(question)? else { return Ok(None) };
        answers.add(values);
        match answers.to(question) {
            Ok(answer) => return Ok(answer),
            Err(why) => reason = Some(why),
        }
    }
}

/// Asks the question. Returns values of `--answer`; none if the question can't be answered, or the person ends the input.
fn ask_once(question: &Question) -> Result<Option<Vec<String>>> {
    if question.is_ambiguous() || question.kind() == QuestionKind::Other {
        return Ok(None);
    }
    print::stderr_lines(&format!("the tool {}\n", question.sentence()));
    let key = &question.key;
    let whole = |value: &str| vec![format!("{key}={value}")];
    match question.kind() {
        QuestionKind::Form => ask_form(question).map(Some),
        QuestionKind::Page => {
            let is_opened = prompt::confirm(&format!("{}: did you open it?", question.member("url")))?;
            Ok(Some(whole(if is_opened { OPENED_ANSWER } else { "decline" })))
        }
        QuestionKind::Model => {
            let messages: String = question.messages().iter().map(|line| format!("{line}\n")).collect();
            print::stderr_lines(&messages);
            Ok(prompt::ask_line("the model's reply:")?.map(|text| whole(&text)))
        }
        QuestionKind::Directories => {
            Ok(prompt::ask_line("a directory, such as ./:")?.map(|path| whole(&path)))
        }
        QuestionKind::Other => Ok(None),
    }
}

/// The JSON for the words that people type instead of `true` and `false`.
fn boolean(text: &str) -> &str {
    match text.trim().to_lowercase().as_str() {
        "y" | "yes" => "true",
        "n" | "no" => "false",
        _ => text,
    }
}

/// Asks for each field of a form. The end of the input cancels the form.
fn ask_form(question: &Question) -> Result<Vec<String>> {
    let key = &question.key;
    let fields = question.fields();
    if fields.is_empty() {
        let action = if prompt::confirm("accept?")? { "accept" } else { "decline" };
        return Ok(vec![format!("{key}={action}")]);
    }
    print::stderr_lines("  (Ctrl-D cancels)\n");
    let mut values = Vec::new();
    for field in &fields {
        print::stderr_lines(&format!("  {}\n", field.line()));
        let Some(text) = prompt::ask_line(&format!("  {}:", print::inline(field.name)))? else {
            return Ok(vec![format!("{key}=cancel")]);
        };
        let text = if field.schema["type"] == "boolean" { boolean(&text).to_owned() } else { text };
        let can_be_omitted = !field.required || field.schema.get("default").is_some();
        if !(text.is_empty() && can_be_omitted) {
            values.push(format!("{key}.{}={text}", field.name));
        }
    }
    Ok(if values.is_empty() { vec![format!("{key}=accept")] } else { values })
}
