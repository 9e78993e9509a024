"""Names of registers in the BARs of functions: those of NVMe controllers, and the tables of MSI-X.

The layout of the tables is that of the PCI Express Base Specification, 6.1.4 and 7.7.2.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from ptttool.machine.model import AddressSpace, Machine, MsixTables, PciFunction
from ptttool.machine.nvme import DOORBELLS, is_nvme, register_name

_VECTOR_BYTES = 16
_OF_VECTOR = {0: "address", 4: "address, upper half", 8: "data", 12: "control"}
# The bits are in words of 8 bytes.
_PENDING_BITS, _PENDING_BYTES = 64, 8


def register_of(function: PciFunction, bar: int, offset: int, dstrd: int = 0) -> str | None:
    """Return what is at an offset in a BAR of a function; None where that is not known.

    Parameters
    ----------
    function : PciFunction
        The function.
    bar : int
        Number of the BAR.
    offset : int
        Offset in it in bytes.
    dstrd : int
        CAP.DSTRD of an NVMe controller.
    """
    tables = function.msix
    name = None if tables is None else _in_tables(tables, bar, offset)
    if name is not None or bar or not is_nvme(function):
        return name
    places = () if tables is None else ((tables.bar, tables.offset), (tables.pending_bar, tables.pending_offset))
    ends = [at for number, at in places if number == bar and at >= DOORBELLS]
    # Doorbells end where a table begins; with the tables in another BAR, nothing says where.
    return register_name(offset, dstrd, end=min(ends)) if ends else register_name(offset, dstrd)


def _in_tables(tables: MsixTables, bar: int, offset: int) -> str | None:
    if bar == tables.bar and 0 <= offset - tables.offset < _VECTOR_BYTES * tables.vectors:
        vector, rest = divmod(offset - tables.offset, _VECTOR_BYTES)
        return None if rest not in _OF_VECTOR else f"MSI-X vector {vector} {_OF_VECTOR[rest]}"
    words = -(-tables.vectors // _PENDING_BITS)
    if bar == tables.pending_bar and 0 <= offset - tables.pending_offset < _PENDING_BYTES * words:
        return "MSI-X pending bits"
    return None


class NamedRegisters:
    """Finds the names of registers by their addresses.

    Parameters
    ----------
    machine : Machine
        The machine with its BARs. Where several have an address, it is of the one that begins last.
    """

    def __init__(self, machine: Machine) -> None:
        bars = (
            (function, bar) for function in machine.functions.values() for bar in function.bars or () if bar.space is AddressSpace.MEMORY
        )
        named = [(function, bar) for function, bar in bars if is_nvme(function) or function.msix is not None]
        self._bars = sorted(named, key=lambda item: (item[1].first, item[1].last))
        self._first = [bar.first for _, bar in self._bars]
        self.name = lru_cache(maxsize=1 << 12)(self._name)

    @property
    def limits(self) -> tuple[int, int] | None:
        """The first and the last address that can have a name; None where none can."""
        return (self._first[0], max(bar.last for _, bar in self._bars)) if self._bars else None

    def _name(self, address: int) -> str | None:
        """Return what is at an address of memory requests; None where that is not known."""
        at = bisect_right(self._first, address) - 1
        if at < 0 or address > self._bars[at][1].last:
            return None
        function, bar = self._bars[at]
        return register_of(function, bar.number, address - bar.first)
