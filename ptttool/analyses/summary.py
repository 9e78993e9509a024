"""How many TLPs of which kind and from which requester, and how much data they carried."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from ptttool.analyses.budget import MAX_REQUESTERS
from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.roles import sentence_on_unknown, sentence_on_writes
from ptttool.analyses.shares import amounts_table
from ptttool.analyses.tally import CLASS_OF, COLUMNS, Cell, Tally, added
from ptttool.diagnostics import Severity
from ptttool.documents import document
from ptttool.pci import format_id
from ptttool.perfdata.model import Contents
from ptttool.recording.identity import requester_filter
from ptttool.table.batch import Batch
from ptttool.tlp.columns import CLASSES, DIRECTIONS, KINDS

if TYPE_CHECKING:
    from ptttool.analyses.shown import Cell as TableCell
    from ptttool.analyses.shown import Names, Part, Table


class Sums(Struct, frozen=True):
    """A sum over TLPs.

    Parameters
    ----------
    records : int
        Number of TLPs.
    payload_bytes : int
        Bytes of data that they carried.
    requested_bytes : int
        Bytes that reads and atomics among them asked for. Writes ask for nothing: their bytes are those that they carried.
    """

    records: int
    payload_bytes: int
    requested_bytes: int


class FlowSums(Struct, frozen=True):
    """Sums of one kind in one direction.

    Parameters
    ----------
    direction : str or None
        ``inbound``, ``outbound`` or ``unknown``; None for unknown TLPs, which have none.
    class_ : str or None
        Class; None for unknown TLPs.
    kind : str
        Kind.
    records, payload_bytes, requested_bytes : int
        As in :class:`Sums`.
    """

    direction: str | None
    class_: str | None = field(name="class")
    kind: str
    records: int
    payload_bytes: int
    requested_bytes: int


class RequesterSums(Struct, frozen=True):
    """Sums of one requester; a completion counts for the requester of its request.

    Parameters
    ----------
    requester : str
        Requester ID.
    records : int
        Number of TLPs.
    payload_bytes : int
        Bytes of data that they carried.
    requested_bytes : int
        Bytes that its reads and atomics asked for.
    written_bytes : int
        Bytes of its posted requests that are not outbound: what it wrote into memory, or to other devices.
    classes : Mapping[str, Sums]
        The same by class.
    directions : Mapping[str, Sums]
        The same by direction.
    """

    requester: str
    records: int
    payload_bytes: int
    requested_bytes: int
    written_bytes: int
    classes: dict[str, Sums]
    directions: dict[str, Sums]


class TimeRange(Struct, frozen=True):
    """The range of the raw Time field; None without TLPs.

    Parameters
    ----------
    first, last : int or None
        Time of the first and of the last TLP; None for several recordings together.
    smallest, largest : int or None
        The extremes of all TLPs.
    """

    first: int | None
    last: int | None
    smallest: int | None
    largest: int | None


@document("summary")
class TlpSummary(Shown, Struct, frozen=True):
    """TLPs, summed up.

    Parameters
    ----------
    records : int
        Number of TLPs.
    payload_bytes : int
        Bytes of data that they carried.
    requested_bytes : int
        Bytes that reads and atomics asked for.
    kinds, classes, directions : Mapping[str, Sums]
        Sums by kind, by class, by direction. Unknown TLPs have no class and no direction.
    flows : list of FlowSums
        Sums by direction and kind.
    requesters : list of RequesterSums
        Sums by requester: the 2,048 with most TLPs.
    more_requesters : int
        Requesters that are not among them; all other sums hold their TLPs.
    time : TimeRange
        Range of the raw Time field.
    """

    records: int
    payload_bytes: int
    requested_bytes: int
    kinds: dict[str, Sums]
    classes: dict[str, Sums]
    directions: dict[str, Sums]
    flows: list[FlowSums]
    requesters: list[RequesterSums]
    more_requesters: int
    time: TimeRange

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the sums, the tables by direction and kind and by requester, and what they mean."""
        from ptttool.analyses.shown import Facts, Note, text_column

        time = self.time
        facts = [("records", f"{self.records:,}"), ("bytes carried", f"{self.payload_bytes:,}"), ("asked for", f"{self.requested_bytes:,}")]
        if time.smallest is not None:
            ends = "" if time.first is None else f"first {time.first}, last {time.last}, "
            facts.append(("time, raw", f"{ends}smallest {time.smallest}, largest {time.largest}"))
        yield Facts(facts)
        if not self.records:
            return
        yield amounts_table(
            "By direction and kind",
            (text_column("Direction"), text_column("Class", 2), text_column("Kind")),
            [(flow.direction, flow.class_, flow.kind) for flow in self.flows],
            [(flow.records, flow.payload_bytes, flow.requested_bytes) for flow in self.flows],
            (self.records, self.payload_bytes, self.requested_bytes),
        )
        yield self._by_requester(names)
        if any(requester.written_bytes for requester in self.requesters):
            yield Note(sentence_on_writes())
        unknown = self.directions["unknown"].records
        if unknown:
            yield Note(sentence_on_unknown(unknown, self.records), Severity.WARNING)

    def _by_requester(self, names: Names) -> Table:
        from ptttool.analyses.shown import Column, Table, Unit, text_column

        by_class = [Column(name, Unit.TLPS, weight=2) for name in CLASSES]
        sizes = [Column(title, Unit.BYTES) for title in ("Bytes in", "Bytes out", "Asked for")]
        columns = (text_column("Requester"), text_column("Name", 3), Column("TLPs", Unit.TLPS), *by_class, *sizes)
        return Table("By requester", columns, [_requester_row(each, names) for each in self.requesters], more=self.more_requesters)


