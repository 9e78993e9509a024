"""Registers of NVMe controllers in BAR 0: names, and the queues of doorbells.

Offsets are those of the NVM Express Base Specification 2.0: 3.1.3 (controller properties), and of the PCIe Transport Specification 1.0:
3.1.2 (doorbells). The distance between doorbells is 4 << CAP.DSTRD bytes. Neither sysfs nor headers of TLPs say DSTRD; it is 0 in
nearly all drives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ptttool.machine.model import PciFunction

NVME_CLASS: Final = 0x0108
"""Base class and subclass of NVMe controllers."""
DOORBELLS: Final = 0x1000
"""Offset of the first doorbell in BAR 0."""
MOST_DSTRD: Final = 15
_QUEUES = 1 << 16
# Where a drive's MSI-X table is not known, only the first page of doorbells is named, of 512 queues: the table is often behind it.
_SURE = 0x2000

# Offset, name, bytes.
_PROPERTIES = (
    (0x00, "CAP", 8), (0x08, "VS", 4), (0x0C, "INTMS", 4), (0x10, "INTMC", 4), (0x14, "CC", 4), (0x1C, "CSTS", 4), (0x20, "NSSR", 4),
    (0x24, "AQA", 4), (0x28, "ASQ", 8), (0x30, "ACQ", 8), (0x38, "CMBLOC", 4), (0x3C, "CMBSZ", 4), (0x40, "BPINFO", 4),
    (0x44, "BPRSEL", 4), (0x48, "BPMBL", 8), (0x50, "CMBMSC", 8), (0x58, "CMBSTS", 4), (0x5C, "CMBEBS", 4), (0x60, "CMBSWTP", 4),
    (0x64, "NSSD", 4), (0x68, "CRTO", 4), (0xE00, "PMRCAP", 4), (0xE04, "PMRCTL", 4), (0xE08, "PMRSTS", 4), (0xE0C, "PMREBS", 4),
    (0xE10, "PMRSWTP", 4), (0xE14, "PMRMSCL", 4), (0xE18, "PMRMSCU", 4),
)  # fmt: skip
_NAMES: Final = {offset: name for offset, name, _ in _PROPERTIES} | {
    offset + 4: f"{name}, upper half" for offset, name, size in _PROPERTIES if size == 8
}


class Doorbell(NamedTuple):
    """A doorbell of a queue.

    Parameters
    ----------
    queue : int
        Number of the queue; 0 is the admin queue.
    is_completion : bool
        Whether it takes the head of the completion queue; else the tail of the submission queue.
    """

    queue: int
    is_completion: bool

    @property
    def name(self) -> str:
        """Its name: ``SQ 1 tail doorbell``."""
        return f"CQ {self.queue} head doorbell" if self.is_completion else f"SQ {self.queue} tail doorbell"


def is_nvme(function: PciFunction) -> bool:
    """Tell whether a function is an NVMe controller."""
    return function.class_code is not None and function.class_code >> 8 == NVME_CLASS


def doorbell_of(offset: int, dstrd: int = 0) -> Doorbell | None:
    """Return the doorbell at an offset; None where there is none.

    Parameters
    ----------
    offset : int
        Offset in BAR 0 in bytes.
    dstrd : int
        CAP.DSTRD.
    """
    number, rest = divmod(offset - DOORBELLS, 4 << dstrd)
    return None if rest or not 0 <= number < 2 * _QUEUES else Doorbell(number >> 1, bool(number & 1))


def dstrd_of(offsets: Iterable[int]) -> int:
    """Return CAP.DSTRD as the written doorbells show it; 0 where they do not contradict that.

    A host that uses a queue writes both of its doorbells. So a larger distance is believed where all offsets are multiples of it, both
    doorbells of each queue were written, and two queues were.

    Parameters
    ----------
    offsets : iterable of int
        Offsets in BAR 0 that were written; those below the doorbells are ignored.
    """
    places = {offset - DOORBELLS for offset in offsets if DOORBELLS <= offset < _SURE}
    bits = 0
    for place in places:
        bits |= place
    if len(places) < 4 or not bits & -bits > 4:
        return 0
    dstrd = min((bits & -bits).bit_length() - 3, MOST_DSTRD)
    return dstrd if all(place ^ 4 << dstrd in places for place in places) else 0


def register_name(offset: int, dstrd: int = 0, *, end: int = _SURE) -> str | None:
    """Return what NVMe calls the register at an offset in BAR 0; None for one without a name.

    Parameters
    ----------
    offset : int
        Offset in BAR 0 in bytes.
    dstrd : int
        CAP.DSTRD.
    end : int
        Offset of what is behind the doorbells, such as the MSI-X table: nothing is named from there on.
    """
    if offset < DOORBELLS:
        return _NAMES.get(offset)
    doorbell = doorbell_of(offset, dstrd) if offset < end else None
    return None if doorbell is None else doorbell.name
