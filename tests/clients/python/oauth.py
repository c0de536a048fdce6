"""The Python SDK 2.x as an OAuth client of the gateway, controlled by `oauth.mjs`.

Usage: oauth.py ISSUER
`program` in `node/oauth_clients.mjs` describes the commands and answers.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from importlib.metadata import version
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

# The scope that the gateway requires.
SCOPE = "mcp:use"

# The address to which the authorization server sends the browser back. Nothing listens there.
CALLBACK = "http://127.0.0.1:7/callback"


class Memory:
    """A client's memory of an authorization, which a host would store."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def write(answer: dict[str, str]) -> None:
    print(json.dumps(answer), flush=True)


async def read() -> str:
    """The next line. Empty at the end."""
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


async def redirect(url: str) -> None:
    write({"sign_in": url})


async def callback() -> AuthorizationCodeResult:
    parameters = parse_qs(urlsplit(await read()).query)
    first = {name: values[0] for name, values in parameters.items()}
    return AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))


def person(resource: str) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="oauth.py",
        redirect_uris=[CALLBACK],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
        application_type="native",
    )
    return OAuthClientProvider(resource, metadata, Memory(), redirect, callback)


async def connect(session: AsyncExitStack, resource: str, auth: httpx2.Auth) -> Client:
    http = await session.enter_async_context(httpx2.AsyncClient(auth=auth))
    return await session.enter_async_context(Client(streamable_http_client(resource, http_client=http)))


async def caller_name(client: Client) -> str:
    """Calls a tool that returns the caller's name."""
    result = await client.call_tool("zoo_echo_context", {})
    return result.structured_content["principal"]


def replace_token(auth: OAuthClientProvider, token: str) -> None:
    """This client refreshes a token when it believes that it has expired."""
    auth.context.current_tokens = auth.context.current_tokens.model_copy(update={"access_token": token})
    auth.context.token_expiry_time = 0.001


async def serve(issuer: str, session: AsyncExitStack) -> None:
    """Serves the commands of one session."""
    while command := await read():
        action, _, argument = command.partition(" ")
        try:
            answer = {}
            if action == "open":
                auth = person(argument)
                client = await connect(session, argument, auth)
            elif action == "credentials":
                machine = ClientCredentialsOAuthProvider(
                    argument, Memory(), client_id="machine", client_secret="machine-secret", scope=SCOPE, issuer=issuer
                )
                async with AsyncExitStack() as other:
                    answer = {"name": await caller_name(await connect(other, argument, machine))}
            elif action == "replace":
                replace_token(auth, argument)
            elif action == "name":
                answer = {"name": await caller_name(client)}
            elif action == "close":
                await session.aclose()
            write(answer)
        except Exception as error:  # noqa: BLE001 - any failure is the check's result
            write({"error": f"{type(error).__name__}: {error}"})


async def main() -> None:
    write({"label": f"python-{version('mcp')}"})
    async with AsyncExitStack() as session:
        await serve(sys.argv[1], session)


if __name__ == "__main__":
    asyncio.run(main())
