"""The section `cell`: what cells without work take of a machine, which decides how many small ones fit.

Several services with a folder each start one after another and idle. Memory that processes share is divided among them
(proportional set size, `smaps` of proc(5)); it is taken twice, after the start and after some submissions.
"""

import contextlib
import http.client
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
import psutil

from benchmarks.load import body
from benchmarks.rounds import Tell
from lib.processes import Application, cpu_of, end, free_port, workplace

_CELLS: Final = 4
_SUBMISSIONS: Final = 200
_HOUR: Final = 3600
_SETTLE_SECONDS: Final = 10
"""After it no work of the start is left."""


class CellCost(msgspec.Struct, frozen=True):
    """What one idle cell takes: medians over the cells."""

    cells: int
    ready_seconds: float
    idle_mb: float
    idle_cpu_seconds_an_hour: float
    used_mb: float
    """After some submissions."""
    folder_kb: float
    """Of a folder without submissions."""


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return whether every cell could be measured. A round idles for a minute."""
    seconds = 10 if quick else 60 * (rounds or 2)
    with workplace() as folder, contextlib.ExitStack() as stack:
        applications, ports, processes, ready = [], [], [], []
        for number in range(_CELLS):
            place = folder / f"cell-{number}"
            place.mkdir()
            applications.append(Application(place, None))
            ports.append(free_port())
            began = time.monotonic()
            process = applications[-1].start(ports[-1])
            ready.append(time.monotonic() - began)
            stack.callback(end, process)
            processes.append(psutil.Process(process.pid))
        tell(f"cell: {_CELLS} services run; they idle for {seconds} s …")
        time.sleep(_SETTLE_SECONDS)
        before = [cpu_of([one]) for one in processes]
        time.sleep(seconds)
        idle = [(cpu_of([one]) - used) * _HOUR / seconds for one, used in zip(processes, before, strict=True)]
        memory, sizes = _memory(processes), [_size(one.data) for one in applications]
        for application, port in zip(applications, ports, strict=True):
            _submit(application, port)
        used = _memory(processes)
    cost = CellCost(
        _CELLS,
        round(median(ready), 2),
        round(median(memory), 1),
        round(median(idle), 1),
        round(median(used), 1),
        round(median(sizes) / 1000, 1),
    )
    print(msgspec.json.encode(cost).decode() if as_json else _describe(cost))
    return True


def _describe(cost: CellCost) -> str:
    return (
        f"\nA cell without work, medians of {cost.cells}: ready after {cost.ready_seconds} s; "
        f"{cost.idle_mb} MB of memory, {cost.used_mb} MB after {_SUBMISSIONS} submissions; "
        f"{cost.idle_cpu_seconds_an_hour} s of CPU an hour; an empty folder of {cost.folder_kb} kB"
    )


def _memory(processes: Sequence[psutil.Process]) -> list[float]:
    return [process.memory_full_info().pss / 1e6 for process in processes]


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _submit(application: Application, port: int) -> None:
    """Submit some events one after another.

    Raises RuntimeError if one is not accepted.
    """
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        for number in range(_SUBMISSIONS):
            headers = {"authorization": f"Bearer {application.token}", "content-type": "application/json"}
            connection.request("POST", "/v1/submissions", body("cell", number), headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != http.client.CREATED:
                message = f"a cell answered with status {answer.status}"
                raise RuntimeError(message)
