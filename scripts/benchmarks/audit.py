"""The section `audit`: a log of a million leaves exported, proven and verified, on both engines.

Leaves are inserted directly, as the service's own transactions would write them. Then a service is started, and an
auditor downloads the whole log over HTTP and requests proofs of leaves anywhere in it. The export is compared with a
loop that reads and hashes the same leaves from the same database, the verifier with one that parses the same lines as
JSON. A smaller log is exported and verified by the program that auditors get.
"""

import hashlib
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, Self

import httpx
import psutil

from antechamber import app
from antechamber.core.log.leaf import Leaf, leaf_bytes
from antechamber.core.log.rows import LeafWrite
from antechamber.core.ports.store import Store
from antechamber.core.times import format_time
from antechamber.settings import Location
from benchmarks.rounds import Tell
from lib.processes import Application, end, free_port, postgres, workplace

LEAVES: Final = 1_000_000
VERIFIED: Final = 100_000
QUICK: Final = 20_000
_ASKED: Final = 300
"""Proofs of each kind."""
_BATCH: Final = 5_000
_VERIFIER: Final = Path(__file__).resolve().parents[1] / "verify_export.py"


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print."""
    number, verified, rounds = (QUICK, QUICK, 1) if quick else (LEAVES, VERIFIED, rounds or 5)
    made: list[dict[str, Any]] = []
    with workplace() as folder:
        made.append(_measured(folder / "sqlite", None, number, rounds, tell))
        with postgres(folder) as server:
            made.append(_measured(folder / "postgres", server.empty(), number, rounds, tell))
        made.append(_verified(folder / "verified", verified, rounds, tell))
    if as_json:
        for one in made:
            print(json.dumps({"section": "audit", **one}))
        return True
    print(f"\nA log of {number:,} leaves over HTTP, medians of {rounds}; {_ASKED} proofs of each kind.\n")
    for one in made[:2]:
        print(
            f"{one['engine']:<9} export {one['per_second']:>9,.0f} leaves/s, {one['ratio']:.2f} of the reference, "
            f"memory {one['grown_mb']:+.1f} MB; inclusion p50 {one['inclusion_p50_ms']:.1f} p95 "
            f"{one['inclusion_p95_ms']:.1f} ms, consistency p95 {one['consistency_p95_ms']:.1f} ms"
        )
    last = made[2]
    print(
        f"verify    {verified:,} leaves in {last['seconds']:.1f} s, {last['ratio']:.1f} times as long as reading them"
    )
    return True


def _leaf(number: int) -> LeafWrite:
    """Return a leaf of the same length as those of submissions."""
    digest = hashlib.sha256(number.to_bytes(8)).hexdigest()
    subject = f"0198c7f2-6a0e-7c1e-9d55-{number:012x}"
    leaf = Leaf(
        action="submit",
        actor="worker:release-bot",
        payload_commitment=f"sha256:{digest}",
        policy_digest=f"blake3:{digest}",
        role="producer",
        subject={"submission_id": subject, "proposal_id": subject[::-1]},
        time=format_time(1_795_168_800_000_000 + number),
        after="accepted-for-review",
    )
    return LeafWrite(leaf_bytes(leaf), subject, bytes(32))


def fill(store: Store, number: int, tell: Tell) -> None:
    """Insert the leaves."""
    for first in range(0, number, _BATCH):
        leaves = [_leaf(one) for one in range(first, min(first + _BATCH, number))]
        store.write(lambda tx, leaves=leaves: tx.sql.append_leaves(leaves)).result()
        if first % (_BATCH * 40) == 0:
            tell(f"  {first:,} of {number:,} leaves")


class _Watched:
    """Measures the peak memory of a process."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.before = self.most = self._process.memory_info().rss
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.02):
            self.most = max(self.most, self._process.memory_info().rss)

    @property
    def grown(self) -> float:
        """Return the increase in megabytes."""
        return (self.most - self.before) / 1e6


