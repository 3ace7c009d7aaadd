"""Replay a file of guidance events and hold the service's counts against counts made from the file alone.

A line of the file has repo, path, item, heading and text. Each repository is a producer of its own and proposes to its
own agent_repo scope. First the key covers repo, path, item and text, so that only carried-over items repeat; a second
run must add nothing. Then the key covers repo, path and item alone, so that a changed slot must come out as a conflict.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antechamber import app
from antechamber.cli.demo import free_port, run, serving
from antechamber.client import OperationError, Submitter
from antechamber.core.contract import Receipt
from antechamber.settings import Location
from lib.review_guidance import Review

Event = dict[str, Any]
Key = Callable[[Event], str]


def key_of_text(event: Event) -> str:
    """Return an item's key, derived with its text."""
    return _hash(event["repo"], event["path"], event["item"], event["text"])


def key_of_slot(event: Event) -> str:
    """Return a slot's key, independent of its text."""
    return _hash(event["repo"], event["path"], event["item"])


def _hash(*parts: str) -> str:
    return "ge-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def producer(event: Event) -> str:
    """Return the producer of a repository."""
    return f"repo:{event['repo']}"


def body(event: Event, key: Key) -> dict[str, Any]:
    """Return the submission; an empty heading is omitted."""
    span = {"uri": f"repo://{event['repo']}/{event['path']}"}
    if event["heading"]:
        span["heading"] = event["heading"]
    return {
        "idempotency_key": key(event),
        "producer_identity": producer(event),
        "submission_scope": "agent_repo",
        "scope_id": event["repo"],
        "payload": {"kind": "procedure", "content": event["text"]},
        "source_span": span,
    }


