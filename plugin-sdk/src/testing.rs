//! Calls a plugin in native tests, without Wasm and without a gateway.
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # /// A plugin.
//! # #[derive(Default)]
//! # struct Weather;
//! # #[plugin]
//! # impl Weather {
//! #     /// The forecast.
//! #     #[tool]
//! #     fn forecast(&self, city: String) -> Result<String, ToolError> {
//! #         log::info("asked");
//! #         let unit = config::get("unit")?.unwrap_or_default();
//! #         Ok(format!("20 {unit} in {city}"))
//! #     }
//! # }
//! use moongate_sdk::testing::Client;
//! use serde_json::json;
//!
//! let client = Client::<Weather>::new().config("unit", "°C");
//! let result = client.call("forecast", json!({ "city": "Oslo" })).unwrap();
//! assert_eq!(result.all_text(), "20 °C in Oslo");
//! assert_eq!(client.logs()[0].data, "asked");
//! ```
//!
//! # Calls that ask something
//! A call that asks the client ([`input`](crate::input)) is made again, from the top, in each round, as a gateway does:
//! with the answers that [`Client::answer`] and [`Client::answer_with`] give to what it asked, and not before it asked.
//! The test fails where
//! - the call wrote something before it asked, which it would do once more in each round;
//! - one key stands for two questions, or one key of [`Context::once`](crate::Context::once) for two results;
//! - the call threw the question away and went on without its answer.
//!
//! # What a gateway would refuse
//! A test fails where a plugin can't be described without settings; where a tool that has an output schema succeeds
//! without structured content; and where that content is no JSON, or differs from its schema in types, required members or
//! choices. Reports of progress that don't go on are dropped, as a gateway drops them. An answer that nothing asked for is
//! no failure: one client may make several calls.
//!
//! The arguments of a call are not held against the tool's input schema, as a gateway does before the plugin sees
//! them: so a test can find out what a function does with any of them.
//!
//! A panic of the plugin is a panic of the test. In a gateway it ends that one call: the log says where and why, the
//! caller reads one sentence.

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

mod answers; // what a client answers
mod calls; // what a client asks of a plugin
mod fits; // whether structured content is what was promised
mod told; // what a plugin told the gateway
mod wanted; // what a test has to answer
mod web; // what a plugin asked of other servers

pub use answers::{accepted, declined, dismissed, roots, sampled};
pub use told::{Change, LogLine, Progress};
pub use web::{HttpAnswer, HttpRequest};

/// A client with a gateway of its own in front of the plugin `P`.
///
/// What the plugin may learn is set by the methods that return `Self`; unset, it is absent. What the plugin told the
/// gateway can be read afterwards. As in a gateway, each call gets a plugin value of its own.
pub struct Client<P: Plugin> {
    gateway: RefCell<Gateway>,
    answers: BTreeMap<String, Answer>,
    plugin: PhantomData<P>,
}

/// What makes an answer.
type Answer = Box<dyn Fn(&InputRequest) -> Value>;

