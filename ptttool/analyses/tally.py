"""Number of TLPs, and bytes of their data, by requester and kind: what several analyses are made of."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT, Array, Values
from ptttool.tlp.bulk import KIND_MASK

# Rows worked on at a time: their arrays fit into a processor's second-level cache, and their sums into one table.
_STEP, _COUNT_BITS = 1 << 15, 21
# Kinds in a row of the tables; a power of two above len(KINDS).
_ROW = KIND_MASK + 1
_ROW_BITS = KIND_MASK.bit_length()

Counts = npt.NDArray[np.int64]


class Tally:
    """Sums over TLPs; those of parts of a recording merge in any order.

    Attributes
    ----------
    requesters : ndarray of intp, shape (n,)
        The requester ID of each row of the tables. Row 0 is for TLPs without one; its number means nothing.
    records, payload : ndarray of int64, shape (n or more, 32)
        Number of TLPs, and bytes of data that they carried, by row and by the code of their kind.
    completers : Counter of int, or None
        Number of completions by completer ID, without those whose completer is their requester; None where they are not counted.
    """

    def __init__(self) -> None:
        # Requesters get a row of the tables as they turn up.
        self.requesters: npt.NDArray[np.intp] = np.zeros(1, dtype=np.intp)
        self.records: Counts = np.zeros((1, _ROW), dtype=np.int64)
        self.payload: Counts = np.zeros((1, _ROW), dtype=np.int64)
        self.completers: Counter[int] | None = None
        self._row_of: npt.NDArray[np.uint32] = np.zeros(1 << 16, dtype=np.uint32)

    def __getstate__(self) -> dict[str, object]:
        """Leave out the one table that follows from another one and is larger than all the rest."""
        return {name: value for name, value in self.__dict__.items() if name != "_row_of"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._row_of = np.zeros(1 << 16, dtype=np.uint32)
        self._row_of[self.requesters[1:]] = np.arange(1, len(self.requesters))

    def add(self, batch: Batch) -> None:
        """Add TLPs.

        Parameters
        ----------
        batch : Batch
            TLPs with the columns ``kind`` and ``requester``; ``payload_bytes`` and ``completer`` are counted where they are among them.
        """
        kinds, requesters = batch.values("kind"), batch.values("requester")
        payload = batch.values("payload_bytes") if "payload_bytes" in batch.columns else ABSENT
        for start in range(0, batch.size, _STEP):
            self._add(*(_part(values, start, min(start + _STEP, batch.size)) for values in (kinds, requesters, payload)))
        if "completer" in batch.columns:
            self._add_completers(requesters, batch.values("completer"))

    def _add(self, kinds: Values, requesters: Values, payload: Values) -> None:
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
        both = np.bincount(places, weights=weights, minlength=self.records.size).astype(np.int64, copy=False).reshape(-1, _ROW)
        self.records += both & ((1 << _COUNT_BITS) - 1)
        self.payload += both >> _COUNT_BITS << 2

    def _add_completers(self, requesters: Values, completers: Values) -> None:
        self.completers = Counter() if self.completers is None else self.completers
        if completers.array is None or requesters.array is None:
            return
        wanted: Any = completers.array != requesters.array
        if completers.valid is not None:
            wanted &= completers.valid
        counts = np.bincount(np.asarray(completers.array)[wanted])
        self.completers.update({each: int(counts[each]) for each in np.flatnonzero(counts).tolist()})

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
        count = len(self.requesters)
        self._row_of[requesters] = np.arange(count, count + len(requesters))
        self.requesters = np.concatenate((self.requesters, requesters))
        missing = len(self.requesters) - len(self.records)
        if missing > 0:
            more = np.zeros((max(missing, len(self.records)), _ROW), dtype=np.int64)
            self.records = np.concatenate((self.records, more))
            self.payload = np.concatenate((self.payload, more))

    def merge(self, other: Tally) -> None:
        """Add the sums of other TLPs."""
        theirs = other.requesters[1:]
        self._add_rows(theirs[self._row_of[theirs] == 0])
        rows = np.concatenate(([0], self._row_of[theirs]))
        self.records[rows] += other.records[: len(rows)]
        self.payload[rows] += other.payload[: len(rows)]
        if other.completers is not None:
            self.completers = other.completers + (self.completers or Counter())


def _part(values: Values, start: int, stop: int) -> Values:
    array: Any = values.array
    return Values(None if array is None else array[start:stop], None if values.valid is None else values.valid[start:stop])
