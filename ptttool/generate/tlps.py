"""TLP headers made from fields, one TLP at a time: the inverse of :mod:`ptttool.tlp`.

Layouts: PCIe base specification 6.x, sections 2.2.1 and 2.2.4 to 2.2.10, non-flit; the bits of PTT's header pattern v1 are those that
perf names since 2026. DW 0 is that of the standard; :mod:`ptttool.generate.records` makes of it what a record has.
"""

from __future__ import annotations

from typing import NamedTuple

# First bytes of headers (Fmt and Type, table 2-3); in the form with four DWs, bit 5 is set, too.
MRD, MRDLK, MWR, IORD, IOWR, DMWR = 0x00, 0x01, 0x40, 0x02, 0x42, 0x5B
CFGRD0, CFGWR0, CFGRD1, CFGWR1, TCFGRD = 0x04, 0x44, 0x05, 0x45, 0x1B
CPL, CPLD, CPLLK, CPLDLK = 0x0A, 0x4A, 0x0B, 0x4B
ATOMICS = FETCH_ADD, SWAP, CAS = 0x4C, 0x4D, 0x4E
MSG, MSGD = 0x30, 0x70
_FOUR_WORDS, _DATA = 0x20, 0x40

# Bits of DW 0.
HINTS, DIGEST, POISONED = 1 << 16, 1 << 15, 1 << 14
TRANSLATION_REQUEST, TRANSLATED = 1 << 10, 2 << 10
# Attr: ID-based ordering, relaxed ordering, no snoop.
ID_ORDER, RELAXED, NO_SNOOP = 4, 2, 1
# Completion Status.
SUCCESS, UNSUPPORTED, RETRY, ABORT = 0b000, 0b001, 0b010, 0b100
# Routing of messages, table 2-20.
TO_ROOT, BY_ID, BROADCAST, LOCAL, GATHERED = 0b000, 0b010, 0b011, 0b100, 0b101
# First bytes of prefixes.
TPH_PREFIX, PASID_PREFIX = 0x90, 0x91

# Bits of an address that copies of a block may change: 4 KiB boundaries, byte enables and completions depend on those below.
ADDRESS_BITS = 0xFFF0_0000
# Requester, Completer and Destination Segment in pattern v1.
SEGMENT = 1


class Tlp(NamedTuple):
    """The header of a TLP.

    Attributes
    ----------
    size : int
        Bytes of header and data on the wire.
    dw0, dw1, dw2, dw3 : int
        The header DWs.
    prefix : int
        The TLP prefix; 0: no prefix.
    vary2, vary3 : int
        Bits of the address, in DW 2 and DW 3, that copies of the TLP may change.
    spare2, spare3 : int
        Bits that pattern v1 adds to DW 2 and DW 3.
    """

    size: int
    dw0: int
    dw1: int
    dw2: int
    dw3: int
    prefix: int = 0
    vary2: int = 0
    vary3: int = 0
    spare2: int = 0
    spare3: int = 0