impl<P: Plugin> Client<P> {
    /// A client of which nothing is known.
    ///
    /// # Panics
    /// The plugin can't be described without settings, so no gateway would load it.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        // In a gateway of its own, which shows nothing of that to the test.
        let describes = fake::with(&mut Gateway::default(), || panic::catch_unwind(describe::<P>));
        if let Err(cause) = describes {
            let said = cause.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message");
            panic!(
                "the plugin can't be described without settings, so a gateway couldn't load it: {said}; read settings where a \
                 call needs them, not in `Default`"
            );
        }
        Self { gateway: RefCell::default(), answers: BTreeMap::new(), plugin: PhantomData }
    }

    // --- what the plugin may learn ---

    /// Sets one of the plugin's settings: a string as it is, anything else as its JSON.
    #[must_use]
    pub fn config(self, key: &str, value: impl Into<Value>) -> Self {
        let text = match value.into() {
            Value::String(text) => text,
            other => other.to_string(),
        };
        self.set(|gateway| gateway.config.insert(key.to_owned(), text))
    }

    /// Sets a variable of the environment, and grants it.
    #[must_use]
    pub fn env(self, name: &str, value: &str) -> Self {
        self.set(|gateway| gateway.env.insert(name.to_owned(), value.to_owned()))
    }

    /// Sets who the gateway says the caller is.
    #[must_use]
    pub fn principal(self, name: &str) -> Self {
        self.set(|gateway| gateway.principal = Some(name.to_owned()))
    }

    /// Sets how the client introduced itself.
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

    /// Sets what is answered to the question of this key: the result of its method, which [`accepted`], [`declined`],
    /// [`dismissed`], [`sampled`] and [`roots`] make.
    #[must_use]
    pub fn answer(self, key: &str, result: impl Into<Value>) -> Self {
        let result = result.into();
        self.answer_with(key, move |_| result.clone())
    }

    /// The same, by a function that sees the question.
    #[must_use]
    pub fn answer_with(mut self, key: &str, answer: impl Fn(&InputRequest) -> Value + 'static) -> Self {
        self.answers.insert(key.to_owned(), Box::new(answer));
        self
    }

    /// Lets the plugin have kept `value` under `key` before.
    ///
    /// # Panics
    /// The value can't be written as JSON.
    #[must_use]
    #[track_caller]
    pub fn kept(self, key: &str, value: impl Serialize) -> Self {
        let json = serde_json::to_vec(&value).expect("a value that can be kept");
        self.set(|gateway| gateway.kv.insert(key.to_owned(), json))
    }

    /// Lets the operator not have granted [`kv`](crate::kv).
    #[must_use]
    pub fn kv_denied(self) -> Self {
        self.set(|gateway| gateway.kv_denied = true)
    }

    /// Lets other calls be faster than the next `times` swaps of [`kv::update`](crate::kv::update).
    #[must_use]
    pub fn kv_contended(self, times: u32) -> Self {
        self.set(|gateway| gateway.kv_contention = times)
    }

    /// Lets this function stand in for all servers that [`http`](crate::http) could ask. It is called for each request;
    /// an error is one that the gateway would give, such as [`HttpError::Timeout`]. Without it nothing is granted.
    #[must_use]
    pub fn http(self, servers: impl Fn(&HttpRequest) -> Result<HttpAnswer, HttpError> + 'static) -> Self {
        self.set(|gateway| gateway.servers = Some(fake::http::Servers(Rc::new(servers))))
    }

    /// The same, as a table of URLs; any other is answered with 404, and a test that fails shows which that was.
    #[must_use]
    pub fn pages<'a>(self, pages: impl IntoIterator<Item = (&'a str, HttpAnswer)>) -> Self {
        let pages: BTreeMap<String, HttpAnswer> =
            pages.into_iter().map(|(url, answer)| (url.to_owned(), answer)).collect();
        self.http(move |request| {
            Ok(pages.get(&request.url).cloned().unwrap_or_else(|| web::no_page(&request.url, pages.keys())))
        })
    }

    /// Lets another call write `value` under `key` just before the next swap of [`kv::update`](crate::kv::update), which
    /// comes too late then. Said again, it is the swap after that.
    ///
    /// # Panics
    /// The value can't be written as JSON.
    #[must_use]
    #[track_caller]
    pub fn kv_meanwhile(self, key: &str, value: impl Serialize) -> Self {
        let json = serde_json::to_vec(&value).expect("a value that can be kept");
        self.set(|gateway| gateway.kv_meanwhile.push_back((key.to_owned(), json)))
    }

    /// Sets how long the gateway will wait.
    #[must_use]
    pub fn remaining(self, time: Duration) -> Self {
        self.set(|gateway| gateway.remaining_ms = Some(u32::try_from(time.as_millis()).unwrap_or(u32::MAX)))
    }

    /// Lets the caller have cancelled the request.
    #[must_use]
    pub fn cancelled(self) -> Self {
        self.set(|gateway| gateway.cancelled = true)
    }

    /// Keeps log lines of this level and above; unset, all.
    #[must_use]
    pub fn log_level(self, least: LogLevel) -> Self {
        self.set(|gateway| gateway.log_level = Some(least))
    }

    // --- what the plugin told the gateway ---

    /// The log lines of all calls so far.
    #[must_use]
    pub fn logs(&self) -> Vec<LogLine> {
        self.gateway.borrow().logs.clone()
    }

    /// The reports of progress of all calls so far.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        self.gateway.borrow().progress.clone()
    }

    /// What all calls so far said is no longer true.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        self.gateway.borrow().changes.clone()
    }

    /// The requests that all calls so far sent.
    #[must_use]
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.gateway.borrow().requests.clone()
    }

    /// What the plugin keeps under `key` now.
    ///
    /// # Panics
    /// It isn't a `T`.
    #[must_use]
    #[track_caller]
    pub fn kv<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let bytes = self.gateway.borrow().kv.get(key).cloned()?;
        match serde_json::from_slice(&bytes) {
            Ok(value) => Some(value),
            Err(error) => {
                let kept = String::from_utf8_lossy(&bytes);
                panic!("what is kept under `{key}` isn't of this type ({error}): {kept}");
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

/// What a gateway asks of a plugin when it loads it. Lists that can't be given are told where a test asks for them.
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
