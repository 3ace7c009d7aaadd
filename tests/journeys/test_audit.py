"""The auditor's journey: sign in, filter, export, and verify offline with only four files."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

from journey import EITHER_WAY, Journey

pytestmark = EITHER_WAY


def decide(journey: Journey) -> None:
    """Make two decisions of two kinds."""
    journey.submit(content="Run the migration before the deploy.")
    journey.submit(content="The cache may be emptied at any time.")
    page = journey.sign_in("bob")
    page.get_by_role("link", name="Run the migration").click()
    page.get_by_role("button", name="Approve").click()
    page.goto(f"{journey.url}/review")
    page.get_by_role("link", name="The cache may").click()
    page.get_by_role("button", name="Reject: wrong").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected")


def take(page: Page, role: str, name: str, folder: Path, *, exact: bool = False) -> Path:
    """Press a download button and save the file under its own name."""
    with page.expect_download() as waiting:
        page.get_by_role(role, name=name, exact=exact).click()  # type: ignore[arg-type]
    target = folder / waiting.value.suggested_filename
    waiting.value.save_as(target)
    return target


def verify(folder: Path, export: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Verify in a folder of four files, with an isolated interpreter that cannot import the project."""
    key = (folder / "key.txt").read_text()
    command = [
        sys.executable,
        "-I",
        "verify_export.py",
        export,
        "--checkpoint",
        "checkpoint.txt",
        "--key",
        key,
        *options,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 -- what an auditor runs


def test_an_auditor_proves_offline_that_nothing_was_altered(journey: Journey, tmp_path: Path) -> None:
    """From the sign-in to one altered byte that is named, in another folder and without the service."""
    decide(journey)
    page = journey.sign_in("ida", role="auditor")
    expect(page.get_by_text("Signed through entry")).to_be_visible()
    page.locator("select[name=decision]").select_option("reject")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("row")).to_have_count(2)
    away = tmp_path / "away"
    records = take(page, "button", "JSONL, to verify", away)
    page.reload()
    expect(page.get_by_role("region", name="Exports").get_by_text("ida")).to_be_visible()
    log = take(page, "button", "Export the log", away)
    take(page, "link", "Checkpoint", away, exact=True)
    take(page, "link", "Verifier key", away)
    take(page, "link", "Verifier", away, exact=True)
    assert sorted(file.name for file in away.iterdir()) == [
        "checkpoint.txt", "key.txt", "log.jsonl", "review-records.jsonl", "verify_export.py",
    ]  # fmt: skip
    for file, options in ((log, ()), (records, ("--records",))):
        done = verify(away, file.name, *options)
        assert (done.returncode, done.stdout.startswith("Verified: ")) == (0, True), done.stderr
    told = [json.loads(line) for line in log.read_text().splitlines()]
    location = next(line["sequence"] for line in told if line["leaf"]["action"] == "reject")
    raw = bytearray(log.read_bytes())
    at = raw.index(b'"wrong"') + 1
    raw[at] ^= 1
    log.write_bytes(raw)
    done = verify(away, log.name)
    assert done.returncode == 1
    assert f"leaf {location} " in done.stderr
    with zipfile.ZipFile(take(page, "button", "Download the package", away)) as archive:
        archive.extractall(away)
    done = verify(away / "antechamber-audit", "log.jsonl")
    assert done.returncode == 0, done.stderr
    follow(page)


def follow(page: Page) -> None:
    """A record links to its leaves in the log, and answers can be listed by disposition."""
    page.goto(page.url.partition("?")[0])
    page.get_by_role("row", name="approve").get_by_title("All that the log has of it").click()
    expect(page.get_by_role("heading", name="In the log")).to_be_visible()
    expect(page.get_by_role("listitem")).to_have_count(3)
    page.get_by_role("link", name="how it is proven").first.click()
    expect(page.get_by_role("img", name="hashes from this entry to the signed root")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Audit").first.click()
    page.get_by_label("Disposition").select_option("accepted-for-review")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_role("row").filter(has_text="accepted-for-review")).to_have_count(2)
    expect(page.get_by_text("Submissions and their answers that match these filters")).to_be_visible()
