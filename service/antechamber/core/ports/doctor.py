"""The store's interface for the `doctor` command."""

from collections.abc import Iterator
from typing import Protocol


class DoctorRows(Protocol):
    """The check of a store's own guarantees."""

    def check(self) -> Iterator[str]:
        """Yield a finding for every violation of the store's own invariants."""

    def durability_settings(self) -> dict[str, str]:
        """Return the settings on which it depends whether PostgreSQL loses an acknowledged commit, by name."""
