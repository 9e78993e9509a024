"""Headers of ETMv2 trace packets, and the lengths of packets.

Source: Arm "Embedded Trace Macrocell Architecture Specification" (IHI 0014Q), 6.4.1 "Trace packet headers", tables 6.2 and 6.3; 6.4.2
(normal data), 6.4.4 (load miss), 6.7 (branch addresses).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptttool.decoders.elements.arrays import I64, U8
from ptttool.decoders.parameters import Settings, choice, flag, numbers

PACKETS = ("branch", "data", "load_miss", "load_miss_data", "value_not_traced", "context_id", "reserved")
BRANCH, DATA, LOAD_MISS, LOAD_MISS_DATA, VALUE_NOT_TRACED, CONTEXT_ID, RESERVED = range(len(PACKETS))
# The specification's table: a header has 0 and 1 where a pattern has them. Every header fits exactly one pattern.
PATTERNS = (
    ("C0A0SS10", DATA),
    ("X0X1XX00", RESERVED),
    ("X0X1XX10", RESERVED),
    ("X10XXX10", RESERVED),
    ("X1100X10", RESERVED),
    ("C1101010", VALUE_NOT_TRACED),
    ("C1101110", CONTEXT_ID),
    ("X111XX10", RESERVED),
    ("C1A1TT00", LOAD_MISS),
    ("CTT0SS00", LOAD_MISS_DATA),
    ("cXXXXXX1", BRANCH),
)
CONTINUES = 0x80  # in an address byte: another follows; in a header (C): another packet of the same cycle follows
FIRST_TRANSFER = 0x20  # A
LONGEST_ADDRESS = 5
# Size of the value, by SS.
VALUE_BYTES = np.array([0, 1, 2, 4])
# Bytes behind the data that lengths may read; they do not end an address.
MARGIN = b"\xff" * 16


def _fits(pattern: str, header: int) -> bool:
    return all(bit not in "01" or int(bit) == header >> (7 - position) & 1 for position, bit in enumerate(pattern))


def _packet(header: int) -> int:
    (packet,) = {packet for pattern, packet in PATTERNS if _fits(pattern, header)}
    return packet


PACKET_OF: U8 = np.array([_packet(header) for header in range(256)], dtype=np.uint8)


# Bits of an address that are always 0 and not sent, by instruction set.
SHIFTS = {"arm": 2, "thumb": 1, "jazelle": 0}


@dataclass(frozen=True, kw_only=True)
class Etmv2Settings(Settings):
    """What decoding must know about the trace unit."""

    data_addr: bool = flag("whether data addresses are traced (ETMCR bit 3)")
    data_value: bool = flag("whether data values are traced (ETMCR bit 2)")
    contextid_bytes: str = choice("bytes of a context ID (ETMCR bits 15:14)", ("0", "1", "2", "4"))
    isa: str | None = choice(
        "instruction set that branches lead to, for their addresses; by default their bits alone are given", SHIFTS, optional=True
    )
    sync_at: tuple[int, ...] | None = numbers(
        "offsets at which a packet begins, such as 0x400,0x800: decoding is in step there again", minimum=0
    )


class Lengths:
    """Lengths of packets, for every byte as if a packet began there.

    Parameters
    ----------
    settings : Etmv2Settings
        What is traced.

    Attributes
    ----------
    value_bytes, has_address : ndarray of uint8, shape (256,)
        By header: size of the value, and whether a data address follows.
    """

    def __init__(self, settings: Etmv2Settings) -> None:
        headers = np.arange(256)
        has_value = (PACKET_OF == LOAD_MISS_DATA) | (settings.data_value & (PACKET_OF == DATA))
        self.value_bytes: U8 = np.where(has_value, VALUE_BYTES[headers >> 2 & 3], 0).astype(np.uint8)
        is_first = (headers & FIRST_TRANSFER != 0) & np.isin(PACKET_OF, (DATA, LOAD_MISS))
        self.has_address: U8 = (settings.data_addr & is_first).astype(np.uint8)
        context = np.where(PACKET_OF == CONTEXT_ID, int(settings.contextid_bytes), 0).astype(np.uint8)
        # A branch address has no header: its first byte is part of the address.
        self._fixed = (np.where(PACKET_OF == BRANCH, 0, 1).astype(np.uint8) + self.value_bytes + context).tobytes()
        self._branch = (PACKET_OF == BRANCH).astype(np.uint8).tobytes()
        self._address = self.has_address.tobytes()

    def of(self, data: bytes) -> tuple[bytes, U8]:
        """Return the length of the packet, and of the address, that begins at each byte.

        A packet that is incomplete gets a length that ends behind the data. A reserved header counts as a packet of one byte.

        Parameters
        ----------
        data : bytes
            The bytes, and :data:`MARGIN` behind them.

        Returns
        -------
        sizes : bytes
            Length of a packet at each byte.
        addresses : ndarray of uint8
            Length of an address at each byte.
        """
        count = len(data) - len(MARGIN)
        more = np.frombuffer(data, dtype=np.uint8) >> np.uint8(7)
        address: U8 = more[3 : count + 4] + np.uint8(1)
        for byte in (2, 1, 0):
            address *= more[byte : count + 1 + byte]
            address += np.uint8(1)
        # bytes.translate, since numpy would first convert the indices to 64 bits.
        fixed, branch, follows = (
            np.frombuffer(data[:count].translate(table), dtype=np.uint8) for table in (self._fixed, self._branch, self._address)
        )
        size: U8 = fixed + branch * address[:-1] + follows * address[1:]
        return size.tobytes(), address


def packet_starts(sizes: bytes, at: int, end: int) -> tuple[I64, int]:
    """Return the starts of the whole packets from `at` on, and the position behind the last of them.

    Parameters
    ----------
    sizes : bytes
        Lengths, as :meth:`Lengths.of` returns them.
    at, end : int
        Part of the data that is looked at.
    """
    whole, marks = sizes[at:end], bytearray(end - at)
    position = 0
    # The exception ends the loop: a comparison at each packet takes longer.
    try:
        while True:
            marks[position] = 1
            position += whole[position]
    except IndexError:
        pass
    starts = np.flatnonzero(np.frombuffer(marks, dtype=np.bool_)) + at
    return (starts, at + position) if at + position <= end else (starts[:-1], int(starts[-1]))
