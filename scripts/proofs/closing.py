"""The common end of every proof: final counts, and status 1 if a guarantee broke or too little was tried."""

import functools
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

import click

Numbers = dict[str, Any]
STRICT: Final = "demand what --quick demands, also where the size of the run was given by hand"


class Form(NamedTuple):
    """The options that all proofs have in common."""

    quick: bool
    strict: bool
    sabotage: bool
    as_json: bool

    def scale(self, full: int, *, by_hand: bool) -> int:
        """Return the required multiple of the quick form's minimum; 0 if the size was given explicitly."""
        if by_hand:
            return int(self.strict)
        return 1 if self.quick else full


def options(*, quick: str, sabotage: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of all proofs; the function receives them as one `form`."""

    def take(function: Callable[..., None]) -> Callable[..., None]:
        @click.option("--quick", is_flag=True, help=quick)
        @click.option("--strict", is_flag=True, help=STRICT)
        @click.option("--sabotage", is_flag=True, help=f"{sabotage}; the proof must fail")
        @click.option("--json", "as_json", is_flag=True, help="print the closing numbers as JSON")
        @functools.wraps(function)
        def called(*, quick: bool, strict: bool, sabotage: bool, as_json: bool, **more: Any) -> None:
            function(form=Form(quick, strict, sabotage, as_json), **more)

        return called

    return take


def too_little(seen: Mapping[str, int], least: Mapping[str, int], scale: int) -> list[str]:
    """Return the counts that are below `scale` times their minimum."""
    wanted = {name: number * scale for name, number in least.items()}
    return [
        f"{name} {seen.get(name, 0)} instead of at least {number}"
        for name, number in wanted.items()
        if seen.get(name, 0) < number
    ]


def settle(numbers: Numbers, form: Form, show: Callable[[Numbers], None], *, good: bool) -> bool:
    """Print the final counts; return whether the proof holds and tried enough."""
    if form.as_json:
        print(json.dumps(numbers), flush=True)
    else:
        show(numbers)
    if numbers["too_little"]:
        print(f"too little was tried: {'; '.join(numbers['too_little'])}", file=sys.stderr, flush=True)
    return good and not numbers["too_little"]


def finish(numbers: Numbers, form: Form, show: Callable[[Numbers], None], *, good: bool) -> NoReturn:
    """Print the final counts and exit."""
    sys.exit(0 if settle(numbers, form, show, good=good) else 1)
