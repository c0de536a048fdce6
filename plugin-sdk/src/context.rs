//! [`Context`]: what a plugin may know of the call it is serving.

use std::cell::{OnceCell, RefCell};
use std::fmt;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::{self, request};
use crate::rounds::Kept;
use crate::{ClientInfo, ToolError};

/// The call being served. Take it as a parameter of type `&Context`.
///
/// Nothing is fetched before it is asked for.
///
/// [`ask`](Self::ask), [`ask_all`](Self::ask_all) and [`once`](Self::once) are explained together in
/// [`input`](crate::input).
pub struct Context {
    /// What the round before kept, read when it is first needed.
    before: OnceCell<Kept>,
    /// The results of `once` that this round adds.
    once: RefCell<Vec<(String, String)>>,
}

impl Context {
    /// Only the SDK makes one, for the time of a call.
    pub(crate) fn new() -> Self {
        Self { before: OnceCell::new(), once: RefCell::default() }
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

    /// Does `work` once for the whole call, however often the call starts over to ask the client something: later
    /// rounds get the result that the first one kept.
    ///
    /// The result travels through the client, sealed by the gateway, so it should be small: an id, not a document. It is
    /// kept only if the call asks something afterwards; another call does the work again. A key may be used once in a
    /// call.
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
    /// The result can't be written as JSON, or an earlier round's isn't a `T`.
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails where the key stands
    pub fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        work: impl FnOnce() -> T,
    ) -> Result<T, ToolError> {
        self.try_once(key, || Ok::<T, ToolError>(work()))
    }

    /// Like [`once`](Self::once), for work that can fail. A failure isn't kept.
    ///
    /// # Errors
    /// The work failed, or as for [`once`](Self::once).
    #[cfg_attr(not(target_family = "wasm"), track_caller)] // a test fails where the key stands
    pub fn try_once<T: Serialize + DeserializeOwned, E: Into<ToolError>>(
        &self,
        key: &str,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, ToolError> {
        let bad = |error: serde_json::Error| {
            ToolError::internal(format_args!(
                "the result of `once(\"{key}\")` can't be kept as JSON: {error}"
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

    /// The client's answer to the [`InputRequest`](crate::InputRequest) of this key in an earlier round of the call, for
    /// plugins that make their [`NeedInput`](crate::NeedInput) by hand. `None` if it isn't there or doesn't have the form
    /// of a `T`.
    #[must_use]
    pub fn answer<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        request::answer(key).and_then(|json| serde_json::from_str(&json).ok())
    }

    /// What [`NeedInput::state`](crate::NeedInput) held in the round before, for plugins that set it by hand. It stays
    /// over the rounds that [`ask`](Self::ask) adds, and doesn't disturb what [`once`](Self::once) keeps.
    #[must_use]
    pub fn state(&self) -> Option<Vec<u8>> {
        self.before().own.clone()
    }

    /// The results of `once` that the next round shall have.
    pub(crate) fn kept_once(&self) -> Vec<(String, String)> {
        [self.before().once.as_slice(), &self.once.borrow()].concat()
    }

    fn before(&self) -> &Kept {
        self.before.get_or_init(|| request::state().and_then(|bytes| Kept::read(&bytes)).unwrap_or_default())
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Context")
    }
}
