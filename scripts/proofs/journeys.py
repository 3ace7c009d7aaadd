"""Use the desk in a real Chromium: each page and each key, with scripts and without, in each color scheme and size."""

from typing import Final

from proofs.suite import Part, brief

__all__ = ["ENGINES", "brief", "command"]
ENGINES: Final = ("both",)
command = Part("journeys", 90, "leave the scripts of the desk out").command(__doc__, "use the desk in a real browser")
