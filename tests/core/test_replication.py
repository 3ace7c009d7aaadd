"""Which settings of a PostgreSQL server could lose an acknowledged commit."""

import pytest

from antechamber.core.replication import find_hazards

SAFE = {
    "synchronous_standby_names": "node2",
    "synchronous_commit": "on",
    "fsync": "on",
    "full_page_writes": "on",
}


@pytest.mark.parametrize("commit", ["on", "remote_apply"])
def test_a_server_that_waits_for_the_disk_of_a_standby_is_safe(commit: str) -> None:
    """Both values wait until a standby has the commit on its disk."""
    assert find_hazards(SAFE | {"synchronous_commit": commit}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("synchronous_standby_names", ""),
        ("synchronous_standby_names", "  "),
        ("synchronous_commit", "off"),
        ("synchronous_commit", "local"),
        ("synchronous_commit", "remote_write"),
        ("fsync", "off"),
        ("full_page_writes", "off"),
    ],
)
def test_each_setting_that_could_lose_a_commit_is_named(name: str, value: str) -> None:
    """The finding names the setting, and no other one."""
    (hazard,) = find_hazards(SAFE | {name: value})
    assert hazard.startswith(f"{name} is ")


def test_settings_that_the_server_does_not_tell_count_as_wrong() -> None:
    """What is not known is not safe."""
    assert len(find_hazards({})) == len(SAFE)
