"""Offsets in AUX streams that AUX events mark: where bytes are missing, and where tracing was started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptttool.perfdata.model import AUX_OVERWRITE, AUX_PARTIAL, AUX_TRUNCATED, AuxChunk, Contents, Mode
from ptttool.recording.opening import InputForm, Source, open_source

NO_CPU = -1
"""Stands for the CPU of events that name none."""


@dataclass(frozen=True)
class Marks:
    """Offsets by CPU (:data:`NO_CPU` for events that name none), ascending.

    Attributes
    ----------
    breaks : Mapping[int, Sequence[int]]
        Offsets before which bytes are missing: see :func:`breaks_of`.
    begins : Mapping[int, Sequence[int]]
        Offsets at which the bytes of an AUX event begin: see :func:`begins_of`.
    """

    breaks: Mapping[int, Sequence[int]]
    begins: Mapping[int, Sequence[int]]

    @classmethod
    def of(cls, contents: Contents) -> Marks:
        """Return the marks that a recording's AUX events set."""
        return cls(breaks_of(contents), begins_of(contents))


def breaks_of(contents: Contents) -> dict[int, list[int]]:
    """Return the offsets before which bytes are missing, by CPU and ascending.

    PERF_AUX_FLAG_TRUNCATED: what follows the event's bytes was lost. PERF_AUX_FLAG_PARTIAL: there are gaps in them, at unknown offsets.
    PERF_AUX_FLAG_OVERWRITE: older trace was overwritten before them (``include/uapi/linux/perf_event.h`` of the Linux sources).
    """
    found: dict[int, set[int]] = {}
    for event in contents.aux_events:
        offsets = found.setdefault(NO_CPU if event.cpu is None else event.cpu, set())
        if event.flags & (AUX_TRUNCATED | AUX_PARTIAL):
            offsets.add(event.offset + event.size)
        if event.flags & (AUX_PARTIAL | AUX_OVERWRITE):
            offsets.add(event.offset)
    return {cpu: sorted(offsets) for cpu, offsets in found.items()}


def begins_of(contents: Contents) -> dict[int, list[int]]:
    """Return the offsets at which the bytes of AUX events begin, by CPU and ascending.

    The trace unit was started at each of them: what it still held before was emptied into the event before.
    """
    found: dict[int, set[int]] = {}
    for event in contents.aux_events:
        if event.size:
            found.setdefault(NO_CPU if event.cpu is None else event.cpu, set()).add(event.offset)
    return {cpu: sorted(offsets) for cpu, offsets in found.items()}


def of_stream(offsets: Mapping[int, Sequence[int]], chunk: AuxChunk) -> Sequence[int]:
    """Return the offsets of a chunk's AUX stream; those of all streams where the chunk names no CPU, since too many do no harm."""
    return offsets.get(chunk.cpu, ()) if chunk.cpu >= 0 else sorted({offset for each in offsets.values() for offset in each})


def can_look_ahead(source: Source) -> bool:
    """Return whether the records can be read to the end before the AUX data are decoded."""
    return source.size is not None and source.path != "-" and source.contents.mode is not Mode.RAW


def all_contents(source: Source) -> Contents:
    """Return the contents of the whole recording: AUX events may come after the trace that they are about.

    Opens the file once more and reads the records, not the AUX data.

    Parameters
    ----------
    source : Source
        An open recording. It is not read any further.

    Returns
    -------
    Contents
        Of a pipe, and of a raw dump, what has come so far.
    """
    if not can_look_ahead(source):
        return source.contents
    with open_source(source.path, InputForm.PERF) as again:
        for _ in again.chunks():
            pass
        return again.contents
