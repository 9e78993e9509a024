"""The sums of a part of a recording: by requester, by page, and at both ends."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_IO_REQUESTERS
from ptttool.analyses.io.edges import Edge, Flight, Joint, Window, join
from ptttool.analyses.io.reads import PAGE, SECTOR, Groups, Lists, Sort, sorted_out
from ptttool.analyses.io.tables import Keys, Numbers, SmallTable, Table, WalkTable, page_key, page_keys
from ptttool.analyses.sums import starts_of, summed
from ptttool.table.batch import Batch
from ptttool.tlp.columns import KINDS

ENTRY: Final = 64
"""Bytes of a submission queue entry."""
SLOT: Final = 16
"""Bytes of a completion queue entry, and of a descriptor."""
# Entries that are fetched at once, at most: a read of 8 or more is taken for data, which are whole sectors.
_MOST_FETCHED: Final = SECTOR - ENTRY

_MRD, _MWR = KINDS.index("MRd"), KINDS.index("MWr")
_DATA_COMPLETIONS: Final = (KINDS.index("CplD"), KINDS.index("CplDLk"))
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class Sum(IntEnum):
    """Columns of the sums by requester."""

    TLPS = 0
    WRITES = 1
    WRITE_BYTES = 2
    READS = 3
    READ_BYTES = 4
    DATA_WRITE_BYTES = 5
    """Bytes of writes that are data wherever they go: not of 16 bytes, and not small ones by themselves."""
    READ_DATA = 6
    """Bytes of reads between fetches: data."""
    READ_LISTS = 7
    """Lists, without those in the table of pages."""
    EMPTY = 8
    """Fetches that no read but a fetch followed."""
    IN_A_ROW = 9
    """Fetches that followed on a fetch, with not even a small read between."""
    COMPLETIONS = 10
    COMPLETION_BYTES = 11
    ENTRY_COMPLETIONS = 12
    """Completions that answer a read of 64 bytes as a whole."""
    SLOT_COMPLETIONS = 13
    """Completions that answer a read of 16 bytes as a whole."""
    LARGE_COMPLETION_BYTES = 14
    """Bytes of completions of all reads of 16 bytes and more but those."""
    UNEVEN = 15
    """Reads of 16 bytes and more, and completions of such, of no whole number of 8 bytes: neither sectors nor entries of lists."""


class Counts:
    """What a part of a recording holds.

    Attributes
    ----------
    sums : Table
        By requester: the columns of :class:`Sum`.
    entries : WalkTable
        Reads of 64 bytes, or some times 64: fetches of commands.
    descriptors : WalkTable
        Reads of 16 bytes.
    records : WalkTable
        Writes of 16 bytes: completion queue entries, descriptors written back.
    small_writes, small_reads : SmallTable
        Of less than 16 bytes: interrupts, shadow doorbells.
    lists : Table
        Reads that may be lists, by page: the columns of :class:`.Lists`.
    edges : dict of int to Edge
        Both ends, by requester.
    """

    def __init__(self) -> None:
        self.sums = Table(len(Sum), MAX_IO_REQUESTERS)
        self.entries = WalkTable(ENTRY)
        self.descriptors = WalkTable(SLOT)
        self.records = WalkTable(SLOT)
        self.small_writes = SmallTable()
        self.small_reads = SmallTable()
        self.lists = Table(len(Lists))
        self.edges: dict[int, Edge] = {}

    @classmethod
    def of(cls, batch: Batch, at: npt.NDArray[np.int64] | None) -> Counts:
        """Return the sums of a batch; `at`: ticks of its rows, where they are known."""
        counts = cls()
        if batch.values("kind").array is not None and batch.values("requester").array is not None:
            _Part(batch, at, counts).add()
        return counts

    def merge(self, later: Counts, ticks: int = 0) -> None:
        """Add the part behind, whose ticks begin so many later."""
        for table, behind in (
            (self.entries, later.entries), (self.descriptors, later.descriptors), (self.records, later.records),
        ):  # fmt: skip
            behind.shift(ticks)
            table.merge(behind)
        self.small_writes.merge(later.small_writes)
        self.small_reads.merge(later.small_reads)
        self.lists.merge(later.lists)
        self.sums.merge(later.sums)
        joints = []
        for requester, behind_edge in later.edges.items():
            behind_edge.flight.shift(ticks)
            edge = self.edges.get(requester)
            if edge is None:
                self.edges[requester] = behind_edge
            else:
                joints.append((requester, join(requester, edge, behind_edge)))
        self._add_joints(joints)
        if len(self.edges) > MAX_IO_REQUESTERS:
            self.edges = {requester: self.edges[requester] for requester in sorted(self.edges)[:MAX_IO_REQUESTERS]}

    def _add_joints(self, joints: list[tuple[int, Joint]]) -> None:
        self.add_groups(Groups.of([(requester, joint.group) for requester, joint in joints if joint.group is not None]))
        for requester, joint in joints:
            if joint.fetches_in_a_row:
                self._add_sum(requester, Sum.IN_A_ROW, 1)
            if joint.data_descriptor is not None:
                self.descriptors.follow(joint.data_descriptor)
            if joint.small_write is not None:
                self.add_small_write(requester, joint.small_write, is_data=joint.is_data)

    def add_small_write(self, requester: int, write: tuple[int, int], *, is_data: bool) -> None:
        """Add a small write, now that it is known what was in front of it."""
        address, size = write
        if is_data:
            self._add_sum(requester, Sum.DATA_WRITE_BYTES, size)
            return
        addresses = np.array([address], dtype=np.uint64)
        self.small_writes.see(page_keys(np.array([requester], dtype=np.uint64), addresses), addresses, np.array([size], dtype=np.int64))

    def _add_sum(self, requester: int, column: Sum, value: int) -> None:
        row = np.zeros((1, len(Sum)), dtype=np.int64)
        row[0, column] = value
        self.sums.add(np.array([requester], dtype=np.uint64), row)

    def add_groups(self, groups: Groups) -> None:
        """Add what was read between two fetches each."""
        if not len(groups.requesters):
            return
        sums, which, rows = sorted_out(groups)
        requesters, sums = summed((np.add,), groups.requesters.astype(np.uint64), sums)
        by_requester = np.zeros((len(requesters), len(Sum)), dtype=np.int64)
        for column, sort in ((Sum.READ_DATA, Sort.DATA), (Sum.READ_LISTS, Sort.LIST), (Sum.EMPTY, Sort.EMPTY)):
            by_requester[:, column] = sums[:, sort]
        self.sums.add(requesters, by_requester)
        self.lists.add(page_keys(groups.requesters[which].astype(np.uint64), groups.fields[which, 1].view(np.uint64)), rows)


class _Part:
    """Adds a batch to sums that are still empty."""

    def __init__(self, batch: Batch, at: npt.NDArray[np.int64] | None, counts: Counts) -> None:
        self.counts = counts
        self.at = at
        self.kinds: Any = batch.values("kind").array
        self.indexes: Any = batch.values("index").array
        self.requesters: Any = batch.values("requester").array
        self.valid = batch.values("requester").valid
        self.addresses: Any = batch.values("address").array
        self.lengths: Any = batch.values("length_dw").array
        self.requested: Any = batch.values("requested_bytes").array
        self.byte_counts: Any = batch.values("byte_count").array

    def add(self) -> None:
        """Add all rows."""
        requesters, rows = self._by_requester(np.arange(len(self.kinds)) if self.valid is None else np.flatnonzero(self.valid))
        if not len(rows):
            return
        starts = starts_of(requesters)
        sums = np.zeros((len(starts), len(Sum)), dtype=np.int64)
        sums[:, Sum.TLPS] = np.diff(np.append(starts, len(rows)))
        self.unique = requesters[starts].astype(np.uint64)
        for requester in self.unique[:MAX_IO_REQUESTERS].tolist():
            self.counts.edges[requester] = Edge()
        kinds = self.kinds.take(rows)
        self.group_of_fetch: Numbers = np.empty((0, 11), dtype=np.int64)
        self.owners_of_fetches: Numbers = np.empty(0, dtype=np.int64)
        self.data_writes = _NO_ROWS
        self.counts.sums.add(self.unique, sums)
        reads, writes = (rows.take(np.flatnonzero(kinds == kind)) for kind in (_MRD, _MWR))
        fetches = self._add_reads(reads) if len(reads) else _NO_ROWS
        completed = self._add_writes(writes) if len(writes) else _NO_ROWS
        self._add_flight(fetches, completed)
        answers = rows.take(np.flatnonzero((kinds == _DATA_COMPLETIONS[0]) | (kinds == _DATA_COMPLETIONS[1])))
        if len(answers):
            self._add_completions(answers)

    def _by_requester(self, rows: Rows) -> tuple[Any, Rows]:
        requesters = self.requesters[rows] if len(rows) != len(self.requesters) else self.requesters
        requesters = requesters.astype(np.uint16, copy=False)
        if len(rows) and (requesters[1:] < requesters[:-1]).any():
            order = np.argsort(requesters, kind="stable")
            requesters, rows = requesters.take(order), rows.take(order)
        return requesters, rows

    def _sum(self, rows: Rows, values: dict[Sum, Any]) -> None:
        """Add values of rows, which are in the order of requesters, to the sums by requester."""
        requesters = self.requesters.take(rows).astype(np.uint64)
        starts = starts_of(requesters)
        sums = np.zeros((len(starts), len(Sum)), dtype=np.int64)
        for column, value in values.items():
            sums[:, column] = np.add.reduceat(value, starts, dtype=np.int64)
        self.counts.sums.add(requesters[starts], sums)

    def _sizes(self, rows: Rows) -> tuple[Numbers, Numbers]:
        """Return the bytes of requests: of their DWs, and without those that are disabled."""
        return self.lengths.take(rows).astype(np.int64) << 2, self.requested.take(rows).astype(np.int64)

    def _add_reads(self, rows: Rows) -> Rows:
        """Add reads, and return the fetches."""
        counts = self.counts
        requesters = self.requesters.take(rows).astype(np.uint64)
        addresses = self.addresses.take(rows).astype(np.uint64, copy=False)
        sizes, enabled = self._sizes(rows)
        keys = page_keys(requesters, addresses)
        ticks = None if self.at is None else self.at[rows]
        low = addresses.astype(np.uint8)  # their lowest bits
        is_small = sizes < SLOT
        uneven = ~is_small & ((enabled | low) & 7 != 0)
        self._sum(rows, {Sum.READS: np.ones(len(rows), dtype=np.int64), Sum.READ_BYTES: enabled, Sum.UNEVEN: uneven})
        is_fetch = (sizes == ENTRY) & (low & (ENTRY - 1) == 0)
        is_entry = is_fetch | ((sizes & (ENTRY - 1) == 0) & (sizes <= _MOST_FETCHED) & (low & (ENTRY - 1) == 0))
        is_descriptor = (sizes == SLOT) & (low & (SLOT - 1) == 0)
        other = requesters[1:] != requesters[:-1]
        followed = np.zeros(len(rows), dtype=np.bool_)
        followed[:-1] = is_descriptor[:-1] & ~is_descriptor[1:] & ~other
        in_a_row = np.zeros(len(rows), dtype=np.bool_)
        in_a_row[1:] = is_fetch[1:] & is_fetch[:-1] & ~other
        if in_a_row.any():
            self._sum(rows, {Sum.IN_A_ROW: in_a_row})
        small = np.flatnonzero(is_small)
        counts.small_reads.see(keys.take(small), addresses.take(small), enabled.take(small))
        for table, mask in ((counts.entries, is_entry), (counts.descriptors, is_descriptor)):
            chosen = np.flatnonzero(mask)
            if len(chosen):
                then = None if ticks is None else ticks.take(chosen)
                table.see(keys.take(chosen), addresses.take(chosen), sizes.take(chosen), then, followed.take(chosen))
        starts = starts_of(requesters)
        for start, end in zip(starts.tolist(), np.append(starts[1:], len(rows)).tolist(), strict=True):
            edge = counts.edges.get(int(requesters[start]))
            if edge is None:
                break  # requesters ascend
            edge.has_reads = True
            edge.begins_with_fetch, edge.ends_with_fetch = bool(is_fetch[start]), bool(is_fetch[end - 1])
            edge.begins_with_descriptor = bool(is_descriptor[start])
            edge.open_descriptor = int(keys[end - 1]) if is_descriptor[end - 1] else None
        large = np.flatnonzero(~is_small)
        if len(large):
            self._add_runs(requesters.take(large), addresses.take(large), sizes.take(large), is_fetch.take(large))
        fetches: Rows = rows.take(np.flatnonzero(is_fetch))
        return fetches

    def _add_runs(self, requesters: Keys, addresses: Keys, sizes: Numbers, is_fetch: Mask) -> None:
        """Add what was read between fetches."""
        begins = is_fetch.copy()
        begins[0] = True
        begins[1:] |= requesters[1:] != requesters[:-1]
        segments = np.cumsum(begins.astype(np.int64)) - 1
        heads = np.flatnonzero(begins)
        fields = np.zeros((len(heads), 11), dtype=np.int64)
        rows = np.flatnonzero(~is_fetch)
        if len(rows):
            own, at, size = segments.take(rows), addresses.take(rows), sizes.take(rows)
            ends = at + size.astype(np.uint64)
            same = own[1:] == own[:-1]
            follows = same & (at[1:] == ends[:-1])
            new = np.ones(len(rows), dtype=np.bool_)
            new[1:] = ~(follows & (at[1:] // np.uint64(PAGE) == at[:-1] // np.uint64(PAGE)))
            gap = np.zeros(len(rows), dtype=np.bool_)
            gap[1:] = same & ~follows
            runs = np.flatnonzero(new)
            run_bytes = np.add.reduceat(size, runs)
            owner, first_at, run_gap = own[runs], at[runs].view(np.int64), gap[runs]
            starts_or_ends = (first_at % PAGE == 0) | ((first_at + run_bytes) % PAGE == 0)
            uneven = run_bytes % SECTOR != 0
            odd, inner = uneven & starts_or_ends, uneven & ~starts_or_ends
            first = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1])))
            last = np.append(first[1:], len(runs)) - 1
            summed = (run_bytes, odd, run_bytes * odd, inner, run_bytes * inner, run_gap)
            fields[owner[first]] = np.stack(
                (
                    last - first + 1, first_at[first], run_bytes[first], first_at[last], run_bytes[last],
                    *(np.add.reduceat(each, first, dtype=np.int64) for each in summed),
                ),
                axis=1,
            )  # fmt: skip
        owners = requesters[heads].astype(np.int64)
        groups = Groups(owners, fields)
        self.group_of_fetch, self.owners_of_fetches = fields[is_fetch[heads]], owners[is_fetch[heads]]
        is_last = np.ones(len(heads), dtype=np.bool_)
        is_last[:-1] = owners[1:] != owners[:-1]
        for number in np.flatnonzero(is_last).tolist():
            edge = self.counts.edges.get(int(owners[number]))
            if edge is None:
                break
            if is_fetch[heads[number]]:
                edge.has_fetches, edge.tail = True, groups.group(number)
            else:
                edge.head = groups.group(number)
        is_first = np.ones(len(heads), dtype=np.bool_)
        is_first[1:] = is_last[:-1]
        without = is_first & ~is_last & ~is_fetch[heads]
        for number in np.flatnonzero(without).tolist():
            edge = self.counts.edges.get(int(owners[number]))
            if edge is None:
                break
            edge.head = groups.group(number)
        self.counts.add_groups(groups.take(~is_last & ~without))

    def _add_writes(self, rows: Rows) -> Rows:
        """Add writes, and return those of 16 bytes."""
        counts = self.counts
        requesters = self.requesters.take(rows).astype(np.uint64)
        addresses = self.addresses.take(rows).astype(np.uint64, copy=False)
        sizes, enabled = self._sizes(rows)
        is_small = sizes < SLOT
        is_record = (sizes == SLOT) & (addresses.astype(np.uint8) & (SLOT - 1) == 0)
        begins = np.ones(len(rows), dtype=np.bool_)
        begins[1:] = requesters[1:] != requesters[:-1]
        is_tail = np.zeros(len(rows), dtype=np.bool_)
        is_tail[1:] = is_small[1:] & ~is_small[:-1] & ~begins[1:] & (addresses[1:] == (addresses + sizes.astype(np.uint64))[:-1])
        is_data = ~(is_small | is_record) | is_tail
        self.data_writes = rows.take(np.flatnonzero(is_data))
        self._sum(
            rows,
            {Sum.WRITES: np.ones(len(rows), dtype=np.int64), Sum.WRITE_BYTES: enabled, Sum.DATA_WRITE_BYTES: enabled * is_data},
        )
        keys = page_keys(requesters, addresses)
        records = np.flatnonzero(is_record)
        completed: Rows = rows.take(records)
        if len(records):
            ticks = None if self.at is None else self.at.take(completed)
            counts.records.see(keys.take(records), addresses.take(records), sizes.take(records), ticks)
        known = np.flatnonzero(is_small & ~is_tail & ~begins)
        counts.small_writes.see(keys.take(known), addresses.take(known), enabled.take(known))
        starts = np.flatnonzero(begins)
        for start, end in zip(starts.tolist(), np.append(starts[1:], len(rows)).tolist(), strict=True):
            edge = counts.edges.get(int(requesters[start]))
            if edge is None:
                break
            edge.has_writes = True
            edge.small_write = (int(addresses[start]), int(enabled[start])) if is_small[start] else None
            edge.data_end = None if is_small[end - 1] else int(addresses[end - 1]) + int(sizes[end - 1])
        return completed

    def _add_flight(self, fetches: Rows, completed: Rows) -> None:
        """Follow the commands in flight; rows are in the order of requesters."""
        data = self._places(self.data_writes)
        rows = np.concatenate((fetches, completed))
        places = self._places(rows)
        order = np.argsort(places)
        places = places[order]
        is_fetch = (order < len(fetches)).astype(np.int64)
        requesters = places >> 32
        so_far = np.cumsum(2 * is_fetch - 1)
        for requester in np.flatnonzero(np.bincount(np.concatenate((requesters, data >> 32)))).tolist():
            edge = self.counts.edges.get(requester)
            if edge is None:
                break
            start, end = np.searchsorted(requesters, (requester, requester + 1)).tolist()
            first_data = int(data[np.searchsorted(data, requester << 32)]) if len(data) and data[-1] >= requester << 32 else 1 << 62
            if start == end:
                edge.first_window.has_written = first_data >> 32 == requester
                continue
            levels = so_far[start:end] - (int(so_far[start - 1]) if start else 0)
            edge.flight = Flight.of(levels, None if self.at is None else self.at[places[start:end] & 0xFFFFFFFF])
            most = int(np.argmax(levels))
            if levels[most] > 0:
                row = int(places[start + most]) & 0xFFFFFFFF
                edge.flight.highest, edge.flight.highest_index = int(levels[most]), int(self.indexes[row])
            edge.first_window = Window(first_data < int(places[start]), True, not is_fetch[start])
            self._add_windows(edge, requester, places[start:end], is_fetch[start:end], levels, data)

    def _places(self, rows: Rows) -> Numbers:
        """Return numbers that sort rows by requester, then by their order."""
        places: Numbers = (self.requesters.take(rows).astype(np.int64) << 32) | rows
        return places

    def _add_windows(self, edge: Edge, requester: int, places: Numbers, is_fetch: Numbers, levels: Numbers, data: Numbers) -> None:
        """Look at what a drive did from each fetch to the next fetch or completion."""
        fetches = np.flatnonzero(is_fetch)
        if not len(fetches):
            return
        low, high = np.searchsorted(self.owners_of_fetches, (requester, requester + 1)).tolist()
        groups = self.group_of_fetch[low:high]
        chosen = np.flatnonzero(
            (groups[:, 0] == 1) & (groups[:, 1] & (PAGE - 1) == 0) & (groups[:, 2] == PAGE) & (levels[fetches] - 1 == edge.flight.lowest)
        )
        last = len(fetches) - 1
        for number in {*chosen.tolist(), last}:
            at = int(fetches[number])
            is_over = at + 1 < len(places)
            until = int(places[at + 1]) if is_over else (requester + 1) << 32
            written = int(np.searchsorted(data, until) - np.searchsorted(data, places[at])) > 0
            window = Window(written, is_over, is_over and not is_fetch[at + 1], int(levels[at]) - 1)
            if number == last:
                edge.last_window = window
            elif window.completes and window.has_written:
                edge.lone_lists.add(page_key(requester, int(groups[number, 1]) & ((1 << 64) - 1)))

    def _add_completions(self, rows: Rows) -> None:
        sizes = self.lengths.take(rows).astype(np.int64) << 2
        asked = self.byte_counts.take(rows).astype(np.int64) if self.byte_counts is not None else np.zeros(len(rows), dtype=np.int64)
        entry = (sizes == ENTRY) & (asked == ENTRY)
        slot = (sizes == SLOT) & (asked == SLOT)
        self._sum(
            rows,
            {
                Sum.COMPLETIONS: np.ones(len(rows), dtype=np.int64),
                Sum.COMPLETION_BYTES: sizes,
                Sum.ENTRY_COMPLETIONS: entry,
                Sum.SLOT_COMPLETIONS: slot,
                Sum.UNEVEN: (asked >= SLOT) & (asked & 7 != 0),
                Sum.LARGE_COMPLETION_BYTES: np.where(entry | slot | (sizes < SLOT), 0, sizes),
            },
        )


_NO_ROWS: Final[Rows] = np.empty(0, dtype=np.intp)
