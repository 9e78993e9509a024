"""Hostile recordings: perf.data that asks for much more than it holds."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.bombs.contract import bomb
from tests.support import recordings as rec

INFO = rec.auxtrace_info(6, 8)
PAYLOAD = rec.auxtrace(rec.words_8dw(1))
ETMV2 = ("--protocol", "etmv2", "-p", "data_addr=no", "-p", "data_value=no", "-p", "contextid_bytes=0")


def attribute(number: int = 0, *, kind: int = 8, ids: tuple[int, int] = (0, 0), sample_type: int = rec.SAMPLE_TYPE) -> bytes:
    """Make an entry of the attribute section; `ids`: offset and size of its ids."""
    return rec.attr(kind, number, 64, sample_type=sample_type) + struct.pack("<QQ", *ids)


def file(
    attributes: bytes, data: bytes = INFO + PAYLOAD, *, ids: bytes = b"", features: Sequence[tuple[int, int, int]] = (), rest: bytes = b""
) -> bytes:
    """Make a file of 80-byte attributes. `features`: number, offset in `rest`, size."""
    at = 104 + len(ids)
    begin = at + len(attributes)
    bits = sum(1 << number for number, _, _ in features)
    header = rec.MAGIC + struct.pack("<8Q4Q", 104, 80, at, len(attributes), begin, len(data), 0, 0, bits, 0, 0, 0)
    behind = begin + len(data) + 16 * len(features)
    table = b"".join(struct.pack("<QQ", behind + offset, size) for _, offset, size in sorted(features))
    return header + ids + attributes + data + table + rest


def pipe(data: bytes) -> bytes:
    """Make a recording of pipe mode."""
    return rec.MAGIC + struct.pack("<Q", 16) + data


def saved(folder: Path, content: bytes, *options: str) -> list[str]:
    """Write a recording, and return the arguments that read it."""
    path = folder / "perf.data"
    path.write_bytes(content)
    return ["info", str(path), "--json", "--jobs", "1", *options]


@bomb("recording-attributes", "many events", 15_000)
def attributes(folder: Path, size: int) -> list[str]:
    """Make a recording with many attributes."""
    return saved(folder, file(b"".join(attribute(number) for number in range(size))))


@bomb("recording-attributes-large", "more events than a recording can have", 70_000, 6, "over-budget")
def too_many_attributes(folder: Path, size: int) -> list[str]:
    """Make a recording with too many attributes."""
    return attributes(folder, size)


@bomb("recording-shared-ids", "events that share 524,288 ids", 100, 6, "over-budget")
def shared_ids(folder: Path, size: int) -> list[str]:
    """Make a recording with attributes that name the same ids."""
    ids = struct.pack("<524288Q", *range(1 << 40, (1 << 40) + 524288))
    return saved(folder, file(b"".join(attribute(number, ids=(104, len(ids))) for number in range(size)), ids=ids))


@bomb("recording-pipe-ids", "events with 4,000 ids each, in pipe mode", 300, 6, "over-budget")
def ids_in_a_pipe(folder: Path, size: int) -> list[str]:
    """Make a recording of pipe mode with many ids."""
    return saved(folder, pipe(rec.record(rec.HEADER_ATTR, rec.attr(7, 0, 64) + bytes(8 * 4000)) * size + INFO + PAYLOAD))


@bomb("recording-trailers", "records with an id that none of 500,000 is", 20_000)
def trailers(folder: Path, size: int) -> list[str]:
    """Make a recording with two trailers and records that have neither."""
    ids = struct.pack("<500000Q", *range(1 << 40, (1 << 40) + 500000))
    both = attribute(0, ids=(104, len(ids))) + attribute(1, sample_type=0x10007)
    return saved(folder, file(both, rec.record(rec.COMM, b"\1" * 48) * size + INFO + PAYLOAD, ids=ids))


def expanding(records: bytes, size: int) -> bytes:
    """Make compressed records, each of which becomes some 60 MiB."""
    import zstandard

    stream = zstandard.ZstdCompressor(level=3).compressobj()
    data = b""
    for _ in range(size):
        part = stream.compress(records * ((60 << 20) // len(records))) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        data += rec.compressed_record(part, type=rec.COMPRESSED2)
    return file(attribute(), data + INFO + PAYLOAD)


@bomb("recording-zstd-small", "compressed records full of small ones", 2, 6, "over-budget")
def expanding_small(folder: Path, size: int) -> list[str]:
    """Make a recording that expands to records of 8 bytes."""
    return saved(folder, expanding(rec.record(68), size))


@bomb("recording-zstd-large", "compressed records full of large ones", 2, 6, "over-budget")
def expanding_large(folder: Path, size: int) -> list[str]:
    """Make a recording that expands to records of 64 KiB."""
    return saved(folder, expanding(rec.record(17, bytes(65_000)), size))


@bomb("recording-features", "feature sections with the same bytes (MiB)", 8, 6, "over-budget")
def features(folder: Path, size: int) -> list[str]:
    """Make a recording with sections that overlap."""
    strings = bytes(size << 20)
    return saved(folder, file(attribute(), features=[(number, 0, len(strings)) for number in range(3, 22)], rest=strings))


@bomb("recording-pmus", "many PMUs, events and payloads", 1000)
def pmus(folder: Path, size: int) -> list[str]:
    """Make a recording where the event of the device is hard to find."""
    count = 10 * size
    names = struct.pack("<I", count) + b"".join(struct.pack("<II", 100_000 + number, 12) + b"hisi_ptt0_0\0" for number in range(count))
    data = INFO + PAYLOAD * size
    return saved(folder, file(attribute(kind=7) * size, data, features=[(rec.PMU_MAPPINGS, 0, len(names))], rest=names))


@bomb("recording-streams", "an AUX stream for each AUX event", 5000)
def streams(folder: Path, size: int) -> list[str]:
    """Make a recording with AUX events of many CPUs."""
    events = b"".join(rec.aux(0, 4 << 20, tail=rec.trailer(number + 1, cpu=number, id=0)) for number in range(size))
    return saved(folder, file(attribute(), INFO + events + PAYLOAD))


@bomb("recording-names", "an event with another name before every payload", 1000)
def names(folder: Path, size: int) -> list[str]:
    """Make a recording of pipe mode whose events change."""
    events = b"".join(rec.record(rec.HEADER_ATTR, rec.attr(7, number, 64) + struct.pack("<Q", number)) for number in range(size))
    changes = b"".join(rec.record(rec.EVENT_UPDATE, struct.pack("<QQ", 2, 1) + b"%08d" % number) + PAYLOAD for number in range(size))
    return saved(folder, pipe(events + INFO + changes))


@bomb("recording-payloads", "payloads of one record", 10_000)
def payloads(folder: Path, size: int) -> list[str]:
    """Make a recording with many small payloads."""
    return saved(folder, file(attribute(), INFO + PAYLOAD * size))


@bomb("recording-files", "a folder of many files", 250)
def files(folder: Path, size: int) -> list[str]:
    """Make a folder as ``perf record --threads`` does."""
    recording = folder / "perf.data"
    recording.mkdir()
    (recording / "data").write_bytes(file(attribute()))
    for number in range(size):
        (recording / f"data.{number}").write_bytes(PAYLOAD)
    return ["info", str(recording), "--json", "--jobs", "1"]


@bomb("recording-packet-streams", "an AUX stream for each payload of packets", 2000, 6, "over-budget")
def packet_streams(folder: Path, size: int) -> list[str]:
    """Make a recording that needs many decoders."""
    data = b"".join(rec.auxtrace(b"\x84" * 16, cpu=-1, idx=number) for number in range(size))
    return saved(folder, file(attribute(), rec.auxtrace_info(99) + data), *ETMV2)


@bomb("recording-marks", "AUX events of no CPU, each with a payload of packets", 2000)
def marks(folder: Path, size: int) -> list[str]:
    """Make a recording of pipe mode where every AUX event may belong to every stream."""
    data = b"".join(rec.aux(16 * (size - n), 16) + rec.auxtrace(b"\x84" * 16, cpu=-1, idx=n % 2, offset=16 * n) for n in range(size))
    return saved(folder, pipe(rec.auxtrace_info(99) + data), *ETMV2)


@bomb("recording-holes", "AUX events of one TLP each, the last one first", 200_000)
def holes(folder: Path, size: int) -> list[str]:
    """Make a recording where TLPs may be missing in front of each one."""
    events = b"".join(rec.aux(32 * number, 32) for number in reversed(range(size)))
    content = file(attribute(), INFO + events + rec.auxtrace(rec.words_8dw(size), cpu=-1, idx=0))
    return ["analyze", "summary", *saved(folder, content)[1:]]


@bomb("recording-holes-between", "AUX events as before, each with a payload of one TLP", 10_000)
def holes_between(folder: Path, size: int) -> list[str]:
    """Make a recording whose holes become known one by one."""
    one = rec.words_8dw(1)
    data = b"".join(rec.aux(32 * number, 32) + rec.auxtrace(one, offset=32 * number, cpu=-1, idx=0) for number in reversed(range(size)))
    return ["analyze", "summary", *saved(folder, file(attribute(), INFO + data))[1:]]


@bomb("recording-requesters", "65,536 requesters, in every analysis", 65_536)
def requesters(folder: Path, size: int) -> list[str]:
    """Make reads and their completions, of each requester in turn."""
    records = np.zeros((size, 2, 8), dtype="<u4")
    number = np.arange(size)
    records[..., 0] = 0xFFFFFFFF
    records[..., 7] = 3 * number[:, None]
    records[:, 0, 2], records[:, 1, 2] = 0x00000001, 0x4A000001
    records[:, 0, 3], records[:, 1, 3] = (number & 0xFFFF) << 16 | 0x0F, 4
    records[:, 1, 4] = (number & 0xFFFF) << 16
    path = folder / "raw.bin"
    path.write_bytes(records.tobytes())
    return ["report", str(path), "--input", "8dw", "--time-model", "counter", "--json", "--jobs", "1"]
