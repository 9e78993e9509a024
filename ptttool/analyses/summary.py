"""How many TLPs of which kind and from which requester, and how much data they carried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
from ptttool.documents import document
from ptttool.pci import format_id
from ptttool.table.batch import Batch
from ptttool.table.values import Array, Values
from ptttool.tlp.bulk import CLASS_MASK, CLASS_SHIFT, KIND_MASK, TRAITS
from ptttool.tlp.columns import CLASSES, KINDS

# Rows worked on at a time: their arrays fit into a processor's second-level cache, and their sums into one table.
_STEP, _COUNT_BITS = 1 << 15, 21
# Kinds in a row of the tables; a power of two above len(KINDS).
_ROW = KIND_MASK + 1
_ROW_BITS = KIND_MASK.bit_length()
_CLASS_OF_KIND = {int(traits & KIND_MASK): int(traits >> CLASS_SHIFT & CLASS_MASK) for traits in TRAITS.tolist()}

Counts = npt.NDArray[np.int64]


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
        Time of the first and of the last TLP.
    smallest, largest : int or None
        The extremes of all TLPs.
    """

    first: int | None
    last: int | None
    smallest: int | None
    largest: int | None


@document("summary")
@dataclass(frozen=True)
class TlpSummary:
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


class Summary(Analysis[TlpSummary]):
    """Sums over TLPs."""

    name = "summary"
    meaning = "TLPs and bytes of data by kind, class and requester"
    columns = ("kind", "requester", "payload_bytes", "time")

    def __init__(self) -> None:
        self._first: int | None = None
        self._last: int | None = None
        self._smallest: int | None = None
        self._largest: int | None = None
        # Requesters get a row of the tables as they turn up; row 0 is for TLPs that name none.
        self._requesters: npt.NDArray[np.intp] = np.zeros(1, dtype=np.intp)
        self._row_of: npt.NDArray[np.uint32] = np.zeros(1 << 16, dtype=np.uint32)
        self._records: Counts = np.zeros((1, _ROW), dtype=np.int64)
        self._payload: Counts = np.zeros((1, _ROW), dtype=np.int64)

    def __getstate__(self) -> dict[str, object]:
        """Leave out the one table that follows from another one and is larger than all the rest."""
        return {name: value for name, value in self.__dict__.items() if name != "_row_of"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._row_of = np.zeros(1 << 16, dtype=np.uint32)
        self._row_of[self._requesters[1:]] = np.arange(1, len(self._requesters))

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        kinds, requesters, payload = (batch.values(name) for name in ("kind", "requester", "payload_bytes"))
        for start in range(0, batch.size, _STEP):
            self._update(*(_part(values, start, min(start + _STEP, batch.size)) for values in (kinds, requesters, payload)))
        times = batch.values("time").present()
        if len(times):
            self._see_time(int(times[0]), int(times[-1]), int(times.min()), int(times.max()))  # type: ignore[union-attr,arg-type,index]

    def _update(self, kinds: Values, requesters: Values, payload: Values) -> None:
        codes: Any = kinds.array
        places = self._rows(requesters, len(codes)) << _ROW_BITS
        places |= codes
        # One table for both sums, which doubles hold exactly: DWs of data above the count, below 2^18 TLPs of at most 2^10 DWs.
        weights = None
        if payload.array is not None:
            data: Any = payload.array
            if payload.valid is not None:
                data = np.where(payload.valid, data, 0)
            weights = (data.astype(np.float64) * (1 << (_COUNT_BITS - 2))) + 1.0
        both = np.bincount(places, weights=weights, minlength=self._records.size).astype(np.int64, copy=False).reshape(-1, _ROW)
        self._records += both & ((1 << _COUNT_BITS) - 1)
        self._payload += both >> _COUNT_BITS << 2

    def _rows(self, requesters: Values, count: int) -> npt.NDArray[np.intp]:
        """Rows of the tables that belong to requesters."""
        if requesters.array is None:
            return np.zeros(count, dtype=np.intp)
        array: Any = requesters.array
        if requesters.valid is None:
            return self._rows_of(array)
        rows = np.zeros(count, dtype=np.intp)
        rows[requesters.valid] = self._rows_of(array[requesters.valid])
        return rows

    def _rows_of(self, requesters: Array) -> npt.NDArray[np.intp]:
        indexes = requesters.astype(np.intp)
        rows = self._row_of.take(indexes, mode="wrap")
        if not rows.all():
            new = np.zeros(1 << 16, dtype=np.bool_)  # quicker than to sort or to hash them
            new[indexes] = True
            self._add_rows(np.flatnonzero(new & (self._row_of == 0)))
            rows = self._row_of.take(indexes, mode="wrap")
        return rows.astype(np.intp)

    def _add_rows(self, requesters: npt.NDArray[np.intp]) -> None:
        """Make rows for requesters that have none."""
        count = len(self._requesters)
        self._row_of[requesters] = np.arange(count, count + len(requesters))
        self._requesters = np.concatenate((self._requesters, requesters))
        missing = len(self._requesters) - len(self._records)
        if missing > 0:
            more = np.zeros((max(missing, len(self._records)), _ROW), dtype=np.int64)
            self._records = np.concatenate((self._records, more))
            self._payload = np.concatenate((self._payload, more))

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
        theirs = later._requesters[1:]
        self._add_rows(theirs[self._row_of[theirs] == 0])
        rows = np.concatenate(([0], self._row_of[theirs]))
        self._records[rows] += later._records[: len(rows)]
        self._payload[rows] += later._payload[: len(rows)]

    def result(self, context: AnalysisContext) -> TlpSummary:
        """Return the sums: kinds in the order of :data:`ptttool.tlp.columns.KINDS`, requesters with most TLPs first."""
        records, payload = self._records.sum(axis=0).tolist(), self._payload.sum(axis=0).tolist()
        return TlpSummary(
            records=sum(records),
            payload_bytes=sum(payload),
            kinds={kind: Sums(records[code], payload[code]) for code, kind in enumerate(KINDS) if records[code]},
            classes=_by_class(records, payload),
            requesters=list(self._by_requester()),
            time=TimeRange(self._first, self._last, self._smallest, self._largest),
        )

    def _by_requester(self) -> Iterator[RequesterSums]:
        totals = self._records.sum(axis=1).tolist()
        rows = ((requester, row) for row, requester in enumerate(self._requesters.tolist()) if row and totals[row])
        for requester, row in sorted(rows, key=lambda item: (-totals[item[1]], item[0])):
            classes = _by_class(self._records[row].tolist(), self._payload[row].tolist())
            # Unknown TLPs name no requester, so the classes are all that there is.
            yield RequesterSums(
                format_id(requester),
                sum(each.records for each in classes.values()),
                sum(each.payload_bytes for each in classes.values()),
                classes,
            )


def _part(values: Values, start: int, stop: int) -> Values:
    array: Any = values.array
    return Values(None if array is None else array[start:stop], None if values.valid is None else values.valid[start:stop])


def _by_class(records: list[int], payload: list[int]) -> dict[str, Sums]:
    counts = dict.fromkeys(CLASSES, (0, 0))
    for kind, number in _CLASS_OF_KIND.items():
        if number < len(CLASSES):
            seen = counts[CLASSES[number]]
            counts[CLASSES[number]] = (seen[0] + records[kind], seen[1] + payload[kind])
    return {name: Sums(*pair) for name, pair in counts.items()}


ANALYSES.add("summary", Summary)
