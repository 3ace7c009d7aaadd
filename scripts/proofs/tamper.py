"""Alter exports of the log in every way there is; two verifiers must reject each, and accept each untouched one.

The exports are real: random changes in a store of their own, signed and exported by the service's own flows. One
verifier is the file that auditors get, the other one is written in another language from the formats alone.
"""

import contextlib
import io
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

import verify_export
from antechamber.checkpoint_signer import FileSigner, new_name
from antechamber.core.log.checkpoint_text import Checkpoint, sign_note
from antechamber.core.log.leaf import Leaf, leaf_bytes
from antechamber.core.log.merkle import Frontier, leaf_hash
from antechamber.core.log.rows import LeafWrite
from antechamber.core.times import format_time
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.export import Export, Exporter
from antechamber.flows.log_proofs import LogProofs
from antechamber.store.sqlite.store import SqliteStore
from lib.processes import workplace
from proofs import closing

ENGINES: Final = ("sqlite",)
CLEAN: Final = 100
MUTATED: Final = 1000
QUICK: Final = 10
"""Number of untouched exports in the quick form, and of altered ones of each kind."""
MOST: Final = 600
"""Leaves of the largest log: two full blocks of the tree and a partial one."""
NODE: Final = Path(__file__).resolve().parents[2] / "tests" / "node" / "verify_export.mjs"
_TAKER: Final = Exporter("tamper", "auditor")


class Case(NamedTuple):
    """An export and the files that an auditor verifies it with."""

    lines: list[bytes]
    checkpoint: str
    key: str
    previous: str | None
    records: bool = False


class Origin(NamedTuple):
    """An untouched log, and a function that signs as the owner of its key."""

    case: Case
    forge: Callable[[Checkpoint], str]
    earlier: list[str]
    """Checkpoints of the same log at smaller sizes."""


def _leaf(chance: random.Random, number: int) -> LeafWrite:
    """Return a random change."""
    state = chance.choice(("approved", "rejected", "pending"))
    leaf = Leaf(
        action=chance.choice(("submit", "approve", "reject", "memory", "issue-token")),
        actor=chance.choice(("worker:release-bot", "bob", "eve", "tool:größe")),
        before=chance.choice((None, "pending")),
        payload_commitment=chance.choice((None, f"sha256:{chance.randbytes(32).hex()}")),
        policy_digest=f"blake3:{chance.randbytes(32).hex()}",
        reason_code=chance.choice((None, "wrong", "outdated")),
        role=chance.choice(("curator", "producer", "operator")),
        subject={"proposal_id": chance.randbytes(16).hex()},
        time=format_time(1_795_168_800_000_000 + number * 1_000_000),
        after=state,
    )
    return LeafWrite(leaf_bytes(leaf), str(number), None)


