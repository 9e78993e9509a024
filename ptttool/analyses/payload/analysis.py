"""The analysis ``payload``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_PAYLOAD_REQUESTERS
from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.needs import Need
from ptttool.analyses.payload.document import Operation, Payload
from ptttool.analyses.payload.extremes import Extremes
from ptttool.analyses.payload.groups import COUNTS, FIRST, LONG, SECOND, SIZES, THIRD, GroupSums, groups_of, notes_on
from ptttool.analyses.sums import distinct
from ptttool.tlp.columns import DIRECTIONS, KINDS

if TYPE_CHECKING:
    from ptttool.table.batch import Batch

# Rows worked on at a time: their arrays fit into a processor's second-level cache.
_STEP: Final = 1 << 15

Sums = npt.NDArray[np.int64]

_OPERATIONS = tuple(Operation)
_NONE = len(_OPERATIONS)
_CODES = {
    "MWr": Operation.WRITE,
    "MRd": Operation.READ,
    "MRdLk": Operation.READ,
    "CplD": Operation.COMPLETION,
    "CplDLk": Operation.COMPLETION,
}
_OPERATION_OF = np.array([_OPERATIONS.index(_CODES[kind]) if kind in _CODES else _NONE for kind in KINDS], dtype=np.intp)
_GROUPS = len(DIRECTIONS) * len(_OPERATIONS)
_NO_GROUPS: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)


class PayloadAnalysis(Analysis[Payload]):
    """Counts TLPs by requester, direction, operation and size."""

    name = "payload"
    meaning = "sizes of writes, read requests and completions, against what is set: MPS, MRRS, RCB; alignment, efficiency"
    columns = ("index", "kind", "direction", "requester", "length_dw", "address", "first_be", "last_be", "byte_count", "lower_address")
    sums_recordings = True
    needs = (
        Need("sizes of what devices write", "--direction inbound", inbound=("P",), is_vital=False),
        Need("sizes of what devices ask for", "--direction inbound", inbound=("NP",), is_vital=False),
        Need("sizes of the completions that devices get", "--direction both --type np,cpl", outbound=("CPL",), is_vital=False),
    )

    def __init__(self) -> None:
        # Row 0 is for requesters beyond the budget.
        self._requesters: list[int] = [-1]
        self._row_of: npt.NDArray[np.intp] = np.full(1 << 16, -1, dtype=np.intp)
        # Sizes by group; few of all groups have TLPs: where each is, -1 for those without.
        self._sizes: Sums = np.zeros((0, SIZES), dtype=np.int64)
        self._place_of: npt.NDArray[np.intp] = np.full(_GROUPS, -1, dtype=np.intp)
        self._counts: Sums = np.zeros((1, _GROUPS, COUNTS), dtype=np.int64)
        self._extremes = Extremes(_GROUPS)
        self._has_indexes = True
        self._others = 0

    def __getstate__(self) -> dict[str, object]:
        """Leave out the table that follows from the list of requesters."""
        return {name: value for name, value in self.__dict__.items() if name != "_row_of"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._row_of = np.full(1 << 16, -1, dtype=np.intp)
        self._row_of[self._requesters[1:]] = np.arange(1, len(self._requesters))

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        arrays = {name: batch.values(name).array for name in self.columns}
        found = []
        for start in range(0, batch.size, _STEP):
            part: dict[str, Any] = {name: None if array is None else array[start : start + _STEP] for name, array in arrays.items()}  # type: ignore[index]
            found.append(self._add(part))
        if found:
            # The table of sizes is large: it is added to once.
            groups, lengths = (np.concatenate(each) for each in zip(*found, strict=True))
            cells = self._places(groups) * SIZES + lengths
            self._sizes += np.bincount(cells, minlength=self._sizes.size).reshape(self._sizes.shape)

    def _places(self, groups: Any) -> Any:
        """Return where groups are in the table of sizes; they get a place there."""
        missing = np.flatnonzero((np.bincount(groups, minlength=len(self._place_of)) > 0) & (self._place_of < 0))
        if len(missing):
            count = len(self._sizes)
            self._place_of[missing] = np.arange(count, count + len(missing))
            self._sizes = np.concatenate((self._sizes, np.zeros((len(missing), SIZES), dtype=np.int64)))
        return self._place_of.take(groups)

    def _add(self, part: dict[str, Any]) -> tuple[Any, Any]:
        """Add some TLPs; return the group of each and its length."""
        index = part.pop("index")
        operation = _OPERATION_OF.take(part["kind"].astype(np.intp))
        wanted = operation < _NONE
        rows: Any = None
        if not wanted.all():
            rows = np.flatnonzero(wanted)
            self._others += len(operation) - len(rows)
            if not len(rows):
                return _NO_GROUPS, _NO_GROUPS
            part = {name: None if array is None else array.take(rows) for name, array in part.items()}
            operation = operation.take(rows)
        lengths = part["length_dw"].astype(np.intp)
        operation += (operation == 0) & (lengths == 1)
        groups = self._rows(part["requester"].astype(np.intp)) * _GROUPS
        groups += part["direction"].astype(np.intp) * len(_OPERATIONS)
        groups += operation
        beyond = self._extremes.beyond(groups, lengths)
        if len(beyond):
            numbers = beyond if rows is None else rows[beyond]
            numbers = numbers + index.start if isinstance(index, range) else index[numbers].astype(np.int64)
            self._extremes.add(groups[beyond], lengths[beyond], numbers)
        self._add_requests(part, groups, operation, lengths)
        self._add_completions(part, groups, operation, lengths)
        return groups, lengths

    def _add_requests(self, part: dict[str, Any], groups: Any, operation: Any, lengths: Any) -> None:
        if part["address"] is None:
            return
        is_request = operation < _OPERATIONS.index(Operation.COMPLETION)
        addresses = part["address"]
        self._count(LONG, groups, is_request & (addresses >> np.uint64(32) != 0))
        low = addresses.astype(np.uint32)
        is_write = operation <= 1
        # A write of no byte at all ends where it begins.
        first, last = (np.zeros(len(low), dtype=np.uint8) if part[name] is None else part[name] for name in ("first_be", "last_be"))
        last = np.where(lengths == 1, first, last)
        begins = is_write & (low & 63 == 0)
        self._count(FIRST, groups, begins & ((first & 1 != 0) | (first == 0)))
        self._count(SECOND, groups, np.where(last == 0, begins, is_write & ((low + 4 * lengths) & 63 == 0) & (last & 8 != 0)))

    def _add_completions(self, part: dict[str, Any], groups: Any, operation: Any, lengths: Any) -> None:
        rows = np.flatnonzero(operation == _OPERATIONS.index(Operation.COMPLETION))
        if part["byte_count"] is None or not len(rows):
            return
        lower = part["lower_address"].take(rows).astype(np.intp)
        carried = 4 * lengths.take(rows) - (lower & 3)
        followed = np.flatnonzero(part["byte_count"].take(rows) > carried)
        end, groups = (lower + carried).take(followed), groups.take(rows.take(followed))
        self._count(FIRST, groups, np.ones(len(groups), dtype=np.bool_))
        self._count(SECOND, groups, end & 63 == 0)
        self._count(THIRD, groups, end & 127 == 0)

    def _count(self, what: int, groups: Any, wanted: Any) -> None:
        counted = np.bincount(groups.take(np.flatnonzero(wanted)), minlength=self._counts.shape[0] * _GROUPS)
        self._counts[:, :, what] += counted.reshape(-1, _GROUPS)

    def _rows(self, requesters: Any) -> Any:
        rows = self._row_of.take(requesters, mode="wrap")
        if (rows < 0).any():
            self._add_requesters(distinct(requesters.take(np.flatnonzero(rows < 0))).tolist())
            rows = self._row_of.take(requesters, mode="wrap")
        return rows

    def _add_requesters(self, requesters: list[int]) -> None:
        for requester in requesters:
            room = len(self._requesters) <= MAX_PAYLOAD_REQUESTERS
            self._row_of[requester] = len(self._requesters) if room else 0
            if room:
                self._requesters.append(requester)
        missing = len(self._requesters) - len(self._counts)
        if missing > 0:
            self._place_of = np.concatenate((self._place_of, np.full(missing * _GROUPS, -1, dtype=np.intp)))
            self._counts = np.concatenate((self._counts, np.zeros((missing, *self._counts.shape[1:]), dtype=np.int64)))
            self._extremes.grow(len(self._requesters) * _GROUPS)

    def merge(self, later: PayloadAnalysis) -> None:
        """Add the sums of the TLPs behind."""
        theirs = later._requesters[1:]
        self._add_requesters([each for each in theirs if self._row_of[each] < 0])
        rows = np.array([0, *self._row_of[theirs].tolist()], dtype=np.intp)
        groups = (rows[:, None] * _GROUPS + np.arange(_GROUPS)).ravel()
        np.add.at(self._counts, rows, later._counts)  # several may be in row 0
        present = np.flatnonzero(later._place_of >= 0)
        for place, sizes in zip(
            self._places(groups.take(present)).tolist(), later._sizes.take(later._place_of.take(present), axis=0), strict=True
        ):
            self._sizes[place] += sizes
        self._extremes.merge(later._extremes, groups)
        self._others += later._others
        self._has_indexes &= later._has_indexes

    def add_recording(self, other: PayloadAnalysis) -> None:
        """Add the sums of another recording; together their TLPs have no numbers."""
        self.merge(other)
        self._has_indexes = False

    def result(self, context: AnalysisContext) -> Payload:
        """Return the groups, and what stands out."""
        indexes = self._extremes.indexes.reshape(2, -1, _GROUPS)
        found = []
        present = np.flatnonzero(self._place_of >= 0)
        for row, group, place in zip(*np.divmod(present, _GROUPS), self._place_of.take(present), strict=True):
            direction, operation = divmod(int(group), len(_OPERATIONS))
            smallest, largest = indexes[:, row, group].tolist() if self._has_indexes else (None, None)
            found.append(
                GroupSums(
                    requester=self._requesters[row] if row else None,
                    direction=DIRECTIONS[direction],
                    operation=_OPERATIONS[operation],
                    sizes=self._sizes[place],
                    counts=self._counts[row, group].tolist(),
                    smallest_index=smallest,
                    largest_index=largest,
                )
            )
        groups = groups_of(found, context.machine)
        return Payload(groups, self._others, list(notes_on(groups)), self._all_sizes())

    def _all_sizes(self) -> dict[str, dict[str, int]]:
        """Return TLPs by operation and by size in bytes."""
        present = np.flatnonzero(self._place_of >= 0)
        operations, places = present % len(_OPERATIONS), self._place_of.take(present)
        found = {}
        for number in distinct(operations).tolist():
            sizes = self._sizes.take(places[operations == number], axis=0).sum(axis=0)
            found[_OPERATIONS[number].value] = {str(4 * dws): int(sizes[dws]) for dws in np.flatnonzero(sizes).tolist()}
        return found


ANALYSES.add("payload", PayloadAnalysis)
