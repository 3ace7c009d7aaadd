"""The gate: the rules of a policy with the action that each has in each scope."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from antechamber.core.contract import SCOPES, Scope
from antechamber.core.privacy.checks.key_formats import password_in
from antechamber.core.privacy.document import EventText
from antechamber.core.privacy.rule import (
    ACTIONS,
    REFUSING,
    UNVERIFIED,
    UNVERIFIED_TITLE,
    Action,
    Covered,
    Finding,
    Kind,
    Rule,
    join_example,
)
from antechamber.core.privacy.search.engine import Engine, QuickLook, Search, Sighting, compile_rules
from antechamber.core.privacy.split_values import TokenSearch

_MOST: Final = 1_000
"""Maximum number of findings of a scan."""

_MOST_SECRETS: Final = 200
"""Maximum number of secrets that are compared with those of other events."""

Actions = Mapping[str, Action]
"""Actions by rule id or kind; that of the id wins."""


class Examination(NamedTuple):
    """What a scan found, and its cost."""

    findings: list[Finding]
    steps: int
    """Units of about 2 microseconds."""


class _Level(NamedTuple):
    """The actions of all rules in a kind of scope, and the indexes of the rules that are in force there."""

    actions: list[tuple[Action, Action]]
    """With a context word near, and without one."""
    wanted: frozenset[int]
    refusing: frozenset[int]


class Gate:
    """Finds private, hostile and hidden text by the rules of one policy.

    `titles` and `kinds` have the title and the kind of each rule by its id. `rules` are all rules, also those that are
    switched off; `refusing` has the indexes of those that make an event private in any scope.
    """

    def __init__(
        self, rules: Iterable[Rule], actions: Actions | None = None, scopes: Mapping[Scope, Actions] | None = None
    ) -> None:
        """Compile rules; `actions` and, for single kinds of scope, `scopes` replace the rules' own actions."""
        self.rules = tuple(rules)
        self.titles: dict[str, str] = {rule.rule_id: rule.title for rule in self.rules} | {UNVERIFIED: UNVERIFIED_TITLE}
        self.kinds: Mapping[str, Kind] = {rule.rule_id: rule.kind for rule in self.rules} | {UNVERIFIED: "secret"}
        self._general = frozenset(rule.rule_id for rule in self.rules if rule.general)
        self._engine: Engine = compile_rules(self.rules)
        usual = _in_force(self.rules, (actions or {},))
        self._levels: dict[Scope | None, _Level] = dict.fromkeys((None, *SCOPES), usual)
        for scope, own in (scopes or {}).items():
            self._levels[scope] = _in_force(self.rules, (actions or {}, own))
        refusing = {level.refusing for level in self._levels.values()}
        for wanted in refusing:
            # The automata for submissions are built now and not at the first request; the desk can wait for its own.
            self._engine.warm_up(wanted)
        self.refusing = frozenset[int]().union(*refusing)
        self._engine.warm_up(self.refusing)
        self._any_refusing = self._engine.prefilter(self.refusing)
        self.tokens = TokenSearch(self._engine)

    def prepare(self) -> None:
        """Build the automata of all rules in force anywhere, which the first scan of the desk needs."""
        for wanted in {level.wanted for level in self._levels.values()}:
            self._engine.warm_up(wanted)

    def scan(self, values: dict[str, Any], scope: Scope | None = None) -> list[Finding]:
        """Find everything in `values`, a JSON value per pointer, by the rules that are in force in a scope.

        The result is sorted, has each finding once and at most 100 of each rule. If a scan needs more verifications
        than its budget allows, that is a finding itself.
        """
        return self._scan(values, scope, self._levels[scope].wanted).findings

    def find_private(self, values: dict[str, Any], scope: Scope | None = None) -> list[Finding]:
        """Find what `examine` finds."""
        return self.examine(values, scope).findings

    def examine(self, values: dict[str, Any], scope: Scope | None = None) -> Examination:
        """Find what makes an event private in a scope, with the steps that this took.

        A text that has more than 100 values of a rule is found as a whole, so that a mask leaves out none of them.
        """
        found = self._scan(values, scope, self._levels[scope].refusing, whole=True)
        return Examination([one for one in found.findings if one.is_private], found.steps)

    def secrets_in(self, values: dict[str, Any], scope: Scope | None = None) -> dict[str, str]:
        """Return the secrets of an event that is private in a scope, once decoded, each with the id of its rule.

        Of an address or a basic authentication it is the password. What has another one in it is left out, and so is
        what a general rule finds of a value that another rule names exactly.
        """
        wanted = frozenset(index for index in self._levels[scope].refusing if self.rules[index].kind == "secret")
        found: dict[str, str] = {}
        for one in islice(self._search(wanted).look(EventText(values)), _MOST_SECRETS):
            if one.rule >= 0:
                found[password_in(one.value)] = self.rules[one.rule].rule_id
        exact = [value for value, rule_id in found.items() if rule_id not in self._general]
        kept = {
            value: rule_id
            for value, rule_id in found.items()
            if rule_id not in self._general or not any(other in value or value in other for other in exact)
        }
        return {value: kept[value] for value in kept if not any(other in value for other in kept if other != value)}

    def is_clean(self, values: dict[str, Any]) -> bool:
        """Return quickly whether `find_private` would find nothing in an event, in any scope.

        False means that a full scan is needed.
        """
        return self.look_quickly(values).is_clear

    def look_quickly(self, values: dict[str, Any]) -> QuickLook:
        """Return what `is_clean` does, with the steps that this took."""
        return self._engine.is_clear(EventText(values), self._any_refusing)

    def actions_of(self, index: int) -> dict[Scope | None, tuple[Action, Action]]:
        """Return the actions of a rule, given by index, in each scope: with a context word near, and without one."""
        return {scope: level.actions[index] for scope, level in self._levels.items()}

    def rules_unlike(self, other: "Gate") -> frozenset[int]:
        """Return the indexes of own rules in force that the other gate lacks, or gives another action in any scope."""
        known = {rule: index for index, rule in enumerate(other.rules)}
        wanted = frozenset[int]().union(*(level.wanted for level in self._levels.values()))
        return frozenset(
            index
            for index in wanted
            if (theirs := known.get(self.rules[index])) is None or self.actions_of(index) != other.actions_of(theirs)
        )

    def is_clear_of(self, rules: frozenset[int], values: dict[str, Any]) -> bool:
        """Return quickly whether none of some own rules, given by index, finds anything in an event."""
        return self._engine.is_clear(EventText(values), self._engine.prefilter(rules)).is_clear

    def is_private_name(self, name: str) -> bool:
        """Return whether a name is a private value itself, so that no answer repeats it."""
        return bool(self.find_private({"": name}))

    def _search(self, wanted: frozenset[int]) -> Search:
        return Search(self._engine, self._engine.prefilter(wanted))

    def _scan(
        self, values: dict[str, Any], scope: Scope | None, wanted: frozenset[int], *, whole: bool = False
    ) -> Examination:
        """Scan by some rules; with `whole`, a text that may have more values than are reported is a finding itself."""
        document = EventText(values)
        search = self._search(wanted)
        seen = list(islice(search.look(document), _MOST))
        if whole:
            seen += search.beyond(document)
        if not seen:
            return Examination([], search.steps)
        hidden = {document.name_index(one.part) for one in seen if document.place(one.part).is_name}
        actions = self._levels[scope].actions
        found = (self._finding(one, document, hidden, actions) for one in seen)
        findings = sorted({finding for finding in found if finding.action != "off"})
        return Examination(list(self._without_general(findings)), search.steps)

    def _without_general(self, findings: list[Finding]) -> Iterator[Finding]:
        """Yield the findings without those of general rules where another rule of the kind names the cause exactly."""
        exact: dict[tuple[str, Kind], list[Finding]] = {}
        for one in findings:
            if one.rule_id not in self._general:
                exact.setdefault((one.pointer, self.kinds[one.rule_id]), []).append(one)
        covered = {place: Covered(found) for place, found in exact.items()}
        for one in findings:
            named = covered.get((one.pointer, self.kinds[one.rule_id]))
            if one.rule_id not in self._general or named is None or not named.overlaps(one):
                yield one

    def _finding(
        self, one: Sighting, document: EventText, hidden: set[int], actions: list[tuple[Action, Action]]
    ) -> Finding:
        place = document.place(one.part)
        start, end = one.start - place.start - place.prefix, one.end - place.start - place.prefix
        if place.is_name or start < 0:
            start = end = 0
        pointer = place.step.pointer(hidden)
        if one.rule < 0:
            return Finding(pointer, UNVERIFIED, "quarantine")
        action = actions[one.rule][0 if one.in_context else 1]
        return Finding(pointer, self.rules[one.rule].rule_id, action, start, end, one.decoded)

    def broken_examples(self) -> Iterator[tuple[str, str]]:
        """Yield the id of the rule and a sentence for each example with another result than it claims."""
        everything = frozenset(range(len(self.rules)))
        for index, rule in enumerate(self.rules):
            for name, examples in (("hit", rule.hit), ("miss", rule.miss)):
                for number, example in enumerate(examples):
                    document = EventText({"": join_example(example)})
                    found = any(one.rule == index for one in self._search(everything).look(document))
                    if found != (name == "hit"):
                        problem = "finds nothing there" if name == "hit" else "finds something there"
                        yield rule.rule_id, f"{name}[{number}]: the rule {problem}"


