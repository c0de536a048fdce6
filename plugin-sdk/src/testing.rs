//! A test client that calls a plugin in native tests, without Wasm or a gateway.
//!
//! [`guide::testing`](crate::guide::testing) has an example.
//!
//! # Calls that ask questions
//! A call that asks the client ([`input`](crate::input)) is made again from the start in each round, as a gateway
//! does, with the answers of [`Client::answer`] and [`Client::answer_with`] to the questions it has asked. The test
//! fails if
//! - the call wrote something before it asked, which would be repeated in each round;
//! - one key is used for two different questions, or one key of [`Context::once`](crate::Context::once) for two
//!   results;
//! - the call discarded the question and continued without its answer.
//!
//! # Checks of a gateway
//! A test fails if a plugin can't be described without settings, if a tool with an output schema succeeds without
//! structured content, and if that content is invalid JSON or differs from its schema in types, required members or
//! enum values. Progress reports that don't increase are dropped, as in a gateway. Unused answers aren't an error,
//! because one client can make several calls.
//!
//! The arguments of a call are not checked against the tool's input schema, as a gateway would do before the call.
//! This lets you test a function with any arguments.
//!
//! A panic of the plugin fails the test. In a gateway it ends only that call: the log contains the message and
//! location, and the caller gets a short error.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::panic;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::fake::{self, Gateway};
use crate::http::HttpError;
use crate::{ClientInfo, InputRequest, LogLevel, Plugin};

mod answers; // a client's answers
mod calls; // calls to a plugin
mod schema_check; // check of structured content
mod reports; // a plugin's reports
mod missing_answers; // errors for missing answers
mod http; // HTTP requests and responses

pub use answers::{accepted, declined, dismissed, roots, sampled};
pub use http::{HttpAnswer, HttpRequest};
pub use reports::{Change, LogLine, Progress};

/// A test client with its own fake gateway for the plugin `P`.
///
/// Methods that return `Self` set the values that the plugin sees; unset values are absent. Other methods return the
/// plugin's reports. As in a gateway, each call gets a new plugin value.
pub struct Client<P: Plugin> {
    gateway: RefCell<Gateway>,
    answers: BTreeMap<String, AnswerFn>,
    plugin: PhantomData<P>,
}

/// A function that answers a question.
type AnswerFn = Box<dyn Fn(&InputRequest) -> Value>;

