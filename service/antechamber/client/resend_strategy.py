"""Strategies for calls of other services' tools: when a call may be repeated, and what an answer means.

MCP has no idempotency key for a call (revision 2026-07-28 removed resumption: a broken stream loses the request). So
what makes a retry safe is declared for each tool, and a call that cannot be verified is not repeated.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from blake3 import blake3
from msgspec import Struct

from antechamber.core.delivery_rules import DeliveryRuling
from antechamber.core.errors import AntechamberError

TOKEN: Final = "{token}"  # noqa: S105 -- a placeholder
"""Placeholder of the correlation token in a template or an argument."""
VALUE: Final = "{value}"
"""Placeholder of the caller's own text in a template."""


class CallError(AntechamberError):
    """The call cannot be made as requested; nothing was sent."""


class IdempotencyKey(Struct, frozen=True, kw_only=True):
    """The tool has one effect per key: the call is repeated with the same key and arguments until an answer arrives.

    At most one effect; exactly one if the call is `committed`.
    """

    argument: str
    """Argument that receives the key; the caller neither sees nor sets it."""
    errors_are_final: bool = True
    """Whether an error that the tool reports proves that there was no effect; False if it may hide one."""


class ReconcileRead(Struct, frozen=True, kw_only=True):
    """The effect carries a token that a tool can find: after an unclear answer the guard reads.

    It repeats the call only if the effect does not exist and the earlier request can no longer arrive. At most one
    effect, as long as `late` is true; exactly one if the call is `committed`.
    """

    argument: str
    """Argument that carries the token."""
    template: str = TOKEN
    """Form of that argument: `{token}` alone, or with the caller's own `{value}`."""
    read: str
    """Tool that reads."""
    arguments: Mapping[str, Any]
    """Its arguments; `{token}` is replaced in texts."""
    found: Callable[[Any, str], bool]
    """Returns whether the result of the read shows an effect with this token; see `token_in`."""
    late: float = 60.0
    """Seconds after which a request whose answer was lost can no longer take effect, and an effect is readable."""
    errors_are_final: bool = True
    """Whether an error that the tool reports proves that there was no effect; False if it may hide one."""


class ResendTolerant(Struct, frozen=True, kw_only=True):
    """Repeating the call leaves the same state: it is repeated until an answer arrives.

    At least one effect if the call is `committed`.
    """

    errors_are_final: bool = True
    """Whether an error that the tool reports proves that there was no effect; False if it may hide one."""


class NeverResend(Struct, frozen=True, kw_only=True):
    """Nothing can be verified: a person reviews an unclear answer (`needs_review`). At most one effect."""

    errors_are_final: bool = True
    """Whether an error that the tool reports proves that there was no effect; False if it may hide one."""


class ReadOnly(Struct, frozen=True):
    """The tool changes nothing: it is called directly, and nothing is recorded."""


Strategy = IdempotencyKey | ReconcileRead | ResendTolerant | NeverResend
UNDECLARED: Final = NeverResend(errors_are_final=False)
"""Strategy for tools without a declaration."""
Ending = Literal["done", "error", "unclear", "silent"]
"""`done`: a result. `error`: a result that reports the tool's failure. `unclear`: an answer that does not show whether
there was an effect, such as every JSON-RPC error (the SDK's servers also send -32602 for failures inside a tool).
`silent`: no answer."""


def canonical(arguments: Mapping[str, Any]) -> bytes:
    """Encode arguments so that equal ones give equal bytes.

    Raises CallError if they are not JSON.
    """
    try:
        text = json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"the arguments are no JSON: {error}"
        raise CallError(message) from None


def fingerprint(arguments: Mapping[str, Any], operation: str | None) -> bytes:
    """Return the fingerprint that finds the same call again: of the name its caller gave it, else of its arguments.

    Raises CallError if they are not JSON.
    """
    subject = {"arguments": arguments} if operation is None else {"operation": operation}
    return blake3(canonical(subject)).digest()


