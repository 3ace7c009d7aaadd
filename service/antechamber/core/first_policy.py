"""The policy of a first run: which producers there are, who answers for them, and where they may propose."""

import json
import re
from collections.abc import Sequence
from typing import Final

from antechamber.core.contract import NAME, PRODUCER, PRODUCER_KINDS, SCOPES
from antechamber.core.errors import PolicyError

_OWNER: Final = re.compile(r"[^\x00-\x1f\x7f]{1,128}")
_HEAD: Final = """\
# Who may propose what where. An edit takes effect within two seconds; check it with: antechamber policy check FOLDER
# Scopes, kinds, private data and more have files of their own beside this one; /help of the service describes them.
"""


def check_owner(text: str) -> str:
    """Return the name of a person without blanks around it.

    Raises PolicyError if it is empty, too long or holds control characters.
    """
    name = text.strip()
    if not _OWNER.fullmatch(name):
        message = f"{text[:100]!a} is no owner: name the person who answers for a producer, e.g. ada"
        raise PolicyError(message)
    return name


def check_producer(text: str) -> str:
    """Return the identity of a producer without blanks around it.

    Raises PolicyError if it is not `kind:name`.
    """
    identity = text.strip()
    if not PRODUCER.fullmatch(identity):
        kinds = ", ".join(PRODUCER_KINDS)
        message = (
            f"{text[:100]!a} is no producer: write kind:name with one of the kinds {kinds}, e.g. worker:release-bot"
        )
        raise PolicyError(message)
    return identity


def check_scope(text: str) -> str:
    """Return a scope without blanks around it.

    Raises PolicyError if it is not `kind:id`, where the id may be `*`.
    """
    scope = text.strip()
    kind, _, scope_id = scope.partition(":")
    if kind not in SCOPES or (scope_id != "*" and not NAME.fullmatch(scope_id)):
        message = (
            f"{text[:100]!a} is no scope: write kind:id with one of the kinds {', '.join(SCOPES)}, e.g. project:apollo"
        )
        raise PolicyError(message)
    return scope


def write_producers(owners: Sequence[str], producers: Sequence[str], scopes: Sequence[str]) -> str:
    """Return `producers.toml` for producers that may submit to and read all of these scopes.

    There is one owner for all producers, or one for each, in the same order.

    Raises PolicyError if a value is not valid, is missing, or a producer is named twice.
    """
    persons = [check_owner(owner) for owner in owners]
    identities = [check_producer(producer) for producer in producers]
    grants = list(dict.fromkeys(check_scope(scope) for scope in scopes))
    if not identities or not grants or not persons:
        message = "a policy needs at least one owner, one producer and one scope"
        raise PolicyError(message)
    if len(persons) not in {1, len(identities)}:
        message = (
            f"name one --owner for all producers or one for each: {len(identities)} producers, {len(persons)} owners"
        )
        raise PolicyError(message)
    if len(set(identities)) != len(identities):
        message = "a producer is named twice; name each once"
        raise PolicyError(message)
    every = persons * len(identities) if len(persons) == 1 else persons
    return _HEAD + "".join(
        f"\n[[producer]]\nidentity = {_quote(identity)}\nowner = {_quote(owner)}\n"
        f"submit = {_quote(grants)}\nread = {_quote(grants)}\n"
        for identity, owner in zip(identities, every, strict=True)
    )


def _quote(value: str | list[str]) -> str:
    """Return a string or a list of strings without control characters as TOML, which quotes them as JSON does."""
    return json.dumps(value, ensure_ascii=False)