impl<P: Plugin> Client<P> {
    /// A client with no settings.
    ///
    /// # Panics
    /// The plugin can't be described without settings, so no gateway would load it.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        // Use a separate gateway, so that the test doesn't see the effects of this call.
        let describes = fake::with(&mut Gateway::default(), || panic::catch_unwind(describe::<P>));
        if let Err(cause) = describes {
            let message = cause.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message");
            panic!(
                "the plugin can't be described without settings, so a gateway couldn't load it: {message}; read settings in calls, \
                 not in `Default`"
            );
        }
        Self { gateway: RefCell::default(), answers: BTreeMap::new(), plugin: PhantomData }
    }

    // --- values that the plugin sees ---

    /// Sets a plugin setting: a string as is, any other value as JSON.
    #[must_use]
    pub fn config(self, key: &str, value: impl Into<Value>) -> Self {
        let text = match value.into() {
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.set(|gateway| gateway.config.insert(key.to_owned(), text))
    }

    /// Sets an environment variable, and grants it.
    #[must_use]
    pub fn env(self, name: &str, value: &str) -> Self {
        self.set(|gateway| gateway.env.insert(name.to_owned(), value.to_owned()))
    }

    /// Sets the authenticated caller.
    #[must_use]
    pub fn principal(self, name: &str) -> Self {
        self.set(|gateway| gateway.principal = Some(name.to_owned()))
    }

    /// Sets the client's name and version.
    #[must_use]
    pub fn client_info(self, name: &str, version: &str) -> Self {
        let info =
            ClientInfo { name: name.to_owned(), version: version.to_owned(), title: None, extra: None };
        self.set(|gateway| gateway.client = Some(info))
    }

    /// Sets the MCP revision.
    #[must_use]
    pub fn revision(self, revision: &str) -> Self {
        self.set(|gateway| gateway.revision = Some(revision.to_owned()))
    }

    /// Gives the client a capability, such as `elicitation` or `sampling.tools`.
    #[must_use]
    pub fn capability(self, name: &str) -> Self {
        self.set(|gateway| gateway.capabilities.push(name.to_owned()))
    }

    /// Sets a member of the request's `_meta`.
    #[must_use]
    pub fn meta(self, key: &str, value: impl Into<Value>) -> Self {
        let json = value.into().to_string();
        self.set(|gateway| gateway.meta.insert(key.to_owned(), json))
    }

    /// Sets the answer to the question with this key: the result of its method, which [`accepted`], [`declined`],
    /// [`dismissed`], [`sampled`] and [`roots`] create.
    #[must_use]
    pub fn answer(self, key: &str, result: impl Into<Value>) -> Self {
        let result = result.into();
        self.answer_with(key, move |_| result.clone())
    }

    /// Like [`answer`](Self::answer), with a function that receives the question.
    #[must_use]
    pub fn answer_with(mut self, key: &str, answer: impl Fn(&InputRequest) -> Value + 'static) -> Self {
        self.answers.insert(key.to_owned(), Box::new(answer));
        self
    }

    /// Stores `value` under `key` before the call.
    ///
    /// # Panics
    /// The value can't be serialized as JSON.
    #[must_use]
    #[track_caller]
    pub fn kept(self, key: &str, value: impl Serialize) -> Self {
        let json = serde_json::to_vec(&value).expect("a value that can be serialized as JSON");
        self.set(|gateway| gateway.kv.insert(key.to_owned(), json))
    }

    /// Denies the plugin [`kv`](crate::kv).
    #[must_use]
    pub fn kv_denied(self) -> Self {
        self.set(|gateway| gateway.kv_denied = true)
    }

    /// Makes the next `times` swaps of [`kv::update`](crate::kv::update) fail, as if other calls had written first.
    #[must_use]
    pub fn kv_contended(self, times: u32) -> Self {
        self.set(|gateway| gateway.kv_contention = times)
    }

    /// Sets the function that replaces all servers for [`http`](crate::http). It is called for each request and can
    /// return an error that a gateway would return, such as [`HttpError::Timeout`]. By default, no request is
    /// granted.
    #[must_use]
    pub fn http(self, servers: impl Fn(&HttpRequest) -> Result<HttpAnswer, HttpError> + 'static) -> Self {
        self.set(|gateway| gateway.servers = Some(fake::http::Servers(Rc::new(servers))))
    }

    /// Like [`http`](Self::http), with a table of URLs. Other URLs get a 404, which is shown if the test fails.
    #[must_use]
    pub fn pages<'a>(self, pages: impl IntoIterator<Item = (&'a str, HttpAnswer)>) -> Self {
        let pages: BTreeMap<String, HttpAnswer> =
            pages.into_iter().map(|(url, answer)| (url.to_owned(), answer)).collect();
        self.http(move |request| {
            Ok(pages.get(&request.url).cloned().unwrap_or_else(|| http::no_page(&request.url, pages.keys())))
        })
    }

    /// Writes `value` under `key` as another call, just before the next swap of [`kv::update`](crate::kv::update),
    /// which makes that swap fail. A second use applies to the swap after that.
    ///
    /// # Panics
    /// The value can't be serialized as JSON.
    #[must_use]
    #[track_caller]
    pub fn kv_meanwhile(self, key: &str, value: impl Serialize) -> Self {
        let json = serde_json::to_vec(&value).expect("a value that can be serialized as JSON");
        self.set(|gateway| gateway.kv_meanwhile.push_back((key.to_owned(), json)))
    }

    /// Sets the time until the gateway ends the call.
    #[must_use]
    pub fn remaining(self, time: Duration) -> Self {
        self.set(|gateway| gateway.remaining_ms = Some(u32::try_from(time.as_millis()).unwrap_or(u32::MAX)))
    }

    /// Marks the request as cancelled.
    #[must_use]
    pub fn cancelled(self) -> Self {
        self.set(|gateway| gateway.cancelled = true)
    }

    /// Records log messages of this level and above. By default, all are recorded.
    #[must_use]
    pub fn log_level(self, least: LogLevel) -> Self {
        self.set(|gateway| gateway.log_level = Some(least))
    }

    // --- the plugin's reports ---

    /// The log messages of all calls so far.
    #[must_use]
    pub fn logs(&self) -> Vec<LogLine> {
        self.gateway.borrow().logs.clone()
    }

    /// The progress reports of all calls so far.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        self.gateway.borrow().progress.clone()
    }

    /// The change notifications of all calls so far.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        self.gateway.borrow().changes.clone()
    }

    /// The requests that all calls so far sent.
    #[must_use]
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.gateway.borrow().requests.clone()
    }

    /// Returns the value stored under `key`.
    ///
    /// # Panics
    /// The value can't be deserialized as a `T`.
    #[must_use]
    #[track_caller]
    pub fn kv<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let bytes = self.gateway.borrow().kv.get(key).cloned()?;
        match serde_json::from_slice(&bytes) {
            Ok(value) => Some(value),
            Err(error) => {
                let kept = String::from_utf8_lossy(&bytes);
                panic!("the value under `{key}` has another type ({error}): {kept}");
            }
        }
    }

    fn set<R>(mut self, change: impl FnOnce(&mut Gateway) -> R) -> Self {
        change(self.gateway.get_mut());
        self
    }

    fn run<R>(&self, call: impl FnOnce(&P) -> R) -> R {
        fake::with(&mut self.gateway.borrow_mut(), || call(&P::default()))
    }
}

/// Describes the plugin as a gateway does when it loads it. A test that needs a list reports its errors.
fn describe<P: Plugin>() {
    let _ = P::info();
    let plugin = P::default();
    let _ = (plugin.tools(), plugin.resources(), plugin.templates(), plugin.prompts());
}

impl<P: Plugin> Default for Client<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Plugin> fmt::Debug for Client<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers: Vec<&String> = self.answers.keys().collect();
        f.debug_struct("Client").field("gateway", &self.gateway).field("answers", &answers).finish()
    }
}
