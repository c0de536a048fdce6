"""Makes `urllib.request.urlopen` send requests with `moongate.http`.

The components' Python has no sockets that a gateway serves, and no module `ssl`.
"""

from __future__ import annotations

import io
import urllib.request
from email.message import Message
from typing import Any
from urllib.error import URLError
from urllib.response import addinfourl

from . import http
from .errors import HttpError


class GatewayHandler(urllib.request.BaseHandler):
    """Opens `http:` and `https:` URLs."""

    handler_order = 100  # before the handlers of urllib

    def http_open(self, request: urllib.request.Request) -> Any:
        """Send the request; urllib follows redirects itself."""
        data: Any = request.data
        if data is not None and not isinstance(data, (bytes, bytearray)):
            data = data.read() if hasattr(data, "read") else b"".join(data)
        # The gateway sets these itself.
        lines = {name: value for name, value in request.header_items() if name.lower() not in ("host", "connection")}
        timeout = request.timeout if isinstance(request.timeout, (int, float)) else None
        try:
            response = http.request(
                request.get_method(), request.full_url, headers=lines, timeout=timeout,
                data=None if data is None else bytes(data), max_redirects=0, max_body=2**31,
            )
        except HttpError as error:
            raise URLError(error) from None
        headers = Message()
        for name, value in response.headers.pairs:
            headers[name] = value
        found: Any = addinfourl(io.BytesIO(response.content), headers, request.full_url, response.status)
        found.msg = ""
        return found

    https_open = http_open


def install() -> None:
    """Use this handler for `urlopen`."""
    urllib.request.install_opener(urllib.request.build_opener(GatewayHandler))
