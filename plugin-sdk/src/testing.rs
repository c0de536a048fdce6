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

use std::cell::RefCell;
use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use crate::host::fake::{self, Gateway};
use crate::{
    CallOutcome, ClientInfo, Completion, CompletionTarget, Context, Failure, LogLevel, NeedInput, Plugin,
    PluginInfo, Prompt, PromptOutcome, PromptResult, ReadOutcome, ReadResult, ResourceInfo, ResourceTemplate,
    Tool, ToolResult,
};

/// A client with a gateway of its own in front of the plugin `P`.
///
/// What the plugin may learn is set by the methods that return `Self`; unset, it is absent. What the plugin told the
/// gateway can be read afterwards. As in a gateway, each call gets a plugin value of its own.
#[derive(Debug)]
pub struct Client<P> {
    gateway: RefCell<Gateway>,
    plugin: PhantomData<P>,
}

/// A line that the plugin logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// How serious it is.
    pub level: LogLevel,
    /// The part of the plugin that wrote it.
    pub logger: Option<String>,
    /// The message, or whatever value was logged.
    pub data: Value,
}

/// A report of progress.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How far the call had come.
    pub current: f64,
    /// How far it had to go.
    pub total: Option<f64>,
    /// What was being done.
    pub message: Option<String>,
}

/// A notice that something isn't true any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The lists of resources and templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// What the resource of this URI holds.
    Resource(String),
}

impl<P: Plugin> Client<P> {
    /// A client of which nothing is known.
    #[must_use]
    pub fn new() -> Self {
        Self { gateway: RefCell::default(), plugin: PhantomData }
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

    /// Sets what is answered to the [`InputRequest`](crate::InputRequest) of this key: the result of its method.
    #[must_use]
    pub fn answer(self, key: &str, result: impl Into<Value>) -> Self {
        let json = result.into().to_string();
        self.set(|gateway| gateway.answers.insert(key.to_owned(), json))
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

    // --- what the client may ask ---

    /// What the plugin says of itself.
    #[must_use]
    pub fn info(&self) -> PluginInfo {
        P::info()
    }

    /// All tools.
    ///
    /// # Panics
    /// The plugin can't give the list.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        self.run(P::tools).expect("the list of tools")
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    ///
    /// # Panics
    /// The tool asks for something that has no [`answer`](Self::answer).
    pub fn call(&self, name: &str, args: Value) -> Result<ToolResult, Failure> {
        match self.call_once(name, args)? {
            CallOutcome::Done(result) => Ok(result),
            CallOutcome::NeedInput(input) => unanswered(&input),
        }
    }

    /// Calls a tool and gives back also the questions that it may end with.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    #[expect(clippy::needless_pass_by_value, reason = "`json!(…)` is written in the call")]
    pub fn call_once(&self, name: &str, args: Value) -> Result<CallOutcome, Failure> {
        let args = args.to_string();
        self.run(|plugin| plugin.call_tool(&Context::new(), name, &args))
    }

    /// All resources.
    ///
    /// # Panics
    /// The plugin can't give the list.
    #[must_use]
    pub fn resources(&self) -> Vec<ResourceInfo> {
        self.run(P::resources).expect("the list of resources")
    }

    /// All resource templates.
    ///
    /// # Panics
    /// The plugin can't give the list.
    #[must_use]
    pub fn templates(&self) -> Vec<ResourceTemplate> {
        self.run(P::templates).expect("the list of templates")
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    ///
    /// # Panics
    /// The resource asks for something that has no [`answer`](Self::answer).
    pub fn read(&self, uri: &str) -> Result<ReadResult, Failure> {
        match self.run(|plugin| plugin.read_resource(&Context::new(), uri))? {
            ReadOutcome::Done(result) => Ok(result),
            ReadOutcome::NeedInput(input) => unanswered(&input),
        }
    }

    /// All prompts.
    ///
    /// # Panics
    /// The plugin can't give the list.
    #[must_use]
    pub fn prompts(&self) -> Vec<Prompt> {
        self.run(P::prompts).expect("the list of prompts")
    }

    /// Gets a prompt.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    ///
    /// # Panics
    /// The prompt asks for something that has no [`answer`](Self::answer).
    pub fn prompt(&self, name: &str, args: &[(&str, &str)]) -> Result<PromptResult, Failure> {
        let args = owned(args);
        match self.run(|plugin| plugin.get_prompt(&Context::new(), name, &args))? {
            PromptOutcome::Done(result) => Ok(result),
            PromptOutcome::NeedInput(input) => unanswered(&input),
        }
    }

    /// Asks for suggestions.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    pub fn complete(
        &self,
        target: &CompletionTarget,
        argument: &str,
        typed: &str,
        others: &[(&str, &str)],
    ) -> Result<Completion, Failure> {
        let others = owned(others);
        self.run(|plugin| plugin.complete(target, argument, typed, &others))
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

    fn set<R>(mut self, change: impl FnOnce(&mut Gateway) -> R) -> Self {
        change(self.gateway.get_mut());
        self
    }

    fn run<R>(&self, call: impl FnOnce(&P) -> R) -> R {
        fake::with(&mut self.gateway.borrow_mut(), || call(&P::default()))
    }
}

impl<P: Plugin> Default for Client<P> {
    fn default() -> Self {
        Self::new()
    }
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn unanswered(input: &NeedInput) -> ! {
    let keys: Vec<&str> = input.requests.iter().map(|request| request.key.as_str()).collect();
    panic!("the plugin asks for {keys:?}; set it with `Client::answer`")
}
