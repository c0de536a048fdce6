//! Repeats a call with answers until there is a result or an unanswered question. Used by `call` for local and remote
//! tools.

use std::collections::BTreeSet;

use moongate_model::text::escaped_line;
use moongate_protocol::mcp::UNUSABLE_ANSWERS_KEY;
use serde_json::{Map, Value, json};

use super::questions::{Question, answer_option};
use super::terminal_answers;
use super::typed_answers::{SentAnswer, TypedAnswers};
use crate::cli::error::CommandError;
use crate::cli::{ExitKind, print};

/// The maximum number of rounds. A gateway stops much earlier, but another server may not.
const MAX_ROUNDS: usize = 64;

/// The client capabilities of `call`: the questions that options can answer.
pub(super) fn capabilities(asked: bool) -> Value {
    if asked {
        json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
    } else {
        json!({})
    }
}

/// The part of a request that comes from the previous round.
#[derive(Debug, Default)]
pub(in crate::cli) struct RoundInput {
    pub(in crate::cli) state: Option<String>,
    pub(in crate::cli) answers: Map<String, Value>,
}

/// The result of one request.
pub(in crate::cli) enum RoundResult<T> {
    /// A result.
    Done(T),
    /// Questions, as a protocol result.
    InputRequired(Value),
}

/// The end of a call.
pub(super) enum CallEnd<T> {
    /// A result.
    Done(T),
    /// Unanswered questions.
    Unanswered(OpenQuestions),
}

/// Unanswered questions, or questions with an invalid answer.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    pub(super) questions: Vec<Question>,
    /// The errors in the answers, one sentence each.
    errors: Vec<String>,
}

/// Sends requests until there is a result or an unanswered question.
///
/// # Errors
/// A request failed.
pub(super) async fn run_rounds<T, E>(
    answers: &mut TypedAnswers,
    mut request: impl AsyncFnMut(&RoundInput) -> Result<RoundResult<T>, E>,
) -> Result<CallEnd<T>, E> {
    let mut more = RoundInput::default();
    for _ in 0..MAX_ROUNDS {
        let result = match request(&more).await? {
            RoundResult::Done(result) => return Ok(CallEnd::Done(result)),
            RoundResult::InputRequired(result) => result,
        };
        let (given, notes, open) = answer_questions(answers, &result);
        // The gateway checks the answers before it calls the tool again.
        if given.is_empty() && !open.questions.is_empty() || !open.errors.is_empty() {
            return Ok(CallEnd::Unanswered(open));
        }
        notes.iter().for_each(|answer| print::note(answer));
        more = RoundInput { state: result["requestState"].as_str().map(str::to_owned), answers: given };
    }
    Ok(CallEnd::Unanswered(OpenQuestions {
        errors: vec!["the tool asks too many questions".to_owned()],
        ..OpenQuestions::default()
    }))
}

/// The answers to a result's questions, a note on each answer, and the unanswered questions.
fn answer_questions(
    answers: &mut TypedAnswers,
    result: &Value,
) -> (Map<String, Value>, Vec<String>, OpenQuestions) {
    let mut given = Map::new();
    let mut notes = Vec::new();
    let mut open = OpenQuestions::default();
    for question in Question::all(result) {
        let key = print::inline(&question.key);
        let before = answers.answered(&question.key);
        let unusable = result["_meta"][UNUSABLE_ANSWERS_KEY][&question.key].as_str();
        let mut answer = answers.to(&question);
        if matches!(answer, Ok(None)) && answers.asks_person() {
            let reason = unusable.map(|why| format!("invalid answer to `{key}`: {why}"));
            match terminal_answers::ask(answers, &question, reason.as_deref()) {
                Ok(Some(typed)) => {
                    given.insert(question.key, typed.response);
                    continue;
                }
                Ok(None) => {}
                Err(error) => answer = Err(format!("{error:#}")),
            }
        }
        match answer {
            Ok(Some(answer)) => {
                notes.push(sent_note(&question, &answer));
                given.insert(question.key, answer.response);
                continue;
            }
            Ok(None) => {}
            Err(why) => open.errors.push(why),
        }
        match unusable {
            Some(why) => open.errors.push(format!("invalid answer to `{key}`: {}", print::inline(why))),
            None if before => {
                open.errors.push(format!("the tool asks `{key}` again, and there is only one answer for it"))
            }
            None => {}
        }
        open.questions.push(question);
    }
    (given, notes, open)
}

/// The maximum length of the question in the note on its answer, in characters.
const MAX_QUESTION_CHARS: usize = 300;

/// The note on an answer, with its question, which can differ from the one that the user expected.
fn sent_note(question: &Question, answer: &SentAnswer) -> String {
    let asked = escaped_line(&question.sentence(), MAX_QUESTION_CHARS);
    format!("answering `{}` with {}; the tool {asked}", print::inline(&question.key), answer.shown)
}

impl OpenQuestions {
    /// The client features that a plugin needs for these questions.
    pub(super) fn features(&self) -> BTreeSet<&str> {
        self.questions.iter().filter_map(|question| question.method().split('/').next()).collect()
    }

    /// The error with the questions and the options that answer them.
    pub(super) fn to_error(&self) -> CommandError {
        let sentence = match (self.errors.as_slice(), self.questions.len()) {
            ([], 1) => "the tool asked a question, and no `--answer` answers it".to_owned(),
            ([], number) => format!("the tool asked {number} questions, and no `--answer` answers them"),
            (errors, _) => errors.join("; "),
        };
        let answers: Vec<String> = self.questions.iter().flat_map(Question::answers).collect();
        let options: Vec<String> = answers.iter().map(|answer| answer_option(answer)).collect();
        let hint = match (self.errors.is_empty(), options.is_empty()) {
            (_, true) => "use an MCP client that answers such questions".to_owned(),
            (true, false) => format!("repeat the call with answers, such as: {}", options.join(" ")),
            (false, false) => format!("a valid answer is: {}", options.join(" ")),
        };
        let details: String = self.questions.iter().map(Question::text).collect();
        CommandError::new(if self.errors.is_empty() { ExitKind::Tool } else { ExitKind::Usage })
            .message_with_details(&sentence, &details, Some(&hint))
            .member("questions", self.questions.iter().map(Question::document).collect())
    }
}

#[cfg(test)]
mod tests;
