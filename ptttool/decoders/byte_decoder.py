"""The part that all decoders of bytes share: the packet that is not whole yet, gaps, and the end of a stream."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from msgspec import Struct

from ptttool.decoders.contract import Buffer, Decoder
from ptttool.decoders.elements.arrays import Elements, Strings
from ptttool.decoders.elements.model import NO_SYNC, REASON_CODES, UNKNOWN, Flags
from ptttool.decoders.offsets import Offsets


class ByteDecoder(Decoder):
    """A decoder that is asked for the packets in the bytes at hand; it keeps the unfinished packet between feeds.

    Subclasses have :meth:`scan`, and if they keep state :meth:`flush` and :meth:`restart`.

    Parameters
    ----------
    protocol : str
        Name of the protocol of its elements.
    """

    def __init__(self, protocol: str) -> None:
        self.protocol = protocol
        self._tail = b""
        self._offsets = Offsets(0)
        self._next: int | None = None  # the offset that follows on

    @abstractmethod
    def scan(self, data: bytes, offsets: Offsets, last: bool) -> tuple[Elements, int]:
        """Decode bytes.

        Parameters
        ----------
        data : bytes
            What was left by the scan before, and the bytes after that.
        offsets : Offsets
            Offsets of these bytes in the stream.
        last : bool
            Whether no more bytes follow. Then packets are taken that could be longer; a packet that is not whole is left.

        Returns
        -------
        elements : Elements
            What the bytes say.
        used : int
            Bytes that were taken. At most one unfinished packet may be left.
        """

    def flush(self) -> Elements:
        """Return elements of bytes that were taken but held back to see what follows (runs of padding)."""
        return Elements.empty(self.protocol)

    def restart(self, reason: str, offset: int) -> Elements:
        """Forget what later packets build on, and return an element that says so.

        By default that is a no_sync without bytes: what comes next is the first byte of a packet.
        """
        return no_sync(self.protocol, offset, 0, reason)

    def feed(self, data: Buffer, *, offset: int | Offsets, discontinuity: bool = False) -> Elements:
        """Decode the next bytes."""
        offsets = Offsets(offset) if isinstance(offset, int) else offset
        first = offsets.first
        gap = self._next is not None and first is not None and offsets.contiguous and first != self._next
        parts = [self.reset("discontinuity", first or 0)] if discontinuity or gap else []
        if len(data):
            joined = self._tail + bytes(data)
            self._offsets = self._offsets.then(offsets, len(self._tail), len(data))
            parts.append(self._scan(joined, last=False))
            self._next = offsets.end(len(data))
        return Elements.join(parts)

    def _scan(self, data: bytes, *, last: bool) -> Elements:
        elements, used = self.scan(data, self._offsets, last)
        self._tail = data[used:]
        self._offsets = self._offsets.after(used)
        return elements

    def finish(self) -> Elements:
        """End the stream."""
        parts = self._end()
        self.restart("init", 0)
        return Elements.join(parts)

    def reset(self, reason: str, offset: int) -> Elements:
        """Forget everything."""
        return Elements.join([*self._end(), self.restart(reason, offset)])

    def _end(self) -> list[Elements]:
        """Return what is held back, and the packet that did not end."""
        parts = [self._scan(self._tail, last=True)] if self._tail else []
        parts.append(self.flush())
        tail, self._tail = self._tail, b""
        if tail:
            parts.append(truncated(self.protocol, self._offsets.of(0), tail))
        self._next = None
        return parts


class Run(Struct):
    """Adjacent bytes that make one element when they end.

    Parameters
    ----------
    index : int
        Offset of the first byte; -1 until it is there.
    what : str
        What they are; of skipped bytes the reason, one of :data:`~.elements.model.REASONS`.
    size : int
        Number of bytes so far.
    """

    index: int
    what: str
    size: int = 0


def skipped(protocol: str, run: Run | None) -> Elements:
    """Return the no_sync element of a run of skipped bytes; at the beginning of a stream, no byte is no element."""
    if run is None or run.index < 0 or (run.what == "init" and not run.size):
        return Elements.empty(protocol)
    return no_sync(protocol, run.index, run.size, run.what)


def no_sync(protocol: str, offset: int, size: int, reason: str) -> Elements:
    """Return one no_sync element."""
    elements = Elements(protocol, np.array([offset], dtype=np.uint64), np.array([size], dtype=np.uint64), kind=NO_SYNC)
    elements.put("reason", REASON_CODES[reason])
    return elements


def truncated(protocol: str, offset: int, data: bytes) -> Elements:
    """Return one element of a packet that did not end."""
    raw = Strings(np.frombuffer(data, dtype=np.uint8), np.zeros(1, dtype=np.int64), np.array([len(data)], dtype=np.int64))
    index, size = np.array([offset], dtype=np.uint64), np.array([len(data)], dtype=np.uint64)
    return Elements(protocol, index, size, kind=UNKNOWN, flags=int(Flags.TRUNCATED), raw=raw)
