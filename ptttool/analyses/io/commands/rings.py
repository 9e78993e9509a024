"""Which queue a page of a ring belongs to, and which page of registers has a drive's doorbells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_IO_PAGES
from ptttool.analyses.io.commands.events import requester_of, size_of, what_of
from ptttool.analyses.io.counts import SPARE
from ptttool.analyses.regions import Region, RegionKind
from ptttool.analyses.sums import SumTable, order_of
from ptttool.kernel import events as ev

Array = npt.NDArray[Any]

# Bits of a page's number and of a queue in a key: addresses of 48 bits, and the queues of the doorbells of a page.
_PAGE_BITS, _QUEUE_BITS, _OFFSET_BITS = 36, 11, 12
_PAGES, _QUEUES, _OFFSETS = (1 << _PAGE_BITS) - 1, (1 << _QUEUE_BITS) - 1, (1 << _OFFSET_BITS) - 1
_REQUESTER_BIT: Final = _PAGE_BITS + _QUEUE_BITS
# A queue's doorbells: tail, then head, of 4 bytes each. They begin in the second page of the registers, which begin at 16 KiB.
_DOORBELL_BITS, _HEAD, _ALIGNED = 3, 4, 3
UNKNOWN: Final = -1
"""Stands for a queue that is not known."""
UNSURE: Final = -2
"""Stands for a queue that may be one of several."""
# Queues that the lower 7 bits of the address of a doorbell in memory tell apart.
_LOW_QUEUES: Final = 16
# One access in so many may be out of order in a ring, as in Rings.
_TOLERATED = 2
# Fetches for each read of a doorbell in memory, at most, where they are there.
_SHADOWED = 4


class Steps(NamedTuple):
    """Events in the order of their drives, and then of the recording.

    Parameters
    ----------
    rows : ndarray of int64, shape (n,)
        Their numbers among the events.
    starts : ndarray of int64, shape (n,)
        Where the events of the same drive begin.
    ends : ndarray of int64, shape (n,)
        Where they end.
    """

    rows: Array
    starts: Array
    ends: Array

    @classmethod
    def of(cls, owners: Array) -> Steps:
        """Return those that have an owner."""
        rows = np.flatnonzero(owners >= 0)
        rows = rows[order_of(owners[rows])]
        own = owners[rows]
        return cls(rows, np.searchsorted(own, own), np.searchsorted(own, own, side="right"))

    def before(self, mask: Array) -> Array:
        """Return for each the last one before it, of the same drive, for which a mask is true: its number among the events, or -1."""
        at = np.where(mask[self.rows], np.arange(len(self.rows)), -1)
        last = np.maximum.accumulate(np.append(-1, at)[:-1]) if len(at) else at
        return np.where(last >= self.starts, self.rows[last], -1)

    def behind(self, mask: Array) -> Array:
        """Return the same of the first one behind it."""
        count = len(self.rows)
        at = np.where(mask[self.rows], np.arange(count), count)
        first = np.minimum.accumulate(np.append(at, count)[:0:-1])[::-1] if count else at
        return np.where(first < self.ends, self.rows[np.minimum(first, count - 1)], -1) if count else at


class Pages(NamedTuple):
    """Pages of rings.

    Parameters
    ----------
    keys : ndarray of int64, shape (n,)
        Requester and page, ascending.
    queues : ndarray of int64, shape (n,)
        The queue of each, or :data:`UNKNOWN`.
    slots : ndarray of int64, shape (n,)
        Entries that were fetched or written.
    conflicts : ndarray of int64, shape (n,)
        How often a doorbell of another queue was the nearest one.
    """

    keys: Array
    queues: Array
    slots: Array
    conflicts: Array

    @property
    def requesters(self) -> Array:
        """The requester of each."""
        ids: Array = self.keys >> _REQUESTER_BIT
        return ids

    def find(self, keys: Array) -> tuple[Array, Array]:
        """Return whether pages are among them, and their queues."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.bool_), np.full(len(keys), UNKNOWN)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return self.keys[at] == keys, self.queues[at]


