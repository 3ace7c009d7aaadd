"""Where the files are that come with the package: templates, policies, and the verifier."""

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def folder(name: Literal["templates", "policies"]) -> Path:
    """Return a shipped folder: inside the installed package, else the top-level one of the checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent.parent / name


def verifier() -> Path:
    """Return the program that verifies exports and imports nothing of ours."""
    inside = _PACKAGE / "verify_export.py"
    return inside if inside.is_file() else _PACKAGE.parent.parent / "scripts" / "verify_export.py"
