//! Every outgoing message is valid in its revision, whatever a plugin returns.
//!
//! A plugin from a seed is asked for everything that it offers, in every revision, and every message is checked against
//! that revision's official schema. The seeds are fixed, so a failure is reproducible; it names its seed.

use std::sync::Mutex;

use moongate_mcp_schema::{Conversation, ExtraMembers};

use super::*;
use crate::mcp::Revision;
use crate::policy::ClientFeature;

mod random;

use random::{Extra, Random};

/// The number of plugins.
const PLUGINS: u64 = 40;

/// A server with a random plugin.
fn saying_anything(random: &mut Random) -> Arc<Server> {
    let mut fake = random.fake("a");
    let shared = Arc::new(Mutex::new(random.clone()));
    let with = |shared: &Arc<Mutex<Random>>| Arc::clone(shared);
    let (tools, reads, prompts, completions) = (with(&shared), with(&shared), with(&shared), shared);
    fake.on_tool = Some(Box::new(move |context, (name, _)| {
        let mut random = tools.lock().unwrap();
        random.notify(&*context.sink);
        ready(random.tool(&name))
    }));
    fake.on_read = Some(Box::new(move |context, uri| {
        let mut random = reads.lock().unwrap();
        random.notify(&*context.sink);
        ready(random.read(&uri))
    }));
    fake.on_prompt = Some(Box::new(move |_, _| ready(prompts.lock().unwrap().prompt())));
    fake.on_complete = Some(Box::new(move |_, _| ready(completions.lock().unwrap().completion())));
    let portable = random.chance(30);
    let grants = random.chance(70);
    let catalog_plugin = fake.into_catalog_plugin(|config| {
        config.portable_schemas = portable;
        if grants {
            let all = [ClientFeature::Elicitation, ClientFeature::Sampling, ClientFeature::Roots];
            config.client_features.extend(all);
        }
    });
    let page_size = random.chance(40).then(|| NonZeroU32::new(2).unwrap());
    serving_in_pages(catalog(vec![catalog_plugin]), page_size)
}

/// A client that accepts everything and answers every question.
struct Client {
    server: Arc<Server>,
    connection: Arc<StdioConnection>,
    conversation: Conversation,
    random: Random,
    revision: Revision,
    /// The plugin, for the message of a failure.
    seed: u64,
    next: u64,
}

impl Client {
    async fn new(
        seed: u64,
        revision: Revision,
        members: ExtraMembers,
        server: Arc<Server>,
        random: Random,
    ) -> Self {
        let (connection, conversation) = (StdioConnection::new(), Conversation::new().with(members));
        let mut client = Self { server, connection, conversation, random, revision, seed, next: 1 };
        if revision != Revision::V2026_07_28 {
            let capabilities = client.capabilities();
            let initialize = json!({
                "protocolVersion": revision.as_str(), "capabilities": capabilities,
                "clientInfo": { "name": "t", "version": "1" },
            });
            client.ask("initialize", initialize).await;
            client.ask("ping", json!({})).await;
            client.ask("logging/setLevel", json!({ "level": "debug" })).await;
        } else {
            client.ask("server/discover", json!({})).await;
        }
        client
    }

    /// The client's capabilities: a random subset each time.
    fn capabilities(&mut self) -> Value {
        let mut all = json!({});
        let parts = [
            ("elicitation", json!({ "form": {}, "url": {} })),
            ("elicitation", json!({})),
            ("sampling", json!({ "tools": {}, "context": {} })),
            ("sampling", json!({})),
            ("roots", json!({})),
        ];
        for (name, part) in parts {
            if self.random.chance(50) {
                all[name] = part;
            }
        }
        all
    }

