"""The analysis ``payload``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ptttool.analyses.budget import MAX_PAYLOAD_REQUESTERS
from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.needs import Need
from ptttool.analyses.payload.document import Operation, Payload
from ptttool.analyses.payload.groups import COUNTS, FIRST, LINES, LONG, SECOND, SIZES, THIRD, GroupSums, groups_of, notes_on
from ptttool.analyses.regions import is_translated
from ptttool.analyses.sums import NO_ROW, Array, distinct
from ptttool.table.values import spread
from ptttool.tlp.columns import DIRECTIONS, KINDS

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

# Rows worked on at a time: their arrays fit into a processor's second-level cache.
_STEP: Final = 1 << 15

_OPERATIONS = tuple(Operation)
_NONE = len(_OPERATIONS)
_READ, _TRANSLATION = _OPERATIONS.index(Operation.READ), _OPERATIONS.index(Operation.TRANSLATION)
# PCIe 6.x, Table 10-1: the Address Type.
_TRANSLATION_REQUEST: Final = 1
_OPERATION_OF: Final[Array] = np.full(len(KINDS), _NONE, dtype=np.intp)
for _kind, _operation in (("MWr", 0), ("MRd", 2), ("MRdLk", 2), ("CplD", 3), ("CplDLk", 3)):
    _OPERATION_OF[KINDS.index(_kind)] = _operation
_GROUPS = len(DIRECTIONS) * len(_OPERATIONS)
# Bytes that each value of byte enables takes.
_BITS: Final[Array] = np.array([value.bit_count() for value in range(16)], dtype=np.intp)
# Stands for requesters beyond the budget.
_OTHERS: Final = 1 << 16


class PayloadAnalysis(Analysis[Payload]):
    """Counts TLPs by requester, direction, operation and size."""

    name = "payload"
    meaning = "sizes of writes, read requests and completions, against what is set: MPS, MRRS, RCB; alignment, efficiency"
    columns = (
        "index",
        "kind",
        "direction",
        "requester",
        "length_dw",
        "address",
        "first_be",
        "last_be",
        "byte_count",
        "lower_address",
        "at",
    )
    sums_recordings = True
    needs = (
        Need("sizes of what devices write", "--direction inbound", inbound=("P",), is_vital=False),
        Need("sizes of what devices ask for", "--direction inbound", inbound=("NP",), is_vital=False),
        Need("sizes of the completions that devices get", "--direction both --type np,cpl", outbound=("CPL",), is_vital=False),
    )

    def __init__(self) -> None:
        # The groups by place, and the place of each group that can be; -1 for those without TLPs.
        self._groups: list[int] = []
        self._place_of = _no_places()
        self._requesters = {_OTHERS}
        # By place: TLPs by length in DWs, numbers of the first of them, and what is counted besides.
        self._sizes: Array = np.zeros((0, SIZES), dtype=np.int64)
        self._first: Array = np.zeros((0, SIZES), dtype=np.int64)
        self._counts: Array = np.zeros((0, COUNTS), dtype=np.int64)
        self._has_indexes = True
        self._others = 0
        # Whether there are records that do not hold the Address Type.
        self._is_mixed = False

    def __getstate__(self) -> dict[str, object]:
        """Leave out the large table that follows from the groups."""
        return {name: value for name, value in self.__dict__.items() if name != "_place_of"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._place_of = _no_places()
        self._place_of[self._groups] = np.arange(len(self._groups))

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        arrays: dict[str, Any] = {name: batch.values(name).array for name in self.columns}
        parts = [
            self._add({name: None if array is None else array[start : start + _STEP] for name, array in arrays.items()})
            for start in range(0, batch.size, _STEP)
        ]
        if parts:
            # The tables of sizes are large: they are added to once.
            cells, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
            self._sizes += np.bincount(cells, minlength=self._sizes.size).reshape(self._sizes.shape)
            unseen = np.flatnonzero(self._first.take(cells) == NO_ROW)[::-1]
            self._first.put(cells[unseen], numbers[unseen])  # the last one put stays, which is the first one

    def _places(self, groups: Array) -> Array:
        """Return the places of groups."""
        places = self._place_of.take(groups)
        if (places < 0).any():
            self._add_groups(distinct(groups[places < 0]).tolist())
            places = self._place_of.take(groups)
        return places.astype(np.intp)

    def _add_groups(self, groups: Iterable[int]) -> None:
        """Give groups a place; those of too many requesters have one together."""
        for group in groups:
            requester, rest = divmod(group, _GROUPS)
            if requester not in self._requesters and len(self._requesters) > MAX_PAYLOAD_REQUESTERS:
                requester = _OTHERS
            self._requesters.add(requester)
            shared = requester * _GROUPS + rest
            if self._place_of[shared] < 0:
                self._place_of[shared] = len(self._groups)
                self._groups.append(shared)
            self._place_of[group] = self._place_of[shared]
        room = ((0, len(self._groups) - len(self._counts)), (0, 0))
        self._counts, self._sizes = np.pad(self._counts, room), np.pad(self._sizes, room)
        self._first = np.pad(self._first, room, constant_values=NO_ROW)

    def _add(self, part: dict[str, Any]) -> tuple[Array, Array]:
        """Add some TLPs; return for each that counts its cell in the tables of sizes, and its number."""
        index = part["index"]
        part["index"] = spread(index) if isinstance(index, range) else index
        operation = _OPERATION_OF.take(part["kind"])
        rows = np.flatnonzero(operation < _NONE)
        if len(rows) < len(operation):
            self._others += len(operation) - len(rows)
            if not len(rows):
                return rows, part["index"].take(rows)
            part = {name: None if array is None else array.take(rows) for name, array in part.items()}
            operation = operation.take(rows)
        lengths = part["length_dw"].astype(np.intp)
        if part["at"] is None:
            self._is_mixed |= bool((operation == _READ).any())
        else:
            operation[(operation == _READ) & (part["at"] == _TRANSLATION_REQUEST)] = _TRANSLATION
        operation += (operation == 0) & (lengths == 1)
        groups = part["requester"].astype(np.intp) * _GROUPS
        groups += part["direction"].astype(np.intp) * len(_OPERATIONS)
        groups += operation
        places = self._places(groups)
        self._add_requests(part, places, operation, lengths)
        self._add_completions(part, places, operation, lengths)
        return places * SIZES + lengths, part["index"]

    def _add_requests(self, part: dict[str, Any], places: Array, operation: Array, lengths: Array) -> None:
        if part["address"] is None:
            return
        is_request = operation < _OPERATIONS.index(Operation.COMPLETION)
        addresses = part["address"]
        self._count(LONG, places, is_request & (addresses >> np.uint64(32) != 0))
        low = addresses.astype(np.uint32)
        is_write = operation <= 1
        # A write of no byte at all ends where it begins.
        first, last = (np.zeros(len(low), dtype=np.uint8) if part[name] is None else part[name] for name in ("first_be", "last_be"))
        last = np.where(lengths == 1, first, last)
        begins = is_write & (low & 63 == 0)
        self._count(FIRST, places, begins & ((first & 1 != 0) | (first == 0)))
        self._count(SECOND, places, np.where(last == 0, begins, is_write & ((low + 4 * lengths) & 63 == 0) & (last & 8 != 0)))
        # What fills whole lines of both sizes, as most writes do, is done.
        partial = np.flatnonzero(is_write & (((low >> 2 | lengths) & 31 != 0) | (first & last != 15)))
        if len(partial):
            at, dws = (low.take(partial) >> 2).astype(np.intp), lengths.take(partial)
            left_out = [4 - _BITS.take(each.take(partial)) for each in (first, last)]
            self._add_lines(places.take(partial), at, dws, *left_out)

    def _add_lines(self, places: Array, at: Array, dws: Array, left_first: Array, left_last: Array) -> None:
        """Add lines that writes fill partly, by the number of their first DW, their DWs, and the bytes left out of the first and last."""
        for line, what in LINES.items():
            size = line >> 2
            begin = at & size - 1
            end = begin + dws
            is_one = end <= size
            # The bytes that are written of the first line, and of the last one where that is another.
            heads = 4 * np.where(is_one, dws, size - begin) - left_first - np.where(is_one & (dws > 1), left_last, 0)
            tails = np.where(is_one, 0, 4 * ((end - 1 & size - 1) + 1) - left_last)
            parts = [np.where((each > 0) & (each < line), each, 0) for each in (heads, tails)]
            lines = (parts[0] > 0).astype(np.intp) + (parts[1] > 0)
            for number, amounts in enumerate((lines > 0, lines, parts[0] + parts[1])):
                self._counts[:, what + number] += np.bincount(places, amounts, len(self._counts)).astype(np.int64)

    def _add_completions(self, part: dict[str, Any], places: Array, operation: Array, lengths: Array) -> None:
        rows = np.flatnonzero(operation == _OPERATIONS.index(Operation.COMPLETION))
        if part["byte_count"] is None or not len(rows):
            return
        lower = part["lower_address"].take(rows).astype(np.intp)
        carried = 4 * lengths.take(rows) - (lower & 3)
        followed = np.flatnonzero(part["byte_count"].take(rows) > carried)
        end, places = (lower + carried).take(followed), places.take(rows.take(followed))
        self._count(FIRST, places, np.ones(len(places), dtype=np.bool_))
        self._count(SECOND, places, end & 63 == 0)
        self._count(THIRD, places, end & 127 == 0)

    def _count(self, what: int, places: Array, mask: Array) -> None:
        self._counts[:, what] += np.bincount(places.take(np.flatnonzero(mask)), minlength=len(self._counts))

    def merge(self, later: PayloadAnalysis) -> None:
        """Add the sums of the TLPs behind."""
        self._add_groups(later._groups)
        places = self._place_of.take(later._groups)
        np.add.at(self._counts, places, later._counts)  # several may have one place
        np.add.at(self._sizes, places, later._sizes)
        np.minimum.at(self._first, places, later._first)
        self._others += later._others
        self._is_mixed |= later._is_mixed
        self._has_indexes &= later._has_indexes

    def add_recording(self, other: PayloadAnalysis) -> None:
        """Add the sums of another recording; together their TLPs have no numbers."""
        self.merge(other)
        self._has_indexes = False

    def result(self, context: AnalysisContext) -> Payload:
        """Return the groups, and what stands out."""
        sizes: dict[str, dict[str, int]] = {}
        operations = np.array(self._groups, dtype=np.intp) % len(_OPERATIONS)
        for number in distinct(operations).tolist():
            whole = self._sizes[operations == number].sum(axis=0)
            sizes[_OPERATIONS[number].value] = {str(4 * dws): int(whole[dws]) for dws in np.flatnonzero(whole).tolist()}
        groups = groups_of([self._sums(place) for place in range(len(self._groups))], context.machine)
        return Payload(groups, self._others, list(notes_on(groups, self._is_mixed and bool(is_translated(context.machine)))), sizes)

    def _sums(self, place: int) -> GroupSums:
        requester, rest = divmod(self._groups[place], _GROUPS)
        direction, operation = divmod(rest, len(_OPERATIONS))
        return GroupSums(
            requester=None if requester == _OTHERS else requester,
            direction=DIRECTIONS[direction],
            operation=_OPERATIONS[operation],
            sizes=self._sizes[place],
            counts=self._counts[place].tolist(),
            first=self._first[place] if self._has_indexes else None,
        )


def _no_places() -> Array:
    return np.full((_OTHERS + 1) * _GROUPS, -1, dtype=np.int16)


ANALYSES.add("payload", PayloadAnalysis)
