//! The SDK as an OAuth client of the gateway, controlled by `node/oauth.mjs`. `program` in `node/oauth_clients.mjs`
//! describes the commands and answers.

use std::io::{self, BufRead as _};

use anyhow::{Context as _, Result, bail};
use rmcp::model::CallToolRequestParams;
use rmcp::service::RunningService;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, AuthorizationRequest, ClientCredentialsConfig, CredentialStore as _,
    InMemoryCredentialStore, OAuthState,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceExt as _};
use serde_json::{Value, json};

use crate::CLIENT;

/// The scope that the gateway requires.
const SCOPE: &str = "mcp:use";

/// The address to which the authorization server sends the browser back. Nothing listens there.
const CALLBACK: &str = "http://127.0.0.1:7/callback";

/// A connected client.
type OAuthService = RunningService<RoleClient, ()>;

/// A session, and what the client remembers of its authorization.
struct OAuthSession {
    service: OAuthService,
    credentials: InMemoryCredentialStore,
}

/// Reads commands until the end of the input.
pub(crate) async fn serve_commands() -> Result<()> {
    println!("{}", json!({ "label": CLIENT }));
    let mut session = None;
    while let Some(command) = read_line()? {
        let answer = match run(&command, &mut session).await {
            Ok(answer) => answer,
            Err(error) => json!({ "error": format!("{error:#}") }),
        };
        println!("{answer}");
    }
    Ok(())
}

async fn run(command: &str, session: &mut Option<OAuthSession>) -> Result<Value> {
    let (action, argument) = command.split_once(' ').unwrap_or((command, ""));
    match action {
        "open" => *session = Some(open(argument).await?),
        "credentials" => return Ok(json!({ "name": machine_name(argument).await? })),
        "close" => drop(session.take().context("no session")?.service.cancel().await?),
        "name" => {
            let session = session.as_ref().context("no session")?;
            return Ok(json!({ "name": caller_name(&session.service).await? }));
        }
        "replace" => replace_token(&session.as_ref().context("no session")?.credentials, argument).await?,
        _ => bail!("unknown command `{action}`"),
    }
    Ok(json!({}))
}

/// The next line without its end.
fn read_line() -> Result<Option<String>> {
    io::stdin().lock().lines().next().transpose().context("can't read the input")
}

/// Signs in and connects.
async fn open(resource: &str) -> Result<OAuthSession> {
    let credentials = InMemoryCredentialStore::new();
    let mut state = OAuthState::new(resource, None).await?;
    if let OAuthState::Unauthorized(manager) = &mut state {
        manager.set_credential_store(credentials.clone());
    }
    state.start_authorization(AuthorizationRequest::new(CALLBACK).with_client_name("rmcp-client")).await?;
    println!("{}", json!({ "sign_in": state.get_authorization_url().await? }));
    let callback = read_line()?.context("the input ended")?;
    state.handle_callback_url(&callback).await?;
    let manager = state.into_authorization_manager().context("not authorized")?;
    Ok(OAuthSession { service: connect(resource, manager).await?, credentials })
}

/// The caller's name with a client that has credentials of its own.
async fn machine_name(resource: &str) -> Result<String> {
    let mut state = OAuthState::new(resource, None).await?;
    let config = ClientCredentialsConfig::ClientSecret {
        client_id: "machine-post".to_owned(),
        client_secret: "machine-post-secret".to_owned(),
        scopes: vec![SCOPE.to_owned()],
        resource: Some(resource.to_owned()),
    };
    state.authenticate_client_credentials(config).await?;
    let manager = state.into_authorization_manager().context("not authorized")?;
    let service = connect(resource, manager).await?;
    let name = caller_name(&service).await?;
    service.cancel().await?;
    Ok(name)
}

async fn connect(resource: &str, manager: AuthorizationManager) -> Result<OAuthService> {
    let client = AuthClient::new(reqwest::Client::default(), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(resource);
    Ok(().serve(StreamableHttpClientTransport::with_client(client, config)).await?)
}

/// Calls a tool that returns the caller's name.
async fn caller_name(service: &OAuthService) -> Result<String> {
    let result = service.call_tool(CallToolRequestParams::new("zoo_echo_context")).await?;
    let context = result.structured_content.context("no structured content")?;
    Ok(context["principal"].as_str().context("no name")?.to_owned())
}

/// Replaces the access token that the client remembers.
async fn replace_token(credentials: &InMemoryCredentialStore, token: &str) -> Result<()> {
    let mut kept = credentials.load().await?.context("no credentials")?;
    let mut response = serde_json::to_value(&kept.token_response)?;
    response["access_token"] = token.into();
    kept.token_response = serde_json::from_value(response)?;
    credentials.save(kept).await?;
    Ok(())
}
