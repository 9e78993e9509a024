"""The payloads of a PTT recording as they are, for perf's text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from msgspec import Struct

from ptttool.decoders.hisi_ptt import layout as layouts
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.errors import UsageError
from ptttool.recording.opening import Source
from ptttool.tlp.bulk import U32

# Records of a part of a payload.
_RECORDS = 1 << 15


class Payload(Struct, frozen=True, eq=False):
    """Whole records of one AUXTRACE payload or a part of it, including all-zero records, split as perf splits them.

    Parameters
    ----------
    number : int
        Number of the payload.
    payload_size : int
        Bytes of the payload, as the recording announces them.
    start : int
        Byte offset of `dws` in the payload.
    layout : Layout
        The layout that perf assumes, by the first DW of the payload.
    dws : ndarray of uint32, shape (n, 4 or 8)
        The records, valid until the next payload is asked for.
    """

    number: int
    payload_size: int
    start: int
    layout: Layout
    dws: U32


def payloads(source: Source, *, raw: bool | None, done: Callable[[int], None]) -> Iterator[Payload]:
    """Yield the records in the order of the file; a raw dump is one payload of the format that the user named.

    Parameters
    ----------
    source : Source
        The recording, not yet read.
    raw : bool or None
        Format of a dump without a container: False for 4DW, True for 8DW; None for a perf.data.
    done : callable
        Called with the number of bytes of the file that are done.

    Raises
    ------
    UsageError
        A dump comes through a pipe, so its size is unknown (code ``size-unknown``).
    """
    if raw is not None and source.size is None:
        raise UsageError(
            "perf's text begins with the size of the data, which is unknown for a pipe",
            hint="save the dump to a file first",
            code="size-unknown",
        )
    layout = Layout(eight_dw=bool(raw))
    for chunk in source.chunks():
        if chunk.start == 0 and raw is None:
            first = chunk.read(0, 4)
            layout = Layout(eight_dw=len(first) == 4 and int.from_bytes(first, "little") >= layouts.CHECK_WORD)
        whole = chunk.size // layout.record_size * layout.record_size
        size = _RECORDS * layout.record_size
        begin = source.position
        # A payload without one whole record has a header line in perf's text, too.
        for start in range(0, max(whole, 1), size):
            part = np.frombuffer(chunk.read(start, min(size, whole - start)), dtype="<u4").reshape(-1, layout.dws)
            yield Payload(chunk.number, chunk.payload_size, chunk.start + start, layout, part)
            done(begin + start + part.nbytes)
