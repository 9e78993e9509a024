"""Read the details of a machine whose functions are known."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ptttool.budget import CODE as OVER_BUDGET
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.budget import MAX_CONFIG_BYTES, MAX_MEMORY_BYTES, MAX_MEMORY_RANGES
from ptttool.machine.details.config_space import bars_of, limits_of, msix_of
from ptttool.machine.details.memory_map import memory_ranges
from ptttool.machine.functions.read import physical_of, readable
from ptttool.machine.model import Machine, PciFunction, PciFunctions
from ptttool.machine.sources.contract import Source, or_none
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
    paths = {address: path for path in source.devices("pci") if (address := PciAddress.try_parse(path.rpartition("/")[2])) is not None}
    physical: dict[PciAddress, bytes] = {}
    for address, path in paths.items():
        if address in functions:
            functions[address] = _detailed(source, path, functions[address], paths, physical)
    text = _bytes(source, _MEMORY, MAX_MEMORY_BYTES).decode("utf-8", "replace")
    memory, left_out = memory_ranges(text) if text else (None, 0)
    diagnostics = machine.diagnostics
    if left_out:
        message = f"{left_out:,} ranges of {_MEMORY} are left out: {MAX_MEMORY_RANGES:,} are kept"
        diagnostics += (Diagnostic(Severity.INFO, OVER_BUDGET, message, where=_MEMORY, details={"left_out": left_out}),)
    return replace(machine, functions=PciFunctions(functions), memory=memory, diagnostics=diagnostics)


def _detailed(
    source: Source, path: str, function: PciFunction, paths: Mapping[PciAddress, str], physical: dict[PciAddress, bytes]
) -> PciFunction:
    """Return a function with its details.

    `paths`: of all functions of the machine; no other file is read. `physical`: configuration spaces that virtual functions asked for.
    """
    config = settings = _bytes(source, f"{path}/config", MAX_CONFIG_BYTES)
    owner = function.physical or physical_of(source, path)
    if owner is not None:
        if owner not in physical:
            physical[owner] = _bytes(source, f"{paths[owner]}/config", MAX_CONFIG_BYTES) if owner in paths else b""
        settings = physical[owner]
    resource = or_none(source.read, f"{path}/resource")
    iommu = shortened((or_none(source.read, f"{path}/iommu_group/type") or "").strip(), _LONGEST_TYPE)
    return replace(
        function,
        bars=None if resource is None else bars_of(resource, config),
        transfers=limits_of(settings, of_virtual=owner is not None),
        iommu=readable(iommu) or None,
        physical=owner,
        msix=msix_of(config),
    )


def _bytes(source: Source, path: str, limit: int) -> bytes:
    return or_none(source.read_bytes, path, limit) or b""
