"""A network with scripted faults between a submitter and a real service."""

from typing import Any

import httpx

Action = str | tuple[int, bytes] | tuple[int, bytes, dict[str, str]]
"""A scripted step.

`lose`: the request never arrives. `drop`: it arrives, and its answer is lost. `late`: it arrives when it is released. A
status with a body: an intermediary answers instead of the service.
"""


class Network(httpx.BaseTransport):
    """A transport that forwards requests to a service in this process, or injects scripted faults."""

    def __init__(self, service: Any) -> None:
        self._inner: httpx.BaseTransport = service.client._transport
        self.script: list[Action] = []
        self.held: list[httpx.Request] = []
        self.seen: list[tuple[str, str, bytes]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Apply the next step of the script; without one, forward the request."""
        content = request.read()
        self.seen.append((request.method, request.url.path, content))
        action = self.script.pop(0) if self.script else "pass"
        if action == "lose":
            message = "connection refused"
            raise httpx.ConnectError(message)
        if action == "late":
            self.held.append(httpx.Request(request.method, request.url, headers=request.headers, content=content))
            message = "timed out"
            raise httpx.ReadTimeout(message)
        if isinstance(action, tuple):
            headers = action[2] if len(action) == 3 else {}
            return httpx.Response(action[0], content=action[1], headers=headers)
        response = self._inner.handle_request(request)
        if action == "drop":
            response.read()
            message = "connection reset"
            raise httpx.ReadError(message)
        return response

    def let_go(self) -> list[httpx.Response]:
        """Deliver the late requests."""
        late, self.held = self.held, []
        answers = [self._inner.handle_request(request) for request in late]
        for answer in answers:
            answer.read()
        return answers

    def posts(self) -> list[bytes]:
        """Return the bodies of the single submissions that were sent."""
        return [content for method, path, content in self.seen if (method, path) == ("POST", "/v1/submissions")]


class AsyncNetwork(httpx.AsyncBaseTransport):
    """The same transport for asyncio."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Read the request and forward it."""
        content = await request.aread()
        plain = httpx.Request(request.method, request.url, headers=request.headers, content=content)
        response = self._network.handle_request(plain)
        return httpx.Response(response.status_code, headers=response.headers, content=response.read())
