"""The rows of a recording at random: parts of some thousand rows, of which only those are decoded that are looked at.

Records of one size are decoded from where they are. Packets are decoded in order, once: what comes of them is kept in a temporary file.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptttool.decoders.contract import RecordProtocol
from ptttool.errors import UsageError
from ptttool.pipeline.jobs import load
from ptttool.pipeline.work import UNIT_RECORDS
from ptttool.pipeline.workers.pool import ALONE
from ptttool.table.values import Array

if TYPE_CHECKING:
    import polars as pl

    from ptttool.decoders.decoded import Decoded, Unit
    from ptttool.pipeline.query import Query
    from ptttool.pipeline.recording import OpenRecording

# Records of a part, at most and at least: small recordings have more than a few parts. Sums of a part count records in two bytes, so there
# is one less than 64 Ki.
PART_RECORDS, _LEAST_RECORDS = (1 << 16) - 1, 1 << 10
_PARTS = 400
# Bytes of the temporary file that holds packets, at most.
MAX_KEPT_BYTES = 4 << 30
# Parts whose rows of a kind are remembered; rows that are looked for in front of a place, and as many behind it.
_REMEMBERED = 64
_AROUND = 256


class Place(NamedTuple):
    """Where a row stands: its part, and its number there. Places compare in the order of the recording."""

    part: int
    row: int


CHOSEN = "chosen"
"""The level of rows that were chosen by their numbers."""

Step = Callable[[int], None]
"""Is told how many parts are done; raises ``StoppedError`` to end the work."""


class Pages(ABC):
    """The rows of an open recording, by place.

    Parameters
    ----------
    recording : OpenRecording
        The recording, which has to stay open.

    Attributes
    ----------
    is_whole : bool
        Whether all parts are known.
    is_cut : bool
        Whether the recording has more rows than are kept here.
    part_rows : int
        Rows of a part, about.
    chosen : ndarray of int64
        Numbers of the rows that the level :data:`CHOSEN` shows, ascending; it is set before that is asked for.
    """

    part_rows = PART_RECORDS

    def __init__(self, recording: OpenRecording) -> None:
        self.recording = recording
        self.schema = recording.schema
        self.is_whole = False
        self.is_cut = False
        self._counts: list[int] = []
        self._known = 0  # parts at the start whose rows were counted
        self._begins: list[int] = [0]
        self.chosen: Array = np.zeros(0, dtype=np.int64)
        self._lock = Lock()
        self._rows: Any = lru_cache(maxsize=_REMEMBERED)(self._find_rows)
        self._empty: set[int] = set()  # parts of completions alone

    @abstractmethod
    def grow(self, most: int) -> None:
        """Get to know so many more parts; all errors of reading come from here, too."""

    @abstractmethod
    def decoded(self, part: int) -> Decoded:
        """Return the rows of a part; they are valid until this thread asks for those of another one.

        Raises
        ------
        InputError
            The file is not what it was.
        """

    def close(self) -> None:
        """Remove what is kept."""
        self._rows.cache_clear()

    @property
    def parts(self) -> int:
        """Number of parts, as far as they are known."""
        return len(self._counts)

    @property
    def size(self) -> int:
        """Number of rows; before all were counted, as many as there are at most."""
        return self._begins[-1] + sum(self._counts[len(self._begins) - 1 :])

    @property
    def counted(self) -> int:
        """How many parts at the start have been counted."""
        return len(self._begins) - 1

    def count(self, part: int, rows: int) -> None:
        """Note how many rows a part has; parts are counted in order, what comes early is left to be counted again."""
        with self._lock:
            self._counts[part] = rows
            if part == len(self._begins) - 1:
                self._begins.append(self._begins[-1] + rows)

    def rows_in(self, part: int) -> int:
        """Return the number of rows of a part."""
        return self._counts[part]

    def index_of(self, place: Place) -> int | None:
        """Return the number of a row in the recording; None as long as the parts in front of it were not counted."""
        return None if place.part >= len(self._begins) else self._begins[place.part] + place.row

    def begin_of(self, part: int) -> int:
        """Return the number of the first row of a part, as if no record that was not counted were left out."""
        known = min(part, len(self._begins) - 1)
        return self._begins[known] + sum(self._counts[known:part])

    def find(self, index: int, step: Step = lambda _: None) -> Place:
        """Return the place of a row by its number; counts the parts in front of it.

        Raises
        ------
        UsageError
            There is no such row (code ``no-such-index``).
        """
        while index >= self._begins[-1] and self.counted < self.parts:
            part = self.counted
            step(part)
            self.count(part, self.decoded(part).size)
        part = int(np.searchsorted(self._begins, index, side="right")) - 1
        if not 0 <= index < self._begins[-1]:
            noun, last = self.recording.noun, self._begins[-1] - 1
            hint = f"the last one is {last}" if last >= 0 else None
            raise UsageError(f"there is no {noun} {index}", hint=hint, code="no-such-index", records=last + 1)
        return Place(part, index - self._begins[part])

    def rows_of(self, part: int, level: str | None = None) -> Array:
        """Return the numbers of the rows of a part that a level shows: ndarray of intp; None: all.

        Parameters
        ----------
        part : int
            The part.
        level : str or None
            A class that is left out; :data:`CHOSEN`: those of :attr:`chosen`.
        """
        if level == CHOSEN:  # parts in front of the last one of them were counted
            begin = self.begin_of(part)
            first, last = np.searchsorted(self.chosen, (begin, begin + self._counts[part]))
            return self.chosen[first:last] - begin
        if level is not None and part in self._empty:
            return np.zeros(0, dtype=np.intp)
        rows: Array = self._rows(part, level)
        if level is not None and not len(rows):
            self._empty.add(part)
        return rows

    def look_around(self, part: int, level: str | None, step: Step = lambda _: None) -> int:
        """Get to know some rows that a level shows, from a part on and in front of it; return how many there are."""
        found = done = 0
        for parts in (range(part, self.parts), range(part - 1, -1, -1)):
            most = found + _AROUND
            for one in parts:
                step(done)
                found, done = found + len(self.rows_of(one, level)), done + 1
                if found >= most:
                    break
        return found

    def _find_rows(self, part: int, level: str | None) -> Array:
        decoded = self.decoded(part)
        self.count(part, decoded.size)
        if level is None:
            return np.arange(decoded.size)
        column = self.schema["class"]
        classes = decoded.batch(["class"]).values("class").filled(decoded.size, len(column.values))
        return np.flatnonzero(classes != column.values.index(level))

    def moved(self, place: Place, by: int, level: str | None = None) -> Place:
        """Return the place so many rows behind (negative: in front), or the last one (the first one) that there is."""
        part, best = place.part, None
        rows = self.rows_of(part, level)
        at = int(np.searchsorted(rows, place.row))
        is_shown = at < len(rows) and rows[at] == place.row
        at += by if is_shown or by <= 0 else by - 1
        while True:
            if 0 <= at < len(rows):
                return Place(part, int(rows[at]))
            if len(rows):
                best = Place(part, int(rows[0 if at < 0 else -1]))
            step = -1 if at < 0 else 1
            if not 0 <= part + step < self.parts:
                return best or self._end(range(self.parts)[::-step], -1 if step > 0 else 0, level) or place
            at -= 0 if step < 0 else len(rows)
            part += step
            rows = self.rows_of(part, level)
            at += len(rows) if step < 0 else 0

    def first(self, level: str | None = None, step: Step = lambda _: None) -> Place | None:
        """Return the place of the first row; None where there is none."""
        return self._end(range(self.parts), 0, level, step)

    def last(self, level: str | None = None, step: Step = lambda _: None) -> Place | None:
        """Return the place of the last row, as far as parts are known; None where there is none."""
        return self._end(range(self.parts - 1, -1, -1), -1, level, step)

    def _end(self, parts: range, at: int, level: str | None, step: Step = lambda _: None) -> Place | None:
        for done, part in enumerate(parts):
            step(done)
            rows = self.rows_of(part, level)
            if len(rows):
                return Place(part, int(rows[at]))
        return None

    def listed(self, place: Place, count: int, level: str | None = None) -> list[Place]:
        """Return the places of so many rows from one on, fewer at the end."""
        found: list[Place] = []
        part, first = place
        while part < self.parts and len(found) < count:
            rows = self.rows_of(part, level)
            at = int(np.searchsorted(rows, first))
            found += [Place(part, row) for row in rows[at : at + count - len(found)].tolist()]
            part, first = part + 1, 0
        return found

    def frame(self, places: Sequence[Place], names: Sequence[str]) -> pl.DataFrame:
        """Return columns of rows, which are in the order of the recording."""
        import polars as pl

        frames = []
        for part in dict.fromkeys(place.part for place in places):
            decoded = self.decoded(part)
            mask = np.zeros(decoded.size, dtype=np.bool_)
            mask[[place.row for place in places if place.part == part and place.row < decoded.size]] = True
            frames.append(decoded.taken(mask).batch(names).to_polars())
        return pl.concat(frames) if frames else self.decoded(0).batch(names).to_polars().clear()

    def search(self, query: Query, start: Place, step: Step, level: str | None = None, *, backwards: bool = False) -> Place | None:
        """Return the next row of a level behind a place (or in front of it) for which a query's condition is true; None without one."""
        parts = range(start.part, -1, -1) if backwards else range(start.part, self.parts)
        for done, part in enumerate(parts):
            step(done)
            decoded = self.decoded(part)
            mask = query.mask(decoded)
            assert mask is not None
            rows = np.flatnonzero(mask)
            if part == start.part:
                rows = rows[rows < start.row] if backwards else rows[rows > start.row]
            if len(rows) and level is not None:
                rows = np.intersect1d(rows, self.rows_of(part, level))
            if len(rows):
                return Place(part, int(rows[-1 if backwards else 0]))
        return None


