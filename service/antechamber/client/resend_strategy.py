"""Calls of somebody else's tools: how each kind may be tried again, and what an answer makes of one.

MCP has no key for a call (revision 2026-07-28 removed resumption: a broken stream loses the request), so that what
makes trying again safe is declared for each tool, and what cannot be verified is not sent again.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from blake3 import blake3
from msgspec import Struct

from antechamber.core.delivery import DeliveryRuling
from antechamber.core.errors import AntechamberError

TOKEN: Final = "{token}"  # noqa: S105 -- a place
"""Where the correlation token goes in a template or an argument."""
VALUE: Final = "{value}"
"""Where the caller's own text goes in a template."""


class CallError(AntechamberError):
    """A call that cannot be made as it is asked for; nothing was sent."""


class IdempotencyKey(Struct, frozen=True, kw_only=True):
    """The tool counts one effect per key: the same key and arguments again, until an answer comes.

    At most one effect; exactly one where the call is `committed`.
    """

    argument: str
    """Which argument takes the key; the caller neither sees nor gives it."""
    errors_are_final: bool = True
    """Whether an error that the tool reports says that there was no effect; False where it may hide one."""


class ReconcileRead(Struct, frozen=True, kw_only=True):
    """The effect carries a token that can be looked for: after an unclear answer the guard reads.

    It sends again only if the effect is not there and the earlier request can no longer arrive. At most one effect, as
    long as `late` is true; exactly one where the call is `committed`.
    """

    argument: str
    """Which argument carries the token."""
    template: str = TOKEN
    """How: `{token}` alone, or beside the caller's own `{value}`."""
    read: str
    """The tool that reads."""
    arguments: Mapping[str, Any]
    """Its arguments; `{token}` in texts is filled in."""
    found: Callable[[Any, str], bool]
    """Says whether the result of reading shows an effect with this token; see `token_in`."""
    late: float = 60.0
    """Seconds after which a request whose answer got lost takes no effect any more, and an effect can be read."""
    errors_are_final: bool = True
    """Whether an error that the tool reports says that there was no effect; False where it may hide one."""


class ResendTolerant(Struct, frozen=True, kw_only=True):
    """The same call twice leaves the same state as once: it is sent again until an answer comes.

    At least one effect where the call is `committed`.
    """

    errors_are_final: bool = True
    """Whether an error that the tool reports says that there was no effect; False where it may hide one."""


class NeverResend(Struct, frozen=True, kw_only=True):
    """Nothing can be verified: an unclear answer is a person's to look into (`needs_review`). At most one effect."""

    errors_are_final: bool = True
    """Whether an error that the tool reports says that there was no effect; False where it may hide one."""


class ReadOnly(Struct, frozen=True):
    """The tool changes nothing: it is called directly, and nothing is recorded."""


Strategy = IdempotencyKey | ReconcileRead | ResendTolerant | NeverResend
UNDECLARED: Final = NeverResend(errors_are_final=False)
"""What a tool is of which nobody said anything."""
Ending = Literal["done", "error", "unclear", "silent"]
"""`done`: a result. `error`: a result that says the tool failed. `unclear`: an answer that says nothing of the effect,
as every error of JSON-RPC (the SDK's servers send -32602 for what goes wrong inside a tool too). `silent`: no answer.
"""


def canonical(arguments: Mapping[str, Any]) -> bytes:
    """Encode arguments so that the same ones are the same bytes.

    Raises CallError where they are no JSON.
    """
    try:
        text = json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the arguments are no JSON: {error}"
        raise CallError(message) from None


def fingerprint(arguments: Mapping[str, Any], operation: str | None) -> bytes:
    """Return by what the same call is found again: the name its caller gave it, else its arguments.

    Raises CallError where they are no JSON.
    """
    marked = {"arguments": arguments} if operation is None else {"operation": operation}
    return blake3(canonical(marked)).digest()


