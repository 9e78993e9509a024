"""Builds well-formed perf.data files, byte by byte, and the parts to build ill-formed ones from.

Nothing here uses ptttool, so that the reader and its tests do not share mistakes. perf itself reads what :func:`build_perfdata` makes
(``tests/perfdata/test_recordings.py``). Layouts: ``tools/perf/Documentation/perf.data-file-format.txt``,
``tools/lib/perf/include/perf/event.h`` and ``include/uapi/linux/perf_event.h`` of the Linux sources.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

MAGIC = b"PERFILE2"
MIB = 1 << 20
DMA_BUFFER = 4 * MIB

COMM, EXIT, LOST, SAMPLE, AUX, ITRACE_START = 3, 4, 2, 9, 11, 12
HEADER_ATTR, TRACING_DATA, FINISHED_ROUND, ID_INDEX, AUXTRACE_INFO, AUXTRACE = 64, 66, 68, 69, 70, 71
EVENT_UPDATE, HEADER_FEATURE, COMPRESSED, FINISHED_INIT, COMPRESSED2 = 78, 80, 81, 82, 83

IP, TID, TIME, ID, CPU, STREAM_ID, IDENTIFIER = 1, 2, 4, 64, 128, 512, 1 << 16
SAMPLE_TYPE = IP | TID | TIME | CPU | IDENTIFIER  # what perf record chooses for hisi_ptt

HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS, CPUDESC, CPUID, TOTAL_MEM, CMDLINE = 3, 4, 5, 6, 7, 8, 9, 10, 11
EVENT_DESC, NUMA_TOPOLOGY, PMU_MAPPINGS, SAMPLE_TIME, DIR_FORMAT, COMPRESSED_FEATURE = 12, 14, 16, 21, 24, 27

DEFAULT_CONFIG = 0x1_0728_0001  # filter=0x80001,type=7,direction=2,format=1
DEFAULT_NAME = "hisi_ptt0_0/filter=0x80001,type=7,direction=2,format=1/"
START_TIME = 1_000_000_000

Chunk = tuple[int, int, bytes]
"""cpu, offset in the CPU's AUX stream, payload."""
AuxTuple = tuple[int, int, int, int, int]
"""cpu, offset, size, flags, time."""


class FileOnRequest:
    """A file that is read as one on remote storage: a :class:`ptttool.perfdata.model.RandomAccess`."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._descriptor).st_size

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, offset)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def record(type: int, body: bytes = b"", *, misc: int = 0, size: int | None = None) -> bytes:
    """One record; ``size`` lies about its length."""
    return struct.pack("<IHH", type, misc, 8 + len(body) if size is None else size) + body


def attr(type: int, config: int, size: int = 128, *, sample_type: int = SAMPLE_TYPE, sample_id_all: bool = True) -> bytes:
    """A perf_event_attr of ``size`` bytes."""
    flags = (1 << 18 if sample_id_all else 0) | 1  # disabled
    head = struct.pack("<IIQQQQQ", type, size, config, 1, sample_type, 4, flags)
    return head.ljust(size, b"\0")


def trailer(time: int, *, cpu: int = 0, id: int = 1, sample_type: int = SAMPLE_TYPE, pid: int = 100) -> bytes:
    """What sample_id_all appends to a record."""
    parts = b""
    if sample_type & TID:
        parts += struct.pack("<ii", pid, pid)
    if sample_type & TIME:
        parts += struct.pack("<Q", time)
    if sample_type & ID:
        parts += struct.pack("<Q", id)
    if sample_type & STREAM_ID:
        parts += struct.pack("<Q", id)
    if sample_type & CPU:
        parts += struct.pack("<II", cpu, 0)
    if sample_type & IDENTIFIER:
        parts += struct.pack("<Q", id)
    return parts


def aux(offset: int, size: int, *, flags: int = 0, tail: bytes = b"") -> bytes:
    """PERF_RECORD_AUX."""
    return record(AUX, struct.pack("<QQQ", offset, size, flags) + tail)


def auxtrace(
    payload: bytes, *, offset: int = 0, cpu: int = 0, idx: int | None = None, tid: int = -1, reference: int = 7, size: int | None = None
) -> bytes:
    """PERF_RECORD_AUXTRACE and its payload; ``size`` lies about the payload's."""
    size = len(payload) if size is None else size
    index = cpu if idx is None else idx
    return record(AUXTRACE, struct.pack("<QQQIiiI", size, offset, reference, index, tid, cpu, 0)) + payload