def make(folder: Path, chance: random.Random, size: int) -> Origin:
    """Create a log, sign it at random sizes, and export it."""
    folder.mkdir()
    store = SqliteStore(folder / "antechamber.db")
    signer = FileSigner(folder, name=new_name())
    log = Checkpoints(store, signer, lambda: time.time_ns() // 1000)
    try:
        log.enter_key()
        stops = sorted(chance.sample(range(1, size), min(3, size - 1)))
        earlier, done = [], 1
        for stop in [*stops, size]:
            leaves = [_leaf(chance, number) for number in range(done, stop)]
            store.write(lambda tx, leaves=leaves: tx.sql.append_leaves(leaves)).result()
            done = max(done, stop)
            earlier.append(log.checkpoint().note)
        chunks = Export(store, log, LogProofs(store, log), lambda: time.time_ns() // 1000, os.urandom).log(_TAKER)
        lines = b"".join(chunks).splitlines(keepends=True)
        note = LogProofs(store, log).published_checkpoint(size).note
    finally:
        store.close()
    previous = chance.choice([None, *earlier])
    case = Case(lines, note, str(signer.key), previous)
    return Origin(case, lambda other: sign_note(other, signer.key, signer._private.sign), earlier[:-1])  # noqa: SLF001 -- the forger has the key


def _at(chance: random.Random, case: Case) -> int:
    return chance.randrange(len(case.lines) - 1)


def _with(case: Case, lines: list[bytes]) -> Case:
    return case._replace(lines=lines)


def _members(line: bytes, **changed: Any) -> bytes:
    record = json.loads(line) | changed
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def flip(chance: random.Random, origin: Origin) -> Case:
    """Change one bit at random."""
    raw = bytearray(b"".join(origin.case.lines))
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return _with(origin.case, bytes(raw).splitlines(keepends=True))


def delete(chance: random.Random, origin: Origin) -> Case:
    """Delete one line, possibly the closing one."""
    lines = list(origin.case.lines)
    del lines[chance.randrange(len(lines))]
    return _with(origin.case, lines)


def delete_and_renumber(chance: random.Random, origin: Origin) -> Case:
    """Delete one leaf and renumber the rest."""
    lines = list(origin.case.lines)
    del lines[_at(chance, origin.case)]
    numbered = [_members(line, sequence=number) for number, line in enumerate(lines[:-1])]
    closing = _members(lines[-1], count=len(numbered), last_sequence=len(numbered) - 1 if numbered else None)
    return _with(origin.case, [*numbered, closing])


def insert(chance: random.Random, origin: Origin) -> Case:
    """Insert a false leaf with its correct hash."""
    at = _at(chance, origin.case)
    text = _leaf(chance, at).leaf
    line = _members(b"{}", leaf=json.loads(text), leaf_hash=leaf_hash(text).hex(), record="leaf", sequence=at)
    return _with(origin.case, [*origin.case.lines[:at], line, *origin.case.lines[at:]])


def swap(chance: random.Random, origin: Origin) -> Case:
    """Exchange two lines."""
    first, second = sorted(chance.sample(range(len(origin.case.lines)), 2))
    lines = list(origin.case.lines)
    lines[first], lines[second] = lines[second], lines[first]
    return _with(origin.case, lines)


def reorder(chance: random.Random, origin: Origin) -> Case:
    """Exchange two leaves and renumber them to match."""
    if len(origin.case.lines) < 3:  # noqa: PLR2004 -- two leaves and the closing record
        return insert(chance, origin)
    lines = list(origin.case.lines)
    first, second = chance.sample(range(len(lines) - 1), 2)
    lines[first], lines[second] = _members(lines[second], sequence=first), _members(lines[first], sequence=second)
    return _with(origin.case, lines)


def duplicate(chance: random.Random, origin: Origin) -> Case:
    """Duplicate one line."""
    at = chance.randrange(len(origin.case.lines))
    lines = origin.case.lines
    return _with(origin.case, [*lines[: at + 1], *lines[at:]])


def truncate(chance: random.Random, origin: Origin) -> Case:
    """Truncate the file at a random position."""
    raw = b"".join(origin.case.lines)
    return _with(origin.case, raw[: chance.randrange(len(raw))].splitlines(keepends=True))


def edit(chance: random.Random, origin: Origin) -> Case:
    """Change a leaf, with or without its hash."""
    at = _at(chance, origin.case)
    record = json.loads(origin.case.lines[at])
    name = chance.choice(
        ("actor", "time", "reason_code", "policy_digest", "to", "role", "action", "payload_commitment")
    )
    record["leaf"][name] = "2020-01-01T00:00:00Z" if name == "time" else f"another {record['leaf'][name]}"
    if chance.random() < 0.5:  # noqa: PLR2004 -- half of them
        text = json.dumps(record["leaf"], sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
        record["leaf_hash"] = leaf_hash(text).hex()
    lines = list(origin.case.lines)
    lines[at] = _members(b"{}", **record)
    return _with(origin.case, lines)


def replay(chance: random.Random, origin: Origin) -> Case:
    """Use an older checkpoint of the same log: in the export, beside it, or with the export cut to its size."""
    if not origin.earlier:
        return truncate(chance, origin)
    case, older = origin.case, chance.choice(origin.earlier)
    size = int(older.split("\n")[1])
    way = chance.randrange(3)
    if way == 0:
        return case._replace(checkpoint=older, previous=None)
    if way == 1:
        return _with(case, [*case.lines[:-1], _members(case.lines[-1], checkpoint=older)])
    closing = _members(case.lines[-1], checkpoint=older, count=size, last_sequence=size - 1 if size else None)
    return _with(case, [*case.lines[:size], closing])


def fork(chance: random.Random, origin: Origin) -> Case:
    """Sign another tree of the same size: beside the export, in it, or as the earlier checkpoint."""
    case = origin.case
    size = len(case.lines) - 1
    other = origin.forge(Checkpoint(case.checkpoint.split("\n")[0], size, chance.randbytes(32)))
    way = chance.randrange(3)
    if way == 0:
        return case._replace(checkpoint=other)
    if way == 1:
        return _with(case, [*case.lines[:-1], _members(case.lines[-1], checkpoint=other)])
    return case._replace(previous=other)


def rewrite(chance: random.Random, origin: Origin) -> Case:
    """Alter a leaf and sign the whole log again, as an owner of the key can; an earlier checkpoint reveals it."""
    case = origin.case
    lines, size = list(case.lines), len(case.lines) - 1
    pinned = chance.choice([*origin.earlier, case.checkpoint])
    at = chance.randrange(max(int(pinned.split("\n")[1]), 1))
    record = json.loads(lines[at])
    record["leaf"]["actor"] = "somebody else"
    text = json.dumps(record["leaf"], sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    lines[at] = _members(b"{}", **record | {"leaf_hash": leaf_hash(text).hex()})
    tree = Frontier()
    for line in lines[:-1]:
        tree.append(bytes.fromhex(json.loads(line)["leaf_hash"]))
    note = origin.forge(Checkpoint(case.checkpoint.split("\n")[0], size, tree.root()))
    lines[-1] = _members(lines[-1], checkpoint=note)
    return Case(lines, note, case.key, pinned)


def foreign(chance: random.Random, origin: Origin) -> Case:
    """Take the checkpoint, its signature or the key from another log."""
    case = origin.case
    text, _, signature = case.checkpoint.partition("\n\n")
    if chance.random() < 0.5:  # noqa: PLR2004 -- half of them
        raw = bytearray(signature.encode())
        raw[chance.randrange(len(raw) - 1)] ^= 1 << chance.randrange(7)
        return case._replace(checkpoint=text + "\n\n" + raw.decode("utf-8", "replace"))
    name, size, root = text.split("\n")
    shown = chance.choice((f"{name}x\n{size}\n{root}", f"{name}\n{int(size) + 1}\n{root}", f"{name}\n0{size}\n{root}"))
    return case._replace(checkpoint=f"{shown}\n\n{signature}")


MUTATIONS: Final = (
    flip, delete, delete_and_renumber, insert, swap, reorder, duplicate, truncate, edit, replay, fork, rewrite, foreign,
)  # fmt: skip


def write(folder: Path, number: int, case: Case) -> dict[str, Any]:
    """Write a case to files and return their paths."""
    files = {"export": b"".join(case.lines), "checkpoint": case.checkpoint.encode()}
    if case.previous is not None:
        files["previous"] = case.previous.encode()
    for name, data in files.items():
        (folder / f"{number}.{name}").write_bytes(data)
    return {name: str(folder / f"{number}.{name}") for name in files} | {"key": case.key, "records": case.records}


def by_python(files: dict[str, Any]) -> str | None:
    """Return the problem that the auditors' verifier finds."""
    arguments = [files["export"], "--checkpoint", files["checkpoint"], "--key", files["key"]]
    arguments += ["--previous", files["previous"]] if "previous" in files else []
    arguments += ["--records"] if files["records"] else []
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        status = verify_export.main(arguments)
    return None if status == 0 else errors.getvalue().strip()


def by_node(folder: Path, cases: list[dict[str, Any]]) -> list[str | None]:
    """Return the problem that the second verifier finds."""
    return [one["wrong"] for one in judged(folder, cases)]


def judged(folder: Path, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the second verifier's results: the problem, and the unproven members."""
    listed = folder / "cases.json"
    listed.write_text(json.dumps(cases))
    command = ["node", "--no-warnings", str(NODE), str(listed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 -- our own program
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def _progress(what: str, each: Iterator[Any], number: int) -> Iterator[Any]:
    for count, one in enumerate(each, 1):
        if sys.stderr.isatty():
            print(f"\r{what} {count}/{number} ", end="", file=sys.stderr)
        yield one


def prove(
    folder: Path, *, clean: int, mutations: int, seed: int, node: bool, sabotage: bool = False
) -> closing.Numbers:
    """Verify clean and altered exports; return the counts."""
    chance = random.Random(seed)  # noqa: S311 -- repeatable by its seed
    sizes = [1, 2, 255, 256, 257, MOST, *(chance.randint(1, MOST) for _ in range(clean))][:clean]
    origins = [make(folder / str(number), chance, size) for number, size in _progress("log", enumerate(sizes), clean)]
    cases = [write(folder, number, origin.case) for number, origin in enumerate(origins)]
    kinds: Counter[str] = Counter()
    for number, mutation in zip(range(mutations), itertools.cycle(MUTATIONS), strict=False):
        origin = chance.choice(origins)
        case = mutation(chance, origin)
        while case == origin.case:
            case = mutation(chance, origin)
        if sabotage and number == 0:
            case = origin.case
        kinds[mutation.__name__] += 1
        cases.append(write(folder, clean + number, case))
    verdicts = {"python": [by_python(files) for files in _progress("verify", iter(cases), len(cases))]}
    if node:
        verdicts["node"] = by_node(folder, cases)
    told = {"clean": clean, "mutations": dict(kinds), "verifiers": sorted(verdicts)}
    alarms = {name: sum(one is not None for one in found[:clean]) for name, found in verdicts.items()}
    passed = {name: sum(one is None for one in found[clean:]) for name, found in verdicts.items()}
    return told | {"false_alarms": alarms, "not_found": passed, "seed": seed}


def too_little(found: closing.Numbers, scale: int) -> list[str]:
    """Return the kinds of exports that were too few."""
    least = {"clean": QUICK} | {mutation.__name__: QUICK for mutation in MUTATIONS}
    return closing.too_little(found["mutations"] | {"clean": found["clean"]}, least, scale)


def brief(found: closing.Numbers) -> str:
    """Return the findings in one line."""
    altered = sum(found["mutations"].values())
    return (
        f"{altered:,} altered exports, {sum(found['not_found'].values())} not found; {found['clean']} untouched ones, "
        f"{sum(found['false_alarms'].values())} called altered; by {' and '.join(found['verifiers'])}"
    )


def _show(found: closing.Numbers) -> None:
    print(*(f"{name}: {value}" for name, value in found.items()), sep="\n")


@click.command(help=__doc__, short_help="alter exports of the log and let two verifiers judge them")
@click.option("--clean", type=click.IntRange(1), help=f"untouched exports; {CLEAN} by default")
@click.option("--mutations", type=click.IntRange(1), help=f"altered exports; {MUTATED:,} by default")
@click.option("--seed", type=int, help="repeat a run")
@click.option("--node/--no-node", default=True, help="leave the second verifier out")
@closing.options(quick=f"{QUICK} untouched, {QUICK} of each kind of alteration", sabotage="leave one export unaltered")
def command(clean: int | None, mutations: int | None, seed: int | None, *, node: bool, form: closing.Form) -> None:
    """Run the proof."""
    if node and shutil.which("node") is None:
        message = "the second verifier needs Node; install it, or leave it out with --no-node"
        raise click.UsageError(message)
    with workplace() as folder:
        found = prove(
            folder,
            clean=clean or (QUICK if form.quick else CLEAN),
            mutations=mutations or (QUICK * len(MUTATIONS) if form.quick else MUTATED),
            seed=int.from_bytes(os.urandom(4)) if seed is None else seed,
            node=node,
            sabotage=form.sabotage,
        )
    by_hand = clean is not None or mutations is not None
    found["too_little"] = too_little(found, form.scale(MUTATED // len(MUTATIONS) // QUICK, by_hand=by_hand))
    wrong = sum(found["false_alarms"].values()) + sum(found["not_found"].values())
    closing.finish(found, form, _show, good=not wrong)
