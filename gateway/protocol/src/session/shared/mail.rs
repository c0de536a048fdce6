//! Messages from one replica to another: answers to questions, and cancellations.

use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::jsonrpc::{ErrorObject, Id};
use crate::mcp::QuestionError;
use crate::session::client_requests::QuestionAnswer;

/// The format of mail. A replica discards mail in a format that it doesn't know.
const MAIL_FORMAT: u32 = 1;

/// A message about a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Mail {
    /// The session.
    pub session: String,
    /// The content.
    pub content: MailContent,
}

/// The content of mail.
#[derive(Debug, Clone, PartialEq)]
pub enum MailContent {
    /// The client answered a question of the recipient.
    Answer(Id, QuestionAnswer),
    /// The client cancelled a request.
    Cancel(Id),
}

/// Mail as text.
#[derive(Debug, Serialize, Deserialize)]
struct MailText {
    format: u32,
    session: String,
    /// The token of the question's or the request's id.
    id: String,
    content: MailTextContent,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MailTextContent {
    Result(String),
    Refused(MailedError),
    Unreadable(MailedError),
    Cancel,
}

#[derive(Debug, Serialize, Deserialize)]
struct MailedError {
    code: i32,
    message: String,
    data: Option<String>,
}

impl Mail {
    /// The mail as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { session, content } = self;
        let (id, content) = match content {
            MailContent::Cancel(id) => (id, MailTextContent::Cancel),
            MailContent::Answer(id, Ok(result)) => (id, MailTextContent::Result(result.get().to_owned())),
            MailContent::Answer(id, Err(QuestionError::Refused(error))) => {
                (id, MailTextContent::Refused(error.into()))
            }
            MailContent::Answer(id, Err(QuestionError::Unreadable(error))) => {
                (id, MailTextContent::Unreadable(error.into()))
            }
            MailContent::Answer(id, Err(error)) => {
                let error = ErrorObject::invalid_request(error.to_string());
                (id, MailTextContent::Unreadable((&error).into()))
            }
        };
        let id = id.as_json().to_owned();
        let text = MailText { format: MAIL_FORMAT, session: session.clone(), id, content };
        serde_json::to_string(&text).expect("strings and numbers")
    }

    /// Reads mail. `None` if its format is unknown.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let MailText { format, session, id, content } = serde_json::from_str(text).ok()?;
        if format != MAIL_FORMAT {
            return None;
        }
        let id = Id::from_token(&id).ok()?;
        let content = match content {
            MailTextContent::Cancel => MailContent::Cancel(id),
            MailTextContent::Result(result) => MailContent::Answer(id, Ok(Json::parse(result).ok()?)),
            MailTextContent::Refused(error) => {
                MailContent::Answer(id, Err(QuestionError::Refused(error.into())))
            }
            MailTextContent::Unreadable(error) => {
                MailContent::Answer(id, Err(QuestionError::Unreadable(error.into())))
            }
        };
        Some(Self { session, content })
    }
}

impl From<&ErrorObject> for MailedError {
    fn from(error: &ErrorObject) -> Self {
        let ErrorObject { code, message, data } = error;
        let data = data.as_ref().map(|data| data.get().to_owned());
        Self { code: *code, message: message.clone(), data }
    }
}

impl From<MailedError> for ErrorObject {
    fn from(error: MailedError) -> Self {
        let MailedError { code, message, data } = error;
        Self { code, message, data: data.and_then(|data| Json::parse(data).ok()) }
    }
}