def enables(address: int, size: int) -> tuple[int, int, int]:
    """Compute the byte enables of a transfer (section 2.2.5).

    Parameters
    ----------
    address : int
        Address of the first byte.
    size : int
        Number of bytes; 0 is a flush.

    Returns
    -------
    tuple of int
        Length in DWs, First and Last DW Byte Enable.
    """
    start = address & 3
    words = max(-(-(start + size) // 4), 1)
    first = 0xF << start & 0xF
    last = 0xF >> (-(start + size) & 3)
    if words == 1:
        return 1, first & last if size else 0, 0
    return words, first, last


def _word0(code: int, length: int, tag: int, attr: int, tc: int) -> int:
    bits = (tag & 0x200) << 14 | (tag & 0x100) << 11 | tc << 20 | (attr & 4) << 16 | (attr & 3) << 12
    return code << 24 | bits | length & 0x3FF


def request(
    code: int,
    requester: int,
    tag: int,
    address: int,
    size: int,
    *,
    attr: int = 0,
    tc: int = 0,
    more: int = 0,
    steering: tuple[int, int] | None = None,
    prefix: int = 0,
    vary: int = 0,
) -> Tlp:
    """Make a memory or I/O request, with four DWs if the address needs them.

    Parameters
    ----------
    code : int
        Fmt and Type of the form with three DWs.
    requester, tag : int
        Requester ID and tag.
    address, size : int
        Address of the first byte, and number of bytes; of an atomic request those of one operand. A CAS carries two.
    attr, tc : int
        Attr and Traffic Class.
    more : int
        Further bits of DW 0: TD, EP, AT.
    steering : tuple of int, optional
        Processing Hint and Steering Tag. The Steering Tag replaces the tag of a write or the byte enables of a read.
    prefix : int
        The TLP prefix; 0: no prefix.
    vary : int
        Bits of the address that copies may change.
    """
    if code in ATOMICS:
        length, enabled = size // 4 * (2 if code == CAS else 1), 0
    else:
        length, first, last = enables(address, size)
        enabled = last << 4 | first
    dw0 = _word0(code, length, tag, attr, tc) | more
    low, number = address & 0xFFFF_FFFC, tag & 0xFF
    if steering is not None:
        dw0 |= HINTS
        low |= steering[0]
        if code == MWR:
            number = steering[1]
        else:
            enabled = steering[1]
    dw1 = requester << 16 | number << 8 | enabled
    carried = 4 * length if code & _DATA else 0
    if address >> 32:
        spare = SEGMENT << 23 | tag >> 10 << 16
        return Tlp(16 + carried, dw0 | _FOUR_WORDS << 24, dw1, address >> 32, low, prefix, vary3=vary, spare2=spare)
    return Tlp(12 + carried, dw0, dw1, low, 0, prefix, vary2=vary, spare3=SEGMENT << 24 | tag >> 10)


def completion(
    code: int,
    completer: int,
    requester: int,
    tag: int,
    *,
    size: int = 0,
    byte_count: int = 4,
    lower_address: int = 0,
    status: int = SUCCESS,
    attr: int = 0,
    tc: int = 0,
) -> Tlp:
    """Make a completion with `size` bytes of the request, of which `byte_count` bytes remain with these (section 2.2.9)."""
    length = -(-((lower_address & 3) + size) // 4) if code & _DATA else 0
    dw1 = completer << 16 | status << 13 | byte_count & 0xFFF
    dw2 = requester << 16 | (tag & 0xFF) << 8 | lower_address & 0x7F
    spare = SEGMENT << 24 | SEGMENT << 16 | 1 << 15 | tag >> 10
    return Tlp(12 + 4 * length, _word0(code, length, tag, attr, tc), dw1, dw2, 0, spare3=spare)


def read_completions(
    completer: int, requester: int, tag: int, address: int, size: int, limit: int, *, attr: int = 0, tc: int = 0
) -> list[Tlp]:
    """Make the completions of a read, split at multiples of `limit`, a multiple of the Read Completion Boundary (section 2.3.1.1)."""
    if not size:  # the completion of a flush carries one DW
        return [completion(CPLD, completer, requester, tag, size=1, byte_count=1, attr=attr, tc=tc)]
    answers = []
    while size:
        part = min(size, limit - address % limit)
        low = address & 0x7F
        answers.append(completion(CPLD, completer, requester, tag, size=part, byte_count=size, lower_address=low, attr=attr, tc=tc))
        address, size = address + part, size - part
    return answers


def configuration(code: int, requester: int, tag: int, destination: int, register: int, *, enabled: int = 0xF) -> Tlp:
    """Make a configuration request for the DW at byte `register`, a multiple of 4."""
    dw1 = requester << 16 | (tag & 0xFF) << 8 | enabled
    spare = SEGMENT << 23 | 1 << 22 | tag >> 10 << 16
    dw2 = destination << 16 | register & 0xFFC
    return Tlp(16 if code & _DATA else 12, _word0(code, 1, tag, 0, 0), dw1, dw2, 0, spare3=spare)


def message(number: int, routing: int, requester: int, *, dw2: int = 0, dw3: int = 0, data_words: int = 0) -> Tlp:
    """Make a message with a Message Code (section 2.2.8); with data it is a MsgD."""
    code = (MSGD if data_words else MSG) | routing
    return Tlp(16 + 4 * data_words, code << 24 | data_words, requester << 16 | number, dw2, dw3)