def embed(strategy: Strategy, arguments: Mapping[str, Any], token: str) -> dict[str, Any]:
    """Return the arguments with the token embedded as the strategy requires.

    Raises CallError if the caller sets the hidden argument, or gives no text although the template needs one.
    """
    if not isinstance(strategy, IdempotencyKey | ReconcileRead):
        return dict(arguments)
    name = strategy.argument
    if hidden_argument(strategy) is not None:
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
    # In one pass, so that a caller's text that contains the token's placeholder is left unchanged.
    before, _, after = strategy.template.partition(VALUE)
    return {**arguments, name: before.replace(TOKEN, token) + value + after.replace(TOKEN, token)}


def hidden_argument(strategy: Strategy | ReadOnly | None) -> str | None:
    """Return the argument that callers neither see nor set; None if there is none."""
    if isinstance(strategy, IdempotencyKey):
        return strategy.argument
    if isinstance(strategy, ReconcileRead) and VALUE not in strategy.template:
        return strategy.argument
    return None


def describe_embedding(strategy: Strategy) -> list[str]:
    """Return how a strategy embeds its token; it cannot follow up a call with another embedding."""
    if isinstance(strategy, IdempotencyKey):
        return ["key", strategy.argument]
    return ["token", strategy.argument, strategy.template] if isinstance(strategy, ReconcileRead) else []


def required_arguments(strategy: Strategy | ReadOnly, name: str) -> dict[str, set[str]]:
    """Return the arguments that a strategy sets, by the tool that must have them."""
    if isinstance(strategy, ReconcileRead):
        return {name: {strategy.argument}, strategy.read: set(strategy.arguments)}
    return {name: {strategy.argument} if isinstance(strategy, IdempotencyKey) else set()}


def read_arguments(strategy: ReconcileRead, token: str) -> dict[str, Any]:
    """Return the arguments of the read that looks for the token."""

    def fill(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(TOKEN, token)
        if isinstance(value, Mapping):
            return {name: fill(member) for name, member in value.items()}
        return [fill(member) for member in value] if isinstance(value, list | tuple) else value

    return {name: fill(value) for name, value in strategy.arguments.items()}


def check(strategy: object) -> None:
    """Raise CallError if a strategy could not work."""
    if not isinstance(strategy, Strategy | ReadOnly):
        message = f"{strategy!r} is no strategy; write e.g. NeverResend()"
        raise CallError(message)
    if isinstance(strategy, ReconcileRead):
        if strategy.template.count(TOKEN) != 1 or strategy.template.count(VALUE) > 1:
            message = f"the template {strategy.template!r} needs {TOKEN} once, and {VALUE} at most once"
            raise CallError(message)
        if TOKEN not in json.dumps(read_arguments(strategy, TOKEN)):
            message = f"no argument of {strategy.read} says {TOKEN}, so that reading could not look for it"
            raise CallError(message)
        if not strategy.late >= 0:
            message = f"late is a number of seconds, not {strategy.late}"
            raise CallError(message)


def rule_call(strategy: Strategy, ending: Ending, reason: str, *, sole: bool) -> DeliveryRuling:
    """Return the state of a call after an answer; `sole` means that no other attempt can have, or still get, an effect.

    A result ends the call. An error ends it only if the attempt is the sole one and the tool's errors are final: it
    proves nothing about an earlier attempt that was never answered.
    """
    if ending == "done":
        return DeliveryRuling(state="committed", final=True, reason="the tool answered")
    if sole and ending == "error" and strategy.errors_are_final:
        return DeliveryRuling(state="failed", final=True, reason=reason)
    if isinstance(strategy, NeverResend):
        return DeliveryRuling(
            state="needs_review", final=ending == "error", reason=f"it may have had its effect: {reason}"
        )
    return DeliveryRuling(state="uncertain", final=False, reason=reason)
