//! Tests of questions in both eras: valid and invalid ones, and their answers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::super::{
    CacheScope, Identity, ProtocolError, ProtocolOptions, RequestAnswer, Revision, SealingKey, StartedRequest,
};
use super::*;
use crate::call::{Capabilities, Content, DiscardSink, PromptResult, ReadResult, ToolResult};
use crate::caller::Caller;
use crate::catalog::fake::{FakePlugin, IntoCatalogPlugin as _, catalog, ready};
use crate::jsonrpc::ErrorObject;
use crate::limiter::ConcurrencyLimiter;
use crate::names::Digest;
use crate::policy::{ClientFeature, PluginPolicy};

mod forms;
mod fuzz;
mod handshake;
mod stateless;

/// The plugin's behaviour.
type Script = Arc<dyn Fn(&CallContext) -> Result<Outcome<String>, CallError> + Send + Sync>;

/// A gateway with one plugin, `p`, whose tool, resource and prompt behave the same.
struct Gateway {
    protocol: Arc<Protocol>,
    catalog: watch::Sender<Arc<Catalog>>,
    limiter: Arc<ConcurrencyLimiter>,
    script: Script,
    calls: Arc<AtomicU32>,
}

/// A client's revision, identity and capabilities.
#[derive(Clone)]
struct Client {
    revision: Revision,
    caller: Caller,
    declares: Value,
    peer: Option<Arc<dyn Peer>>,
    cancel: CancellationToken,
}

/// A client that answers every question with a function, and records the questions.
struct Answers<F> {
    answer: F,
    asked: Mutex<Vec<(String, Value)>>,
}

impl<F> std::fmt::Debug for Answers<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Answers")
    }
}

impl<F: Fn(&str, &Value) -> Result<Value, QuestionError> + Send + Sync> Peer for Answers<F> {
    fn ask<'a>(&'a self, method: &'a str, params: Option<&'a Json>) -> PendingQuestion<'a> {
        let params = params.map_or(Value::Null, |params| params.to_value().unwrap());
        let answer = (self.answer)(method, &params).map(|answer| Json::from_value(&answer));
        self.asked.lock().unwrap().push((method.to_owned(), params));
        Box::pin(std::future::ready(answer))
    }
}

fn everything() -> Value {
    json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {}, "context": {} }, "roots": {} })
}

impl Client {
    fn stateless() -> Self {
        Self {
            revision: Revision::V2026_07_28,
            caller: Caller::LOOPBACK,
            declares: everything(),
            peer: None,
            cancel: CancellationToken::new(),
        }
    }

    /// A client of the handshake era, and the questions that it gets.
    fn answering<F>(revision: Revision, answer: F) -> (Self, Arc<Answers<F>>)
    where
        F: Fn(&str, &Value) -> Result<Value, QuestionError> + Send + Sync + 'static,
    {
        let peer = Arc::new(Answers { answer, asked: Mutex::default() });
        (Self { revision, peer: Some(Arc::clone(&peer) as Arc<dyn Peer>), ..Self::stateless() }, peer)
    }

    fn declaring(self, declares: Value) -> Self {
        Self { declares, ..self }
    }
}

fn granting_all(config: &mut PluginPolicy) {
    config.client_features =
        [ClientFeature::Elicitation, ClientFeature::Sampling, ClientFeature::Roots].into();
}

impl Gateway {
    fn new(
        script: impl Fn(&CallContext) -> Result<Outcome<String>, CallError> + Send + Sync + 'static,
    ) -> Self {
        Self::granting(granting_all, script)
    }

    fn granting(
        grants: fn(&mut PluginPolicy),
        script: impl Fn(&CallContext) -> Result<Outcome<String>, CallError> + Send + Sync + 'static,
    ) -> Self {
        let script: Script = Arc::new(script);
        let calls = Arc::new(AtomicU32::new(0));
        let (catalog, seen) = watch::channel(plugin("p", 1, &script, &calls, grants));
        let limiter = Arc::new(ConcurrencyLimiter::new(8));
        let options = ProtocolOptions {
            identity: Identity::default(),
            cache_scope: CacheScope::Public,
            page_size: None,
            sealing_key: SealingKey::shared("test"),
            used_states: None,
        };
        let protocol = Arc::new(Protocol::new(Dispatcher::new(seen, Arc::clone(&limiter)), options));
        Self { protocol, catalog, limiter, script, calls }
    }

    /// Replaces the plugin.
    fn now_serves(&self, id: &str, version: u8) {
        self.catalog.send_replace(plugin(id, version, &self.script, &self.calls, granting_all));
    }

