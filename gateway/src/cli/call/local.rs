//! Calls a tool in this process, as a client of the newest revision. Used by `call`.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use moongate_model::call::{Capabilities, ClientInfo, DiscardSink, GrantReport, ToolResult};
use moongate_model::caller::Caller;
use moongate_model::json::Json;
use moongate_protocol::catalog::Catalog;
use moongate_protocol::dispatch::Dispatcher;
use moongate_protocol::mcp::{
    CacheScope, Identity, Params, Protocol, ProtocolOptions, RequestContext, RequestError, Revision,
    RoundsOutcome, SealingKey,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::rounds::{RoundInput, RoundResult};
use crate::cli::mcp_client::CLIENT_NAME;
use crate::cli::version;

/// The error of a local call.
pub(super) enum LocalCallError {
    /// An internal error of this process.
    Process(anyhow::Error),
    /// The call failed.
    Tool(RequestError),
}

impl From<RequestError> for LocalCallError {
    fn from(trouble: RequestError) -> Self {
        Self::Tool(trouble)
    }
}

/// A client of the plugins in this process.
pub(super) struct LocalCall {
    protocol: Protocol,
    catalog: Arc<Catalog>,
    request_context: RequestContext,
    grant_report: Option<Arc<GrantReport>>,
}

impl LocalCall {
    /// A client of `dispatcher` with these capabilities.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(super) fn new(
        dispatcher: Dispatcher,
        capabilities: &Value,
        grant_report: Option<Arc<GrantReport>>,
    ) -> Result<Self> {
        let catalog = dispatcher.catalog();
        let options = ProtocolOptions {
            identity: Identity::default(),
            cache_scope: CacheScope::Private,
            page_size: None,
            sealing_key: SealingKey::random()?,
            used_states: None,
        };
        let client = ClientInfo {
            name: CLIENT_NAME.to_owned(),
            version: version::GATEWAY_VERSION.to_owned(),
            ..ClientInfo::default()
        };
        let request_context = RequestContext {
            revision: Revision::V2026_07_28,
            caller: Caller::Local,
            session: None,
            client: Some(Arc::new(client)),
            capabilities: Arc::new(Capabilities::new(Json::from_value(capabilities))),
            cancel: CancellationToken::new(),
            sink: Arc::new(DiscardSink),
            peer: None,
        };
        Ok(Self { protocol: Protocol::new(dispatcher, options), catalog, request_context, grant_report })
    }

    /// Sends one request.
    ///
    /// # Errors
    /// The call failed, or its JSON can't be written or parsed.
    pub(super) async fn request(
        &self,
        tool: &str,
        arguments: &Json,
        more: &RoundInput,
    ) -> Result<RoundResult<ToolResult>, LocalCallError> {
        let params = request_params(tool, arguments, more).map_err(LocalCallError::Process)?;
        let params = Params::read(Some((&params).into())).map_err(RequestError::Protocol)?;
        let called = self
            .protocol
            .call_tool_in_process(&self.catalog, &self.request_context, &params, self.grant_report.clone())
            .await;
        match called? {
            RoundsOutcome::Done(result, _permit) => Ok(RoundResult::Done(result)),
            RoundsOutcome::Questions(text) => {
                let asked = serde_json::from_str(text.get());
                Ok(RoundResult::InputRequired(asked.map_err(|error| LocalCallError::Process(error.into()))?))
            }
        }
    }
}

/// The JSON of a request's parameters, which contains the arguments unchanged.
fn request_params(tool: &str, arguments: &Json, more: &RoundInput) -> Result<Json> {
    let mut members = Map::from_iter([("name".to_owned(), Value::from(tool))]);
    if let Some(state) = &more.state {
        members.insert("requestState".to_owned(), Value::from(state.as_str()));
        members.insert("inputResponses".to_owned(), Value::Object(more.answers.clone()));
    }
    let others = Value::Object(members).to_string();
    let others = others.strip_prefix('{').context("the JSON of an object starts with a brace")?;
    let text = format!("{{\"arguments\":{},{others}", arguments.get());
    Ok(Json::parse(text)?)
}
