"""Names of registers: offsets in BARs, and the registers of configuration space that every function has at the same offset.

Offsets are those of the PCI Express Base Specification, 7.5.1. What they are called is in plain words.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from ptttool.analyses.regions import Region, RegionKind
from ptttool.pci import format_id

if TYPE_CHECKING:
    from ptttool.machine.model import Machine


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


def target_name(space: Space, target: int, region: Region | None, machine: Machine | None) -> str:
    """Return what a request addresses, in words.

    Parameters
    ----------
    space : Space
        Which address space.
    target : int
        The address; in configuration space the function's ID, and in the lower 12 bits the offset.
    region : Region or None
        The region of the address.
    machine : Machine or None
        The machine, where it is known.
    """
    if space is Space.CONFIGURATION:
        identity, offset = target >> REGISTER_BITS, target & (1 << REGISTER_BITS) - 1
        name = configuration_register(offset, _is_bridge(machine, identity))
        return f"{format_id(identity)} configuration {offset:#05x}" + ("" if name is None else f" ({name})")
    if region is not None and region.kind in (RegionKind.BAR, RegionKind.IO_BAR):
        return f"{region.name} + {target - region.first:#x}"
    return f"I/O {target:#x}" if space is Space.IO else hex(target)


def _is_bridge(machine: Machine | None, identity: int) -> bool | None:
    from ptttool.machine.topology import is_bridge

    if machine is None:
        return None
    function = next((one for address, one in machine.functions.items() if address.routing_id == identity), None)
    return None if function is None or function.class_code is None else is_bridge(function)