class Ring:
    """What was seen of the pages of one kind of rings.

    Parameters
    ----------
    size : int
        Bytes of an entry.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        # Slots, accesses, accesses of one slot, steps and jumps; and votes for queues, by shadow doorbells and by doorbells.
        self._walked = SumTable(np.add, np.add, np.add, np.add, np.add)
        self._votes = SumTable(np.add), SumTable(np.add)

    def walk(self, keys: Array, offsets: Array, slots: Array) -> None:
        """Take accesses of a block."""
        order = keys.argsort(kind="stable")
        keys, offsets, slots = keys[order], offsets[order], slots[order]
        is_same = keys[1:] == keys[:-1]
        goes_on = offsets[1:] == offsets[:-1] + slots[:-1] * self.size
        steps, jumps = np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=np.int64)
        steps[1:] = is_same & goes_on
        jumps[1:] = is_same & ~goes_on & (offsets[1:] != 0)
        self._walked.add(keys, slots, np.ones_like(keys), (slots == 1).astype(np.int64), steps, jumps)

    def vote(self, keys: Array, queues: Array, *, is_shadow: bool) -> None:
        """Take the queues whose doorbell was the nearest one of accesses; -1 where there was none."""
        mask = (queues >= 0) & (queues <= _QUEUES)
        votes = self._votes[0 if is_shadow else 1]
        votes.add(keys[mask] | queues[mask], np.ones(int(mask.sum()), dtype=np.int64))

    def cut(self) -> None:
        """Hold no more than the pages that are looked at need."""
        for table in (self._walked, *self._votes):
            _cut(table)

    def pages(self, shadowed: Array) -> Pages:
        """Return the pages of rings; `shadowed`: requesters whose doorbells are also in memory."""
        keys, slots, accesses, exact, steps, jumps = self._walked.rows()
        keys, slots, accesses, exact, steps, jumps = (each[:MAX_IO_PAGES] for each in (keys, slots, accesses, exact, steps, jumps))
        is_ring = _rings(keys, accesses, exact, steps, jumps)
        keys, slots = keys[is_ring], slots[is_ring]
        queues, conflicts = np.full(len(keys), UNKNOWN), np.zeros(len(keys), dtype=np.int64)
        is_shadowed = np.isin(keys >> _REQUESTER_BIT, shadowed)
        for votes, mask in zip(self._votes, (is_shadowed, ~is_shadowed), strict=True):
            by, counts = votes.rows()
            if not len(by) or not mask.any():
                continue
            page = by & ~_QUEUES
            # Of each page the queue with most votes, the first of several.
            order = np.lexsort((-(by & _QUEUES), counts, page))
            last = np.flatnonzero(np.append(page[order][1:] != page[order][:-1], True))
            best, most = by[order][last], counts[order][last]
            total = np.add.reduceat(counts[order], np.append(0, last[:-1] + 1))
            at = np.minimum(np.searchsorted(best & ~_QUEUES, keys), len(best) - 1)
            has = mask & (best[at] & ~_QUEUES == keys)
            queues[has], conflicts[has] = best[at][has] & _QUEUES, (total - most)[at][has]
        return Pages(keys, _filled(keys, queues), slots, conflicts)


def _cut(table: SumTable) -> None:
    """Leave the largest keys out where there are more than so many times the limit of pages."""
    keys = table.rows()[0]
    if len(keys) > SPARE * MAX_IO_PAGES:
        table.keep(np.arange(len(keys)) < MAX_IO_PAGES)


def _rings(keys: Array, accesses: Array, exact: Array, steps: Array, jumps: Array) -> Array:
    in_order = jumps * _TOLERATED <= accesses
    is_ring: Array = in_order & (exact > 0) & ((steps > 0) | (accesses == 1))
    maybe = in_order & ~is_ring & ((steps > 0) | (accesses == 1))
    step = 1 << _QUEUE_BITS
    while True:
        beside = maybe & (np.isin(keys + step, keys[is_ring]) | np.isin(keys - step, keys[is_ring]))
        if not beside.any():
            return is_ring
        is_ring |= beside
        maybe &= ~beside


def _balanced(pages: Pages, counts: Mapping[tuple[int, int], int]) -> Array:
    """Return the queues of pages: one goes to the queue whose entries it holds, if its own has too many of them.

    A queue of few commands, as that of admin commands, may have its entries beside the doorbells of others, and so may any in a drive that
    lets commands wait.

    Parameters
    ----------
    pages : Pages
        The pages.
    counts : Mapping of (int, int) to int
        By requester and queue, entries that it has at least.
    """
    queues = pages.queues.copy()
    for requester in np.unique(pages.requesters).tolist():
        mine = np.flatnonzero(pages.requesters == requester)
        wanted = {queue: count for (owner, queue), count in counts.items() if owner == requester and queue >= 0}
        held = dict.fromkeys(wanted, 0)
        for queue, slots in zip(queues[mine].tolist(), pages.slots[mine].tolist(), strict=True):
            held[queue] = held.get(queue, 0) + slots
        for queue in [queue for queue, count in held.items() if count > wanted.get(queue, 0) > 0]:
            lacking = {one: count for one, count in wanted.items() if count and not held[one]}
            moves = [
                (row, one)
                for row in mine[queues[mine] == queue].tolist()
                for one, count in lacking.items()
                if pages.slots[row] == count and held[queue] - count >= wanted[queue]
            ]
            if len(moves) == 1:
                ((row, one),) = moves
                queues[row] = one
                held[one], held[queue] = lacking[one], held[queue] - lacking[one]
            elif moves:
                # Several pages may be those of the other queue: none of the drive is certain.
                queues[mine] = UNKNOWN
                break
    return queues


def _filled(keys: Array, queues: Array) -> Array:
    """Return the queues with those of pages beside others, where these are of one queue only."""
    runs = np.cumsum(np.append(0, keys[1:] - keys[:-1] != 1 << _QUEUE_BITS)) if len(keys) else keys
    filled: Array = queues.copy()
    for run in np.unique(runs[queues < 0]).tolist():
        inside = np.flatnonzero(runs == run)
        known = np.unique(queues[inside])
        known = known[known >= 0]
        if len(known) == 1:
            filled[inside] = known[0]
    return filled


class Doorbells:
    """Which pages hold the doorbells of drives.

    Parameters
    ----------
    regions : iterable of Region
        Ranges of addresses that have a name: where the registers of a drive are known, nothing is guessed.
    """

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        bars = [one for one in regions if one.kind is RegionKind.BAR and one.owner is not None and one.name.endswith("BAR 0")]
        self._bars = [(one.first >> _OFFSET_BITS & _PAGES, one.last >> _OFFSET_BITS & _PAGES, one.owner or 0) for one in bars]
        self._followed = SumTable(np.add)
        self._written = SumTable(np.add)

    def see(self, pages: Array, offsets: Array, next_fetch: Array) -> None:
        """Take writes of the processor, each with the requester of the next fetch, or -1."""
        self._written.add(pages << _OFFSET_BITS | offsets, np.ones(len(pages), dtype=np.int64))
        mask = (next_fetch >= 0) & (offsets & _HEAD == 0)
        self._followed.add(pages[mask] << ev.REQUESTER_BITS | next_fetch[mask], np.ones(int(mask.sum()), dtype=np.int64))

    def owners(self) -> dict[int, tuple[int, int]]:
        """Return by page the requester whose doorbells it holds, and the first queue of the page."""
        found: dict[int, tuple[int, int]] = {}
        known = {owner for _, _, owner in self._bars}
        keys, counts = self._followed.rows()
        for key, _ in sorted(zip(keys.tolist(), counts.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0]))[:MAX_IO_PAGES]:
            page, requester = key >> ev.REQUESTER_BITS, key & (1 << ev.REQUESTER_BITS) - 1
            taken = any(requester == owner for owner, _ in found.values())
            if page not in found and not taken and requester not in known and not self._bar(page):
                found[page] = requester, 0
        for page in np.unique(self._written.rows()[0] >> _OFFSET_BITS).tolist() if self._bars else ():
            bar = self._bar(page)
            if bar is not None and page > bar[0]:
                found[page] = bar[2], (page - bar[0] - 1) << _OFFSET_BITS - _DOORBELL_BITS
        return found

    def _bar(self, page: int) -> tuple[int, int, int] | None:
        return next((bar for bar in self._bars if bar[0] <= page <= bar[1]), None)

    def candidates(self, pages: Array) -> Array:
        """Return which pages may hold doorbells: the second one of 16 KiB, or one of known registers."""
        mask: Array = pages & _ALIGNED == 1
        for first, last, _ in self._bars:
            mask |= (first < pages) & (pages <= last)
        return mask

    def cut(self) -> None:
        """Hold no more than that many places."""
        for table in (self._followed, self._written):
            _cut(table)

    def counts(self) -> dict[tuple[int, int], list[int]]:
        """Return by requester and queue how often its tail and its head doorbell were written."""
        owners, sums = self.owners(), dict[tuple[int, int], list[int]]()
        keys, counts = self._written.rows()
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            owner = owners.get(key >> _OFFSET_BITS)
            if owner is not None:
                queue = owner[1] + ((key & _OFFSETS) >> _DOORBELL_BITS)
                sums.setdefault((owner[0], queue), [0, 0])[bool(key & _HEAD)] += count
        return sums


def key_of(requesters: Array, addresses: Array) -> Array:
    """Return the keys of the pages of requesters."""
    keys: Array = requesters << _REQUESTER_BIT | (addresses >> _OFFSET_BITS & _PAGES) << _QUEUE_BITS
    return keys


class Rings:
    """What is known of rings and doorbells, from the blocks that were seen.

    Parameters
    ----------
    regions : iterable of Region
        Ranges of addresses that have a name.
    """

    def __init__(self, regions: Iterable[Region] = ()) -> None:
        self.doorbells = Doorbells(regions)
        self.submissions, self.completions = Ring(64), Ring(16)
        self.owners: dict[int, tuple[int, int]] = {}
        # By requester: fetches, reads of 4 bytes, completion entries. By page of small writes: how many, how many are followed by a read of
        # the same offset, and the extreme offsets.
        self._did = SumTable(np.add, np.add, np.add)
        self._small = SumTable(np.add, np.add, np.minimum, np.maximum)
        # By requester and queue: fetches that only their answers tell of, and those that may be of another queue.
        self.answers = SumTable(np.add, np.add)
        # By requester: queues of doorbells that no answer followed yet, and all queues that had one.
        self._rung: dict[int, tuple[Array, set[int]]] = {}

    @property
    def shadowed(self) -> Array:
        """Requesters whose doorbells are also in memory, ascending: they read them."""
        keys, fetches, reads, _ = self._did.rows()
        shadowed: Array = keys[(fetches > 0) & (reads * _SHADOWED >= fetches)]
        return shadowed

    def pages(self) -> tuple[Pages, Pages]:
        """Return the pages of submissions and of completions."""
        submissions, completions = self.submissions.pages(self.shadowed), self.completions.pages(self.shadowed)
        rung = {key: tails for key, (tails, _) in self.doorbells.counts().items() if key[0] not in self.shadowed}
        queues = _balanced(submissions, rung)
        # Where it is not known what is fetched from which queue, neither is what ends in it.
        doubtful = np.unique(submissions.requesters[(queues == UNKNOWN) & (submissions.queues != UNKNOWN)])
        completions.queues[np.isin(completions.requesters, doubtful)] = UNKNOWN
        submissions = submissions._replace(queues=queues)
        fetched: dict[tuple[int, int], int] = {}
        for *key, slots in zip(*(each.tolist() for each in (submissions.requesters, submissions.queues, submissions.slots)), strict=True):
            fetched[key[0], key[1]] = fetched.get((key[0], key[1]), 0) + slots
        return submissions, completions._replace(queues=_balanced(completions, fetched))

    def learn(self, events: Array) -> Block:
        """Take the events of a block, and return them."""
        block = Block(events)
        kinds = (block.is_fetch, block.what == ev.SMALL_READ, block.is_entry)
        by, small = block.what == ev.ANSWER, block.what == ev.SMALL_ANSWER
        self._did.add(block.requester, *(each.astype(np.int64) for each in (kinds[0] | by, kinds[1] | small, kinds[2])))
        fetchers = self._did.rows()
        devices = fetchers[0][(fetchers[1] > 0) | (fetchers[3] > 0)]
        block.is_doorbell = (block.what == ev.SMALL_WRITE) & ~np.isin(block.requester, devices) & self.doorbells.candidates(block.page)
        self._see_doorbells(block, block.is_fetch | by)
        self.owners = self.doorbells.owners()
        block.own(self.owners)
        for ring, mask in ((self.submissions, block.is_fetch), (self.completions, block.is_entry)):
            ring.walk(block.key[mask], block.offset[mask], block.size[mask])
        steps = block.steps
        self._vote(block, steps)
        self._see_small(block, steps)
        for each in (self.submissions, self.completions, self.doorbells):
            each.cut()
        for table in (self._small, self.answers):
            _cut(table)
        return block

    def _see_doorbells(self, block: Block, is_fetch: Array) -> None:
        written, fetched = np.flatnonzero(block.is_doorbell), np.flatnonzero(is_fetch)
        at = np.searchsorted(fetched, written)
        following = np.append(block.requester[fetched], -1)[at]
        self.doorbells.see(block.page[written], block.offset[written], following)

    def _vote(self, block: Block, steps: Steps) -> None:
        is_shadow = (block.what == ev.SMALL_READ) | (block.what == ev.SMALL_ANSWER)
        is_head = block.offset & _HEAD != 0
        is_owned = block.is_doorbell & (block.owner >= 0)
        rows = steps.rows
        for is_memory, tails, heads in (
            (True, steps.before(is_shadow & ~is_head), steps.before(is_shadow & is_head)),
            (False, steps.before(is_owned & ~is_head), steps.behind(is_owned & is_head)),
        ):
            for ring, mask, source in (
                (self.submissions, block.is_fetch, tails), (self.completions, block.is_entry, heads),
            ):  # fmt: skip
                wanted = mask[rows]
                ring.vote(block.key[rows[wanted]], block.queue_at(source[wanted]), is_shadow=is_memory)
            answered = (block.what == ev.ANSWER)[rows]
            if answered.any():
                requester = block.requester[rows[answered]]
                queue = (
                    self._named(requester, block.queue_at(tails[answered]))
                    if is_memory
                    else self._answers(block, steps, is_owned & ~is_head)
                )
                is_sure = queue != UNSURE
                key = (requester << 1 | is_memory) << _QUEUE_BITS + 1 | np.minimum(np.maximum(queue, UNKNOWN), _QUEUES) + 1
                self.answers.add(key, np.ones(len(key), dtype=np.int64), (~is_sure).astype(np.int64))
                block.answered[is_memory] = rows[answered], queue

    def _named(self, requesters: Array, queues: Array) -> Array:
        """Return the queues of doorbells in memory, of which an answer tells 7 bits of the address: where several fit, none is known."""
        named = queues.copy()
        for requester in np.unique(requesters).tolist():
            rung = [queue for owner, queue in self.doorbells.counts() if owner == requester]
            for low in range(_LOW_QUEUES):
                fitting = [queue for queue in rung if queue % _LOW_QUEUES == low]
                if fitting != [low] and fitting:
                    named[(requesters == requester) & (queues == low)] = fitting[0] if len(fitting) == 1 else UNKNOWN
        return named

    def _answers(self, block: Block, steps: Steps, is_tail: Array) -> Array:
        """Return the queues of answers to fetches: that of the oldest doorbell that none followed, if all such ones are of one queue.

        They are in the order of the steps; :data:`UNSURE` where doorbells of several queues were waiting.
        """
        found = []
        rows = steps.rows
        owner, answers, tails = block.owner[rows], (block.what == ev.ANSWER)[rows], is_tail[rows]
        for requester in np.unique(owner[answers]).tolist():
            mine = owner == requester
            waiting, known = self._rung.get(requester, (np.empty(0, dtype=np.int64), set()))
            queues = np.concatenate((waiting, block.queue[rows[mine & tails]]))
            known = known | set(np.unique(queues).tolist())
            before = len(waiting) + np.cumsum(tails[mine])[answers[mine]]
            number = np.arange(len(before))
            at = number + np.minimum(np.minimum.accumulate(before - 1 - number), 0)
            # Where the queue changes next.
            changes = np.flatnonzero(queues[1:] != queues[:-1]) + 1
            end = np.append(changes, len(queues))[np.searchsorted(changes, at, side="right")]
            is_first = np.append(True, at[1:] > at[:-1])
            is_sure = (len(known) == 1) | ((end >= before) & is_first)
            told = np.append(queues, UNKNOWN)[at] if len(queues) else np.full(len(at), UNKNOWN)
            found.append(np.where(before == 0, UNKNOWN, np.where(is_sure, told, UNSURE)))
            self._rung[requester] = queues[max(int(at[-1]) + 1, 0) :] if len(at) else queues, known
        return np.concatenate(found)

    def _see_small(self, block: Block, steps: Steps) -> None:
        mask = (block.what == ev.SMALL_WRITE) & ~block.is_doorbell
        rows = steps.rows
        behind = steps.behind(~block.is_doorbell)
        mine = mask[rows]
        rows, behind = rows[mine], behind[mine]
        is_index = (behind >= 0) & (block.what[behind] == ev.SMALL_READ) & (block.offset[behind] == block.offset[rows])
        offsets = block.offset[rows]
        self._small.add(block.key[rows], np.ones(len(rows), dtype=np.int64), is_index.astype(np.int64), offsets, offsets)

    def interrupts(self) -> Array:
        """Return the pages whose small writes are interrupts, ascending: all to one address, and no event indexes."""
        keys, count, indexes, lowest, highest = self._small.rows()
        pages: Array = keys[(lowest == highest) & (indexes * 2 < count)]
        return pages


class Block:
    """The events of a block, column by column.

    Attributes
    ----------
    what, requester, page, offset, size, key : ndarray of int64
        What it is, its Requester ID, page, offset in it, slots or bytes, and the key of the page.
    owner : ndarray of int64
        The drive that it is an event of, or -1.
    answered : dict
        The rows of answers to fetches with the queues that doorbells say, by whether doorbells in memory do.
    """

    def __init__(self, events: Array) -> None:
        self.events = events
        self.answered: dict[bool, tuple[Array, Array]] = {}
        self.what, self.requester, self.size = what_of(events), requester_of(events), size_of(events)
        address = events[:, ev.ADDRESS]
        self.page, self.offset = address >> _OFFSET_BITS & _PAGES, address & _OFFSETS
        self.key = key_of(self.requester, address)
        self.is_fetch, self.is_entry = self.what == ev.FETCH, self.what == ev.RECORD
        self.is_doorbell: Array = np.zeros(len(events), dtype=np.bool_)
        self.owner: Array = np.where(self.what == ev.BREAK, -1, self.requester)
        self._base: Array = np.zeros(len(events), dtype=np.int64)

    def own(self, owners: dict[int, tuple[int, int]]) -> None:
        """Give doorbells to their drives."""
        written = np.flatnonzero(self.is_doorbell)
        self.owner[written] = -1
        for page in np.unique(self.page[written]).tolist():
            if page in owners:
                rows = written[self.page[written] == page]
                self.owner[rows], self._base[rows] = owners[page]

    @property
    def steps(self) -> Steps:
        """The events of all drives, in their order."""
        return Steps.of(self.owner)

    @property
    def queue(self) -> Array:
        """The queue of each doorbell, in registers or in memory."""
        queues: Array = self._base + (self.offset >> _DOORBELL_BITS)
        return queues

    def queue_at(self, rows: Array) -> Array:
        """Return the queues of doorbells; -1 where there is no row."""
        queues: Array = np.where(rows >= 0, self.queue[rows], UNKNOWN)
        return queues
