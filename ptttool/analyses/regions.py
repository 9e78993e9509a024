"""Ranges of addresses that have a name: BARs of functions, and the ranges of ``/proc/iomem``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ptttool.analyses.budget import MAX_REGIONS

if TYPE_CHECKING:
    from ptttool.machine.model import Machine

_SPACE_END = 1 << 64


class RegionKind(StrEnum):
    """What is behind a range of addresses."""

    BAR = "bar"
    IO_BAR = "io-bar"
    MEMORY = "memory"
    WINDOW = "window"
    DOORBELL = "doorbell"


@dataclass(frozen=True, slots=True)
class Region:
    """A range of addresses.

    Parameters
    ----------
    first, last : int
        Its first and its last byte.
    name : str
        What it is called: ``01:00.0 BAR 0``, ``System RAM``.
    kind : RegionKind
        What is behind it.
    owner : int or None
        The ID of the function that has the BAR.
    bar : int or None
        The number of the BAR.
    """

    first: int
    last: int
    name: str
    kind: RegionKind = RegionKind.MEMORY
    owner: int | None = None
    bar: int | None = None


def is_translated(machine: Machine | None) -> bool | None:
    """Tell whether an SMMU translates the addresses of the machine's devices; None where that is not known.

    Root ports and switches do not count: their groups say nothing of the devices behind.
    """
    from ptttool.machine.topology import is_bridge

    if machine is None:
        return None
    types = {one.iommu for one in machine.functions.values() if one.iommu is not None and not is_bridge(one)}
    if not types:
        return None
    return any(one.startswith("DMA") for one in types)


def regions_of(machine: Machine | None) -> tuple[Region, ...]:
    """Return the ranges of addresses that a machine names, ascending; at most :data:`~ptttool.analyses.budget.MAX_REGIONS`.

    Where an SMMU translates, the addresses of devices are not those of ``/proc/iomem``: its ranges are left out.
    """
    if machine is None:
        return ()
    return tuple(sorted(_regions(machine), key=lambda region: (region.first, region.last, region.name))[:MAX_REGIONS])


def _regions(machine: Machine) -> Iterator[Region]:
    from ptttool.machine.details.memory_map import is_doorbell
    from ptttool.machine.model import AddressSpace

    for address, function in sorted(machine.functions.items()):
        for bar in function.bars or ():
            kind = RegionKind.BAR if bar.space is AddressSpace.MEMORY else RegionKind.IO_BAR
            yield Region(bar.first, bar.last, f"{address.short} BAR {bar.number}", kind, address.routing_id, bar.number)
    for one in machine.memory or ():
        kind = RegionKind.WINDOW if one.name.startswith("PCI Bus") else RegionKind.MEMORY
        if is_doorbell(one):
            kind = RegionKind.DOORBELL
        if kind is RegionKind.WINDOW or not is_translated(machine):
            yield Region(one.first, one.last, one.name, kind)


class RegionTable:
    """Finds the region of many addresses. Where regions overlap, the narrowest counts.

    Parameters
    ----------
    regions : iterable of (int, Region)
        The regions of one address space, each with a number of its own, from 1.
    """

    def __init__(self, regions: Iterable[tuple[int, Region]]) -> None:
        numbered = sorted(regions, key=lambda item: item[1].first - item[1].last)  # the widest first
        limits = sorted({limit for _, one in numbered for limit in (one.first, one.last + 1) if limit < _SPACE_END})
        self._limits: npt.NDArray[np.uint64] = np.array(limits, dtype=np.uint64)
        # The region behind each limit; the first entry is for what is below all of them.
        self._numbers: npt.NDArray[np.intp] = np.zeros(len(limits) + 1, dtype=np.intp)
        position = {limit: number for number, limit in enumerate(limits, 1)}
        for number, one in numbered:
            self._numbers[position[one.first] : position.get(one.last + 1)] = number

    def find(self, addresses: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """Return the number of each address's region, 0 for none; in the order of the addresses."""
        if not len(self._limits):
            return np.zeros(len(addresses), dtype=np.intp)
        return self._numbers.take(np.searchsorted(self._limits, addresses, side="right"))


@lru_cache(maxsize=8)
def tables_of(regions: tuple[Region, ...]) -> tuple[RegionTable, RegionTable]:
    """Return the tables of memory and of I/O addresses; a region's number is its position, from 1."""
    numbered = list(enumerate(regions, 1))
    memory = RegionTable((number, one) for number, one in numbered if one.kind is not RegionKind.IO_BAR)
    return memory, RegionTable((number, one) for number, one in numbered if one.kind is RegionKind.IO_BAR)
