"""A provider of OpenID Connect: a real HTTP server on this machine with discovery, authorize, token and keys."""

import base64
import hashlib
import json
import secrets
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from issuer import Issuer

CLIENT = "antechamber"
SECRET = "kept-out-of-the-policy"


class Provider(Issuer):
    """Signs in one person at once, with the claims of `person`; `answer` replaces all that it answers."""

    def __init__(self) -> None:
        """Make a server that does not run yet."""
        super().__init__()
        self._server.server_close()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"issuer": self}))
        self._server.daemon_threads = True
        self.name = f"http://127.0.0.1:{self._server.server_port}"
        self.person: dict[str, Any] = {"sub": "248289", "preferred_username": "lin", "groups": ["memory-curators"]}
        self.document: dict[str, Any] = {
            "issuer": self.name,
            "authorization_endpoint": f"{self.name}/authorize",
            "token_endpoint": f"{self.name}/token",
            "jwks_uri": f"{self.name}/jwks",
            "end_session_endpoint": f"{self.name}/out",
            "authorization_response_iss_parameter_supported": True,
        }
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: dict[str, str] = {}
        """The last question to the authorization endpoint."""
        self.id_token: str | None = None
        """Replaces the ID token."""
        self.key_id = "first"
        self.token_requests = 0

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser goes with the code of a person who signed in."""
        self.asked = asked
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], 'iss': self.name})}"

    def exchange(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, str]]:
        """Return the answer to a code, which works once, for this client and with the verifier of PKCE."""
        self.token_requests += 1
        asked = self.codes.pop(form.get("code", ""), None)
        if authorization != "Basic " + base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode():
            return 401, {"error": "invalid_client"}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if (
            asked is None
            or asked["code_challenge"] != challenge.decode().rstrip("=")
            or (asked["code_challenge_method"], asked["redirect_uri"]) != ("S256", form.get("redirect_uri"))
        ):
            return 400, {"error": "invalid_grant"}
        claims = {"aud": CLIENT, "nonce": asked["nonce"], "auth_time": int(time.time())} | self.person
        token = self.id_token or self.token(self.key_id, **claims)
        return 200, {"access_token": "unused", "token_type": "Bearer", "id_token": token}

    def policy(self, name: str = "acme", **members: str) -> str:
        """Return the lines of people.toml that list the provider."""
        usual = {
            "title": '"Acme"',
            "client_id": f'"{CLIENT}"',
            "secret_env": '"ACME_SECRET"',
            "roles": '[{claim = "groups", value = "memory-curators", role = "curator"},'
            ' {claim = "groups", value = "auditors", role = "auditor"}]',
            "create": "true",
            "algorithms": '["ES256"]',
            "allow_private": "true",
        } | members
        lines = "".join(f"{key} = {value}\n" for key, value in usual.items())
        return f'\n[[provider]]\nname = "{name}"\nissuer = "{self.name}"\n{lines}'


class _Handler(BaseHTTPRequestHandler):
    issuer: Provider

    def do_GET(self) -> None:
        self.issuer.requests += 1
        url = urlsplit(self.path)
        if url.path == "/authorize":
            self.send_response(303)
            asked = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.send_header("location", self.issuer.authorize(asked))
            self.send_header("content-length", "0")
            self.end_headers()
            return
        found = {"/.well-known/openid-configuration": self.issuer.document, "/jwks": {"keys": self.issuer.keys()}}
        status, body = self.issuer.answer or (200, json.dumps(found.get(url.path, {})).encode())
        self._reply(status, body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        status, said = self.issuer.exchange(form, self.headers.get("authorization", ""))
        self._reply(*(self.issuer.answer or (status, json.dumps(said).encode())))

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
