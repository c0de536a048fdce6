//! [`Context`]: information about the call in progress.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::{self, request};
use crate::rounds::RoundState;
use crate::{ClientInfo, ToolError};

/// The call in progress. Take it as a parameter of type `&Context`.
///
/// Values are only fetched on demand.
///
/// [`input`](crate::input) explains [`ask`](Self::ask), [`ask_all`](Self::ask_all) and [`once`](Self::once).
pub struct Context {
    /// The state of the previous round, read on first use.
    before: OnceCell<RoundState>,
    /// The results of `once` that this round adds.
    once: RefCell<Vec<(String, String)>>,
}

impl Context {
    /// Creates the context of a call. Only the SDK does this.
    pub(crate) fn new() -> Self {
        Self { before: OnceCell::new(), once: RefCell::default() }
    }

    /// The authenticated caller. `None` if the gateway doesn't authenticate callers.
    #[must_use]
    pub fn principal(&self) -> Option<String> {
        request::principal()
    }

    /// The client program, as it identifies itself. Don't trust it for authorization.
    #[must_use]
    pub fn client(&self) -> Option<ClientInfo> {
        request::client()
    }

    /// The MCP revision of the request, such as `2026-07-28`.
    #[must_use]
    pub fn revision(&self) -> Option<String> {
        request::revision()
    }

    /// Returns `true` if the client supports this capability and the plugin is allowed to use it. `name` is a path in
    /// the client's capabilities, such as `elicitation`, `sampling.tools` or `roots`.
    #[must_use]
    pub fn capability(&self, name: &str) -> bool {
        request::capability(name)
    }

    /// Returns a member of the request's `_meta`.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<Value> {
        request::meta_value(key).and_then(|json| serde_json::from_str(&json).ok())
    }

    /// Returns `true` if the caller has cancelled the request or disconnected. Check it regularly in long calls.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        request::cancelled()
    }

    /// The time until the gateway ends this call.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        request::remaining_ms().map(|ms| Duration::from_millis(ms.into()))
    }

    /// Runs `work` once for the whole call, even if the call restarts to ask the client something. Later rounds get
    /// the result that the first one stored.
    ///
    /// The result travels through the client, sealed by the gateway, so keep it small: an id, not a document. It is
    /// stored only if the call asks a question afterwards. Another call runs `work` again. Use each key only once in
    /// a call.
    ///
    /// ```
    /// # use moongate_sdk::prelude::*;
    /// # fn order(ctx: &Context) -> Result<String, ToolError> {
    /// let number: i64 = ctx.try_once("number", || kv::increment("orders", 1))?;
    /// let sure: Sure = ctx.ask("sure", Form::new(format!("Send order {number}?")))?;
    /// # Ok(format!("{number} {}", sure.yes))
    /// # }
    /// # #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// # struct Sure { yes: bool }
    /// ```
    ///
    /// # Errors
    /// The result can't be serialized as JSON, or an earlier round's can't be deserialized as a `T`.
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails at the caller's line
    pub fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        work: impl FnOnce() -> T,
    ) -> Result<T, ToolError> {
        self.try_once(key, || Ok::<T, ToolError>(work()))
    }

    /// Like [`once`](Self::once), for work that can fail. Errors aren't stored.
    ///
    /// # Errors
    /// The work failed, or as for [`once`](Self::once).
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails at the caller's line
    pub fn try_once<T: Serialize + DeserializeOwned, E: Into<ToolError>>(
        &self,
        key: &str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ToolError> {
        let bad = |error: serde_json::Error| {
            ToolError::internal(format_args!(
                "cannot serialize the result of `once(\"{key}\")` as JSON: {error}"
            ))
        };
        let _inside = host::rounds::once(key);
        if let Some((_, json)) = self.before().once.iter().find(|(kept, _)| kept == key) {
            return serde_json::from_str(json).map_err(bad);
        }
        let result = work().map_err(Into::into)?;
        let json = serde_json::to_string(&result).map_err(bad)?;
        self.once.borrow_mut().push((key.to_owned(), json));
        Ok(result)
    }

    /// The client's answer to the [`InputRequest`](crate::InputRequest) with this key in an earlier round of the
    /// call, for plugins that build [`NeedInput`](crate::NeedInput) by hand. `None` if there is no answer or it can't
    /// be deserialized as a `T`.
    #[must_use]
    pub fn answer<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        request::answer(key).and_then(|json| serde_json::from_str(&json).ok())
    }

    /// The value of [`NeedInput::state`](crate::NeedInput) in the previous round, for plugins that set it by hand. It
    /// is kept across the rounds that [`ask`](Self::ask) adds, and is independent of [`once`](Self::once).
    #[must_use]
    pub fn state(&self) -> Option<Vec<u8>> {
        self.before().own.clone()
    }

    /// The results of `once` for the next round.
    pub(crate) fn kept_once(&self) -> Vec<(String, String)> {
        [self.before().once.as_slice(), &self.once.borrow()].concat()
    }

    fn before(&self) -> &RoundState {
        self.before
            .get_or_init(|| request::state().and_then(|bytes| RoundState::read(&bytes)).unwrap_or_default())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}
