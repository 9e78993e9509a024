"""Writes perf.data files with samples of tracepoints, as perf lays them out, and such that perf never writes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ptttool.perfdata import layout

# ip, tid, time, id, cpu, period, raw; identifier.
SAMPLE_TYPE = 0x10587 & ~0x10 | 0x400
ATTR_SIZE = 136
COMMON = """name: {name}
ID: {id}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

{fields}

print fmt: "nothing"
"""


class Event(NamedTuple):
    """A tracepoint: its number, and its fields as (declaration, offset, size, signed)."""

    name: str
    id: int
    fields: tuple[tuple[str, int, int, int], ...]

    def text(self) -> bytes:
        fields = "\n".join(f"\tfield:{what};\toffset:{at};\tsize:{size};\tsigned:{sign};" for what, at, size, sign in self.fields)
        return COMMON.format(name=self.name.split(":")[1], id=self.id, fields=fields).encode()


SETUP = Event(
    "nvme:nvme_setup_cmd",
    1515,
    (
        ("char disk[32]", 8, 32, 0), ("int ctrl_id", 40, 4, 1), ("int qid", 44, 4, 1), ("u8 opcode", 48, 1, 0), ("u8 flags", 49, 1, 0),
        ("u8 fctype", 50, 1, 0), ("u16 cid", 52, 2, 0), ("u32 nsid", 56, 4, 0), ("bool metadata", 60, 1, 0), ("u8 cdw10[24]", 61, 24, 0),
    ),
)  # fmt: skip
COMPLETE = Event(
    "nvme:nvme_complete_rq",
    1514,
    (
        ("char disk[32]", 8, 32, 0), ("int ctrl_id", 40, 4, 1), ("int qid", 44, 4, 1), ("int cid", 48, 4, 1), ("u64 result", 56, 8, 0),
        ("u8 retries", 64, 1, 0), ("u8 flags", 65, 1, 0), ("u16 status", 66, 2, 0),
    ),
)  # fmt: skip
TAKEN = Event(
    "nvme:nvme_sq",
    1512,
    (("int ctrl_id", 8, 4, 1), ("char disk[32]", 12, 32, 0), ("int qid", 44, 4, 1), ("u16 sq_head", 48, 2, 0), ("u16 sq_tail", 50, 2, 0)),
)
ENTRY = Event("irq:irq_handler_entry", 101, (("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4, 0)))
ISSUE = Event("block:block_rq_issue", 1100, (("dev_t dev", 8, 4, 0), ("sector_t sector", 16, 8, 0), ("unsigned int nr_sector", 24, 4, 0)))
RECEIVED = Event(
    "net:netif_receive_skb", 1300, (("void * skbaddr", 8, 8, 0), ("unsigned int len", 16, 4, 0), ("__data_loc char[] name", 20, 4, 0))
)
POLLED = Event(
    "napi:napi_poll",
    1301,
    (("struct napi_struct * napi", 8, 8, 0), ("__data_loc char[] dev_name", 16, 4, 0), ("int work", 20, 4, 1), ("int budget", 24, 4, 1)),
)
_ACCESS = (("unsigned long caller", 8, 8, 0), ("unsigned long caller0", 16, 8, 0), ("unsigned long addr", 24, 8, 0))
READ = Event("rwmmio:rwmmio_read", 1600, (*_ACCESS, ("u8 width", 32, 1, 0)))
WRITE = Event("rwmmio:rwmmio_write", 1601, (*_ACCESS, ("u64 val", 32, 8, 0), ("u8 width", 40, 1, 0)))
EVENTS = (SETUP, COMPLETE, TAKEN, ENTRY)


def setup(
    qid: int, cid: int, *, slba: int = 0, blocks: int = 8, opcode: int = 2, disk: bytes = b"nvme0n1", ctrl: int = 0, space: int = 1
) -> bytes:
    """Return the raw data of a command that is submitted."""
    raw = bytearray(88)
    struct.pack_into("<H", raw, 0, SETUP.id)
    struct.pack_into("<32sii", raw, 8, disk, ctrl, qid)
    struct.pack_into("<BBBxH", raw, 48, opcode, 0, 1, cid)
    struct.pack_into("<I", raw, 56, space)
    struct.pack_into("<QH", raw, 61, slba, blocks - 1)
    return bytes(raw)


def complete(qid: int, cid: int, *, disk: bytes = b"nvme0n1", ctrl: int = 0) -> bytes:
    """Return the raw data of a command that ends."""
    raw = bytearray(72)
    struct.pack_into("<H", raw, 0, COMPLETE.id)
    struct.pack_into("<32siii", raw, 8, disk, ctrl, qid, cid)
    return bytes(raw)


def taken(qid: int, *, ctrl: int = 0) -> bytes:
    """Return the raw data of a completion entry that the driver takes."""
    raw = bytearray(56)
    struct.pack_into("<H", raw, 0, TAKEN.id)
    struct.pack_into("<i32si", raw, 8, ctrl, b"nvme0n1", qid)
    return bytes(raw)


def entry(irq: int, name: bytes, *, where: int | None = None) -> bytes:
    """Return the raw data of an interrupt; `where`: what stands where its name is said to be."""
    text = name + b"\0"
    raw = struct.pack("<HxxiiI", ENTRY.id, 0, irq, 16 | len(text) << 16 if where is None else where) + text
    return raw.ljust((len(raw) + 7) // 8 * 8 + 4, b"\0")


def access(event: Event, caller: int, caller0: int, address: int, width: int = 32) -> bytes:
    """Return the raw data of an access to a register."""
    raw = struct.pack("<HxxiQQQ", event.id, 0, caller, caller0, address)
    return (raw + struct.pack("<B", width) if event == READ else raw + struct.pack("<QB", 7, width)).ljust(44, b"\0")


def issue(sector: int, count: int) -> bytes:
    """Return the raw data of a request that the block layer hands to the driver."""
    return struct.pack("<HxxiIIQII", ISSUE.id, 0, 0x10300000, 0, sector, count, 0)


def received(name: bytes, size: int) -> bytes:
    """Return the raw data of a packet that the driver hands over."""
    raw = struct.pack("<HxxiQII", RECEIVED.id, 0, 0, size, 24 | len(name) + 1 << 16) + name + b"\0"
    return raw.ljust((len(raw) + 7) // 8 * 8 + 4, b"\0")


def polled(name: bytes, work: int) -> bytes:
    """Return the raw data of a poll."""
    raw = struct.pack("<HxxiQIii", POLLED.id, 0, 0, 28 | len(name) + 1 << 16, work, 64) + name + b"\0"
    return raw.ljust((len(raw) + 7) // 8 * 8 + 4, b"\0")


class Sample(NamedTuple):
    """A sample."""

    event: Event
    time: int
    raw: bytes
    cpu: int = 0
    tid: int = 100
    chain: tuple[int, ...] | None = None


def record(kind: int, body: bytes) -> bytes:
    return layout.RECORD.pack(kind, 0, 8 + len(body)) + body


def _id(events: Sequence[Event], event: Event) -> int:
    return 1000 + events.index(event)


def sample(events: Sequence[Event], one: Sample, *, size: int | None = None) -> bytes:
    """Return the record of a sample; `size`: how long it says its raw data are."""
    body = struct.pack("<QQiiQIIQ", _id(events, one.event), 0, one.tid, one.tid, one.time, one.cpu, 0, 1)
    if one.chain is not None:
        body += struct.pack(f"<{1 + len(one.chain)}Q", len(one.chain), *one.chain)
    raw = struct.pack("<I", len(one.raw) if size is None else size) + one.raw
    return record(9, body + raw.ljust((len(raw) + 7) // 8 * 8, b"\0"))


def comm(tid: int, name: bytes, time: int = 0) -> bytes:
    """Return the record of a name."""
    return record(3, struct.pack("<ii", tid, tid) + name.ljust(16, b"\0") + struct.pack("<iiQIIQ", tid, tid, time, 0, 0, 1000))


def mapped(start: int, size: int, base: int, file: bytes) -> bytes:
    """Return the record of where the kernel or a module of it is."""
    return record(1, struct.pack("<iiQQQ", -1, 0, start, size, base) + file.ljust(len(file) // 8 * 8 + 8, b"\0") + bytes(40))


def fork(tid: int, parent: int, time: int) -> bytes:
    """Return the record of a thread that begins."""
    return record(7, struct.pack("<iiiiQ", tid, parent, tid, parent, time) + struct.pack("<iiQIIQ", tid, tid, time, 0, 0, 1000))


def lost(count: int) -> bytes:
    """Return the record of samples that there was no room for."""
    return record(2, struct.pack("<QQ", 1000, count) + struct.pack("<iiQIIQ", 0, 0, 1, 0, 0, 1000))


def tracing_data(events: Sequence[Event], texts: Mapping[Event, bytes] | None = None) -> bytes:
    """Return the section of the formats."""
    parts = [b"\x17\x08\x44tracing0.6\0\0\x08", struct.pack("<I", 4096), b"header_page\0", struct.pack("<Q", 4), b"page"]
    parts += [b"header_event\0", struct.pack("<Q", 5), b"event", struct.pack("<II", 0, len(events))]
    for event in events:
        text = (texts or {}).get(event, event.text())
        parts += [event.name.split(":")[0].encode() + b"\0", struct.pack("<IQ", 1, len(text)), text]
    return b"".join([*parts, struct.pack("<IIQ", 0, 0, 0)])


def perf_data(
    records: bytes, events: Sequence[Event] = EVENTS, *, section: bytes | None = None, has_chains: bool = False, texts: Sequence[str] = ()
) -> bytes:
    """Return a whole file; `texts`: name of the machine, and release of its kernel."""
    section = tracing_data(events) if section is None else section
    ids = b"".join(struct.pack("<Q", _id(events, event)) for event in events)
    at = layout.FILE_HEADER_SIZE
    attributes = b"".join(
        layout.ATTR.pack(2, ATTR_SIZE, event.id, 1, SAMPLE_TYPE | 0x20 * has_chains, 4, layout.SAMPLE_ID_ALL).ljust(ATTR_SIZE, b"\0")
        + layout.SECTION.pack(at + 8 * number, 8)
        for number, event in enumerate(events)
    )
    first = at + len(ids) + len(attributes)
    head = layout.FILE_HEADER.pack(
        layout.MAGIC, at, ATTR_SIZE + layout.SECTION.size, at + len(ids), len(attributes), first, len(records), 0, 0
    )
    behind = first + len(records)
    sections = [section, *(struct.pack("<I", len(text) + 1) + text.encode() + b"\0" for text in texts)]
    place, table = behind + len(sections) * layout.SECTION.size, b""
    for one in sections:
        table += layout.SECTION.pack(place, len(one))
        place += len(one)
    bits = 1 << 1 | ((1 << len(texts)) - 1) << 3
    return head + layout.FEATURE_BITS.pack(bits, 0, 0, 0) + ids + attributes + records + table + b"".join(sections)


def kernel_file(samples: Sequence[Sample], before: bytes = b"", events: Sequence[Event] = EVENTS, texts: Sequence[str] = ()) -> bytes:
    """Return a file of samples, and of records in front of them."""
    has_chains = any(one.chain is not None for one in samples)
    return perf_data(before + b"".join(sample(events, one) for one in samples), events, has_chains=has_chains, texts=texts)
