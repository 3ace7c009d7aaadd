"""Policy files: reads a folder of TOML files into a policy; errors name the line to change."""

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from antechamber.core.access.providers import NamedSubject, Provider, RoleRule, provider_problem
from antechamber.core.access.workload import Issuer, Subject, key_problem
from antechamber.core.contract import PRODUCER, SCOPES, Scope
from antechamber.core.conversion import convert
from antechamber.core.errors import PolicyError
from antechamber.core.log.checkpoint_text import NoteError
from antechamber.core.log.cosignature import read_witness_key
from antechamber.core.policy import (
    Case,
    Guideline,
    Limits,
    LogRules,
    Oversight,
    Person,
    Policy,
    Privacy,
    Producer,
    Rules,
    ScopeRules,
    SessionPolicy,
    SessionRules,
    Sharing,
    SignInPolicy,
    Witness,
)
from antechamber.core.policy_help import IDENTITY, explain_value
from antechamber.core.policy_tests import failures
from antechamber.core.privacy import KINDS, Action, Rule
from antechamber.core.review.source_links import check_addresses
from antechamber.core.webhooks.target import TargetError, read_target
from antechamber.detector_files import read_detectors

TESTS: Final = "tests.toml"


class ProducersFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `producers.toml`."""

    producer: list[Producer] = []
    issuer: list[Issuer] = []


class ScopesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `scopes.toml`."""

    reveal: list[Person] = []
    defaults: Rules = field(default_factory=Rules)
    scope: dict[Scope, ScopeRules] = {}
    limits: Limits = field(default_factory=Limits)
    producer: Sharing = field(default_factory=Sharing)
    oversight: Oversight = field(default_factory=Oversight)


class PeopleFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `people.toml`."""

    session: SessionPolicy = field(default_factory=SessionPolicy)
    sign_in: SignInPolicy = field(default_factory=SignInPolicy)
    provider: list[Provider] = []


class PrivacyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `privacy.toml`."""

    off: list[str] = []
    actions: dict[str, Action] = {}
    revoke_pasted_tokens: bool = False


class GuidelinesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `guidelines.toml`."""

    guideline: list[Guideline] = []
    sources: dict[str, str] = {}


class TestsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `tests.toml`."""

    test: list[Case] = []


_FILES: Final[dict[str, type[Struct]]] = {
    "producers.toml": ProducersFile,
    "scopes.toml": ScopesFile,
    "people.toml": PeopleFile,
    "privacy.toml": PrivacyFile,
    "log.toml": LogRules,
    "guidelines.toml": GuidelinesFile,
    TESTS: TestsFile,
}
POLICY_FILES: Final = frozenset(_FILES)
"""Names of the policy files; rules of detectors are in a folder beside them."""


_UNKNOWN: Final = re.compile(r"unknown field `(.+?)`(?: - at `\$(.*)`)?")


_UNKNOWN_SCOPE: Final = re.compile(
    r"Invalid enum value '(.*)' - at `(?:key` in `\$\.(scope)|\$\.(guideline\[.*\]\.scopes)\[.*\])`"
)


_SUBJECT: Final = re.compile(r"producer\[[^\]]*\]\.subjects\[.*")
"""The path of a table inside a table of a producer."""
_INSIDE: Final = (
    (_SUBJECT, "subject"),
    (re.compile(r"provider\[[^\]]*\]\.roles\[.*"), "role"),
    (re.compile(r"provider\[[^\]]*\]\.people\[.*"), "person"),
)
_KEYS: Final = {
    "producer": Producer,
    "defaults": Rules,
    "scope": ScopeRules,
    "limits": Limits,
    "oversight": Oversight,
    "subject": Subject,
    "issuer": Issuer,
    "session": SessionPolicy,
    "sign_in": SignInPolicy,
    "provider": Provider,
    "role": RoleRule,
    "person": NamedSubject,
    "session.curator": SessionRules,
    "session.auditor": SessionRules,
    "session.operator": SessionRules,
    "guideline": Guideline,
    "witness": Witness,
    "test": Case,
}


