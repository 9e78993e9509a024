"""What a recording shows of coded reads: its TLPs that are these reads and their completions, and sums over all others."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ptttool.analyses.loss.counted import CountedTlps
from ptttool.capture.event.decode import Explanation
from ptttool.capture.event.explain import explain
from ptttool.capture.event.terms import Format
from ptttool.errors import InputError
from ptttool.machine.measured import BITS
from ptttool.machine.model import Machine
from ptttool.perfdata.model import AuxEvent
from ptttool.pipeline.analyzing.ask import Ask, ask_of, run
from ptttool.pipeline.query import Query
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.workers.pool import ALONE
from ptttool.selftest.coded_reads import WINDOW
from ptttool.selftest.readings import Readings

MOST_ROWS: Final = 1 << 16
"""Configuration reads and completions of the function that are looked at, at most."""
READS: Final = ("CfgRd0", "CfgRd1")
COMPLETIONS: Final = ("CplD", "Cpl")
_COLUMNS: Final = (
    "index", "time", "kind", "class", "direction", "length_dw", "requester", "completer", "tag", "first_be", "last_be", "destination",
    "register", "status", "byte_count", "lower_address", "so",
)  # fmt: skip
# Reads of others in a row that are passed over, as lspci -xxxx makes them, and how often something may come between.
_MOST_STRANGERS, _MOST_BREAKS = 1100, 1000
# Reads in a row by which a place is found again, and by which it is certain that reads are those that were made.
_PLACE, _FEWEST_IN_A_ROW = 5, 8
# Waits between completions by which they are told apart, at least.
_FEWEST_WAITS = 4
# Bytes of a record of 8DW, and of trace that is looked at in one piece.
_RECORD, _PIECE = 32, 1 << 20
Numbers = npt.NDArray[np.int64]


class Found(Struct, frozen=True):
    """TLPs that belong to coded reads; arrays have one row a TLP.

    Parameters
    ----------
    reads : ndarray of int64, shape (n,)
        Number of the coded read of each.
    index : ndarray of int64, shape (n,)
        Number of the TLP in the recording.
    field : ndarray of int64, shape (n,)
        Its Time field.
    counted, added : ndarray of int64, shape (n,)
        Ticks from the recording's first TLP, if Time is a counter that turns round at most once between two TLPs; and if it is the
        difference to the TLP before.
    columns : Mapping of str to ndarray of int64
        The columns of the TLPs by name; -1 where there is no value.
    """

    reads: Numbers
    index: Numbers
    field: Numbers
    counted: Numbers
    added: Numbers
    columns: Mapping[str, Numbers]

    def __len__(self) -> int:
        return len(self.reads)

    @property
    def passed(self) -> Mapping[str, Numbers]:
        """The ticks that have passed, by model of time."""
        return {"counter": self.counted, "delta": self.added}

    def take(self, rows: npt.NDArray[Any], reads: Numbers) -> Found:
        """Return some of the rows, which belong to these reads."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Found(reads, self.index[rows], self.field[rows], self.counted[rows], self.added[rows], columns)


class Evidence(Struct, frozen=True):
    """A recording, and what it shows of coded reads.

    Parameters
    ----------
    name : str
        Name of the recording.
    path : Path
        The recording.
    event : Explanation
        What its event traces.
    readings : Readings or None
        The reads that were made meanwhile.
    tlps : int
        Its TLPs.
    classes : Mapping of (str, str) to int
        TLPs by direction and class: ``P``, ``NP``, ``CPL``.
    requests, completions : Found
        TLPs of the reads.
    strangers : int
        Configuration reads of the function that are none of those that were made.
    aux : tuple of AuxEvent
        What the driver handed over, and when.
    own : tuple of (int, int)
        Requests of the function that was read, and completions for it.
    reserved : tuple of (int, int, int)
        Records of 8DW, those with another check word than ffffffff, and those whose reserved word is not 0.
    counted : tuple of CountedTlps
        What counters beside the trace counted, where they did.
    """

    name: str
    path: Path
    event: Explanation
    readings: Readings | None
    tlps: int
    classes: Mapping[tuple[str, str], int]
    requests: Found
    completions: Found
    strangers: int
    aux: tuple[AuxEvent, ...]
    own: tuple[int, int]
    reserved: tuple[int, int, int] = (0, 0, 0)
    counted: tuple[CountedTlps, ...] = ()

    @property
    def bits(self) -> int:
        """Bits of its Time field."""
        return _bits(self.event)

    @property
    def direction(self) -> int:
        """The event's term ``direction``."""
        return self.event.fields.get("direction", 0)

    @property
    def made(self) -> int:
        """Reads that were made meanwhile."""
        return 0 if self.readings is None else len(self.readings)


