"""A curator's browser over plain connections: sessions, pages and the hidden fields of forms."""

import http.client
import re
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urlencode

FOUND: Final = 303
_TIMEOUT: Final = 15.0
_FIELD: Final = re.compile(r'name="(csrf|version|shown_hash|decision_key|resulting_hash)" value="([^"]*)"')
Page = tuple[int, dict[str, str], str]
"""Status, headers by lower-case name, and text."""


def fields_of(text: str) -> dict[str, str]:
    """Return the hidden fields of a proposal's forms, which are the same in each; a long text counts as read."""
    return dict(_FIELD.findall(text)) | ({"read": "1"} if "data-read" in text else {})


class Browser:
    """One curator's connection to a process; its session outlives both."""

    def __init__(self, ports: Sequence[int], choose: Callable[[int], int], timeout: float = _TIMEOUT) -> None:
        """Connect at the first request; `choose` selects one of the ports for each connection."""
        self._links = [http.client.HTTPConnection("127.0.0.1", port, timeout=timeout) for port in ports]
        self._choose = choose
        self._cookie = ""

    def sign_in(self, link: str) -> None:
        """Follow a sign-in link.

        Raises RuntimeError if the link does not sign in.
        """
        page = self.post("/login", {"link": link.rpartition("link=")[2]})
        if page is None or page[0] != FOUND:
            message = f"the curator could not sign in: {page[0] if page else 'no answer'}"
            raise RuntimeError(message)
        self._cookie = page[1]["set-cookie"].partition(";")[0]

    def sign_in_with(self, name: str, password: str) -> Page | None:
        """Sign in by password; return the answer, whose session is kept if it is one."""
        page = self.post("/login", {"name": name, "password": password})
        if page is not None and "set-cookie" in page[1]:
            self._cookie = page[1]["set-cookie"].partition(";")[0]
        return page

    def get(self, path: str) -> Page | None:
        """Open a page; return None if the connection broke."""
        return self._ask("GET", path, None)

    def post(self, path: str, fields: dict[str, str]) -> Page | None:
        """Send a form; return None if its outcome is unknown."""
        return self._ask("POST", path, urlencode(fields).encode())

    def _ask(self, method: str, path: str, form: bytes | None) -> Page | None:
        link = self._links[self._choose(len(self._links))]
        headers = {"cookie": self._cookie, "origin": f"http://127.0.0.1:{link.port}"}
        if form is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        try:
            link.request(method, path, form, headers)
            response = link.getresponse()
            said = {name.lower(): value for name, value in response.getheaders()}
            return response.status, said, response.read().decode()
        except (OSError, http.client.HTTPException):
            link.close()
            return None
