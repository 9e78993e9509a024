"""The bytes of one CoreSight trace source, decoded into elements by libopencsd."""

from __future__ import annotations

import numpy as np

from ptttool.decoders.byte_decoder import ByteDecoder, no_sync
from ptttool.decoders.elements.arrays import I64, NO_BYTES, U8, U64, Elements, Strings
from ptttool.decoders.offsets import Offsets
from ptttool.decoders.opencsd.elements import elements_of
from ptttool.decoders.opencsd.library import Library, LibraryElements, library
from ptttool.decoders.opencsd.sources import Source
from ptttool.decoders.opencsd.tree import Tree

NAME = "opencsd"
# An element may belong to a packet this far before the last byte; offsets and bytes before that are forgotten.
_MEMORY = 1 << 20
_BLOCK = 1 << 12


class OpencsdDecoder(ByteDecoder):
    """Decodes the bytes of one source.

    An element stands for the bytes from its packet up to the next packet that has an element. So its size is known only when that packet
    comes, and the elements of the last packet wait for it.

    Parameters
    ----------
    source : Source
        Description of the source.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(NAME)
        self._library: Library = library()
        self._source = source
        self._tree: Tree | None = source.tree(self._library)  # errors in the description are reported at once
        self._reports_end = True
        self._begin()

    def _begin(self) -> None:
        self._end_offset = 0  # bytes fed since the beginning
        self._from = 0  # the first of them that is kept
        self._bytes: U8 = NO_BYTES
        self._where = Offsets(0)
        self._waiting: LibraryElements = self._library.none()
        self._index: U64 = np.empty(0, dtype=np.uint64)  # of the elements that wait
        self._latest: int | None = None  # greatest offset of a packet so far

    def restart(self, reason: str, offset: int) -> Elements:
        """Begin anew; without bytes since the beginning there is nothing to report."""
        fed = self._end_offset > 0
        self._begin()
        return self._of_source(no_sync(NAME, offset, 0, reason)) if fed else Elements.empty(NAME)

    def reset(self, reason: str, offset: int) -> Elements:
        """Begin anew; the trace goes on, so its end is not reported."""
        self._reports_end = False
        try:
            return super().reset(reason, offset)
        finally:
            self._reports_end = True

    def scan(self, data: bytes, offsets: Offsets, last: bool) -> tuple[Elements, int]:
        """Decode whole blocks of bytes.

        The library gets blocks of one size, counted from the beginning: what it makes of damaged packets depends on where they are cut.
        """
        used = len(data) if last else len(data) // _BLOCK * _BLOCK
        if not used:
            return Elements.empty(NAME), 0
        if self._tree is None:
            self._tree = self._source.tree(self._library)
        held = self._end_offset - self._from
        fresh = np.frombuffer(data, dtype=np.uint8, count=used)
        self._where = self._where.then(offsets, held, used)
        self._bytes = np.concatenate([self._bytes, fresh]) if held else fresh
        # Where bytes are scattered, the offset behind the last ones is known only now.
        self._index[self._waiting.offsets == self._end_offset] = offsets.of(0)
        elements = self._library.none()
        for start in range(0, used, _BLOCK):
            block = fresh[start : start + _BLOCK]
            elements = elements.then(self._decode(block))
            self._end_offset += len(block)
        self._receive(elements)
        return self._elements(last=False), used

    def flush(self) -> Elements:
        """Return the elements that wait."""
        if not self._end_offset:
            return Elements.empty(NAME)
        tree, self._tree = self._tree, None
        if tree is not None:
            with tree:
                rest = tree.end(self._end_offset)
            ends = rest.elements["kind"] == self._library.number("eo_trace")
            # The library gives the end the offset of a packet before it.
            rest.offsets[ends] = self._end_offset
            self._receive(rest if self._reports_end else rest.without(ends))
        return self._elements(last=True)

    def close(self) -> None:
        """Close the decode tree."""
        tree, self._tree = self._tree, None
        if tree is not None:
            tree.close()

    def _decode(self, data: U8) -> LibraryElements:
        """Return the elements of bytes; where the library gives up, it continues behind that with a search for synchronisation."""
        elements, at = self._library.none(), 0
        while at < len(data):
            assert self._tree is not None
            some, used, gave_up = self._tree.feed(self._end_offset + at, data[at:])
            elements = elements.then(some)
            at += used
            if gave_up:
                elements = elements.then(self._library.no_sync(self._end_offset + at, "bad_packet"))
                # After a crash the rest of the block is lost.
                at = len(data) if self._tree.crashed else at + (not used)
                if not self._tree.reset():
                    self._tree.close()
                    self._tree = self._source.tree(self._library)
            elif not used:
                break
        return elements

    def _receive(self, elements: LibraryElements) -> None:
        """Let elements join those that wait. Their offsets are looked up now, since they may be forgotten before the size is known."""
        if not len(elements):
            return
        at = np.clip(elements.offsets - self._from, 0, len(self._bytes))
        inside = np.minimum(at, len(self._bytes) - 1)
        self._index = np.concatenate([self._index, self._where.at(inside) + (at - inside).astype(np.uint64)])
        self._waiting = self._waiting.then(elements)

    def _elements(self, *, last: bool) -> Elements:
        """Return the waiting elements that have a known size; at the end, all of them."""
        elements = self._waiting
        reach = np.maximum.accumulate(elements.offsets)
        several = []
        if self._latest is None and (len(elements) or last):
            # Bytes before the first packet that has an element.
            self._latest = int(reach[0]) if len(elements) else self._end_offset
            if self._latest:
                several.append(self._of_source(no_sync(NAME, self._where.of(0), self._latest, "init")))
        if len(elements):
            assert self._latest is not None
            reach = np.maximum(reach, self._latest)
            count = len(elements) if last else int(np.searchsorted(reach, reach[-1]))
            after = self._end_offset if last else int(reach[-1])
            if count:
                first = np.append(True, reach[1:count] != reach[: count - 1])
                size = np.zeros(count, dtype=np.int64)
                size[first] = np.diff(reach[:count][first], append=after)
                several.append(self._made(elements.take(0, count), self._index[:count], size))
                self._waiting, self._index = elements.take(count, len(elements)), self._index[count:]
            self._latest = after
        self._forget(max(self._latest or 0, self._end_offset - _MEMORY))
        return Elements.join(several)

    def _made(self, elements: LibraryElements, index: U64, size: I64) -> Elements:
        at = elements.offsets - self._from
        valid = (at >= 0) & (size > 0) & (elements.elements["kind"] != self._library.number("no_sync"))
        raw = Strings(self._bytes, np.where(valid, at, -1), np.where(valid, size, 0))
        return self._of_source(elements_of(NAME, self._library, elements, index, size, raw))

    def _of_source(self, elements: Elements) -> Elements:
        elements.channel[:] = self._source.trace_id or -1
        return elements

    def _forget(self, offset: int) -> None:
        """Forget offsets and bytes before an offset, except the last byte, which has the offsets behind it."""
        drop = min(offset, self._end_offset - 1) - self._from
        if drop > 0:
            self._where = self._where.after(drop)
            self._bytes = self._bytes[drop:]
            self._from += drop


class Undescribed(ByteDecoder):
    """Counts the bytes of a source without a description: one element, at the end."""

    def __init__(self) -> None:
        super().__init__(NAME)
        self._index, self._size = 0, 0

    def scan(self, data: bytes, offsets: Offsets, _last: bool) -> tuple[Elements, int]:
        """Count bytes."""
        if data and not self._size:
            self._index = offsets.of(0)
        self._size += len(data)
        return Elements.empty(NAME), len(data)

    def flush(self) -> Elements:
        """Return the element."""
        size, self._size = self._size, 0
        return Elements(NAME, np.array([self._index]), np.array([size])) if size else Elements.empty(NAME)
