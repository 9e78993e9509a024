"""Understands the records of perf.data that a trace needs, and puts what they say into the contents."""

from __future__ import annotations

from collections.abc import Callable, Sized

from msgspec.structs import replace

from ptttool.budget import CODE
from ptttool.perfdata import layout
from ptttool.perfdata.attributes import AttributeTable, parse_attribute
from ptttool.perfdata.budget import MAX_IDS, MAX_RECORDS, OverBudgetError
from ptttool.perfdata.features import parse_feature, text_of
from ptttool.perfdata.model import AuxEvent, Contents, HardwareId
from ptttool.perfdata.problems import Problems

Buffer = memoryview | bytes


class Interpreter:
    """Fills :class:`Contents` from single records.

    Each method takes a buffer and the position of a record in it, which the caller has checked to lie inside the buffer. For records that
    perf writes itself there are :attr:`handlers` by type: they take what is behind the record's header, and raise ValueError where it is
    damaged.
    """

    def __init__(self, contents: Contents, attributes: AttributeTable, problems: Problems) -> None:
        self._contents = contents
        self._attributes = attributes
        self._problems = problems
        self._cpus: dict[int, int] = {}  # by event id
        self._full: set[str] = set()  # names of lists that are full
        self.handlers: dict[int, Callable[[memoryview], None]] = {
            layout.HEADER_ATTR: self._header_attr,
            layout.HEADER_FEATURE: self._header_feature,
            layout.EVENT_UPDATE: self._event_update,
            layout.ID_INDEX: self._id_index,
            layout.AUXTRACE_INFO: self._auxtrace_info,
        }

    def take_in(self, kind: int, buffer: Buffer, position: int, size: int, at: int) -> None:
        """Take in a record of the kernel: PERF_RECORD_AUX or PERF_RECORD_AUX_OUTPUT_HW_ID; ``at`` is its offset in the file."""
        events, ids = self._contents.aux_events, self._contents.hardware_ids
        listed, body = (events, layout.AUX_BODY) if kind == layout.AUX else (ids, layout.U64)
        record = layout.RECORD_NAMES[kind]
        room = size - layout.RECORD.size - body.size
        if room < 0:
            self._problems.add("damaged-record", f"an {record} record of {size} bytes is too short", at, record=record, size=size)
        elif self.has_room(listed, record, at):
            values = body.unpack_from(buffer, position + layout.RECORD.size)
            cpu, time = self._cpu_and_time(buffer, position + size, room)
            if kind == layout.AUX:
                offset, length, flags = values
                events.append(AuxEvent(offset, length, flags, cpu, time, at))
            else:
                ids.append(HardwareId(values[0], cpu, at))

    def has_room(self, listed: Sized, record: str, at: int) -> bool:
        """Return whether a list of records has room for one more; the first time that it has none is a problem at offset ``at``."""
        if len(listed) < MAX_RECORDS:
            return True
        if record not in self._full:
            self._full.add(record)
            message = f"more than {MAX_RECORDS} {record} records; the later ones are not listed"
            self._problems.add(CODE, message, at, record=record, limit=MAX_RECORDS)
        return False

    def _cpu_and_time(self, buffer: Buffer, end: int, room: int) -> tuple[int | None, int | None]:
        """Return what the trailer says of a record that ends at ``end`` and has ``room`` bytes for a trailer."""
        trailer = self._attributes.trailer(buffer, end, room)
        cpu = time = None
        if trailer is not None:
            if trailer.time:
                (time,) = layout.U64.unpack_from(buffer, end - trailer.time)
            # The event's own CPU comes first: another CPU may commit at the end of a session, and the trailer names that one.
            if trailer.id:
                cpu = self._cpus.get(layout.U64.unpack_from(buffer, end - trailer.id)[0])
            if cpu is None and trailer.cpu:
                (cpu,) = layout.U32.unpack_from(buffer, end - trailer.cpu)
        return cpu, time

    def time_of(self, buffer: Buffer, position: int, size: int, kind: int) -> int:
        """Return the time of a record that the kernel wrote, in nanoseconds; 0 where it has none."""
        end = position + size
        common = self._attributes.common
        if kind == layout.SAMPLE:
            at = common.sample_time if common is not None else 0
            return int(layout.U64.unpack_from(buffer, position + at)[0]) if 0 < at <= size - layout.U64.size else 0
        trailer = self._attributes.trailer(buffer, end, size - layout.RECORD.size)
        return int(layout.U64.unpack_from(buffer, end - trailer.time)[0]) if trailer is not None and trailer.time else 0

    def feature(self, number: int, section: memoryview) -> None:
        """Take in a feature section. Raises ValueError where it is damaged."""
        parsed = parse_feature(number, section)
        if parsed is None:
            return
        name, value = parsed
        self._contents.features[name] = value
        self._contents.revision += 1
        if name == "event_desc":
            self._attributes.describe(value)  # type: ignore[arg-type]

    def _header_attr(self, body: memoryview) -> None:
        attribute = parse_attribute(body)
        size = (len(body) - attribute.size) // layout.U64.size * layout.U64.size
        ids = tuple(body[attribute.size : attribute.size + size].cast("Q"))
        self._attributes.add(replace(attribute, ids=ids))

    def _header_feature(self, body: memoryview) -> None:
        if len(body) < layout.U64.size:
            raise ValueError("it names no feature")
        self.feature(layout.U64.unpack_from(body)[0], body[layout.U64.size :])

    def _event_update(self, body: memoryview) -> None:
        if len(body) < layout.EVENT_UPDATE_BODY.size:
            raise ValueError("it is too short")
        kind, id = layout.EVENT_UPDATE_BODY.unpack_from(body)
        if kind == layout.EVENT_UPDATE_NAME:
            self._attributes.name_by_id(id, text_of(body[layout.EVENT_UPDATE_BODY.size :]))

    def _id_index(self, body: memoryview) -> None:
        """Note the CPUs of event ids."""
        if len(body) < layout.U64.size:
            raise ValueError("it is too short")
        count = min(layout.U64.unpack_from(body)[0], (len(body) - layout.U64.size) // layout.ID_INDEX_ENTRY.size)
        for number in range(count):
            id, _, cpu, _ = layout.ID_INDEX_ENTRY.unpack_from(body, layout.U64.size + number * layout.ID_INDEX_ENTRY.size)
            if not 0 <= cpu <= 0x7FFF_FFFF:
                continue
            if len(self._cpus) >= MAX_IDS and id not in self._cpus:
                if "ID_INDEX" in self._full:
                    return
                self._full.add("ID_INDEX")
                raise OverBudgetError(f"its ids are too many: a recording may have {MAX_IDS}", MAX_IDS)
            self._cpus[id] = cpu

    def _auxtrace_info(self, body: memoryview) -> None:
        first = layout.AUXTRACE_INFO_BODY.size
        if len(body) < first:
            raise ValueError("it is too short")
        self._contents.auxtrace_type = layout.AUXTRACE_INFO_BODY.unpack_from(body)[0]
        count = (len(body) - first) // layout.U64.size
        self._contents.auxtrace_priv = tuple(body[first : first + layout.U64.size * count].cast("Q"))
        self._contents.revision += 1
