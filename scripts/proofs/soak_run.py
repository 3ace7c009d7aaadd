"""One soak: a service, everything that uses and disturbs it, and what is compared at the end."""

import contextlib
import json
import os
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Final

from antechamber.store.sqlite.packed_leaf import unpack
from lib.processes import PRODUCER
from proofs import closing
from proofs.crash import examine
from proofs.crash_desk import CURATORS, Minutes
from proofs.crash_fields import OneFile
from proofs.crash_load import Client
from proofs.failover import Hosts
from proofs.failover_cluster import Cluster
from proofs.failover_faults import Faults
from proofs.failover_load import Auditor, branches
from proofs.mirror_files import found_broken, held_by, recalled
from proofs.mirror_world import SCOPES, WITNESS
from proofs.operate_site import demand
from proofs.soak_actors import (
    Actor,
    Batches,
    Caller,
    Exporter,
    Misfits,
    Postbox,
    Reader,
    Scraper,
    SlowClients,
    ToolUser,
    until,
)
from proofs.soak_desk import PASSWORD, PERSON, Operator, SoakCurator, Visitor
from proofs.soak_disturbances import SLOW, Disturbances, Mirror, Outages, Scene
from proofs.soak_resources import Resources, cpu_seconds
from proofs.watched import Manners, WatchedBrowser, WatchedField

PAUSE: Final = 45.0
"""Seconds between two disturbances; in a short run a thirtieth of it."""
CLIENTS: Final = 2
SETTLES: Final = 180.0
"""Seconds after the load in which alarms end, the mirror is up to date and the webhook has everything.

After its third failure a webhook waits for up to half a minute.
"""
_ENDS: Final = 150.0
_GRANTED: Final = 60.0
_LOOKED_FOR: Final = 5000
"""Receipts that each process is asked for at the end; the tables are compared with all of them."""
_EVENTS: Final = ("memory.admitted", "memory.ended", "alarm.raised")

LEAK: Final = """
import sys, threading, time
held = []
def leak():
    while len(held) < 800:
        held.append((open("/dev/null"), bytearray(b"x" * 200_000)))
        time.sleep(0.1 + len(held) / 500)
threading.Thread(target=leak, daemon=True).start()
from antechamber.cli import main
main()
"""
"""A `serve` that keeps files open and memory, ever more slowly.

At its limit of 1,024 files it would answer nothing, and the proof would wait for it.
"""


class SlowerClient(Client):
    """A client at a moderate rate."""

    pause = 0.6


class SlowerAuditor(Auditor):
    """An auditor who asks now and then."""

    every = 5.0


class WatchedFile(WatchedField, OneFile):
    """One process over a SQLite file, whose answers are noted."""

    def __init__(self, folder: Path, manners: Manners) -> None:
        """Start the process."""
        self.manners = manners
        super().__init__(folder)


