"""Splits a recording of the PTT device into units of work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ptttool.decoders.decoded import PlannedUnit
from ptttool.decoders.hisi_ptt import layout as layouts
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import Choice, Declared, Layout
from ptttool.decoders.hisi_ptt.records import Piece, Records
from ptttool.decoders.hisi_ptt.traced import direction_rule
from ptttool.decoders.hisi_ptt.units import TlpRows, TlpUnit
from ptttool.decoders.parameters import Settings, choice, text
from ptttool.errors import InputError
from ptttool.perfdata.budget import MAX_DESCRIPTIONS
from ptttool.perfdata.model import AuxChunk
from ptttool.recording.holes import Holes
from ptttool.recording.identity import ptt_attribute
from ptttool.recording.opening import Source
from ptttool.tlp.bulk import U32
from ptttool.tlp.direction import EITHER, Buses, parse_buses

# Records from a pipe after which a unit ends, so that they are decoded soon after they arrive.
PIPE_RECORDS = 1 << 15
_NO_HOLES = np.empty(0, dtype=np.int64)
# Bytes at the start of a payload that determine its layout. If they are all zero, more are read, up to the size of the device's ring.
_SAMPLE, _LARGEST_SAMPLE = 64 << 10, 4 * layouts.MOST_ZEROS


@dataclass(frozen=True, kw_only=True)
class HisiPttSettings(Settings):
    """Parameters that a recording may not contain."""

    input: str | None = choice("format of the records of a dump without a container; --input says the same", ("4dw", "8dw"), optional=True)
    pattern: str | None = choice("layout of spare header bits, whatever the recording says", ("legacy", "v1"), optional=True)

    direction: str | None = choice(
        "directions that the recording holds, whatever it says of itself", ("inbound", "outbound", "both"), optional=True
    )
    downstream: str | None = text(
        "buses behind the traced root ports, such as 01-03,05: they tell in from out; --downstream says the same", optional=True
    )

    def __post_init__(self) -> None:
        if self.downstream is not None:
            parse_buses(self.downstream)

    @property
    def buses(self) -> Buses | None:
        """The buses behind the traced root ports; None if the parameter is not given."""
        return None if self.downstream is None else parse_buses(self.downstream)

    @property
    def eight_dw(self) -> bool | None:
        """Whether a dump holds 8DW records; None if the parameter is not given."""
        return None if self.input is None else self.input == "8dw"

    @property
    def pattern_number(self) -> int | None:
        """The header pattern; None if the recording decides."""
        return None if self.pattern is None else ("legacy", "v1").index(self.pattern)


class TlpSplitter:
    """Splits one recording into units.

    Parameters
    ----------
    source : Source
        The recording, not yet read.
    settings : HisiPttSettings
        What the user says; it takes precedence over what the recording says.
    file : str or None
        Name of the recording, if there are several.
    strict : bool
        Whether data that are not a whole record raise an InputError.
    """

    def __init__(self, source: Source, settings: HisiPttSettings, *, file: str | None = None, strict: bool = False) -> None:
        self._source = source
        self._settings = settings
        self._pattern, self._buses = settings.pattern_number, settings.buses
        # Format of a dump without a container: False for 4DW, True for 8DW; None for a perf.data.
        self._raw = settings.eight_dw if source.contents.mode == "raw" else None
        self._file = file
        self._strict = strict
        self.findings = Findings()
        # What the recording says of its layout, the revision of the contents that said so, and how many were looked at.
        self._said = Declared(self._raw, self._pattern)
        self._revision: int | None = None
        self._looks = 0
        self._holes = Holes()
        self._config: int | None = None  # that the event had then

    def nothing(self) -> TlpRows:
        """Return no rows."""
        return TlpRows(Records(Layout(bool(self._raw))), 0, Findings(), self._file)

    def units(self, most: int) -> Iterator[PlannedUnit]:
        """Yield the records in units of one layout.

        Parameters
        ----------
        most : int
            Largest number of records in a unit. From a pipe, units are smaller.

        Raises
        ------
        InputError
            The recording cannot be read. In strict mode also: the end of a payload is not a whole record (code ``strict``).
        """
        pieces: list[Piece] = []
        layout, records, position = Layout(False), 0, 0
        direction = EITHER
        is_pipe = self._source.size is None
        enough = min(most, PIPE_RECORDS) if is_pipe else most

        def planned() -> PlannedUnit:
            return PlannedUnit(TlpUnit(layout, tuple(pieces), self._file, direction), position)

        for chunk, chunk_layout, begin in self._laid_out():
            size = chunk.size // chunk_layout.record_size * chunk_layout.record_size
            rule = direction_rule(self._config, given=self._settings.direction, buses=self._buses, eight_dw=chunk_layout.eight_dw)
            # A record that a hole lies in was written before it.
            holes = _NO_HOLES
            if marked := self._holes.of(chunk):
                holes = np.array([hole - chunk.offset - chunk.start for hole in marked], dtype=np.int64)
                holes = np.unique(-(-holes // chunk_layout.record_size) * chunk_layout.record_size)
            start = 0
            while start < size:
                if pieces and (chunk_layout != layout or rule != direction or records >= enough):
                    yield planned()
                    pieces, records = [], 0
                layout, direction = chunk_layout, rule
                part = min(size - start, (most - records) * layout.record_size)
                data = chunk.read(start, part) if chunk.in_memory else None
                offset = chunk.offset + chunk.start + start
                inside = holes[slice(*np.searchsorted(holes, (start, start + part)))] - start if len(holes) else None
                pieces.append(Piece(chunk.path, chunk.file_offset + start, part, offset, chunk.cpu, data, chunk.file, None, inside))
                start += part
                records += part // layout.record_size
                position = begin + start
            if self._strict and chunk.size > size:
                if pieces:
                    yield planned()
                raise InputError(
                    self._source.path, f"{chunk.size - size} bytes at the end of a payload are not a whole record",
                    offset=chunk.offset + chunk.start + size, hint="without --strict, they are left out and counted", code="strict",
                )  # fmt: skip
        if pieces:
            yield planned()

    def _announced(self) -> Iterator[tuple[AuxChunk, int]]:
        """Yield the chunks and how far the file was read; one whose AUX events have not all come waits for the next one."""
        held: list[tuple[AuxChunk, int]] = []
        for chunk in self._source.chunks():
            held.append((chunk, self._source.position))
            self._holes.update(self._source.contents)
            while held and (len(held) > 1 or self._holes.knows(held[0][0])):
                yield held.pop(0)
        self._holes.update(self._source.contents)
        yield from held

    def _laid_out(self) -> Iterator[tuple[AuxChunk, Layout, int]]:
        """Yield the chunks, each with the layout of its records, and how far the file was read."""
        declared = Declared(self._raw, self._pattern)
        number, choice = -1, None
        for chunk, position in self._announced():
            self.findings.missing_bytes += chunk.missing
            if self._raw is None:
                declared = self._declared()
            if choice is None or chunk.number != number or not choice.decided:
                again = chunk.number == number and choice is not None and choice.conflict
                choice = self._chosen(chunk, declared)
                self.findings.format_conflicts += choice.conflict and not again
                self.findings.undecided_payloads += not choice.decided and chunk.start == 0
                number = chunk.number
            layout = choice.layout
            if chunk.start == 0:
                self.findings.formats[layout.title] += 1
            if tail := chunk.size % layout.record_size:
                self.findings.tails += 1
                self.findings.tail_bytes += tail
            yield chunk, layout, position

    def _chosen(self, chunk: AuxChunk, declared: Declared) -> Choice:
        choice = layouts.choose_layout(_sample(chunk), declared)
        if self._raw is None or not choice.conflict:
            return choice
        # The user's choice decides.
        self.findings.note(f"the data look like {choice.layout.title} records; they were read as {'8DW' if self._raw else '4DW'}")
        return choice._replace(layout=Layout(self._raw, declared.pattern or 0), conflict=False)

    def _declared(self) -> Declared:
        """Return what the recording says about its layout; the user's choice of a pattern takes precedence."""
        contents = self._source.contents
        if contents.revision == self._revision or self._looks > MAX_DESCRIPTIONS:
            return self._said
        self._revision = contents.revision
        self._looks += 1
        if self._looks > MAX_DESCRIPTIONS:
            self.findings.note(f"the events change more than {MAX_DESCRIPTIONS} times between payloads: later changes are not looked at")
            return self._said
        attribute, private = ptt_attribute(contents), contents.auxtrace_priv
        config = self._config = None if attribute is None else attribute.config
        for sentence in layouts.doubts(config, private):
            self.findings.note(sentence)
        declared = layouts.declared_layout(config, private)
        self._said = declared if self._pattern is None else declared._replace(pattern=self._pattern)
        return self._said


def _sample(chunk: AuxChunk) -> U32:
    """Return the first DWs of a chunk; there are enough of them to determine its layout."""
    if chunk.in_memory:
        return np.frombuffer(chunk.read(0, chunk.size), dtype="<u4", count=chunk.size // 4)
    size = min(_SAMPLE, chunk.size)
    while True:
        dws = np.frombuffer(chunk.read(0, size), dtype="<u4", count=size // 4)
        if size >= min(chunk.size, _LARGEST_SAMPLE) or dws.any():
            return dws
        size = min(4 * size, chunk.size, _LARGEST_SAMPLE)
