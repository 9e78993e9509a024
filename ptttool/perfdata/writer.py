"""Writes recordings in file mode as perf record lays them out: sizes first, then everything in one go, so that a pipe will do.

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
# Gives so many bytes of AUX data, the next ones.
Supply = Callable[[int], Iterator[memoryview]]
_FEATURE_NUMBERS = {name: number for number, name in layout.FEATURES.items()}


@dataclass(frozen=True)
class Event:
    """The PTT event of a recording. ``cpus``: one event is open on each; the ids are 1, 2, …"""

    name: str
    pmu_type: int
    config: int
    cpus: tuple[int, ...]

    def attribute(self) -> bytes:
        """The ``perf_event_attr``."""
        flags = layout.SAMPLE_ID_ALL | DISABLED
        return layout.ATTR.pack(self.pmu_type, ATTR_SIZE, self.config, 1, SAMPLE_TYPE, READ_FORMAT_ID, flags).ljust(ATTR_SIZE, b"\0")

    def id_of(self, cpu: int) -> int:
        """Id of the CPU's event."""
        return 1 + self.cpus.index(cpu)

    def trailer(self, time: int, cpu: int) -> bytes:
        """What every record of the kernel ends with. ``time``: perf's clock, nanoseconds."""
        return TRAILER.pack(0, 0, time, cpu, 0, self.id_of(cpu))


def record(kind: int, body: bytes = b"") -> bytes:
    """One record."""
    return layout.RECORD.pack(kind, 0, layout.RECORD.size + len(body)) + body


def comm(event: Event, name: str, time: int) -> bytes:
    """A process got a name."""
    return record(COMM, COMM_BODY.pack(1, 1, name.encode()[:15]) + event.trailer(time, event.cpus[0]))


def exit_of(event: Event, time: int) -> bytes:
    """A process ended."""
    return record(EXIT, EXIT_BODY.pack(1, 0, 1, 0, time) + event.trailer(time, event.cpus[0]))


def aux(event: Event, offset: int, size: int, time: int, cpu: int) -> bytes:
    """The driver committed ``size`` bytes at ``offset`` of the CPU's AUX stream."""
    return record(layout.AUX, layout.AUX_BODY.pack(offset, size, 0) + event.trailer(time, cpu))


def auxtrace(event: Event, offset: int, size: int, cpu: int, reference: int) -> bytes:
    """What precedes a payload of ``size`` bytes, a multiple of 8. ``reference``: any number that tells payloads apart."""
    return record(layout.AUXTRACE, layout.AUXTRACE_BODY.pack(size, offset, reference, event.cpus.index(cpu), -1, cpu, 0))


def beginning(event: Event, auxtrace_type: int, private: Sequence[int]) -> bytes:
    """The records that perf writes before any of the kernel's."""
    info = layout.AUXTRACE_INFO_BODY.pack(auxtrace_type, 0) + b"".join(map(layout.U64.pack, private))
    entries = [layout.ID_INDEX_ENTRY.pack(event.id_of(cpu), place, cpu, -1) for place, cpu in enumerate(event.cpus)]
    index = layout.U64.pack(len(entries)) + b"".join(entries)
    return record(layout.AUXTRACE_INFO, info) + record(layout.ID_INDEX, index) + record(FINISHED_INIT)


def string(text: str) -> bytes:
    """A perf_header_string: length, text, zeros."""
    raw = text.encode()
    size = (len(raw) // STRING_ALIGNMENT + 1) * STRING_ALIGNMENT
    return layout.U32.pack(size) + raw.ljust(size, b"\0")


def event_desc(event: Event) -> bytes:
    """HEADER_EVENT_DESC of one event."""
    ids = b"".join(layout.U64.pack(event.id_of(cpu)) for cpu in event.cpus)
    head = layout.U32.pack(1) + layout.U32.pack(ATTR_SIZE) + event.attribute()
    return head + layout.U32.pack(len(event.cpus)) + string(event.name) + ids


def strings(texts: Sequence[str]) -> bytes:
    """A counted list of strings: HEADER_CMDLINE."""
    return layout.U32.pack(len(texts)) + b"".join(map(string, texts))


def pmu_mappings(names: Mapping[int, str]) -> bytes:
    """HEADER_PMU_MAPPINGS: names of PMUs by type."""
    return layout.U32.pack(len(names)) + b"".join(layout.U32.pack(kind) + string(name) for kind, name in names.items())


def supply_of(pieces: Iterator[memoryview]) -> Supply:
    """The pieces' bytes in portions of any size, none of them copied."""
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
    """A whole recording. ``features``: sections by name (:data:`ptttool.perfdata.layout.FEATURES`).

    ``records``: the data section, asked for twice; a number in it stands for so many bytes of AUX data, which come from ``supply``.
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