def embed(strategy: Strategy, arguments: Mapping[str, Any], token: str) -> dict[str, Any]:
    """Put the token where the strategy wants it.

    Raises CallError where the caller gives what is not its to give, or no text where the template needs one.
    """
    if not isinstance(strategy, IdempotencyKey | ReconcileRead):
        return dict(arguments)
    name = strategy.argument
    if hidden(strategy) is not None:
        if name in arguments:
            message = f"argument {name} is filled in behind the call; leave it out"
            raise CallError(message)
        template = TOKEN if isinstance(strategy, IdempotencyKey) else strategy.template
        return {**arguments, name: template.replace(TOKEN, token)}
    assert isinstance(strategy, ReconcileRead)  # noqa: S101 -- the other hides its argument
    value = arguments.get(name)
    if not isinstance(value, str):
        message = f"argument {name} must be a text, in which a token goes along"
        raise CallError(message)
    # In one pass, so that a caller's text that holds the place of the token is left as it is.
    before, _, after = strategy.template.partition(VALUE)
    return {**arguments, name: before.replace(TOKEN, token) + value + after.replace(TOKEN, token)}


def hidden(strategy: Strategy | ReadOnly | None) -> str | None:
    """Name the argument that callers neither see nor give; None where there is none."""
    if isinstance(strategy, IdempotencyKey):
        return strategy.argument
    if isinstance(strategy, ReconcileRead) and VALUE not in strategy.template:
        return strategy.argument
    return None


def embedding(strategy: Strategy) -> list[str]:
    """Say how a strategy marks its calls; a call that was marked otherwise cannot be followed up by it."""
    if isinstance(strategy, IdempotencyKey):
        return ["key", strategy.argument]
    return ["token", strategy.argument, strategy.template] if isinstance(strategy, ReconcileRead) else []


def needed(strategy: Strategy | ReadOnly, name: str) -> dict[str, set[str]]:
    """Name the arguments that a strategy gives, by the tool that has to know them."""
    if isinstance(strategy, ReconcileRead):
        return {name: {strategy.argument}, strategy.read: set(strategy.arguments)}
    return {name: {strategy.argument} if isinstance(strategy, IdempotencyKey) else set()}


def reading(strategy: ReconcileRead, token: str) -> dict[str, Any]:
    """Return the arguments with which the token is looked for."""

    def filled(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(TOKEN, token)
        if isinstance(value, Mapping):
            return {name: filled(one) for name, one in value.items()}
        return [filled(one) for one in value] if isinstance(value, list | tuple) else value

    return {name: filled(value) for name, value in strategy.arguments.items()}


def check(strategy: object) -> None:
    """Refuse a strategy that could not work.

    Raises CallError.
    """
    if not isinstance(strategy, Strategy | ReadOnly):
        message = f"{strategy!r} is no strategy; write e.g. NeverResend()"
        raise CallError(message)
    if isinstance(strategy, ReconcileRead):
        if strategy.template.count(TOKEN) != 1 or strategy.template.count(VALUE) > 1:
            message = f"the template {strategy.template!r} needs {TOKEN} once, and {VALUE} at most once"
            raise CallError(message)
        if TOKEN not in json.dumps(reading(strategy, TOKEN)):
            message = f"no argument of {strategy.read} says {TOKEN}, so that reading could not look for it"
            raise CallError(message)
        if not strategy.late >= 0:
            message = f"late is a number of seconds, not {strategy.late}"
            raise CallError(message)


def rule_call(strategy: Strategy, ending: Ending, said: str, *, sole: bool) -> DeliveryRuling:
    """Say what a call is after an answer; `sole` says that no other attempt of it can have, or still get, an effect.

    A result ends it. An error ends it only where it is the sole attempt's and its tool's errors are final: of an
    earlier attempt that was never answered it says nothing.
    """
    if ending == "done":
        return DeliveryRuling(state="committed", final=True, reason="the tool answered")
    if sole and ending == "error" and strategy.errors_are_final:
        return DeliveryRuling(state="failed", final=True, reason=said)
    if isinstance(strategy, NeverResend):
        return DeliveryRuling(
            state="needs_review", final=ending == "error", reason=f"it may have had its effect: {said}"
        )
    return DeliveryRuling(state="uncertain", final=False, reason=said)
