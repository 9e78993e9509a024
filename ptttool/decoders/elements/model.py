"""The model of packet trace: elements of the kinds that OpenCSD has, and of two more.

Sources: OpenCSD, ``docs/prog_guide/prog_guide_generic_pkts.md`` (16 kinds), ``include/opencsd/trc_gen_elem_types.h`` (those added since).
Names of kinds are those of OpenCSD, without the prefix and in lower case. Nothing here imports numpy or polars.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntFlag
from typing import Any, NamedTuple

from msgspec import Struct

from ptttool.table.schema import Column, DType, Schema, Style


class Flags(IntFlag):
    """What is odd about an element."""

    TRUNCATED = 1  # the bytes end inside the packet
    RESERVED = 2  # a value that the specification reserves
    RESYNCED = 4  # the first packet after bytes that could not be decoded
    PADDING_ODD = 8  # bits that should be padding are not
    LEFTOVER = 16  # more bits than the packet needs: the parameters may be wrong

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the flags that are set: ``("truncated", "reserved")``."""
        return tuple((flag.name or "").lower() for flag in Flags if flag in self)


# Names of the flags by their number; "" for none.
FLAG_NAMES = tuple(" ".join(Flags(number).names) for number in range(2 * max(Flags)))
# Strict decoding ends at an element with one of these.
STRICT_FLAGS = Flags.RESERVED | Flags.PADDING_ODD | Flags.LEFTOVER


def column(name: str, dtype: DType, meaning: str, values: tuple[str, ...] = (), *, style: Style | None = None) -> Column:
    """Describe one field that elements may have.

    Parameters
    ----------
    name, dtype, meaning, values
        As in :class:`ptttool.table.schema.Column`.
    style : Style, optional
        How a value is written; by default numbers are decimal and the rest is plain.
    """
    if style is None:
        style = Style.INT if dtype.is_integer else Style.PLAIN
    return Column(name, dtype, meaning, values, style, near=dtype in (DType.U32, DType.U64, DType.I64))


ISAS = ("a32", "t32", "a64", "tee", "jazelle", "custom", "unknown", "rv32", "rv64")


# Types of an instruction, in the order of OpenCSD's ocsd_instr_type.
INSTRUCTION_TYPES = ("other", "br", "br_indirect", "isb", "dsb_dmb", "wfi_wfe", "tstart")
# Subtypes, in the order of ocsd_instr_subtype; the last two are for RISC-V and not in OpenCSD.
INSTRUCTION_SUBTYPES = ("none", "br_link", "v8_ret", "v8_eret", "v7_implied_ret", "return", "trap_return")
# Reasons of no_sync, eo_trace and trace_on. Not in OpenCSD: "discontinuity" (bytes were lost before decoding) and "not_followed" (the
# trace unit leaves out what this decoder cannot reconstruct).
REASONS = (
    "unknown", "init", "reset", "overflow", "discard", "bad_packet", "bad_image", "eot", "discontinuity", "normal", "debug_exit",
    "not_followed",
)  # fmt: skip
ITM_PACKETS = ("ts_sync", "ts_delay", "ts_pkt_delay", "ts_pkt_ts_delay", "ts_global", "swit_payload", "dwt_payload")

FIELDS: tuple[Column, ...] = (
    column("reason", DType.ENUM, "why trace begins, ends, or cannot be decoded", REASONS),
    column("isa", DType.ENUM, "instruction set", ISAS),
    column("st_addr", DType.U64, "first address of the instructions; the address that cannot be read", style=Style.HEX),
    column("en_addr", DType.U64, "address after the last instruction; of an exception the preferred return address", style=Style.HEX),
    column("num_instr_range", DType.U32, "instructions in the range; 0 in i_range_nopath: unknown"),
    column("last_i_type", DType.ENUM, "type of the last instruction", INSTRUCTION_TYPES),
    column("last_i_subtype", DType.ENUM, "subtype of the last instruction", INSTRUCTION_SUBTYPES),
    column("last_instr_exec", DType.BOOL, "whether the last instruction was executed (a branch: taken)"),
    column("last_instr_sz", DType.U8, "size of the last instruction in bytes"),
    column("last_instr_cond", DType.BOOL, "whether the last instruction is conditional"),
    column("cycle_count", DType.U32, "cycles since the cycle count before"),
    column("security_level", DType.ENUM, "security state", ("secure", "nonsecure", "root", "realm")),
    column("exception_level", DType.U8, "exception level"),
    column("context_id", DType.U64, "context ID", style=Style.HEX),
    column("vmid", DType.U32, "virtual machine ID", style=Style.HEX),
    column("bits64", DType.BOOL, "whether execution is 64-bit"),
    column("exception_number", DType.U32, "number of the exception; RISC-V: its cause"),
    column("excep_data_marker", DType.BOOL, "a marker that is only in the data trace (v7-M)"),
    column("excep_ret_addr_br_tgt", DType.BOOL, "en_addr is also the target of the branch before"),
    column("ev_type", DType.ENUM, "type of the event", ("unknown", "trigger", "numbered")),
    column("ev_number", DType.U16, "number of the event; ETMv4: a bit for each of four"),
    column("master_id", DType.U16, "STM master"),
    column("swt_channel", DType.U16, "STM channel"),
    column("payload_bits", DType.U8, "bits of each payload packet"),
    column("payload_packets", DType.U8, "payload packets"),
    column("marker", DType.BOOL, "the packet is a marker"),
    column("trigger", DType.BOOL, "the packet is a trigger"),
    column("frequency", DType.BOOL, "the packet has the frequency of timestamps"),
    column("master_error", DType.BOOL, "the master reported an error"),
    column("global_error", DType.BOOL, "the trace unit reported an error"),
    column("payload", DType.BYTES, "data carried"),
    column("marker_type", DType.ENUM, "what the marker stands for", ("timestamp",)),
    column("marker_value", DType.U32, "value of the marker"),
    column("mem_trans", DType.ENUM, "memory transaction", ("trace_init", "start", "commit", "fail")),
    column("el", DType.U8, "exception level of the instrumentation instruction"),
    column("value", DType.U64, "value written", style=Style.HEX),
    column("itm_packet", DType.ENUM, "type of the ITM packet", ITM_PACKETS),
    column("source_id", DType.U8, "ITM stimulus port or DWT discriminator"),
    column("payload_size", DType.U8, "bytes of the value"),
    column("itm_overflow", DType.BOOL, "packets were lost before this one"),
    column("address", DType.U64, "absolute address; absent while it is unknown", style=Style.HEX),
    column("branches", DType.U8, "branches in the map; 0: 31, and no address"),
    column("branch_map", DType.U32, "one bit a branch, the oldest in bit 0: 0 taken, 1 not taken", style=Style.HEX),
)
FIELDS_BY_NAME = {field.name: field for field in FIELDS}


