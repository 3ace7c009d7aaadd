"""The section `gate`: what the scan of an event costs by its size, the most expensive texts of 64 KB, and admission.

Admission is measured beside the same service without a scan. While eight of the most expensive texts arrive at once,
another caller asks for /healthz again and again.

Texts are made of words, of the examples of the rules and of units that are repeated; a search changes the most
expensive ones and keeps what costs more. All times are processor time of one thread, the least of the rounds.
"""

import http.client
import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec

from antechamber.core.outgoing import hash_event
from antechamber.core.privacy import Gate
from antechamber.core.privacy.rule import join_example
from antechamber.permanence import permanent
from antechamber.policy_files import read_policy
from antechamber.resources import folder
from benchmarks.load import PATH, body
from benchmarks.rounds import Rounds, Running, Tell, carry_out
from benchmarks.sides import WITHOUT_GATE, on_sqlite
from lib.processes import settle, workplace

SIZES: Final = (600, 4_000, 64_000)
_TEXT: Final = (
    "run the migration of orders before deploy; it takes 12 minutes and needs version v1.2.3 of shop-api, see "
    "https://example.com/runbook#deploy or `make deploy ENV=staging` (ticket OPS-1234, port 8443)"
)
_UNITS: Final = (
    "4 ", "a@", "a", "0", "d2VsY29tZSB0byB0aGUgZ2F0ZQ== ", "%41", "\\u0041", "&amp;", "abcd\n", "a b ", '"a" + ',
    "\u0430", "\u4e00", "a\u200b", "68 65 ", "password: ", "key = abcD1234 ", "DE89 ", "275-77-4743 ", "10.1.2.3 ",
    "=\n", "`a`", "a + b=", "x = 'a'\ny = x + x\n=a=a=a=a=a=a=a=a", "a1=b,", "key={0x01,",
    "insert into t(secret) values('a'),", "https://login.velmor", "${'a'}${",
)  # fmt: skip
_AT_ONCE: Final = 8
"""Expensive texts that arrive at once."""
_RESTING: Final = 300
"""Answers of /healthz at rest."""
_PROJECT: Final = Path(__file__).resolve().parents[2]
_PARAGRAPH: Final = range(300, 900)
"""Characters of a paragraph that is measured."""
_LARGE: Final = 64_000
_BODY: Final = 65_536
"""Bytes of the longest body."""
_QUICKLY: Final = 60
"""Examples of rules that are repeated in a quick run; otherwise all are."""
_BEST: Final = 40
"""Texts with which the search begins, of those that took longest at first."""
_SEARCH: Final = 40
"""Changes that the search tries."""


