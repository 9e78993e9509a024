"""The values of rows by their number: of a batch, or at the borders of parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.matching.steps import REQUESTER_SHIFT, Steps
from ptttool.analyses.time.ticks import Ticks
from ptttool.table.batch import Batch

Array = npt.NDArray[Any]


class BatchView:
    """Values of the rows of a batch, by their number."""

    def __init__(self, batch: Batch, steps: Steps, ticks: Ticks) -> None:
        self.batch = batch
        self.steps = steps
        self.ticks = ticks
        self.has_time = ticks.at is not None
        self._arrays: dict[str, Any] = {name: batch.values(name).array for name in ("index", "requester", "tag", "kind", "status")}

    def index(self, rows: Array) -> Array:
        """Return the numbers of rows in the recording."""
        index = self._arrays["index"]
        return (rows + index.start).view(np.uint64) if isinstance(index, range) else self._values("index", rows, np.uint64)

    def requester(self, rows: Array) -> Array:
        """Return their Requester IDs."""
        return self._values("requester", rows, np.uint16)

    def tag(self, rows: Array) -> Array:
        """Return their tags."""
        return self._values("tag", rows, np.uint16)

    def kind(self, rows: Array) -> Array:
        """Return the codes of their kinds."""
        return self._values("kind", rows, np.uint8)

    def status(self, rows: Array) -> Array:
        """Return the codes of their completion status; of completions."""
        return self._values("status", rows, np.uint8)

    def _values(self, name: str, rows: Array, dtype: type[np.generic]) -> Array:
        array = self._arrays[name]
        return np.zeros(len(rows), dtype=dtype) if array is None else np.asarray(array.take(rows))

    def requested(self, rows: Array) -> Array:
        """Return the bytes that requests ask for."""
        return self.steps.requested.take(rows)

    def at(self, rows: Array) -> Array:
        """Return their ticks since the start of the part; -1 without a model of time."""
        at = self.ticks.at
        return np.full(len(rows), -1, dtype=np.int64) if at is None else at.take(rows)

    def segment(self, rows: Array) -> Array | int:
        """Return the numbers of the segments of time that they are in."""
        return self.ticks.segments(rows)


class BorderView:
    """Values of rows at borders, by their position.

    Parameters
    ----------
    rows : ndarray of BORDER
        The rows.
    has_time : bool
        Whether the model of time is known.
    shift : int
        Position of the first row.
    """

    def __init__(self, rows: Array, has_time: bool, shift: int = 0) -> None:
        self._rows = rows
        self._shift = shift
        self.has_time = has_time

    def _values(self, name: str, rows: Array) -> Array:
        return np.asarray(self._rows[name].take(rows - self._shift))

    def index(self, rows: Array) -> Array:
        """Return the numbers of rows in the recording."""
        return self._values("index", rows)

    def requester(self, rows: Array) -> Array:
        """Return their Requester IDs."""
        return (self._values("key", rows) >> np.uint64(REQUESTER_SHIFT)).astype(np.uint16)

    def tag(self, rows: Array) -> Array:
        """Return their tags."""
        return self._values("key", rows).astype(np.uint16)

    def kind(self, rows: Array) -> Array:
        """Return the codes of their kinds."""
        return self._values("kind", rows)

    def status(self, rows: Array) -> Array:
        """Return the codes of their completion status; of completions."""
        return self._values("status", rows)

    def requested(self, rows: Array) -> Array:
        """Return the bytes that requests ask for."""
        return self._values("requested", rows)

    def at(self, rows: Array) -> Array:
        """Return their ticks since the start of the part; -1 without a model of time."""
        return self._values("at", rows)

    def segment(self, rows: Array) -> Array | int:
        """Return the numbers of the segments of time that they are in."""
        return self._values("segment", rows)


View = BatchView | BorderView
