"""Whether a PostgreSQL server could lose a commit after it acknowledged it."""

from collections.abc import Mapping
from typing import Final

_SYNCHRONOUS: Final = frozenset({"on", "remote_apply"})
"""Values of synchronous_commit with which a commit waits until a standby has it on its disk.

Source: PostgreSQL's documentation, "Write Ahead Log", synchronous_commit. With remote_write a standby that loses its
power loses the commit too.
"""


def find_hazards(settings: Mapping[str, str]) -> list[str]:
    """Return what is wrong with a server's settings, by name; a setting that is not given counts as wrong."""
    hazards = []
    if not settings.get("synchronous_standby_names", "").strip():
        hazards.append("synchronous_standby_names is empty: a commit waits for no standby")
    if (commit := settings.get("synchronous_commit", "unknown")) not in _SYNCHRONOUS:
        hazards.append(f"synchronous_commit is {commit}: a commit does not wait for the disk of a standby")
    for name, effect in (
        ("fsync", "a power cut loses commits"),
        ("full_page_writes", "a power cut while a page is written damages it"),
    ):
        if (value := settings.get(name, "unknown")) != "on":
            hazards.append(f"{name} is {value}: {effect}")
    return hazards
