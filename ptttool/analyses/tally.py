"""How many TLPs of what kind and whose, and how much data they carried: a recording summed up without a frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import UNIT_RECORDS, Records
from ptttool.pci import format_id
from ptttool.tlp.bulk import CLASS_MASK, CLASS_SHIFT, COMPLETION, DATA, KIND_MASK, KNOWN, RECORD, TRAITS, U32, Headers, lengths_of
from ptttool.tlp.columns import CLASSES, KINDS

# Records worked on at a time: the arrays of one step fit into a processor's second-level cache.
STEP = 1 << 14
# Records whose sums fit into one table.
MOST_AT_ONCE, _COUNT_BITS = 1 << 16, 21
# Kinds in a row of the tables; a power of two above len(KINDS).
_ROW = KIND_MASK + 1
_ROW_BITS = KIND_MASK.bit_length()
_CLASS_OF_KIND = {int(traits & KIND_MASK): int(traits >> CLASS_SHIFT & CLASS_MASK) for traits in TRAITS.tolist()}

Counts = npt.NDArray[np.int64]


class Tally:
    """Sums over TLPs; two of them merge.

    ``time_first``, ``time_last``: of the first and last record seen; ``time_smallest``, ``time_largest``: all raw Time fields, None
    without records.
    """

    def __init__(self) -> None:
        self.time_first: int | None = None
        self.time_last: int | None = None
        self.time_smallest: int | None = None
        self.time_largest: int | None = None
        # Requesters get a row of the tables as they turn up; row 0 is for records that name none.
        self._requesters: npt.NDArray[np.intp] = np.zeros(1, dtype=np.intp)
        self._row_of: npt.NDArray[np.uint32] = np.zeros(1 << 16, dtype=np.uint32)
        self._records: Counts = np.zeros((1, _ROW), dtype=np.int64)
        self._payload: Counts = np.zeros((1, _ROW), dtype=np.int64)

    def __getstate__(self) -> dict[str, object]:
        """All but the one table that can be made of another one and is larger than everything else."""
        return {name: value for name, value in self.__dict__.items() if name != "_row_of"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._row_of = np.zeros(1 << 16, dtype=np.uint32)
        self._row_of[self._requesters[1:]] = np.arange(1, len(self._requesters))

    def update(self, records: Records, findings: Findings) -> None:
        """Add records. ``findings``: what is odd in them is added to it."""
        for words in records.words:
            for start in range(0, len(words), MOST_AT_ONCE):
                self._update(words[start : start + MOST_AT_ONCE], records.layout, findings)

    def _update(self, words: U32, layout: Layout, findings: Findings) -> None:
        # Where in the tables each record counts, and what: 1 and, above that, its data in words.
        places = np.empty(len(words), dtype=np.intp)
        weights = np.empty(len(words), dtype=np.float64)
        for start in range(0, len(words), STEP):
            part = words[start : start + STEP]
            headers = layout.headers(part)
            span = slice(start, start + len(part))
            places[span] = (self._rows(headers, findings) << _ROW_BITS) | (headers.traits & KIND_MASK)
            weights[span] = ((lengths_of(headers.dw0) & headers.mask(DATA)) << _COUNT_BITS) | 1 if headers.some & DATA else 1
            times = layout.times(part)
            self._see_times(times if headers.every & RECORD else times[(headers.traits & RECORD) != 0])
        # One table for both sums, which doubles hold exactly: below 2^18 records of at most 2^10 words.
        both = np.bincount(places, weights=weights, minlength=self._records.size).astype(np.int64).reshape(-1, _ROW)
        self._records += both & ((1 << _COUNT_BITS) - 1)
        self._payload += both >> _COUNT_BITS << 2

    def _rows(self, headers: Headers, findings: Findings) -> U32:
        """Rows of the tables that belong to headers."""
        requesters = headers.pick(COMPLETION, headers.dw2, headers.dw1) >> 16
        if headers.every & KNOWN:
            return self._rows_of(requesters)
        known = (headers.traits & KNOWN) != 0
        rows = np.zeros(len(requesters), dtype=np.uint32)
        rows[known] = self._rows_of(requesters[known])
        findings.count_unknown(headers.traits, headers.dw0 >> 24)
        return rows

    def _rows_of(self, requesters: U32) -> U32:
        places = requesters.astype(np.intp)
        rows: U32 = self._row_of.take(places, mode="wrap")
        if not rows.all():
            self._add_rows(np.unique(places[rows == 0]))
            rows = self._row_of.take(places, mode="wrap")
        return rows

    def _add_rows(self, requesters: npt.NDArray[np.intp]) -> None:
        """Rows for requesters that have none."""
        count = len(self._requesters)
        self._row_of[requesters] = np.arange(count, count + len(requesters))
        self._requesters = np.concatenate((self._requesters, requesters))
        lacking = len(self._requesters) - len(self._records)
        if lacking > 0:
            more = np.zeros((max(lacking, len(self._records)), _ROW), dtype=np.int64)
            self._records = np.concatenate((self._records, more))
            self._payload = np.concatenate((self._payload, more))

    def _see_times(self, times: U32) -> None:
        if len(times):
            self._see_time(int(times[0]), int(times[-1]), int(times.min()), int(times.max()))

    def _see_time(self, first: int, last: int, smallest: int, largest: int) -> None:
        if self.time_first is None or self.time_smallest is None or self.time_largest is None:
            self.time_first, self.time_smallest, self.time_largest = first, smallest, largest
        self.time_last = last
        self.time_smallest = min(self.time_smallest, smallest)
        self.time_largest = max(self.time_largest, largest)

    def merge(self, other: Tally) -> None:
        """Add what another tally saw after this one."""
        if other.time_first is not None:
            assert other.time_last is not None and other.time_smallest is not None and other.time_largest is not None
            self._see_time(other.time_first, other.time_last, other.time_smallest, other.time_largest)
        theirs = other._requesters[1:]
        self._add_rows(theirs[self._row_of[theirs] == 0])
        rows = np.concatenate(([0], self._row_of[theirs]))
        self._records[rows] += other._records[: len(rows)]
        self._payload[rows] += other._payload[: len(rows)]

    @property
    def records(self) -> int:
        """TLPs seen, those of kind Unknown among them."""
        return int(self._records.sum())

    @property
    def payload_bytes(self) -> int:
        """Bytes of data that they carried."""
        return int(self._payload.sum())

    def by_kind(self) -> dict[str, tuple[int, int]]:
        """Records and payload bytes of every kind that turned up, in the order of :data:`ptttool.tlp.columns.KINDS`."""
        records, payload = self._records.sum(axis=0).tolist(), self._payload.sum(axis=0).tolist()
        return {kind: (records[i], payload[i]) for i, kind in enumerate(KINDS) if records[i]}

    def by_class(self) -> dict[str, tuple[int, int]]:
        """Records and payload bytes of the three classes; records of kind Unknown belong to none."""
        return _by_class(self._records.sum(axis=0).tolist(), self._payload.sum(axis=0).tolist())

    def by_requester(self) -> dict[int, tuple[int, int]]:
        """Records and payload bytes by Requester ID, most records first. Completions count for the one that asked."""
        records, payload = self._records.sum(axis=1).tolist(), self._payload.sum(axis=1).tolist()
        return {requester: (records[row], payload[row]) for requester, row in self._sorted_rows()}

    def by_requester_and_class(self) -> Iterator[tuple[int, dict[str, tuple[int, int]]]]:
        """Requester IDs, most records first, each with records and payload bytes by class."""
        for requester, row in self._sorted_rows():
            yield requester, _by_class(self._records[row].tolist(), self._payload[row].tolist())

    def _sorted_rows(self) -> list[tuple[int, int]]:
        totals = self._records.sum(axis=1).tolist()
        return sorted(
            ((requester, row) for row, requester in enumerate(self._requesters.tolist()) if row and totals[row]),
            key=lambda item: (-totals[item[1]], item[0]),
        )

    def as_dict(self) -> dict[str, object]:
        """For ``--json``: stable names. IDs as ``01:00.0``, Time raw."""
        return {
            "records": self.records,
            "payload_bytes": self.payload_bytes,
            "kinds": {kind: _pair(value) for kind, value in self.by_kind().items()},
            "classes": {name: _pair(value) for name, value in self.by_class().items()},
            "requesters": [
                {
                    "requester": format_id(requester),
                    "records": sum(records for records, _ in classes.values()),
                    "payload_bytes": sum(payload for _, payload in classes.values()),
                    "classes": {name: _pair(value) for name, value in classes.items()},
                }
                for requester, classes in self.by_requester_and_class()
            ],
            "time": {"first": self.time_first, "last": self.time_last, "smallest": self.time_smallest, "largest": self.time_largest},
        }


class Sum:
    """Work: the sums of a unit (:mod:`ptttool.pipeline.jobs`)."""

    needs_index = False
    unit_records = UNIT_RECORDS

    def __call__(self, records: Records, _index: int, findings: Findings, /) -> Tally:
        tally = Tally()
        tally.update(records, findings)
        return tally


def _by_class(records: list[int], payload: list[int]) -> dict[str, tuple[int, int]]:
    sums = dict.fromkeys(CLASSES, (0, 0))
    for kind, number in _CLASS_OF_KIND.items():
        if number < len(CLASSES):
            seen = sums[CLASSES[number]]
            sums[CLASSES[number]] = (seen[0] + records[kind], seen[1] + payload[kind])
    return sums


def _pair(value: tuple[int, int]) -> dict[str, int]:
    return {"records": value[0], "payload_bytes": value[1]}
