"""Resident memory and open files of processes over time, and whether they stay flat."""

import threading
import time
from collections.abc import Callable, Mapping
from statistics import linear_regression, median
from typing import Any, Final, NamedTuple

import psutil

MAX_BYTES: Final = 16 << 20
MAX_FILES: Final = 16
MAX_SHARE: Final = 0.10
"""A series is flat if its last quarter has at most this share, or MAX_BYTES and MAX_FILES, more than its second one."""
LEAST_SECONDS: Final = 900.0
"""Seconds after which a series counts; a shorter run judges those that lasted for MIN_PART of it."""
MIN_PART: Final = 0.4
_EVERY: Final = 2.0
"""Seconds between two samples; in a short run a sixtieth of it."""
_LEAST_SAMPLES: Final = 8
_MIB: Final = 1 << 20
_HOUR: Final = 3600.0


class Sample(NamedTuple):
    """What one process held at one moment."""

    at: float
    memory: int
    """Resident bytes."""
    files: int
    """Open file descriptors."""


class Series(NamedTuple):
    """The samples of one process, from its start to its end."""

    name: str
    pid: int
    samples: list[Sample]

    @property
    def seconds(self) -> float:
        """The time from the first sample to the last."""
        return self.samples[-1].at - self.samples[0].at if self.samples else 0.0

    def suffices(self, seconds: float) -> bool:
        """Return whether it lasted long enough to be judged in a run of this length."""
        return self.seconds >= min(LEAST_SECONDS, MIN_PART * seconds) and len(self.samples) >= _LEAST_SAMPLES


def growth(series: Series) -> dict[str, Any]:
    """Compare the last quarter of a series with the second one, by medians; the first quarter is warm-up.

    Slopes are those of a line through all samples after warm-up.
    """
    start, quarter = series.samples[0].at, series.seconds / 4
    warm = [one for one in series.samples if one.at >= start + quarter]
    early = [one for one in warm if one.at < start + 2 * quarter]
    late = [one for one in warm if one.at >= start + 3 * quarter]
    memory = [median(one.memory for one in part) for part in (early, late)]
    files = [median(one.files for one in part) for part in (early, late)]
    times = [one.at / _HOUR for one in warm]
    return {
        "process": series.name,
        "seconds": round(series.seconds),
        "memory_mib": [round(number / _MIB, 1) for number in memory],
        "memory_slope_mib_h": round(linear_regression(times, [one.memory / _MIB for one in warm]).slope, 1),
        "files": [round(number) for number in files],
        "files_slope_h": round(linear_regression(times, [one.files for one in warm]).slope, 1),
        "flat": within(memory, MAX_BYTES) and within(files, MAX_FILES),
    }


def within(both: list[float], most: float) -> bool:
    """Return whether the later of two numbers is at most `most`, or MAX_SHARE, above the earlier one."""
    earlier, later = both
    return later - earlier <= max(most, MAX_SHARE * earlier)


class Resources(threading.Thread):
    """Takes samples of processes until stopped; a process that was started again begins a new series.

    `processes` returns the id of each process by name; the run takes `seconds`.
    """

    def __init__(self, processes: Callable[[], Mapping[str, int]], seconds: float) -> None:
        super().__init__(name="resources", daemon=True)
        self._processes, self._over = processes, threading.Event()
        self._pause = min(_EVERY, seconds / 60)
        self.series: list[Series] = []

    def run(self) -> None:
        """Take samples."""
        running: dict[str, Series] = {}
        while not self._over.wait(self._pause):
            for name, pid in self._processes().items():
                try:
                    process = psutil.Process(pid)
                    sample = Sample(time.monotonic(), process.memory_info().rss, process.num_fds())
                except psutil.Error:
                    continue
                if name not in running or running[name].pid != pid:
                    running[name] = Series(name, pid, [])
                    self.series.append(running[name])
                running[name].samples.append(sample)

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self.join()

    def judged(self, seconds: float) -> list[dict[str, Any]]:
        """Return the growth of each series that lasted long enough in a run of this length."""
        return [growth(one) for one in self.series if one.suffices(seconds)]

    def suffices(self, seconds: float) -> bool:
        """Return whether the newest series of each process lasted long enough in a run of this length."""
        newest = {one.name: one for one in self.series}
        return all(one.suffices(seconds) for one in newest.values())


def cpu_seconds(*, alone: bool) -> float:
    """Return the CPU seconds of this program and its descendants, ended ones included.

    `alone` says that this program has a namespace of processes for itself, so that all of them are its own.
    """
    whole, own = 0.0, psutil.Process()
    for process in psutil.process_iter() if alone else [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        whole += times.user + times.system + times.children_user + times.children_system
    return whole
