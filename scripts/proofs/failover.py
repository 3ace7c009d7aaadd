"""Fail the PostgreSQL under two hosts over, again and again; count what was lost and what was doubled.

Three nodes of PostgreSQL under Patroni, with three members of etcd, are reached through HAProxy, each node in a network
namespace of its own. The synchronous standby has a commit on its disk before the primary answers, and Patroni promotes
only that standby. Two hosts of Antechamber serve this database to agents, curators and an auditor, while in turn

- the primary is killed (kill -9), stopped (SIGSTOP) until another one is in its place, or loses its Patroni
- the leader of etcd is killed, and HAProxy is
- the primary is cut off from the other nodes while the hosts still reach it, or from all
- a planned switchover takes place

Lost is an acknowledged submission, decision or row of a direct client that the last primary does not hold. Doubled is a
key with two receipts, a version of a proposal with two decisions. A client writes to each node past HAProxy all the
time, so that an old primary which returns and acknowledges something is found. Improper is an answer that is neither a
success nor a 409 or 503 with `Retry-After`, and a request without an answer. A branch is a signed checkpoint that the
final log contradicts.

It unpacks Debian's packages of patroni, etcd-server, haproxy and postgresql without installing them, and needs root for
the namespaces. Without them it says so, with status 1 where CI is set. Nothing listens on this machine's addresses.

Status 1 says that something was lost, doubled, improper or without an answer, that a branch exists or doctor found
something, that writes paused for longer than 15 s (--quick only reports the pauses: eight of them say more about how
busy the machine is), or that too little was tried. With --asynchronous the standby confirms nothing: then the same run
loses acknowledged answers, and fails.
"""

import os
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

import click

from lib.processes import workplace
from proofs import closing
from proofs.crash import examine
from proofs.crash_desk import CURATORS, Curator, Minutes
from proofs.crash_fields import OneServer
from proofs.crash_load import Client
from proofs.failover_cluster import Cluster
from proofs.failover_faults import MOVES, Faults
from proofs.failover_load import Auditor, Direct, Pulse, branches
from proofs.failover_packages import MissingError, Programs, fetch
from proofs.watched import Manners, WatchedBrowser, WatchedField

ENGINES: Final = ("postgres",)
FAULTS: Final = 50
QUICK: Final = 8
KINDS: Final = 8
CLIENTS: Final = 4
RESUMES_WITHIN: Final = 15.0
"""Seconds in which each host must acknowledge something again."""
LEAST: Final = {"acknowledged": 200, "decisions": 10, "checkpoints": 20, "changes of the primary": 5}
_ASYNCHRONOUS: Final = "primary cut off from the nodes"
"""The fault that loses the most without synchronous replication: the hosts still reach the old primary."""
_BEAT_WITHIN: Final = 30.0
_WRONG: Final = (
    "lost",
    "doubled",
    "decisions_lost",
    "decisions_doubled",
    "direct_lost",
    "refused",
    "unanswered",
    "decisions_refused",
    "decisions_unanswered",
    "memories_wrong",
    "branches",
    "tracebacks",
)
_NAMESPACES: Final = ("unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc")
_REAP: Final = ("sh", "-c", '"$@"; exit $?', "sh")
"""The first process of the namespace also waits for processes whose parents were killed."""


class Hosts(WatchedField, OneServer):
    """Two hosts of Antechamber over a cluster."""

    def __init__(self, folder: Path, cluster: Cluster, manners: Manners) -> None:
        """Start both hosts."""
        self.manners = manners
        super().__init__(folder, cluster)


