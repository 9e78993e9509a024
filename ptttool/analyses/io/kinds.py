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
# Reads of a drive of which one may be of a length that no drive reads.
_DAMAGED = 100
_NVME_CLASS, _NETWORK_CLASS = 0x0108, 0x02


class Device(Enum):
    """What a requester is."""

    NVME = "nvme"
    NIC = "nic"
    OTHER = "other"


def function_of(requester: int, machine: Machine | None) -> PciFunction | None:
    """Return the function of a requester; None where the machine is not known, or functions of several domains have the ID."""
    functions = [] if machine is None else [one for address, one in machine.functions.items() if address.routing_id == requester]
    if len({one.class_code for one in functions}) != 1:
        return None
    return functions[0] if len({one.driver for one in functions}) == 1 else replace(functions[0], driver=None)


def device_of(trace: RequesterTrace, function: PciFunction | None) -> tuple[Device, By]:
    """Return what a requester is: as its class code says where the function is known, else by what it does."""
    if function is None or function.class_code is None:
        return _by_behaviour(trace), By.BEHAVIOUR
    if function.class_code >> 8 == _NVME_CLASS:
        return Device.NVME, By.CLASS
    return Device.NIC if function.class_code >> 16 == _NETWORK_CLASS else Device.OTHER, By.CLASS


def _by_behaviour(trace: RequesterTrace) -> Device:
    """Return what a requester does: chance accesses walk through no ring."""
    entries, records, descriptors = (trace.rings(name) for name in ("entries", "records", "descriptors"))
    small = trace.pages["small_writes"]["key"]
    # A network controller reads descriptors where it writes them back, whole or in part; a drive never does.
    is_written_back = (
        np.isin(descriptors.keys, np.concatenate((records.keys, small))) if trace.visible.reads else np.isin(records.keys, small)
    ).any()
    if is_written_back and _are_rings(descriptors, records):
        return Device.NIC
    if trace.sum("uneven") * _DAMAGED > trace.sum("reads"):
        return Device.OTHER  # a drive reads sectors, entries, and lists of addresses; a bit may be damaged
    if not (trace.visible.reads or trace.visible.writes):
        # Who reads 64 bytes at once, and never 16, fetches commands.
        is_answered = trace.sum("entry_completions") > 0 and not trace.sum("slot_completions")
        return Device.NVME if is_answered else Device.OTHER
    if not _are_rings(entries, records):
        return Device.OTHER
    if trace.visible.reads and trace.sum("reads"):
        is_drive = entries.is_ring.any() and (records.is_ring.any() or not trace.visible.writes or not trace.sum("data_write_bytes"))
        return Device.NVME if is_drive else Device.OTHER
    return Device.NVME if trace.sum("data_write_bytes") % SECTOR == 0 else Device.OTHER


def _are_rings(*both: Rings) -> bool:
    """Return whether what was taken for rings is: pages that were walked through, or a single access to one page each."""
    accesses = sum(rings.total("accesses") for rings in both)
    others = sum(rings.others("exact") for rings in both)
    if any(rings.total("steps") for rings in both):
        return accesses >= others
    return accesses > 0 and not others and all(len(rings.keys) <= 1 for rings in both)
