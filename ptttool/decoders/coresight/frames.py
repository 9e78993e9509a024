"""CoreSight formatter frames: the trace of several sources in frames of 16 bytes, as an ETR, an ETB or a trace port writes it.

:mod:`ptttool.decoders.coresight.deformat` separates data and IDs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptttool.decoders.byte_decoder import ByteDecoder, Run, no_sync, skipped, truncated
from ptttool.decoders.contract import Carries, ChannelDecoders, Decoder, FramingProtocol, StreamContext, register
from ptttool.decoders.coresight.deformat import FRAME, NO_ID, Deformatted, deformat
from ptttool.decoders.coresight.sync import FrameFinder
from ptttool.decoders.elements.arrays import U8, U64, Array, Elements, Strings
from ptttool.decoders.elements.model import Flags, column, common
from ptttool.decoders.offsets import Offsets
from ptttool.decoders.parameters import Settings, choice
from ptttool.recording.auxtrace import CS_ETM
from ptttool.table.schema import DType

NAME = "coresight-16"
# IDs without a trace source: padding, and the reserved ones 70 to 7F, two of which have a meaning.
PADDING_ID, FIRST_RESERVED = 0x00, 0x70
FLUSH_ID, TRIGGER_ID = 0x7B, 0x7D
PACKETS = ("data", "padding", "trigger", "flush", "fsync", "hsync", "framing")
_PACKET = {name: number for number, name in enumerate(PACKETS)}
# A frame of four full synchronisations fills the buffer; after it no ID is in effect.
_BARRIER = np.uint64(0x7FFF_FFFF_7FFF_FFFF)


class CoresightFrames(ByteDecoder):
    """Decodes frames: into the raw bytes of each source, or with a decoder for each source.

    Parameters
    ----------
    stream : bool
        Whether they come from a trace port, with synchronisation packets; otherwise frames follow one another from the first byte on.
    channels : callable, optional
        Makes the decoder of a source; without it bytes are shown raw.
    """

    def __init__(self, stream: bool, channels: ChannelDecoders | None = None) -> None:
        super().__init__(NAME)
        self._channels = channels
        self._decoders: dict[int, Decoder] = {}
        self._fed: set[int] = set()
        self._finder = FrameFinder() if stream else None
        self._current = NO_ID
        self._sync: Run | None = None
        self._lost: Run | None = Run(-1, "init")
        self._overhead = Run(-1, "framing")  # bytes of frames that are not data, where sources have decoders

    def restart(self, reason: str, offset: int) -> Elements:
        """Forget the ID in effect, and reset the decoders of all sources."""
        self._current = NO_ID
        self._lost = Run(offset if reason == "discontinuity" else -1, reason)
        # A source without bytes since the last reset has nothing to forget: a stream may have many resets and sources.
        several = [_of_channel(self._decoders[number].reset(reason, offset), number) for number in sorted(self._fed)]
        self._fed.clear()
        if reason == "init":
            self._decoders.clear()
        return Elements.join(several)

    def finish(self) -> Elements:
        """End the streams of all sources."""
        last = self._end()
        several = [_of_channel(decoder.finish(), number) for number, decoder in sorted(self._decoders.items())]
        self._decoders.clear()
        self._fed.clear()
        self.restart("init", 0)
        return Elements.join([*last, *several], by_index=True)

    def close(self) -> None:
        """Close the decoders of all sources."""
        for decoder in self._decoders.values():
            decoder.close()
        self._decoders.clear()
        self._fed.clear()

    def flush(self) -> Elements:
        """Return elements that wait for their end."""
        several = [self._end_sync(), self._end_lost()]
        if self._finder is not None:
            data, index = self._finder.rest()
            if len(data):
                several.append(truncated(NAME, int(index[0]), data.tobytes()))
        if self._overhead.size:
            several.append(_of_run(self._overhead))
        self._overhead = Run(-1, "framing")
        return Elements.join(several, by_index=True)

    def scan(self, data: bytes, offsets: Offsets, last: bool) -> tuple[Elements, int]:
        """Decode the whole frames in some bytes."""
        if self._finder is not None:
            return self._scan_stream(self._finder, data, offsets, last)
        used = len(data) // FRAME * FRAME
        frames = np.frombuffer(data, dtype=np.uint8, count=used)
        several: list[Elements] = []
        start = 0
        for first, after in _barriers(frames):
            several += self._frames(frames[start:first], offsets.after(start))
            if first < after:
                if not self._goes_on(offsets.of(first)):
                    several += [self._end_lost(), self.restart("reset", offsets.of(first))]
                several += self._synced("fsync", offsets.at(np.arange(first, after, 4)), 4)
            start = after
        return self._ended(several, offsets, used), used

    def _ended(self, several: list[Elements], offsets: Offsets, used: int) -> Elements:
        """Return all elements of a feed; a run of synchronisation packets goes on only if it reaches the end."""
        if used and not self._goes_on(offsets.of(used - 1) + 1):
            several.append(self._end_sync())
        return Elements.join(several, by_index=True)

    def _goes_on(self, index: int) -> bool:
        """Whether a synchronisation packet at an offset is right behind the run so far."""
        return self._sync is not None and self._sync.index + self._sync.size == index

    def _scan_stream(self, finder: FrameFinder, data: bytes, offsets: Offsets, last: bool) -> tuple[Elements, int]:
        parts, used = finder.find(data, offsets, last)
        several: list[Elements] = []
        for each in parts:
            if each.what == "frames":
                several += self._frames(each.data, Offsets(each.index))
            elif each.what in ("fsync", "hsync"):
                several += self._synced(each.what, each.index, each.size)
            elif each.what == "lost":
                self._lose(int(each.index[0]), each.size)
            else:
                # Bytes of it are missing; after it frames are known again, and the ID with them.
                several += [self._end_lost(), no_sync(NAME, int(each.index[0]), each.size, "bad_packet")]
                several.append(self.restart("bad_packet", int(each.index[0])))
        return self._ended(several, offsets, used), used

    def _frames(self, frames: U8, offsets: Offsets) -> list[Elements]:
        """Return the elements of whole frames."""
        if not len(frames):
            return []
        several: list[Elements] = []
        taken = deformat(frames, self._current)
        self._current = taken.last
        first = 0
        if taken.id[0] == NO_ID:
            first = int(taken.start[1]) if len(taken.start) > 1 else len(frames)
            self._lose(offsets.of(0), first)
        if first < len(frames):
            several.append(self._end_lost())
            if self._channels is None:
                several.append(_elements(taken, offsets, first))
            else:
                several += self._give(taken, offsets, first)
        return several

    def _give(self, taken: Deformatted, offsets: Offsets, first: int) -> list[Elements]:
        """Give the bytes of every source to its decoder."""
        assert self._channels is not None
        several = []
        size = len(taken.data) - first
        for number, data, mine in taken.streams():
            if number in (NO_ID, PADDING_ID) or number >= FIRST_RESERVED:
                continue
            if number not in self._decoders:
                self._decoders[number] = self._channels(number)
            self._fed.add(number)
            index = offsets.at(np.flatnonzero(mine))
            several.append(_of_channel(self._decoders[number].feed(data.tobytes(), offset=Offsets(index)), number))
            size -= len(data)
        special = _elements(taken, offsets, first, special=True)
        several.append(special)
        self._overhead.size += size - int(special.size.sum())
        if self._overhead.index < 0:
            self._overhead.index = offsets.of(first)
        return several

    def _lose(self, index: int, size: int) -> None:
        """Take note of bytes before the first ID."""
        assert self._lost is not None, "every restart begins with bytes of an unknown source"
        if self._lost.index < 0:
            self._lost.index = index
        self._lost.size += size

    def _synced(self, what: str, index: U64, unit: int) -> list[Elements]:
        """Return the elements of synchronisation packets: adjacent ones make one element, and the last run may go on."""
        breaks = np.flatnonzero(index[1:] != index[:-1] + np.uint64(unit)) + 1
        first = np.concatenate([[0], breaks])
        size = np.diff(first, append=len(index)) * unit
        starts = index[first]
        several = []
        run = self._sync
        if run is not None and run.what == what and self._goes_on(int(starts[0])):
            starts[0] = run.index
            size[0] += run.size
        else:
            several.append(self._end_sync())
        self._sync = Run(int(starts[-1]), what, int(size[-1]))
        if len(starts) > 1:
            several.append(_runs(what, starts[:-1], size[:-1]))
        return several

    def _end_sync(self) -> Elements:
        run, self._sync = self._sync, None
        return Elements.empty(NAME) if run is None else _of_run(run)

    def _end_lost(self) -> Elements:
        run, self._lost = self._lost, None
        return skipped(NAME, run)


def _runs(what: str, index: Array, size: Array) -> Elements:
    elements = Elements(NAME, index.astype(np.uint64), size.astype(np.uint64))
    elements.put("packet", _PACKET[what])
    return elements


def _of_run(run: Run) -> Elements:
    return _runs(run.what, np.array([run.index]), np.array([run.size]))


def _of_channel(elements: Elements, number: int) -> Elements:
    elements.channel[:] = number
    return elements


def _barriers(frames: U8) -> list[tuple[int, int]]:
    """Return the runs of frames that are four full synchronisations, as start and end, and an empty one at the end."""
    words = frames.view("<u8") if len(frames) else np.empty(0, dtype="<u8")
    is_barrier = (words[0::2] == _BARRIER) & (words[1::2] == _BARRIER)
    runs = []
    if is_barrier.any():
        edges = np.flatnonzero(np.diff(is_barrier.astype(np.int8), prepend=0, append=0)) * FRAME
        runs = [(int(first), int(after)) for first, after in zip(edges[::2], edges[1::2], strict=True)]
    return [*runs, (len(frames), len(frames))]


def _elements(taken: Deformatted, offsets: Offsets, first: int, *, special: bool = False) -> Elements:
    """Return an element for the data of each ID in each frame; the byte of the ID before them and byte 15 count as part of it.

    Parameters
    ----------
    first : int
        Position from which on the ID is known.
    special : bool
        Return only IDs without a trace source, except padding, and count only their data.
    """
    begins = np.zeros(len(taken.data), dtype=np.bool_)
    begins[::FRAME] = True
    begins[taken.start] = True
    begins[:first] = False
    begins[first] = True
    start = np.flatnonzero(begins)
    ids = taken.id[np.searchsorted(taken.start, start, side="right") - 1]
    size = np.diff(start, append=len(taken.data))
    before = np.concatenate([[0], np.cumsum(taken.held)])
    count = before[start + size] - before[start]
    at = before[start]
    if special:
        chosen = np.flatnonzero((ids >= FIRST_RESERVED) & (ids != NO_ID) & (count > 0))
        start, ids, count, at = start[chosen], ids[chosen], count[chosen], at[chosen]
        size = count
    flags = np.where((ids >= FIRST_RESERVED) & (ids != FLUSH_ID) & (ids != TRIGGER_ID), int(Flags.RESERVED), 0)
    elements = Elements(NAME, offsets.at(start), size, channel=ids.astype(np.int32), flags=flags)
    elements.put("packet", _PACKETS_OF[ids])
    elements.put("payload", Strings(taken.data[taken.held], at, count))
    return elements


_PACKETS_OF: U8 = np.full(256, _PACKET["data"], dtype=np.uint8)
_PACKETS_OF[[PADDING_ID, TRIGGER_ID, FLUSH_ID]] = [_PACKET["padding"], _PACKET["trigger"], _PACKET["flush"]]

FIELDS = (column("packet", DType.ENUM, "what the bytes are", PACKETS), *common("payload"))


@dataclass(frozen=True, kw_only=True)
class FrameSettings(Settings):
    """Where the frames lie."""

    frames: str = choice(
        "memory: frames from the first byte on; stream: of a trace port, with synchronisation packets", ("memory", "stream"), "memory"
    )


@register
class FrameProtocol(FramingProtocol[FrameSettings]):
    """CoreSight formatter frames, for the registry."""

    name = NAME
    meaning = "CoreSight formatter frames of 16 bytes: bytes of each trace source, raw"
    resync = "frames: at the next frame (memory), after the next FF FF FF 7F (stream); sources: at the next ID"
    settings_type = FrameSettings
    fields = FIELDS
    auxtrace = (CS_ETM,)
    default_for = (CS_ETM,)
    carries = Carries.BYTES

    def decoder(self, settings: FrameSettings, context: StreamContext) -> CoresightFrames:
        """Return a decoder that shows the bytes of sources raw."""
        return CoresightFrames(settings.frames == "stream")

    def framed(self, settings: FrameSettings, context: StreamContext, channels: ChannelDecoders) -> CoresightFrames:
        """Return a decoder that gives bytes to a decoder of each source."""
        return CoresightFrames(settings.frames == "stream", channels)
