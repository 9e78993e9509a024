"""What a viewer knows of a whole recording of TLPs: one pass in order, 16 bytes for each part of 64 Ki records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.matching.analysis import MatchingAnalysis
from ptttool.api.viewing.pages import Place
from ptttool.errors import UsageError
from ptttool.files.atomic import output_file
from ptttool.files.local import open_regular
from ptttool.pipeline.scope import TimeOptions, scope_of
from ptttool.table.values import Array

if TYPE_CHECKING:
    from ptttool.analyses.time.facts import TimeFacts
    from ptttool.api.viewing.pages import Pages
    from ptttool.table.batch import Batch
    from ptttool.tlp.transactions import Transactions

ENTRY: Final = np.dtype([("ticks", "<i8"), ("bytes", "<u4"), ("open", "<u2"), ("rows", "<u2")])
"""What is kept of a part: ticks from the first row of the recording to its last one (-1: not known), bytes that its TLPs carry, requests
that are open at its end (65,535: as many or more), and its rows."""
_MOST_OPEN = (1 << 16) - 1
_MAGIC = b"ptttool-view-2\n\0"
_HEAD: Final = np.dtype([("magic", "S16"), ("size", "<i8"), ("changed", "<i8"), ("model", "S8"), ("asked", "<f8")])
_TIME: Final = np.dtype([("tick_ns", "<f8"), ("hides_time", "<i8")])  # a tick of 0: not known
SUFFIX = ".view-index"
"""What follows the name of a recording in that of its index."""


class KnownTime(Struct, frozen=True):
    """What the pass has found of time.

    Parameters
    ----------
    tick_ns : float or None
        Nanoseconds of a tick; None where they are not known.
    hides_time : bool
        Whether more time passed than is seen, for all that is known.
    """

    tick_ns: float | None
    hides_time: bool


class _Flow(MatchingAnalysis[None]):
    """Time, open requests and bytes, part by part."""

    name = "view-flow"
    meaning = "time, open requests and bytes, part by part"
    columns = ("payload_bytes",)

    bytes = 0

    def add(self, ended: Transactions) -> None:
        """Leave ended requests: those that are open count."""

    def add_rows(self, batch: Batch, shift: int) -> None:  # noqa: ARG002 - bytes have no time
        """Sum bytes up."""
        self.bytes = int(batch.values("payload_bytes").filled(batch.size).sum(dtype=np.int64))

    def merge_sums(self, later: _Flow) -> None:
        """Do nothing: parts come in order."""

    def finish(self, context: AnalysisContext) -> None:
        """Do nothing."""

    @property
    def open(self) -> int:
        """Requests that are open at the end."""
        return 0 if self._part is None else len(self._part.state.opened)


class Survey:
    """The sums of all parts, as far as the pass has come.

    Parameters
    ----------
    pages : Pages
        The rows, of TLPs.
    time : TimeOptions
        How the Time field is read.

    Attributes
    ----------
    entries : list of tuple of int
        What is kept of each part: :data:`ENTRY`.
    time : KnownTime or None
        What is known of time; None until the pass has ended.
    """

    def __init__(self, pages: Pages, time: TimeOptions) -> None:
        self.pages = pages
        self.scope = scope_of(pages.recording, time, pages.recording.machine)
        self.entries: list[tuple[int, int, int, int]] = []
        self.time: KnownTime | None = None
        self._flow = _Flow(self.scope)

    @property
    def has_time(self) -> bool:
        """Whether the model of time is known."""
        return self._flow.clock.model.value != "unknown"

    @property
    def tick_ns(self) -> float | None:
        """Nanoseconds of a tick; None where they are not known (yet)."""
        known = self.scope.known_tick
        return self.time.tick_ns if self.time is not None else None if known is None else known[0]

    @property
    def array(self) -> Array:
        """What is kept of the parts: ndarray of :data:`ENTRY`."""
        return np.array(self.entries, dtype=ENTRY)

    def run(self) -> Iterator[int]:
        """Make the pass over the parts that are known; yield how many are done, after each."""
        while len(self.entries) < self.pages.parts:
            part = len(self.entries)
            decoded = self.pages.decoded(part)
            self.pages.count(part, decoded.size)
            self._flow.bytes = 0
            if decoded.size:
                self._flow.update(decoded.batch(_Flow.columns))
            ticks = self._flow.clock.elapsed if self.has_time else -1
            self.entries.append((ticks, self._flow.bytes, min(self._flow.open, _MOST_OPEN), decoded.size))
            yield len(self.entries)

    def finish(self) -> None:
        """Note what is known of time, once the pass has come to the end of the recording."""
        recording = self.pages.recording
        self.take(self.scope.time_facts(self._flow.clock, AnalysisContext(recording.path, recording.contents)))

    def take(self, facts: TimeFacts) -> None:
        """Note what an analysis of the whole recording knows of time."""
        self.time = KnownTime(facts.tick_ns, facts.hides_time)

    def ticks_in(self, part: int) -> Array | None:
        """Return the ticks of the rows of a part since the first row of the recording; None where they are not known (yet)."""
        if not self.has_time or part > len(self.entries):
            return None
        from ptttool.analyses.time.clock import CLOCK_COLUMNS

        clock = self.scope.clock
        before = next((one for one in range(part - 1, -1, -1) if self.entries[one][-1]), None)
        base = 0
        if before is not None:
            decoded = self.pages.decoded(before)
            clock.ticks(decoded.taken(np.arange(decoded.size) == decoded.size - 1).batch(CLOCK_COLUMNS))
            base = self.entries[before][0]
        at: Any = clock.ticks(self.pages.decoded(part).batch(CLOCK_COLUMNS)).at
        return None if at is None else at + base

    def ticks_at(self, place: Place) -> int | None:
        """Return the ticks of a row since the first row; None where they are not known (yet)."""
        ticks = self.ticks_in(place.part)
        return None if ticks is None else int(ticks[place.row])

    def at_ticks(self, ticks: int) -> Place:
        """Return the first row at or behind a time.

        Raises
        ------
        UsageError
            Time is not known (code ``time-unknown``), or the pass has not come that far or the recording ends before (``no-such-time``).
        """
        if not self.has_time:
            raise UsageError("the Time field is of unknown meaning", hint="--time-model says how it is read", code="time-unknown")
        part = int(np.searchsorted([entry[0] for entry in self.entries], ticks))
        if part == len(self.entries) or ticks < 0:
            last = self.entries[-1][0] if self.entries else 0
            raise UsageError(f"times are known from 0 to {last:,} ticks", code="no-such-time", last=last)
        found = self.ticks_in(part)
        assert found is not None
        return Place(part, int(np.searchsorted(found, ticks)))

    def save(self) -> Path:
        """Write the index beside the recording. Raises OutputError and AccessError."""
        path = Path(self.pages.recording.path + SUFFIX)
        with output_file(path, force=True) as file:
            time = np.array((0, 0) if self.time is None else (self.time.tick_ns or 0, self.time.hides_time), dtype=_TIME)
            file.write(self._head().tobytes() + time.tobytes() + self.array.tobytes())
        return path

    def load(self) -> bool:
        """Take the index that is kept beside the recording; return whether there is one, and it is of this recording as it is."""
        path, wanted = self.pages.recording.path + SUFFIX, self._head()
        try:
            descriptor = open_regular(path)
        except OSError:
            return False
        with os.fdopen(descriptor, "rb") as file:
            if file.read(_HEAD.itemsize) != wanted.tobytes():
                return False
            # No more than there are parts: the file may be of anybody.
            data = file.read(_TIME.itemsize + (self.pages.parts + 1) * ENTRY.itemsize)
        times, data = data[: _TIME.itemsize], data[_TIME.itemsize :]
        entries = np.frombuffer(data[: len(data) // ENTRY.itemsize * ENTRY.itemsize], dtype=ENTRY)
        rows = [self.pages.rows_in(part) for part in range(self.pages.parts)]
        if len(times) != _TIME.itemsize or len(data) != len(rows) * ENTRY.itemsize:
            return False
        if (entries["rows"] > rows).any() or (np.diff(entries["ticks"]) < 0).any():
            return False
        for part, count in enumerate(entries["rows"].tolist()):
            self.pages.count(part, count)
        self.entries = [tuple(entry) for entry in entries.tolist()]
        ((tick_ns, hides_time),) = np.frombuffer(times, dtype=_TIME).tolist()
        self.time = KnownTime(tick_ns if 0 < tick_ns < np.inf else None, bool(hides_time))
        return True

    def _head(self) -> Any:
        about = Path(self.pages.recording.path).stat()
        head = np.zeros((), dtype=_HEAD)
        head["magic"], head["size"], head["changed"] = _MAGIC, about.st_size, about.st_mtime_ns
        head["asked"] = (self.scope.known_tick or (0, ""))[0]
        head["model"] = f"{self.scope.time_model.value}"[:8].encode()
        return head
