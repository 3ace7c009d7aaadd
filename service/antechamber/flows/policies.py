"""Keeping a policy in force: edited files come into force as a whole, a bad edit leaves the old ones and an alarm."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from blake3 import blake3
from msgspec import Struct

from antechamber.config import read_policy
from antechamber.core.errors import PolicyError
from antechamber.core.policy import Policy

_log: Final = logging.getLogger(__name__)


class InForce(Struct, frozen=True):
    """A policy with its digest, taken together so that no answer mixes two."""

    policy: Policy
    digest: str
    off: frozenset[str]
    """Rules of privacy that stay silent."""


def _in_force(policy: Policy) -> InForce:
    return InForce(policy, policy.digest(), frozenset(policy.privacy.off))


class PolicyKeeper:
    """Holds the policy in force and looks for edits when told to."""

    def __init__(self, folder: Path, read: Callable[[Path], Policy] = read_policy) -> None:
        """Read the folder.

        Raises PolicyError where there is no good policy to start with.
        """
        self._folder = folder
        self._read = read
        self._seen = self._fingerprint()
        policy = read(folder)
        self.current = _in_force(policy)
        self.alarm: str | None = None
        """Why the files as they stand are not in force; None while they are."""

    def _fingerprint(self) -> bytes:
        hasher = blake3()
        for file in sorted(self._folder.glob("*.toml")):
            try:
                data = file.read_bytes()
            except OSError:
                data = b""
            hasher.update(f"{file.name}:{len(data)}:".encode() + data)
        return hasher.digest()

    def refresh(self) -> None:
        """Bring edited files into force, or keep the old policy and raise the alarm."""
        seen = self._fingerprint()
        if seen == self._seen:
            return
        try:
            policy = self._read(self._folder)
        except PolicyError as error:
            self.alarm = str(error)
            _log.error("policy not reloaded, the old one stays in force: %s", error)
        else:
            self.current = _in_force(policy)
            self.alarm = None
            _log.warning("policy %s is in force", self.current.digest)
        self._seen = seen
