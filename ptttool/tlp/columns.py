"""The columns of decoded TLPs: names, types and meaning, a public contract that every output follows.

A field that a TLP of its kind does not have is null. Nothing here imports numpy or polars.
"""

from __future__ import annotations

from ptttool.table.schema import Column, DType, Schema, Style

KINDS = (
    "MRd", "MRdLk", "MWr", "IORd", "IOWr", "CfgRd0", "CfgWr0", "CfgRd1", "CfgWr1", "Msg", "MsgD", "Cpl", "CplD", "CplLk", "CplDLk",
    "FetchAdd", "Swap", "CAS", "DMWr", "TCfgRd", "Unknown",
)  # fmt: skip
CLASSES = ("P", "NP", "CPL")
STATUSES = ("SC", "UR", "RRS", "CA", "reserved")
DIRECTIONS = ("inbound", "outbound", "unknown")
LAYOUTS = ("4dw", "8dw", "4dw-v1", "8dw-v1")


COLUMNS: tuple[Column, ...] = (
    Column(
        "index",
        DType.U64,
        "number of the TLP in the recording, from 0; what is left out (all-zero records, tails) is not counted",
        default=True,
    ),
    Column("offset", DType.U64, "byte offset of the record in its AUX stream", shown=Style.HEX),
    Column("cpu", DType.I32, "CPU whose AUX stream holds the record"),
    Column("time", DType.U32, "the record's Time field, raw: its unit and origin are not documented (11 bits in 4DW)", default=True),
    Column("kind", DType.ENUM, "what the TLP is, from Fmt and Type", KINDS, style=Style.PLAIN, default=True),
    Column("class", DType.ENUM, "P posted, NP non-posted, CPL completion", CLASSES, style=Style.PLAIN, default=True),
    Column(
        "direction",
        DType.ENUM,
        "inbound: from a device to the root port; unknown where neither the recording's event nor IDs and buses decide",
        DIRECTIONS,
        style=Style.PLAIN,
        default=True,
    ),
    Column("length_dw", DType.U16, "the Length field in DWs (4 bytes), of every kind; 0 is read as 1024", default=True),
    Column("payload_bytes", DType.U16, "bytes of data that the TLP carries: 4 × Length, 0 for a TLP without data", default=True),
    Column(
        "requested_bytes",
        DType.U16,
        "bytes that a request asks for or writes: 4 × Length without the disabled bytes at both ends of a read, or without all disabled "
        "bytes of a write; the operand of an atomic. A zero-length read asks for 0, although its completion has Byte Count 1. Absent for "
        "completions and messages",
        default=True,
    ),
    Column("requester", DType.U16, "Requester ID", style=Style.ID, default=True),
    Column("completer", DType.U16, "Completer ID of a completion", style=Style.ID, default=True),
    Column("tag", DType.U16, "tag with all its bits (8, 10 or 14); absent where the field is a Steering Tag", default=True),
    Column("address", DType.U64, "address of a memory, I/O or atomic request", style=Style.HEX, default=True),
    Column("first_be", DType.U8, "First DW Byte Enable; absent where the field is a Steering Tag", shown=Style.HEX, default=True),
    Column("last_be", DType.U8, "Last DW Byte Enable; absent where the field is a Steering Tag", shown=Style.HEX, default=True),
    Column(
        "destination", DType.U16, "Destination ID of a configuration request or of a message routed by ID", style=Style.ID, default=True
    ),
    Column("register", DType.U16, "byte offset of the register that a configuration request names", shown=Style.HEX, default=True),
    Column("status", DType.ENUM, "Completion Status", STATUSES, style=Style.PLAIN, default=True),
    Column("byte_count", DType.U16, "Byte Count of a completion; 0 is read as 4096", default=True),
    Column("bcm", DType.U8, "Byte Count Modified of a completion"),
    Column("lower_address", DType.U8, "Lower Address of a completion", shown=Style.HEX, default=True),
    Column("message", DType.U8, "Message Code", shown=Style.HEX, default=True),
    Column("routing", DType.U8, "r[2:0] of a message"),
    Column("tc", DType.U8, "Traffic Class (8DW)"),
    Column("attr", DType.U8, "Attr: bit 2 ID-based ordering, bit 1 relaxed ordering, bit 0 no snoop (8DW)"),
    Column("at", DType.U8, "Address Type of a memory or atomic request (8DW)"),
    Column("th", DType.U8, "TLP Hints present"),
    Column("td", DType.U8, "TLP Digest present (8DW)"),
    Column("ep", DType.U8, "poisoned (8DW)"),
    Column("so", DType.U8, "the SO bit (4DW); no document explains it"),
    Column("ln", DType.U8, "Lightweight Notification (8DW)"),
    Column("ph", DType.U8, "Processing Hint, where TH is set"),
    Column("st", DType.U16, "Steering Tag, where TH is set; 8 bits unless pattern v1 or a TPH prefix gives 16", shown=Style.HEX),
    Column("prefix", DType.U32, "the TLP prefix, raw (8DW)", shown=Style.HEX),
    Column(
        "segment", DType.U8, "Requester Segment of a request, Destination Segment of a completion or a configuration request (pattern v1)"
    ),
    Column("completer_segment", DType.U8, "Completer Segment of a completion (pattern v1)"),
)

HEADER_DWS: tuple[Column, ...] = tuple(
    Column(
        f"dw{i}",
        DType.U32,
        f"header DW {i} as recorded" + (" (4DW: with the Time field in bits 10:0)" if i == 0 else ""),
        shown=Style.HEX,
        on_request=True,
    )
    for i in range(4)
)

LAYOUT = Column(
    "layout", DType.ENUM, "layout of the record, v1: with the header pattern of PCIe 6 parts", LAYOUTS, style=Style.PLAIN, on_request=True
)

SPARSE: tuple[Column, ...] = (
    Column(
        "disabled_bytes", DType.U8, "bytes of its first and last DW that a request leaves out; absent where there are none", on_request=True
    ),
    Column(
        "own_direction",
        DType.ENUM,
        "the direction where kind, requester and recording do not decide it: of messages, and of completions of devices behind the ports",
        DIRECTIONS,
        style=Style.PLAIN,
        on_request=True,
    ),
)
"""Columns that few TLPs have, for sums: what they say is in ``requested_bytes`` and ``direction``, too, at the cost of a value a row."""

TLP_SCHEMA = Schema((*COLUMNS, *HEADER_DWS, LAYOUT, *SPARSE))
"""Every column that a TLP can have; those that are written only where they are named come last."""

DEFAULT_COLUMNS = tuple(column.name for column in COLUMNS if column.default)
ALL_COLUMNS = tuple(column.name for column in COLUMNS)
DW_COLUMNS = tuple(column.name for column in HEADER_DWS)