def run(rounds: int | None, *, quick: bool, as_json: bool, tell: Tell) -> bool:
    """Measure and print; return True, because there is no limit that a shared machine could keep."""
    number = rounds or (2 if quick else 5)
    started = time.perf_counter()
    # As in the service, whose collections of garbage leave out what stays.
    with permanent():
        gate = read_policy(folder("policies")).gate
    built = time.perf_counter() - started
    generator = random.Random(1)  # noqa: S311 -- the same texts in each run

    def cost(text: str, times: int = number) -> float:
        return min(_took(lambda: gate.find_private({"/payload": {"content": text}})) for _ in range(times))

    ordinary = {}
    for size in SIZES:
        tell(f"ordinary texts of {size:,} characters")
        costs = sorted(cost(_ordinary(generator, size)) for _ in range(20 if quick else 100))
        ordinary[size] = (median(costs), costs[len(costs) * 99 // 100])
    tell("paragraphs of documents")
    varied = _cost_of_varied(gate, number)
    tell("hostile texts of 64,000 characters")
    examples = [join_example(example) for rule in gate.rules for example in (*rule.hit, *rule.miss)]
    units = [*_UNITS, " ".join(generator.sample(examples, len(examples)))]
    units += generator.sample(examples, _QUICKLY) if quick else examples
    first = sorted(((cost(_repeat(unit), 1), unit) for unit in units), reverse=True)
    worst = sorted(((cost(_repeat(unit)), unit) for _, unit in first[:_BEST]), reverse=True)
    for _ in range(5 if quick else _SEARCH):
        unit = "".join(generator.choice(worst[:8])[1][:40] for _ in range(2)) + generator.choice(examples)
        worst.append((cost(_repeat(unit)), unit))
        worst.sort(reverse=True)
    _print(built, ordinary, varied, worst[:8], as_json=as_json)
    with workplace() as place:
        _measure_health(place / "health", [unit for _, unit in worst[:_AT_ONCE]], number, as_json=as_json)
        made = Rounds("gate", place, 3.0 if quick else 5.0, tell)
        sides = [on_sqlite("without gate", WITHOUT_GATE), on_sqlite()]
        title = "Submissions with the gate beside the same without"
        return carry_out(made, sides, number, "without gate", title, as_json=as_json)


def _measure_health(folder: Path, units: Sequence[str], rounds: int, *, as_json: bool) -> None:
    """Print how long /healthz takes at rest and while expensive texts arrive at once."""
    with on_sqlite().start(folder) as running, ThreadPoolExecutor(_AT_ONCE) as senders:
        settle(running.processes)
        rest: list[float] = []
        _health(running, lambda: len(rest) < _RESTING, rest)
        busy: list[float] = []
        for number in range(rounds):
            sent = [senders.submit(_post, running, _large(unit, number, place)) for place, unit in enumerate(units)]
            _health(running, lambda posted=sent: not all(one.done() for one in posted), busy)  # type: ignore[misc]
            for one in sent:
                one.result()
    figures = {"rest_ms": _spread(rest), "busy_ms": _spread(busy)}
    if as_json:
        print(json.dumps({"section": "gate", "healthz": figures}))
        return
    for name, took in (
        ("at rest", figures["rest_ms"]),
        (f"during {len(units)} such texts at once", figures["busy_ms"]),
    ):
        print(f"/healthz {name}: median {took[0]:.1f} ms, p99 {took[1]:.1f} ms, maximum {took[2]:.1f} ms ({took[3]})")


def _health(running: Running, goes_on: Callable[[], bool], took: list[float]) -> None:
    """Ask for /healthz again and again; add the seconds of each answer."""
    link = http.client.HTTPConnection("127.0.0.1", running.ports[0], timeout=20)
    while goes_on():
        begun = time.perf_counter()
        link.request("GET", "/healthz")
        link.getresponse().read()
        took.append(time.perf_counter() - begun)
        time.sleep(0.002)
    link.close()


def _spread(took: list[float]) -> tuple[float, float, float, int]:
    """Return median, p99 and maximum in ms, and the number."""
    ordered = sorted(took)
    return median(ordered) * 1e3, ordered[len(ordered) * 99 // 100] * 1e3, ordered[-1] * 1e3, len(ordered)


def _large(unit: str, number: int, place: int) -> bytes:
    """Return a body of nearly maximum size with a repeated unit."""
    event = msgspec.json.decode(body(f"large-{number}", place))
    size = _LARGE
    while True:
        event["payload"]["content"] = (unit * (size // len(unit) + 1))[:size].strip() or unit
        raw = msgspec.json.encode(event | {"source_event_hash": hash_event(event)})
        if len(raw) <= _BODY:
            return raw
        size = size * 9 // 10


def _post(running: Running, raw: bytes) -> int:
    link = http.client.HTTPConnection("127.0.0.1", running.ports[0], timeout=60)
    link.request("POST", PATH, raw, {"authorization": f"Bearer {running.token}"})
    status = link.getresponse().status
    link.close()
    return status


def _took(job: Callable[[], Any]) -> float:
    started = time.thread_time()
    job()
    return time.thread_time() - started


def _ordinary(generator: random.Random, size: int) -> str:
    words = _TEXT.split()
    return " ".join(generator.choice(words) for _ in range(size // 5))[:size]


def _cost_of_varied(gate: Gate, rounds: int) -> tuple[int, float, float]:
    """Return how many paragraphs of the documents are scanned in turn, and median and p99 of what one takes.

    The automata of the rules are larger than the caches of a core, so that a text costs more after another one than
    after itself.
    """
    documents = [path.read_text(encoding="utf-8") for path in sorted(_PROJECT.rglob("*.md")) if _is_own(path)]
    texts = [text for document in documents for text in document.split("\n\n") if len(text) in _PARAGRAPH]
    took = [
        min(times)
        for times in zip(
            *(
                [_took(partial(gate.is_clean, {"/payload": {"content": text}})) for text in texts]
                for _ in range(rounds)
            ),
            strict=True,
        )
    ]
    took.sort()
    return len(texts), median(took), took[len(took) * 99 // 100]


def _is_own(path: Path) -> bool:
    return not any(part.startswith(".") or part == "node_modules" for part in path.relative_to(_PROJECT).parts)


def _repeat(unit: str) -> str:
    text = (unit * (SIZES[-1] // len(unit) + 1))[: SIZES[-1]]
    return text.encode()[: SIZES[-1]].decode(errors="ignore")


def _print(
    built: float,
    ordinary: dict[int, tuple[float, float]],
    varied: tuple[int, float, float],
    worst: list[tuple[float, str]],
    *,
    as_json: bool,
) -> None:
    if as_json:
        costs = [{"unit": unit[:40], "ms": took * 1e3} for took, unit in worst]
        print(
            json.dumps(
                {"section": "gate", "built_s": built, "ordinary_s": ordinary, "varied_s": varied, "worst": costs}
            )
        )
        return
    print(f"\nRules read and compiled in {built:.2f} s.\n")
    for size, (middle, high) in ordinary.items():
        print(f"{size:>7,} characters: median {middle * 1e3:.3f} ms, p99 {high * 1e3:.3f} ms")
    number, middle, high = varied
    print(f"{number} paragraphs of documents in turn: median {middle * 1e3:.3f} ms, p99 {high * 1e3:.3f} ms")
    print("\nThe most expensive texts of 64 KB:\n")
    for took, unit in worst:
        print(f"{took * 1e3:>8.1f} ms  {unit[:40]!r}")