def read_policy(folder: Path) -> Policy:
    """Read the policy files of a folder, check them and run their decision tables.

    Raises PolicyError, whose text names file, key and what to write instead.
    """
    if not folder.is_dir():
        message = f"{folder} is no folder; name one that holds producers.toml"
        raise PolicyError(message)
    unknown = sorted({file.name for file in folder.glob("*.toml")} - _FILES.keys())
    if unknown:
        message = f"{unknown[0]}: no such policy file{_suggest(unknown[0], _FILES)}"
        raise PolicyError(message)
    producers = _decode(folder, "producers.toml", ProducersFile)
    scopes = _decode(folder, "scopes.toml", ScopesFile)
    people = _decode(folder, "people.toml", PeopleFile)
    privacy = _decode(folder, "privacy.toml", PrivacyFile)
    guidelines = _decode(folder, "guidelines.toml", GuidelinesFile)
    log = _decode(folder, "log.toml", LogRules)
    _check_witnesses(log)
    tests = _decode(folder, TESTS, TestsFile)
    detectors = read_detectors(folder)
    check_addresses(guidelines.sources)
    for scope, rules in scopes.scope.items():
        _check_actions(f"scopes.toml: [scope.{scope}.actions]", rules.actions or {}, detectors)
    _check_actions("privacy.toml: [actions]", privacy.actions, detectors)
    policy = Policy(
        producers=_index_by_identity(producers.producer),
        issuers=_index_issuers(producers),
        defaults=scopes.defaults,
        scopes=_merge_over_shipped(scopes.scope),
        limits=scopes.limits,
        producer=scopes.producer,
        oversight=scopes.oversight,
        log=log,
        session=people.session,
        sign_in=people.sign_in,
        providers=_index_providers(people),
        reveal=scopes.reveal,
        privacy=Privacy(
            off=_check_rules(privacy.off, detectors),
            actions=privacy.actions,
            revoke_pasted_tokens=privacy.revoke_pasted_tokens,
        ),
        detectors=detectors,
        guidelines=guidelines.guideline,
        sources=guidelines.sources,
        cases=tests.test,
    )
    for case in policy.cases:
        _check_case(case)
    if broken := failures(policy):
        raise PolicyError("\n".join(f"{TESTS}: {line}" for line in broken))
    return policy


def _check_witnesses(log: LogRules) -> None:
    names = set()
    for witness in log.witness:
        try:
            name = read_witness_key(witness.key).name
        except NoteError as error:
            message = f"log.toml: a witness: key: {error}"
            raise PolicyError(message) from None
        try:
            read_target(witness.url, allow_private=witness.allow_private)
        except TargetError as error:
            problem = str(error).partition(";")[0]
            message = f"log.toml: the witness {name}: url: {problem}; write an https address, or set allow_private"
            raise PolicyError(message) from None
        if name in names:
            message = f"log.toml: the witness {name} is listed twice; keep one [[witness]] for it"
            raise PolicyError(message)
        names.add(name)


def _merge_over_shipped(own: dict[Scope, ScopeRules]) -> dict[Scope, ScopeRules]:
    """Merge a file's rules over the shipped ones by key: restricting the kinds does not drop the second curator."""
    merged = dict(Policy().scopes)
    for scope, rules in own.items():
        members = {name: value for name in rules.__struct_fields__ if (value := getattr(rules, name)) is not None}
        merged[scope] = msgspec.structs.replace(merged.get(scope, ScopeRules()), **members)
    return merged


def _check_case(case: Case) -> None:
    location = f'{TESTS}: test "{case.name}"'
    scope = case.scope.partition(":")[0]
    if scope not in SCOPES:
        message = f'{location}: "{case.scope}" names no scope{_suggest(scope, SCOPES)}'
        raise PolicyError(message)
    if isinstance(case.producer, Producer):
        _check_grants(location, case.producer)
    elif not PRODUCER.fullmatch(case.producer):
        message = f'{location}: producer cannot be "{case.producer}"; write {IDENTITY}'
        raise PolicyError(message)


_F = TypeVar("_F", ProducersFile, ScopesFile, PeopleFile, PrivacyFile, GuidelinesFile, LogRules, TestsFile)


def _decode(folder: Path, name: str, form: type[_F]) -> _F:
    """Decode one file; a missing one gives the shipped default, which admits no producer."""
    try:
        document = msgspec.toml.decode((folder / name).read_bytes())
    except FileNotFoundError:
        return form()
    except msgspec.DecodeError as error:
        message = f"{name}: this is no TOML: {error}"
        raise PolicyError(message) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{name}: cannot be read: {error}"
        raise PolicyError(message) from None
    try:
        return convert(document, form)
    except msgspec.ValidationError as error:
        raise _explain(name, error, form, document) from None


def _index_by_identity(producers: list[Producer]) -> dict[str, Producer]:
    by_identity: dict[str, Producer] = {}
    for producer in producers:
        if producer.identity in by_identity:
            message = f"producers.toml: {producer.identity} is listed twice; keep one [[producer]] for it"
            raise PolicyError(message)
        _check_grants("producers.toml", producer)
        by_identity[producer.identity] = producer
    return by_identity