@lru_cache(maxsize=4)
def compile_gate(
    rules: tuple[Rule, ...],
    actions: tuple[tuple[str, Action], ...],
    scopes: tuple[tuple[Scope, tuple[tuple[str, Action], ...]], ...],
) -> Gate:
    """Return the gate of some rules and the actions that replace their own; policies that agree in them share it."""
    return Gate(rules, dict(actions), {scope: dict(own) for scope, own in scopes})


def _in_force(rules: Iterable[Rule], levels: tuple[Actions, ...]) -> _Level:
    actions = [_actions_of(rule, levels) for rule in rules]
    return _Level(actions, _having(actions, frozenset(ACTIONS) - {"off"}), _having(actions, REFUSING))


def _actions_of(rule: Rule, levels: Iterable[Actions]) -> tuple[Action, Action]:
    """Return the actions of a rule with a context word near, and without one."""
    action, without = rule.action, rule.without_context
    for level in levels:
        own, kind = level.get(rule.rule_id), level.get(rule.kind)
        # The action of a kind does not switch on a rule that is off by itself.
        wanted = own if own is not None else kind if action != "off" else None
        if wanted is not None:
            action = wanted
            without = max(without, action, key=ACTIONS.index)
    return action, without


def _having(actions: list[tuple[Action, Action]], wanted: frozenset[str]) -> frozenset[int]:
    return frozenset(index for index, pair in enumerate(actions) if not wanted.isdisjoint(pair))