def look(name: str, path: Path, readings: Readings | None, machine: Machine | None = None) -> Evidence:
    """Read a recording once, in bounded memory.

    Raises
    ------
    InputError
        It cannot be read, is damaged, is no recording of a PTT device, or has too many reads of the function (``too-many-reads``).
    """
    with OpenRecording(Request(str(path))) as recording:
        attribute = recording.attribute
        if not recording.is_ptt or attribute is None:
            raise InputError(str(path), "the recording has no event of a PTT device", code="no-ptt-event")
        event = explain(attribute.config, pmu=recording.device, machine=machine)
        sums = _Sums(_bits(event), None if readings is None else readings.function.routing_id)
        for batch in recording.walk(ALONE).batches(Query(_COLUMNS)):
            sums.add(batch)
        if recording.damage:
            raise recording.damage[0]
        aux = tuple(recording.contents.aux_events)
        counted: tuple[CountedTlps, ...] = ()
        if recording.counters is not None:
            counted = tuple(run(recording, ask_of(recording, Ask()), ("loss",)).results["loss"].counted)
        reserved = _reserved(recording) if event.format is Format.DW8 else (0, 0, 0)
    if sums.kept > MOST_ROWS:
        message = f"{sums.kept:,} configuration reads and completions of the function are too many: {MOST_ROWS:,} are looked at"
        raise InputError(str(path), message, code="too-many-reads")
    rows = sums.rows()
    requests, strangers = _requests(rows, readings, sums.kinds)
    return Evidence(
        name, path, event, readings, sums.tlps, sums.classes, requests, _completions(rows, readings, requests, sums.kinds), strangers, aux,
        (sums.own[0], sums.own[1]), reserved, counted,
    )  # fmt: skip


def _bits(event: Explanation) -> int:
    return BITS[Format.DW8 if event.format is Format.DW8 else Format.DW4]


