"""What a requester is: an NVMe drive, a network controller, or neither."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.io.counts import SECTOR
from ptttool.analyses.io.requester import RequesterTrace, Rings
from ptttool.analyses.io.results import By

if TYPE_CHECKING:
    from ptttool.machine.model import Machine, PciFunction

# Class codes (PCI code and ID assignment): base class and sub-class, and base class.
_NVME_CLASS, _NETWORK_CLASS = 0x0108, 0x02


class Device(Enum):
    """What a requester is."""

    NVME = "nvme"
    NIC = "nic"
    OTHER = "other"


def function_of(requester: int, machine: Machine | None) -> PciFunction | None:
    """Return the function of a requester; None where the machine is not known, or functions of several domains have the ID."""
    found = [] if machine is None else [one for address, one in machine.functions.items() if address.routing_id == requester]
    if len({one.class_code for one in found}) != 1:
        return None
    return found[0] if len({one.driver for one in found}) == 1 else replace(found[0], driver=None)


def device_of(seen: RequesterTrace, function: PciFunction | None) -> tuple[Device, By]:
    """Return what a requester is: as its class code says where the function is known, else by what it does."""
    if function is None or function.class_code is None:
        return _by_behaviour(seen), By.BEHAVIOUR
    if function.class_code >> 8 == _NVME_CLASS:
        return Device.NVME, By.CLASS
    return Device.NIC if function.class_code >> 16 == _NETWORK_CLASS else Device.OTHER, By.CLASS


def _by_behaviour(seen: RequesterTrace) -> Device:
    """Return what a requester does: chance accesses walk through no ring."""
    entries, records, descriptors = (seen.rings(name) for name in ("entries", "records", "descriptors"))
    small = seen.pages["small_writes"]["key"]
    # A network controller reads descriptors where it writes them back, whole or in part; a drive never does.
    is_written_back = (
        np.isin(descriptors.keys, np.concatenate((records.keys, small))) if seen.visible.reads else np.isin(records.keys, small)
    ).any()
    if is_written_back and _are_rings(descriptors, records):
        return Device.NIC
    if seen.sum("uneven"):
        return Device.OTHER  # a drive reads sectors, entries, and lists of addresses
    if not (seen.visible.reads or seen.visible.writes):
        # Who reads 64 bytes at once, and never 16, fetches commands.
        is_answered = seen.sum("entry_completions") > 0 and not seen.sum("slot_completions")
        return Device.NVME if is_answered else Device.OTHER
    if not _are_rings(entries, records):
        return Device.OTHER
    if seen.visible.reads and seen.sum("reads"):
        is_drive = entries.is_ring.any() and (records.is_ring.any() or not seen.visible.writes or not seen.sum("data_write_bytes"))
        return Device.NVME if is_drive else Device.OTHER
    return Device.NVME if seen.sum("data_write_bytes") % SECTOR == 0 else Device.OTHER


def _are_rings(*both: Rings) -> bool:
    """Return whether what was taken for rings is: pages that were walked through, or a single access to one page each."""
    known = sum(rings.total("accesses") for rings in both)
    others = sum(rings.others("exact") for rings in both)
    if any(rings.total("steps") for rings in both):
        return known >= others
    return known > 0 and not others and all(len(rings.keys) <= 1 for rings in both)
