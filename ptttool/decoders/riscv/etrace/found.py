"""The fields of RISC-V E-Trace packets, as arrays over all packets of a feed."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from ptttool.decoders.elements.arrays import I64, U8, U64, Array, Bool

_NO_ROWS: I64 = np.empty(0, dtype=np.int64)
_NO_VALUES: U64 = np.empty(0, dtype=np.uint64)


class PacketFields(Struct):
    """Fields of the packets of one feed. Rows are indexes of packets in ascending order; None means all packets.

    Parameters
    ----------
    format : ndarray of uint8
        Format of each packet.
    kind : ndarray of uint8
        Kind of the last or only element of each packet.
    need : ndarray of int64
        Bits of each packet without compression; negative if unknown.
    flags : ndarray of uint32
        Flags for what is unusual about each packet.
    put : dict
        Fields of the last or only element of a packet: rows and values, by name.
    context : dict
        Fields of the pe_context of packets of format 3.0.
    subformats : tuple
        Packets with a subformat, and their subformats.
    addressed, address : ndarray
        Packets of formats 0 to 2 with an address, and their address fields.
    full : ndarray of bool or bool
        Which of these address fields are full addresses, not differences.
    starts : tuple
        Packets of format 3.0, and their address fields.
    traps : tuple
        Packets of format 3.1 with the address of the trap handler, and these addresses.
    handlers : ndarray of int64
        All packets of format 3.1, with or without the address of the handler.
    returns : tuple
        Packets of exceptions that were taken before the first instruction of a handler, and their own addresses.
    ended : tuple
        Support packets with a qual_status other than 0, and these values.
    lost : list of ndarray of int64
        Packets after which an address is unknown.
    """

    format: U8
    kind: U8
    need: I64
    flags: Array
    put: dict[str, list[tuple[I64 | None, Array]]] = field(default_factory=dict)
    context: dict[str, Array] = field(default_factory=dict)
    subformats: tuple[I64, Array] = (_NO_ROWS, _NO_VALUES)
    addressed: I64 | None = None
    address: U64 = field(default_factory=lambda: _NO_VALUES)
    full: Bool | bool = False
    starts: tuple[I64, U64] = (_NO_ROWS, _NO_VALUES)
    traps: tuple[I64, U64] = (_NO_ROWS, _NO_VALUES)
    handlers: I64 = field(default_factory=lambda: _NO_ROWS)
    returns: tuple[I64, U64] = (_NO_ROWS, _NO_VALUES)
    ended: tuple[I64, Array] = (_NO_ROWS, _NO_VALUES)
    lost: list[I64] = field(default_factory=list)

    def add(self, rows: I64 | None, **values: Array) -> None:
        """Add fields of some packets."""
        for name, each in values.items():
            self.put.setdefault(name, []).append((rows, each))
