"""Registers in words: offsets in BARs, and the registers of configuration space that every function has at the same offset.

Offsets are those of the PCI Express Base Specification, 7.5.1. What they are called is in plain words.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.analyses.regions import Region, RegionKind
from ptttool.pci import format_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ptttool.machine.model import PciFunction


class Space(IntEnum):
    """What a request addresses."""

    MEMORY = 0
    IO = 1
    CONFIGURATION = 2

    @property
    def title(self) -> str:
        """Its name in results."""
        return ("memory", "io", "configuration")[self]


REGISTER_BITS = 12
"""A target in configuration space: the ID of the function, and below it the offset of the register."""

_EVERY = {
    0x00: "Vendor ID, Device ID",
    0x04: "Command, Status",
    0x08: "Revision, Class",
    0x0C: "Cache Line Size, Header Type",
    0x10: "BAR 0",
    0x14: "BAR 1",
    0x34: "Capabilities Pointer",
}
_ENDPOINT = {
    0x18: "BAR 2", 0x1C: "BAR 3", 0x20: "BAR 4", 0x24: "BAR 5", 0x2C: "Subsystem IDs", 0x30: "Expansion ROM", 0x3C: "Interrupt Line, Pin",
}  # fmt: skip
_BRIDGE = {
    0x18: "Bus Numbers", 0x1C: "I/O Window, Secondary Status", 0x20: "Memory Window", 0x24: "Prefetchable Window",
    0x28: "Prefetchable Base, upper half", 0x2C: "Prefetchable Limit, upper half", 0x30: "I/O Window, upper half", 0x38: "Expansion ROM",
    0x3C: "Interrupt Line, Pin, Bridge Control",
}  # fmt: skip
_FIRST_CAPABILITY, _FIRST_EXTENDED = 0x40, 0x100


def configuration_register(offset: int, is_bridge: bool | None) -> str | None:
    """Return the name of a register of configuration space; None for one whose meaning differs from function to function.

    Parameters
    ----------
    offset : int
        Its offset in bytes, a multiple of 4.
    is_bridge : bool or None
        Whether the function is a bridge; None where that is not known.
    """
    if offset >= _FIRST_EXTENDED:
        return "extended capabilities"
    if offset >= _FIRST_CAPABILITY:
        return "capabilities"
    own = {} if is_bridge is None else _BRIDGE if is_bridge else _ENDPOINT
    return _EVERY.get(offset) or own.get(offset)


class Target(NamedTuple):
    """What a request addresses.

    Parameters
    ----------
    register : str
        Where it is: ``01:00.0 BAR 0 + 0x1008``.
    name : str or None
        What is there: ``SQ 1 tail doorbell``; None where that is not known.
    """

    register: str
    name: str | None = None


def with_name(register: str | None, name: str | None) -> str | None:
    """Return a register for people: with its name in parentheses, as those of configuration space have it already."""
    return register if register is None or name is None or name in register else f"{register} ({name})"


def target_of(space: Space, target: int, region: Region | None, functions: Mapping[int, PciFunction], dstrd: int = 0) -> Target:
    """Return what a request addresses, in words.

    Parameters
    ----------
    space : Space
        Which address space.
    target : int
        The address; in configuration space the function's ID, and in the lower 12 bits the offset.
    region : Region or None
        The region of the address.
    functions : Mapping of int to PciFunction
        The functions by requester ID; none where the machine is not known.
    dstrd : int
        CAP.DSTRD of the function that has the region.
    """
    from ptttool.machine.details.registers import register_of
    from ptttool.machine.topology import is_bridge

    if space is Space.CONFIGURATION:
        identity, offset = target >> REGISTER_BITS, target & (1 << REGISTER_BITS) - 1
        function = functions.get(identity)
        name = configuration_register(offset, None if function is None or function.class_code is None else is_bridge(function))
        return Target(f"{format_id(identity)} configuration {offset:#05x}" + ("" if name is None else f" ({name})"), name)
    if region is not None and region.kind in (RegionKind.BAR, RegionKind.IO_BAR):
        offset, function = target - region.first, None if region.owner is None else functions.get(region.owner)
        name = None if function is None or region.bar is None else register_of(function, region.bar, offset, dstrd)
        return Target(f"{region.name} + {offset:#x}", name)
    return Target(f"I/O {target:#x}" if space is Space.IO else hex(target))


def dstrd_of_drives(written: npt.NDArray[Any], regions: tuple[Region, ...], functions: Mapping[int, PciFunction]) -> dict[Region, int]:
    """Return CAP.DSTRD of NVMe drives by their BAR 0, as the registers that were written show it.

    Parameters
    ----------
    written : ndarray of uint64, shape (n,)
        Addresses that the processor wrote to.
    regions : tuple of Region
        The regions.
    functions : Mapping of int to PciFunction
        The functions by requester ID; none where the machine is not known.
    """
    from ptttool.machine.nvme import dstrd_of, is_nvme

    written = np.unique(written)
    found = {}
    for region in regions:
        function = None if region.owner is None or region.bar != 0 else functions.get(region.owner)
        if function is not None and is_nvme(function):
            first, last = np.searchsorted(written, np.array([region.first, region.last], dtype=np.uint64))
            found[region] = dstrd_of((written[first:last] - np.uint64(region.first)).tolist())
    return found
