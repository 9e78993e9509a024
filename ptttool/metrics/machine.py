"""Metrics of a machine: devices, tune attributes, filters, links, the journal, the doctor's checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ptttool.errors import PtttoolError
from ptttool.machine.model import REQUESTER, ROOT_PORT, Machine, PciFunction
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import gigatransfers
from ptttool.machine.unusable.old_kernels import ptt_functions
from ptttool.metrics import catalogue
from ptttool.metrics.model import Samples
from ptttool.tune.journal.folder import journal_folder, journal_names
from ptttool.tune.journal.unfinished import find_unfinished

MOST_DEVICES, MOST_ATTRIBUTES, MOST_FUNCTIONS = 64, 32, 512
"""Devices, tune attributes of a device, and functions with samples, at most: more would be a burden on Prometheus."""

_LANES = 32  # the widest link that there is


def add_machine(samples: Samples, machine: Machine) -> None:
    """Add the samples of a machine whose tune attributes were read.

    Parameters
    ----------
    samples : Samples
        The samples so far.
    machine : Machine
        The machine; it may have no PTT device.
    """
    samples.add(catalogue.PCI_FUNCTIONS, len(ptt_functions(machine.functions)))
    samples.add(catalogue.DEVICES, len(machine.devices))
    shown = machine.devices[:MOST_DEVICES]
    samples.add(catalogue.LEFT_OUT, len(machine.devices) - len(shown), what="devices")
    samples.add(catalogue.LEFT_OUT, sum(max(len(one.tune) - MOST_ATTRIBUTES, 0) for one in shown), what="tune_attributes")
    for device in shown:
        node = "" if device.numa_node is None else device.numa_node
        samples.add(catalogue.DEVICE_INFO, 1, device=device.name, pci=device.pci or "", numa_node=node)
        samples.add(catalogue.DEVICE_CPUS, len(device.cpus), device=device.name, state="online")
        samples.add(catalogue.DEVICE_CPUS, len(device.offline_cpus), device=device.name, state="offline")
        if device.ports_known:
            for kind, filters in ((ROOT_PORT, device.root_ports), (REQUESTER, device.requesters)):
                samples.add(catalogue.FILTERS, len(filters), device=device.name, kind=kind.replace(" ", "_"))
        for attribute in device.tune[:MOST_ATTRIBUTES]:
            labels = {"device": device.name, "attribute": attribute.name}
            samples.add(catalogue.TUNE_VALUE, attribute.value, **labels)
            samples.add(catalogue.TUNE_READABLE, int(attribute.value is not None), **labels)
    functions = list(_functions(machine))
    for owner, role, function in functions[:MOST_FUNCTIONS]:
        address = str(function.address)
        names = ",".join(function.kernel_names)
        samples.add(catalogue.FUNCTION_INFO, 1, function=address, role=role, device=owner, names=names)
        link = function.link
        if link is not None:
            samples.add(catalogue.LINK_SPEED, _per_second(link.speed), function=address)
            samples.add(catalogue.LINK_SPEED_LIMIT, _per_second(link.max_speed), function=address)
            samples.add(catalogue.LINK_WIDTH, _lanes(link.width), function=address)
            samples.add(catalogue.LINK_WIDTH_LIMIT, _lanes(link.max_width), function=address)
    samples.add(catalogue.LEFT_OUT, max(len(functions) - MOST_FUNCTIONS, 0), what="functions")


def _functions(machine: Machine) -> Iterator[tuple[str, str, PciFunction]]:
    """Yield each function once, with its device and its role."""
    addresses: set[object] = set()
    for device in machine.devices:
        owner = device.name if device.ports_known else ""
        for role, filters in (("root_port", device.root_ports), ("requester", device.requesters)):
            for one in filters:
                function = machine.functions.get(one.address)
                if function is not None and one.address not in addresses:
                    addresses.add(one.address)
                    yield owner, role, function


def _per_second(speed: str | None) -> int | None:
    """Return the transfers per second; None for a speed that the kernel does not know."""
    return round(number * 1e9) if (number := gigatransfers(speed)) else None


def _lanes(width: int | None) -> int | None:
    """Return the lanes; None for 0 (no link), and for what the kernel does not know (255)."""
    return width if width is not None and 0 < width <= _LANES else None


def add_journal(samples: Samples, source: Source) -> None:
    """Add the samples of a machine's journal of tune attributes."""
    folder = journal_folder(source)
    try:
        if folder is not None:
            journal_names(folder)
        journal = find_unfinished(source)
    except (OSError, PtttoolError):
        samples.add(catalogue.JOURNAL_READABLE, 0)
        return
    samples.add(catalogue.JOURNAL_READABLE, int(not journal.damaged))
    samples.add(catalogue.JOURNAL_CUT_OFF, len(journal.changes))
    samples.add(catalogue.JOURNAL_HALF_DONE, len(journal.attributes))


def add_doctor(samples: Samples, checks: Mapping[str, str], statuses: Collection[str], works: bool | None) -> None:
    """Add the samples of an examination.

    Parameters
    ----------
    samples : Samples
        The samples so far.
    checks : Mapping[str, str]
        Status by name of the check.
    statuses : Collection of str
        All statuses that there are.
    works : bool or None
        Whether a trace would work.
    """
    for name, status in checks.items():
        for possible in statuses:
            samples.add(catalogue.DOCTOR_CHECK, int(status == possible), check=name, status=possible)
    verdict = {True: "works", False: "fails", None: "unknown"}
    for value, word in verdict.items():
        samples.add(catalogue.DOCTOR_VERDICT, int(works is value), verdict=word)
