"""Go the way of an operator: install, serve behind nginx, back up, lose everything, restore, rotate the key, upgrade.

The wheel is built and installed into an environment without the checkout, and its service runs behind nginx with TLS,
as scripts/deploy configures it. Agents submit and a curator decides through nginx, until a backup is made and the data
is destroyed. After the restore every answer that was given before the backup, every memory and the log are compared.

Each step prints a line with its seconds. Broken is the first promise to an operator that did not hold.
"""

import contextlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import click
import httpx
import psycopg
from prometheus_client.parser import text_string_to_metric_families

from antechamber import __version__
from antechamber.settings import DATABASE
from antechamber.store.postgres.schema import make_roles
from lib.installation import build_wheel, install
from lib.processes import PRODUCER, SCOPE, Postgres, postgres, workplace
from lib.proxies import NamedClient
from lib.released import FOLDER, Released
from proofs import closing
from proofs.operate_site import Site, demand
from proofs.operate_work import AGENTS, Work, recall, sign_in

ENGINES: Final = ("sqlite", "postgres")
EVENTS: Final = 1200
"""Events of each agent; the backup is made during as many more."""
QUICK: Final = 60
LEAST: Final = {"acknowledged": 3 * QUICK, "decisions": QUICK // 4, "looked_for": 3 * QUICK}
_LIVE: Final = 30.0
"""Seconds in which figures have to be those of all answers."""


class Journey:
    """The steps of one operator, in the order of `STEPS`."""

    def __init__(self, folder: Path, server: Postgres | None, events: int, *, sabotage: bool) -> None:
        """Begin with nothing but the checkout."""
        self._folder, self._server, self._events, self._sabotage = folder, server, events, sabotage
        self.running = contextlib.ExitStack()
        """The service and nginx, while they run."""
        self.work = Work()
        self.before: frozenset[str] = frozenset()
        """The keys that were acknowledged before the backup began."""

    def install(self) -> None:
        """The wheel runs in an environment without the checkout."""
        (self._folder / "built").mkdir()
        self._program = install(build_wheel(self._folder / "built"), self._folder / "installed")
        self.site = self._place("data")
        version = self.site.call("--version", bare=True)
        demand(__version__ in version, f"the program calls itself {version}")

    def init(self) -> None:
        """`init` writes a policy that holds, and `migrate` makes the schema."""
        own = ["--owner", "keeper", "--producer", PRODUCER, "--scope", f"project:{SCOPE}"]
        self.site.call("init", str(self.site.data), *own, bare=True)
        self.site.call("policy", "check", str(self.site.data / "policies"), bare=True)
        self.site.call("migrate")

    def start(self) -> None:
        """The service answers behind nginx, over TLS."""
        self.front = self.running.enter_context(self.site.serving())
        with self.front.client() as visitor:
            answer = visitor.get("/readyz")
        demand(answer.json()["status"] == "ready", f"the service is not ready: {answer.text}")
        demand("strict-transport-security" in answer.headers, "nginx serves a site that browsers may open without TLS")

    def sign_in(self) -> None:
        """An operator and a curator sign in by link, and see what their role may see."""
        with self.front.client() as operator:
            sign_in(operator, self.site.link("olga", new="operator"))
            seen = operator.get("/operations")
            demand(seen.status_code == httpx.codes.OK, f"/operations answers {seen.status_code}")
        self.curator = self.running.enter_context(self.front.client())
        sign_in(self.curator, self.site.link("cora", new="curator"))
        demand(self.curator.get("/operations").status_code == httpx.codes.FORBIDDEN, "a curator sees /operations")

    def load(self) -> None:
        """Agents submit, one in five events twice, and a curator decides with the forms of the desk."""
        self.token = self.site.call("token", "issue", PRODUCER)
        self._submit("first")
        self.work.decide(self.curator, self._events // 4)

    def _submit(self, name: str) -> None:
        with ThreadPoolExecutor(AGENTS) as pool:
            begun = [
                pool.submit(self.work.submit, self.front, self.token, f"{name}-{one}", self._events)
                for one in range(AGENTS)
            ]
            for one in begun:
                one.result()

    def metrics(self) -> None:
        """The metrics count every answer and every decision."""
        self.auditor = self.site.call("token", "issue", "prometheus", "--role", "auditor")
        ledger = self.work.ledger
        wanted = {
            "antechamber_submissions_total": len(ledger.receipts),
            "antechamber_attempts_total": sum(ledger.statuses.values()),
            "antechamber_decisions_total": self.work.decided,
            "antechamber_store_up": 1,
        }
        deadline = time.monotonic() + _LIVE
        with self.front.client(self.auditor) as prometheus:
            while (found := _figures(prometheus, wanted)) != wanted:
                demand(time.monotonic() < deadline, f"the metrics are {found} instead of {wanted}")
                time.sleep(0.2)

    def back_up(self) -> None:
        """A backup that is made under load holds what was answered before; `verify` opens it."""
        self.backup = self._folder / "backup.tar"
        with ThreadPoolExecutor(1) as pool:
            going_on = pool.submit(self._submit, "second")
            self.before = frozenset(list(self.work.ledger.receipts))
            self.site.call("backup", "create", str(self.backup))
            going_on.result()
        opened = [] if self._server is None else ["--database-url", self._server.empty()]
        self.site.call("backup", "verify", str(self.backup), *opened, bare=True)
        self.pinned = self._folder / "before" / "antechamber-audit" / "checkpoint.txt"
        self.keys = self.front.audit(self.auditor, self._folder / "before")
        if self._sabotage:
            self.before |= {"never-sent"}
            self.work.ledger.receipts["never-sent"] = b"{}"

    def destroy(self) -> None:
        """The service ends by itself on SIGTERM; then data folder and database are gone."""
        self.old_session = {cookie.name: cookie.value or "" for cookie in self.curator.cookies.jar}
        self.running.close()
        shutil.rmtree(self.site.data)
        if self._server is not None and self.site.url is not None:
            self._server.drop(self.site.url)

    def restore(self) -> None:
        """The restore begins a log of another name, and the doctor finds no fault."""
        self.site = self._place("restored")
        restored = self.site.read("backup", "restore", str(self.backup), "--pinned", str(self.pinned))
        old, new = (key.partition("+")[0] for key in (self.keys[0], restored["verifier_key"]))
        demand(old != new, f"the log goes on under its old name {old}")
        demand(restored["ended_sessions"], "the restore ended no session")
        self.site.call("doctor")

    def look(self) -> None:
        """Every answer and memory of before the backup is there; no token or session of before works."""
        self.front = self.running.enter_context(self.site.serving())
        with self.front.client(self.token) as agent:
            demand(agent.get("/v1/memories").status_code == httpx.codes.UNAUTHORIZED, "an old token still works")
        with self.front.client() as browser:
            browser.cookies.update(self.old_session)
            demand(browser.get("/review").status_code != httpx.codes.OK, "an old session still works")
        self.token = self.site.call("token", "issue", PRODUCER)
        self.auditor = self.site.call("token", "issue", "prometheus", "--role", "auditor")
        self.work.check(self.front, self.token, self.before)
        keys = self.front.audit(self.auditor, self._folder / "after")
        demand(keys[0] != self.keys[0], "the restored log is signed under the old name")
        self.keys = keys
        self.pinned = self._folder / "after" / "antechamber-audit" / "checkpoint.txt"

    def rehearse(self) -> None:
        """`policy diff` finds no change in a copy of the policy, and each submission that another one refuses."""
        trial = self._folder / "trial"
        shutil.copytree(self.site.data / "policies", trial)
        same = self.site.read("policy", "diff", str(trial))
        demand(not same["changes"], f"a copy of the policy would change something: {same}")
        demand(same["replayed"] >= min(len(self.before), 10_000), f"only {same['replayed']} submissions are replayed")
        file = trial / "producers.toml"
        text = file.read_text()
        file.write_text(text.replace(f"project:{SCOPE}", "project:elsewhere"))
        other = self.site.read("policy", "diff", str(trial), expected=1)
        demand(other["changed"] == other["replayed"], f"{other['changed']} of {other['replayed']} would change")

    def rotate(self) -> None:
        """The running service signs with a new key; the log is verified from the first key to the new one."""
        key = self.site.read("log", "new-key")["verifier_key"]
        self.work.submit(self.front, self.token, "third", 5)
        keys = self.front.audit(self.auditor, self._folder / "rotated", previous=self.pinned)
        demand(keys[0] == key, f"the log is signed with {keys[0]} instead of {key}")
        demand(self.keys[0] in keys, "the old key is not among the keys of the log")
        self.running.close()
        self.site.call("doctor")

    def upgrade(self) -> None:
        """Data of each released version is migrated as `--dry-run` says, is served, and answers as before."""
        for version in sorted(folder.name for folder in FOLDER.iterdir()):
            self._upgrade(Released(version, "sqlite" if self._server is None else "postgres"), version)

    def _upgrade(self, released: Released, version: str) -> None:
        site = self._place(f"released-{version}")
        released.unpack_keys(site.data)
        if site.url is None:
            (site.data / DATABASE).write_bytes(released.database())
        else:
            with psycopg.connect(site.url) as connection:
                make_roles(connection)
                connection.execute(released.database())
        named = self._folder / f"policy-of-{version}"
        own = ["--owner", "ada", "--producer", "worker:release-bot", "--owner", "grace", "--producer", "tool:watcher"]
        site.call("init", str(named), *own, "--scope", "project:apollo", bare=True)
        (named / "policies").rename(site.data / "policies")
        pending = [site.read("migrate", "--dry-run")["pending"] for _ in range(2)]
        demand(pending[0] == pending[1], f"--dry-run took steps: {pending}")
        demand(site.read("migrate")["taken"] == pending[0], f"migrate took other steps than {pending[0]}")
        demand(site.read("migrate", "--dry-run")["pending"] == [], "steps are left after migrate")
        known = released.expected()
        with site.serving() as front:
            tokens = {name: site.call("token", "issue", name) for name in ("worker:release-bot", "tool:watcher")}
            for body, answer in known["answers"]:
                with front.client(tokens[body["producer_identity"]]) as agent:
                    again = agent.post("/v1/submissions", json=body).json()
                demand(again == answer | {"duplicate": True}, f"{body['idempotency_key']} gets another answer: {again}")
            with front.client(tokens["worker:release-bot"]) as agent:
                texts = sorted(recall(agent, "apollo"))
            demand(texts == known["memories"], f"the memories are {texts}")
            auditor = site.call("token", "issue", "auditing", "--role", "auditor")
            pinned = self._folder / f"checkpoint-of-{version}"
            pinned.write_text(known["checkpoint"])
            front.audit(auditor, self._folder / f"upgraded-{version}", previous=pinned)
        site.call("doctor")

    def _place(self, data: str) -> Site:
        url = None if self._server is None else self._server.empty()
        return Site(self._program, self._folder, data, url)


STEPS: Final = {
    "install the wheel": Journey.install,
    "init": Journey.init,
    "start behind nginx with TLS": Journey.start,
    "sign in": Journey.sign_in,
    "load": Journey.load,
    "scrape the metrics": Journey.metrics,
    "back up under load": Journey.back_up,
    "destroy": Journey.destroy,
    "restore, doctor": Journey.restore,
    "look for every answer": Journey.look,
    "rehearse a policy": Journey.rehearse,
    "rotate the key": Journey.rotate,
    "upgrade from the last release": Journey.upgrade,
}


def _figures(prometheus: NamedClient, wanted: dict[str, int]) -> dict[str, int]:
    """Return the sum of each wanted metric."""
    answer = prometheus.get("/metrics")
    demand(answer.status_code == httpx.codes.OK, f"/metrics answers {answer.status_code}")
    found = dict.fromkeys(wanted, 0)
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            if sample.name in found:
                found[sample.name] += int(sample.value)
    return found


@contextlib.contextmanager
def _server(engine: str, folder: Path) -> Iterator[Postgres | None]:
    if engine == "sqlite":
        yield None
    else:
        with postgres(folder) as server:
            yield server


def prove(engine: str, events: int, *, sabotage: bool) -> dict[str, Any]:
    """Take all steps; return the counts, and the promise that broke."""
    taken, broken, start = {}, None, time.monotonic()
    with workplace() as folder, _server(engine, folder) as server:
        journey = Journey(folder, server, events, sabotage=sabotage)
        with journey.running:
            for name, step in STEPS.items():
                began = time.monotonic()
                try:
                    step(journey)
                except Exception as error:  # noqa: BLE001 -- a step that fails in any way is reported with its name
                    broken = f"{name}: {error or type(error).__name__}"
                taken[name] = round(time.monotonic() - began, 1)
                print(
                    f"{taken[name]:>6.1f} s  {name}{'' if broken is None else '  BROKEN'}", file=sys.stderr, flush=True
                )
                if broken is not None:
                    break
    return {
        "steps": taken,
        "acknowledged": len(journey.work.ledger.receipts),
        "decisions": journey.work.decided,
        "looked_for": len(journey.before),
        "broken": broken,
        "seconds": round(time.monotonic() - start),
    }


def brief(numbers: closing.Numbers) -> str:
    """Return the findings in one line."""
    told = "no promise broken" if numbers["broken"] is None else f"broken: {numbers['broken']}"
    return f"{len(numbers['steps'])} steps, {numbers['looked_for']:,} answers looked for after the restore, {told}"


def show(numbers: closing.Numbers) -> None:
    """Print the final counts."""
    print(json.dumps(numbers, indent=1))


@click.command(help=__doc__, short_help="take the way of an operator, from the wheel to an upgrade")
@click.option("--engine", type=click.Choice(ENGINES), default="sqlite", show_default=True)
@closing.options(quick=f"{QUICK} events of each agent; a minute", sabotage="expect an answer that was never given")
def command(engine: str, form: closing.Form) -> None:
    """Run the proof."""
    os.environ.pop("PYTHONPATH", None)
    numbers = prove(engine, QUICK if form.quick else EVENTS, sabotage=form.sabotage)
    numbers["too_little"] = closing.too_little(numbers, LEAST, form.scale(EVENTS // QUICK, by_hand=False))
    if numbers["broken"] is not None:
        print(f"The promise that broke: {numbers['broken']}", file=sys.stderr)
    closing.finish(numbers, form, show, good=numbers["broken"] is None and len(numbers["steps"]) == len(STEPS))