class Soak:
    """A service under mixed load; over a cluster of PostgreSQL, or a folder without one."""

    def __init__(self, folder: Path, cluster: Cluster | None, seconds: float) -> None:
        """Start the service and its load."""
        self.folder, self.cluster, self.seconds = folder, cluster, seconds
        self.outages, self.minutes, self._stop = Outages(), Minutes(), threading.Event()
        self.manners = Manners(self.outages.excused)
        self.field: WatchedField = (
            Hosts(folder, cluster, self.manners) if cluster else WatchedFile(folder, self.manners)
        )
        self.caller = Caller(self.field.ports, self.manners, self.outages.broken_off)
        self.scene = Scene(self.field, folder, self.caller, self.outages)
        self._open = contextlib.ExitStack()
        self._open.enter_context(self.scene.receiver.running())
        self._prepare()
        faults = Faults(cluster) if cluster else None
        self.sabotaged = False
        self.disturbances = Disturbances(self.scene, faults, auditor=self.exporter.token, drop=self._drop)
        self.resources = Resources(self._processes, seconds)

    def _prepare(self) -> None:
        """Make accounts, tokens and the webhook, and everything that acts."""
        scene, caller, stop, ledger = self.scene, self.caller, self._stop, self.field.ledger
        token = self.field.application.token
        scene.write_policy()
        tokens = {PRODUCER: token, WITNESS: scene.call("token", "issue", WITNESS)}
        slow, auditor = scene.call("token", "issue", SLOW), self.field.issue_auditor()
        added = scene.call(
            "webhook", "add", scene.receiver.url, "--allow-private", *(f"--event={kind}" for kind in _EVENTS), "--json"
        )
        self.postbox = Postbox(caller, stop, scene.receiver, json.loads(added)["secret"])
        scene.call("user", "add", PERSON, "--role", "curator", "--password-stdin", typed=PASSWORD)
        scene.operator = Operator(caller, stop, scene.call("user", "add", "olga", "--role", "operator"))
        where = "&".join(f"scope={scope}" for scope in SCOPES)
        for port in self.field.ports:
            ask = partial(caller.ask, "policy", f"/v1/memories?{where}", token, port=port, expected=(200, 403))
            demand(until(lambda ask=ask: (ask() or (0,))[0] == 200, _GRANTED), "the first policy is not in force")  # noqa: PLR2004
        scene.mirror = Mirror(self.folder / "memories.mirror", self.field.ports[-1], token, dict(os.environ))
        self.misfits = Misfits(caller, stop, tokens, ledger)
        self.exporter = Exporter(caller, stop, auditor, self.folder)
        self.auditor = SlowerAuditor(self.field.ports, auditor, stop, self.manners)
        actors: list[Actor] = [self.misfits, self.exporter, scene.operator, self.postbox, Visitor(caller, stop)]
        actors += [Batches(caller, stop, token, ledger), Reader(caller, stop, token, ledger)]
        actors += [ToolUser(caller, stop, token), Scraper(caller, stop, auditor), SlowClients(caller, stop, slow)]
        self.curators = [self._curator(number, name) for number, name in enumerate(CURATORS)]
        clients = [SlowerClient(number, self.field.sender(), ledger, stop) for number in range(CLIENTS)]
        self._threads: list[threading.Thread] = [*actors, *self.curators, *clients, self.auditor]

    def _curator(self, number: int, name: str) -> SoakCurator:
        link = self.field.application.add_curator(name)
        browser = partial(WatchedBrowser, self.manners)
        return SoakCurator(number, self.field.ports, link, self.minutes, self._stop, browser)

    def _drop(self, url: str) -> None:
        if self.cluster is not None:
            self.cluster.run(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def _processes(self) -> dict[str, int]:
        """Return the ids of the processes whose memory and files are watched."""
        found = {f"host {number}": one.pid for number, one in enumerate(self.field.processes)}
        return found | ({"mirror": self.scene.mirror.pid} if self.scene.mirror else {})

    def sabotage(self) -> None:
        """Let the first process leak once it is killed and started again, and in the end lose and double something."""
        self.sabotaged = True
        self.field.application.launcher = LEAK

    def run(self) -> None:
        """Let it soak until the time is over, each disturbance was made, and each process was watched long enough."""
        pause, began = min(PAUSE, self.seconds / 30), time.monotonic()
        over, half = began + self.seconds, began + self.seconds / 2
        self._cpu, self._began = cpu_seconds(alone=self.cluster is not None), began
        self.resources.start()
        for thread in self._threads:
            thread.start()
        for kind in self.disturbances.cycle(late=lambda: time.monotonic() > half):
            left = over - time.monotonic()
            time.sleep(min(pause, max(0.0, left)))
            if left <= pause and self.disturbances.went_round and self.resources.suffices(self.seconds):
                break
            self.note(f"before: {kind}")
            self.disturbances.make(kind)
        self.resources.stop()
        self._used = (cpu_seconds(alone=self.cluster is not None) - self._cpu) / (time.monotonic() - began)

    def note(self, text: str) -> None:
        """Print how far it is, as a line that can be read during the run."""
        held = ", ".join(
            f"{one.name} {one.samples[-1].memory >> 20} MiB {one.samples[-1].files} files"
            for one in self.resources.series
            if one.samples and one.samples[-1].at > time.monotonic() - 10
        )
        told, wrong = self.field.ledger, sum(self.caller.unexpected.values()) + sum(self.manners.improper.values())
        print(
            f"{time.monotonic() - self._began:>6.0f} s {text:<40} {len(told.receipts):>7,} acknowledged "
            f"{len(self.minutes.acknowledged()):>5,} decisions {wrong} unexpected "
            f"{len(self.disturbances.broken)} broken  {held}  load {os.getloadavg()[0]:.1f}",
            file=sys.stderr,
            flush=True,
        )

    def end(self) -> None:
        """End the load; what is on its way may take some time."""
        self._stop.set()
        deadline = time.monotonic() + _ENDS
        for thread in self._threads:
            thread.join(max(0.1, deadline - time.monotonic()))

    def close(self) -> None:
        """Stop everything."""
        self._stop.set()
        if self.scene.mirror is not None:
            self.scene.mirror.close()
        self.field.close()
        self._open.close()

    def numbers(self) -> closing.Numbers:
        """Compare everything with what the service holds in the end."""
        still = [thread.name for thread in self._threads if thread.is_alive()]
        settled = self._settle()
        if self.sabotaged:
            self.field.sabotage(next(iter(self.minutes.acknowledged()), ""))
        decided = examine(self.field, self.minutes, _LOOKED_FOR)
        leaves = [unpack(row[0]) for row in self.field.rows("SELECT leaf FROM log_leaves ORDER BY id")]
        ledger = self.field.ledger
        answers = self.caller.answers + Counter({f"submission {name}": one for name, one in ledger.statuses.items()})
        answers += Counter({f"decision {name}": one for name, one in self.minutes.statuses.items()})
        return (
            decided
            | settled
            | {
                "disturbances": dict(self.disturbances.done),
                "broken": self.disturbances.broken + [f"{name} has not ended" for name in still],
                "acknowledged": len(ledger.receipts),
                "lost": len(self.field.lost),
                "doubled": len(ledger.doubled),
                "refused": len(ledger.refused),
                "unanswered": len(ledger.unanswered),
                "refusals": len(self.misfits.kept),
                "refusals_changed": self.misfits.again(),
                "other_acts": dict(sum((one.done for one in self.curators), Counter[str]())),
                "answers": dict(sorted(answers.items())),
                "improper": dict(self.manners.improper),
                "unexpected": dict(self.caller.unexpected),
                "checkpoints": len(self.auditor.roots),
                "branches": len(branches(self.auditor.roots, leaves)),
                "leaves": len(leaves),
                "tracebacks": self.field.report_errors(),
                "files_broken": len(self.field.check()) + len(found_broken(self._mirror.file)),
                "series": self.resources.judged(self.seconds),
                "processes": dict(Counter(one.name for one in self.resources.series)),
                "doctor": self.field.doctor(),
                "cores_used": round(self._used, 2),
                "load": round(os.getloadavg()[2], 1),
            }
        )

    @property
    def _mirror(self) -> Mirror:
        assert self.scene.mirror is not None  # noqa: S101 -- made with the load
        return self.scene.mirror

    def _settle(self) -> closing.Numbers:
        """Wait until alarms end and everything has arrived, and verify the last export."""
        quiet = until(self.disturbances.quiet, SETTLES)
        alarms = [
            text for at in range(len(self.field.ports)) for text in self.scene.health(at).get("alarms", ["none said"])
        ]
        until(lambda: not self._backlog(), SETTLES)
        port, token = self.field.ports[0], self.field.application.token
        expected = recalled(port, token)
        until(lambda: held_by(self._mirror.file) == expected, SETTLES)
        held = held_by(self._mirror.file)
        taken = until(self.exporter.take, SETTLES)
        self.postbox.act()
        order = list(dict.fromkeys(self.postbox.sequences))
        return {
            "quiet": quiet,
            "alarms": alarms,
            "alarms_seen": dict(self.scene.operator.seen) if self.scene.operator else {},
            "mirror_differs": len({one for one in expected.keys() | held.keys() if expected.get(one) != held.get(one)}),
            "mirror_ended": self._mirror.ended_alone,
            "webhook_messages": len(self.scene.receiver.requests),
            "webhook_waits": self._backlog(),
            "webhook_disordered": int(order != sorted(order)),
            "exports": self.exporter.verified if taken else 0,
            "keys": self.scene.keys,
            "keys_missing": max(0, self.scene.keys - len(self.exporter.keys)),
            "backups": self.scene.backups,
        }

    def _backlog(self) -> int:
        """Return how many events wait for the webhook."""
        (webhook,) = json.loads(self.scene.call("webhook", "list", "--json"))
        return int(webhook["waiting"])
