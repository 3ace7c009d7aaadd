"""Explanations of policy files: the expected value of each key, and what is wrong with a value."""

import re
from collections.abc import Iterator
from typing import Any, Final, get_args

from antechamber.core.access.workload import Algorithm
from antechamber.core.contract import SCOPES

IDENTITY: Final = (
    "worker:, tool:, repo: or service: and a name of letters, digits and . _ / @ - (at most 128), "
    'e.g. "worker:my-agent"'
)
_GRANT: Final = 'kind:id, e.g. "project:apollo", "session:*" or "*:*"'
_KIND: Final = 'a word of a-z, 0-9, _ and -, which begins with a letter, e.g. "fact"'
_SCOPES: Final = ", ".join(SCOPES)
_PERSON: Final = 'a name of 1 to 128 printable characters, e.g. "ada"'
_FROM_ONE: Final = "a whole number, 1 or more"
_FROM_ZERO: Final = "a whole number, 0 or more"
_DAYS: Final = "a whole number, e.g. 30"
_WORD: Final = "1 to 512 characters without blanks"
_KEPT_DAYS: Final = "a whole number of days, up to 36500; 0 never removes them"
_TEXT: Final = "a text in quotation marks"

WANTED: Final[dict[str, str]] = {
    "producer": "tables: [[producer]] with identity and owner",
    "producer[].identity": IDENTITY,
    "producer[].owner": _PERSON,
    "producer[].submit": 'a list of scopes, e.g. ["project:apollo"]',
    "producer[].submit[]": _GRANT,
    "producer[].read": 'a list of scopes, e.g. ["project:apollo"]',
    "producer[].read[]": _GRANT,
    "producer[].subjects": 'a list of tables, e.g. [{issuer = "https://ci.example.com", subject = "job:release"}]',
    "producer[].subjects[]": '{issuer = "https://ci.example.com", subject = "job:release"}',
    "producer[].subjects[].issuer": "the issuer of an [[issuer]] table",
    "producer[].subjects[].subject": f"the claim sub of its tokens: {_WORD}",
    "issuer": "tables: [[issuer]] with issuer, audience, and keys_url or keys",
    "issuer[].issuer": f"the claim iss of its tokens: {_WORD}",
    "issuer[].audience": f"a name in the claim aud of its tokens: {_WORD}",
    "issuer[].keys_url": 'an https address, e.g. "https://ci.example.com/jwks"',
    "issuer[].keys": "a list of at most 100 public keys, each a JWK as a table with kid",
    "issuer[].keys[]": "a public key, as a JWK in a table with kid",
    "issuer[].algorithms": 'a list, e.g. ["RS256"]',
    "issuer[].algorithms[]": f"one of {', '.join(get_args(Algorithm))}",
    "issuer[].max_minutes": "a whole number of minutes from 1 to 1440",
    "issuer[].allow_private": "true or false",
    "reveal": 'a list of persons, e.g. ["ada"]',
    "reveal[]": _PERSON,
    "defaults": "a table: [defaults]",
    "defaults.kinds": 'a list, e.g. ["fact", "procedure"]',
    "defaults.kinds[]": _KIND,
    "defaults.stale_after_days": _FROM_ONE,
    "defaults.max_bytes": _FROM_ONE,
    "defaults.curators": "1 or 2",
    "defaults.self_edit": "true or false",
    "defaults.keep_private": '"findings" or "sealed"',
    "defaults.keep_rejected_days": _KEPT_DAYS,
    "defaults.keep_withdrawn_days": _KEPT_DAYS,
    "defaults.keep_ended_days": _KEPT_DAYS,
    "defaults.webhook_text": "true or false",
    "scope": "tables: [scope.organization]",
    "scope[]": "a table: [scope.organization]",
    "scope[].actions": 'a table: rule or kind = "reject", "quarantine", "warn" or "off"',
    "scope[].actions[]": '"reject", "quarantine", "warn" or "off"',
    "limits": "a table: [limits]",
    "limits.conflicts_per_key": _FROM_ZERO,
    "limits.waiting_per_producer": _FROM_ZERO,
    "limits.sealed_days": "an integer from 1 to 365",
    "limits.keep_hourly_counts_days": _KEPT_DAYS,
    "limits.attempts_per_minute": f"{_FROM_ONE}; leave it out for no limit",
    "limits.scan_steps_per_second": "a whole number, 1000 or more",
    "limits.bulk_approve": "true or false",
    "limits.unread_days": "an integer from 0 to 3650; 0 for never",
    "limits.reads_kept_days": "an integer from 1 to 3650",
    "producer.sees_notes": "true or false",
    "oversight": "a table: [oversight]",
    "oversight.second_looks": "a whole number of percent, from 0 to 100",
    "oversight.screen_days": "a whole number from 0 to 365",
    "session": "tables: [session.curator], [session.auditor] or [session.operator]",
    "session.curator": "a table: [session.curator]",
    "session.curator.idle_minutes": "a whole number of minutes from 1 to 43200",
    "session.curator.absolute_hours": "a whole number of hours from 1 to 720",
    "session.curator.confirm_minutes": "a whole number of minutes from 1 to 43200",
    "sign_in": "a table: [sign_in] with password",
    "sign_in.password": "true or false",
    "provider": "tables: [[provider]] with name, title, issuer and client_id",
    "provider[].name": 'a word of a-z, 0-9 and -, which begins with a letter, e.g. "acme"',
    "provider[].title": "1 to 64 printable characters, as on a button",
    "provider[].issuer": 'its https address, e.g. "https://id.example.com"',
    "provider[].client_id": f"the id of this service there: {_WORD}",
    "provider[].secret_env": 'the name of an environment variable, e.g. "ACME_SECRET"',
    "provider[].secret_file": 'the absolute path of a file, e.g. "/run/secrets/acme"',
    "provider[].scopes": 'a list with "openid", e.g. ["openid", "profile"]',
    "provider[].scopes[]": 'a scope of the provider, e.g. "profile"',
    "provider[].algorithms": 'a list, e.g. ["RS256"]',
    "provider[].algorithms[]": f"one of {', '.join(get_args(Algorithm))}",
    "provider[].roles": 'a list of tables, e.g. [{claim = "groups", value = "curators", role = "curator"}]',
    "provider[].roles[]": '{claim = "groups", value = "curators", role = "curator"}',
    "provider[].roles[].claim": f"the name of a claim: {_WORD}",
    "provider[].roles[].value": "1 to 512 characters",
    "provider[].roles[].role": '"curator", "auditor" or "operator"',
    "provider[].people": 'a list of tables, e.g. [{subject = "24400320", account = "ada"}]',
    "provider[].people[]": '{subject = "24400320", account = "ada"}',
    "provider[].people[].subject": "the claim sub of its tokens: 1 to 255 characters",
    "provider[].people[].account": "the name of an account: letters, digits and . _ / @ - (at most 128)",
    "provider[].create": "true or false",
    "provider[].name_claim": f"the name of a claim: {_WORD}",
    "provider[].allow_private": "true or false",
    "off": 'a list of rules, e.g. ["iban"]; antechamber policy check --rules lists all',
    "off[]": 'the name of a rule, e.g. "iban"',
    "revoke_pasted_tokens": "true or false",
    "actions": 'a table: rule or kind = "reject", "quarantine", "warn" or "off"',
    "actions[]": '"reject", "quarantine", "warn" or "off"',
    "public": "true or false",
    "witness": "at most 16 tables: [[witness]] with key and url",
    "witness[].key": "the verifier key of the witness, a text in quotation marks",
    "witness[].url": 'an https address, e.g. "https://witness.example.org"',
    "witness[].allow_private": "true or false",
    "guideline": "tables: [[guideline]] with text",
    "guideline[].text": "one line of 1 to 500 characters",
    "guideline[].scopes": f"a list of {_SCOPES}",
    "guideline[].scopes[]": f"one of {_SCOPES}",
    "guideline[].kinds": 'a list, e.g. ["fact"]',
    "guideline[].kinds[]": _KIND,
    "sources": 'a table: [sources], e.g. "repo://apollo/" = "https://git.example.com/apollo/{path}"',
    "sources[]": "an https address in quotation marks",
    "test": "tables: [[test]] with name, producer, scope and expect",
    "test[].name": _TEXT,
    "test[].producer": "an identity of producers.toml, or a producer of its own: {identity = …, owner = …}",
    "test[].scope": 'kind:id, e.g. "project:apollo"',
    "test[].action": '"submit" or "read"',
    "test[].kind": 'a kind, e.g. "fact"',
    "test[].content": _TEXT,
    "test[].age_days": _DAYS,
    "test[].expect": 'accepted-for-review, allowed, or a code, e.g. "scope-not-granted"',
}
"""What to write, by the path of a key: [] is an element of a list, or one of several tables."""

