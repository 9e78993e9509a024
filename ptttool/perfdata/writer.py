"""Writes recordings of file mode as perf record lays them out, from front to back, so that the output may be a pipe.

Layouts: :mod:`ptttool.perfdata.layout` names their sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import IO

from ptttool.perfdata import layout

# What perf 6.1 reads, and every later one: PERF_ATTR_SIZE_VER7.
ATTR_SIZE = 128
# perf pads strings of the header's features to this.
STRING_ALIGNMENT = 64
# [uapi] struct perf_event_attr, disabled: the first flag bit.
DISABLED = 1
READ_FORMAT_ID = 4
SAMPLE_TYPE = layout.SAMPLE_IP | layout.SAMPLE_TID | layout.SAMPLE_TIME | layout.SAMPLE_CPU | layout.SAMPLE_IDENTIFIER
# What sample_id_all appends for SAMPLE_TYPE: pid, tid, time, cpu, reserved, id.
TRAILER = Struct("<iiQIIQ")
COMM_BODY = Struct("<ii16s")
EXIT_BODY = Struct("<iiiiQ")

COMM, EXIT, FINISHED_ROUND, FINISHED_INIT = 3, 4, 68, 82
Supply = Callable[[int], Iterator[memoryview]]
"""Yields the next bytes of AUX data, as many as it is called with."""
_FEATURE_NUMBERS = {name: number for number, name in layout.FEATURES.items()}


@dataclass(frozen=True)
class Event:
    """The event of a recording.

    Attributes
    ----------
    name : str
        The event string.
    pmu_type : int
        Type number of the PMU.
    config : int
        The event's ``config``.
    cpus : tuple of int
        CPUs on which the event is open; the ids of these events are 1, 2, …
    """

    name: str
    pmu_type: int
    config: int
    cpus: tuple[int, ...]

    def attribute(self) -> bytes:
        """Return the ``perf_event_attr``."""
        flags = layout.SAMPLE_ID_ALL | DISABLED
        return layout.ATTR.pack(self.pmu_type, ATTR_SIZE, self.config, 1, SAMPLE_TYPE, READ_FORMAT_ID, flags).ljust(ATTR_SIZE, b"\0")

    def id_of(self, cpu: int) -> int:
        """Return the id of a CPU's event."""
        return 1 + self.cpus.index(cpu)

    def trailer(self, time: int, cpu: int) -> bytes:
        """Return what every record of the kernel ends with; ``time`` is on perf's clock, in nanoseconds."""
        return TRAILER.pack(0, 0, time, cpu, 0, self.id_of(cpu))


def record(kind: int, body: bytes = b"") -> bytes:
    """Return a record."""
    return layout.RECORD.pack(kind, 0, layout.RECORD.size + len(body)) + body


def comm(event: Event, name: str, time: int) -> bytes:
    """Return the record of a process that got a name."""
    return record(COMM, COMM_BODY.pack(1, 1, name.encode()[:15]) + event.trailer(time, event.cpus[0]))


def exit_of(event: Event, time: int) -> bytes:
    """Return the record of a process that ended."""
    return record(EXIT, EXIT_BODY.pack(1, 0, 1, 0, time) + event.trailer(time, event.cpus[0]))


def aux(event: Event, offset: int, size: int, time: int, cpu: int) -> bytes:
    """Return the record of ``size`` bytes that the driver committed at ``offset`` of the CPU's AUX stream."""
    return record(layout.AUX, layout.AUX_BODY.pack(offset, size, 0) + event.trailer(time, cpu))


def auxtrace(event: Event, offset: int, size: int, cpu: int, reference: int) -> bytes:
    """Return what precedes a payload of ``size`` bytes, a multiple of 8; ``reference`` is any number that tells payloads apart."""
    return record(layout.AUXTRACE, layout.AUXTRACE_BODY.pack(size, offset, reference, event.cpus.index(cpu), -1, cpu, 0))