def _reserved(recording: OpenRecording) -> tuple[int, int, int]:
    """Return the records, and in how many the words that hold nothing are not what they are said to be."""
    records = check = reserved = 0
    for chunk in recording.source().chunks():
        for start in range(0, chunk.size, _PIECE):
            data = chunk.read(start, _PIECE)
            words = np.frombuffer(data[: len(data) // _RECORD * _RECORD], dtype="<u4").reshape(-1, _RECORD // 4)
            records += len(words)
            check += int(np.count_nonzero(words[:, 0] != 0xFFFFFFFF))
            reserved += int(np.count_nonzero(words[:, 6]))
    return records, check, reserved


class _Sums:
    """Adds batches up. `function`: the routing ID of the function that was read."""

    def __init__(self, bits: int, function: int | None) -> None:
        self.tlps = 0
        self.kinds: tuple[str, ...] = ()
        self.classes: Counter[tuple[str, str]] = Counter()
        self.own = [0, 0]
        self._turn = 1 << bits
        self._function = function
        self._last: int | None = None
        self._counted = self._added = 0
        self._parts: list[dict[str, Numbers]] = []
        self.kept = 0

    def add(self, batch: Any) -> None:
        size = len(batch)
        if not size:
            return
        columns = {name: _numbers(batch.values(name), size) for name in _COLUMNS}
        if not self.kinds:
            self.kinds = batch.schema["kind"].values
        times = columns["time"]
        steps = np.diff(times, prepend=times[0] if self._last is None else self._last) % self._turn
        columns["counted"] = self._counted + np.cumsum(steps)
        columns["added"] = self._added + np.cumsum(times)
        self._counted, self._added, self._last = int(columns["counted"][-1]), int(columns["added"][-1]), int(times[-1])
        self.tlps += size
        self._count(batch, columns)
        if self._function is None:
            return
        reads, completions = _codes(self.kinds, READS), _codes(self.kinds, COMPLETIONS)
        ours = np.isin(columns["kind"], reads) & (columns["destination"] == self._function)
        ours |= np.isin(columns["kind"], completions) & (columns["completer"] == self._function)
        self.kept += int(np.count_nonzero(ours))
        if self.kept <= MOST_ROWS:
            self._parts.append({name: values[ours] for name, values in columns.items()})

    def _count(self, batch: Any, columns: Mapping[str, Numbers]) -> None:
        names = [batch.schema[name].values for name in ("direction", "class")]
        pairs, counts = np.unique(np.stack([columns["direction"], columns["class"]]), axis=1, return_counts=True)
        for direction, kind, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            if min(direction, kind) >= 0:
                self.classes[(names[0][direction], names[1][kind])] += count
        of_function = columns["requester"] == (-2 if self._function is None else self._function)
        is_completion = columns["class"] == names[1].index("CPL")
        self.own[0] += int(np.count_nonzero(of_function & ~is_completion))
        self.own[1] += int(np.count_nonzero(of_function & is_completion))

    def rows(self) -> Found:
        """Return the TLPs that may belong to the reads."""
        names = (*_COLUMNS, "counted", "added")
        none = np.zeros(0, dtype=np.int64)
        joined = {name: np.concatenate([part[name] for part in self._parts]) if self._parts else none for name in names}
        return Found(none, joined["index"], joined["time"], joined["counted"], joined["added"], joined)


def _codes(kinds: tuple[str, ...], names: tuple[str, ...]) -> list[int]:
    return [code for code, name in enumerate(kinds) if name in names]


def _numbers(values: Any, size: int) -> Numbers:
    """Return a column as numbers, -1 where it has no value."""
    if values.array is None:
        return np.full(size, -1, dtype=np.int64)
    dense = values.dense(size)
    array = np.asarray(dense.array, dtype=np.int64)
    return array if dense.valid is None else np.where(dense.valid, array, -1)


def _requests(rows: Found, readings: Readings | None, kinds: tuple[str, ...]) -> tuple[Found, int]:
    """Return the configuration reads that are those that were made, and how many are not."""
    own = np.flatnonzero(np.isin(rows.columns["kind"], _codes(kinds, READS)))
    if readings is None:
        return rows.take(own[:0], own[:0]), len(own)
    chosen, reads = align(rows.columns["register"][own].tolist(), readings.offsets.tolist())
    return rows.take(own[chosen], reads), len(own) - len(chosen)


def align(recorded: Sequence[int], made: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return which registers that were recorded are which of those that were read.

    Reads may be missing, and reads of others may stand between. Where the two differ, the nearest place counts at which they have a window
    of the pattern in common.

    Returns
    -------
    recorded, made : ndarray of int64, shape (n,)
        Positions of those that belong together.
    """
    windows: dict[tuple[int, ...], list[int]] = {}
    for number in range(len(made)):
        windows.setdefault(tuple(made[number : number + _PLACE]), []).append(number)
    pairs: list[tuple[int, int]] = []
    row = read = breaks = 0
    while row < len(recorded) and read < len(made):
        left = min(WINDOW, len(recorded) - row, len(made) - read)
        if tuple(recorded[row : row + left]) == tuple(made[read : read + left]):
            pairs.append((row, read))
            row, read = row + 1, read + 1
            continue
        # The last reads before something that comes between: their window is not whole.
        if pairs and pairs[-1] == (row - 1, read - 1) and recorded[row] == made[read]:
            pairs.append((row, read))
            row, read = row + 1, read + 1
            continue
        breaks += 1
        nearest = _nearest(recorded, row, read, windows)
        if nearest is None or breaks > _MOST_BREAKS:
            break
        row, read = nearest
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    runs = np.split(table, np.flatnonzero((np.diff(table, axis=0) != 1).any(axis=1)) + 1)
    # Some windows of other reads are the same by chance; so many in a row are not.
    if max(map(len, runs)) < min(_FEWEST_IN_A_ROW, len(made)):
        table = table[:0]
    return table[:, 0], table[:, 1]


def _nearest(recorded: Sequence[int], row: int, read: int, windows: Mapping[tuple[int, ...], list[int]]) -> tuple[int, int] | None:
    best: tuple[int, int, int] | None = None
    for later in range(row, min(row + _MOST_STRANGERS, len(recorded))):
        if best is not None and later - row >= best[0]:
            break
        places = windows.get(tuple(recorded[later : later + _PLACE]), [])
        at = bisect_left(places, read)
        if at < len(places) and (best is None or later - row + places[at] - read < best[0]):
            best = later - row + places[at] - read, later, places[at]
    return None if best is None else best[1:]


def _completions(rows: Found, readings: Readings | None, requests: Found, kinds: tuple[str, ...]) -> Found:
    """Return the completions of the reads: by tag and order where their requests are there; else all in a row, where that is one row."""
    own = np.flatnonzero(np.isin(rows.columns["kind"], _codes(kinds, COMPLETIONS)))
    none = rows.take(own[:0], own[:0])
    if readings is None or not len(own):
        return none
    if not len(requests):
        first = 0 if len(own) == len(readings) else _first_read(rows.counted[own], rows.added[own], readings)
        return none if first is None else rows.take(own, np.arange(first, first + len(own)))
    # The processor waits for each read: the completion of one comes before the next request, unless their order is not kept.
    tags, places = rows.columns["tag"][own].tolist(), rows.index[own].tolist()
    free: dict[int, list[int]] = {}
    for number, tag in enumerate(tags):  # in the order of their places
        free.setdefault(tag, []).append(number)
    chosen, reads = [], []
    for read, tag, place in zip(requests.reads.tolist(), requests.columns["tag"].tolist(), requests.index.tolist(), strict=True):
        left = free.get(tag)
        if left:
            after = bisect_left(left, place, key=places.__getitem__)
            at = min((at for at in (after - 1, after) if 0 <= at < len(left)), key=lambda at: abs(places[left[at]] - place))
            chosen.append(own[left.pop(at)])
            reads.append(read)
    order = np.array(chosen, dtype=np.intp)
    return rows.take(order, np.array(reads, dtype=np.int64))


def _first_read(counted: Numbers, added: Numbers, readings: Readings) -> int | None:
    """Return the read that the first of some completions belongs to: the only one from which on the waits between reads fit."""
    fitting = set()
    for ticks in (np.diff(counted), np.diff(added)):
        if len(ticks) < _FEWEST_WAITS or (ticks <= 0).any():
            continue
        for first in range(len(readings) - len(ticks)):
            before, after = (times[first : first + len(ticks) + 1] for times in (readings.before, readings.after))
            low, high = (before[1:] - after[:-1]) / ticks, (after[1:] - before[:-1]) / ticks
            if max(low.max(), 0) <= high.min():
                fitting.add(first)
    return fitting.pop() if len(fitting) == 1 else None
