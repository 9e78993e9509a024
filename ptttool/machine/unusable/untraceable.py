"""Functions that no PTT device can trace: PTT sees the links of its own root ports, and what is in the root complex has none.

On Kunpeng servers these are the network ports of the processor (HNS3) and its SAS, ZIP and HPRE engines: integrated endpoints, some of them
behind a bridge of the root complex.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.machine.budget import MAX_CONFIG_BYTES
from ptttool.machine.details.config_space import is_integrated
from ptttool.machine.model import Machine, PciFunction, Untraceable
from ptttool.machine.sources.contract import Source, or_none
from ptttool.machine.topology import is_bridge
from ptttool.machine.unusable.old_kernels import ptt_functions
from ptttool.pci import PciAddress

# Base class of bridges, among them the host bridges: they are on the way, and no end.
_BRIDGES = 0x06


def untraceable_of(machine: Machine, source: Source | None = None) -> tuple[Untraceable, ...]:
    """Return the endpoints of a machine that no PTT device can trace, by address.

    Parameters
    ----------
    machine : Machine
        The machine, with all of its functions.
    source : Source or None
        Where their configuration spaces say which of them are integrated (without root they do not); None leaves that out.
    """
    return tuple(_all(machine, source))


def why_untraceable(machine: Machine, address: PciAddress, source: Source | None = None) -> Untraceable | None:
    """Return why no PTT device can trace a function; None where one can, and for a function that is not known."""
    function = machine.functions.get(address)
    if function is None:
        return None
    ports = {one.address for device in machine.devices for one in device.root_ports}
    above = list(machine.ancestors(address))
    if address in ports or ports.intersection(above):
        return None
    port = above[-1] if above else None
    config = None if source is None else or_none(source.read_bytes, f"/sys/bus/pci/devices/{address}/config", MAX_CONFIG_BYTES)
    if config is not None and is_integrated(config):
        reason, text = "integrated", "is an integrated endpoint: it is in the root complex and has no link"
    elif port is None and not is_bridge(function):
        reason, text = "no-root-port", "has no root port above it: it is in the root complex"
    elif is_bridge(function):
        reason, text = "other-root-port", "is a port that no PTT device traces"
    else:
        reason, text = "other-root-port", f"is behind {port}, which no PTT device traces"
    return Untraceable(address, function.names, function.driver, reason, text, port)


def _all(machine: Machine, source: Source | None) -> Iterator[Untraceable]:
    own = {one.address for one in ptt_functions(machine.functions)} | {device.pci for device in machine.devices}
    for address, function in sorted(machine.functions.items()):
        if address not in own and not _is_on_the_way(function):
            found = why_untraceable(machine, address, source)
            if found is not None:
                yield found


def _is_on_the_way(function: PciFunction) -> bool:
    return function.class_code is not None and function.class_code >> 16 == _BRIDGES
