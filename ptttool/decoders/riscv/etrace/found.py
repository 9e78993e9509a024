"""What has been read of RISC-V E-Trace packets: fields of all packets of a feed, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ptttool.decoders.element_batch import I64, U8, U64, Array, Bool

_NO_ROWS: I64 = np.empty(0, dtype=np.int64)
_NO_VALUES: U64 = np.empty(0, dtype=np.uint64)


@dataclass
class Found:
    """Fields of the packets of one feed. Rows are numbers of packets, ascending; None stands for all of them.

    ``format``: u8. ``kind``: u8, of the last or only element of each packet. ``need``: i64, bits that each packet has without
    compression; negative where that cannot be known. ``flags``: u32. ``put``: fields of that element, names to rows and values;
    ``context``: of the pe_context of packets of format 3.0. ``addressed``, ``address``: packets of formats 0 to 2 that have an address,
    and the address field. ``full``: which of these are no differences. ``starts``: packets of format 3.0 and their address fields.
    ``traps``: those of format 3.1 that have the address of the trap's handler, and it; ``handlers``: with those that leave it out.
    ``returns``: of exceptions before whose handler nothing was executed, with their address field, which is the exception's own.
    ``ended``: support packets whose qual_status is not 0, and that. ``lost``: packets after which an address cannot be known.
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
        """Fields of some packets."""
        for name, each in values.items():
            self.put.setdefault(name, []).append((rows, each))
