//! [`Sampling`]: a request to the client's model.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::sealed::Sealed;
use super::{Question, content, read};
use crate::{Content, Role, ToolError};

/// Asks the client's model (MCP's `sampling/createMessage`). The user can see and change the request and the
/// response.
///
/// ```
/// # use moongate_sdk::prelude::*;
/// # fn translate(ctx: &Context, text: &str) -> Result<String, ToolError> {
/// let answer = ctx.ask(
///     "translation",
///     Sampling::new(500)
///         .system_prompt("You translate into Latin. Answer with the translation alone.")
///         .user(text)
///         .temperature(0.2)
///         .model_hint("small"),
/// )?;
/// # Ok(
/// answer.text()
/// # )
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct Sampling {
    messages: Result<Vec<Value>, String>,
    params: Map<String, Value>,
    preferences: Map<String, Value>,
}

/// The model's response.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// The role of the message, normally the assistant.
    pub role: Role,
    /// The content. Kinds for programs, such as tool use, are [`Content::Other`].
    pub content: Vec<Content>,
    /// The name of the model.
    pub model: String,
    /// The reason why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or a client-specific value.
    pub stop_reason: Option<String>,
}

// === impl Sampling ===

impl Sampling {
    /// A request for at most `max_tokens` tokens. Add at least one message.
    pub fn new(max_tokens: u32) -> Self {
        let params = Map::from_iter([("maxTokens".to_owned(), max_tokens.into())]);
        Self { messages: Ok(Vec::new()), params, preferences: Map::new() }
    }

    /// Adds a user message: text, an image or audio.
    pub fn user(self, content: impl Into<Content>) -> Self {
        self.message(Role::User, &content.into())
    }

    /// Adds an assistant message.
    pub fn assistant(self, content: impl Into<Content>) -> Self {
        self.message(Role::Assistant, &content.into())
    }

    /// Adds a message as MCP's JSON, for several blocks in one message or for tool use.
    pub fn raw_message(mut self, message: Value) -> Self {
        if let Ok(messages) = &mut self.messages {
            messages.push(message);
        }
        self
    }

    /// Sets the system prompt.
    pub fn system_prompt(self, text: impl Into<String>) -> Self {
        self.param("systemPrompt", text.into())
    }

    /// Sets the temperature.
    pub fn temperature(self, temperature: f64) -> Self {
        self.param("temperature", temperature)
    }

    /// Sets strings at which the model stops.
    pub fn stop_sequences<S: Into<String>>(self, texts: impl IntoIterator<Item = S>) -> Self {
        self.param("stopSequences", texts.into_iter().map(Into::into).collect::<Vec<String>>())
    }

    /// Adds part of a model's name as a hint. The best one comes first.
    pub fn model_hint(mut self, name: impl Into<String>) -> Self {
        let hint = json!({ "name": name.into() });
        match self.preferences.get_mut("hints").and_then(Value::as_array_mut) {
            Some(hints) => hints.push(hint),
            None => drop(self.preferences.insert("hints".to_owned(), json!([hint]))),
        }
        self
    }

    /// The importance of a low price, from 0 to 1.
    pub fn cost_priority(self, priority: f64) -> Self {
        self.prefer("costPriority", priority)
    }

    /// The importance of a fast response, from 0 to 1.
    pub fn speed_priority(self, priority: f64) -> Self {
        self.prefer("speedPriority", priority)
    }

    /// The importance of the model's capabilities, from 0 to 1.
    pub fn intelligence_priority(self, priority: f64) -> Self {
        self.prefer("intelligencePriority", priority)
    }

    /// Sets the tools that the model can use, as MCP's JSON. Requires the client's capability `sampling.tools`.
    pub fn tools(self, tools: Vec<Value>) -> Self {
        self.param("tools", tools)
    }

    /// Sets whether the model can (`auto`), must (`required`) or must not (`none`) use the tools.
    pub fn tool_choice(self, mode: &str) -> Self {
        self.param("toolChoice", json!({ "mode": mode }))
    }

    /// Sets any other parameter of the method, such as `metadata`.
    pub fn param(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    fn message(mut self, role: Role, block: &Content) -> Self {
        let role = match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        self.messages = self.messages.and_then(|mut messages| {
            messages.push(json!({ "role": role, "content": content::write(block)? }));
            Ok(messages)
        });
        self
    }

    fn prefer(mut self, name: &str, priority: f64) -> Self {
        self.preferences.insert(name.to_owned(), priority.into());
        self
    }
}

impl Sealed for Sampling {}
impl Question for Sampling {
    type Answer = Sampled;

    fn method(&self) -> &'static str {
        "sampling/createMessage"
    }

    fn params(&self) -> Result<Value, String> {
        let messages = self.messages.clone()?;
        if messages.is_empty() {
            return Err("it has no message; add one with `Sampling::user`".to_owned());
        }
        let mut params = Map::from_iter([("messages".to_owned(), Value::from(messages))]);
        params.extend(self.params.clone());
        if !self.preferences.is_empty() {
            params.insert("modelPreferences".to_owned(), self.preferences.clone().into());
        }
        Ok(params.into())
    }

    fn read(&self, answer: Value) -> Result<Sampled, ToolError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CreateMessageResult {
            role: RoleName,
            content: Value,
            model: String,
            stop_reason: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum RoleName {
            User,
            Assistant,
        }
        let CreateMessageResult { role, content, model, stop_reason } = read("a model's message", answer)?;
        let role = match role {
            RoleName::User => Role::User,
            RoleName::Assistant => Role::Assistant,
        };
        let blocks = match content {
            Value::Array(blocks) => blocks,
            block => vec![block],
        };
        let content = blocks.iter().map(content::read).collect();
        Ok(Sampled { role, content, model, stop_reason })
    }
}

// === impl Sampled ===

impl Sampled {
    /// The text of all text blocks, joined by newlines.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests;
