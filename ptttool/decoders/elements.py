"""What every packet protocol decodes into: elements of the kinds that OpenCSD has, and of two more.

Sources: OpenCSD, ``docs/prog_guide/prog_guide_generic_pkts.md`` (16 kinds), ``include/opencsd/trc_gen_elem_types.h`` (those added since).
A kind is called as there, without its prefix and in small letters. Nothing here imports numpy or polars.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntFlag
from typing import Any

from ptttool.errors import ExitCode, PtttoolError


class Flags(IntFlag):
    """What is odd about an element."""

    TRUNCATED = 1  # the bytes end inside the packet
    RESERVED = 2  # a value that the specification reserves
    RESYNCED = 4  # the first packet after bytes that could not be decoded
    PADDING_ODD = 8  # bits that should be padding are not
    LEFTOVER = 16  # more bits than the packet needs: the parameters may be wrong

    @property
    def names(self) -> tuple[str, ...]:
        """``("truncated", "reserved")``."""
        return tuple((flag.name or "").lower() for flag in Flags if flag in self)


# By number what flags are called; "" for none.
FLAG_NAMES = tuple(" ".join(Flags(number).names) for number in range(2 * max(Flags)))
# Strict decoding ends at an element with one of these.
STRICT_FLAGS = Flags.RESERVED | Flags.PADDING_ODD | Flags.LEFTOVER


@dataclass(frozen=True)
class Field:
    """One value that an element may have.

    ``dtype``: u8, u16, u32, u64, i64, bool, enum (its names: ``values``; a batch holds their numbers); bytes or text (UTF-8) of any
    length. ``style``: ``hex`` where people read it so.
    """

    name: str
    dtype: str
    meaning: str
    values: tuple[str, ...] = ()
    style: str = "int"


ISAS = ("a32", "t32", "a64", "tee", "jazelle", "custom", "unknown", "rv32", "rv64")
INSTRUCTION_TYPES = ("other", "br", "br_indirect", "isb", "dsb_dmb", "wfi_wfe", "tstart")
# The last two are ours, of RISC-V.
INSTRUCTION_SUBTYPES = ("none", "br_link", "v8_ret", "v8_eret", "v7_implied_ret", "return", "trap_return")
# Of no_sync, eo_trace and trace_on. Ours are "discontinuity": bytes were lost before decoding, and "not_followed": the trace unit leaves
# out what this decoder cannot make up.
REASONS = (
    "unknown", "init", "reset", "overflow", "discard", "bad_packet", "bad_image", "eot", "discontinuity", "normal", "debug_exit",
    "not_followed",
)  # fmt: skip
ITM_PACKETS = ("ts_sync", "ts_delay", "ts_pkt_delay", "ts_pkt_ts_delay", "ts_global", "swit_payload", "dwt_payload")

FIELDS: tuple[Field, ...] = (
    Field("reason", "enum", "why: trace begins, ends, or cannot be decoded", REASONS),
    Field("isa", "enum", "instruction set", ISAS),
    Field("st_addr", "u64", "first address of the instructions; the address that cannot be read", style="hex"),
    Field("en_addr", "u64", "address after the last instruction; of an exception the preferred return address", style="hex"),
    Field("num_instr_range", "u32", "instructions in the range; 0 in i_range_nopath: not known"),
    Field("last_i_type", "enum", "type of the last instruction", INSTRUCTION_TYPES),
    Field("last_i_subtype", "enum", "subtype of the last instruction", INSTRUCTION_SUBTYPES),
    Field("last_instr_exec", "bool", "whether the last instruction was executed (a branch: taken)"),
    Field("last_instr_sz", "u8", "size of the last instruction in bytes"),
    Field("last_instr_cond", "bool", "whether the last instruction is conditional"),
    Field("cycle_count", "u32", "cycles since the cycle count before"),
    Field("security_level", "enum", "security state", ("secure", "nonsecure", "root", "realm")),
    Field("exception_level", "u8", "exception level"),
    Field("context_id", "u64", "context ID", style="hex"),
    Field("vmid", "u32", "virtual machine ID", style="hex"),
    Field("bits64", "bool", "whether execution is 64-bit"),
    Field("exception_number", "u32", "number of the exception; RISC-V: its cause"),
    Field("excep_data_marker", "bool", "a mark in the data trace alone (v7-M)"),
    Field("excep_ret_addr_br_tgt", "bool", "en_addr is also the target of the branch before"),
    Field("ev_type", "enum", "what kind of event", ("unknown", "trigger", "numbered")),
    Field("ev_number", "u16", "number of the event; ETMv4: a bit for each of four"),
    Field("master_id", "u16", "STM master"),
    Field("swt_channel", "u16", "STM channel"),
    Field("payload_bits", "u8", "bits of each payload packet"),
    Field("payload_packets", "u8", "payload packets"),
    Field("marker", "bool", "the packet is a marker"),
    Field("trigger", "bool", "the packet is a trigger"),
    Field("frequency", "bool", "the packet tells the timestamps' frequency"),
    Field("master_error", "bool", "the master reported an error"),
    Field("global_error", "bool", "the trace unit reported an error"),
    Field("payload", "bytes", "data carried", style="hex"),
    Field("marker_type", "enum", "what the marker stands for", ("timestamp",)),
    Field("marker_value", "u32", "value of the marker"),
    Field("mem_trans", "enum", "memory transaction", ("trace_init", "start", "commit", "fail")),
    Field("el", "u8", "exception level of the instrumentation instruction"),
    Field("value", "u64", "value written", style="hex"),
    Field("itm_packet", "enum", "type of the ITM packet", ITM_PACKETS),
    Field("source_id", "u8", "ITM stimulus port or DWT discriminator"),
    Field("payload_size", "u8", "bytes of the value"),
    Field("itm_overflow", "bool", "packets were lost before this one"),
    Field("address", "u64", "address, absolute; absent while it cannot be known", style="hex"),
    Field("branches", "u8", "branches in the map; 0: 31, and no address"),
    Field("branch_map", "u32", "one bit a branch, the oldest in bit 0: 0 taken, 1 not taken", style="hex"),
)
FIELDS_BY_NAME = {field.name: field for field in FIELDS}


def common(*names: str) -> tuple[Field, ...]:
    """OpenCSD's fields of those names, for a protocol's declaration."""
    return tuple(FIELDS_BY_NAME[name] for name in names)


@dataclass(frozen=True)
class Kind:
    """One kind of element. ``fields``: always there. ``optional``: there or not. A protocol may add fields of its own.

    ``origin``: ``document`` (OpenCSD's guide), ``later`` (in OpenCSD since) or ``ptttool``.
    """

    name: str
    meaning: str
    fields: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    origin: str = "document"


_CC = ("cycle_count",)
KINDS: tuple[Kind, ...] = (
    Kind("unknown", "bytes that are no packet of the protocol, or a packet without its end"),
    Kind("no_sync", "bytes passed over: decoding is not in step with the packets", ("reason",)),
    Kind("trace_on", "trace begins, or goes on after a gap", ("reason",), _CC),
    Kind("eo_trace", "trace ends", (), ("reason",)),
    Kind(
        "pe_context",
        "where the processor runs: privilege, context, virtual machine",
        (),
        ("security_level", "exception_level", "context_id", "vmid", "bits64", "isa", *_CC),
    ),
    Kind(
        "instr_range",
        "instructions executed one after the other",
        (
            "isa", "st_addr", "en_addr", "num_instr_range", "last_i_type", "last_i_subtype", "last_instr_exec", "last_instr_sz",
            "last_instr_cond",
        ),
        _CC,
    ),
    Kind("i_range_nopath", "instructions executed on an unknown path", ("isa", "st_addr", "en_addr", "num_instr_range")),
    Kind("addr_nacc", "an address whose memory is not at hand", ("st_addr",)),
    Kind("addr_unknown", "waiting for an address", (), _CC),
    Kind(
        "exception",
        "exception or interrupt",
        (),
        ("exception_number", "en_addr", "address", "excep_data_marker", "excep_ret_addr_br_tgt", *_CC),
    ),
    Kind("exception_ret", "the branch before was an exception return"),
    Kind("timestamp", "a timestamp; what comes before it happened before", (), _CC),
    Kind("cycle_count", "cycles since the last count", ("cycle_count",)),
    Kind("event", "an event of the trace hardware", (), ("ev_type", "ev_number")),
    Kind(
        "swtrace",
        "software trace (STM)",
        (),
        (
            "master_id", "swt_channel", "payload_bits", "payload_packets", "marker", "trigger", "frequency", "master_error", "global_error",
            "payload",
        ),
    ),
    Kind("sync_marker", "place of an element that comes later", ("marker_type", "marker_value"), origin="later"),
    Kind("memtrans", "transactional memory", ("mem_trans",), origin="later"),
    Kind("instrumentation", "value that software wrote into the trace (FEAT_ITE)", ("el", "value"), origin="later"),
    Kind("itmtrace", "ITM or DWT packet", ("itm_packet",), ("source_id", "payload_size", "value", "itm_overflow"), origin="later"),
    Kind("custom", "packet of the protocol without a general meaning: its own fields say what it is", (), ("payload",)),
    Kind("addr", "an address that was reached", (), ("address",), origin="ptttool"),
    Kind("branch_map", "branches taken and not taken, and the address reached", ("branches", "branch_map"), ("address",), origin="ptttool"),
)  # fmt: skip
KIND_NAMES = tuple(kind.name for kind in KINDS)
# Numbers of kinds, as batches hold them.
CODES = {name: number for number, name in enumerate(KIND_NAMES)}
UNKNOWN, NO_SYNC, TRACE_ON, EO_TRACE, PE_CONTEXT = (CODES[name] for name in ("unknown", "no_sync", "trace_on", "eo_trace", "pe_context"))
EXCEPTION, TIMESTAMP, EVENT, CUSTOM = (CODES[name] for name in ("exception", "timestamp", "event", "custom"))
ADDR, BRANCH_MAP = CODES["addr"], CODES["branch_map"]
REASON_CODES = {name: number for number, name in enumerate(REASONS)}


@dataclass(frozen=True)
class Element:
    """One element. What it does not have is None, or not among its fields.

    ``index``: of the packet's first byte in the stream. ``size``: bytes of the stream that it stands for; of several elements of one packet
    the first has them all, so that sizes add up. ``channel``: source ID or trace ID. ``timestamp``: raw, or unwrapped where that was asked
    for. ``kind``: of :data:`KIND_NAMES`. ``raw``: the packet's bytes, for the element that has its size; None for runs of padding, bytes
    passed over, and what a framing carries.
    """

    index: int
    size: int
    channel: int | None
    timestamp: int | None
    protocol: str
    kind: str
    fields: Mapping[str, Any]
    raw: bytes | None
    flags: Flags


class StrictError(PtttoolError):
    """Strict decoding met what it may not pass over. ``index``: of the packet in its stream."""

    exit_code = ExitCode.FILE
    code = "strict"

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(f"offset {index:#x}: {reason}", hint="without --strict it is flagged and decoding goes on", index=index)
        self.index = index
        self.reason = reason


def kind_table() -> Iterator[str]:
    """Every kind, as a table in Markdown."""
    origins = {"document": "OpenCSD", "later": "OpenCSD, later", "ptttool": "ptttool"}
    yield "| kind | of | meaning | fields always there | fields there or not |"
    yield "| --- | --- | --- | --- | --- |"
    for kind in KINDS:
        always, optional = (", ".join(f"`{name}`" for name in names) for names in (kind.fields, kind.optional))
        yield f"| `{kind.name}` | {origins[kind.origin]} | {kind.meaning} | {always} | {optional} |"


def field_table(fields: tuple[Field, ...] = FIELDS) -> Iterator[str]:
    """Fields, as a table in Markdown."""
    yield "| field | type | meaning |"
    yield "| --- | --- | --- |"
    for field in fields:
        values = f": {' '.join(field.values)}" if field.values else ""
        yield f"| `{field.name}` | {field.dtype} | {field.meaning}{values} |"
