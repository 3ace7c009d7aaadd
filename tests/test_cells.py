"""Two cells behind one proxy: each name leads to its cell, and the failure of one is not that of the other."""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from certificate import make_certificate
from lib.proxies import CELLS, NAME, NamedClient, proxying_cells
from support import HANG_SECONDS, antechamber, event, free_port, serving, until, write_policies


class Cell:
    """A cell that can be stopped and started again at its address."""

    def __init__(self, name: str, folder: Path) -> None:
        self.host = f"{name}.{NAME}"
        self.port = free_port()
        self._data, self._policies = folder / name, write_policies(folder / f"{name}-policies")
        self._stack = contextlib.ExitStack()
        self.start()
        self.token = antechamber("token", "issue", "worker:release-bot", "--data", str(self._data)).stdout.strip()

    @property
    def url(self) -> str:
        """The address behind the proxy."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        options = ("--public-url", f"https://{self.host}", "--client-address-header", "X-Forwarded-For")
        self._stack.enter_context(serving(self._data, self._policies, self.port, options))

    def stop(self) -> None:
        """Stop it and wait for its end."""
        self._stack.close()


class Front:
    """Two cells behind one proxy."""

    def __init__(self, url: str, certificate: Path, apollo: Cell, gemini: Cell) -> None:
        self.apollo, self.gemini = apollo, gemini
        self._url, self._certificate = url, certificate
        self._logs = [certificate.parent / name for name in ("access.log", "proxy.log")]

    def submit(self, host: str, token: str, body: object) -> httpx.Response:
        """Submit an event to a name."""
        with self.client(host, token) as client:
            return client.post("/v1/submissions", json=body)

    def client(self, host: str, token: str) -> httpx.Client:
        """Return a client of a name with a token."""
        headers = {"authorization": f"Bearer {token}"}
        return NamedClient(self._url, self._certificate, HANG_SECONDS, name=host, **headers)

    def logged(self) -> str:
        """Return the log of the proxy, which is a file for nginx and its output for HAProxy."""
        return "".join(file.read_text() for file in self._logs if file.exists())


@pytest.fixture(scope="module", params=list(CELLS))
def front(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """The cells apollo and gemini behind each proxy."""
    folder = tmp_path_factory.mktemp(request.param)
    hosts = [f"{name}.{NAME}" for name in ("apollo", "gemini", "agents", "unknown")]
    certificate = make_certificate(folder, *hosts)
    with contextlib.ExitStack() as stack:
        cells = []
        for name in ("apollo", "gemini"):
            cells.append(Cell(name, folder))
            stack.callback(cells[-1].stop)
        apollo, gemini = cells
        (folder / "names.map").write_text("".join(f"{one.host} {one.host.partition('.')[0]}\n" for one in cells))
        digests = [hashlib.sha256(f"Bearer {one.token}".encode()).hexdigest() for one in cells]
        (folder / "tokens.map").write_text(f"{digests[0]} apollo\n{digests[1]} gemini\n")
        address = stack.enter_context(proxying_cells(request.param, folder, apollo.url, gemini.url))
        yield Front(address, certificate.public, apollo, gemini)


def test_a_name_leads_to_its_cell(front: Front) -> None:
    """The same event is a proposal of its own in each cell, and a token of one is unknown in the other."""
    body, apollo, gemini = event("Both cells see this."), front.apollo, front.gemini
    answers = [front.submit(cell.host, cell.token, body) for cell in (apollo, gemini, apollo)]
    assert [answer.status_code for answer in answers] == [201, 201, 201]
    first, other, again = [answer.json()["submission_id"] for answer in answers]
    assert first == again
    assert first != other
    assert front.submit(gemini.host, apollo.token, body).status_code == 401


def test_a_name_of_no_cell_is_misdirected(front: Front) -> None:
    """The proxy answers by itself."""
    assert front.submit(f"unknown.{NAME}", front.apollo.token, event()).status_code == 421


def test_the_failure_of_a_cell_is_not_that_of_the_other(front: Front) -> None:
    """Agents of the cell that stopped get 503 with a time; when it is back, the same event finds its receipt."""
    body, apollo, gemini = event("Kept over the failure."), front.apollo, front.gemini
    before = front.submit(apollo.host, apollo.token, body).json()
    apollo.stop()
    refused = front.submit(apollo.host, apollo.token, body)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
    assert front.submit(gemini.host, gemini.token, event("The other cell works.")).status_code == 201
    apollo.start()
    until(lambda: front.submit(apollo.host, apollo.token, body).status_code == 201, "the cell is back")
    assert front.submit(apollo.host, apollo.token, body).json()["submission_id"] == before["submission_id"]


@pytest.mark.parametrize("front", ["haproxy"], indirect=True)
def test_agents_that_know_one_name_are_routed_by_their_token(front: Front) -> None:
    """The digest of the token leads to the cell; a token that the list does not have is refused before any cell."""
    body, agents = event("Routed by its token."), f"agents.{NAME}"
    by_name = [front.submit(cell.host, cell.token, body).json() for cell in (front.apollo, front.gemini)]
    by_token = [front.submit(agents, cell.token, body).json() for cell in (front.apollo, front.gemini)]
    assert [one["submission_id"] for one in by_token] == [one["submission_id"] for one in by_name]
    refused = front.submit(agents, "antp_" + "0" * 36, body)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


def test_the_log_of_the_proxy_has_no_secret(front: Front) -> None:
    """Neither a token, nor a key, nor a query is in it."""
    key, apollo = "a-key-that-no-log-keeps", front.apollo
    body = event("A text that no log keeps.", idempotency_key=key)
    before = front.logged().count(" 200 ")
    assert front.submit(apollo.host, apollo.token, body).status_code == 201
    with front.client(apollo.host, apollo.token) as client:
        assert client.get(f"/v1/submissions/by-key/{key}?x=1").status_code == 200
    until(lambda: front.logged().count(" 200 ") > before, "the request is logged")
    assert [one for one in (apollo.token, key, "no log keeps", "x=1") if one in front.logged()] == []