class RecordPages(Pages):
    """Records of one size: each part is decoded from where it is in the file."""

    def __init__(self, recording: OpenRecording) -> None:
        super().__init__(recording)
        self._units: list[Unit] = []
        self.part_rows = min(PART_RECORDS, max(_LEAST_RECORDS, (recording.size or 0) // (16 * _PARTS)))
        self._planned = recording.units(self.part_rows)

    def grow(self, most: int) -> None:
        """Get to know so many more parts."""
        for _ in range(most):
            planned = next(self._planned, None)
            if planned is None:
                self.is_whole = True
                return
            self._units.append(planned.unit)
            self._counts.append(planned.unit.most_rows)

    def decoded(self, part: int) -> Decoded:
        """Return the rows of a part."""
        rows: Decoded = load(self._units[part]).decoded(self.begin_of(part))[0]
        return rows


class _Rows:
    """Work: the rows themselves."""

    needs_index = True
    unit_records = UNIT_RECORDS

    def __call__(self, decoded: Decoded, /) -> Decoded:
        """Return them."""
        return decoded


class PacketPages(Pages):
    """Packets: they are decoded once, in order, and kept in a temporary file without a name."""

    def __init__(self, recording: OpenRecording) -> None:
        super().__init__(recording)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this
        self._at: list[tuple[int, int]] = []
        self._decoded = recording.walk(ALONE).run(_Rows())
        self._load: Any = lru_cache(maxsize=4)(self._loaded)

    def grow(self, most: int) -> None:
        """Decode so many more parts."""
        for _ in range(most):
            decoded = next(self._decoded, None)
            end = sum(self._at[-1]) if self._at else 0
            self.is_cut = decoded is not None and end >= MAX_KEPT_BYTES
            if decoded is None or self.is_cut:
                self.is_whole = True
                return
            if not decoded.size:
                continue
            data = zlib.compress(pickle.dumps(decoded, protocol=5), 1)
            os.pwrite(self._file.fileno(), data, end)
            self._at.append((end, len(data)))
            self._counts.append(decoded.size)
            self.count(self.parts - 1, decoded.size)

    def decoded(self, part: int) -> Decoded:
        """Return the rows of a part."""
        rows: Decoded = self._load(part)
        return rows

    def close(self) -> None:
        """Remove what is kept, with the temporary file."""
        super().close()
        self._file.close()

    def _loaded(self, part: int) -> Any:
        begin, size = self._at[part]
        return pickle.loads(zlib.decompress(os.pread(self._file.fileno(), size, begin)))


def pages_of(recording: OpenRecording) -> Pages:
    """Return the rows of a recording, of which the first ones are known.

    Raises
    ------
    UsageError
        It is a pipe, which can be read once (code ``pipe-view``).
    InputError
        It cannot be read.
    """
    if recording.size is None or recording.path == "-":
        raise UsageError(
            "a pipe cannot be viewed: rows are read where they are looked at", hint="save it to a file first", code="pipe-view"
        )
    is_of_records = isinstance(recording.stack.protocol, RecordProtocol)
    pages: Pages = RecordPages(recording) if is_of_records else PacketPages(recording)
    pages.grow(1)
    return pages
