"""Locations of the files shipped with the package, and how its extras are installed."""

from pathlib import Path
from typing import Literal

_PACKAGE = Path(__file__).resolve().parent


def folder(name: Literal["templates", "policies"]) -> Path:
    """Return a shipped folder: inside the installed package, else the top-level one of the checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent.parent / name


def document(path: str) -> Path:
    """Return a shipped document by its path in a checkout.

    In the installed package a document of a package folder, of `templates` or of `policies` is in that folder, and
    every other one is below `documents`.
    """
    inside = (_PACKAGE / path.removeprefix("service/antechamber/"), _PACKAGE / "documents" / path)
    return next((file for file in inside if file.is_file()), _PACKAGE.parent.parent / path)


def verifier() -> Path:
    """Return the program that verifies exports, which imports nothing of this package."""
    inside = _PACKAGE / "verify_export.py"
    return inside if inside.is_file() else _PACKAGE.parent.parent / "scripts" / "verify_export.py"


def how_to_install(extra: Literal["mcp", "postgres", "tracing"]) -> str:
    """Return how to install an optional extra; this package is not in any package index yet."""
    return (
        f"Install the extra {extra}: in a checkout with scripts/setup {extra}, from a wheel with "
        f"pip install 'PATH-TO-WHEEL[{extra}]'."
    )