def _requester_row(sums: RequesterSums, names: Names) -> list[TableCell]:
    from ptttool.analyses.shown import named

    counts = [sums.classes[each].records for each in CLASSES]
    sizes = [sums.directions[each].payload_bytes for each in ("inbound", "outbound")]
    return [sums.requester, named(names, sums.requester), sums.records, *counts, *sizes, sums.requested_bytes]


class Summary(Analysis[TlpSummary]):
    """Sums over TLPs.

    Attributes
    ----------
    tally : Tally
        The sums by requester, kind and direction.
    """

    name = "summary"
    meaning = "TLPs and bytes by direction, kind and requester"
    columns = (*COLUMNS, "time")
    sums_recordings = True

    def __init__(self) -> None:
        self.tally = Tally()
        # The first, the last, the smallest and the largest time.
        self._times: tuple[int, int, int, int] | None = None
        self._has_ends = True

    @classmethod
    def further_columns(cls, contents: Contents) -> tuple[str, ...]:
        """Return the column that tells whether a completion can have passed a requester filter; the result does not use it."""
        return () if requester_filter(contents) is None else ("completer",)

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        self.tally.add(batch)
        times: Any = batch.values("time").present()
        if len(times):
            self._add_times((int(times[0]), int(times[-1]), int(times.min()), int(times.max())))

    def _add_times(self, later: tuple[int, int, int, int]) -> None:
        first, _, smallest, largest = self._times or later
        self._times = first, later[1], min(smallest, later[2]), max(largest, later[3])

    def merge(self, later: Summary) -> None:
        """Add the sums of the TLPs behind."""
        if later._times is not None:
            self._add_times(later._times)
        self.tally.merge(later.tally)

    def add_recording(self, other: Summary) -> None:
        """Add the sums of another recording; together they have no first and no last time."""
        self.merge(other)
        self._has_ends = False

    def result(self, context: AnalysisContext) -> TlpSummary:
        """Return the sums: kinds in the order of :data:`ptttool.tlp.columns.KINDS`, requesters with most TLPs first."""
        cells = self.tally.cells()
        by_flow = added(cells, lambda cell: (cell.direction, cell.kind))
        flows = [
            FlowSums(direction, CLASS_OF[kind], kind, *sums)
            for (direction, kind), sums in sorted(by_flow.items(), key=lambda item: _order(*item[0]))
        ]
        total = _sum(flows)
        times = self._times or (None, None, None, None)
        requesters, more_requesters = _by_requester(cells)
        return TlpSummary(
            records=total.records,
            payload_bytes=total.payload_bytes,
            requested_bytes=total.requested_bytes,
            kinds={kind: _sum(each for each in flows if each.kind == kind) for kind in KINDS if any(each.kind == kind for each in flows)},
            classes={name: _sum(each for each in flows if each.class_ == name) for name in CLASSES},
            directions={name: _sum(each for each in flows if each.direction == name) for name in DIRECTIONS},
            flows=flows,
            requesters=requesters,
            more_requesters=more_requesters,
            time=TimeRange(*(times[:2] if self._has_ends else (None, None)), *times[2:]),
        )


def _sum(parts: Iterable[Sums | FlowSums]) -> Sums:
    sums = [0, 0, 0]
    for part in parts:
        sums[0] += part.records
        sums[1] += part.payload_bytes
        sums[2] += part.requested_bytes
    return Sums(*sums)


def _order(direction: str | None, kind: str) -> tuple[int, int]:
    return (len(DIRECTIONS) if direction is None else DIRECTIONS.index(direction)), KINDS.index(kind)


def _by_requester(cells: Iterable[Cell]) -> tuple[list[RequesterSums], int]:
    """Return the sums of the requesters with most TLPs, most first, and how many others there are."""
    sums = added(cells, lambda cell: (cell.requester, cell.tlp_class, cell.direction))
    counts: Counter[int] = Counter()
    for (requester, _, _), (records, *_) in sums.items():
        if requester is not None:
            counts[requester] += records
    listed = heapq.nsmallest(MAX_REQUESTERS, counts, key=lambda requester: (-counts[requester], requester))
    parts: dict[int | None, list[tuple[str | None, str | None, Sums]]] = {requester: [] for requester in listed}
    for (requester, tlp_class, direction), each in sums.items():
        if requester in parts:
            parts[requester].append((tlp_class, direction, Sums(*each)))
    rows = []
    for requester in listed:
        here = parts[requester]
        written = sum(each.payload_bytes for tlp_class, direction, each in here if tlp_class == "P" and direction != "outbound")
        total = _sum(each for *_, each in here)
        classes = {name: _sum(each for tlp_class, _, each in here if tlp_class == name) for name in CLASSES}
        directions = {name: _sum(each for _, direction, each in here if direction == name) for name in DIRECTIONS}
        amounts = (total.records, total.payload_bytes, total.requested_bytes, written)
        rows.append(RequesterSums(format_id(requester), *amounts, classes, directions))
    return rows, len(counts) - len(listed)


ANALYSES.add("summary", Summary)
