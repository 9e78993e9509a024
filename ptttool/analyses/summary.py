"""How many TLPs of which kind and from which requester, and how much data they carried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.shown import Cell, Column, Facts, Names, Part, Table, Unit, text_column
from ptttool.analyses.tally import Tally
from ptttool.documents import document
from ptttool.pci import format_id
from ptttool.perfdata.model import Contents
from ptttool.recording.identity import requester_filter
from ptttool.table.batch import Batch
from ptttool.tlp.bulk import CLASS_MASK, CLASS_SHIFT, KIND_MASK, TRAITS
from ptttool.tlp.columns import CLASSES, KINDS

_CLASS_OF_KIND = {int(traits & KIND_MASK): int(traits >> CLASS_SHIFT & CLASS_MASK) for traits in TRAITS.tolist()}


@dataclass(frozen=True)
class Sums:
    """A sum over TLPs.

    Parameters
    ----------
    records : int
        Number of TLPs.
    payload_bytes : int
        Bytes of data that they carried.
    """

    records: int
    payload_bytes: int


@dataclass(frozen=True)
class RequesterSums:
    """Sums of one requester; a completion counts for the requester of its request.

    Parameters
    ----------
    requester : str
        Requester ID.
    records : int
        Number of TLPs.
    payload_bytes : int
        Bytes of data that they carried.
    classes : Mapping[str, Sums]
        The same by class.
    """

    requester: str
    records: int
    payload_bytes: int
    classes: dict[str, Sums]


@dataclass(frozen=True)
class TimeRange:
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
@dataclass(frozen=True)
class TlpSummary(Shown):
    """TLPs, summed up.

    Parameters
    ----------
    records : int
        Number of TLPs.
    payload_bytes : int
        Bytes of data that they carried.
    kinds, classes : Mapping[str, Sums]
        Sums by kind, and by class. Unknown TLPs have no class.
    requesters : list of RequesterSums
        Sums by requester.
    time : TimeRange
        Range of the raw Time field.
    """

    records: int
    payload_bytes: int
    kinds: dict[str, Sums]
    classes: dict[str, Sums]
    requesters: list[RequesterSums]
    time: TimeRange

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield the sums, the tables by kind, class and requester."""
        time = self.time
        facts = [("records", f"{self.records:,}"), ("payload bytes", f"{self.payload_bytes:,}")]
        if time.smallest is not None:
            ends = "" if time.first is None else f"first {time.first}, last {time.last}, "
            facts.append(("time, raw", f"{ends}smallest {time.smallest}, largest {time.largest}"))
        yield Facts(facts)
        if not self.records:
            return
        sums = (Column("TLPs", Unit.TLPS), Column("Share", Unit.PERCENT, weight=1), Column("Payload bytes", Unit.BYTES))
        total = ("all", self.records, 100.0, self.payload_bytes)
        for title, parts in (("By kind", self.kinds), ("By class", {name: each for name, each in self.classes.items() if each.records})):
            rows = [(name, each.records, 100 * each.records / self.records, each.payload_bytes) for name, each in parts.items()]
            # Unknown TLPs have no class.
            yield Table(title, (text_column(title[3:].title()), *sums), rows, total if parts is self.kinds else None)
        by_class = [Column(name, Unit.TLPS, weight=2) for name in CLASSES]
        columns = (text_column("Requester"), text_column("Name", 3), sums[0], *by_class, sums[2])
        yield Table("By requester", columns, [_requester_row(each, names) for each in self.requesters])


def _requester_row(sums: RequesterSums, names: Names) -> list[Cell]:
    name = names(sums.requester)
    counts = [sums.classes[each].records for each in CLASSES]
    return [sums.requester, None if name == sums.requester else name, sums.records, *counts, sums.payload_bytes]


class Summary(Analysis[TlpSummary]):
    """Sums over TLPs.

    Attributes
    ----------
    tally : Tally
        The sums by requester and kind.
    """

    name = "summary"
    meaning = "TLPs and bytes of data by kind, class and requester"
    columns = ("kind", "requester", "payload_bytes", "time")
    sums_recordings = True

    def __init__(self) -> None:
        self.tally = Tally()
        self._first: int | None = None
        self._last: int | None = None
        self._smallest: int | None = None
        self._largest: int | None = None
        self._has_ends = True

    @classmethod
    def further_columns(cls, contents: Contents) -> tuple[str, ...]:
        """Return the column that tells whether a completion can have passed a requester filter; the result does not use it."""
        return () if requester_filter(contents) is None else ("completer",)

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        self.tally.add(batch)
        times = batch.values("time").present()
        if len(times):
            self._see_time(int(times[0]), int(times[-1]), int(times.min()), int(times.max()))  # type: ignore[union-attr,arg-type,index]

    def _see_time(self, first: int, last: int, smallest: int, largest: int) -> None:
        if self._first is None or self._smallest is None or self._largest is None:
            self._first, self._smallest, self._largest = first, smallest, largest
        self._last = last
        self._smallest = min(self._smallest, smallest)
        self._largest = max(self._largest, largest)

    def merge(self, later: Summary) -> None:
        """Add the sums of the TLPs behind."""
        if later._first is not None:
            assert later._last is not None and later._smallest is not None and later._largest is not None
            self._see_time(later._first, later._last, later._smallest, later._largest)
        self.tally.merge(later.tally)

    def add_recording(self, other: Summary) -> None:
        """Add the sums of another recording; together they have no first and no last time."""
        self.merge(other)
        self._has_ends = False

    def result(self, context: AnalysisContext) -> TlpSummary:
        """Return the sums: kinds in the order of :data:`ptttool.tlp.columns.KINDS`, requesters with most TLPs first."""
        records, payload = self.tally.records.sum(axis=0).tolist(), self.tally.payload.sum(axis=0).tolist()
        return TlpSummary(
            records=sum(records),
            payload_bytes=sum(payload),
            kinds={kind: Sums(records[code], payload[code]) for code, kind in enumerate(KINDS) if records[code]},
            classes=_by_class(records, payload),
            requesters=list(self._by_requester()),
            time=TimeRange(*((self._first, self._last) if self._has_ends else (None, None)), self._smallest, self._largest),
        )

    def _by_requester(self) -> Iterator[RequesterSums]:
        tally = self.tally
        totals = tally.records.sum(axis=1).tolist()
        rows = ((requester, row) for row, requester in enumerate(tally.requesters.tolist()) if row and totals[row])
        for requester, row in sorted(rows, key=lambda item: (-totals[item[1]], item[0])):
            classes = _by_class(tally.records[row].tolist(), tally.payload[row].tolist())
            # Unknown TLPs name no requester, so the classes are all that there is.
            yield RequesterSums(
                format_id(requester),
                sum(each.records for each in classes.values()),
                sum(each.payload_bytes for each in classes.values()),
                classes,
            )


def _by_class(records: list[int], payload: list[int]) -> dict[str, Sums]:
    counts = dict.fromkeys(CLASSES, (0, 0))
    for kind, number in _CLASS_OF_KIND.items():
        if number < len(CLASSES):
            seen = counts[CLASSES[number]]
            counts[CLASSES[number]] = (seen[0] + records[kind], seen[1] + payload[kind])
    return {name: Sums(*pair) for name, pair in counts.items()}


ANALYSES.add("summary", Summary)
