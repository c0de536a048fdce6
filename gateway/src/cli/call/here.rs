//! Calling a tool in this process, as a client of the newest revision would. Used by `call`.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use moongate_model::call::{Capabilities, ClientInfo, Ledger, NoSink, ToolResult};
use moongate_model::json::Json;
use moongate_model::names::Principal;
use moongate_protocol::catalog::Catalog;
use moongate_protocol::dispatch::Dispatcher;
use moongate_protocol::mcp::{
    CacheScope, Conversed, Exchange, Identity, Params, Protocol, ProtocolOptions, Revision, SealingKey,
    Trouble,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::rounds::{More, Step};
use crate::cli::version;

/// The name by which `call` introduces itself to plugins.
pub(super) const NAME: &str = "moongate-call";

/// Why there is no result.
pub(super) enum Failed {
    /// The process itself can't go on.
    Process(anyhow::Error),
    /// The call failed.
    Call(Trouble),
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        Self::Call(trouble)
    }
}

/// One tool of this process and what it is called with.
pub(super) struct Here {
    protocol: Protocol,
    catalog: Arc<Catalog>,
    exchange: Exchange,
    ledger: Option<Arc<Ledger>>,
}

impl Here {
    /// What `dispatcher` reaches, for a client that can be asked for what `capabilities` say.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn new(
        dispatcher: Dispatcher,
        capabilities: &Value,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<Self> {
        let catalog = dispatcher.catalog();
        let options = ProtocolOptions {
            identity: Identity::default(),
            cache_scope: CacheScope::Private,
            page_size: None,
            sealing_key: SealingKey::random()?,
        };
        let client =
            ClientInfo { name: NAME.to_owned(), version: version::SHORT.to_owned(), ..ClientInfo::default() };
        let exchange = Exchange {
            revision: Revision::V2026_07_28,
            principal: Principal::Local,
            client: Some(Arc::new(client)),
            capabilities: Arc::new(Capabilities::new(Json::from_value(capabilities))),
            cancel: CancellationToken::new(),
            sink: Arc::new(NoSink),
            peer: None,
        };
        Ok(Self { protocol: Protocol::new(dispatcher, options), catalog, exchange, ledger })
    }

    /// One request.
    ///
    /// # Errors
    /// The call came to no result, or what is sent and said can't be written and read.
    pub(super) async fn request(
        &self,
        tool: &str,
        arguments: &Json,
        more: &More,
    ) -> Result<Step<ToolResult>, Failed> {
        let params = text(tool, arguments, more).map_err(Failed::Process)?;
        let params = Params::read(Some(&*params)).map_err(Trouble::Refused)?;
        let called =
            self.protocol.call_tool_here(&self.catalog, &self.exchange, &params, self.ledger.clone()).await;
        match called? {
            Conversed::Done(result) => Ok(Step::Done(result)),
            Conversed::Asks(text) => {
                let asked = serde_json::from_str(text.get());
                Ok(Step::Asks(asked.map_err(|error| Failed::Process(error.into()))?))
            }
        }
    }
}

/// The text of a request's parameters; the arguments stand in them as they were written.
fn text(tool: &str, arguments: &Json, more: &More) -> Result<Box<RawValue>> {
    let mut members = Map::from_iter([("name".to_owned(), Value::from(tool))]);
    if let Some(state) = &more.state {
        members.insert("requestState".to_owned(), Value::from(state.as_str()));
        members.insert("inputResponses".to_owned(), Value::Object(more.answers.clone()));
    }
    let others = Value::Object(members).to_string();
    let others = others.strip_prefix('{').context("an object begins with a brace")?;
    let text = format!("{{\"arguments\":{},{others}", arguments.get());
    Ok(RawValue::from_string(text)?)
}
