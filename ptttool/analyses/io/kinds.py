"""What a requester is: an NVMe drive, a network controller, or neither."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from ptttool.analyses.io.counts import Sum
from ptttool.analyses.io.reads import SECTOR
from ptttool.analyses.io.results import By
from ptttool.analyses.io.rings import rings_of
from ptttool.analyses.io.seen import Seen
from ptttool.analyses.io.tables import Walk

if TYPE_CHECKING:
    from ptttool.machine.model import Machine

# Class codes (PCI code and ID assignment): base class and sub-class, and base class.
_NVME_CLASS, _NETWORK_CLASS = 0x0108, 0x02


class Device(Enum):
    """What a requester is."""

    NVME = "nvme"
    NIC = "nic"
    OTHER = "other"


def device_of(seen: Seen, machine: Machine | None) -> tuple[Device, By]:
    """Return what a requester is: as its class code says where the machine is known, else by what it does."""
    if machine is not None:
        classes = {function.class_code for address, function in machine.functions.items() if address.routing_id == seen.requester}
        if len(classes) == 1 and (code := classes.pop()) is not None:
            return _by_class(code), By.CLASS
    return _by_behaviour(seen), By.BEHAVIOUR


def _by_class(code: int) -> Device:
    if code >> 8 == _NVME_CLASS:
        return Device.NVME
    return Device.NIC if code >> 16 == _NETWORK_CLASS else Device.OTHER


def _by_behaviour(seen: Seen) -> Device:
    entries = rings_of(seen.counts.entries, seen.requester)
    records = rings_of(seen.counts.records, seen.requester)
    descriptors = rings_of(seen.counts.descriptors, seen.requester)
    small = seen.counts.small_writes.of(seen.requester)[0]
    # A network controller reads descriptors where it writes them back, whole or in part; a drive never does.
    if np.isin(descriptors.ring_keys, np.concatenate((records.ring_keys, small))).any() or np.isin(records.ring_keys, small).any():
        return Device.NIC
    if seen.visible.reads and seen.sum(Sum.READS):
        if entries.total(Walk.SLOTS) and (records.pages or not seen.visible.writes or not seen.sum(Sum.DATA_WRITE_BYTES)):
            return Device.NVME
        return Device.NIC if descriptors.pages and not entries.pages else Device.OTHER
    if records.pages:
        return Device.NVME if seen.sum(Sum.DATA_WRITE_BYTES) % SECTOR == 0 else Device.NIC
    if seen.sum(Sum.ENTRY_COMPLETIONS) and not seen.sum(Sum.SLOT_COMPLETIONS):
        return Device.NVME
    return Device.NIC if seen.sum(Sum.SLOT_COMPLETIONS) else Device.OTHER