def identity(event: Event) -> tuple[str, ...]:
    """Return the identity of an event by the contract, computed with the standard library alone."""
    texts = (event["repo"], event["path"], event["heading"], event["text"])
    clean = [unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    return (*clean[:3], clean[3].strip("\t\n "))


def expected(events: list[Event], key: Key, private: set[tuple[str, ...]]) -> tuple[Counter[str], set[tuple[str, str]]]:
    """Count from the file each event's expected disposition, and list the texts expected as conflicts.

    Only the set of events with private data is taken from the service's answers.
    """
    bound: dict[str, tuple[str, ...]] = {}
    proposed: set[tuple[str, ...]] = set()
    refused: set[tuple[str, tuple[str, ...]]] = set()
    waiting: set[tuple[str, str]] = set()
    counts: Counter[str] = Counter()
    for event in events:
        name, what = key(event), identity(event)
        if name not in bound:
            bound[name] = what
            if what in private:
                counts["rejected-private"] += 1
            elif what in proposed:
                counts["accepted-as-duplicate"] += 1
            else:
                proposed.add(what)
                counts["accepted-for-review"] += 1
        elif bound[name] == what:
            counts["replay"] += 1
        else:
            counts["rejected-conflict" if (name, what) not in refused else "conflict again"] += 1
            refused.add((name, what))
            waiting.add((name, "" if what in private else what[3]))
    return counts, waiting


def send(url: str, events: list[Event], key: Key, tokens: dict[str, str]) -> tuple[Counter[str], set[tuple[str, ...]]]:
    """Send all events in the file's order and count the answers; also return the events with private data."""
    counts: Counter[str] = Counter()
    private: set[tuple[str, ...]] = set()
    for name, token in tokens.items():
        own = [event for event in events if producer(event) == name]
        with Submitter(url, token) as submitter:
            outcomes = submitter.submit_batch(body(event, key) for event in own)
        for event, outcome in zip(own, outcomes, strict=True):
            receipt = receipt_of(outcome)
            answer = receipt.disposition or str(receipt.status)
            if answer == "rejected-private":
                private.add(identity(event))
            if receipt.duplicate:
                answer = "conflict again" if answer == "rejected-conflict" else "replay"
            counts[answer] += 1
    return counts, private


def receipt_of(outcome: Receipt | OperationError) -> Receipt:
    """Return the service's answer to an event.

    Raises OperationError if there is none.
    """
    if isinstance(outcome, Receipt):
        return outcome
    if outcome.receipt is None:
        raise outcome
    return outcome.receipt


def quarantined(data: Path) -> tuple[set[tuple[str, str]], int]:
    """Return (key, quarantined text) of each pending conflict shown beside its original, and the total."""
    store = app.open_store(Location(data=data))
    found, total, after = set(), 0, None
    with store.read() as tx:
        while page := tx.quarantine.waiting(after, 500):
            for row in page:
                if row.kind == "conflict":
                    total += 1
                    if row.original_payload is not None or row.original_disposition == "rejected-private":
                        found.add((row.idempotency_key or "", row.payload["content"] if row.payload else ""))
            after = page[-1].quarantine_id
    store.close()
    return found, total


def compare(title: str, counts: Counter[str], wanted: Counter[str]) -> bool:
    """Print the answered counts beside the expected ones."""
    print(f"\n{title}")
    for name in sorted(counts.keys() | wanted.keys()):
        mark = "ok" if counts[name] == wanted[name] else "DIFFERS"
        print(f"  {name:<24}{counts[name]:>8}   expected {wanted[name]:>8}   {mark}")
    return counts == wanted


def write_policy(folder: Path, repositories: list[str]) -> None:
    """Write a policy that lists every repository as a producer of its own scope, with room for all its conflicts."""
    folder.mkdir(parents=True)
    tables = [
        f'[[producer]]\nidentity = "repo:{name}"\nowner = "keeper"\nsubmit = ["agent_repo:{name}"]\n'
        for name in repositories
    ]
    (folder / "producers.toml").write_text("\n".join(tables))
    (folder / "scopes.toml").write_text("[limits]\nconflicts_per_key = 1000\nwaiting_per_producer = 100000\n")


def one_pass(events: list[Event], key: Key, runs: int, title: str) -> bool:
    """Submit the file `runs` times to one fresh service and check all counts."""
    with tempfile.TemporaryDirectory() as location:
        data, policies = Path(location) / "data", Path(location) / "policies"
        repositories = sorted({event["repo"] for event in events})
        write_policy(policies, repositories)
        good = True
        with app.opened_access(Location(data=data), create=True) as access:
            tokens = {
                name: access.tokens.issue(name, "producer", [], None)[1] for name in (f"repo:{r}" for r in repositories)
            }
        with serving(data, policies, free_port(0)) as url:
            start = time.monotonic()
            counts, private = send(url, events, key, tokens)
            seconds = time.monotonic() - start
            wanted, waiting = expected(events, key, private)
            good &= compare(f"{title}, first run ({len(events) / seconds:,.0f} events/s)", counts, wanted)
            again = Counter({"replay": 0}) + Counter({"replay": sum(wanted[n] for n in wanted if "conflict" not in n)})
            again["conflict again"] = wanted["rejected-conflict"] + wanted["conflict again"]
            for _ in range(runs - 1):
                good &= compare(f"{title}, again", send(url, events, key, tokens)[0], +again)
        found, total = quarantined(data)
        print(f"  conflicts in quarantine {total}, with their pair {len(found & waiting)}, expected {len(waiting)}")
        return good and found == waiting and total == wanted["rejected-conflict"]


def reviewed(events: list[Event]) -> bool:
    """Submit the file once, approve everything through the desk's pages, and print how many pages that takes."""
    with tempfile.TemporaryDirectory() as location:
        data, policies = Path(location) / "data", Path(location) / "policies"
        repositories = sorted({event["repo"] for event in events})
        write_policy(policies, repositories)
        (policies / "scopes.toml").open("a").write("bulk_approve = true\n")
        with app.opened_access(Location(data=data), create=True) as access:
            tokens = {
                name: access.tokens.issue(name, "producer", [], None)[1] for name in (f"repo:{r}" for r in repositories)
            }
        with serving(data, policies, free_port(0)) as url:
            sent = send(url, events, key_of_text, tokens)[0]["accepted-for-review"]
            until_sorted(data)
            review = Review(url, run("user", "add", "cora", "--role", "curator", "--data", str(data), "--url", url))
            review.run()
    counts = review.counts
    print(f"\n{sent:,} proposals reviewed in {counts['pages']:,} page views")
    print(f"  approved together {counts['approved together']:,}, alone {counts['approved alone']:,}")
    return counts["approved together"] + counts["approved alone"] == sent


def until_sorted(data: Path) -> None:
    """Wait until the queue is sorted.

    Raises TimeoutError if that takes more than two minutes.
    """
    store = app.open_store(Location(data=data))
    try:
        for _ in range(600):
            with store.read() as tx:
                if not tx.queue.unsorted(1):
                    return
            time.sleep(0.2)
    finally:
        store.close()
    raise TimeoutError


def main() -> None:
    """Replay and report; exit with 1 if a count differs."""
    parser = argparse.ArgumentParser(
        prog="scripts/replay_guidance", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="JSON lines with repo, path, item, heading and text")
    parser.add_argument("--review", action="store_true", help="also approve everything on the desk and count the pages")
    arguments = parser.parse_args()
    events = [json.loads(line) for line in arguments.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    print(f"{len(events)} events of {len({event['repo'] for event in events})} repositories")
    good = one_pass(events, key_of_text, 2, "Key from repo, path, item and text")
    good &= one_pass(events, key_of_slot, 2, "Key from repo, path and item")
    if arguments.review:
        good &= reviewed(events)
    print("\nAll counts hold." if good else "\nA count differs.")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
