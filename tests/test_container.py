"""The container file and the compose file: what they copy, set and start exists, and starts as they say."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import click
import yaml

from antechamber.cli import main
from antechamber.cli.service import serve
from support import HANG_SECONDS, free_port, serving, write_policies

ROOT: Final = Path(__file__).resolve().parent.parent
DEPLOY: Final = ROOT / "scripts" / "deploy"


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the container file, each with its text."""
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    return [
        (word, text) for line in lines if line and not line.startswith("#") for word, _, text in [line.partition(" ")]
    ]


def texts(word: str) -> list[str]:
    """Return the texts of all instructions of one kind."""
    return [text for name, text in instructions() if name == word]


def compose() -> dict[str, Any]:
    """Return the compose file."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    return found


def variables() -> dict[str, str]:
    """Return the environment of the image."""
    return dict(pair.split("=", 1) for text in texts("ENV") for pair in shlex.split(text))


def known_variables() -> set[str]:
    """Return every variable that an option of `serve` reads."""
    named = [parameter.envvar for parameter in serve.params if isinstance(parameter, click.Option)]
    return {name for name in named if isinstance(name, str)}


def test_the_image_is_made_of_files_that_exist() -> None:
    """Locks are in the checkout, the wheel is what a release makes, and each step names what an earlier one made."""
    sources = [word for text in texts("COPY") if "--from" not in text for word in text.split()[:-1]]
    assert [name for name in sources if not list(ROOT.glob(name)) and not name.startswith("dist/")] == []
    assert "dist/*.whl" in sources
    [install, wheel] = [text for text in texts("RUN") if "pip install" in text]
    assert "--require-hashes" in install
    assert "--no-deps" in wheel


def test_the_image_runs_as_a_user_without_rights_on_its_own_folder() -> None:
    """It is not root, its folder is its own, and its variables are those of options."""
    [user] = texts("USER")
    number = user.partition(":")[0]
    assert number.isdigit()
    assert int(number) > 0
    assert any(
        f"--owner {number} " in text and f"--mode 0700 {variables()['ANTECHAMBER_DATA']}" in text
        for text in texts("RUN")
    )
    assert texts("VOLUME") == [variables()["ANTECHAMBER_DATA"]]
    assert set(variables()) - {"PATH"} <= known_variables()


def test_the_image_starts_a_service_that_its_health_check_finds(tmp_path: Path) -> None:
    """Entry point and arguments start the service; the health check fails once that has ended."""
    [entry], [arguments], [check] = texts("ENTRYPOINT"), texts("CMD"), texts("HEALTHCHECK")
    assert [*json.loads(entry), *json.loads(arguments)] == ["antechamber", "serve"]
    port = free_port()
    [_, code] = re.findall(r'"((?:[^"\\]|\\.)*)"', check.partition("CMD ")[2])[1:]
    assert code.count(":8080/") == 1
    probe = [sys.executable, "-c", code.replace(":8080/", f":{port}/")]
    with serving(tmp_path / "data", write_policies(tmp_path / "policies"), port):
        subprocess.run(probe, check=True, timeout=HANG_SECONDS)  # noqa: S603 -- the command under test
    assert subprocess.run(probe, check=False, timeout=HANG_SECONDS, capture_output=True).returncode != 0  # noqa: S603


def test_the_compose_file_starts_verbs_with_variables_that_exist() -> None:
    """Each container of ours calls a verb and sets variables of options; only this host reaches the service."""
    services = compose()["services"]
    ours = {name: one for name, one in services.items() if one["image"] == "antechamber"}
    assert {name: one["command"] for name, one in ours.items()} == {"migrate": ["migrate"], "service": ["serve"]}
    assert all(one["command"][0] in main.commands for one in ours.values())
    for one in ours.values():
        assert set(one["environment"]) <= known_variables()
        assert one["read_only"]
        assert one["cap_drop"] == ["ALL"]
    assert ours["service"]["ports"] == ["127.0.0.1:8080:8080"]
    assert "ports" not in services["database"]
    wanted = set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yml").read_text()))
    named = set(re.findall(r"^#   (\w+)=", (DEPLOY / "compose.yml").read_text(), re.MULTILINE))
    assert wanted == named


def test_the_image_can_back_up_the_database_of_the_compose_file() -> None:
    """It has the client programs of PostgreSQL, at least as new as the server, and the command that is shown exists."""
    [client] = re.findall(r"postgresql-client-(\d+)", " ".join(texts("RUN")))
    server = compose()["services"]["database"]["image"].removeprefix("postgres:")
    assert int(client) >= int(server)
    # The Debian release that has these client programs.
    assert {text.split()[0] for text in texts("FROM")} == {"python:3.11-slim-trixie"}
    [shown] = re.findall(r"^#   .* service (backup create \S+)", (DEPLOY / "compose.yml").read_text(), re.MULTILINE)
    group = main.commands[shown.split()[0]]
    assert isinstance(group, click.Group)
    assert shown.split()[1] in group.commands


def test_the_database_of_the_compose_file_loses_no_commit() -> None:
    """Its settings are those that the guarantees need, and the service starts once the schema is made."""
    services = compose()["services"]
    command = services["database"]["command"]
    assert {"fsync=on", "synchronous_commit=on", "full_page_writes=on"} <= set(command)
    assert services["service"]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert services["migrate"]["depends_on"] == {"database": {"condition": "service_healthy"}}
