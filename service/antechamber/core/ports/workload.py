"""What flows need to check workload tokens: a verifier of signatures and a way to fetch keys."""

from collections.abc import Callable
from typing import Any

from antechamber.core.access.workload import Key

Verify = Callable[[str, Key, str], dict[str, Any] | None]
"""Return the claims of a token whose signature is that of a key with an algorithm, else None; times are not checked.

Raises UnavailableError if signatures cannot be verified here.
"""

Fetch = Callable[..., bytes]
"""Return what an address answers, called with the URL and `allow_private`.

Raises FetchError.
"""
