"""A pass through packet traces: each AUX stream has a decoder of its own and is decoded in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import Struct

from ptttool.budget import over_budget
from ptttool.decoders.contract import Carries, Decoder, FramingProtocol
from ptttool.decoders.elements.arrays import Elements
from ptttool.decoders.elements.model import CODES
from ptttool.decoders.elements.rows import ElementFindings, ElementRows, no_rows
from ptttool.decoders.stack import Stack
from ptttool.errors import InputError
from ptttool.files.progress import Progress
from ptttool.perfdata.budget import MAX_STREAMS
from ptttool.perfdata.model import AuxChunk, Contents
from ptttool.pipeline.jobs import until_violation
from ptttool.pipeline.walk import Walk
from ptttool.pipeline.work import Mergeable, Work
from ptttool.recording import auxtrace
from ptttool.recording.marks import Marks, all_contents, can_look_ahead
from ptttool.recording.opening import Source

R = TypeVar("R")
M = TypeVar("M", bound=Mergeable)

# Elements that are handed on at a time, at least; fewer where their bytes take as much memory as this.
_ROWS, _BYTES = 1 << 16, 1 << 24
# Bytes of the smallest feed.
_LEAST_FEED = 1 << 10


class Decoded(NamedTuple):
    """Elements of one feed.

    Parameters
    ----------
    chunk : int
        Number of the chunk, in the order of the recording; elements that come at the end have one behind all chunks.
    stream : int
        Number of the stream, in the order in which streams turn up.
    elements : Elements
        The elements.
    cpu : int or None
        CPU of the AUX stream, where that is known.
    position : int
        Bytes of the file that have been worked on.
    """

    chunk: int
    stream: int
    elements: Elements
    cpu: int | None
    position: int


class Filter(Struct, frozen=True):
    """Which elements are wanted at all: those of some channels, without some kinds."""

    channels: tuple[int, ...] = ()
    without: tuple[str, ...] = ()

    def __call__(self, elements: Elements) -> Elements:
        """Return the elements that are wanted."""
        if self.channels:
            elements = elements.take(np.isin(elements.channel, self.channels))
        return elements


class StreamDecoder:
    """Decodes the streams of one recording, feed by feed.

    Parameters
    ----------
    source : Source
        The recording, not yet read.
    stack : Stack
        Makes the decoders.
    """

    def __init__(self, source: Source, stack: Stack) -> None:
        self.source = source
        self._stack = stack
        self._is_whole = can_look_ahead(source)
        self._marks = Marks()
        self._has_marks = False
        self._feed = min(_LEAST_FEED << 2, stack.protocol.feed)

    def decoded(self, accepts: Callable[[int], bool] = lambda _stream: True) -> Iterator[Decoded]:
        """Yield the elements of all streams, or of those with a wanted number, in the order of the recording.

        Raises
        ------
        InputError
            Trace of one source without frames, where frames were expected (code ``no-frames``), and whatever the source raises.
        """
        decoders: dict[int, Decoder] = {}
        try:
            yield from self._decoded(accepts, decoders)
        finally:
            for decoder in decoders.values():
                decoder.close()

    def _decoded(self, accepts: Callable[[int], bool], decoders: dict[int, Decoder]) -> Iterator[Decoded]:
        streams: dict[int, int] = {}
        cpus: dict[int, int | None] = {}
        number = -1
        for number, chunk in enumerate(self.source.chunks()):
            is_new = chunk.idx not in streams
            if is_new and len(streams) >= MAX_STREAMS:
                raise over_budget(self.source.path, "packet streams", MAX_STREAMS, "streams", offset=chunk.file_offset)
            stream = streams.setdefault(chunk.idx, len(streams))
            if not accepts(stream):
                continue
            if is_new:
                cpus[stream] = None if chunk.cpu < 0 else chunk.cpu
                decoders[stream] = self._stack.decoder(cpus[stream])
            decoder = decoders[stream]
            self._look_at_marks()
            if is_new:
                decoder.boundaries(self._marks.begins.of(chunk))
            for start, end, broken in self._feeds(chunk):
                data = chunk.read(start, end - start)
                elements = decoder.feed(data, offset=chunk.offset + chunk.start + start, discontinuity=broken and not is_new)
                is_new = False
                self._adapt_feed(len(elements), end - start)
                yield Decoded(number, stream, elements, cpus[stream], chunk.file_offset + end)
        for stream, decoder in decoders.items():
            yield Decoded(number + 1, stream, decoder.finish(), cpus[stream], self.source.position)

    def _feeds(self, chunk: AuxChunk) -> Iterator[tuple[int, int, bool]]:
        """Yield start and end of what is fed at a time, and whether bytes are missing before it."""
        first = chunk.offset + chunk.start
        size = chunk.size
        breaks = self._marks.breaks.of(chunk)
        inside = breaks[bisect_right(breaks, first) : bisect_left(breaks, first + size)]
        at_start = bisect_left(breaks, first)
        is_broken = at_start < len(breaks) and breaks[at_start] == first
        for number, (start, end) in enumerate(pairwise([0, *(offset - first for offset in inside), size])):
            broken = number > 0 or is_broken
            at = start
            while at < end:
                after = min(at + self._feed, end)
                yield at, after, broken and at == start
                at = after

    def _adapt_feed(self, elements: int, size: int) -> None:
        """Feed less at a time where bytes stand for so many elements that these would take much memory at once."""
        if elements > max(_ROWS, size):
            self._feed = max(self._feed // 2, _LEAST_FEED)
        elif elements < max(_ROWS, size) // 2:
            self._feed = min(2 * self._feed, self._stack.protocol.feed)

    def _look_at_marks(self) -> None:
        """Take in what AUX events say; of a pipe, those that have arrived so far."""
        if not self._has_marks or not self._is_whole:
            contents = all_contents(self.source)
            self._check_frames(contents, self._marks.events)
            self._marks.update(contents)
            self._has_marks = True

    def _check_frames(self, contents: Contents, start: int) -> None:
        """Raise for CoreSight trace that a CPU wrote by itself (TRBE): it has no frames. `start`: number of the first new AUX event."""
        layers = (self._stack.protocol, self._stack.framing)
        takes_frames = any(isinstance(layer, FramingProtocol) and layer.carries is Carries.BYTES for layer in layers)
        if contents.auxtrace_type != auxtrace.CS_ETM or not takes_frames:
            return
        for event in contents.aux_events[start:]:
            if event.size and not event.is_framed:
                raise InputError(
                    self.source.path,
                    f"CPU {event.cpu}: trace of one source without frames (TRBE)",
                    offset=event.file_offset,
                    hint="decode it with the protocol of the trace unit and -p framing=none",
                    code="no-frames",
                )


class StreamWalk(Walk):
    """A pass through a packet trace.

    Parameters
    ----------
    decoder : StreamDecoder
        Its source is not yet read.
    stack : Stack
        What decodes it.
    chosen : Filter
        The elements that are wanted at all.
    file : str or None
        Name of the recording, where there are several.
    strict : bool
        Whether to end at what strict decoding may not pass over.
    lanes : iterable of Decoded, or None
        Processes that decode already; None: this process decodes.
    findings : ElementFindings
        What is known to be odd about the recording.
    """

    def __init__(
        self,
        decoder: StreamDecoder,
        stack: Stack,
        chosen: Filter,
        *,
        file: str | None = None,
        strict: bool = False,
        lanes: Iterable[Decoded] | None = None,
        findings: ElementFindings | None = None,
    ) -> None:
        self._decoder = decoder
        self._stack = stack
        self._filter = chosen
        self._file = file
        self._strict = strict
        self._lanes = lanes
        self.path = decoder.source.path
        self.findings = self._found = ElementFindings() if findings is None else findings
        self.progress = Progress(total=decoder.source.size, noun="elements")

    @property
    def contents(self) -> Contents:
        """Everything of the recording but the AUX data."""
        return self._decoder.source.contents

    @property
    def source(self) -> Source:
        """The recording's source."""
        return self._decoder.source

    def run(self, work: Work[R]) -> Iterator[R]:
        """Yield what `work` gives for elements, many enough at a time to be worth it."""
        nothing = True
        for rows in self._rows():
            good, error = until_violation(rows, self.path) if self._strict else (rows, None)
            assert isinstance(good, ElementRows)
            shown = self._shown(good)
            self._found.records += shown.size
            self.progress.records = self._found.records
            if shown.size or nothing:
                nothing = False
                yield work(shown)
            if error is not None:
                raise error
        if nothing:
            yield work(no_rows(self._stack.schema))
        source = self._decoder.source
        if self._lanes is not None:
            for _ in source.chunks():  # for the contents
                pass
        self.progress.done = source.position
        for remark in self._stack.protocol.afterwards(self._stack.settings):
            self._found.remarks[remark] += 1

    def merge(self, work: Work[M]) -> M:
        """Return the merged results."""
        whole: M | None = None
        for value in self.run(work):
            if whole is None:
                whole = value
            else:
                whole.merge(value)
        assert whole is not None
        return whole

    def _shown(self, rows: ElementRows) -> ElementRows:
        elements = rows.elements
        self._found.remarks.update(self._stack.protocol.remarks(elements, self._stack.settings))
        if not self._filter.without:
            return rows
        return rows.taken(~np.isin(elements.kind, [CODES[kind] for kind in self._filter.without]))

    def _rows(self) -> Iterator[ElementRows]:
        """Yield the elements of wanted channels; of a pipe as they come."""
        held: list[Decoded] = []
        count = size = 0
        at_once = self._decoder.source.size is None
        for each in self._decoder.decoded() if self._lanes is None else self._lanes:
            elements = self._filter(each.elements)
            self.progress.done = max(self.progress.done, each.position)
            if not len(elements):
                continue
            held.append(each._replace(elements=elements))
            count += len(elements)
            size += elements.raw.data.nbytes
            if at_once or count >= _ROWS or size >= _BYTES:
                yield self._together(held)
                held, count, size = [], 0, 0
        if held:
            yield self._together(held)

    def _together(self, held: Sequence[Decoded]) -> ElementRows:
        elements = Elements.join([each.elements for each in held])
        cpus = {each.cpu for each in held}
        cpu: object = held[0].cpu
        if len(cpus) > 1:
            counts = [len(each.elements) for each in held]
            cpu = np.repeat(np.array([-1 if each.cpu is None else each.cpu for each in held], dtype=np.int32), counts)
        return ElementRows(elements, self._stack.schema, cpu, self._file)  # type: ignore[arg-type]
