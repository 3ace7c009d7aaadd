"""An issuer of workload tokens: a real HTTP server on this machine that serves its public keys."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

AUDIENCE = "https://antechamber.example.org"
SUBJECT = "repo:acme/apollo:ref:refs/heads/main"


class Issuer:
    """Signs tokens with ES256 and publishes its keys; `answer` replaces what it publishes."""

    def __init__(self) -> None:
        """Make a first key and a server that does not run yet."""
        self._private: dict[str, ec.EllipticCurvePrivateKey] = {}
        self.requests = 0
        self.answer: tuple[int, bytes] | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"issuer": self}))
        self._server.daemon_threads = True
        self.name = f"http://127.0.0.1:{self._server.server_port}"
        self.add_key("first")

    def add_key(self, key_id: str) -> None:
        """Publish one more key."""
        self._private[key_id] = ec.generate_private_key(ec.SECP256R1())

    def keys(self) -> list[dict[str, str]]:
        """Return the public keys as JSON Web Keys."""
        form = jwt.get_algorithm_by_name("ES256")
        return [json.loads(form.to_jwk(key.public_key())) | {"kid": name} for name, key in self._private.items()]

    def token(self, key_id: str = "first", lifetime: int = 600, **claims: Any) -> str:
        """Return a token; claims replace the usual ones, and None leaves one out."""
        now = int(time.time())
        usual = {"iss": self.name, "aud": AUDIENCE, "sub": SUBJECT, "iat": now, "exp": now + lifetime}
        said = {name: value for name, value in (usual | claims).items() if value is not None}
        return jwt.PyJWS().encode(
            json.dumps(said).encode(), self._private[key_id], "ES256", headers={"kid": key_id, "typ": "JWT"}
        )

    def policy(self, **members: str) -> str:
        """Return the lines of producers.toml that list the issuer."""
        usual = {"keys_url": f'"{self.name}/jwks"', "allow_private": "true"} | members
        lines = "".join(f"{name} = {value}\n" for name, value in usual.items())
        return f'\n[[issuer]]\nissuer = "{self.name}"\naudience = "{AUDIENCE}"\n{lines}'

    @contextlib.contextmanager
    def running(self) -> Iterator["Issuer"]:
        """Serve until the context ends."""
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    issuer: Issuer

    def do_GET(self) -> None:
        self.issuer.requests += 1
        status, body = self.issuer.answer or (200, json.dumps({"keys": self.issuer.keys()}).encode())
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