    /// Sends a request, checks all messages, and returns the result.
    async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        if self.revision == Revision::V2026_07_28 {
            let capabilities = self.capabilities();
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
            if self.random.chance(50) {
                params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
            }
        }
        if self.random.chance(60) {
            params["_meta"]["progressToken"] =
                if self.random.chance(50) { json!(id) } else { json!("token") };
        }
        let bytes = request(id, method, &params);
        self.conversation.sent(&bytes);
        let mut last = Value::Null;
        match self.server.stdio_line(&self.connection, &bytes) {
            LineReply::None => panic!("no answer"),
            LineReply::Ready(text) => last = self.receive(&text),
            LineReply::Pending(pending) => last = self.receive(&pending.await.unwrap()),
            LineReply::Stream(mut messages) => {
                while let Some(message) = messages.next().await {
                    last = self.receive(&message.into_message());
                    if last.get("method").is_some() && last.get("id").is_some() {
                        self.answer(&last);
                    }
                }
            }
        }
        assert_eq!(
            last["id"], id,
            "seed {} in {}: the response comes last: {last}",
            self.seed, self.revision
        );
        last["result"].clone()
    }

    #[track_caller]
    fn receive(&mut self, text: &[u8]) -> Value {
        assert!(!text.contains(&b'\n') && !text.contains(&b'\r'), "one line");
        let message = serde_json::from_slice(text).unwrap();
        if let Err(misfit) = self.conversation.received(&message) {
            panic!("seed {} in {}: {misfit}", self.seed, self.revision);
        }
        message
    }

    /// Answers the server's own request: correctly, incorrectly, or with an error.
    fn answer(&mut self, question: &Value) {
        let id = &question["id"];
        let result = match question["method"].as_str().unwrap() {
            "elicitation/create" => json!({ "action": "accept", "content": { "a": "a@example.com" } }),
            "sampling/createMessage" => {
                json!({ "role": "assistant", "content": { "type": "text", "text": "x" }, "model": "m" })
            }
            _ => json!({ "roots": [{ "uri": "file:///x" }] }),
        };
        let answer = match self.random.below(4) {
            0 => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -1, "message": "no" } }),
            1 => json!({ "jsonrpc": "2.0", "id": id, "result": self.random.json().to_value().unwrap() }),
            _ => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        };
        let reply = self.server.stdio_line(&self.connection, answer.to_string().as_bytes());
        assert!(matches!(reply, LineReply::None), "{reply:?}");
    }

    /// All items of a list, page after page.
    async fn list(&mut self, method: &str, member: &str) -> Vec<Value> {
        let mut all = Vec::new();
        let mut params = json!({});
        loop {
            let result = self.ask(method, params).await;
            all.extend(result[member].as_array().unwrap().iter().cloned());
            match result.get("nextCursor") {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return all,
            }
        }
    }

    /// Requests everything; requests that can ask questions are repeated with answers.
    async fn everything(&mut self) {
        let tools = self.list("tools/list", "tools").await;
        let resources = self.list("resources/list", "resources").await;
        let templates = self.list("resources/templates/list", "resourceTemplates").await;
        let prompts = self.list("prompts/list", "prompts").await;
        for tool in &tools {
            let arguments = self.random.pick(&[json!({}), json!({ "a": 1, "x": "y" })]);
            self.rounds("tools/call", json!({ "name": tool["name"], "arguments": arguments })).await;
        }
        let uris = resources.iter().map(|resource| resource["uri"].clone());
        let more = [json!("tpl://host0/1"), json!("none://x"), json!("not a uri")];
        for uri in uris.chain(more) {
            self.rounds("resources/read", json!({ "uri": uri })).await;
        }
        for prompt in &prompts {
            let arguments = self.random.pick(&[json!({}), json!({ "a": "x" }), json!({ "a": 1 })]);
            self.rounds("prompts/get", json!({ "name": prompt["name"], "arguments": arguments })).await;
            self.complete(json!({ "type": "ref/prompt", "name": prompt["name"] })).await;
        }
        for template in &templates {
            self.complete(json!({ "type": "ref/resource", "uri": template["uriTemplate"] })).await;
        }
        for method in ["nope", "tools/nope", "rpc.discover"] {
            self.ask(method, json!({})).await;
        }
    }

    async fn complete(&mut self, whose: Value) {
        let argument = json!({ "name": self.random.pick(&["a", "id", "zzz"]), "value": self.random.text() });
        self.ask("completion/complete", json!({ "ref": whose, "argument": argument })).await;
    }

    /// Sends a request, and repeats it with answers while it asks questions.
    async fn rounds(&mut self, method: &str, params: Value) {
        let mut result = self.ask(method, params.clone()).await;
        for _ in 0..2 {
            if result["resultType"] != "input_required" {
                return;
            }
            let mut again = params.clone();
            if let Some(state) = result.get("requestState") {
                again["requestState"] = state.clone();
            }
            for key in result["inputRequests"].as_object().into_iter().flat_map(|all| all.keys()) {
                again["inputResponses"][key] = json!({ "action": "decline" });
            }
            result = self.ask(method, again).await;
        }
    }
}

/// Tests one plugin in every revision.
async fn check_plugin(seed: u64, extra: Extra, members: ExtraMembers) {
    for revision in Revision::ALL {
        let mut random = Random::new(seed, extra);
        let server = saying_anything(&mut random);
        Client::new(seed, revision, members, server, random).await.everything().await;
    }
}

#[tokio::test]
async fn random_plugins_are_valid_in_every_revision() {
    for seed in 0..PLUGINS {
        check_plugin(seed, Extra::None, ExtraMembers::Denied).await;
    }
}

#[tokio::test]
async fn unknown_members_are_valid_in_every_revision() {
    for seed in 0..PLUGINS {
        check_plugin(1000 + seed, Extra::Some, ExtraMembers::Allowed).await;
    }
}
