"""The audit package: one archive that verifies itself with one command and nothing but Python."""

import shlex
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import httpx

from antechamber.core.log.package_text import COMMAND, FOLDER
from support import Service, antechamber, event, where


def package(service: Service) -> httpx.Response:
    """Download a package as an auditor."""
    answer = service.client.get("/v1/audit/package", headers=service.bearer("auditing", "auditor"))
    assert answer.status_code == 200, answer.text
    return answer


def unpack(archive: bytes, folder: Path) -> Path:
    """Unpack a package and return its folder."""
    with zipfile.ZipFile(BytesIO(archive)) as opened:
        assert opened.testzip() is None
        opened.extractall(folder)
    return folder / FOLDER


def run_command(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command of the README in the folder, without any package or variable of this environment."""
    text = (folder / "README.txt").read_text()
    assert f"    {COMMAND}\n" in text
    program, *rest = shlex.split(COMMAND)
    assert program == "python3"
    python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"
    command = [str(python), "-I", "-S", *rest]
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 -- our own program


def test_one_command_verifies_a_package_and_notices_one_byte(service: Service, tmp_path: Path) -> None:
    """With Python alone, the command of the README verifies the package, and finds one altered byte of the export."""
    proposal = service.submit(event("Texts stay out of it.")).json()["proposal_id"]
    assert service.sign_in("bob").decide(proposal, "approve").status_code == 303
    answer = package(service)
    assert answer.headers["content-type"] == "application/zip"
    assert answer.headers["content-disposition"] == 'attachment; filename="antechamber-audit.zip"'
    folder = unpack(answer.content, tmp_path)
    names = ["README.txt", "checkpoint.txt", "key.txt", "log.jsonl", "verify_export.py"]
    assert sorted(file.name for file in folder.iterdir()) == names
    assert "Texts stay out of it." not in (folder / "log.jsonl").read_text()
    verified = run_command(folder)
    assert (verified.returncode, verified.stderr) == (0, "")
    assert verified.stdout.startswith("Verified: ")
    log = bytearray((folder / "log.jsonl").read_bytes())
    log[len(log) // 2] ^= 1
    (folder / "log.jsonl").write_bytes(log)
    altered = run_command(folder)
    assert (altered.returncode, altered.stdout) == (1, "")
    assert altered.stderr.startswith("NOT verified: ")


def test_another_key_or_checkpoint_does_not_verify(service: Service, tmp_path: Path) -> None:
    """A package whose key or signature was exchanged is not verified."""
    service.submit(event())
    folder = unpack(package(service).content, tmp_path)
    checkpoint = (folder / "checkpoint.txt").read_text()
    last = checkpoint.rstrip("\n")
    (folder / "checkpoint.txt").write_text(last[:-8] + ("A" if last[-8] != "A" else "B") + last[-7:] + "\n")
    wrong = run_command(folder)
    assert (wrong.returncode, "the signature of the checkpoint is wrong" in wrong.stderr) == (1, True)
    (folder / "checkpoint.txt").write_text(checkpoint)
    (folder / "key.txt").write_bytes(b"\xff\n")
    assert run_command(folder).returncode == 2


def test_two_packages_of_the_same_log_are_equal(service: Service) -> None:
    """A download of the same state is the same archive, byte by byte, and each is recorded as an export of the log."""
    service.submit(event())
    first, second = package(service), package(service)
    assert first.content == second.content
    exports = service.sign_in("ava", "auditor").browser.get("/audit").text
    assert exports.count(">log <span") == 2


def test_a_package_is_for_auditors_of_all_scopes(service: Service) -> None:
    """A token for some scopes gets no package, as it gets no export of the log, and no parameter is ignored."""
    limited = service.bearer("limited", "auditor", ("project:apollo",))
    refused = service.client.get("/v1/audit/package", headers=limited)
    assert (refused.status_code, refused.json()["reasons"][0]["code"]) == (403, "scope-not-granted")
    wrong = service.client.get("/v1/audit/package?format=csv", headers=service.bearer("auditing", "auditor"))
    assert wrong.status_code == 400


def test_the_command_line_writes_a_package(service: Service, tmp_path: Path) -> None:
    """`antechamber export package` writes the same files, says how much it wrote, and takes no filter."""
    service.submit(event())
    file = tmp_path / "audit.zip"
    written = antechamber("export", "package", "--output", str(file), *where(service.location))
    assert (written.returncode, written.stderr) == (0, f"Wrote {file.stat().st_size:,} bytes to {file}.\n")
    folder = unpack(file.read_bytes(), tmp_path)
    assert run_command(folder).returncode == 0
    filtered = antechamber("export", "package", "--since", "2026-01-01", *where(service.location))
    assert filtered.returncode == 2
