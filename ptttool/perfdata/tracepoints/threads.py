"""Names of threads over time, from the records of names and forks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class ThreadNames:
    """The names that threads had.

    Parameters
    ----------
    limit : int
        Names and forks that are kept.

    Attributes
    ----------
    left_out : int
        Names and forks that were too many.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._changes: list[tuple[int, int, int, bytes]] = []
        self._times: dict[int, list[int]] = {}
        self._names: dict[int, list[bytes]] = {}
        self.left_out = 0

    def named(self, time: int, thread: int, name: bytes) -> None:
        """Take in that a thread got a name; time 0: it had it before the recording."""
        self._add((time, thread, -1, name))

    def forked(self, time: int, thread: int, parent: int) -> None:
        """Take in that a thread began with the name of another one."""
        self._add((time, thread, parent, b""))

    def _add(self, change: tuple[int, int, int, bytes]) -> None:
        if len(self._changes) >= self._limit:
            self.left_out += 1
        else:
            self._changes.append(change)

    def close(self) -> None:
        """Put names and forks into the order of time."""
        for time, thread, parent, name in sorted(self._changes, key=lambda change: change[0]):
            if parent >= 0:
                name = self._names.get(parent, [b""])[-1]
            self._times.setdefault(thread, []).append(time)
            self._names.setdefault(thread, []).append(name)
        self._changes.clear()

    def at(self, threads: npt.NDArray[np.int32], times: npt.NDArray[np.int64]) -> npt.NDArray[np.bytes_]:
        """Return the names of threads at times, shape (n,), dtype S16; empty where it is not known."""
        names = np.zeros(len(threads), dtype="S16")
        order = np.argsort(threads, kind="stable")
        each, starts = np.unique(threads[order], return_index=True)
        for thread, mine in zip(each.tolist(), np.split(order, starts[1:]), strict=True) if len(order) else ():
            if thread == 0:
                names[mine] = b"swapper"
            elif thread in self._times:
                rows = np.searchsorted(np.array(self._times[thread]), times[mine], side="right") - 1
                names[mine] = np.where(rows >= 0, np.array(self._names[thread], dtype="S16")[np.maximum(rows, 0)], b"")
        return names