def _index_issuers(file: ProducersFile) -> dict[str, Issuer]:
    """Return the issuers by name, after a check that each subject is one producer of a listed issuer."""
    issuers: dict[str, Issuer] = {}
    for issuer in file.issuer:
        if issuer.issuer in issuers:
            message = f"producers.toml: the issuer {issuer.issuer} is listed twice; keep one [[issuer]] for it"
            raise PolicyError(message)
        if problem := _issuer_problem(issuer):
            message = f"producers.toml: the issuer {issuer.issuer}: {problem}"
            raise PolicyError(message)
        issuers[issuer.issuer] = issuer
    seen: set[Subject] = set()
    for producer in file.producer:
        for subject in producer.subjects:
            if subject.issuer not in issuers:
                message = f"producers.toml: {producer.identity}: no [[issuer]] has the issuer {subject.issuer}"
                raise PolicyError(message)
            if subject in seen:
                message = f"producers.toml: {producer.identity}: the subject {subject.subject} is listed twice"
                raise PolicyError(message)
            seen.add(subject)
    return issuers


def _index_providers(file: PeopleFile) -> dict[str, Provider]:
    """Return the providers by name, after their checks."""
    providers: dict[str, Provider] = {}
    for provider in file.provider:
        if provider.name in providers:
            message = f"people.toml: the provider {provider.name} is listed twice; keep one [[provider]] for it"
            raise PolicyError(message)
        if problem := provider_problem(provider):
            message = f"people.toml: the provider {provider.name}: {problem}"
            raise PolicyError(message)
        providers[provider.name] = provider
    if not providers and not file.sign_in.password:
        message = "people.toml: [sign_in] password = false needs a [[provider]]; else only links of operators work"
        raise PolicyError(message)
    return providers


def _issuer_problem(issuer: Issuer) -> str | None:
    if (issuer.keys_url is None) == (not issuer.keys):
        return "give either keys_url or keys"
    if issuer.keys_url is not None:
        try:
            read_target(issuer.keys_url, allow_private=issuer.allow_private)
        except TargetError as error:
            # The rest of such a text is advice for webhooks.
            return f"keys_url: {str(error).partition(';')[0]}; write an https address, or set allow_private"
    ids = [key.get("kid") for key in issuer.keys]
    for key in issuer.keys:
        problem = key_problem(key) or ("two keys have its kid" if ids.count(key["kid"]) > 1 else None)
        if problem:
            return f"a key: {problem}"
    return None


def _check_grants(location: str, producer: Producer) -> None:
    for grant in (*producer.submit, *producer.read):
        scope = grant.partition(":")[0]
        if scope != "*" and scope not in SCOPES:
            message = f'{location}: {producer.identity}: "{grant}" names no scope{_suggest(scope, SCOPES)}'
            raise PolicyError(message)


def _check_rules(off: list[str], detectors: tuple[Rule, ...]) -> list[str]:
    names = [rule.rule_id for rule in detectors]
    for name in off:
        if name not in names:
            message = f'privacy.toml: off: "{name}" is no rule{_suggest(name, names)}'
            raise PolicyError(message)
    return off


def _check_actions(location: str, actions: dict[str, Action], detectors: tuple[Rule, ...]) -> None:
    names = [*KINDS, *(rule.rule_id for rule in detectors)]
    for name in actions:
        if name not in names:
            message = f'{location}: "{name}" is neither a rule nor a kind of rules{_suggest(name, names)}'
            raise PolicyError(message)


def _suggest(word: str, known: Iterable[str]) -> str:
    """Return what to write instead: the nearest known word, else all of them."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1)
    return f'; write "{near[0]}"' if near else "; known are " + ", ".join(names)


def _explain(name: str, error: msgspec.ValidationError, form: type[Struct], document: Any) -> PolicyError:
    """Turn msgspec's message into one that names file, key and remedy."""
    text = str(error)
    if scope_match := _UNKNOWN_SCOPE.fullmatch(text):
        scope, path = scope_match.group(1), scope_match.group(3) or f"scope.{scope_match.group(1)}"
        return PolicyError(f'{name}: [{path}]: "{scope}" is no scope{_suggest(scope, SCOPES)}')
    match = _UNKNOWN.search(text)
    if match is None:
        return PolicyError(f"{name}: {explain_value(text, document) or text}")
    key, path = match.group(1), (match.group(2) or "").strip(".")
    if key in {"test", "tests"} and not path:
        renamed = "" if key == "test" else " and call it [[test]]"
        return PolicyError(f"{name}: tests belong in {TESTS}; move each [[{key}]] there{renamed}")
    for inside, table in _INSIDE:
        path = inside.sub(table, path)
    table = "producer" if ".producer" in path else path.split("[")[0].split(".")[0]
    sharing = form is ScopesFile and table == "producer"
    known = (Sharing if sharing else _KEYS.get(path) or _KEYS.get(table, form)).__struct_fields__
    where = f" in [{path}]" if path else ""
    return PolicyError(f'{name}: unknown key "{key}"{where}{_suggest(key, known)}')
