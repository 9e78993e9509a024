"""A function's configuration space: its Base Address Registers, its PCI Express capability and its MSI-X capability.

Offsets and bits are those of the PCI Express Base Specification: 7.5.1 (header), 7.5.3 (PCI Express capability structure), 7.7.2 (MSI-X).
Without privileges, the kernel gives the first 64 bytes alone, which have no capabilities.
"""

from __future__ import annotations

from ptttool.documents import Hex
from ptttool.machine.model import AddressSpace, Bar, MsixTables, PcieLimits

# Lines of sysfs's ``resource`` that are BARs; what follows is the expansion ROM, BARs of virtual functions and windows of bridges.
BARS = 6
# Flags in its third column (linux/ioport.h).
_IO, _MEMORY, _PREFETCHABLE, _UNSET = 0x100, 0x200, 0x2000, 0x2000_0000
_LONGEST_LINE = 80

_STATUS, _HEADER_TYPE, _BAR0, _CAPABILITIES = 0x06, 0x0E, 0x10, 0x34
_HAS_CAPABILITIES, _BRIDGE, _BRIDGE_BARS = 0x10, 1, 2
_EXPRESS, _MSIX = 0x10, 0x11
# A list has at most one capability for every 4 bytes above the header; a loop ends here.
_MOST_CAPABILITIES = 48
# Types of functions that have a Read Completion Boundary: endpoints, legacy endpoints, root ports, bridges to PCI. Switches have none.
_WITH_BOUNDARY = (0, 1, 4, 7)
_INTEGRATED = 9
_LARGEST_SIZE = 5


def bars_of(resource: str, config: bytes) -> tuple[Bar, ...]:
    """Return a function's Base Address Registers that have a range.

    Parameters
    ----------
    resource : str
        The file ``resource`` of sysfs: a line for each range with first byte, last byte and flags.
    config : bytes
        The start of its configuration space. Where it holds an address it is taken: it is the address on the link, while ``resource``
        has that of the processor (they differ for I/O, and behind host bridges that translate).
    """
    bars = []
    for number, line in enumerate(resource.split("\n", BARS)[:BARS]):
        try:
            first, last, flags = (int(word, 16) for word in line[:_LONGEST_LINE].split())
        except ValueError:
            continue
        if not flags & (_IO | _MEMORY) or flags & _UNSET or not 0 <= first < last < 1 << 64:
            continue
        space = AddressSpace.IO if flags & _IO else AddressSpace.MEMORY
        base = _address(config, number, space) or first
        if base + last - first < 1 << 64:
            bars.append(Bar(number, Hex(base), Hex(base + last - first), space, bool(flags & _PREFETCHABLE)))
    return tuple(bars)


def _address(config: bytes, number: int, space: AddressSpace) -> int | None:
    """Return the address in a BAR; None where the configuration space does not have it."""
    at = _BAR0 + 4 * number
    is_bridge = len(config) > _HEADER_TYPE and config[_HEADER_TYPE] & 0x7F == _BRIDGE
    if len(config) < at + 4 or (is_bridge and number >= _BRIDGE_BARS):
        return None
    low = _word(config, at, 4)
    if low == 0xFFFF_FFFF or (low & 1 == 1) != (space == AddressSpace.IO):
        return None
    if space == AddressSpace.IO:
        return low & ~0x3
    return (low & ~0xF) | (_word(config, at + 4, 4) << 32 if low & 0x6 == 0x4 else 0)


def limits_of(config: bytes, *, of_virtual: bool = False) -> PcieLimits | None:
    """Return what the PCI Express capability says; None without one.

    Parameters
    ----------
    config : bytes
        The start of the configuration space.
    of_virtual : bool
        Whether its settings are asked for as those of a virtual function, `config` being that of its physical function: the fields for MPS,
        MRRS and extended tags are reserved in a virtual function (7.5.3.4). Whether it has tags of 10 bits, the SR-IOV capability says,
        which is not among these bytes; it cannot where the physical function does not support them (7.5.3.15).
    """
    at = _find(config, _EXPRESS)
    if at is None:
        return None
    version_and_type = _word(config, at + 2, 2)
    has_boundary = version_and_type >> 4 & 0xF in _WITH_BOUNDARY
    supported, control = _word(config, at + 4, 4), _word(config, at + 8, 2)
    # Older functions (version 1) end before the second set of registers.
    control_2 = _word(config, at + 0x28, 2) if version_and_type & 0xF > 1 and len(config) >= at + 0x2A else None
    ten_bit_tags = None if control_2 is None else bool(control_2 & 1 << 12)
    if of_virtual and ten_bit_tags is not None:
        ten_bit_tags = None if _word(config, at + 0x24, 4) & 1 << 17 else False
    return PcieLimits(
        max_payload_supported=_size(supported),
        max_payload=_size(control >> 5),
        max_read_request=_size(control >> 12),
        extended_tags=bool(control & 1 << 8),
        ten_bit_tags=ten_bit_tags,
        read_boundary=(128 if _word(config, at + 0x10, 2) & 1 << 3 else 64) if has_boundary and len(config) >= at + 0x12 else None,
    )


def is_integrated(config: bytes) -> bool:
    """Tell whether a function is a Root Complex Integrated Endpoint: the type that its PCI Express capability has (7.5.3.2)."""
    at = _find(config, _EXPRESS)
    return at is not None and _word(config, at + 2, 2) >> 4 & 0xF == _INTEGRATED


def msix_of(config: bytes) -> MsixTables | None:
    """Return where the MSI-X table is, as the capability says; None without one, and for one in no BAR."""
    at = _find(config, _MSIX)
    if at is None:
        return None
    (bar, offset), (pending_bar, pending_offset) = (
        (word & 0x7, word & ~0x7) for word in (_word(config, at + 4, 4), _word(config, at + 8, 4))
    )
    if max(bar, pending_bar) >= BARS:
        return None
    return MsixTables((_word(config, at + 2, 2) & 0x7FF) + 1, bar, offset, pending_bar, pending_offset)


def _find(config: bytes, capability: int) -> int | None:
    """Return the offset of a capability of 12 bytes or more; None without it."""
    if len(config) <= 0x40 or _word(config, 0, 2) == 0xFFFF or not config[_STATUS] & _HAS_CAPABILITIES:
        return None
    at = config[_CAPABILITIES] & ~3
    for _ in range(_MOST_CAPABILITIES):
        if at < 0x40 or len(config) < at + 0x0C:
            return None
        if config[at] == capability:
            return at
        at = config[at + 1] & ~3
    return None


def _size(code: int) -> int | None:
    """Return the bytes that a code of 3 bits means; None for a reserved code."""
    code &= 0x7
    return 128 << code if code <= _LARGEST_SIZE else None


def _word(config: bytes, at: int, size: int) -> int:
    return int.from_bytes(config[at : at + size], "little")
