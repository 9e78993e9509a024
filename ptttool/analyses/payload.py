"""How large writes, read requests and completions are, against what the functions are set to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_PAYLOAD_REQUESTERS
from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.link import FRAMING
from ptttool.analyses.needs import Need
from ptttool.analyses.shown import Cell, Column, Facts, Histogram, Names, Note, Part, Table, Unit, text_column
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import document
from ptttool.machine.topology import functions_by_id
from ptttool.pci import format_id
from ptttool.tlp.columns import DIRECTIONS, KINDS

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PciFunction
    from ptttool.table.batch import Batch

# Rows worked on at a time: their arrays fit into a processor's second-level cache.
_STEP: Final = 1 << 15
_SIZES: Final = 1025
# Sizes that a group lists, the most frequent ones.
_LISTED: Final = 16
_SHOWN_SIZES: Final = 4
_SHOWN_GROUPS: Final = 40

Sums = npt.NDArray[np.int64]


class Operation(StrEnum):
    """What TLPs do whose sizes are looked at."""

    WRITE = "write"
    SMALL_WRITE = "small-write"
    """A write of one DW: an interrupt (MSI), a doorbell, a flag. It says nothing of the sizes that a device uses for data."""
    READ = "read"
    COMPLETION = "completion"


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
# What is counted beside sizes: headers of four DWs; of writes those that begin, and that end, at a multiple of 64 bytes; of completions
# those that more follow, and of these those that end at a multiple of 64 and of 128 bytes.
_LONG, _FIRST, _SECOND, _THIRD = range(4)
_COUNTS = 4


@dataclass(frozen=True)
class Limit:
    """What a size is held against.

    Parameters
    ----------
    name : str
        ``MPS`` (Max_Payload_Size) or ``MRRS`` (Max_Read_Request_Size).
    bytes : int
        The limit; where it is not known, the largest size that was seen: the limit is not below it.
    is_known : bool
        Whether the machine says it.
    supported : int or None
        The largest payload that the function is able to, where the machine says it.
    """

    name: str
    bytes: int
    is_known: bool
    supported: int | None = None


@dataclass(frozen=True)
class Alignment:
    """Where TLPs begin and end.

    Parameters
    ----------
    tlps : int
        TLPs that were looked at: all writes; of completions those that more follow for the same request.
    begin_at_64 : int or None
        How many begin at a multiple of 64 bytes; None for completions.
    end_at_64 : int
        How many end at one.
    end_at_128 : int or None
        How many end at a multiple of 128 bytes; None for writes.
    boundary : int or None
        The Read Completion Boundary that the root port is set to, where the machine says it.
    """

    tlps: int
    begin_at_64: int | None
    end_at_64: int
    end_at_128: int | None
    boundary: int | None = None


@dataclass(frozen=True)
class PayloadGroup:
    """TLPs of one requester, direction and operation; a completion counts for the requester of its request.

    Parameters
    ----------
    requester : str or None
        Requester ID; None for those beyond the budget.
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    operation : Operation
        What they do.
    tlps : int
        Number of TLPs.
    bytes : int
        Their bytes, 4 × Length: carried, or asked for by reads.
    smallest, largest : int
        The extremes of the bytes of a TLP.
    mean : float
        Their mean.
    sizes : Mapping[str, int]
        TLPs by size in bytes: the most frequent sizes.
    other_sizes : int
        TLPs of all other sizes.
    powers : Mapping[str, int]
        TLPs by power of two: ``256`` stands for 256 to 511 bytes.
    limit : Limit or None
        What the sizes are held against; None for writes of one DW, and for requesters of bus 0, whose TLPs a root port makes.
    at_limit : float or None
        Share of TLPs that are as large as the limit, from 0 to 1.
    efficiency : float or None
        Bytes of data, divided by those with headers and framing; None for reads, which carry none.
    alignment : Alignment or None
        Where they begin and end; None for reads.
    """

    requester: str | None
    direction: str
    operation: Operation
    tlps: int
    bytes: int
    smallest: int
    largest: int
    mean: float
    sizes: dict[str, int]
    other_sizes: int
    powers: dict[str, int]
    limit: Limit | None
    at_limit: float | None
    efficiency: float | None
    alignment: Alignment | None


@document("payload")
@dataclass(frozen=True)
class Payload(Shown):
    """Sizes of writes, reads and completions.

    Parameters
    ----------
    groups : list of PayloadGroup
        By requester, direction and operation, most bytes first.
    other_tlps : int
        TLPs that are neither memory writes and reads nor completions with data.
    notes : list of Diagnostic
        What is not known, and what stands out.
    """

    groups: list[PayloadGroup]
    other_tlps: int
    notes: list[Diagnostic]

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield what stands out, the table of groups, and a histogram of each operation."""
        for note in self.notes:
            yield Note(note.message, note.severity)
        if not self.groups:
            return
        columns = (
            text_column("Requester"), text_column("Name", 4), text_column("Direction", 1), text_column("Operation"),
            Column("TLPs", Unit.TLPS), Column("Mean", Unit.BYTES), Column("Largest", Unit.BYTES),
            text_column("Limit"), Column("At limit", Unit.PERCENT, weight=2), Column("Efficiency", Unit.PERCENT, weight=1),
        )  # fmt: skip
        rows = [_line(group, names) for group in self.groups[:_SHOWN_GROUPS]]
        below = (
            "Efficiency: data, divided by data with headers and 8 bytes of framing. A completion counts for the requester of its request."
        )
        yield Table("Sizes", columns, rows, None, max(0, len(self.groups) - _SHOWN_GROUPS), below)
        title = (text_column("Requester"), text_column("Direction"), text_column("Operation"))
        sizes = [
            (group.requester or "others", group.direction, group.operation.value, int(size), count, 100 * count / group.tlps)
            for group in self.groups[:_SHOWN_GROUPS]
            for size, count in list(group.sizes.items())[:_SHOWN_SIZES]
        ]
        yield Table("Most frequent sizes", (*title, Column("Size", Unit.BYTES), Column("TLPs"), Column("Share", Unit.PERCENT)), sizes)
        for operation in Operation:
            parts = [group for group in self.groups if group.operation is operation]
            if parts and operation is not Operation.SMALL_WRITE:
                yield _histogram(operation, parts)
        aligned = [group for group in self.groups if group.alignment is not None and group.alignment.tlps]
        if aligned:
            heads = ("Begin at 64", "End at 64", "End at 128")
            lines = [_alignment(group) for group in aligned[:_SHOWN_GROUPS]]
            known = sorted({group.alignment.boundary for group in aligned if group.alignment and group.alignment.boundary})
            boundary = f"; it is set to {known[0]}" if len(known) == 1 else ""
            rest = f"Of completions, those that more follow: they end at a Read Completion Boundary (RCB), 64 or 128 bytes{boundary}."
            yield Table("Alignment in bytes", (*title, Column("TLPs"), *(Column(head, Unit.PERCENT) for head in heads)), lines, note=rest)
        yield Facts([("other TLPs", f"{self.other_tlps:,}")])


