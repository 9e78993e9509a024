"""The front door of the library: a recording in, frames of TLPs out, in bounded memory.

>>> with open_trace("perf.data") as trace:
...     for frame in trace.frames(("time", "kind", "requester")):
...         ...
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ptttool.analyses.tally import Sum, Tally
from ptttool.decoders.hisi_ptt import layout as hisi_ptt
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import Declared, Layout
from ptttool.decoders.hisi_ptt.records import UNIT_RECORDS, Piece, Records, Unit
from ptttool.errors import InputError, UsageError
from ptttool.files.progress import Progress
from ptttool.perfdata.model import Attribute, AuxChunk, Contents
from ptttool.pipeline.jobs import M, Task, Work, batches, in_order, merged, work_on_each
from ptttool.pipeline.workers import ALONE, Workers
from ptttool.recording import auxtrace
from ptttool.recording.identity import ptt_attribute
from ptttool.recording.opening import Source, open_perfdata
from ptttool.recording.raw_dump import RawDump
from ptttool.tlp.bulk import U32
from ptttool.tlp.columns import BY_NAME

if TYPE_CHECKING:
    import polars as pl

R = TypeVar("R")

# Records in a frame, at most and, of a pipe that brings more, at least.
FRAME_ROWS, SMALLEST_FRAME = UNIT_RECORDS, 1 << 15

# What a PERF_RECORD_AUXTRACE_INFO's type stands for.
_OTHERS = "ptttool packets decodes other traces: ptttool protocols lists of what"
RAW_FORMATS = {"4dw": False, "8dw": True}


# Bytes of a remote payload that are looked at to see what its records are; more where they are all zero, up to the device's ring.
SAMPLE, MOST_SAMPLE = 64 << 10, 16 << 20


@dataclass(frozen=True)
class Payload:
    """Whole records of one AUXTRACE payload, or of a piece of it, all-zero ones among them, cut as perf cuts them.

    ``number``: of the payload. ``payload_size``: bytes that the recording promises. ``start``: of ``words`` in the payload, in bytes.
    ``layout``: what perf takes the payload for, by its first word. ``words``: shape (n, 4 or 8), dtype ``<u4``; valid until the next
    payload is asked for.
    """

    number: int
    payload_size: int
    start: int
    layout: Layout
    words: U32


@dataclass(frozen=True)
class _Planned:
    """A unit of work, and what is over once it is done. ``spent``: chunks, and how far they were looked at. ``position``: of the walk."""

    unit: Unit
    spent: tuple[tuple[AuxChunk, int], ...]
    position: int


class Trace:
    """A recording of PTT. Every walk (``frames``, ``payloads``, ``tally``) reads it anew; standard input can be walked once.

    ``contents`` and ``findings`` are complete after a walk. A damaged file ends a walk early and without exception:
    ``contents.problems`` says where and why. What holds no PTT trace at all is an :class:`~ptttool.errors.InputError` of the walk.
    """

    def __init__(self, open_source: Callable[[], Source], *, raw: bool | None = None, pattern: int | None = None) -> None:
        self._open_source = open_source
        self._source = open_source()
        self._walked = False
        self._raw = raw
        self._pattern = pattern
        self.path = self._source.path
        self.findings = Findings()
        self.progress = Progress(total=self._source.size)

    @property
    def contents(self) -> Contents:
        """Everything of the recording but the records."""
        return self._source.contents

    @property
    def is_raw(self) -> bool:
        """A dump without a container, in the format that the user named."""
        return self._raw is not None

    @property
    def attribute(self) -> Attribute | None:
        """The PTT event; None where the recording does not tell (a raw dump, a damaged file)."""
        return ptt_attribute(self.contents)

    def frames(self, columns: Sequence[str], *, workers: Workers = ALONE) -> Iterator[pl.DataFrame]:
        """The TLPs as frames of just these columns, in this order, up to :data:`FRAME_ROWS` rows each; at least one frame.

        Types are those of :mod:`ptttool.tlp.columns`; absent fields are null. An unknown column is a :class:`~ptttool.errors.UsageError`.
        ``workers``: processes that decode.
        """
        from ptttool.pipeline.selection import Selection

        return Selection(checked_columns(columns)).frames(self, workers=workers)

    def tally(self, *, workers: Workers = ALONE) -> Tally:
        """The whole recording summed up."""
        return self.merge(Sum(), workers=workers)

    def run(self, work: Work[R], *, workers: Workers = ALONE) -> Iterator[R]:
        """What ``work`` gives for every unit of the recording, in order; for a recording without records once, for none."""
        nothing = True
        for values in self.run_batches(workers.batch_bytes, partial(work_on_each, work), work, workers=workers):
            nothing = False
            yield from values
        if nothing:
            yield work(Records(Layout(bool(self._raw))), 0, self.findings)

    def merge(self, work: Work[M], *, workers: Workers = ALONE) -> M:
        """What ``work`` gives for the whole recording, its results for units merged."""
        planned: deque[_Planned] = deque()

        def done(size: int, tlps: int) -> None:
            self.progress.records += tlps
            self._let_go(size, planned)

        outcome = merged(self._kept(self._units(work.unit_records), planned), work, workers, done)
        self.progress.done = self._source.position
        if outcome is None:
            return work(Records(Layout(bool(self._raw))), 0, self.findings)
        self.findings.merge(outcome.findings)
        self.progress.records = self.findings.records
        return outcome.value

    def run_batches(self, size: int, task: Task[R], work: Work[Any], *, workers: Workers = ALONE) -> Iterator[R]:
        """What a task gives for batches of units of at least ``size`` bytes (0: each unit), in order. ``work``: what the units are for."""
        planned: deque[_Planned] = deque()
        units = self._kept(self._units(work.unit_records), planned)
        for outcome in in_order(batches(units, size), task, workers, needs_index=work.needs_index):
            self.findings.merge(outcome.findings)
            self.progress.records = self.findings.records
            self._let_go(outcome.size, planned)
            yield outcome.value
        self.progress.done = self._source.position

    def _kept(self, planned: Iterator[_Planned], under_way: deque[_Planned]) -> Iterator[Unit]:
        for each in planned:
            under_way.append(each)
            yield each.unit

    def _let_go(self, size: int, under_way: deque[_Planned]) -> None:
        """So many bytes have been worked on, taken for the first ones of those under way."""
        left = size
        while left > 0 and under_way:
            planned = under_way.popleft()
            left -= planned.unit.size
            self.progress.done = max(self.progress.done, planned.position)
            for chunk, upto in planned.spent:
                chunk.forget(upto)

    def payloads(self) -> Iterator[Payload]:
        """The records as they lie in the file, for perf's text; a raw dump is one payload of the format that the user named."""
        if self.is_raw and self._source.size is None:
            raise UsageError(
                "perf's text begins with the size of the data, which a pipe does not tell",
                hint="save the dump to a file first",
                code="size-unknown",
            )
        layout = Layout(eight_dw=bool(self._raw))
        for chunk in self._chunks():
            words = np.frombuffer(chunk.read(), dtype="<u4", count=chunk.size // 4)
            if chunk.start == 0 and not self.is_raw:
                layout = Layout(eight_dw=bool(len(words)) and int(words[0]) >= hisi_ptt.CHECK_WORD)
            records = words[: len(words) // layout.words * layout.words].reshape(-1, layout.words)
            begin = self._source.position
            # A payload without one whole record has a headline in perf's text, too.
            for start in range(0, max(len(records), 1), FRAME_ROWS):
                part = records[start : start + FRAME_ROWS]
                at = chunk.start + start * layout.record_size
                yield Payload(chunk.number, chunk.payload_size, at, layout, part)
                upto = (start + len(part)) * layout.record_size
                self.progress.done = max(self.progress.done, begin + upto)
                chunk.forget(upto)
        self.progress.done = self._source.position

    def _units(self, most: int) -> Iterator[_Planned]:
        """The records in units of work: of one layout, ``most`` of them, or, where they come through a pipe, as there are."""
        pieces: list[Piece] = []
        spent: list[tuple[AuxChunk, int]] = []
        layout, records, position = Layout(False), 0, 0
        enough = most if self._source.size is not None else min(most, SMALLEST_FRAME)

        def planned() -> _Planned:
            return _Planned(Unit(layout, tuple(pieces)), tuple(spent), position)

        for chunk, found in self._laid_out():
            begin = self._source.position
            size = chunk.size // found.record_size * found.record_size
            start = 0
            while start < size:
                if pieces and (found != layout or records >= enough):
                    yield planned()
                    pieces, spent, records = [], [], 0
                layout = found
                part = min(size - start, (most - records) * layout.record_size)
                data = chunk.read(start, part) if chunk.in_memory else None
                pieces.append(Piece(chunk.path, chunk.file_offset + start, part, chunk.offset + chunk.start + start, chunk.cpu, data))
                start += part
                records += part // layout.record_size
                spent.append((chunk, start))
                position = begin + start
        if pieces:
            yield planned()

    def _laid_out(self) -> Iterator[tuple[AuxChunk, Layout]]:
        """The chunks, with what their records look like."""
        declared = Declared(self._raw, self._pattern)
        number, choice = -1, None
        for chunk in self._chunks():
            if not self.is_raw:
                declared = self._declared()
            words = _beginning(chunk)
            if choice is None or chunk.number != number or not choice.decided:
                again = chunk.number == number and choice is not None and choice.conflict
                choice = hisi_ptt.choose_layout(words, declared)
                if self._raw is not None and choice.conflict:  # the user's word decides
                    self.findings.note(f"the data look like {choice.layout.title} records; they were read as was asked")
                    choice = choice._replace(layout=Layout(self._raw, declared.pattern or 0), conflict=False)
                self.findings.format_conflicts += choice.conflict and not again
                self.findings.undecided_payloads += not choice.decided and chunk.start == 0
                number = chunk.number
            layout = choice.layout
            if chunk.start == 0:
                self.findings.count_format(layout.title)
            self.findings.count_tail(chunk.size % layout.record_size)
            yield chunk, layout

    def _chunks(self) -> Iterator[AuxChunk]:
        source = self._start()
        for chunk in source.chunks():
            self._check(source.contents, at_end=False)
            self.findings.missing_bytes += chunk.missing
            yield chunk
        self._check(source.contents, at_end=True)

    def _start(self) -> Source:
        if self._walked:
            if self.path == "-":
                raise UsageError("standard input can be read once only", hint="save it to a file first", code="stdin-twice")
            self._source.close()
            self._source = self._open_source()
        self._walked = True
        self.findings = Findings()
        self.progress = Progress(total=self._source.size)
        return self._source

    def _declared(self) -> Declared:
        """What the recording says of its layout; the user's word on the pattern comes first."""
        attribute, private = self.attribute, self.contents.auxtrace_priv
        config = None if attribute is None else attribute.config
        for sentence in hisi_ptt.doubts(config, private):
            self.findings.note(sentence)
        declared = hisi_ptt.declared_layout(config, private)
        return declared if self._pattern is None else declared._replace(pattern=self._pattern)

    def _check(self, contents: Contents, *, at_end: bool) -> None:
        """Raise where this is no PTT recording."""
        if self.is_raw or contents.auxtrace_type == auxtrace.HISI_PTT:
            return
        if contents.auxtrace_type is not None:
            what = auxtrace.NAMES.get(contents.auxtrace_type, f"type {contents.auxtrace_type}")
            raise InputError(self.path, f"holds an AUX trace of {what}, not of a PTT device", hint=_OTHERS, code="other-pmu")
        if self.attribute is not None or (at_end and (contents.problems or contents.interrupted)):
            return
        events = ", ".join(sorted({a.name for a in contents.attributes if a.name})) or "no PTT event"
        raise InputError(
            self.path,
            f"holds no PTT trace: it was recorded with {events}",
            hint="record with: ptttool trace --rootport ADDRESS",
            code="no-ptt",
        )

    def close(self) -> None:
        """Let the file go."""
        self._source.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _beginning(chunk: AuxChunk) -> U32:
    """The words of a chunk by which its layout is chosen: all where they are in memory, else so many that they are not all zero."""
    size = chunk.size if chunk.in_memory else min(SAMPLE, chunk.size)
    while True:
        words = np.frombuffer(chunk.read(0, size), dtype="<u4", count=size // 4)
        if size >= min(chunk.size, MOST_SAMPLE) or words.any():
            return words
        size = min(4 * size, chunk.size, MOST_SAMPLE)


def checked_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """Names of columns. Raises UsageError where one is none."""
    for name in columns:
        if name not in BY_NAME:
            raise UsageError(f"no column is called {name!r}", hint="columns: " + ", ".join(BY_NAME), code="unknown-column")
    return tuple(columns)


def open_trace(path: str | Path, *, raw_format: str | None = None, pattern: str | None = None) -> Trace:
    """Open a recording: perf.data as a file, a folder or from a pipe (``-`` is standard input), or a raw AUX dump.

    ``raw_format``: ``4dw`` or ``8dw`` for a dump without a container. ``pattern``: ``legacy`` or ``v1``, whatever the recording says.
    A file that cannot be read as that is an :class:`~ptttool.errors.InputError`.
    """
    number = None if pattern is None else _pattern(pattern)
    if raw_format is None:
        return Trace(lambda: open_perfdata(path), pattern=number)
    eight_dw = RAW_FORMATS[_known("input format", raw_format, RAW_FORMATS)]
    return Trace(lambda: RawDump(path), raw=eight_dw, pattern=number)


def _pattern(name: str) -> int:
    from ptttool.capture.event.terms import PATTERNS

    return PATTERNS[_known("pattern", name, PATTERNS)]


def _known(what: str, name: str, names: Iterable[str]) -> str:
    if name not in names:
        raise UsageError(f"no {what} is called {name!r}", hint="known: " + ", ".join(names))
    return name
