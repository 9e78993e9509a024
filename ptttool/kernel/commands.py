"""Commands of drives, one event after the other: which fetch, completion entry, interrupt and doorbell follow each other.

This is plain Python. With the C types of ``commands.pxd`` it is compiled at install; without a compiler it runs as it is, and finds the
same. Headers do not name commands: in a queue, completions are matched both to the oldest and to the newest open fetch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROLES = CLEAR, TAIL, HEAD, FETCHED, ENDED, INTERRUPT, READ, WRITE, LAST_READ, LAST_WRITE = range(1, 11)
"""What an event does: all that is open is forgotten; a tail and a head doorbell; entries fetched and written; an interrupt;
reads and writes of data, and the last of the reads and of the writes."""

STEPS = (
    "doorbell_to_fetch", "oldest", "newest", "fetch_to_data", "data", "data_to_completion", "completion_to_interrupt",
    "interrupt_to_doorbell", "doorbell_to_next", "bytes",
)  # fmt: skip
"""What a step takes:

- ``oldest``, ``newest``: from a fetch to the completion, if it is that of the oldest or of the newest open command of its queue.
- ``fetch_to_data``, ``data``, ``data_to_completion``, and the ``bytes``: of a command that was alone in its drive from start to end.
"""

GROUP = (
    "level", "lowest", "peak", "peak_index", "unmatched", "waits", "waits_at", "head_at", "head_index", "interrupts", "last_told",
)  # fmt: skip
"""Of a queue:

- ``level``, ``lowest``, ``peak``, ``peak_index``: commands open, the extremes since the start or a break, and the fetch of the highest.
- ``unmatched``: completions without an open fetch.
- ``waits``: one more than the row of the interrupt whose head doorbell is to come, and its ticks; 0 for none. Of the ``head`` doorbell
  behind which no command was submitted yet, the same.