def _measured(folder: Path, database_url: str | None, number: int, rounds: int, tell: Tell) -> dict[str, Any]:
    engine = "sqlite" if database_url is None else "postgres"
    tell(f"{engine}: filling")
    application, port = Application(folder, database_url), free_port()
    token = application._run("token", "issue", "auditing", "--role", "auditor")  # noqa: SLF001 -- one more command
    location = Location(data=application.data, database_url=database_url)
    store = app.open_store(location)
    try:
        fill(store, number, tell)
        process = application.start(port)
        try:
            found = _asked(f"http://127.0.0.1:{port}/v1/audit", token, process.pid, store, rounds, tell)
        finally:
            end(process)
    finally:
        store.close()
    return {"engine": engine} | found


def _asked(url: str, token: str, pid: int, store: Store, rounds: int, tell: Tell) -> dict[str, Any]:
    rates, references, grown = [], [], []
    with httpx.Client(headers={"authorization": f"Bearer {token}"}, timeout=600) as client:
        size = int(client.get(f"{url}/checkpoint").text.split("\n")[1])
        for number in range(rounds):
            tell(f"  export {number + 1}/{rounds}")
            with _Watched(pid) as watched:
                rates.append(size / _timed(lambda: _drain(client, url)))
            grown.append(watched.grown)
            references.append(size / _timed(lambda: _read(store, size)))
        chance = random.Random(7)  # noqa: S311 -- no secret
        included = [
            1000 * _timed(lambda: client.get(f"{url}/proof/inclusion", params={"sequence": chance.randrange(size)}))
            for _ in range(_ASKED)
        ]
        consistent = [
            1000
            * _timed(lambda: client.get(f"{url}/proof/consistency", params={"old_size": chance.randrange(1, size)}))
            for _ in range(_ASKED)
        ]
    rate, reference = median(rates), median(references)
    return {
        "size": size, "per_second": rate, "ratio": rate / reference, "grown_mb": max(grown),
        "inclusion_p50_ms": median(included), "inclusion_p95_ms": quantiles(included, n=20)[-1],
        "consistency_p95_ms": quantiles(consistent, n=20)[-1],
    }  # fmt: skip


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _drain(client: httpx.Client, url: str) -> None:
    """Read the whole log, keeping only its end."""
    end_of_it = b""
    with client.stream("GET", f"{url}/export") as response:
        for chunk in response.iter_raw():
            end_of_it = (end_of_it + chunk)[-4096:]
    closing = json.loads(end_of_it.splitlines()[-1])
    if closing["record"] != "closing":
        message = "the export was cut off"
        raise RuntimeError(message)


def _read(store: Store, size: int) -> None:
    for first in range(0, size, _BATCH):
        with store.read() as tx:
            for leaf in tx.log.leaf_texts(first, _BATCH):
                hashlib.sha256(b"\x00" + leaf.encode()).digest()


def _verified(folder: Path, number: int, rounds: int, tell: Tell) -> dict[str, Any]:
    tell("verifier: filling")
    location = Location(data=folder)
    store = app.open_store(location)
    fill(store, number, tell)
    store.close()
    export, checkpoint = folder / "log.jsonl", folder / "checkpoint.txt"
    command = [sys.executable, "-m", "antechamber.cli"]
    where = ["--data", str(folder)]
    subprocess.run([*command, "export", "log", "--output", str(export), *where], check=True)  # noqa: S603 -- our own program
    asked = [subprocess.run([*command, "log", what, *where], check=True, capture_output=True, text=True).stdout  # noqa: S603 -- our own program
             for what in ("checkpoint", "key")]  # fmt: skip
    checkpoint.write_text(asked[0])
    verify = [sys.executable, str(_VERIFIER), str(export), "--checkpoint", str(checkpoint), "--key", asked[1]]
    read = [
        sys.executable,
        "-c",
        "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)",
        str(export),
    ]
    times, references = [], []
    for one in range(rounds):
        tell(f"  verify {one + 1}/{rounds}")
        times.append(_timed(lambda: subprocess.run(verify, check=True, capture_output=True)))  # noqa: S603 -- our own program
        references.append(_timed(lambda: subprocess.run(read, check=True)))  # noqa: S603 -- our own program
    return {
        "engine": "verifier",
        "seconds": median(times),
        "ratio": median(times) / median(references),
        "leaves": number,
    }
