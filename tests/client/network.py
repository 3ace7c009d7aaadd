"""A network that breaks as it is told: between a submitter and a real service."""

from typing import Any

import httpx

Action = str | tuple[int, bytes] | tuple[int, bytes, dict[str, str]]
"""`lose`: the request never arrives. `drop`: it does, and its answer is lost. `late`: it arrives when it is let go.
A status with a body: somebody between answers for the service.
"""


class Network(httpx.BaseTransport):
    """Hands requests on to a service, or not."""

    def __init__(self, service: Any) -> None:
        """Use a service that runs in this process."""
        self._inner: httpx.BaseTransport = service.client._transport
        self.script: list[Action] = []
        self.held: list[httpx.Request] = []
        self.seen: list[tuple[str, str, bytes]] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Do the next thing of the script; without one, everything works."""
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
        """Deliver what was late."""
        late, self.held = self.held, []
        answers = [self._inner.handle_request(request) for request in late]
        for answer in answers:
            answer.read()
        return answers

    def posts(self) -> list[bytes]:
        """Return the bodies of single submissions that went out."""
        return [content for method, path, content in self.seen if (method, path) == ("POST", "/v1/submissions")]


class AsyncNetwork(httpx.AsyncBaseTransport):
    """The same for asyncio."""

    def __init__(self, network: Network) -> None:
        """Use a network."""
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Read the request, and hand it on."""
        content = await request.aread()
        plain = httpx.Request(request.method, request.url, headers=request.headers, content=content)
        response = self._network.handle_request(plain)
        return httpx.Response(response.status_code, headers=response.headers, content=response.read())