- ``interrupts``: those that told of its completions; ``last_told``: one more than the row of the last one.
"""

DRIVE = ("open", "state", "fetched_at", "fetched_index", *(f"{way}_{what}" for way in ("read", "write") for what in
         ("bytes", "first", "last", "index")), "told", "joined")  # fmt: skip
"""Of a drive: commands open; of one that is alone, since when and which data; interrupts, and completions that they told of."""

_CLEAR, _TAIL, _HEAD, _FETCHED, _ENDED, _INTERRUPT, _READ, _WRITE, _LAST_READ, _LAST_WRITE = ROLES
(
    _TO_FETCH, _OLDEST, _NEWEST, _TO_DATA, _DATA, _TO_COMPLETION, _TO_INTERRUPT, _TO_DOORBELL, _TO_NEXT, _BYTES,
) = range(len(STEPS))  # fmt: skip
_LEVEL, _LOWEST, _PEAK, _PEAK_INDEX, _UNMATCHED, _WAITS, _WAITS_AT, _HEAD_AT, _HEAD_INDEX, _INTERRUPTS, _LAST_TOLD = range(len(GROUP))
_OPEN, _STATE, _FETCHED_AT, _FETCHED_INDEX, _READ_DATA = range(5)
_WRITE_DATA = _READ_DATA + 4
_TOLD, _JOINED = _WRITE_DATA + 4, _WRITE_DATA + 5
_ALONE = 1
# Lists of a queue: doorbells, fetches oldest first and newest first, completions that no interrupt has told of.
_DOORBELLS, _FIFO, _STACK, _TO_TELL, _LISTS = range(5)
# Fields of a link: ticks, row, queue, the next one.
_AT, _ROW, _QUEUE, _NEXT, _FIELDS = range(5)
_ROOM = 1 << 10


def _numbers(rows: int, columns: int) -> Any:
    room: Any = np.zeros((rows, columns), dtype=np.int64)
    return memoryview(room)


class Commands:
    """Follows commands.

    Parameters
    ----------
    most : int
        Doorbells, fetches and completions that are held together; others are left out.

    Attributes
    ----------
    groups : int64, shape (n, k)
        By queue: :data:`GROUP`.
    drives : int64, shape (m, k)
        By drive: :data:`DRIVE`.
    found : int64, shape (p, 4)
        Of the first `used` rows: the step of :data:`STEPS`, the queue, ticks or bytes, and the row that the step begins with.
    left_out : int
        What was not held, because it was too much.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.left_out = 0
        self.used = 0
        self.held = 1
        self.free = 0
        self.groups, self.drives = _numbers(1, len(GROUP)), _numbers(1, len(DRIVE))
        self.ends = _numbers(1, 2 * _LISTS)
        self.links, self.found = _numbers(_ROOM, _FIELDS), _numbers(_ROOM, 4)

    @property
    def kept(self) -> tuple[Any, ...]:
        """What another one goes on with: :meth:`load`."""
        counts = self.held, self.free, self.left_out
        return np.array(self.groups), np.array(self.drives), np.array(self.ends), np.array(self.links), counts

    def load(self, groups: Any, drives: Any, ends: Any, links: Any, counts: Any) -> None:
        """Go on where another one stopped."""
        self.groups, self.drives, self.ends, self.links = memoryview(groups), memoryview(drives), memoryview(ends), memoryview(links)
        self.held, self.free, self.left_out = counts

    def make_room(self, groups: int, drives: int) -> None:
        """Have room for so many queues and drives."""
        self.groups = self._grown(self.groups, groups)
        self.ends = self._grown(self.ends, groups)
        self.drives = self._grown(self.drives, drives)

    def _grown(self, former: Any, rows: int) -> Any:
        if rows <= former.shape[0]:
            return former
        room = _numbers(max(rows, 2 * former.shape[0]), former.shape[1])
        np.asarray(room)[: former.shape[0]] = former
        return room

    def follow(self, roles: Any, groups: Any, told: Any, drives: Any, counts: Any, at: Any, index: Any, shadowed: Any) -> None:
        """Take the next events.

        Parameters
        ----------
        roles : uint8
            :data:`ROLES`; others are passed over.
        groups, told, drives : int32
            Queue, what stands for those whose completions the same interrupts tell of, and drive.
        counts : int64
            Entries, or bytes of data.
        at, index : int64
            Ticks, and number of the row.
        shadowed : uint8
            Of each drive: 1 if its doorbells are in memory, too; 2 if its queues are not told apart.
        """
        self.used = 0
        for row in range(len(roles)):
            role = roles[row]
            if role == _CLEAR:
                self._clear()
                continue
            drive = drives[row]
            if role >= _READ:
                if self.drives[drive, _STATE] == _ALONE:
                    self._see_data(drive, role, counts[row], at[row])
                continue
            group = groups[row]
            if role == _INTERRUPT:
                self._tell(drive, told[row], at[row], index[row], shadowed[drive] & 1)
            elif role == _FETCHED:
                self._fetch(drive, group, counts[row], at[row], index[row], shadowed[drive])
            elif role == _ENDED:
                self._end(drive, group, told[row], counts[row], at[row], index[row])
            elif role == _TAIL:
                if self.groups[group, _HEAD_INDEX]:
                    self._find(_TO_NEXT, group, at[row] - self.groups[group, _HEAD_AT], self.groups[group, _HEAD_INDEX] - 1)
                    self.groups[group, _HEAD_INDEX] = 0
                self._push(group, _DOORBELLS, at[row], index[row], group)
            elif role == _HEAD:
                if self.groups[group, _WAITS]:
                    self._find(_TO_DOORBELL, group, at[row] - self.groups[group, _WAITS_AT], self.groups[group, _WAITS] - 1)
                    self.groups[group, _WAITS] = 0
                self.groups[group, _HEAD_AT], self.groups[group, _HEAD_INDEX] = at[row], index[row] + 1

    def _fetch(self, drive: int, group: int, count: int, now: int, index: int, is_shadowed: int) -> None:
        rows = self.groups
        if is_shadowed & 1:
            rows[group, _HEAD_INDEX] = 0  # a command may have been submitted without a doorbell
        link = self._pop(group, _DOORBELLS)
        for _ in range(count - 1):
            # Entries that are fetched together may have had a doorbell each.
            self._pop(group, _DOORBELLS)
        if is_shadowed:
            # Which of several doorbells it was is not known: it took as long as since the last one, at least.
            newer = link
            while newer:
                link = newer
                newer = self._pop(group, _DOORBELLS)
        if link:
            self._find(_TO_FETCH, group, now - self.links[link, _AT], self.links[link, _ROW])
        self.drives[drive, _STATE] = 0
        if not self.drives[drive, _OPEN] and count == 1:
            self.drives[drive, _STATE] = _ALONE
            self.drives[drive, _FETCHED_AT], self.drives[drive, _FETCHED_INDEX] = now, index
            for column in range(_READ_DATA, _TOLD):
                self.drives[drive, column] = 0
        for _ in range(count):
            self._push(group, _FIFO, now, index, group)
            self._push(group, _STACK, now, index, group)
        self.drives[drive, _OPEN] += count
        rows[group, _LEVEL] += count
        if rows[group, _LEVEL] > rows[group, _PEAK]:
            rows[group, _PEAK], rows[group, _PEAK_INDEX] = rows[group, _LEVEL], index

    def _end(self, drive: int, group: int, told: int, count: int, now: int, index: int) -> None:
        rows = self.groups
        if self.drives[drive, _STATE] == _ALONE:
            if self.ends[group, 2 * _FIFO] and count == 1:
                self._tell_data(drive, group, now)
            self.drives[drive, _STATE] = 0
        for _ in range(count):
            link = self._pop(group, _FIFO)
            if link:
                self._find(_OLDEST, group, now - self.links[link, _AT], self.links[link, _ROW])
                self.drives[drive, _OPEN] -= 1
            else:
                rows[group, _UNMATCHED] += 1
            link = self._pop(group, _STACK)
            if link:
                self._find(_NEWEST, group, now - self.links[link, _AT], self.links[link, _ROW])
            self._push(told, _TO_TELL, now, index, group)
        rows[group, _LEVEL] -= count
        rows[group, _LOWEST] = min(rows[group, _LOWEST], rows[group, _LEVEL])

    def _tell(self, drive: int, group: int, now: int, index: int, is_shadowed: int) -> None:
        """Take an interrupt, and the completions that it tells of."""
        rows = self.groups
        self.drives[drive, _TOLD] += 1
        while True:
            link = self._pop(group, _TO_TELL)
            if not link:
                return
            queue = self.links[link, _QUEUE]
            self.drives[drive, _JOINED] += 1
            self._find(_TO_INTERRUPT, queue, now - self.links[link, _AT], self.links[link, _ROW])
            if rows[queue, _LAST_TOLD] != index + 1:
                rows[queue, _LAST_TOLD] = index + 1
                rows[queue, _INTERRUPTS] += 1
                # Where the host may read its head from memory, it may have handled what an earlier interrupt told of.
                if not rows[queue, _WAITS] or is_shadowed:
                    rows[queue, _WAITS], rows[queue, _WAITS_AT] = index + 1, now

    def _see_data(self, drive: int, role: int, count: int, now: int) -> None:
        rows = self.drives
        way = _READ_DATA if role in (_READ, _LAST_READ) else _WRITE_DATA
        if role in (_READ, _WRITE):
            if not rows[drive, way]:
                rows[drive, way + 1] = now
            rows[drive, way] += count
        rows[drive, way + 2] = now

    def _tell_data(self, drive: int, group: int, now: int) -> None:
        """Tell the steps of a command that was alone: what it read first may be a list of addresses, if it wrote data."""
        rows = self.drives
        way = _WRITE_DATA if rows[drive, _WRITE_DATA] else _READ_DATA
        index = rows[drive, _FETCHED_INDEX]
        self._find(_BYTES, group, rows[drive, way], index)
        if rows[drive, way]:
            self._find(_TO_DATA, group, rows[drive, way + 1] - rows[drive, _FETCHED_AT], index)
            self._find(_DATA, group, rows[drive, way + 2] - rows[drive, way + 1], index)
            self._find(_TO_COMPLETION, group, now - rows[drive, way + 2], index)

    def _find(self, step: int, group: int, ticks: int, index: int) -> None:
        if self.used == self.found.shape[0]:
            self.found = self._grown(self.found, self.used + 1)
        self.found[self.used, 0] = step
        self.found[self.used, 1] = group
        self.found[self.used, 2] = ticks
        self.found[self.used, 3] = index
        self.used += 1

    def _push(self, group: int, which: int, now: int, index: int, queue: int) -> None:
        link = self.free
        if link:
            self.free = self.links[link, _NEXT]
        else:
            if self.held > self.most:
                self.left_out += 1
                return
            if self.held == self.links.shape[0]:
                self.links = self._grown(self.links, self.held + 1)
            link = self.held
            self.held += 1
        self.links[link, _AT], self.links[link, _ROW], self.links[link, _QUEUE], self.links[link, _NEXT] = now, index, queue, 0
        first = self.ends[group, 2 * which]
        if which == _STACK:
            self.links[link, _NEXT] = first
            self.ends[group, 2 * which] = link
            return
        if first:
            self.links[self.ends[group, 2 * which + 1], _NEXT] = link
        else:
            self.ends[group, 2 * which] = link
        self.ends[group, 2 * which + 1] = link

    def _pop(self, group: int, which: int) -> int:
        """Take the first link of a list out, and return it; it may be used again by the next push. 0 if there is none."""
        link: int = self.ends[group, 2 * which]
        if link:
            self.ends[group, 2 * which] = self.links[link, _NEXT]
            self.links[link, _NEXT] = self.free
            self.free = link
        return link

    def _clear(self) -> None:
        """Forget what is open: behind a break, nothing follows on."""
        for group in range(self.ends.shape[0]):
            for which in range(_LISTS):
                while self._pop(group, which):
                    pass
            self.groups[group, _LEVEL] = self.groups[group, _WAITS] = self.groups[group, _HEAD_INDEX] = 0
        for drive in range(self.drives.shape[0]):
            self.drives[drive, _OPEN] = self.drives[drive, _STATE] = 0