_LIKE: Final = (
    ("test[].producer.", "producer[]."),
    ("scope[].", "defaults."),
    ("session.auditor", "session.curator"),
    ("session.operator", "session.curator"),
)
"""Paths whose keys are the same as those of another path."""
_ELEMENT: Final = re.compile(r"\[[^\]]*\]")
_PLACED: Final = re.compile(r"(.*?) - at `\$\.?(.*?)`", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(.+)`")
_GOT: Final = re.compile(r", got `(.+)`")
_TYPES: Final = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number with a fraction",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "date": "a date",
    "datetime": "a date",
    "time": "a time",
}


def explain_value(problem: str, document: Any) -> str | None:
    """Return what is wrong with a value and what to write; None if the problem has no path.

    `problem` is msgspec's message; `document` is the file's untyped content, from which a short wrong value is quoted.
    """
    placed = _PLACED.fullmatch(problem)
    if placed is None:
        return None
    text, path = placed.groups()
    if missing := _MISSING.fullmatch(text):
        key = missing.group(1)
        return f"{path}: {key} is missing{_write(f'{path}.{key}')}"
    if got := _GOT.search(text):
        return f"{path} is {_TYPES.get(got.group(1), got.group(1))}{_write(path)}"
    value = _at(document, path)
    quoted = f'"{value}"' if isinstance(value, str) else str(value)
    short = value is not None and len(quoted) <= 80 and quoted.isprintable()  # noqa: PLR2004 -- one line of a terminal
    return f"{path} cannot be {quoted if short else 'this value'}{_write(path)}"


def _write(path: str) -> str:
    pattern = _ELEMENT.sub("[]", path)
    for special, general in _LIKE:
        if pattern.startswith(special):
            pattern = general + pattern.removeprefix(special)
    wanted = WANTED.get(pattern)
    return f"; write {wanted}" if wanted else ""


def _steps(path: str) -> Iterator[str]:
    yield from re.findall(r"[^.\[\]]+", path)


def _at(document: Any, path: str) -> Any:
    """Return the value at a path; None if the document lacks one of its steps."""
    value = document
    for step in _steps(path.replace("[...]", "[?]")):
        if isinstance(value, list) and step.isdecimal():
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value
