"""Where the folders are that come with the package: templates and policies."""

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def folder(name: Literal["templates", "policies"]) -> Path:
    """Return a shipped folder: inside the installed package, else the top-level one of the checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent.parent / name