def _line(group: PayloadGroup, names: Names) -> list[Cell]:
    # The first of several names is enough to tell a device.
    name = None if group.requester is None else names(group.requester).partition(",")[0]
    limit = "" if group.limit is None else f"{group.limit.name} {group.limit.bytes}" if group.limit.is_known else "not known"
    return [
        group.requester or "others", None if name == group.requester else name, group.direction, group.operation.value, group.tlps,
        round(group.mean, 1), group.largest, limit,
        None if group.at_limit is None or group.limit is None or not group.limit.is_known else 100 * group.at_limit,
        None if group.efficiency is None else 100 * group.efficiency,
    ]  # fmt: skip


def _histogram(operation: Operation, parts: list[PayloadGroup]) -> Histogram:
    powers: dict[int, int] = {}
    for part in parts:
        for power, count in part.powers.items():
            powers[int(power)] = powers.get(int(power), 0) + count
    edges = [4 << number for number in range((max(powers) // 4).bit_length() + 1)]
    limits = {part.limit.name: float(part.limit.bytes) for part in parts if part.limit is not None and part.limit.is_known}
    return Histogram(f"Bytes of a {operation.value}", edges, [powers.get(edge, 0) for edge in edges[:-1]], Unit.BYTES, marks=limits)


def _alignment(group: PayloadGroup) -> list[Cell]:
    found = group.alignment
    assert found is not None
    shares = [None if count is None else 100 * count / found.tlps for count in (found.begin_at_64, found.end_at_64, found.end_at_128)]
    return [group.requester or "others", group.direction, group.operation.value, found.tlps, *shares]


class PayloadAnalysis(Analysis[Payload]):
    """Counts TLPs by requester, direction, operation and size."""

    name = "payload"
    meaning = "sizes of writes, read requests and completions, against what is set: MPS, MRRS, RCB; alignment, efficiency"
    columns = ("kind", "direction", "requester", "length_dw", "address", "byte_count", "lower_address")
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
        self._sizes: Sums = np.zeros((1, _GROUPS, _SIZES), dtype=np.int64)
        self._counts: Sums = np.zeros((1, _GROUPS, _COUNTS), dtype=np.int64)
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
        for start in range(0, batch.size, _STEP):
            part: dict[str, Any] = {name: None if array is None else array[start : start + _STEP] for name, array in arrays.items()}  # type: ignore[index]
            self._add(part)

    def _add(self, part: dict[str, Any]) -> None:
        operation = _OPERATION_OF.take(part["kind"].astype(np.intp))
        wanted = operation < _NONE
        if not wanted.all():
            rows = np.flatnonzero(wanted)
            self._others += len(operation) - len(rows)
            if not len(rows):
                return
            part = {name: None if array is None else array[rows] for name, array in part.items()}
            operation = operation[rows]
        lengths = part["length_dw"].astype(np.intp)
        operation[(operation == 0) & (lengths == 1)] = 1
        groups = self._rows(part["requester"].astype(np.intp)) * _GROUPS
        groups += part["direction"].astype(np.intp) * len(_OPERATIONS)
        groups += operation
        self._sizes += np.bincount(groups * _SIZES + lengths, minlength=self._sizes.size).reshape(self._sizes.shape)
        self._add_requests(part, groups, operation, lengths)
        self._add_completions(part, groups, operation, lengths)

    def _add_requests(self, part: dict[str, Any], groups: Any, operation: Any, lengths: Any) -> None:
        if part["address"] is None:
            return
        is_request = operation < _OPERATIONS.index(Operation.COMPLETION)
        addresses = part["address"]
        self._count(_LONG, groups, is_request & (addresses >> np.uint64(32) != 0))
        low = addresses.astype(np.uint32)
        is_write = operation <= 1
        self._count(_FIRST, groups, is_write & (low & 63 == 0))
        self._count(_SECOND, groups, is_write & ((low + 4 * lengths) & 63 == 0))

    def _add_completions(self, part: dict[str, Any], groups: Any, operation: Any, lengths: Any) -> None:
        rows = np.flatnonzero(operation == _OPERATIONS.index(Operation.COMPLETION))
        if part["byte_count"] is None or not len(rows):
            return
        lower = part["lower_address"][rows].astype(np.intp)
        carried = 4 * lengths[rows] - (lower & 3)
        followed = part["byte_count"][rows] > carried
        end, groups = (lower + carried)[followed], groups[rows][followed]
        self._count(_FIRST, groups, np.ones(len(groups), dtype=np.bool_))
        self._count(_SECOND, groups, end & 63 == 0)
        self._count(_THIRD, groups, end & 127 == 0)

    def _count(self, what: int, groups: Any, wanted: Any) -> None:
        self._counts[:, :, what] += np.bincount(groups[wanted], minlength=self._counts.shape[0] * _GROUPS).reshape(-1, _GROUPS)

    def _rows(self, requesters: Any) -> Any:
        rows = self._row_of.take(requesters, mode="wrap")
        if (rows < 0).any():
            self._add_requesters(np.unique(requesters[rows < 0]).tolist())
            rows = self._row_of.take(requesters, mode="wrap")
        return rows

    def _add_requesters(self, requesters: list[int]) -> None:
        for requester in requesters:
            room = len(self._requesters) <= MAX_PAYLOAD_REQUESTERS
            self._row_of[requester] = len(self._requesters) if room else 0
            if room:
                self._requesters.append(requester)
        missing = len(self._requesters) - len(self._sizes)
        if missing > 0:
            self._sizes = np.concatenate((self._sizes, np.zeros((missing, *self._sizes.shape[1:]), dtype=np.int64)))
            self._counts = np.concatenate((self._counts, np.zeros((missing, *self._counts.shape[1:]), dtype=np.int64)))

    def merge(self, later: PayloadAnalysis) -> None:
        """Add the sums of the TLPs behind."""
        theirs = later._requesters[1:]
        self._add_requesters([each for each in theirs if self._row_of[each] < 0])
        rows = np.array([0, *self._row_of[theirs].tolist()], dtype=np.intp)
        np.add.at(self._sizes, rows, later._sizes)  # several may be in row 0
        np.add.at(self._counts, rows, later._counts)
        self._others += later._others

    def result(self, context: AnalysisContext) -> Payload:
        """Return the groups, and what stands out."""
        groups = []
        functions = {} if context.machine is None else functions_by_id(context.machine)
        for row, group in zip(*np.nonzero(self._sizes.any(axis=2)), strict=True):
            direction, operation = divmod(int(group), len(_OPERATIONS))
            requester = self._requesters[row] if row else None
            function = None if requester is None else functions.get(requester)
            limit = None if requester is not None and requester < 1 << 8 else _limit(_OPERATIONS[operation], function)
            boundary = _boundary(context.machine, function)
            head = (None if requester is None else format_id(requester), DIRECTIONS[direction], _OPERATIONS[operation])
            groups.append(_group(*head, self._sizes[row, group], self._counts[row, group].tolist(), limit, boundary))
        groups.sort(key=lambda each: (-each.bytes, each.requester or "~", each.direction, each.operation))
        return Payload(groups, self._others, list(_notes(groups)))


def _boundary(machine: Machine | None, function: PciFunction | None) -> int | None:
    """Return the RCB of the root port above a function: its completions are split there."""
    port = None if machine is None or function is None else machine.root_port_of(function.address)
    above = None if machine is None or port is None else machine.functions.get(port)
    return None if above is None or above.transfers is None else above.transfers.read_boundary


def _limit(operation: Operation, function: PciFunction | None) -> Limit | None:
    """Return the limit that the machine knows; a size of 0 stands for the largest that was seen."""
    if operation is Operation.SMALL_WRITE:
        return None
    name = "MRRS" if operation is Operation.READ else "MPS"
    transfers = None if function is None else function.transfers
    known = None if transfers is None else transfers.max_read_request if operation is Operation.READ else transfers.max_payload
    supported = None if transfers is None or operation is Operation.READ else transfers.max_payload_supported
    return Limit(name, known or 0, known is not None, supported)


def _group(
    requester: str | None,
    direction: str,
    operation: Operation,
    sizes: Sums,
    counts: list[int],
    limit: Limit | None,
    boundary: int | None,
) -> PayloadGroup:
    present = np.flatnonzero(sizes)
    tlps, size = int(sizes.sum()), int((sizes * np.arange(_SIZES)).sum()) * 4
    smallest, largest = 4 * int(present[0]), 4 * int(present[-1])
    frequent = sorted(present.tolist(), key=lambda dws: (-int(sizes[dws]), dws))[:_LISTED]
    powers: dict[str, int] = {}
    for dws in present.tolist():
        power = str(4 << (dws.bit_length() - 1))
        powers[power] = powers.get(power, 0) + int(sizes[dws])
    if limit is not None and not limit.is_known:
        limit = Limit(limit.name, largest, False, limit.supported)
    at_limit = None if limit is None else (int(sizes[limit.bytes // 4]) / tlps if limit.bytes // 4 < _SIZES else 0.0)
    overhead = (12 + FRAMING) * tlps + 4 * counts[_LONG]
    return PayloadGroup(
        requester=requester,
        direction=direction,
        operation=operation,
        tlps=tlps,
        bytes=size,
        smallest=smallest,
        largest=largest,
        mean=size / tlps,
        sizes={str(4 * dws): int(sizes[dws]) for dws in frequent},
        other_sizes=tlps - sum(int(sizes[dws]) for dws in frequent),
        powers=powers,
        limit=limit,
        at_limit=at_limit,
        efficiency=None if operation is Operation.READ else size / (size + overhead),
        alignment=_aligned(operation, tlps, counts, boundary),
    )


def _aligned(operation: Operation, tlps: int, counts: list[int], boundary: int | None) -> Alignment | None:
    if operation is Operation.COMPLETION:
        return Alignment(counts[_FIRST], None, counts[_SECOND], counts[_THIRD], boundary)
    return None if operation is Operation.READ else Alignment(tlps, counts[_FIRST], counts[_SECOND], None)


def _notes(groups: list[PayloadGroup]) -> Iterator[Diagnostic]:
    most: dict[str, int] = {}
    for group in groups:
        if group.limit is not None and not group.limit.is_known:
            most[group.limit.name] = max(most.get(group.limit.name, 0), group.largest)
    if most:
        seen = ", ".join(f"{name} is at least {size}" for name, size in sorted(most.items()))
        message = f"what functions are set to is not known for all of them (the file beside a recording, or --sysfs, says it); seen: {seen}"
        yield Diagnostic(Severity.INFO, "limits-unknown", message, details={"largest": most})
    for group in groups:
        limit = group.limit
        if limit is None or not limit.is_known or group.requester is None:
            continue
        if limit.supported is not None and limit.supported > limit.bytes and group.operation is Operation.WRITE:
            message = f"{group.requester} is able to payloads of {limit.supported} bytes, but is set to {limit.bytes} (MPS)"
            details = {"requester": group.requester, "supported": limit.supported, "set": limit.bytes}
            yield Diagnostic(Severity.WARNING, "mps-below-support", message, details=details)
        if group.largest > limit.bytes and group.operation is not Operation.COMPLETION:
            message = f"{group.requester}: a {group.operation.value} of {group.largest} bytes is larger than {limit.name} {limit.bytes}"
            details = {"requester": group.requester, "operation": group.operation.value, "largest": group.largest, "limit": limit.bytes}
            yield Diagnostic(Severity.WARNING, "above-limit", message, details=details)


ANALYSES.add("payload", PayloadAnalysis)