def auxtrace_info(type: int = 6, *priv: int) -> bytes:
    """PERF_RECORD_AUXTRACE_INFO; 6 is PERF_AUXTRACE_HISI_PTT, priv[0] the PMU type."""
    return record(AUXTRACE_INFO, struct.pack(f"<II{len(priv)}Q", type, 0, *priv))


def id_index(entries: Iterable[tuple[int, int]]) -> bytes:
    """PERF_RECORD_ID_INDEX of (event id, CPU)."""
    packed = [struct.pack("<QQqq", id, index, cpu, -1) for index, (id, cpu) in enumerate(entries)]
    return record(ID_INDEX, struct.pack("<Q", len(packed)) + b"".join(packed))


def comm(time: int, name: str = "load", *, tail: bytes | None = None) -> bytes:
    """PERF_RECORD_COMM with a trailer: an event of that time."""
    return record(COMM, struct.pack("<ii16s", 100, 100, name.encode()) + (trailer(time) if tail is None else tail))


def exit_record(time: int, *, tail: bytes | None = None) -> bytes:
    """PERF_RECORD_EXIT with a trailer: the last event of a session."""
    return record(EXIT, struct.pack("<iiiiQ", 100, 1, 100, 1, time) + (trailer(time) if tail is None else tail))


def string(text: str | bytes) -> bytes:
    """A perf_header_string, padded to 64 bytes as perf does."""
    raw = text.encode() if isinstance(text, str) else text
    padded = raw.ljust((len(raw) + 64) // 64 * 64, b"\0")
    return struct.pack("<I", len(padded)) + padded


def default_features(*, name: str = DEFAULT_NAME, release: str = "6.12.95", pmus: Mapping[int, str] | None = None) -> dict[int, bytes]:
    """The feature sections of an ordinary recording: bit number -> content."""
    pmus = {1: "software", 11: name.split("/")[0]} if pmus is None else pmus
    command = ["perf", "record", "-C", "0", "-e", name, "--", "sleep", "1"]
    return {
        HOSTNAME: string("kunpeng"),
        OSRELEASE: string(release),
        VERSION: string(release),
        ARCH: string("aarch64"),
        NRCPUS: struct.pack("<II", 4, 4),
        CPUID: string("0x00000000480fd010"),
        TOTAL_MEM: struct.pack("<Q", 4018020),
        CMDLINE: struct.pack("<I", len(command)) + b"".join(map(string, command)),
        PMU_MAPPINGS: struct.pack("<I", len(pmus)) + b"".join(struct.pack("<I", type) + string(text) for type, text in pmus.items()),
    }


def event_desc(events: Sequence[tuple[bytes, str, Sequence[int]]]) -> bytes:
    """HEADER_EVENT_DESC of (attr, name, ids)."""
    parts = [struct.pack("<II", len(events), len(events[0][0]))]
    parts += [body + struct.pack("<I", len(ids)) + string(name) + struct.pack(f"<{len(ids)}Q", *ids) for body, name, ids in events]
    return b"".join(parts)


def aux_tuples(chunks: Iterable[Chunk], *, time: int = START_TIME, step: int = 1_000_000) -> list[AuxTuple]:
    """The AUX events the 6.12 driver would have committed for the chunks: 4 MiB each, the rest last, one every ``step`` ns."""
    events: list[AuxTuple] = []
    for cpu, offset, payload in chunks:
        for start in range(0, len(payload), DMA_BUFFER):
            time += step
            events.append((cpu, offset + start, min(DMA_BUFFER, len(payload) - start), 0, time))
    return events


def compress(records: bytes, *, type: int = COMPRESSED, piece: int = 16 * 1024, frame: bool = False) -> bytes:
    """``records`` as PERF_RECORD_COMPRESSED (or COMPRESSED2) records of one zstd stream, cut every ``piece`` bytes wherever that falls."""
    import zstandard

    stream = zstandard.ZstdCompressor(level=1).compressobj()
    out = []
    for start in range(0, len(records), piece):
        data = stream.compress(records[start : start + piece]) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        out.append(compressed_record(data, type=type))
    if frame:
        out.append(compressed_record(stream.flush(zstandard.COMPRESSOBJ_FLUSH_FINISH), type=type))
    return b"".join(out)


def compressed_record(data: bytes, *, type: int = COMPRESSED) -> bytes:
    """One record around compressed bytes: 81 has them to its end, whatever that is aligned to; 83 says how many and is padded."""
    if type == COMPRESSED2:
        return record(COMPRESSED2, struct.pack("<Q", len(data)) + data.ljust((len(data) + 7) // 8 * 8, b"\0"))
    return record(COMPRESSED, data)


def build_file(
    data: bytes,
    attributes: Sequence[tuple[bytes, Sequence[int]]],
    features: Mapping[int, bytes] | None = None,
    *,
    data_size: int | None = None,
    magic: bytes = MAGIC,
) -> bytes:
    """A file-mode perf.data: header, ids, attributes, data section, feature sections. ``data_size`` lies; 0 is an interrupted recording."""
    features = dict(sorted((features or {}).items()))
    attr_size = len(attributes[0][0]) if attributes else 128
    ids = b"".join(struct.pack(f"<{len(of)}Q", *of) for _, of in attributes)
    attr_offset = 104 + len(ids)
    entries, position = b"", 104
    for body, of in attributes:
        entries += body + struct.pack("<QQ", position, 8 * len(of))
        position += 8 * len(of)
    data_offset = attr_offset + len(entries)
    bits = sum(1 << number for number in features)
    header = magic + struct.pack(
        "<QQQQQQQQ4Q",
        104, attr_size + 16, attr_offset, len(entries), data_offset, len(data) if data_size is None else data_size, 0, 0,
        *(bits >> shift & 0xFFFF_FFFF_FFFF_FFFF for shift in (0, 64, 128, 192)),
    )  # fmt: skip
    position = data_offset + len(data) + 16 * len(features)
    table = b""
    for content in features.values():
        table += struct.pack("<QQ", position, len(content))
        position += len(content)
    return header + ids + entries + data + table + b"".join(features.values())


def build_pipe(data: bytes, attributes: Sequence[tuple[bytes, Sequence[int]]], features: Mapping[int, bytes] | None = None) -> bytes:
    """A pipe-mode perf.data: attributes and features are records."""
    parts = [MAGIC, struct.pack("<Q", 16)]
    parts += [record(HEADER_ATTR, body + struct.pack(f"<{len(ids)}Q", *ids)) for body, ids in attributes]
    parts += [record(HEADER_FEATURE, struct.pack("<Q", number) + content) for number, content in (features or {}).items()]
    return b"".join(parts) + data


def build_records(
    chunks: Sequence[Chunk],
    *,
    pmu_type: int = 11,
    aux_events: Sequence[AuxTuple] | None = None,
    end_time: int | None = None,
    auxtrace_type: int = 6,
    compressed: int | None = None,
    sample_type: int = SAMPLE_TYPE,
    extra: bytes = b"",
    info: bytes | None = None,
) -> bytes:
    """The data section of :func:`build_perfdata`."""
    events = aux_tuples(chunks) if aux_events is None else list(aux_events)
    last = max((time for *_, time in events), default=START_TIME)
    end = last + 1_000_000 if end_time is None else end_time

    def mark(time: int, cpu: int = 0) -> bytes:
        return trailer(time, cpu=cpu, id=1 + cpu, sample_type=sample_type)

    kernel = comm(START_TIME, tail=mark(START_TIME)) + extra
    kernel += b"".join(aux(offset, size, flags=flags, tail=mark(time, cpu)) for cpu, offset, size, flags, time in events)
    kernel += exit_record(end, tail=mark(end))
    payloads = b"".join(auxtrace(payload, offset=offset, cpu=cpu) for cpu, offset, payload in chunks)
    if compressed is not None:
        kernel = compress(kernel, type=compressed)
    start = auxtrace_info(auxtrace_type, pmu_type) if info is None else info
    start += id_index((1 + cpu, cpu) for cpu in sorted({0, *(chunk[0] for chunk in chunks), *(event[0] for event in events)}))
    return start + record(FINISHED_INIT) + kernel + payloads + record(FINISHED_ROUND)


def build_perfdata(
    chunks: Sequence[Chunk] = (),
    *,
    config: int = DEFAULT_CONFIG,
    pmu_type: int = 11,
    attr_size: int = 128,
    mode: str = "file",
    name: str = DEFAULT_NAME,
    features: Mapping[int, bytes] | None = None,
    interrupted: bool = False,
    aux_events: Sequence[AuxTuple] | None = None,
    end_time: int | None = None,
    auxtrace_type: int = 6,
    compressed: int | None = None,
    sample_type: int = SAMPLE_TYPE,
    extra: bytes = b"",
    info: bytes | None = None,
) -> bytes:
    """A recording as perf would have written it.

    ``chunks``: payloads in file order, one AUXTRACE each. ``attr_size``: 128 (perf 6.1, which reads no other) or 136. ``mode``: ``file``
    or ``pipe``. ``features``: bit number -> content (default: :func:`default_features` and EVENT_DESC; ``{}`` for none).
    ``interrupted``: data size 0 in the header and no features, as SIGKILL leaves it. ``aux_events``: (cpu, offset, size, flags, time), by
    default :func:`aux_tuples`. ``end_time``: of the session's last event. ``compressed``: 81 or 83 wraps the kernel's records as -z does.
    ``extra``: further records before the AUX events. ``info``: another AUXTRACE_INFO record, or ``b""`` for none.
    """
    body = attr(pmu_type, config, attr_size, sample_type=sample_type)
    cpus = sorted({cpu for cpu, *_ in chunks} | {event[0] for event in aux_events or ()} | {0})
    ids = [1 + cpu for cpu in cpus]
    if features is None:
        features = {
            **default_features(name=name, pmus={1: "software", pmu_type: name.split("/")[0]}),
            EVENT_DESC: event_desc([(body, name, ids)]),
        }
        if compressed is not None:
            features[COMPRESSED_FEATURE] = struct.pack("<IIIII", 1, 1, 1, 4, 528384)
    data = build_records(
        chunks, pmu_type=pmu_type, aux_events=aux_events, end_time=end_time, auxtrace_type=auxtrace_type, compressed=compressed,
        sample_type=sample_type, extra=extra, info=info,
    )  # fmt: skip
    if mode == "pipe":
        return build_pipe(data, [(body, ids)], features)
    if interrupted:
        return build_file(data, [(body, ids)], {}, data_size=0)
    return build_file(data, [(body, ids)], features)


def build_directory(
    folder: Path, chunks: Sequence[Chunk], *, pmu_type: int = 11, config: int = DEFAULT_CONFIG, attr_size: int = 136
) -> Path:
    """A perf.data directory as ``perf record --threads`` lays one out, made by hand: perf refuses AUX events there.

    ``data`` has the header and the session's records, ``data.N`` (no header) what the N-th thread wrote: AUX events and payloads of CPU N.
    """
    folder.mkdir()
    features = {**default_features(), DIR_FORMAT: struct.pack("<Q", 1)}
    cpus = sorted({cpu for cpu, *_ in chunks} | {0})
    main = auxtrace_info(6, pmu_type) + comm(START_TIME) + exit_record(START_TIME + 1_000_000_000)
    (folder / "data").write_bytes(build_file(main, [(attr(pmu_type, config, attr_size), [1 + cpu for cpu in cpus])], features))
    for cpu in cpus:
        own = [chunk for chunk in chunks if chunk[0] == cpu]
        events = b"".join(
            aux(offset, size, flags=flags, tail=trailer(time, cpu=cpu, id=1 + cpu)) for _, offset, size, flags, time in aux_tuples(own)
        )
        (folder / f"data.{cpu}").write_bytes(events + b"".join(auxtrace(payload, offset=offset, cpu=cpu) for _, offset, payload in own))
    return folder


def words_8dw(count: int, *, dw0: int = 0x60000001, time: int = 0) -> bytes:
    """``count`` 8DW records of a 64-bit MWr from 01:00.0, the Time field counting up."""
    return b"".join(
        struct.pack("<8I", 0xFFFFFFFF, 0, dw0, 0x0100000F | (i & 0xFF) << 8, 4, 0x1000 + 4 * i & 0xFFFFFFFC, 0, time + i & 0xFFFFFFFF)
        for i in range(count)
    )


def words_4dw(count: int, *, time: int = 0) -> bytes:
    """``count`` 4DW records of a 64-bit MWr of one word from 01:00.0 (Fmt 3, Type 0, Length 1)."""
    return b"".join(
        struct.pack("<4I", 3 << 30 | 1 << 11 | (time + i & 0x7FF), 0x0100000F | (i & 0xFF) << 8, 4, 0x1000 + 4 * i & 0xFFFFFFFC)
        for i in range(count)
    )
