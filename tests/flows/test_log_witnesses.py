"""Witnesses: each checkpoint is cosigned in the background, and a witness that does not do so is an alarm."""

from pathlib import Path

import pytest

from antechamber.app.log_tiles import post
from antechamber.checkpoint_signer import verify
from antechamber.core.log.checkpoint_text import read_key
from antechamber.core.log.cosignature import read_cosignature
from antechamber.flows.live_policy import PolicyReloader
from antechamber.flows.log_witnesses import FIRST_PAUSE, LONGEST_PAUSE, LogWitnesses
from antechamber.settings import Location
from support import Service, event, running, until, write_policies
from web.test_audit_api import get
from witness import TIME, WitnessServer


def cosigned(service: Service, witness: WitnessServer) -> str:
    """Sign the log, wait until the witness cosigned, and return the checkpoint that is served."""
    note = get(service, "checkpoint").text

    def served() -> str | None:
        text: str = service.client.get("/log/checkpoint").text
        return text if read_cosignature(text, witness.key, verify) == TIME else None

    found: str = until(served, "the cosignature")
    assert found.startswith(note)
    return found


def test_a_witness_cosigns_each_checkpoint_of_a_running_service(location: Location, tmp_path: Path) -> None:
    """Each checkpoint gets a cosignature with a proof that the witness verifies, also after a restart."""
    with WitnessServer().running() as witness:
        folder = write_policies(tmp_path / "policies", log=f"public = true\n{witness.policy()}")
        with running(location, folder) as service:
            assert service.state.log_tiles.witnesses.alarms() == []
            witness.log_key = read_key(get(service, "key").text)
            cosigned(service, witness)
            service.submit(event("Another leaf."))
            before = cosigned(service, witness)
        assert [status for _, status in witness.replies if status != 404] == [200, 200]
        with running(location, folder) as service:
            after = until(
                lambda: service.client.get("/log/checkpoint").text.count("\n— ") > 1 and witness.replies[-2:],
                "the cosignature after a restart",
            )
            assert before.count("\n— ") == 2
        assert [status for _, status in after] == [409, 200]


class Asking:
    """The flow over a service's log with a clock of its own, apart from that of the service itself."""

    def __init__(self, service: Service, folder: Path, witness: WitnessServer) -> None:
        self.now = 0
        self.policies = PolicyReloader(write_policies(folder, log=witness.policy()))
        self.flow = LogWitnesses(service.state.proofs._store, self.policies, post, verify, lambda: self.now)

    def tick(self, *, after: int = LONGEST_PAUSE) -> list[str]:
        """Ask who is due after this time, and return the alarms."""
        self.now += after
        self.flow.tick()
        return self.flow.alarms()


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([(404, b"")], "it does not know this log: give it the key that antechamber log key prints"),
        ([(403, b"")], "it trusts another key for this log"),
        ([(422, b"")], "it cosigned another log under this name before"),
        ([(500, b"")], "it answers with status 500"),
        ([(302, b"")], "it answers with status 302"),
        ([(409, b"many")], "its answer to another size is no number"),
        ([(409, b"99999\n")], "it has cosigned 99999 leaves of this log, and only"),
        ([(409, b"1\n"), (409, b"1\n")], "it has cosigned another log of 1 leaf"),
        ([(200, b"")], "the answer has no cosignature of witness.example/w"),
        ([(200, b"\xff")], "the answer is no UTF-8 text"),
        ([(200, b"x" * 200_000)], "its answer is not HTTP, or too long"),
        ([(200, "— witness.example/w AAAA\n".encode())], "a signature is not base64 of a key id and more"),
        ([(200, WitnessServer().line("other").encode())], "the answer has no cosignature"),
    ],
)
def test_a_witness_that_does_not_cosign_is_an_alarm_until_it_does(
    service: Service, tmp_path: Path, answers: list[tuple[int, bytes]], problem: str
) -> None:
    """Whatever a witness answers, the checkpoint stays as it is, the alarm says why, and it is asked again."""
    note = get(service, "checkpoint").text
    with WitnessServer().running() as witness:
        witness.log_key = read_key(get(service, "key").text)
        asking = Asking(service, tmp_path / "other", witness)
        witness.answers = list(answers)
        (alarm,) = asking.tick()
        assert alarm.startswith(f"The witness witness.example/w does not cosign the log: {problem}")
        assert asking.flow.add_to(note) == note
        assert asking.tick(after=FIRST_PAUSE - 1) == [alarm]
        assert len(witness.replies) == len(answers)
        assert asking.tick(after=1) == []
        assert read_cosignature(asking.flow.add_to(note), witness.key, verify) == TIME


def test_a_wrong_cosignature_is_not_served(service: Service, tmp_path: Path) -> None:
    """A cosignature of another checkpoint under the witness's own key is refused."""
    note = get(service, "checkpoint").text
    with WitnessServer().running() as witness:
        asking = Asking(service, tmp_path / "other", witness)
        witness.answers = [(200, witness.line("another text\n").encode())]
        assert "the cosignature of witness.example/w is wrong" in asking.tick()[0]
        assert asking.flow.add_to(note) == note


def test_a_witness_is_asked_once_for_each_checkpoint(service: Service, tmp_path: Path) -> None:
    """Nothing is asked before the first checkpoint or twice for one; pauses grow while a witness is away."""
    with WitnessServer().running() as witness:
        asking = Asking(service, tmp_path / "other", witness)
        assert asking.tick() == []
        assert witness.replies == []
        get(service, "checkpoint")
        witness.log_key = read_key(get(service, "key").text)
        assert [asking.tick(), asking.tick()] == [[], []]
        assert len(witness.replies) == 1
    service.submit(event("Another leaf."))
    get(service, "checkpoint")
    assert "it cannot be reached" in asking.tick()[0]
    (tmp_path / "other" / "log.toml").write_text("")
    asking.policies.refresh()
    assert asking.tick() == []
