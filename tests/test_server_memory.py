"""Memory of a serving process."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from support import add_person, event, issue_token, serving

AREA = 64 << 20
"""Alignment of the areas from which glibc's malloc serves threads, except for the first one."""


def areas_of(process_id: int) -> list[str]:
    """Return the addresses of the areas that malloc opened beside the first one."""
    maps = Path(f"/proc/{process_id}/maps").read_text(encoding="ascii")
    found = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *$", maps, re.MULTILINE)
    return [start for start, end in found if int(start, 16) % AREA == 0 and int(end, 16) - int(start, 16) < AREA]


def test_all_threads_allocate_from_the_same_areas(tmp_path: Path, policies: Path) -> None:
    """An area for each thread would keep the most that its thread ever needed, so that memory grows for hours."""
    data = tmp_path / "data"
    with serving(data, policies) as (url, process), httpx.Client(base_url=url, timeout=30) as client:
        token = {"authorization": f"Bearer {issue_token(data)}"}
        client.get(add_person(data, "bob", "curator", url))
        reads = ["/readyz", "/login", "/v1/memories?submission_scope=project&scope_id=apollo"] * 12
        with ThreadPoolExecutor(20) as readers:
            assert {client.post("/v1/submissions", json=event(), headers=token).status_code} == {201}
            answers = list(readers.map(lambda path: client.get(path, headers=token).status_code, reads))
        assert set(answers) == {200}
        assert len(areas_of(process.pid)) <= 1
