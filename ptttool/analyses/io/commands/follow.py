"""Commands followed from step to step, block by block; and how long the steps took."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_JOINED, MAX_OPEN_STEPS
from ptttool.analyses.io.commands.events import Events
from ptttool.analyses.io.commands.rings import UNKNOWN, UNSURE, Block, Pages, Rings
from ptttool.analyses.latency.bins import BIN_BITS, bin_of
from ptttool.analyses.regions import Region
from ptttool.analyses.sums import FIRST, SumTable
from ptttool.analyses.time.ticks import Seam, Ticks
from ptttool.kernel import commands as loop
from ptttool.kernel import events as ev
from ptttool.table.batch import Batch

Array = npt.NDArray[Any]

# Queues of drives that are followed; events of others are passed over.
_MOST_GROUPS: Final = 1 << 12
_QUEUE_BITS: Final = 12
STEP_BITS: Final = 4
"""Bits of a step in a key of times."""
# Commands of queues in which none completes, from which on they are taken to complete in another one.
_SILENT: Final = 32
# Above every queue: an address that interrupts are written to.
_VECTOR: Final = 1 << 11
# Kept beside the roles of the loop: an answer to a fetch.
_ANSWERED: Final = -1
_ROLES: Final[Array] = np.zeros(16, dtype=np.uint8)
for _what, _role in (
    (ev.BREAK, loop.CLEAR), (ev.DATA_READ, loop.READ), (ev.DATA_WRITE, loop.WRITE), (ev.DATA_READ_END, loop.LAST_READ),
    (ev.DATA_WRITE_END, loop.LAST_WRITE), (ev.FETCH, loop.READ), (ev.RECORD, loop.WRITE),
):  # fmt: skip
    _ROLES[_what] = _role


class Entries(NamedTuple):
    """The submission entries that a drive fetched from a queue, and the completion entries that it wrote, each in the recording's order.

    Parameters
    ----------
    requester : int
        Requester ID of the drive.
    queue : int
        The queue, 0 for admin commands; -1 where it is not known.
    fetched, ended : ndarray of int64, shape (n, 2)
        Of each entry the ticks since the start of the recording, and the number of the TLP. Entries of one TLP have the same ones. Where
        no fetches were traced, those of their answers.
    doorbells : ndarray of int64, shape (n, 2)
        The same of the writes of its tail doorbell.
    interrupts : ndarray of int64, shape (n, 2)
        The same of the drive's interrupts, of all its queues.
    """

    requester: int
    queue: int
    fetched: Array
    ended: Array
    doorbells: Array
    interrupts: Array


class Followed:
    """The commands of a part of a recording.

    Parameters
    ----------
    regions : iterable of Region
        Ranges of addresses that have a name.
    keeps : bool
        Whether all entries are kept, for :meth:`entries`.

    Attributes
    ----------
    events : Events
        What was not followed yet.
    rings : Rings
        What is known of rings.
    numbers : dict
        The number of each requester and queue.
    times : SumTable
        By bin of ticks, and above it step and number of the queue: how often, the sum, the largest, and the TLP with which that begins.
    breaks : int
        How often nothing was known of what was open.
    """

    def __init__(self, regions: Iterable[Region] = (), *, keeps: bool = False) -> None:
        self.events = Events()
        self.rings = Rings(regions)
        self.breaks = 0
        self._loop: Any = loop.Commands(MAX_OPEN_STEPS)
        self.times = SumTable(np.add, np.add, np.maximum, FIRST)
        self.numbers: dict[tuple[int, int], int] = {}
        self._drives: dict[int, int] = {}
        self._vectors = SumTable(np.add)
        self._kept: list[Array] | None = [] if keeps else None

    def add(self, batch: Batch, ticks: Ticks) -> None:
        """Add rows."""
        self.events.add(batch, ticks)
        self._follow()

    def merge(self, later: Followed, seam: Seam) -> None:
        """Add the part behind."""
        self.events.merge(later.events, seam)
        self._follow()

    def close(self) -> None:
        """Follow what is left: no more rows come."""
        self._follow(is_over=True)

    @property
    def groups(self) -> Array:
        """By number of a queue: :data:`ptttool.kernel.commands.GROUP`."""
        rows: Array = np.asarray(self._loop.groups)
        return rows

    @property
    def left_out(self) -> int:
        """What was not followed, because too much was open."""
        count: int = self._loop.left_out
        return count

    def told(self, requester: int) -> int:
        """Return how many completions of a drive an interrupt told of."""
        number = self._drives.get(requester)
        return 0 if number is None else int(np.asarray(self._loop.drives)[number, loop.DRIVE.index("joined")])

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_loop": self._loop.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._loop = loop.Commands(MAX_OPEN_STEPS)
        self._loop.load(*state["_loop"])

    def _follow(self, *, is_over: bool = False) -> None:
        for events in self.events.blocks(is_over=is_over):
            self._take(self.rings.learn(events))

    def _take(self, block: Block) -> None:
        shadowed = self.rings.shadowed
        submissions, completions = self.rings.pages()
        roles, queues = _ROLES[block.what], np.full(len(block.what), UNKNOWN)
        counts = np.where(block.is_fetch, block.size * 64, np.where(block.is_entry, block.size * 16, block.size))
        for pages, mask, role in ((submissions, block.is_fetch, loop.FETCHED), (completions, block.is_entry, loop.ENDED)):
            rows = np.flatnonzero(mask)
            is_ring, of = pages.find(block.key[rows])
            rows = rows[is_ring]
            roles[rows], queues[rows], counts[rows] = role, of[is_ring], block.size[rows]
        written = np.flatnonzero(block.is_doorbell & (block.owner >= 0))
        roles[written] = np.where(block.offset[written] & 4, loop.HEAD, loop.TAIL)
        queues[written] = block.queue[written]
        small = np.flatnonzero((block.what == ev.SMALL_WRITE) & ~block.is_doorbell)
        small = small[np.isin(block.key[small], self.rings.interrupts())]
        roles[small] = loop.INTERRUPT
        if self._kept is not None:
            self._keep(block, roles, queues, shadowed)
        owners = np.array([owner for owner, _ in self.rings.owners.values()], dtype=np.int64)
        devices = np.unique(np.concatenate((submissions.requesters, completions.requesters, owners)))
        # A queue that completes nowhere else, or whose rings are not all known, is matched with all of its drive.
        apart = np.array([each for each in devices.tolist() if are_apart(each, submissions, completions)], dtype=np.int64)
        told = self._told(block, roles, queues, apart)
        queues[~np.isin(block.owner, apart)] = UNKNOWN
        roles[~np.isin(block.owner, devices) & (roles != loop.CLEAR)] = 0
        rows = np.flatnonzero(roles)
        self.breaks += int((roles == loop.CLEAR).sum())
        groups, tellers = self._numbers(block.owner[rows], queues[rows]), self._numbers(block.owner[rows], told[rows])
        drives = self._drive_numbers(block.owner[rows])
        roles = roles[rows]
        roles[(groups < 0) | (tellers < 0)] = 0
        is_shadowed = np.zeros(len(self._drives) + 1, dtype=np.uint8)
        for requester, number in self._drives.items():
            is_shadowed[number] = (requester in shadowed) | (requester not in apart) << 1
        self._loop.make_room(len(self.numbers) + 1, len(self._drives) + 1)
        at, index = (np.ascontiguousarray(block.events[rows, column]) for column in (ev.AT, ev.INDEX))
        columns: tuple[Any, ...] = (roles, groups, tellers, drives, np.ascontiguousarray(counts[rows]), at, index, is_shadowed)
        self._loop.follow(*(memoryview(column) for column in columns))
        self._add(np.asarray(self._loop.found)[: self._loop.used])

    def _told(self, block: Block, roles: Array, queues: Array, apart: Array) -> Array:
        """Return whom interrupts tell of: of an address, where a drive writes to several, else of all."""
        told = np.full(len(roles), UNKNOWN)
        pages = self.rings.interrupts()
        owners = pages >> 47
        several = owners[1:][owners[1:] == owners[:-1]]
        several = several[np.isin(several, apart)]
        if not len(several):
            return told
        steps = block.steps
        rows, behind = steps.rows, steps.behind(roles == loop.INTERRUPT)
        ended = (roles[rows] == loop.ENDED) & (behind >= 0) & np.isin(block.owner[rows], several)
        number = np.searchsorted(pages, block.key[behind[ended]])
        votes = (block.owner[rows[ended]] << _QUEUE_BITS | queues[rows[ended]] + 1) << 16 | np.minimum(number, 0xFFFF)
        self._vectors.add(votes, np.ones(len(votes), dtype=np.int64))
        keys, counts = self._vectors.rows()
        order = np.lexsort((counts, keys >> 16))
        last = order[np.append((keys >> 16)[order][1:] != (keys >> 16)[order][:-1], True)] if len(order) else order
        best = keys[last]
        mine = np.flatnonzero((roles == loop.ENDED) & np.isin(block.owner, several))
        wanted = block.owner[mine] << _QUEUE_BITS | queues[mine] + 1
        at = np.minimum(np.searchsorted(best >> 16, wanted), max(len(best) - 1, 0))
        if len(best):
            told[mine] = np.where(best[at] >> 16 == wanted, _VECTOR + (best[at] & 0x7FF), UNKNOWN)
        told[roles == loop.INTERRUPT] = _VECTOR + (np.searchsorted(pages, block.key[roles == loop.INTERRUPT]) & 0x7FF)
        told[~np.isin(block.owner, several)] = UNKNOWN
        return told

    def _numbers(self, owners: Array, queues: Array) -> Array:
        codes, inverse = np.unique(owners << _QUEUE_BITS + 1 | queues + 1, return_inverse=True)
        numbers = []
        for code in codes.tolist():
            group = code >> _QUEUE_BITS + 1, (code & (1 << _QUEUE_BITS + 1) - 1) - 1
            if group not in self.numbers and len(self.numbers) < _MOST_GROUPS:
                self.numbers[group] = len(self.numbers)
            numbers.append(self.numbers.get(group, -1))
        taken: Array = np.array(numbers, dtype=np.int32)[inverse]
        return taken

    def _drive_numbers(self, owners: Array) -> Array:
        ids, inverse = np.unique(owners, return_inverse=True)
        numbers: Array = np.array([self._drives.setdefault(id_, len(self._drives)) for id_ in ids.tolist()], dtype=np.int32)
        taken: Array = numbers[inverse]
        return taken

    def _add(self, found: Array) -> None:
        """Add how long steps took."""
        step, group, ticks, index = found.T
        keys = (group << STEP_BITS | step) << BIN_BITS | bin_of(ticks)
        self.times.add(keys, np.ones_like(keys), ticks.copy(), ticks.copy(), index.copy())

    def _keep(self, block: Block, roles: Array, queues: Array, shadowed: Array) -> None:
        assert self._kept is not None
        for is_memory, (rows, of) in block.answered.items():
            mine = np.isin(block.requester[rows], shadowed) == is_memory
            rows, of = rows[mine], of[mine]
            answers = np.full(len(rows), _ANSWERED), block.events[rows, ev.AT], block.events[rows, ev.INDEX]
            self._kept.append(np.stack((block.requester[rows], np.where(of < _VECTOR, of, UNKNOWN), *answers), axis=1))
        rows = np.flatnonzero(np.isin(roles, (loop.FETCHED, loop.ENDED, loop.TAIL, loop.INTERRUPT)))
        rows = rows.repeat(np.where(np.isin(roles[rows], (loop.FETCHED, loop.ENDED)), block.size[rows], 1))
        columns = (block.owner[rows], queues[rows], roles[rows].astype(np.int64), block.events[rows, ev.AT], block.events[rows, ev.INDEX])
        self._kept.append(np.stack(columns, axis=1))
        if sum(map(len, self._kept)) > MAX_JOINED:
            self._kept = None

    def entries(self) -> Iterator[Entries]:
        """Yield the entries of each queue, where they were kept: no queue, if there are too many of them."""
        if not self._kept:
            return
        rows = np.concatenate(self._kept)
        # Where fetches were not traced, their answers stand for them.
        is_answer = rows[:, 2] == _ANSWERED
        rows[is_answer & ~np.isin(rows[:, 0], rows[rows[:, 2] == loop.FETCHED, 0]), 2] = loop.FETCHED
        kept = rows[:, 2] != _ANSWERED
        rows = rows[kept]
        # One that may be of another queue leaves the order of none certain.
        unsure = rows[rows[:, 1] == UNSURE, 0]
        rows[is_answer[kept] & np.isin(rows[:, 0], unsure), 1] = UNKNOWN
        is_entry = np.isin(rows[:, 2], (loop.FETCHED, loop.ENDED))
        for requester, queue in np.unique(rows[is_entry, :2], axis=0).tolist():
            drive = rows[rows[:, 0] == requester]
            own = drive[drive[:, 1] == queue]
            fetched, ended, doorbells = (own[own[:, 2] == role, 3:] for role in (loop.FETCHED, loop.ENDED, loop.TAIL))
            yield Entries(requester, queue, fetched, ended, doorbells, drive[drive[:, 2] == loop.INTERRUPT, 3:])


def are_apart(requester: int, submissions: Pages, completions: Pages) -> bool:
    """Return whether a drive's queues are known one by one."""
    fetched, ended = ({int(queue) for queue in each.queues[each.requesters == requester]} for each in (submissions, completions))
    if UNKNOWN in fetched | ended:
        return False
    if not (fetched and ended):
        return True
    silent = np.isin(submissions.queues, list(fetched - ended)) & (submissions.requesters == requester)
    return ended <= fetched and int(submissions.slots[silent].sum()) < _SILENT