def common(*names: str) -> tuple[Column, ...]:
    """Return the fields of OpenCSD with these names, for the declaration of a protocol."""
    return tuple(FIELDS_BY_NAME[name] for name in names)


# Who defined a kind of element: OpenCSD's guide; OpenCSD after its guide; ptttool.
ORIGINS = ("document", "later", "ptttool")


class Kind(NamedTuple):
    """One kind of element. A protocol may add fields of its own.

    Parameters
    ----------
    name, meaning : str
        Name, and one line of documentation.
    fields, optional : tuple of str
        Fields that its elements always have, and those that they may have.
    origin : str
        Who defined it, one of :data:`ORIGINS`.
    """

    name: str
    meaning: str
    fields: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    origin: str = "document"


_CC = ("cycle_count",)
KINDS: tuple[Kind, ...] = (
    Kind("unknown", "bytes that are not a packet of the protocol, or an incomplete packet"),
    Kind("no_sync", "skipped bytes: decoding is out of step with the packets", ("reason",)),
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
    Kind("addr_nacc", "an address in memory that is not available", ("st_addr",)),
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
    Kind("sync_marker", "position of an element that comes later", ("marker_type", "marker_value"), origin="later"),
    Kind("memtrans", "transactional memory", ("mem_trans",), origin="later"),
    Kind("instrumentation", "value that software wrote into the trace (FEAT_ITE)", ("el", "value"), origin="later"),
    Kind("itmtrace", "ITM or DWT packet", ("itm_packet",), ("source_id", "payload_size", "value", "itm_overflow"), origin="later"),
    Kind("custom", "packet of the protocol that no other kind describes; its own fields do", (), ("payload",)),
    Kind("addr", "an address that was reached", (), ("address",), origin="ptttool"),
    Kind("branch_map", "branches taken and not taken, and the address reached", ("branches", "branch_map"), ("address",),
         origin="ptttool"),
)  # fmt: skip
KIND_NAMES = tuple(kind.name for kind in KINDS)
# Codes of kinds, as tables hold them.
CODES = {name: number for number, name in enumerate(KIND_NAMES)}
UNKNOWN, NO_SYNC, TRACE_ON, EO_TRACE, PE_CONTEXT = (CODES[name] for name in ("unknown", "no_sync", "trace_on", "eo_trace", "pe_context"))
EXCEPTION, TIMESTAMP, EVENT, CUSTOM = (CODES[name] for name in ("exception", "timestamp", "event", "custom"))
ADDR, BRANCH_MAP = CODES["addr"], CODES["branch_map"]
REASON_CODES = {name: number for number, name in enumerate(REASONS)}


_BEFORE = (
    column("file", DType.TEXT, "the recording, where several are decoded together"),
    Column("cpu", DType.I32, "CPU whose AUX data hold the element, where that is known"),
    Column("index", DType.U64, "offset of the packet's first byte in its stream", near=True),
    Column("size", DType.U64, "bytes of the stream that the element stands for"),
    Column("channel", DType.I32, "source ID or trace ID"),
    Column("timestamp", DType.U64, "timestamp of the packet", near=True),
    column("protocol", DType.TEXT, "protocol of the packet"),
    column("kind", DType.ENUM, "kind of the element", KIND_NAMES),
    column("flags", DType.TEXT, "what is odd about the packet, names with spaces between them"),
)
_AFTER = (column("raw", DType.BYTES, "bytes of the packet"),)


def schema_of(fields: Iterable[Column]) -> Schema:
    """Return the columns of a table of elements: those of every element, then `fields`, then the bytes."""
    return Schema((*_BEFORE, *fields, *_AFTER))


class Element(Struct, frozen=True):
    """One element, as an object for people and tests.

    Parameters
    ----------
    index : int
        Offset of the packet's first byte in the stream.
    size : int
        Bytes of the stream that it stands for. Of several elements of one packet the first has them all, so that sizes add up.
    channel : int or None
        Source ID or trace ID.
    timestamp : int or None
        Timestamp of the packet, raw or unwrapped as the parameters say.
    protocol : str
        Name of the protocol.
    kind : str
        One of :data:`KIND_NAMES`.
    fields : Mapping
        The fields that it has.
    raw : bytes or None
        Bytes of the packet, for the element that has its size; None for runs of padding, skipped bytes, and the payload of a framing.
    flags : Flags
        What is odd about it.
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
