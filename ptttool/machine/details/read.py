"""Read the details of a machine whose functions are known."""

from __future__ import annotations

from dataclasses import replace

from ptttool.budget import CODE as OVER_BUDGET
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.budget import MAX_CONFIG_BYTES, MAX_MEMORY_BYTES, MAX_MEMORY_RANGES
from ptttool.machine.details.config_space import bars_of, transfers_of
from ptttool.machine.details.memory_map import memory_ranges
from ptttool.machine.model import Machine, MemoryRange, PciFunction
from ptttool.machine.sources.contract import Source
from ptttool.pci import PciAddress
from ptttool.wording import shortened

_MEMORY = "/proc/iomem"
_LONGEST_TYPE = 40


def with_details(source: Source, machine: Machine) -> Machine:
    """Return a machine with what its functions' addresses and settings are. What cannot be read stays None.

    A configuration space is read from the function itself: where its link is traced meanwhile, the trace has these requests.

    Parameters
    ----------
    source : Source
        Where the machine was read.
    machine : Machine
        The machine, or a part of it: no other functions are read.
    """
    functions = dict(machine.functions)
    for path in source.devices("pci"):
        address = PciAddress.try_parse(path.rpartition("/")[2])
        if address in functions:
            functions[address] = _detailed(source, path, functions[address])
    memory, left_out = _memory(source)
    diagnostics = machine.diagnostics
    if left_out:
        message = f"{left_out:,} ranges of {_MEMORY} are left out: {MAX_MEMORY_RANGES:,} are kept"
        diagnostics += (Diagnostic(Severity.INFO, OVER_BUDGET, message, where=_MEMORY, details={"left_out": left_out}),)
    return replace(machine, functions=functions, memory=memory, diagnostics=diagnostics)


def _detailed(source: Source, path: str, function: PciFunction) -> PciFunction:
    config = _bytes(source, f"{path}/config", MAX_CONFIG_BYTES)
    try:
        resource = source.read(f"{path}/resource")
    except OSError:
        resource = None
    try:
        iommu = shortened(source.read(f"{path}/iommu_group/type").strip(), _LONGEST_TYPE) or None
    except OSError:
        iommu = None
    return replace(
        function,
        bars=None if resource is None else bars_of(resource, config),
        transfers=transfers_of(config),
        iommu=None if iommu is None else iommu.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
    )


def _memory(source: Source) -> tuple[tuple[MemoryRange, ...] | None, int]:
    data = _bytes(source, _MEMORY, MAX_MEMORY_BYTES)
    return memory_ranges(data.decode("utf-8", "replace")) if data else (None, 0)


def _bytes(source: Source, path: str, limit: int) -> bytes:
    try:
        return source.read_bytes(path, limit)
    except OSError:
        return b""
