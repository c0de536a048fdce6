//! A call that is asked back: made again with the answers, until there is a result or nobody has an answer. Used by
//! `call`, in this process and elsewhere.

use std::collections::BTreeSet;

use moongate_protocol::mcp::UNUSABLE;
use serde_json::{Map, Value, json};

use super::given::{Answer, Answers};
use super::questions::{Question, option};
use crate::cli::failure::Failure;
use crate::cli::{Exit, print};

/// A gateway asks far less often; somebody else's could do it forever.
const MOST: usize = 64;

/// What `call` says that it can be asked: what an option can answer, and nothing else.
pub(super) fn capabilities(asked: bool) -> Value {
    if asked {
        json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} })
    } else {
        json!({})
    }
}

/// What a request brings from the round before.
#[derive(Debug, Default)]
pub(super) struct More {
    pub(super) state: Option<String>,
    pub(super) answers: Map<String, Value>,
}

/// What one request comes to.
pub(super) enum Step<T> {
    /// A result.
    Done(T),
    /// A result that asks, as the protocol has it.
    Asks(Value),
}

/// What a call comes to.
pub(super) enum Came<T> {
    /// A result.
    Done(T),
    /// Questions without an answer.
    Open(Open),
}

/// Questions that nobody answers.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) questions: Vec<Question>,
    /// What is wrong with the answers to them, a sentence each.
    wrong: Vec<String>,
}

/// Makes requests until there is a result, or a question without an answer.
///
/// # Errors
/// A request came to no result.
pub(super) async fn converse<T, E>(
    answers: &mut Answers,
    mut request: impl AsyncFnMut(&More) -> Result<Step<T>, E>,
) -> Result<Came<T>, E> {
    let mut more = More::default();
    for _ in 0..MOST {
        let result = match request(&more).await? {
            Step::Done(result) => return Ok(Came::Done(result)),
            Step::Asks(result) => result,
        };
        let (given, said, open) = answered(answers, &result);
        // What was given is checked by the gateway, before the tool is called again.
        if given.is_empty() && !open.questions.is_empty() || !open.wrong.is_empty() {
            return Ok(Came::Open(open));
        }
        said.iter().for_each(|answer| print::remark(answer));
        more = More { state: result["requestState"].as_str().map(str::to_owned), answers: given };
    }
    Ok(Came::Open(Open { wrong: vec!["the tool asks without end".to_owned()], ..Open::default() }))
}

/// The answers that there are to the questions of a result, what is said of each, and the questions without one.
fn answered(answers: &mut Answers, result: &Value) -> (Map<String, Value>, Vec<String>, Open) {
    let (mut given, mut said, mut open) = (Map::new(), Vec::new(), Open::default());
    for question in Question::all(result) {
        let key = print::said(&question.key);
        let before = answers.answered(&question.key);
        match answers.to(&question) {
            Ok(Some(answer)) => {
                said.push(sent(&question, &answer));
                given.insert(question.key, answer.response);
                continue;
            }
            Ok(None) => {}
            Err(why) => open.wrong.push(why),
        }
        match result["_meta"][UNUSABLE][&question.key].as_str() {
            Some(why) => open.wrong.push(format!("the answer to `{key}` doesn't fit: {}", print::said(why))),
            None if before => {
                open.wrong.push(format!("the tool asks `{key}` once more, and a key has one answer"))
            }
            None => {}
        }
        open.questions.push(question);
    }
    (given, said, open)
}

/// The longest question that is repeated with its answer, in characters.
const ASKED: usize = 300;

/// What is sent for a question. It may be another one than that which the answer was typed for.
fn sent(question: &Question, answer: &Answer) -> String {
    let asked = print::line(&question.sentence(), ASKED);
    format!("answering `{}`: {}; it {asked}", print::said(&question.key), answer.shown)
}

impl Open {
    /// What a plugin must be granted to ask this.
    pub(super) fn features(&self) -> BTreeSet<&str> {
        self.questions.iter().filter_map(|question| question.method().split('/').next()).collect()
    }

    /// What is asked, and what would answer it.
    pub(super) fn failure(&self) -> Failure {
        let sentence = match (self.wrong.as_slice(), self.questions.len()) {
            ([], 1) => "the tool asks, and nothing answers".to_owned(),
            ([], number) => format!("the tool asks {number} questions, and nothing answers"),
            (wrong, _) => wrong.join("; "),
        };
        let answers: Vec<String> = self.questions.iter().flat_map(Question::answers).collect();
        let options: Vec<String> = answers.iter().map(|answer| option(answer)).collect();
        let hint = match (self.wrong.is_empty(), options.is_empty()) {
            (_, true) => "call it from an MCP client that answers such questions".to_owned(),
            (true, false) => format!("make the same call with answers, such as: {}", options.join(" ")),
            (false, false) => format!("an answer that fits is: {}", options.join(" ")),
        };
        let told: String = self.questions.iter().map(Question::text).collect();
        Failure::new(if self.wrong.is_empty() { Exit::Tool } else { Exit::Usage })
            .says_about(&sentence, &told, Some(&hint))
            .with("questions", self.questions.iter().map(Question::document).collect())
    }
}

#[cfg(test)]
mod tests;
