"""Parameters of a query of the API: their names, and numbers."""

from typing import Any, Final

from litestar.datastructures import MultiDict

from antechamber.core.admission.canonical import MAX_REASONS
from antechamber.core.contract import Reason
from antechamber.core.errors import RequestRefusedError

_MAX_DIGITS: Final = 4
_REPEATABLE: Final = "scope"
_MAX_NAME: Final = 80
"""Characters of an unknown name that a refusal repeats."""


def check_names(query: MultiDict[Any], *known: str) -> None:
    """Refuse unknown parameters, and known ones that are given twice.

    A filter or a question with a typing error must not select everything, and no answer leaves out what a second value
    asks for.

    Raises RequestRefusedError (`malformed`).
    """
    listed = "; known are " + ", ".join(known) if known else ""
    unknown = [name for name in dict.fromkeys(query) if name not in known][:MAX_REASONS]
    messages = [("/", f"{name[:_MAX_NAME]} is no parameter of this route{listed}") for name in unknown]
    messages += [
        (f"/{name}", f"{name} may be given once")
        for name in known
        if name != _REPEATABLE and len(query.getall(name, [])) > 1
    ]
    if messages:
        reasons = [Reason(code="malformed", message=message, pointer=pointer) for pointer, message in messages]
        raise RequestRefusedError(reasons)


def read_count(query: MultiDict[Any], name: str, default: int) -> int:
    """Return a parameter as a number of at most four digits; -1, which no limit allows, if it is something else."""
    text: str = query.get(name, str(default))
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else -1
