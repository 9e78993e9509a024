"""What a requester is: an NVMe drive, a network controller, or neither."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.io.counts import Sum
from ptttool.analyses.io.reads import SECTOR
from ptttool.analyses.io.requester import RequesterTrace
from ptttool.analyses.io.results import By
from ptttool.analyses.io.rings import Rings, rings_of
from ptttool.analyses.io.tables import PageColumn

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
    if function is not None and function.class_code is not None:
        return _by_class(function.class_code), By.CLASS
    return _by_behaviour(seen), By.BEHAVIOUR


def _by_class(code: int) -> Device:
    if code >> 8 == _NVME_CLASS:
        return Device.NVME
    return Device.NIC if code >> 16 == _NETWORK_CLASS else Device.OTHER


def _by_behaviour(seen: RequesterTrace) -> Device:
    """Return what a requester does: chance accesses walk through no ring."""
    entries = rings_of(seen.counts.entries, seen.requester)
    records = rings_of(seen.counts.records, seen.requester)
    descriptors = rings_of(seen.counts.descriptors, seen.requester)
    small = seen.counts.small_writes.of(seen.requester)[0]
    # A network controller reads descriptors where it writes them back, whole or in part; a drive never does.
    written_back = (
        np.isin(descriptors.ring_keys, np.concatenate((records.ring_keys, small))) if descriptors.pages else np.empty(0, np.bool_)
    )
    is_written_back = written_back.any() if seen.visible.reads else np.isin(records.ring_keys, small).any()
    if _are_rings(descriptors, records) and is_written_back:
        return Device.NIC
    if seen.sum(Sum.UNEVEN):
        return Device.OTHER  # a drive reads sectors, entries, and lists of addresses
    if not (seen.visible.reads or seen.visible.writes):
        # Who reads 64 bytes at once, and never 16, fetches commands.
        is_answered = seen.sum(Sum.ENTRY_COMPLETIONS) > 0 and not seen.sum(Sum.SLOT_COMPLETIONS)
        return Device.NVME if is_answered else Device.OTHER
    if not _are_rings(entries, records):
        return Device.OTHER
    if seen.visible.reads and seen.sum(Sum.READS):
        is_drive = entries.pages > 0 and (records.pages > 0 or not seen.visible.writes or not seen.sum(Sum.DATA_WRITE_BYTES))
        return Device.NVME if is_drive else Device.OTHER
    return Device.NVME if seen.sum(Sum.DATA_WRITE_BYTES) % SECTOR == 0 else Device.OTHER


def _are_rings(*both: Rings) -> bool:
    """Return whether what was taken for rings is: pages that were walked through, or a single access to one page each."""
    known = sum(rings.total(PageColumn.ACCESSES) for rings in both)
    others = sum(rings.others(PageColumn.EXACT) for rings in both)
    if any(rings.total(PageColumn.STEPS) for rings in both):
        return known >= others
    return known > 0 and not others and all(rings.pages <= 1 for rings in both)