class Fight:
    """The load on the hosts, and the faults under it."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        """Start the hosts and the load."""
        self.cluster, self.manners, self.minutes = cluster, Manners(), Minutes()
        self.hosts = Hosts(folder, cluster, self.manners)
        self._stop = threading.Event()
        Direct.prepare(cluster.run)
        hosts, stop = self.hosts, self._stop
        self.pulses = [Pulse(host, hosts.sender(), hosts.ledger, stop) for host in range(len(hosts.ports))]
        self.direct = [Direct(node, stop) for node in cluster.nodes]
        self.auditor = Auditor(hosts.ports, hosts.issue_auditor(), stop, self.manners)
        self._threads: list[threading.Thread] = [*self.pulses, *self.direct, self.auditor]
        self._threads += [Client(number, hosts.sender(), hosts.ledger, stop) for number in range(CLIENTS)]
        for number, name in enumerate(CURATORS):
            link = hosts.application.add_curator(name)
            browser = partial(WatchedBrowser, self.manners)
            self._threads.append(Curator(number, hosts.ports, link, self.minutes, stop, browser))
        self.times: dict[str, list[float]] = {}
        self.changes = 0
        for thread in self._threads:
            thread.start()

    def run(self, kinds: list[str]) -> None:
        """Make the faults, one after another."""
        faults = Faults(self.cluster)
        for number, kind in enumerate(kinds, 1):
            time.sleep(2)
            start = time.monotonic()
            self.changes += faults.make(kind)
            self._until_beats()
            gap = max(pulse.gap(start, time.monotonic()) for pulse in self.pulses)
            self.times.setdefault(kind, []).append(gap)
            print(
                f"{number:>3} {kind:<32} paused {gap:5.1f} s, whole after {time.monotonic() - start:5.1f} s  "
                f"{len(self.hosts.ledger.receipts):>6,} acknowledged  "
                f"{len(self.minutes.acknowledged()):>5,} decisions  load {os.getloadavg()[0]:.1f}",
                file=sys.stderr,
                flush=True,
            )

    def _until_beats(self) -> None:
        """Wait until each host has acknowledged something since now."""
        now = time.monotonic()
        while any(not pulse.times or pulse.times[-1] < now for pulse in self.pulses):
            if time.monotonic() - now > _BEAT_WITHIN:
                return
            time.sleep(0.1)

    def end(self, seconds: float) -> None:
        """End the load; what is on its way may take this many seconds in all."""
        self._stop.set()
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.1, deadline - time.monotonic()))

    def numbers(self) -> closing.Numbers:
        """Compare everything acknowledged with what the last primary holds."""
        decided = examine(self.hosts, self.minutes)
        leaves = [row[0] for row in self.hosts.rows("SELECT leaf FROM log_leaves ORDER BY id")]
        kept = set(self.cluster.run("SELECT node, number FROM acknowledged"))
        direct = set().union(*(one.kept for one in self.direct))
        ledger = self.hosts.ledger
        # A client that sends an answered event again notes no answer first; real ones are among the improper.
        answers = {status: number for status, number in sorted(ledger.statuses.items()) if status != "no answer"}
        return decided | {
            "faults": {kind: len(gaps) for kind, gaps in self.times.items()},
            "changes of the primary": self.changes,
            "acknowledged": len(ledger.receipts),
            "lost": len(self.hosts.lost),
            "doubled": len(ledger.doubled),
            "refused": len(ledger.refused),
            "unanswered": len(ledger.unanswered),
            "direct": len(direct),
            "direct_lost": len(direct - kept),
            "improper": dict(self.manners.improper),
            "answers": answers,
            "answers_to_curators": dict(sorted(self.minutes.statuses.items())),
            "checkpoints": len(self.auditor.roots),
            "branches": len(branches(self.auditor.roots, leaves)),
            "doctor": self.hosts.doctor(),
            "tracebacks": self.hosts.report_errors(),
            "paused_median_s": {kind: round(median(gaps), 1) for kind, gaps in self.times.items()},
            "paused_max_s": {kind: round(max(gaps), 1) for kind, gaps in self.times.items()},
            "load": round(os.getloadavg()[2], 1),
        }


def holds(numbers: closing.Numbers, *, timed: bool) -> bool:
    """Return whether nothing was lost, doubled or improper, and if `timed` whether writes resumed in time."""
    wrong = sum(numbers[name] for name in _WRONG) + sum(numbers["improper"].values()) + len(numbers["doctor"])
    late = max(numbers["paused_max_s"].values(), default=0.0) > RESUMES_WITHIN
    return not wrong and not (timed and late)


def lost(numbers: closing.Numbers) -> int:
    """Return how many acknowledged submissions, decisions and rows the last primary does not hold."""
    return sum(int(numbers[name]) for name in ("lost", "decisions_lost", "direct_lost"))


def doubled(numbers: closing.Numbers) -> int:
    """Return how many submissions and decisions exist twice."""
    return int(numbers["doubled"] + numbers["decisions_doubled"])


def show(numbers: closing.Numbers) -> None:
    """Print the final table."""
    if "not_run" in numbers:
        print(f"NOT RUN: failover, because {numbers['not_run']}")
        return
    print(f"\n{'':<34}{'faults':>7}{'writes paused, median':>24}{'longest':>10}")
    for kind, number in numbers["faults"].items():
        middle, longest = numbers["paused_median_s"][kind], numbers["paused_max_s"][kind]
        print(f"{kind:<34}{number:>7}{middle:>22.1f} s{longest:>8.1f} s")
    print(f"\nchanges of the primary: {numbers['changes of the primary']}")
    print(f"acknowledged: {numbers['acknowledged']:,} submissions, {numbers['decisions']:,} decisions, ", end="")
    print(f"{numbers['direct']:,} rows of direct clients, {numbers['checkpoints']:,} checkpoints")
    for name in ("answers", "answers_to_curators"):
        answers = ", ".join(f"{number:,} times {status}" for status, number in numbers[name].items())
        print(f"{name.replace('_', ' ')}: {answers}")
    print(f"improper answers: {numbers['improper'] or 'none'}, unexpected errors logged: {numbers['tracebacks']}")
    print(f"branches of the log: {numbers['branches']}, doctor: {numbers['doctor'] or 'healthy'}")
    print(f"{numbers['seconds']} s in all, at a load of {numbers['load']}")
    print(f"lost {lost(numbers)}, doubled {doubled(numbers)}")


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    if "not_run" in numbers:
        return f"not run, because {numbers['not_run']}"
    paused = max(numbers["paused_max_s"].values(), default=0.0)
    return (
        f"{sum(numbers['faults'].values())} faults, lost {lost(numbers)}, doubled {doubled(numbers)}, "
        f"writes paused for {paused} s at most"
    )


def too_little(numbers: closing.Numbers, scale: int) -> list[str]:
    """Return the faults and events that were too few."""
    kinds = dict.fromkeys(sorted(numbers["faults"]), 1)
    missing = [] if not scale or len(kinds) == KINDS else [f"only {len(kinds)} of {KINDS} kinds of faults"]
    moved = sum(number for kind, number in numbers["faults"].items() if kind in MOVES)
    if numbers["changes of the primary"] < moved:
        missing.append(f"only {numbers['changes of the primary']} changes of the primary in {moved} such faults")
    return missing + closing.too_little(numbers | numbers["faults"], kinds | LEAST, scale)


def _inside(folder: Path, programs: Programs, kinds: list[str] | int, form: closing.Form) -> closing.Numbers:
    """Run the proof in its namespaces."""
    start = time.monotonic()
    if not form.sabotage:
        os.environ["ANTECHAMBER_REQUIRE_SYNCHRONOUS"] = "1"
    cluster = Cluster(folder, programs, synchronous=not form.sabotage)
    try:
        fight = Fight(cluster, folder)
        try:
            fight.run(list(Faults(cluster).cycle(kinds)) if isinstance(kinds, int) else kinds)
        finally:
            # After a loss the log contradicts its checkpoints, so the hosts accept nothing and clients wait in vain.
            fight.end(5 if form.sabotage else 150)
        numbers = fight.numbers() | {"seconds": round(time.monotonic() - start)}
        fight.hosts.close()
    finally:
        cluster.close()
    return numbers


def enter(proof: str, folder: Path, arguments: list[str]) -> int:
    """Run a proof again in namespaces of its own, which end with it; return its status."""
    command = [*_NAMESPACES, *_REAP, sys.executable, "-m", "proofs", proof, *arguments, "--inside", str(folder)]
    process = subprocess.Popen(command)  # noqa: S603 -- our own program
    try:
        return process.wait()
    finally:
        process.kill()
        process.wait()


@click.command(help=__doc__, short_help="fail PostgreSQL over and count what was lost")
@click.option("--faults", type=click.IntRange(1), help=f"number of faults; {FAULTS} by default")
@click.option(
    "--asynchronous", is_flag=True, help="replicate asynchronously and cut the primary off: must lose answers"
)
@click.option("--inside", type=click.Path(path_type=Path), hidden=True)
@closing.options(quick="each kind of fault once; at most ten minutes", sabotage="the same as --asynchronous")
def command(faults: int | None, inside: Path | None, form: closing.Form, *, asynchronous: bool) -> None:
    """Run the proof."""
    form = form._replace(sabotage=form.sabotage or asynchronous)
    try:
        programs = fetch()
    except MissingError as error:
        closing.finish(
            {"not_run": str(error), "too_little": []}, form, show, good="CI" not in os.environ and not form.strict
        )
    if inside is None:
        arguments = ["--faults", str(faults)] * (faults is not None) + ["--quick"] * form.quick
        arguments += ["--strict"] * form.strict + ["--sabotage"] * form.sabotage + ["--json"] * form.as_json
        with workplace() as folder:
            sys.exit(enter("failover", folder, arguments))
    number = faults or (QUICK if form.quick else FAULTS)
    numbers = _inside(inside, programs, [_ASYNCHRONOUS] * (faults or 1) if form.sabotage else number, form)
    scale = 0 if form.sabotage else form.scale(FAULTS // QUICK, by_hand=faults is not None)
    numbers["too_little"] = too_little(numbers, scale)
    closing.finish(numbers, form, show, good=holds(numbers, timed=not form.quick))
