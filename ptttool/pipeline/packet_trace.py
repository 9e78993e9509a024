"""Packet traces from recordings: files of raw trace, standard input, AUX data of perf.data. Each stream has a decoder of its own."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path

from ptttool.decoders.contract import Carries, Decoder, FramingProtocol, RecordProtocol
from ptttool.decoders.element_batch import Elements
from ptttool.decoders.opencsd.recorded_sources import sources_of
from ptttool.decoders.parameters import Given
from ptttool.decoders.stack import Stack, default_protocol, stack_of
from ptttool.diagnostics import Diagnostic
from ptttool.errors import InputError, UsageError
from ptttool.files.progress import Progress
from ptttool.perfdata.model import AuxChunk, Contents, Mode
from ptttool.recording import auxtrace
from ptttool.recording.cs_etm import FORMAT_MASK, FORMAT_RAW
from ptttool.recording.marks import Marks, all_contents, can_look_ahead, of_stream
from ptttool.recording.opening import InputForm, form_of, open_source, refuse_snapshot

# Bytes given to a decoder at a time: what they become shall fit the caches, and be enough for a row group.
PIECE = 1 << 19


@dataclass(frozen=True)
class Part:
    """Elements of one feed. ``cpu``: whose AUX stream they are of; None outside perf.data, or where it does not tell."""

    batch: Elements
    cpu: int | None


class PacketTrace:
    """One recording that is decoded by a stack of protocols. It is read once.

    ``protocol``: a name; None for the one that the recording's type of AUX trace stands for. ``given``: its parameters. ``form``: ``perf``
    or ``raw``; None to see from a file's first bytes (standard input is raw then). Raises InputError and UsageError as they are met.
    ``warning``: what is odd about the recording but its trace.
    """

    def __init__(
        self, path: str | Path, protocol: str | None, given: Mapping[str, Given], *, form: str | None = None, strict: bool = False
    ) -> None:
        self.path = str(path)
        self.strict = strict
        self._open = ExitStack()
        is_perf = (InputForm(form) if form is not None else form_of(self.path)) is InputForm.PERF
        if not is_perf and protocol is None:
            hint = "name it with --protocol; ptttool protocols lists them"
            if self.path == "-":
                hint += "; --input perf reads a perf.data from standard input"
            raise UsageError("a raw trace does not tell its protocol", hint=hint)
        refuse_snapshot(self.path)
        stack = None if protocol is None else _stack_of(protocol, given)
        self._source = open_source(path, InputForm.PERF if is_perf else InputForm.RAW)
        self._open.callback(self._source.close)
        self.warning: str | None = None
        self.progress = Progress(total=self._source.size, noun="elements")
        try:
            self._chunks = self._source.chunks()
            self._first = next(self._chunks, None)
            self._marks: Marks | None = None
            self._ahead: Contents | None = None
            if is_perf:
                stack = self._check(stack, given)
                if stack.protocol.described:
                    sources, damage = sources_of(self._all_contents())
                    stack = replace(stack, sources=sources)
                    if damage is not None:
                        self.warning = f"what the recording tells of its trace units is not whole: {damage}"
        except BaseException:
            self._open.close()
            raise
        assert stack is not None
        self.stack: Stack = stack

    @property
    def contents(self) -> Contents:
        """Everything of a recording but its trace; complete after the walk."""
        return self._source.contents

    @property
    def problems(self) -> Sequence[Diagnostic]:
        """Damage that was met so far."""
        return self.contents.problems

    def _check(self, stack: Stack | None, given: Mapping[str, Given]) -> Stack:
        """The stack to decode a perf.data with. Raises InputError where its AUX data are of something else."""
        kind = self.contents.auxtrace_type
        if self._first is None and not self.contents.problems:
            raise InputError(self.path, "holds no AUX trace", code="no-trace")
        what = "of a type it does not name" if kind is None else f"of {auxtrace.NAMES.get(kind, f'type {kind}')}"
        if stack is None:
            name = default_protocol(kind)
            if name is None:
                raise UsageError(
                    f"{self.path}: its AUX trace is {what}, for which there is no protocol by default", hint="name one with --protocol"
                )
            stack = _stack_of(name, given)
        wanted = {*stack.protocol.auxtrace, *(stack.framing.auxtrace if stack.framing is not None else ())}
        if kind is not None and kind not in wanted and (wanted or kind in auxtrace.NAMES):
            raise InputError(self.path, f"holds an AUX trace {what}, not of {stack.protocol.name}", code="other-pmu")
        return stack

    def parts(self) -> Iterator[Part]:
        """Elements of the whole recording, feed by feed. With ``strict``, an InputError at the first that may not be passed over."""
        decoders: dict[int, Decoder] = {}
        try:
            yield from self._parts(decoders)
        finally:
            for decoder in decoders.values():
                decoder.close()

    def _parts(self, decoders: dict[int, Decoder]) -> Iterator[Part]:
        cpus: dict[int, int | None] = {}
        for chunk in chain(() if self._first is None else (self._first,), self._chunks):
            decoder = decoders.get(chunk.idx)
            fresh = decoder is None
            if decoder is None:
                cpus[chunk.idx] = None if chunk.cpu < 0 else chunk.cpu
                decoder = decoders[chunk.idx] = self.stack.decoder(cpus[chunk.idx])
            if fresh or not self._is_whole:
                decoder.boundaries(of_stream(self._aux_marks().begins, chunk))
            for start, end, broken in self._pieces(chunk):
                data = chunk.read(start, end - start)
                batch = decoder.feed(data, offset=chunk.offset + chunk.start + start, discontinuity=broken and not fresh)
                fresh = False
                yield from self._given(batch, cpus[chunk.idx])
                self.progress.done = max(self.progress.done, chunk.file_offset + end)
                chunk.forget(end)
            self.progress.done = max(self.progress.done, self._source.position)
        for idx, decoder in decoders.items():
            yield from self._given(decoder.finish(), cpus[idx])

    def _given(self, batch: Elements, cpu: int | None) -> Iterator[Part]:
        if not len(batch):
            return
        batch, error = batch.strict(self.stack.fields) if self.strict else (batch, None)
        if len(batch):
            self.progress.records += len(batch)
            yield Part(batch, cpu)
        if error is not None:
            raise InputError(self.path, error.reason, offset=error.index, hint=error.hint, code=error.code)

    def _pieces(self, chunk: AuxChunk) -> Iterator[tuple[int, int, bool]]:
        """Start and end of what is fed at a time, and whether bytes are missing before it."""
        first = chunk.offset + chunk.start
        size = chunk.size
        breaks = of_stream(self._aux_marks().breaks, chunk)
        inside = breaks[bisect_right(breaks, first) : bisect_left(breaks, first + size)]
        edges = [0, *(place - first for place in inside), size]
        for number, (start, end) in enumerate(pairwise(edges)):
            broken = number > 0 or (bisect_left(breaks, first) < len(breaks) and breaks[bisect_left(breaks, first)] == first)
            for at in range(start, end, PIECE):
                yield at, min(at + PIECE, end), broken and at == start

    @property
    def _is_whole(self) -> bool:
        """Whether the recording can be read before it is decoded."""
        return self.contents.mode is Mode.RAW or can_look_ahead(self._source)

    def _aux_marks(self) -> Marks:
        """What AUX events say; of a pipe, those that have come so far."""
        if self._marks is None or not self._is_whole:
            contents = self._all_contents()
            self._check_frames(contents)
            self._marks = Marks.of(contents)
        return self._marks

    def _all_contents(self) -> Contents:
        """The contents of the whole recording, read ahead once; of a pipe, what has come so far."""
        if not can_look_ahead(self._source):
            return self.contents
        if self._ahead is None:
            self._ahead = all_contents(self._source)
        return self._ahead

    def _check_frames(self, contents: Contents) -> None:
        """CoreSight trace that a CPU wrote itself (TRBE) has no frames."""
        layers = (self.stack.protocol, self.stack.framing)
        if contents.auxtrace_type != auxtrace.CS_ETM or not any(
            isinstance(layer, FramingProtocol) and layer.carries is Carries.BYTES for layer in layers
        ):
            return
        for event in contents.aux_events:
            if event.size and event.flags & FORMAT_MASK == FORMAT_RAW:
                raise InputError(
                    self.path,
                    f"CPU {event.cpu}: trace of one source without frames (TRBE)",
                    offset=event.file_offset,
                    hint="decode it with the protocol of the trace unit and -p framing=none",
                    code="no-frames",
                )

    def close(self) -> None:
        """Let the file go."""
        self._open.close()

    def __enter__(self) -> PacketTrace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _stack_of(name: str, given: Mapping[str, Given]) -> Stack:
    stack = stack_of(name, given)
    if isinstance(stack.protocol, RecordProtocol):
        raise UsageError(f"{name} is not decoded by this command", hint=f"use: {stack.protocol.elsewhere}", code="other-command")
    return stack
