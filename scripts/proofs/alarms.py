"""Sabotage the other proofs: each must notice what is lost, doubled or altered on purpose, and fail."""

from typing import Final

from proofs.suite import Part, brief

__all__ = ["ENGINES", "brief", "command"]
ENGINES: Final = ("both",)
command = Part("alarms", 10, "sabotage nothing, so that no proof notices anything").command(
    __doc__, "sabotage the other proofs, which must notice it"
)
