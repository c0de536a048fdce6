//! [`Context`]: what a plugin may know of the call it is serving.

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{ClientInfo, host::request};

/// The call being served. Take it as a parameter of type `&Context`.
///
/// Nothing is fetched before it is asked for.
pub struct Context(());

impl Context {
    /// Only the SDK makes one, for the time of a call.
    pub(crate) const fn new() -> Self {
        Self(())
    }

    /// Whom the gateway knows the caller to be. `None`: it doesn't authenticate callers.
    #[must_use]
    pub fn principal(&self) -> Option<String> {
        request::principal()
    }

    /// The program at the other end, by its own words, which prove nothing.
    #[must_use]
    pub fn client(&self) -> Option<ClientInfo> {
        request::client()
    }

    /// The MCP revision of the request, such as `2026-07-28`.
    #[must_use]
    pub fn revision(&self) -> Option<String> {
        request::revision()
    }

    /// Can the client do this, and may this plugin ask for it? `name` is a path in the client's capabilities, such as
    /// `elicitation`, `sampling.tools` or `roots`.
    #[must_use]
    pub fn capability(&self, name: &str) -> bool {
        request::capability(name)
    }

    /// A member of the request's `_meta`.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<Value> {
        request::meta_value(key).and_then(|json| serde_json::from_str(&json).ok())
    }

    /// Has the caller cancelled the request or gone away? Ask from time to time in long work.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        request::cancelled()
    }

    /// How long the gateway will still wait for this call.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        request::remaining_ms().map(|ms| Duration::from_millis(ms.into()))
    }

    /// The client's answer to the [`InputRequest`](crate::InputRequest) of this key in an earlier round of the call.
    /// `None` if it isn't there or doesn't have the form of a `T`.
    #[must_use]
    pub fn answer<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        request::answer(key).and_then(|json| serde_json::from_str(&json).ok())
    }

    /// What [`NeedInput::state`](crate::NeedInput) held in the round before.
    #[must_use]
    pub fn state(&self) -> Option<Vec<u8>> {
        request::state()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}
