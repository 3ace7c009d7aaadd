"""Memory and sockets of a serving process."""

import contextlib
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from support import add_person, event, issue_token, serving

ARENA = 64 << 20
"""Alignment of the arenas of glibc's malloc, except for the main arena."""


def arenas_of(process_id: int) -> list[str]:
    """Return the addresses of the arenas of malloc beside the main one.

    What is not used yet of an arena is reserved behind it; other memory may begin at such an address by chance.
    """
    maps = Path(f"/proc/{process_id}/maps").read_text(encoding="ascii")
    found = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *\n\2-([0-9a-f]+) ---p", maps, re.MULTILINE)
    return [start for start, _, end in found if int(start, 16) % ARENA == int(end, 16) % ARENA == 0]


def test_all_threads_allocate_from_the_same_arenas(tmp_path: Path, policies: Path) -> None:
    """An arena for each thread would keep the most that its thread ever needed, so that memory grows for hours."""
    data = tmp_path / "data"
    with serving(data, policies) as (url, process), httpx.Client(base_url=url, timeout=30) as client:
        token = {"authorization": f"Bearer {issue_token(data)}"}
        client.get(add_person(data, "bob", "curator", url))
        reads = ["/readyz", "/login", "/v1/memories?submission_scope=project&scope_id=apollo"] * 12
        with ThreadPoolExecutor(20) as readers:
            assert {client.post("/v1/submissions", json=event(), headers=token).status_code} == {201}
            answers = list(readers.map(lambda path: client.get(path, headers=token).status_code, reads))
        assert set(answers) == {200}
        assert len(arenas_of(process.pid)) <= 1


def open_files(pid: int) -> Iterator[str]:
    """Yield the name of each open file of a process, except those that it closes meanwhile."""
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield file.readlink().name


def test_connections_that_arrive_together_are_accepted_together(tmp_path: Path, policies: Path) -> None:
    """The event loop accepts one connection for each handle in an iteration, which takes 10 ms under load (libuv)."""
    with serving(tmp_path / "data", policies) as (url, process):
        port = int(url.rpartition(":")[2])
        lines = Path(f"/proc/{process.pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        sockets = [line.split() for line in lines if " 0A " in line]
        [listening] = [fields[9] for fields in sockets if fields[1].endswith(f":{port:04X}")]
        assert list(open_files(process.pid)).count(f"socket:[{listening}]") == 16
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(100)]
            for client in clients:
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert {client.recv(12) for client in clients} == {b"HTTP/1.1 200"}
