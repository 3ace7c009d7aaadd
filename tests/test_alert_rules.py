"""Prometheus itself accepts metrics, rules and dashboard, and evaluates each alert (needs promtool)."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from support import HANG_SECONDS, Service, event, running
from test_deploy import DEPLOY, panels, rules

PROMTOOL: Final = shutil.which("promtool") or str(Path(sys.executable).parent / "promtool")


def promtool(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run promtool in the folder of the rules."""
    return subprocess.run(  # noqa: S603 -- a tool of Prometheus
        [PROMTOOL, *arguments],
        cwd=DEPLOY,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def test_each_alert_fires_beyond_its_limit_and_at_no_other_time() -> None:
    """A healthy service fires no alert; figures just beyond their limits fire all; and so does silence."""
    done = promtool("test", "rules", "alerts_test.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    tested = (DEPLOY / "alerts_test.yml").read_text()
    alerts = {rule["name"] for rule in rules() if ":" not in rule["name"]}
    assert alerts <= set(re.findall(r"Antechamber\w+", tested))


def test_the_test_of_the_rules_can_fail(tmp_path: Path) -> None:
    """With a higher limit the test of the rules fails, so it evaluates them."""
    for name in ("alerts.yml", "alerts_test.yml"):
        shutil.copy(DEPLOY / name, tmp_path / name)
    changed = (tmp_path / "alerts.yml").read_text().replace("duplicate_rate:1h > 0.05", "duplicate_rate:1h > 0.5")
    (tmp_path / "alerts.yml").write_text(changed)
    assert promtool("test", "rules", str(tmp_path / "alerts_test.yml")).returncode == 1


def test_rules_configuration_and_dashboard_are_valid(tmp_path: Path) -> None:
    """The rules and the configuration are valid, and so is each expression of the dashboard."""
    assert promtool("check", "rules", "alerts.yml").returncode == 0
    assert promtool("check", "config", "--syntax-only", "prometheus.yml").returncode == 0
    lines = ["groups:", "  - name: dashboard", "    rules:"]
    for number, target in enumerate(target for panel in panels() for target in panel["targets"]):
        expression = target["expr"].replace("$__rate_interval", "5m").replace('"', '\\"')
        lines += [f"      - record: panel:{number}", f'        expr: "{expression}"']
    file = tmp_path / "dashboard.yml"
    file.write_text("\n".join(lines) + "\n")
    done = promtool("check", "rules", str(file))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("busy", [False, True], ids=["at first", "after work"])
def test_the_exposition_follows_the_conventions(tmp_path: Path, policies: Path, *, busy: bool) -> None:
    """The tool finds nothing to criticize in the metrics of a running service."""
    with running(tmp_path / "data", policies) as service:
        text = _read(service, busy=busy)
    done = promtool("check", "metrics", stdin=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def _read(service: Service, *, busy: bool) -> str:
    if busy:
        service.submit(event())
        service.submit(event("The token is gh" + "p_" + "a1B2c3D4e5F6" * 3))
    return service.client.get("/metrics", headers=service.bearer("prometheus", "auditor")).text
