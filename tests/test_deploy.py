"""The alert rules and the dashboard name only what the service really exposes."""

import configparser
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from antechamber.app.backups import create_backup
from antechamber.cli.service import serve
from antechamber.core.metrics.definitions import METRICS
from support import Service, event, run_retention, running, write_policies

DEPLOY: Final = Path(__file__).parent.parent / "scripts" / "deploy"
RECORDED: Final = {
    "antechamber:duplicate_rate:1h": {"job", "producer"},
    "antechamber:writes_per_task:1h": {"job", "producer_kind"},
}
"""Series that the rules record, and their labels."""
OF_PROMETHEUS: Final = {"job", "instance", "le"}
_NAME: Final = re.compile(r"antechamber[_:][a-z0-9_:]+")


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The samples of a running service after some work, each with the names of its labels."""
    place = tmp_path_factory.mktemp("deploy")
    policies = write_policies(place / "policies", scopes="[defaults]\nkeep_rejected_days = 30\n")
    with running(place / "data", policies) as service:
        _work(service)
        text = service.client.get("/metrics", headers=service.bearer("prometheus", "auditor")).text
    found: dict[str, set[str]] = {}
    for family in parse(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def _work(service: Service) -> None:
    for _ in range(2):
        service.submit(event(idempotency_key="twice"))
    service.submit(event("The token is gh" + "p_" + "a1B2c3D4e5F6" * 3))
    run_retention(service)
    backup = service.data.parent / "backup.tar"
    create_backup(service.location, backup, keys=True, passphrase=None, keep=None, progress=lambda _done, _total: None)


def rules() -> list[dict[str, str]]:
    """Return name and expression of every rule, without a YAML parser: the file keeps to a simple form."""
    text = (DEPLOY / "alerts.yml").read_text()
    found = re.findall(r"- (?:alert|record): (\S+)\n +expr: (?:>\n((?: {10,}.*\n)+)|(.*)\n)", text)
    assert len(found) == text.count("- alert:") + text.count("- record:")
    return [{"name": name, "expr": " ".join((folded or plain).split())} for name, folded, plain in found]


DASHBOARDS: Final = ("grafana.json", "grafana-cells.json")


def panels(dashboard: str = "grafana.json") -> list[dict[str, Any]]:
    """Return the panels of a dashboard."""
    found: list[dict[str, Any]] = json.loads((DEPLOY / dashboard).read_text())["panels"]
    return found


def expressions(*dashboards: str) -> Iterator[tuple[str, str]]:
    """Yield where an expression is, and the expression: of the rules and of dashboards."""
    for rule in rules():
        yield rule["name"], rule["expr"]
    for panel in (panel for dashboard in dashboards for panel in panels(dashboard)):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def labels_of(expression: str) -> set[str]:
    """Return every label that an expression selects or groups by."""
    selected = {name for braces in re.findall(r"{([^}]*)}", expression) for name in re.findall(r"(\w+) *=", braces)}
    grouped = {name.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for name in group.split(",")}
    return selected | grouped


def test_every_series_is_exposed_with_its_labels(exposed: dict[str, set[str]]) -> None:
    """Each name in a rule or panel is a sample of the service or recorded by a rule, and so is each label."""
    known = exposed | RECORDED
    seen = set()
    for where, expression in expressions(*DASHBOARDS):
        names = _NAME.findall(expression)
        assert names, where
        for name in names:
            assert name in known, (where, name)
        labels = set.union(*(known[name] for name in names)) | OF_PROMETHEUS
        assert labels_of(expression) <= labels, (where, labels_of(expression) - labels)
        seen |= set(names)
    assert set(RECORDED) == {name for name in seen if ":" in name}


def test_every_metric_is_on_the_dashboard(exposed: dict[str, set[str]]) -> None:
    """An operator sees each metric on the dashboard, directly or through a recorded series."""
    shown = set(_NAME.findall(" ".join(expression for _, expression in expressions("grafana.json"))))
    missing = {re.sub("_(bucket|sum|count|created)$", "", name) for name in exposed} - {
        re.sub("_(bucket|sum|count)$", "", name) for name in shown
    }
    assert missing == set()


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    """Each alert has a severity, a summary and a remedy."""
    text = (DEPLOY / "alerts.yml").read_text()
    blocks = text.split("- alert:")[1:]
    assert len(blocks) >= 10
    for block in blocks:
        assert re.search("severity: (warning|critical)", block)
        assert "summary:" in block
        assert "remedy:" in block


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_a_dashboard_has_no_fixed_data_source(dashboard: str) -> None:
    """Each panel reads from the source that the viewer chooses, and each has its own place."""
    found = panels(dashboard)
    assert {panel["datasource"]["uid"] for panel in found} == {"${source}"}
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in found]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in found})


def test_every_metric_is_documented() -> None:
    """The chapter on metrics names each of them, and no other."""
    chapter = (
        (DEPLOY.parent.parent / "service" / "README.md").read_text().partition("## Metrics")[2].partition("\n## ")[0]
    )
    assert set(re.findall(r"`(antechamber_\w+)", chapter)) == set(METRICS)


def test_the_unit_starts_the_service_with_options_that_exist() -> None:
    """The unit calls a verb with options of the command line, in a folder that systemd makes for it alone."""
    unit = configparser.ConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign] -- systemd's names have capitals
    unit.read(DEPLOY / "antechamber.service", encoding="utf-8")
    service = unit["Service"]
    program, verb, *words = service["ExecStart"].split()
    assert (Path(program).name, verb) == ("antechamber", "serve")
    known = {option for parameter in serve.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known
    assert Path(words[words.index("--data") + 1]).parent.name == service["StateDirectory"]
    assert (service["DynamicUser"], service["UMask"], service["ProtectSystem"]) == ("yes", "0077", "strict")
