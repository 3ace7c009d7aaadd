"""Two machines over one database: each keeps the last checkpoint, whichever of them signed it."""

from pathlib import Path

from antechamber import app
from antechamber.app.maintenance import open_log
from antechamber.core.log.leaf import of_direct_write
from antechamber.settings import Location
from support import Databases


def test_a_machine_keeps_the_checkpoint_that_another_one_signed(postgres: Databases, tmp_path: Path) -> None:
    """A log that is rewound later contradicts the newest checkpoint on both machines."""
    url = postgres.fresh()
    one, other = (Location(data=tmp_path / name, database_url=url) for name in ("one", "other"))
    store = app.open_store(one)
    try:
        signing = open_log(store, one, app.clock)
        signing.tick(at_once=True)
        other.data.mkdir()
        (other.data / "log.key").write_bytes((one.data / "log.key").read_bytes())
        beside = open_log(store, other, app.clock)
        beside.look()
        store.write(lambda tx: tx.sql.append_leaves([of_direct_write("worker:release-bot", app.clock())])).result()
        signed = signing.checkpoint()
        beside.look()
        assert (other.data / "log.checkpoint").read_text(encoding="utf-8") == signed.note
    finally:
        store.close()
        postgres.drop(url)
