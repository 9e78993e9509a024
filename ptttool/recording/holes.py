"""Where TLPs may be missing inside of an AUX stream, as its AUX events say it: the trace was stopped and started, or data were lost."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ptttool.perfdata.model import AUX_COLLISION, AUX_OVERWRITE, AUX_PARTIAL, AUX_TRUNCATED, AuxChunk, Contents
from ptttool.recording.auxtrace import DMA_BUFFER
from ptttool.recording.marks import NO_CPU, Offsets

# Flags of ``include/uapi/linux/perf_event.h``. What follows the bytes of an event was lost, or something in them at an unknown offset:
# then both ends count. Where older trace was overwritten, that stood before the bytes.
_AT_END = AUX_TRUNCATED | AUX_PARTIAL | AUX_COLLISION
_AT_BEGIN = AUX_PARTIAL | AUX_COLLISION | AUX_OVERWRITE


class Holes:
    """Offsets in the AUX streams of a recording in front of which TLPs may be missing; complete when all AUX events have been seen.

    While it traces, the driver commits whole buffers. An event that ends inside of one ended a trace: what is behind it is of another one.
    """

    def __init__(self) -> None:
        self._offsets = Offsets()
        self._seen = 0
        self._ends: dict[int, int] = {}
        self._end: int | None = None  # the last of all CPUs

    def update(self, contents: Contents) -> None:
        """Take in the AUX events that are new since the last time."""
        by_cpu: dict[int, list[int]] = {}
        for event in contents.aux_events[self._seen :]:
            cpu, end = NO_CPU if event.cpu is None else event.cpu, event.offset + event.size
            if event.flags & _AT_END or event.size % DMA_BUFFER:
                by_cpu.setdefault(cpu, []).append(end)
            if event.flags & _AT_BEGIN:
                by_cpu.setdefault(cpu, []).append(event.offset)
            self._ends[cpu] = max(end, self._ends.get(cpu, 0))
            self._end = max(end, self._end or 0)
        self._seen = len(contents.aux_events)
        for cpu, offsets in by_cpu.items():
            self._offsets.add(cpu, offsets)

    def knows(self, chunk: AuxChunk) -> bool:
        """Return whether AUX events have announced all bytes of a chunk."""
        end = self._ends.get(chunk.cpu) if chunk.cpu >= 0 else self._end
        return end is not None and chunk.offset + chunk.start + chunk.size <= end

    def of(self, chunk: AuxChunk) -> Sequence[int]:
        """Return the offsets in the bytes of a chunk, ascending; that of its first byte can be among them, that of its end not."""
        offsets, begin = self._offsets.of(chunk), chunk.offset + chunk.start
        return offsets[bisect_left(offsets, begin) : bisect_left(offsets, begin + chunk.size)]
