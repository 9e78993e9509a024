"""The codes of PCIe TLPs and their meaning (PCIe base specification 6.x, non-flit headers).

A Fmt/Type code is the first byte of a header: Fmt in bits 7:5, Type in bits 4:0. :mod:`ptttool.tlp.bulk` decodes headers. This module
does not import numpy, so that commands without decoding start fast.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Family = Literal["memory", "io", "config", "message", "completion", "atomic"]


class TlpType(Struct, frozen=True):
    """One Fmt/Type code.

    Attributes
    ----------
    code : int
        First byte of the header.
    kind, tlp_class : str
        Kind and class, as :mod:`ptttool.tlp.columns` names them.
    family : str
        Which fields its header has.
    """

    code: int
    kind: str
    tlp_class: str
    family: Family

    @property
    def four_dws(self) -> bool:
        """Whether the header has four DWs (Fmt bit 0): a 64-bit address, or a message."""
        return bool(self.code & 0x20)

    @property
    def has_data(self) -> bool:
        """Whether data follows the header (Fmt bit 1)."""
        return bool(self.code & 0x40)


# Table 2-3 of the base specification: code with a header of three DWs, code with four DWs, kind, class, family.
_TABLE: tuple[tuple[int | None, int | None, str, str, Family], ...] = (
    (0x00, 0x20, "MRd", "NP", "memory"),
    (0x01, 0x21, "MRdLk", "NP", "memory"),
    (0x40, 0x60, "MWr", "P", "memory"),
    (0x5B, 0x7B, "DMWr", "NP", "memory"),
    (0x02, None, "IORd", "NP", "io"),
    (0x42, None, "IOWr", "NP", "io"),
    (0x04, None, "CfgRd0", "NP", "config"),
    (0x44, None, "CfgWr0", "NP", "config"),
    (0x05, None, "CfgRd1", "NP", "config"),
    (0x45, None, "CfgWr1", "NP", "config"),
    (0x1B, None, "TCfgRd", "NP", "config"),
    (0x0A, None, "Cpl", "CPL", "completion"),
    (0x4A, None, "CplD", "CPL", "completion"),
    (0x0B, None, "CplLk", "CPL", "completion"),
    (0x4B, None, "CplDLk", "CPL", "completion"),
    (0x4C, 0x6C, "FetchAdd", "NP", "atomic"),
    (0x4D, 0x6D, "Swap", "NP", "atomic"),
    (0x4E, 0x6E, "CAS", "NP", "atomic"),
    *((None, 0x30 | route, "Msg", "P", "message") for route in range(8)),
    *((None, 0x70 | route, "MsgD", "P", "message") for route in range(8)),
)  # fmt: skip

TYPES: dict[int, TlpType] = {
    code: TlpType(code, kind, tlp_class, family)
    for three, four, kind, tlp_class, family in _TABLE
    for code in (three, four)
    if code is not None
}
"""The TLP type of every code that has one; all other codes are of kind Unknown."""


def disabled_bytes(first: int, last: int, *, is_single: bool, is_write: bool) -> int:
    """Return how many bytes of a request's DWs are not asked for, by its byte enables (section 2.2.5.1).

    Parameters
    ----------
    first, last : int
        First and Last DW Byte Enable, four bits each. A DW of which no byte is enabled counts four bytes.
    is_single : bool
        Whether its Length is 1: then the Last DW Byte Enable means nothing.
    is_write : bool
        Whether all disabled bytes count, as for a write. A read asks for all bytes from its first to its last one.
    """
    if is_write:
        return 4 - first.bit_count() + (0 if is_single else 4 - last.bit_count())
    before = (first & -first).bit_length() - 1 if first else 4
    if is_single:
        return before + (4 - first.bit_length() if first else 0)
    return before + 4 - last.bit_length()


FLIT_MODE_READ = 0x03
PREFIX_FMT = 0b100

# Section 2.2.10: first byte of a TLP prefix.
PREFIXES = {
    0x80: "MR-IOV",
    0x8D: "FlitMode",
    0x8E: "vendor-defined local",
    0x8F: "vendor-defined local",
    0x90: "TPH",
    0x91: "PASID",
    0x92: "IDE",
    0x9E: "vendor-defined end-to-end",
    0x9F: "vendor-defined end-to-end",
}
TPH_PREFIX, PASID_PREFIX = 0x90, 0x91


def code_name(code: int) -> str:
    """Return the name of any code: ``MRd``, ``MRd (flit code)``, ``prefix (PASID)``, ``reserved``."""
    tlp_type = TYPES.get(code)
    if tlp_type is not None:
        return tlp_type.kind
    if code == FLIT_MODE_READ:
        return "MRd (flit code)"
    if code >> 5 == PREFIX_FMT:
        return f"prefix ({PREFIXES.get(code, 'reserved')})"
    return "reserved"


# Table 2-37.
STATUS_CODES = {0b000: "SC", 0b001: "UR", 0b010: "RRS", 0b100: "CA"}
STATUS_NAMES = {
    "SC": "Successful Completion",
    "UR": "Unsupported Request",
    "RRS": "Request Retry Status",
    "CA": "Completer Abort",
    "reserved": "reserved, to be treated as Unsupported Request",
}


def status_of(code: int) -> str:
    """Return the Completion Status of a 3-bit code, as the ``status`` column names it."""
    return STATUS_CODES.get(code, "reserved")


# Table 2-20: r[2:0].
ROUTINGS = (
    "to the root complex", "by address", "by ID", "broadcast from the root complex", "local: ends at the receiver",
    "gathered and sent to the root complex", "reserved", "reserved",
)  # fmt: skip
ROUTED_BY_ID = 0b010
# Table 10-1.
ADDRESS_TYPES = ("untranslated", "translation request", "translated", "reserved")
# Table 2-18.
PROCESSING_HINTS = ("bidirectional", "requester", "target", "target with priority")


class Message(Struct, frozen=True):
    """One Message Code.

    Attributes
    ----------
    name : str
        Its name in the specification.
    routings : tuple of int
        Values of r[2:0] that it may have.
    data : bool or None
        Whether it carries data, as a MsgD; None if it may be either.
    """

    name: str
    routings: tuple[int, ...]
    data: bool | None = False


# Section 2.2.8 and chapter 10.
MESSAGES: dict[int, Message] = {
    0x00: Message("Unlock", (3,)),
    0x01: Message("Invalidate Request", (2,), data=True),
    0x02: Message("Invalidate Completion", (2,)),
    0x04: Message("Page Request", (0,)),
    0x05: Message("PRG Response", (2,)),
    0x10: Message("LTR", (4,)),
    0x12: Message("OBFF", (4,)),
    0x14: Message("PM_Active_State_Nak", (4,)),
    0x18: Message("PM_PME", (0,)),
    0x19: Message("PME_Turn_Off", (3,)),
    0x1B: Message("PME_TO_Ack", (5,)),
    **{0x20 + pin: Message(f"Assert_INT{'ABCD'[pin]}", (4,)) for pin in range(4)},
    **{0x24 + pin: Message(f"Deassert_INT{'ABCD'[pin]}", (4,)) for pin in range(4)},
    0x30: Message("ERR_COR", (0,)),
    0x31: Message("ERR_NONFATAL", (0,)),
    0x33: Message("ERR_FATAL", (0,)),
    **{code: Message("Ignored (old hot-plug)", (4,)) for code in (0x40, 0x41, 0x43, 0x44, 0x45, 0x47, 0x48)},
    0x50: Message("Set_Slot_Power_Limit", (4,), data=True),
    0x52: Message("PTM Request", (4,)),
    0x53: Message("PTM Response", (4,), data=None),
    0x54: Message("IDE Sync", (2, 4), data=None),
    0x55: Message("IDE Fail", (2, 4), data=None),
    0x7E: Message("Vendor_Defined Type 0", (0, 2, 3, 4), data=None),
    0x7F: Message("Vendor_Defined Type 1", (0, 2, 3, 4), data=None),
}
VENDOR_MESSAGES = (0x7E, 0x7F)
# Messages of error signalling, INTx, power management, LTR and PTM travel in Traffic Class 0 only.
TC0_MESSAGES = frozenset((0x10, 0x14, 0x18, 0x19, 0x1B, *range(0x20, 0x28), 0x30, 0x31, 0x33, 0x52, 0x53))


def message_name(code: int) -> str:
    """Return the name of a Message Code."""
    message = MESSAGES.get(code)
    return message.name if message else "reserved"