def beginning(event: Event, auxtrace_type: int, private: Sequence[int]) -> bytes:
    """Return the records that perf writes before those of the kernel."""
    info = layout.AUXTRACE_INFO_BODY.pack(auxtrace_type, 0) + b"".join(map(layout.U64.pack, private))
    entries = [layout.ID_INDEX_ENTRY.pack(event.id_of(cpu), number, cpu, -1) for number, cpu in enumerate(event.cpus)]
    index = layout.U64.pack(len(entries)) + b"".join(entries)
    return record(layout.AUXTRACE_INFO, info) + record(layout.ID_INDEX, index) + record(FINISHED_INIT)


def string(text: str) -> bytes:
    """Return a perf_header_string: length, text, zeros."""
    raw = text.encode()
    size = (len(raw) // STRING_ALIGNMENT + 1) * STRING_ALIGNMENT
    return layout.U32.pack(size) + raw.ljust(size, b"\0")


def event_desc(event: Event) -> bytes:
    """Return the HEADER_EVENT_DESC section of one event."""
    ids = b"".join(layout.U64.pack(event.id_of(cpu)) for cpu in event.cpus)
    head = layout.U32.pack(1) + layout.U32.pack(ATTR_SIZE) + event.attribute()
    return head + layout.U32.pack(len(event.cpus)) + string(event.name) + ids


def strings(texts: Sequence[str]) -> bytes:
    """Return a counted list of strings, such as HEADER_CMDLINE."""
    return layout.U32.pack(len(texts)) + b"".join(map(string, texts))


def pmu_mappings(names: Mapping[int, str]) -> bytes:
    """Return the HEADER_PMU_MAPPINGS section of PMU names by type number."""
    return layout.U32.pack(len(names)) + b"".join(layout.U32.pack(kind) + string(name) for kind, name in names.items())


def supply_of(pieces: Iterator[memoryview]) -> Supply:
    """Return a supply of the bytes of pieces; they are cut to any size and not copied."""
    left = memoryview(b"")

    def supply(size: int) -> Iterator[memoryview]:
        nonlocal left
        while size:
            left = left or next(pieces)
            part, left = left[:size], left[size:]
            size -= len(part)
            yield part

    return supply


def write(
    file: IO[bytes], event: Event, features: Mapping[str, bytes], records: Callable[[], Iterable[bytes | int]], supply: Supply
) -> None:
    """Write a whole recording.

    Parameters
    ----------
    file : IO
        The output; it need not be seekable.
    event : Event
        The event.
    features : Mapping
        Feature sections by name (:data:`ptttool.perfdata.layout.FEATURES`).
    records : Callable
        Returns the data section; it is called twice. A number in it stands for as many bytes of AUX data.
    supply : Supply
        The AUX data.
    """
    ids = b"".join(layout.U64.pack(event.id_of(cpu)) for cpu in event.cpus)
    attributes = event.attribute() + layout.SECTION.pack(layout.FILE_HEADER_SIZE, len(ids))
    attributes_at = layout.FILE_HEADER_SIZE + len(ids)
    data_at = attributes_at + len(attributes)
    data_size = sum(part if isinstance(part, int) else len(part) for part in records())
    sections = {_FEATURE_NUMBERS[name]: section for name, section in features.items()}
    bits = sum(1 << number for number in sections)
    file.write(
        layout.FILE_HEADER.pack(
            layout.MAGIC, layout.FILE_HEADER_SIZE, len(attributes), attributes_at, len(attributes), data_at, data_size, 0, 0
        )
    )
    file.write(layout.FEATURE_BITS.pack(bits, 0, 0, 0) + ids + attributes)
    for part in records():
        if isinstance(part, int):
            for piece in supply(part):
                file.write(piece)
        else:
            file.write(part)
    position = data_at + data_size + layout.SECTION.size * len(sections)
    for _, section in sorted(sections.items()):
        file.write(layout.SECTION.pack(position, len(section)))
        position += len(section)
    for _, section in sorted(sections.items()):
        file.write(section)
