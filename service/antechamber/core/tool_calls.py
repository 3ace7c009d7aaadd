"""The id of a tool call as an MCP client sends it, and the idempotency key that follows from it.

MCP has no idempotency key for a call, but a client knows the id that the model's provider gave the call, and sends the
same id when it repeats the call. Such an id is unique in one session only, so it comes with an id of the session.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from blake3 import blake3

from antechamber.core.errors import refuse

NAMESPACE: Final = "antechamber/"
OPERATION: Final = f"{NAMESPACE}operation"
SESSION: Final = f"{NAMESPACE}session"
_FORMS: Final = {
    OPERATION: (re.compile(r"[!-~]{1,256}"), "1 to 256 visible ASCII characters, such as the id of the tool call"),
    SESSION: (re.compile(r"[A-Za-z0-9._~:-]{16,128}"), "a random id of 16 to 128 characters A-Z a-z 0-9 . _ ~ : -"),
}


def call_key(meta: Mapping[str, Any]) -> str | None:
    """Return the idempotency key of a call from its `_meta`; None if that has no member of ours.

    The same operation in the same session always has the same key, whatever the arguments are. Raises
    RequestRefusedError if one member comes without the other, has another form or is not known; no value is repeated.
    """
    own = {name: value for name, value in meta.items() if name.startswith(NAMESPACE)}
    if not own:
        return None
    if own.keys() - _FORMS.keys():
        raise refuse(
            "key-invalid", f"_meta has a member {NAMESPACE}… that is not known; there are {OPERATION} and {SESSION}"
        )
    for name, (form, expected) in _FORMS.items():
        value = own.get(name)
        if name not in own:
            raise refuse(
                "key-invalid", f'_meta["{OPERATION}"] and _meta["{SESSION}"] go together; send {name} too: {expected}'
            )
        if not isinstance(value, str) or not form.fullmatch(value):
            raise refuse("key-invalid", f'_meta["{name}"] must be {expected}')
    # As JSON, two different pairs never have the same text.
    return "call1-" + blake3(json.dumps([own[SESSION], own[OPERATION]]).encode()).hexdigest()[:32]
