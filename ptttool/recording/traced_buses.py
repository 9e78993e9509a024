"""The buses behind the root ports that an event traces."""

from __future__ import annotations

from collections.abc import Iterable

from ptttool.capture.event.decode import Explanation, decode
from ptttool.capture.event.explain import terms_for
from ptttool.capture.event.parse import pmu_of
from ptttool.machine.model import REQUESTER, Machine, PciFunction
from ptttool.pci import PciAddress
from ptttool.perfdata.model import Contents
from ptttool.recording.identity import pmu_names, ptt_attribute


def buses_behind(contents: Contents, machine: Machine | None) -> tuple[range, ...] | None:
    """Return the buses behind the root ports that a recording traces; None where they are not known.

    Parameters
    ----------
    contents : Contents
        The recording. Where it filters for a requester, the port above that function is meant.
    machine : Machine or None
        Its topology; not used where its hostname is not that of the recording.
    """
    ports = ports_of(contents, machine)
    return None if ports is None else _behind(ports)


def ports_of(contents: Contents, machine: Machine | None) -> tuple[PciFunction, ...] | None:
    """Return the root ports that a recording traces; None where one of them is not known. Parameters are those of :func:`buses_behind`."""
    attribute = ptt_attribute(contents)
    if attribute is None or machine is None or not is_of(machine, contents):
        return None
    pmu = pmu_names(contents).get(attribute.type) or pmu_of(attribute.name or "") or None
    event = decode(attribute.config, terms_for(pmu, machine), pmu=pmu, machine=machine)
    ports: set[PciAddress | None] = {named.address for named in event.named}
    if event.kind == REQUESTER:
        ports = {None if address is None else machine.root_port_of(address) for address in ports}
        if not ports:
            return None
    functions = [None if port is None else machine.functions.get(port) for port in sorted(ports, key=str)]
    return None if None in functions else tuple(port for port in functions if port is not None)


def buses_of(event: Explanation, machine: Machine | None) -> tuple[range, ...] | None:
    """Return the buses behind the root ports of an event; None where one of them is not known."""
    ports: list[PciAddress | None] = [named.address for named in event.named]
    return _behind(None if machine is None or port is None else machine.functions.get(port) for port in ports)


def is_of(machine: Machine | None, contents: Contents) -> bool:
    """Tell whether a recording can be of a machine: with --sysfs or --demo, a user may give any."""
    host = contents.features.get("hostname")
    return machine is not None and (host is None or machine.hostname is None or str(host) == machine.hostname)


def _behind(ports: Iterable[PciFunction | None]) -> tuple[range, ...] | None:
    buses = []
    for port in ports:
        if port is None or port.secondary is None or port.subordinate is None:
            return None
        # A port that was not configured has the numbers 0.
        buses.append(range(max(port.secondary, 1), port.subordinate + 1))
    return tuple(buses)
