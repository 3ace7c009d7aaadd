"""The files through which the processes of one host see each other's figures."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from antechamber.core.metrics import definitions as named
from antechamber.core.metrics.meters import HistogramFigures, Snapshot, join
from antechamber.snapshot_files import FOLDER, SnapshotFiles

BUCKETS = len(named.GROUP_SIZE.bounds) + 1


def figures(number: int) -> Snapshot:
    """Return figures of a process that counted to a number."""
    return Snapshot(
        counters=[(named.FINDINGS.name, ("rule",), number)],
        gauges=[(named.PROCESSES.name, (), 1.0)],
        histograms={named.GROUP_SIZE.name: HistogramFigures([number] * BUCKETS, float(number))},
    )


def findings(snapshots: list[Snapshot]) -> int:
    """Return the sum of a counter."""
    return sum(number for _, _, number in join(snapshots).counters)


def gauges(snapshots: list[Snapshot]) -> int:
    """Return how many processes have gauges, as running ones do."""
    return sum(bool(snapshot.gauges) for snapshot in snapshots)


def test_processes_see_each_other(tmp_path: Path) -> None:
    """Each process gets the last snapshots of the others and not its own."""
    one, two = SnapshotFiles(tmp_path, "one"), SnapshotFiles(tmp_path, "two")
    assert one.others() == []
    one.publish(figures(1))
    two.publish(figures(2))
    two.publish(figures(20))
    assert (findings(one.others()), gauges(one.others())) == (20, 1)
    assert (findings(two.others()), gauges(two.others())) == (1, 1)


def test_counters_of_ended_processes_stay_and_their_gauges_end(tmp_path: Path) -> None:
    """A sum never falls while a process runs, and an ended process leaves no gauge and no file."""
    lasting = SnapshotFiles(tmp_path, "lasting")
    lasting.publish(figures(1))
    for number in range(5):
        brief = SnapshotFiles(tmp_path, f"brief-{number}")
        brief.publish(figures(10))
        assert findings(lasting.others()) == 10 * (number + 1)
        brief.leave()
        assert (findings(lasting.others()), gauges(lasting.others())) == (10 * (number + 1), 0)
    assert sorted(file.name for file in (tmp_path / FOLDER).iterdir()) == [
        "ended.json",
        "gate",
        "lasting.json",
        "lasting.lock",
    ]


def test_a_killed_process_leaves_no_gauge(tmp_path: Path) -> None:
    """A process that is killed counts as ended, although it could not say so."""
    lasting = SnapshotFiles(tmp_path, "lasting")
    lasting.publish(figures(1))
    code = (
        "import sys, time; from pathlib import Path; from antechamber.snapshot_files import *; "
        "from antechamber.core.metrics.meters import Snapshot; from antechamber.core.metrics import definitions as d;"
        "files = SnapshotFiles(Path(sys.argv[1]), 'killed');"
        "files.publish(Snapshot(counters=[(d.FINDINGS.name, ('rule',), 7)], gauges=[(d.PROCESSES.name, (), 1.0)]));"
        "print('published', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)  # noqa: S603 -- our own code
    assert process.stdout is not None
    assert process.stdout.readline() == b"published\n"
    assert (findings(lasting.others()), gauges(lasting.others())) == (7, 1)
    process.kill()
    process.wait()
    process.stdout.close()
    assert (findings(lasting.others()), gauges(lasting.others())) == (7, 0)


def test_counting_begins_again_when_no_process_is_left(tmp_path: Path) -> None:
    """The first process after all others ended starts without their counters, as a single process does."""
    one = SnapshotFiles(tmp_path, "one")
    one.publish(figures(5))
    one.leave()
    one.leave()
    two = SnapshotFiles(tmp_path, "two")
    two.publish(figures(1))
    assert findings(two.others()) == 0


def test_a_crash_between_two_steps_adds_no_counter_twice(tmp_path: Path) -> None:
    """A process whose counters were added, but whose files were not removed yet, is not added again."""
    lasting, brief = SnapshotFiles(tmp_path, "lasting"), SnapshotFiles(tmp_path, "brief")
    lasting.publish(figures(1))
    brief.publish(figures(10))
    kept = {name: (tmp_path / FOLDER / name).read_bytes() for name in ("brief.json", "brief.lock")}
    brief.leave()
    assert findings(lasting.others()) == 10
    for name, data in kept.items():
        (tmp_path / FOLDER / name).write_bytes(data)
    assert findings(lasting.others()) == 10
    assert not (tmp_path / FOLDER / "brief.json").exists()


def test_damaged_files_count_as_empty(tmp_path: Path) -> None:
    """A damaged snapshot of another process is ignored; the others still count."""
    one, two, three = (SnapshotFiles(tmp_path, name) for name in ("one", "two", "three"))
    for number, files in enumerate((one, two, three), 1):
        files.publish(figures(number))
    (tmp_path / FOLDER / "two.json").write_bytes(b'{"counters": [["x"')
    (tmp_path / FOLDER / "ended.json").write_bytes(b"\xff")
    assert findings(one.others()) == 3


def test_a_folder_that_cannot_be_read_leaves_the_own_figures(tmp_path: Path) -> None:
    """While the files cannot be used, a process has no others."""
    one = SnapshotFiles(tmp_path, "one")
    one.publish(figures(1))
    (tmp_path / FOLDER / "gate").unlink()
    (tmp_path / FOLDER / "gate").mkdir()
    assert one.others() == []


def test_a_process_without_a_name_has_no_files(tmp_path: Path) -> None:
    """Where one process alone can serve a folder, nothing is written."""
    alone = SnapshotFiles(tmp_path, None)
    alone.publish(figures(1))
    alone.leave()
    assert list(tmp_path.iterdir()) == []
    assert alone.others() == []


def test_the_files_belong_to_their_owner_alone(tmp_path: Path) -> None:
    """Folder and files are closed to other users, also with a generous umask."""
    before = os.umask(0)
    try:
        SnapshotFiles(tmp_path, "one").publish(figures(1))
    finally:
        os.umask(before)
    found = [tmp_path / FOLDER, *(tmp_path / FOLDER).iterdir()]
    assert [stat.S_IMODE(path.stat().st_mode) & 0o077 for path in found] == [0] * len(found)


def test_the_space_on_the_disk_is_known_or_left_out(tmp_path: Path) -> None:
    """The space is that of the data folder's disk; for a folder that is gone it is unknown."""
    disk = SnapshotFiles(tmp_path, None).disk()
    assert disk is not None
    assert 0 < disk.free <= disk.size
    assert SnapshotFiles(tmp_path / "gone", None).disk() is None
