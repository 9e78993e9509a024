"""The kernel's side of a recording: found beside it, and joined with the queues of its drives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.joined.document import GroupBy, KernelSide
from ptttool.analyses.joined.join import Joined, Link, join
from ptttool.analyses.joined.order import QueueEntries
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError
from ptttool.pci import format_id
from ptttool.perfdata.model import AUX_TRUNCATED

if TYPE_CHECKING:
    from ptttool.analyses.io.commands.follow import Entries
    from ptttool.analyses.io.results import IoResult
    from ptttool.perfdata.model import Contents
    from ptttool.pipeline.recording import OpenRecording


def joined(recording: OpenRecording, path: str, result: IoResult, entries: Sequence[Entries]) -> Joined:
    """Join the kernel's side with what was found in a recording.

    Parameters
    ----------
    recording : OpenRecording
        The recording, which was read to its end.
    path : str
        The kernel's side.
    result : IoResult
        What the analysis ``io`` found.
    entries : sequence of Entries
        The entries of queues, of drives and of others.

    Raises
    ------
    InputError
        The file is no recording of tracepoints.
    """
    time, drives = result.time, {drive.requester for drive in result.nvme.drives}
    bits = None if time.elapsed_ticks is None else time.bits
    queues = list(_queues(entries, drives, is_timed=bits is not None))
    interrupts = {each.requester: each.interrupts[:, 0] for each in entries}
    kept = time.clock if time.tick_from == "sidecar" else None
    ticks, anchors = (None, 0) if kept is None else ((kept.low_ns, kept.high_ns), kept.anchors)
    end = _end(recording.contents)
    return join(path, Link(queues, bits, time.breaks, time.tick_ns, end, interrupts, time.back > 0, ticks, anchors))


def with_kernel(recording: OpenRecording, path: str, by: str, result: IoResult, entries: Sequence[Entries]) -> IoResult:
    """Return the result of the analysis ``io`` with the kernel's side; a file that cannot be read is a note in it."""
    try:
        side = joined(recording, path, result, entries).side
    except InputError as error:
        side = KernelSide.unread(path, error.code, str(error))
    return replace(result, kernel=replace(side, shown_by=GroupBy(by), notes=[*side.notes, *_sizes_differ(side, result)]))


def _sizes_differ(side: KernelSide, result: IoResult) -> Iterator[Diagnostic]:
    """Yield that the kernel's commands have other sizes than the data that were seen, where both sides show all of them."""
    is_whole = all(one.queue > 0 and one.fetches in (0, one.commands) and one.completions in (0, one.commands) for one in side.queues)
    if not side.joined or not is_whole or len(result.nvme.drives) != len({one.requester for one in side.queues}):
        return
    data, spare = result.nvme.data_bytes, result.nvme.uncertain_bytes
    for what, told, seen, less in (("read", side.bytes_read, data.read, 0), ("write", side.bytes_written, data.write, spare)):
        if told is None or seen is None or seen - less <= told <= seen:
            continue
        message = f"the kernel's commands {what} {told:,} bytes, and the link carried {seen:,}: data are missing, or of other commands"
        yield Diagnostic(Severity.WARNING, "sizes-differ", message, where=side.file, details={"kernel": told, "link": seen})


def _queues(entries: Sequence[Entries], drives: set[str], *, is_timed: bool) -> Iterator[QueueEntries]:
    for each in entries:
        if format_id(each.requester) not in drives or each.queue < 0:
            continue
        fetched_at, ended_at = each.fetched[:, 0], each.ended[:, 0]
        if not is_timed:
            fetched_at, ended_at = (np.full(len(ticks), -1, dtype=np.int64) for ticks in (fetched_at, ended_at))
        yield QueueEntries(each.requester, each.queue, each.fetched[:, 1], fetched_at, each.ended[:, 1], ended_at, each.doorbells[:, 0])


def _end(contents: Contents) -> int | None:
    """Return when the trace ended, if it is complete up to there: the time of its last AUX record."""
    times = [event.time for event in contents.aux_events]
    if not times or any(time is None for time in times) or any(event.flags & AUX_TRUNCATED for event in contents.aux_events):
        return None
    return max(time for time in times if time is not None)
