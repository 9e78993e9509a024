"""The columns of decoded TLPs: names, types and meaning, a public contract that every output follows.

A field that a TLP of its kind does not have is absent: null. Nothing here imports numpy or polars.
"""

from __future__ import annotations

from dataclasses import dataclass

KINDS = (
    "MRd", "MRdLk", "MWr", "IORd", "IOWr", "CfgRd0", "CfgWr0", "CfgRd1", "CfgWr1", "Msg", "MsgD", "Cpl", "CplD", "CplLk", "CplDLk",
    "FetchAdd", "Swap", "CAS", "DMWr", "TCfgRd", "Unknown",
)  # fmt: skip
CLASSES = ("P", "NP", "CPL")
STATUSES = ("SC", "UR", "RRS", "CA", "reserved")
ENUMS = {"kind": KINDS, "class": CLASSES, "status": STATUSES}


@dataclass(frozen=True)
class Column:
    """One column.

    ``dtype``: u8, u16, u32, u64, i32 or enum (its values: :data:`ENUMS`). ``text``: how csv and jsonl write a value: ``int``
    (decimal), ``id`` (``01:00.0``), ``hex`` (``0x1f``), ``enum``. ``shown``: how people see it, where that differs. ``default``: part of
    csv's subset.
    """

    name: str
    dtype: str
    meaning: str
    text: str = "int"
    default: bool = False
    shown: str | None = None

    @property
    def style(self) -> str:
        """How people see a value: ``int``, ``id``, ``hex``, ``enum``."""
        return self.shown or self.text


COLUMNS: tuple[Column, ...] = (
    Column(
        "index",
        "u64",
        "number of the TLP in the recording, from 0; what is left out (all-zero records, tails) is not counted",
        default=True,
    ),
    Column("offset", "u64", "byte offset of the record in its AUX stream", shown="hex"),
    Column("cpu", "i32", "CPU whose AUX stream holds the record"),
    Column("time", "u32", "the record's Time field, raw: its unit and origin are not documented (11 bits in 4DW)", default=True),
    Column("kind", "enum", "what the TLP is, from Fmt and Type", text="enum", default=True),
    Column("class", "enum", "P posted, NP non-posted, CPL completion", text="enum", default=True),
    Column("length_dw", "u16", "the Length field in words of 4 bytes, of every kind; 0 is read as 1024", default=True),
    Column("payload_bytes", "u16", "bytes of data that the TLP carries: 4 × Length, 0 for a TLP without data", default=True),
    Column("requester", "u16", "Requester ID", text="id", default=True),
    Column("completer", "u16", "Completer ID of a completion", text="id", default=True),
    Column("tag", "u16", "tag with all its bits (8, 10 or 14); absent where the field is a Steering Tag", default=True),
    Column("address", "u64", "address of a memory, I/O or atomic request", text="hex", default=True),
    Column("first_be", "u8", "First DW Byte Enable; absent where the field is a Steering Tag", shown="hex", default=True),
    Column("last_be", "u8", "Last DW Byte Enable; absent where the field is a Steering Tag", shown="hex", default=True),
    Column("destination", "u16", "Destination ID of a configuration request or of a message routed by ID", text="id", default=True),
    Column("register", "u16", "byte offset of the register that a configuration request names", shown="hex", default=True),
    Column("status", "enum", "Completion Status", text="enum", default=True),
    Column("byte_count", "u16", "Byte Count of a completion; 0 is read as 4096", default=True),
    Column("bcm", "u8", "Byte Count Modified of a completion"),
    Column("lower_address", "u8", "Lower Address of a completion", shown="hex", default=True),
    Column("message", "u8", "Message Code", shown="hex", default=True),
    Column("routing", "u8", "r[2:0] of a message"),
    Column("tc", "u8", "Traffic Class (8DW)"),
    Column("attr", "u8", "Attr: bit 2 ID-based ordering, bit 1 relaxed ordering, bit 0 no snoop (8DW)"),
    Column("at", "u8", "Address Type of a memory or atomic request (8DW)"),
    Column("th", "u8", "TLP Hints present"),
    Column("td", "u8", "TLP Digest present (8DW)"),
    Column("ep", "u8", "poisoned (8DW)"),
    Column("so", "u8", "the SO bit (4DW); no document explains it"),
    Column("ln", "u8", "Lightweight Notification (8DW)"),
    Column("ph", "u8", "Processing Hint, where TH is set"),
    Column("st", "u16", "Steering Tag, where TH is set; 8 bits unless pattern v1 or a TPH prefix gives 16", shown="hex"),
    Column("prefix", "u32", "the TLP prefix, raw (8DW)", shown="hex"),
    Column("segment", "u8", "Requester Segment of a request, Destination Segment of a completion or a configuration request (pattern v1)"),
    Column("completer_segment", "u8", "Completer Segment of a completion (pattern v1)"),
)

WORDS: tuple[Column, ...] = tuple(
    Column(f"dw{i}", "u32", f"header word {i} as recorded" + (" (4DW: with the Time field in bits 10:0)" if i == 0 else ""), shown="hex")
    for i in range(4)
)

BY_NAME = {column.name: column for column in (*COLUMNS, *WORDS)}
DEFAULT_COLUMNS = tuple(column.name for column in COLUMNS if column.default)
ALL_COLUMNS = tuple(column.name for column in COLUMNS)
WORD_COLUMNS = tuple(column.name for column in WORDS)
