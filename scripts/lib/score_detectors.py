"""Score the detectors on labelled texts: recall and false alarms by kind, beside other engines that are installed.

Lines are `{"id", "label", "kind", "text"}` or with `body` for `text`; `label` is `benign` or what the text contains.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.privacy import Finding, Gate
from antechamber.policy_files import read_policy
from antechamber.resources import folder
from lib.labelled.recipes import Labelled
from lib.labelled_sets import NUMBERS, SEED, SETS, make_sets
from lib.other_engines import list_engines

BENIGN: Final = "benign"
PASSWORDS: Final = frozenset(
    {
        "assignments",
        "sentences",
        "held-out-assignments",
        "held-out-sentences",
        "third-assignments",
        "third-sentences",
        "fourth-assignments",
        "fourth-sentences",
    }
)
"""Kinds of secrets without a vendor's format."""


class Line(Struct, frozen=True):
    """A labelled line of a file; `kind` may be missing."""

    id: Any
    label: str
    kind: str = ""
    subkind: str = ""
    text: str | None = None
    body: dict[str, Any] | None = None


class Result(Struct):
    """What an engine found in the texts of one kind."""

    texts: int = 0
    found: int = 0
    """Texts with any finding."""
    refused: int = 0
    """Texts with a finding that refuses."""


Scores = dict[tuple[str, str], Result]
"""Results by label and kind."""


def read_lines(file: Path) -> Iterator[Labelled]:
    """Yield the labelled lines of a file.

    Raises msgspec.ValidationError if a line is none.
    """
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                read = msgspec.json.decode(line, type=Line)
                yield Labelled(f"{number}:{read.id}", read.label, read.kind, read.subkind, read.text, read.body)


def find_ours(gate: Gate, one: Labelled) -> list[Finding]:
    """Return what our gate finds in a text or body."""
    if one.body is None:
        return gate.scan({"": one.text or ""})
    return gate.scan({f"/{name}": value for name, value in one.body.items()}, one.body.get("submission_scope"))


def score(lines: Iterable[Labelled], found: Iterable[str], refused: Iterable[str]) -> Scores:
    """Count the texts of each label and kind, and those that were found and refused, by their ids."""
    found, refused, scores = set(found), set(refused), Scores()
    for one in lines:
        result = scores.setdefault((one.label, one.kind), Result())
        result.texts += 1
        result.found += one.id in found
        result.refused += one.id in refused
    return scores


def sum_up(scores: Scores) -> Scores:
    """Return the sums over each label, and over the secrets that are no passwords."""
    sums: Scores = {}
    for (label, kind), result in scores.items():
        names = [f"all {label}"]
        if label == "secret" and kind.partition("/")[0] not in PASSWORDS:
            names.append("without passwords")
        for name in names:
            total = sums.setdefault((label, name), Result())
            total.texts += result.texts
            total.found += result.found
            total.refused += result.refused
    return sums


def print_table(ours: Scores, others: Mapping[str, Scores]) -> None:
    """Print one row per kind; positive texts first."""
    print(f"{'label':<9} {'kind':<32} {'texts':>6} {'refused':>8} {'found':>7}", *(f"{name:>14}" for name in others))
    rows = {**ours, **sum_up(ours)}
    sums = {name: {**scores, **sum_up(scores)} for name, scores in others.items()}
    for place in sorted(rows, key=lambda place: (place[0] == BENIGN, place)):
        result = rows[place]
        shares = [f"{sums[name][place].found / result.texts:>14.1%}" for name in others]
        print(
            f"{place[0]:<9} {place[1]:<32} {result.texts:>6} {result.refused / result.texts:>8.1%}"
            f" {result.found / result.texts:>7.1%}",
            *shares,
        )


def print_json(ours: Scores, others: Mapping[str, Scores]) -> None:
    """Print all counts as JSON: by engine, label and kind."""
    engines: dict[str, dict[str, dict[str, Result]]] = {}
    for name, scores in {"antechamber": ours, **others}.items():
        for (label, kind), result in {**scores, **sum_up(scores)}.items():
            engines.setdefault(name, {}).setdefault(label, {})[kind] = result
    print(msgspec.json.encode(engines).decode())


def print_wrong(lines: Iterable[Labelled], findings: Mapping[str, list[Finding]]) -> None:
    """Print each positive text without a finding, and each harmless one with one, with the rules and actions."""
    for one in lines:
        found = findings[one.id]
        if bool(found) == (one.label == BENIGN):
            rules = Counter(f"{finding.rule_id} ({finding.action})" for finding in found)
            shown = (one.text if one.body is None else msgspec.json.encode(one.body).decode()) or ""
            print(f"{one.label}/{one.kind}/{one.subkind} {', '.join(rules) or 'not found'}: {shown[:160]!r}")


def main() -> None:
    """Score and print."""
    parser = argparse.ArgumentParser(prog="scripts/score_detectors", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="NDJSON with labelled texts; default: the generated sets")
    parser.add_argument(
        "--set", action="append", dest="sets", choices=SETS, help="score this generated set; repeatable"
    )
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the generated sets")
    parser.add_argument("--numbers", type=int, default=NUMBERS, help="harmless identifiers of each kind")
    parser.add_argument("--policies", type=Path, default=folder("policies"), help="policy folder with the rules")
    parser.add_argument("--subkinds", action="store_true", help="print a row for each subkind")
    parser.add_argument("--alone", action="store_true", help="leave out other engines")
    parser.add_argument("--wrong", action="store_true", help="print each wrong result instead of the table")
    parser.add_argument("--json", action="store_true", help="print counts as JSON")
    arguments = parser.parse_args()
    gate = read_policy(arguments.policies).gate
    lines = list(
        read_lines(arguments.file)
        if arguments.file
        else make_sets(arguments.sets, seed=arguments.seed, numbers=arguments.numbers)
    )
    if not lines:
        sys.exit("There is no labelled text.")
    if arguments.subkinds:
        lines = [msgspec.structs.replace(one, kind=f"{one.kind}/{one.subkind}") for one in lines]
    findings = {one.id: find_ours(gate, one) for one in lines}
    if arguments.wrong:
        print_wrong(lines, findings)
        return
    found = [name for name, all_of_it in findings.items() if all_of_it]
    refused = [name for name, all_of_it in findings.items() if any(one.is_private for one in all_of_it)]
    texts = {one.id: one.text if one.text is not None else msgspec.json.encode(one.body).decode() for one in lines}
    engines = {} if arguments.alone else list_engines()
    others = {name: score(lines, hits := find(texts), hits) for name, find in engines.items()}
    show = print_json if arguments.json else print_table
    show(score(lines, found, refused), others)


if __name__ == "__main__":
    main()
