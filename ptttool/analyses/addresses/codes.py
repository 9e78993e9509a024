"""The codes that sums by address have: what a request does, in which direction, and what a table is about."""

from __future__ import annotations

from typing import Final

from ptttool.tlp.columns import DIRECTIONS

OPERATIONS: Final = ("read", "write", "atomic", "io-read", "io-write")
READ, WRITE, ATOMIC, IO_READ, IO_WRITE = range(len(OPERATIONS))
INBOUND, OUTBOUND = (DIRECTIONS.index(name) for name in ("inbound", "outbound"))

# A code has the operation in its lower 3 bits, above them the direction (2 bits), above them what the table is about.
OPERATION_BITS, DIRECTION_BITS = 3, 2
FLOW_BITS = OPERATION_BITS + DIRECTION_BITS
FLOWS = 1 << FLOW_BITS
PAGE_SHIFT = 12