    async fn request(&self, client: &Client, method: Method, params: &Value) -> Result<Value, ProtocolError> {
        let request_context = RequestContext {
            revision: client.revision,
            caller: client.caller.clone(),
            session: None,
            client: None,
            capabilities: Arc::new(Capabilities::new(Json::from_value(&client.declares))),
            cancel: client.cancel.clone(),
            sink: Arc::new(DiscardSink),
            peer: client.peer.clone(),
        };
        let raw = serde_json::value::to_raw_value(params).unwrap();
        let params = Params::read(Some((&*raw).into())).unwrap();
        let answer = match self.protocol.start(request_context, method, params) {
            StartedRequest::Ready(answer) => answer,
            StartedRequest::Pending(later) => later.await,
        };
        match answer {
            RequestAnswer::Result(text) | RequestAnswer::ToolError(text) => {
                Ok(serde_json::from_slice(text.json()).unwrap())
            }
            RequestAnswer::Shared(text) => Ok(serde_json::from_str(text.get()).unwrap()),
            RequestAnswer::Error(error) => Err(error),
        }
    }

    /// Calls the tool.
    async fn call(&self, client: &Client, more: Value) -> Result<Value, ProtocolError> {
        let mut params = json!({ "name": "p_ask", "arguments": { "b": 1, "a": 2 } });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.request(client, Method::CallTool, &params).await
    }

    /// The number of calls to the plugin.
    fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }
}

fn plugin(
    id: &str,
    version: u8,
    script: &Script,
    calls: &Arc<AtomicU32>,
    grants: fn(&mut PluginPolicy),
) -> Arc<Catalog> {
    let run = |script: &Script| {
        let (script, calls) = (Arc::clone(script), Arc::clone(calls));
        move |context: &CallContext| {
            calls.fetch_add(1, Ordering::Relaxed);
            script(context)
        }
    };
    let (tool, read, prompt) = (run(script), run(script), run(script));
    let object = json!({ "type": "object" });
    let mut fake = FakePlugin::new(id).tool("ask", &object, None).resource("test://ask").prompt("ask", &[]);
    fake.digest = Digest::of(&[version]);
    fake.on_tool = Some(Box::new(move |context, _| {
        ready(tool(&context).map(|it| {
            done(it, |text| ToolResult { content: vec![Content::text(text)], ..ToolResult::default() })
        }))
    }));
    fake.on_read =
        Some(Box::new(move |context, _| ready(read(&context).map(|it| done(it, |_| ReadResult::default())))));
    fake.on_prompt = Some(Box::new(move |context, _| {
        let described = |text| PromptResult { description: Some(text), ..PromptResult::default() };
        ready(prompt(&context).map(|it| done(it, described)))
    }));
    catalog(vec![fake.into_catalog_plugin(|config| {
        config.prefix = "p".to_owned();
        grants(config);
    })])
}

fn done<T>(outcome: Outcome<String>, with: impl FnOnce(String) -> T) -> Outcome<T> {
    match outcome {
        Outcome::Done(text) => Outcome::Done(with(text)),
        Outcome::NeedInput(need) => Outcome::NeedInput(need),
    }
}

/// Ends a call with questions: key, method, parameters.
fn asks(questions: &[(&str, &str, Value)], state: Option<&str>) -> Outcome<String> {
    let requests = questions.iter().map(|(key, method, params)| InputRequest {
        key: (*key).to_owned(),
        method: (*method).to_owned(),
        params: (!params.is_null()).then(|| Json::from_value(params)),
    });
    Outcome::NeedInput(InputNeeded {
        requests: requests.collect(),
        state: state.map(|state| state.as_bytes().to_vec()),
        meta: Vec::new(),
        extra: Vec::new(),
    })
}

fn form(message: &str, field: &str) -> Value {
    let schema =
        json!({ "type": "object", "properties": { field: { "type": "string" } }, "required": [field] });
    json!({ "message": message, "requestedSchema": schema })
}

fn sample() -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "Which is the capital?" } });
    json!({ "messages": [message], "maxTokens": 100 })
}

fn said() -> Value {
    json!({ "role": "assistant", "content": { "type": "text", "text": "Paris" }, "model": "m", "stopReason": "endTurn" })
}

fn accepted(content: &Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The plugin's answer for a key.
fn heard(context: &CallContext, key: &str) -> Option<Value> {
    let answer = context.answers.iter().find(|(its, _)| its == key)?;
    Some(answer.1.to_value().unwrap())
}

/// Asks for a name and greets.
fn greets(context: &CallContext) -> Result<Outcome<String>, CallError> {
    Ok(match heard(context, "name") {
        None => asks(&[("name", "elicitation/create", form("Who are you?", "name"))], None),
        Some(answer) if answer["action"] == "accept" => {
            Outcome::Done(format!("Hello, {}!", answer["content"]["name"].as_str().unwrap()))
        }
        Some(answer) => Outcome::Done(format!("the person chose to {}", answer["action"].as_str().unwrap())),
    })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}"))
}

fn reason(error: &ProtocolError) -> Value {
    error.error.data.as_ref().unwrap().to_value().unwrap()["reason"].clone()
}
