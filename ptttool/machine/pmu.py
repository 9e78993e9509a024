"""The PMU of a PTT device: its name, and the numbers of the event term ``filter``.

The numbers are those of the driver (drivers/hwtracing/ptt) and of its document (Documentation/trace/hisi-ptt.rst, "1. Filter").
"""

from __future__ import annotations

import re

from ptttool.pci import PciAddress

PMU_PREFIX = "hisi_ptt"
"""What the name of every PTT device begins with: ``hisi_ptt<SICL>_<core>``."""

PORT_FLAG = 1 << 19
"""Set in a filter that is a mask of root ports; clear in one that is a requester ID."""
RESERVED_FILTER_BITS = 0x70000

_NAME = re.compile(rf"{PMU_PREFIX}([0-9]{{1,9}})_([0-9]{{1,9}})", re.ASCII)


def is_ptt(pmu: str) -> bool:
    """Tell whether a PMU's name is that of a PTT device, or of several (``hisi_ptt*``)."""
    return pmu.startswith(PMU_PREFIX)


def device_numbers(pmu: str) -> tuple[int, int] | None:
    """Return the SICL and the core in the name of one PTT device; None for any other name."""
    match = _NAME.fullmatch(pmu)
    return None if match is None else (int(match[1]), int(match[2]))


def root_port_value(address: PciAddress) -> int:
    """Compute a root port's filter: bit 19, and one bit by its device number; domain, bus and function do not matter."""
    return PORT_FLAG | 1 << (address.device & 7) * 2


def requester_value(address: PciAddress) -> int:
    """Compute a requester's filter: its requester ID; the domain does not matter."""
    return address.routing_id
