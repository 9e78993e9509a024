"""What was read from RISC-V E-Trace packets: the fields of all packets of a feed, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ptttool.decoders.elements.arrays import I64, U8, U64, Array, Bool

_NO_ROWS: I64 = np.empty(0, dtype=np.int64)
_NO_VALUES: U64 = np.empty(0, dtype=np.uint64)


@dataclass
class Found:
    """Fields of the packets of one feed. Rows are positions of packets, ascending; None stands for all of them.

    Parameters
    ----------
    format : ndarray of uint8
        Format of each packet.
    kind : ndarray of uint8
        Kind of the last or only element of each packet.
    need : ndarray of int64
        Bits of each packet without compression; negative where that is unknown.
    flags : ndarray of uint32
        What is odd about each packet.
    put : dict
        Fields of that element: by name, rows and values.
    context : dict
        Fields of the pe_context of packets of format 3.0.
    subformats : tuple
        Packets that have a subformat, and it.
    addressed, address : ndarray
        Packets of formats 0 to 2 that have an address, and the address field.
    full : ndarray of bool or bool
        Which of these are not differences.
    starts : tuple
        Packets of format 3.0, and their address fields.
    traps : tuple
        Packets of format 3.1 that have the address of the trap's handler, and it.
    handlers : ndarray of int64
        These, and those that leave that address out.
    returns : tuple
        Packets of exceptions that came before an instruction of the handler was executed, and their own address.
    ended : tuple
        Support packets with a qual_status other than 0, and it.
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
