"""Tests the Python SDK 2.x as an OAuth client of the gateway. `oauth.mjs` starts the servers and this script.

Usage: oauth.py ISSUER RESOURCE HELPER
HELPER signs in like a person: it is sent the address for the browser, and returns the parameters of the callback.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from urllib.parse import parse_qs

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from checks import Checks

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


async def caller_name(resource: str, auth: httpx2.Auth) -> str:
    """Calls a tool that returns the caller's name."""
    async with httpx2.AsyncClient(auth=auth) as http:
        async with Client(streamable_http_client(resource, http_client=http)) as client:
            result = await client.call_tool("zoo_echo_context", {})
            return result.structured_content["principal"]


async def code_flow(issuer: str, resource: str, helper: str) -> None:
    answers: asyncio.Queue[AuthorizationCodeResult] = asyncio.Queue()

    async def redirect(url: str) -> None:
        async with httpx2.AsyncClient() as http:
            parameters = parse_qs((await http.post(helper, content=url)).text)
        first = {name: values[0] for name, values in parameters.items()}
        result = AuthorizationCodeResult(code=first["code"], state=first.get("state"), iss=first.get("iss"))
        await answers.put(result)

    metadata = OAuthClientMetadata(
        client_name="oauth.py",
        redirect_uris=[CALLBACK],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
        application_type="native",
    )
    auth = OAuthClientProvider(resource, metadata, Memory(), redirect, answers.get)
    assert await caller_name(resource, auth) == "ann"


async def client_credentials(issuer: str, resource: str, _helper: str) -> None:
    auth = ClientCredentialsOAuthProvider(
        resource, Memory(), client_id="machine", client_secret="machine-secret", scope=SCOPE, issuer=issuer
    )
    assert await caller_name(resource, auth) == "machine"


async def main() -> int:
    flows: dict[str, Callable[[str, str, str], Awaitable[None]]] = {
        "code": code_flow,
        "client_credentials": client_credentials,
    }
    checks = Checks(f"python-{version('mcp')} oauth")
    for name, flow in flows.items():
        await checks.check(name, flow(*sys.argv[1:4]))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
