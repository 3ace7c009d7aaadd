"""The scan of the desk is built after the start, once for each policy in force."""

from pathlib import Path

from antechamber.flows.live_policy import PolicyReloader
from support import write_policies


def test_each_policy_in_force_is_prepared_once(tmp_path: Path) -> None:
    """Its gate is prepared and then left alone; an edited policy has a gate of its own, which is prepared too."""
    policies = write_policies(tmp_path / "policies")
    reloader = PolicyReloader(policies)
    assert reloader._prepared is None
    for _ in range(2):
        reloader.prepare_desk()
        assert reloader._prepared is reloader.current.gate
    first = reloader.current.gate
    assert first.scan({"": "Deploy on Fridays."}) == []
    write_policies(policies, privacy='off = ["iban"]\n')
    reloader.refresh()
    assert reloader._prepared is first
    reloader.prepare_desk()
    assert reloader._prepared is reloader.current.gate is not first
