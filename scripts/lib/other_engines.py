"""Adapters to other detectors, each used only if it is installed already; nothing is installed or downloaded."""

import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_TIMEOUT_SECONDS: Final = 600


def find_with_kingfisher(texts: Mapping[str, str]) -> set[str]:
    """Return the ids of the texts in which Kingfisher finds a secret; it validates nothing, so nothing is sent."""
    from kingfisher_sdk import Rules, Scanner  # noqa: PLC0415 -- optional

    scanner = Scanner(Rules(), base64=False, redact=True)
    return {name for name, text in texts.items() if scanner.scan(text.encode(errors="replace"))}


def find_with_detect_secrets(texts: Mapping[str, str]) -> set[str]:
    """Return the ids of the texts in which detect-secrets finds a secret, line by line with its default plugins."""
    from detect_secrets.core.scan import scan_line  # noqa: PLC0415 -- optional
    from detect_secrets.settings import default_settings, get_settings  # noqa: PLC0415 -- optional

    with default_settings():
        # The only filter that sends a value to its vendor.
        get_settings().disable_filters("detect_secrets.filters.common.is_ignored_due_to_verification_policies")
        return {name for name, text in texts.items() if any(any(scan_line(line)) for line in text.splitlines())}


def find_with_gitleaks(texts: Mapping[str, str]) -> set[str]:
    """Return the ids of the texts in which gitleaks finds a secret; each text is a file."""
    with tempfile.TemporaryDirectory() as folder:
        names = _write_files(texts, Path(folder) / "texts")
        report = Path(folder) / "report.json"
        _run(
            "gitleaks",
            "dir",
            "--no-banner",
            "--report-format",
            "json",
            "--report-path",
            str(report),
            str(report.parent / "texts"),
        )
        return {names[Path(found["File"]).name] for found in json.loads(report.read_text() or "[]") or []}


def find_with_trufflehog(texts: Mapping[str, str]) -> set[str]:
    """Return the ids of the texts in which trufflehog finds a secret; it verifies nothing, so nothing is sent."""
    with tempfile.TemporaryDirectory() as folder:
        names = _write_files(texts, Path(folder))
        printed = _run("trufflehog", "filesystem", folder, "--json", "--no-verification", "--no-update")
        return {names[Path(_file_of(found)).name] for found in _objects(printed) if "SourceMetadata" in found}


def _file_of(found: Mapping[str, Any]) -> str:
    return str(found["SourceMetadata"]["Data"]["Filesystem"]["file"])


def _objects(printed: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects among printed lines."""
    for line in printed.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def _write_files(texts: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Write each text to a file of its own; return the ids by file name."""
    folder.mkdir(exist_ok=True)
    names = {f"{number}.txt": name for number, name in enumerate(texts)}
    for file, name in names.items():
        (folder / file).write_text(texts[name], encoding="utf-8")
    return names


def _run(program: str, *arguments: str) -> str:
    path = shutil.which(program) or program
    done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)  # noqa: S603 -- an installed scanner
    return done.stdout


def list_engines() -> dict[str, Callable[[Mapping[str, str]], set[str]]]:
    """Return the engines that are installed, by name."""
    programs = {"gitleaks": find_with_gitleaks, "trufflehog": find_with_trufflehog}
    modules = {
        "kingfisher": ("kingfisher_sdk", find_with_kingfisher),
        "detect-secrets": ("detect_secrets", find_with_detect_secrets),
    }
    packages = {name: find for name, (module, find) in modules.items() if importlib.util.find_spec(module)}
    installed = {program: find for program, find in programs.items() if shutil.which(program)}
    return packages | installed
