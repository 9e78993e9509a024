"""Walks the records of a perf.data file: counts all, understands those that a trace needs, makes no object of any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from ptttool.perfdata import layout
from ptttool.perfdata.attributes import MAX_IDS, AttributeTable, parse_attribute
from ptttool.perfdata.compressed import Inflater
from ptttool.perfdata.features import events_of, parse_feature, text_of
from ptttool.perfdata.model import AuxEvent, Contents, HardwareId, Problem

Buffer = memoryview | bytes
MAX_PROBLEMS = 100
MAX_UNKNOWN_TYPES = 1 << 12
MAX_AUX_EVENTS = 1 << 20
MAX_TIME = (1 << 63) - 1
_NOT_YET = 1 << 64


class Why(Enum):
    """Why a walk came back."""

    END = auto()  # everything is walked
    MORE = auto()  # the record at the position ends behind the buffer, or its header does
    PAYLOAD = auto()  # an AUXTRACE record: its payload begins at the position
    SKIP = auto()  # bytes that are no records begin at the position
    INFLATE = auto()  # a compressed record lies before the position (never seen outside this module)
    DAMAGE = auto()  # no record can be at the position; the problem is noted


@dataclass(frozen=True)
class Payload:
    """What an AUXTRACE record says of the payload that follows it."""

    size: int
    offset: int
    reference: int
    idx: int
    tid: int
    cpu: int


class Walker:
    """Fills :class:`Contents` from buffers full of records, which come in order and may be cut anywhere."""

    def __init__(self, contents: Contents, attributes: AttributeTable) -> None:
        self.contents = contents
        self.attributes = attributes
        self.where = ""
        self.payload = Payload(0, 0, 0, 0, 0, 0)
        self.skip = 0
        self._counts = [0] * 128
        self._first, self._last = _NOT_YET, 0
        self._cpus: dict[int, int] = {}
        self._compressed = (0, 0, 0)
        self._aux_full = False
        self._handlers: dict[int, Callable[[Buffer, int, int], None]] = {
            layout.HEADER_ATTR: self._header_attr,
            layout.HEADER_FEATURE: self._header_feature,
            layout.EVENT_UPDATE: self._event_update,
            layout.ID_INDEX: self._id_index,
            layout.AUXTRACE_INFO: self._auxtrace_info,
        }
        self.begin("")

    def begin(self, where: str) -> None:
        """Start on another file of a perf.data directory: ``where`` names it in the problems; its compressed stream is its own."""
        self.where = where
        self._inflater: Inflater | None = None
        self._broken = False
        self._rest = b""

    def finish(self) -> None:
        """No more records in this file: what a compressed stream left over is a record without its end."""
        if self._rest and not self._broken:
            self.problem(None, f"the compressed records end inside a record, {len(self._rest)} bytes after its start", "truncated")
        self._rest = b""

    def problem(self, offset: int | None, reason: str, code: str) -> None:
        """Note a problem; after a hundred nobody learns anything from another."""
        problems = self.contents.problems
        if len(problems) < MAX_PROBLEMS:
            problems.append(Problem(offset, self.where + reason, code))
        elif len(problems) == MAX_PROBLEMS:
            problems.append(Problem(None, "there are more problems than are listed", "too-many"))

    def advance(self, buffer: Buffer, position: int, end: int, base: int) -> tuple[Why, int]:
        """Walk the records between ``position`` and ``end`` of ``buffer``, whose first byte is at ``base`` in the file.

        Comes back with the reason and with the position of what is not walked yet.
        """
        while True:
            why, position = self._scan(buffer, position, end, base, None)
            if why is not Why.INFLATE:
                self._publish()
                return why, position
            header, start, length = self._compressed
            self._inflate(memoryview(buffer)[start : start + length], base + header)

    def _scan(self, buffer: Buffer, position: int, end: int, base: int, at: int | None) -> tuple[Why, int]:
        """The hot loop. ``at``: the file offset to name, where the buffer is no part of the file."""
        unpack, time_at = layout.RECORD.unpack_from, layout.U64.unpack_from
        counts, handlers, attributes = self._counts, self._handlers, self.attributes
        first, last = self._first, self._last
        common = attributes.common
        why = Why.END
        while position < end:
            if position + 8 > end:
                why = Why.MORE
                break
            kind, _, size = unpack(buffer, position)
            if size < 8 or (kind < 64 and size & 7):
                self._bad_size(kind, size, base + position if at is None else at)
                why = Why.DAMAGE
                break
            following = position + size
            if following > end:
                why = Why.MORE
                break
            if kind < 128:
                counts[kind] += 1
            elif not self._count_unknown(kind, base + position if at is None else at):
                why = Why.DAMAGE
                break
            if kind < 64:
                if kind == 11:
                    self._aux(buffer, position, size, base + position if at is None else at)
                elif kind == 21:
                    self._hardware_id(buffer, position, size, base + position if at is None else at)
                if common is None or kind == 9:
                    time = self._odd_time(buffer, position, size, kind)
                elif common.time and size >= 8 + common.size:
                    (time,) = time_at(buffer, following - common.time)
                else:
                    time = 0
                # perf gives the records it makes up itself (processes that were there already) the time 0.
                if time:
                    if last < time <= MAX_TIME:
                        last = time
                    if time < first:
                        first = time
            elif kind in handlers:
                try:
                    handlers[kind](buffer, position, size)
                except ValueError as error:
                    name = layout.RECORD_NAMES[kind]
                    self.problem(base + position if at is None else at, f"a damaged {name} record: {error}", "damaged-record")
                common = attributes.common
            elif kind in (71, 66, 81, 83):
                why = self._leave(buffer, position, size, base + position if at is None else at)
                if why is not Why.DAMAGE:
                    position = following
                break
            position = following
        self._first, self._last = first, last
        return why, position

    def _leave(self, buffer: Buffer, position: int, size: int, at: int) -> Why:
        """A record after which something else than a record comes, or which holds records."""
        kind = layout.RECORD.unpack_from(buffer, position)[0]
        body = position + 8
        if kind == layout.AUXTRACE and size >= 8 + layout.AUXTRACE_BODY.size:
            length, offset, reference, idx, tid, cpu, _ = layout.AUXTRACE_BODY.unpack_from(buffer, body)
            self.payload = Payload(length, offset, reference, idx, tid, cpu)
            return Why.PAYLOAD
        if kind == layout.TRACING_DATA and size >= 12:
            (self.skip,) = layout.U32.unpack_from(buffer, body)
            return Why.SKIP
        if kind == layout.COMPRESSED:
            self._compressed = (position, body, size - 8)
            return Why.INFLATE
        if kind == layout.COMPRESSED2 and size >= 16:
            (length,) = layout.U64.unpack_from(buffer, body)
            if length <= size - 16:
                self._compressed = (position, body + 8, length)
                return Why.INFLATE
        self._counts[kind] -= 1
        self.problem(at, f"{_a(kind)} record of {size} bytes is too short for what it holds", "damaged-record")
        return Why.DAMAGE

    def _inflate(self, data: memoryview, at: int) -> None:
        """The records inside the compressed one at ``at``. Damage ends the compressed stream, nothing else."""
        if self._broken:
            return
        if self._inflater is None:
            self._inflater = Inflater()
        try:
            for piece in self._inflater.pieces(data):
                records = self._rest + piece if self._rest else piece
                why, position = self._scan(records, 0, len(records), 0, at)
                if why not in (Why.END, Why.MORE):
                    if why is not Why.DAMAGE:
                        self.problem(at, "a compressed record holds a record that is never compressed", "damaged-compression")
                    self._broken = True
                    break
                self._rest = records[position:]
        except ValueError as error:
            self.problem(at, f"damaged compression: {error}; records in it are lost from here on", "damaged-compression")
            self._broken = True
        if self._broken:
            self._rest = b""

    def _aux(self, buffer: Buffer, position: int, size: int, at: int) -> None:
        room = size - 8 - layout.AUX_BODY.size
        if room < 0:
            self.problem(at, f"an AUX record of {size} bytes is too short", "damaged-record")
            return
        events = self.contents.aux_events
        if len(events) >= MAX_AUX_EVENTS:
            if not self._aux_full:
                self.problem(at, f"more than {MAX_AUX_EVENTS} AUX records; the later ones are only counted", "too-many")
            self._aux_full = True
            return
        offset, length, flags = layout.AUX_BODY.unpack_from(buffer, position + 8)
        cpu, time = self._cpu_and_time(buffer, position + size, room)
        events.append(AuxEvent(offset, length, flags, cpu, time, at))

    def _hardware_id(self, buffer: Buffer, position: int, size: int, at: int) -> None:
        room = size - 16
        if room < 0:
            self.problem(at, f"an AUX_OUTPUT_HW_ID record of {size} bytes is too short", "damaged-record")
            return
        if len(self.contents.hardware_ids) < MAX_AUX_EVENTS:
            (value,) = layout.U64.unpack_from(buffer, position + 8)
            cpu, _ = self._cpu_and_time(buffer, position + size, room)
            self.contents.hardware_ids.append(HardwareId(value, cpu, at))

    def _cpu_and_time(self, buffer: Buffer, end: int, room: int) -> tuple[int | None, int | None]:
        """What the trailer of a record that ends at ``end`` and has ``room`` bytes for one says."""
        trailer = self.attributes.trailer(buffer, end, room)
        cpu = time = None
        if trailer is not None:
            if trailer.time:
                (time,) = layout.U64.unpack_from(buffer, end - trailer.time)
            # The event's own CPU comes first: the commit at the end of a session may be made by another CPU, and the trailer names that.
            if trailer.id:
                cpu = self._cpus.get(layout.U64.unpack_from(buffer, end - trailer.id)[0])
            if cpu is None and trailer.cpu:
                (cpu,) = layout.U32.unpack_from(buffer, end - trailer.cpu)
        return cpu, time

    def _odd_time(self, buffer: Buffer, position: int, size: int, kind: int) -> int:
        """The time of a sample, or of a record where the attributes' trailers differ; 0 where there is none."""
        end = position + size
        if kind == layout.SAMPLE:
            place = self.attributes.common.sample_time if self.attributes.common is not None else 0
            return int(layout.U64.unpack_from(buffer, position + place)[0]) if 0 < place <= size - 8 else 0
        trailer = self.attributes.trailer(buffer, end, size - 8)
        return int(layout.U64.unpack_from(buffer, end - trailer.time)[0]) if trailer is not None and trailer.time else 0

    def _header_attr(self, buffer: Buffer, position: int, size: int) -> None:
        body = memoryview(buffer)[position + 8 : position + size]
        attribute = parse_attribute(body)
        count = (len(body) - attribute.size) // 8
        ids = tuple(layout.U64.unpack_from(body, attribute.size + 8 * i)[0] for i in range(count))
        self.attributes.add(parse_attribute(body, ids))

    def _header_feature(self, buffer: Buffer, position: int, size: int) -> None:
        body = memoryview(buffer)[position + 8 : position + size]
        if len(body) < 8:
            raise ValueError("it names no feature")
        self.feature(layout.U64.unpack_from(body)[0], body[8:])

    def feature(self, number: int, section: memoryview) -> None:
        """Take in one feature section. Raises ValueError where it is damaged."""
        parsed = parse_feature(number, section)
        if parsed is None:
            return
        name, value = parsed
        self.contents.features[name] = value
        if name == "event_desc":
            self.attributes.describe(events_of(section))

    def _event_update(self, buffer: Buffer, position: int, size: int) -> None:
        body = memoryview(buffer)[position + 8 : position + size]
        if len(body) < layout.EVENT_UPDATE_BODY.size:
            raise ValueError("it is too short")
        kind, id = layout.EVENT_UPDATE_BODY.unpack_from(body)
        if kind == layout.EVENT_UPDATE_NAME:
            self.attributes.name_by_id(id, text_of(body[layout.EVENT_UPDATE_BODY.size :]))

    def _id_index(self, buffer: Buffer, position: int, size: int) -> None:
        """Event ids and the CPUs of their events."""
        first = position + 16
        if first > position + size:
            raise ValueError("it is too short")
        count = min(layout.U64.unpack_from(buffer, position + 8)[0], (size - 16) // layout.ID_INDEX_ENTRY.size)
        for number in range(count):
            id, _, cpu, _ = layout.ID_INDEX_ENTRY.unpack_from(buffer, first + number * layout.ID_INDEX_ENTRY.size)
            if 0 <= cpu <= 0x7FFF_FFFF and len(self._cpus) < MAX_IDS:
                self._cpus[id] = cpu

    def _auxtrace_info(self, buffer: Buffer, position: int, size: int) -> None:
        first = position + 8 + layout.AUXTRACE_INFO_BODY.size
        if first > position + size:
            raise ValueError("it is too short")
        self.contents.auxtrace_type = layout.AUXTRACE_INFO_BODY.unpack_from(buffer, position + 8)[0]
        words = (position + size - first) // 8
        self.contents.auxtrace_priv = tuple(layout.U64.unpack_from(buffer, first + 8 * i)[0] for i in range(words))

    def _count_unknown(self, kind: int, at: int) -> bool:
        unknown = self.contents.unknown
        if kind not in unknown and len(unknown) >= MAX_UNKNOWN_TYPES:
            self.problem(at, f"{MAX_UNKNOWN_TYPES} types of records that no perf writes: these are no records", "damaged-record")
            return False
        unknown[kind] = unknown.get(kind, 0) + 1
        return True

    def _bad_size(self, kind: int, size: int, at: int) -> None:
        what = "smaller than its own header" if size < 8 else "no multiple of 8"
        self.problem(at, f"{_a(kind)} record states a size of {size} bytes, {what}; nothing after it can be read", "damaged-record")

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


def _a(kind: int) -> str:
    name = layout.RECORD_NAMES.get(kind)
    if name is None:
        return f"a type {kind}"
    return f"{'an' if name[0] in 'AEIU' else 'a'} {name}"
