"""Walks the records of a perf.data file: counts all of them and hands those that a trace needs to the interpreter."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple

from ptttool.perfdata import layout
from ptttool.perfdata.attributes import AttributeTable
from ptttool.perfdata.budget import MAX_UNKNOWN_TYPES, Expansion
from ptttool.perfdata.compressed import Inflater
from ptttool.perfdata.interpreter import Buffer, Interpreter
from ptttool.perfdata.model import Contents
from ptttool.perfdata.problems import Problems

MAX_TIME = (1 << 63) - 1
_NOT_YET = 1 << 64
# Types below this one are written by the kernel; counts are kept in a list up to the second number.
_USER_RECORDS, _COUNTED = 64, 128
# Records of the kernel that say more than that they are there.
_OF_THE_KERNEL = frozenset((layout.SAMPLE, layout.AUX, layout.AUX_OUTPUT_HW_ID))
# Records after which something else than a record comes, or which hold records.
_LEAVING = frozenset((layout.AUXTRACE, layout.TRACING_DATA, layout.COMPRESSED, layout.COMPRESSED2))


class Why(Enum):
    """Why a walk came back."""

    END = auto()  # everything is walked
    MORE = auto()  # the record at the position ends behind the buffer, or its header does
    PAYLOAD = auto()  # an AUXTRACE record: its payload begins at the position
    SKIP = auto()  # bytes that are not records begin at the position
    INFLATE = auto()  # a compressed record lies before the position (never seen outside this module)
    DAMAGE = auto()  # no record can be at the position; the problem is noted


class Payload(NamedTuple):
    """What an AUXTRACE record says of the payload that follows it."""

    size: int
    offset: int
    reference: int
    idx: int
    tid: int
    cpu: int


class Walker:
    """Fills :class:`Contents` from buffers full of records, which come in order and may be cut anywhere.

    Attributes
    ----------
    payload : Payload
        After a walk that came back with ``Why.PAYLOAD``: what the record says.
    skip : int
        After a walk that came back with ``Why.SKIP``: number of bytes that are not records.
    """

    def __init__(self, contents: Contents, attributes: AttributeTable, problems: Problems) -> None:
        self.contents = contents
        self.attributes = attributes
        self.problems = problems
        self.interpreter = Interpreter(contents, attributes, problems)
        self.payload = Payload(0, 0, 0, 0, 0, 0)
        self.skip = 0
        self._counts = [0] * _COUNTED
        self._first, self._last = _NOT_YET, 0
        self._compressed = (0, 0, 0)
        self._expansion = Expansion()
        self.begin("")

    def begin(self, file: str) -> None:
        """Start on another file of a perf.data folder, by its name; its compressed stream is its own."""
        self.problems.begin(file)
        self._inflater: Inflater | None = None
        self._broken = False
        self._rest = b""

    def finish(self) -> None:
        """End a file: what a compressed stream left over is a record without its end."""
        if self._rest and not self._broken:
            size = len(self._rest)
            self.problems.add("truncated", f"the compressed records end inside a record, {size} bytes after its start", None, size=size)
        self._rest = b""

    def advance(self, buffer: Buffer, position: int, end: int, base: int) -> tuple[Why, int]:
        """Walk records.

        Parameters
        ----------
        buffer : memoryview or bytes
            Bytes of the file.
        position, end : int
            The part of the buffer to walk.
        base : int
            Offset in the file of the buffer's first byte.

        Returns
        -------
        Why
            Why the walk came back.
        int
            Position in the buffer of what is not walked yet.
        """
        while True:
            why, position = self._scan(buffer, position, end, base, None)
            if why is not Why.INFLATE:
                self._publish()
                return why, position
            header, start, length = self._compressed
            self._inflate(memoryview(buffer)[start : start + length], base + header)

    def _scan(self, buffer: Buffer, position: int, end: int, base: int, at: int | None) -> tuple[Why, int]:
        """Walk up to the first record that needs more work than counting; ``at`` is the file offset of a buffer that is not in the file.

        This is the hot loop: nearly all records of the kernel are only counted, and that happens here.
        """
        unpack, time_at = layout.RECORD.unpack_from, layout.U64.unpack_from
        counts, common = self._counts, self.attributes.common
        first, last = self._first, self._last
        why = Why.END
        while position < end:
            if position + 8 > end:
                why = Why.MORE
                break
            kind, _, size = unpack(buffer, position)
            following = position + size
            if size < 8 or following > end or (kind < _USER_RECORDS and size & 7):
                why = self._unwalkable(kind, size, base + position if at is None else at)
                break
            if kind < _USER_RECORDS and common is not None and kind not in _OF_THE_KERNEL:
                counts[kind] += 1
                if common.time and size >= 8 + common.size:
                    (time,) = time_at(buffer, following - common.time)
                    # perf gives the records that it makes up itself (processes that were there already) the time 0.
                    if last < time <= MAX_TIME:
                        last = time
                    if 0 < time < first:
                        first = time
            else:
                why = self._special(buffer, position, kind, size, base + position if at is None else at)
                if why is Why.DAMAGE:
                    break
                if why is not Why.END:
                    position = following
                    break
                common = self.attributes.common
            position = following
        self._first, self._last = min(first, self._first), max(last, self._last)
        return why, position

    def _unwalkable(self, kind: int, size: int, at: int) -> Why:
        """Return why a record cannot be walked: its size cannot be, or the buffer ends before it."""
        if size >= 8 and not (kind < _USER_RECORDS and size & 7):
            return Why.MORE
        what = "smaller than its own header" if size < 8 else "not a multiple of 8"
        message = f"{_a(kind)} record states a size of {size} bytes, {what}; nothing after it can be read"
        self.problems.add("damaged-record", message, at, record=_name(kind), size=size)
        return Why.DAMAGE

    def _special(self, buffer: Buffer, position: int, kind: int, size: int, at: int) -> Why:
        """Walk a record that is more than counted; ``Why.END``: go on behind it."""
        if kind >= _COUNTED:
            return self._count_unknown(kind, at)
        self._counts[kind] += 1
        if kind < _USER_RECORDS:
            self._of_the_kernel(buffer, position, kind, size, at)
        elif kind in self.interpreter.handlers:
            try:
                self.interpreter.handlers[kind](memoryview(buffer)[position + layout.RECORD.size : position + size])
            except ValueError as error:
                name = _name(kind)
                self.problems.add_error("damaged-record", error, f"a damaged {name} record", at, record=name, size=size)
        elif kind in _LEAVING:
            return self._leave(buffer, position, kind, size, at)
        return Why.END

    def _of_the_kernel(self, buffer: Buffer, position: int, kind: int, size: int, at: int) -> None:
        if kind != layout.SAMPLE:
            self.interpreter.take_in(kind, buffer, position, size, at)
        time = self.interpreter.time_of(buffer, position, size, kind)
        if self._last < time <= MAX_TIME:
            self._last = time
        if 0 < time < self._first:
            self._first = time

    def _leave(self, buffer: Buffer, position: int, kind: int, size: int, at: int) -> Why:
        """Read a record after which something else than a record comes, or which holds records."""
        body = position + layout.RECORD.size
        if kind == layout.AUXTRACE and size >= layout.RECORD.size + layout.AUXTRACE_BODY.size:
            self.payload = Payload(*layout.AUXTRACE_BODY.unpack_from(buffer, body)[:6])
            return Why.PAYLOAD
        if kind == layout.TRACING_DATA and size >= 12:
            (self.skip,) = layout.U32.unpack_from(buffer, body)
            return Why.SKIP
        if kind == layout.COMPRESSED:
            self._compressed = (position, body, size - layout.RECORD.size)
            return Why.INFLATE
        if kind == layout.COMPRESSED2 and size >= 16:
            (length,) = layout.U64.unpack_from(buffer, body)
            if length <= size - 16:
                self._compressed = (position, body + 8, length)
                return Why.INFLATE
        self._counts[kind] -= 1
        message = f"{_a(kind)} record of {size} bytes is too short for what it holds"
        self.problems.add("damaged-record", message, at, record=_name(kind), size=size)
        return Why.DAMAGE

    def _inflate(self, data: memoryview, at: int) -> None:
        """Walk the records inside the compressed one at ``at``. Damage ends the compressed stream, nothing else."""
        if self._broken:
            return
        if self._inflater is None:
            self._inflater = Inflater(self._expansion)
        try:
            for piece in self._inflater.pieces(data):
                records = self._rest + piece if self._rest else piece
                why, position = self._scan(records, 0, len(records), 0, at)
                if why not in (Why.END, Why.MORE):
                    if why is not Why.DAMAGE:
                        self.problems.add("damaged-compression", "a compressed record holds a record that is never compressed", at)
                    self._broken = True
                    break
                self._rest = records[position:]
        except ValueError as error:
            self.problems.add_error("damaged-compression", error, "compressed records are lost from here on", at)
            self._broken = True
        if self._broken:
            self._rest = b""

    def _count_unknown(self, kind: int, at: int) -> Why:
        unknown = self.contents.unknown
        if kind not in unknown and len(unknown) >= MAX_UNKNOWN_TYPES:
            message = f"{MAX_UNKNOWN_TYPES} types of records that perf does not write: these are not records"
            self.problems.add("damaged-record", message, at)
            return Why.DAMAGE
        unknown[kind] = unknown.get(kind, 0) + 1
        return Why.END

    def _publish(self) -> None:
        """Put counts and times into the contents."""
        contents = self.contents
        for kind, count in enumerate(self._counts):
            if count:
                name = layout.RECORD_NAMES.get(kind)
                if name is None:
                    contents.unknown[kind] = count
                else:
                    contents.records[name] = count
        if self._last:
            contents.first_time, contents.last_time = self._first, self._last


def _name(kind: int) -> str:
    return layout.RECORD_NAMES.get(kind, f"type {kind}")


def _a(kind: int) -> str:
    name = _name(kind)
    return f"{'an' if name[0] in 'AEIU' else 'a'} {name}"
