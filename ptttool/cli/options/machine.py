"""What commands that look at a machine share: which machine, and which of its PTT devices."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from ptttool.errors import DeviceError, UsageError
from ptttool.machine.model import Machine, PttDevice
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.pci import PciAddress

if TYPE_CHECKING:
    from ptttool.machine.sources.contract import Source


def open_source(sysfs: Path | None, demo: bool) -> Source:
    """The machine that the options ``--sysfs`` and ``--demo`` name: this one, a recorded one or the demo's.

    Raises UsageError for both at once, InputError for a folder without sysfs, AccessError, MissingPackageError (libudev).
    """
    if sysfs is not None and demo:
        raise UsageError("--sysfs and --demo exclude each other")
    if demo:
        from ptttool.machine.sources.demo import DemoSource

        return DemoSource()
    if sysfs is not None:
        from ptttool.machine.sources.tree import TreeSource

        return TreeSource(sysfs)
    from ptttool.machine.sources.udev import UdevSource

    return UdevSource()


def load_machine(source: Source, *, tune: bool = True) -> Machine:
    """The source's machine, which has at least one PTT device. Raises DeviceError with the cause where it has none.

    ``tune``: read the tune attributes' values too.
    """
    from ptttool.machine.discovery import explain_absence, read_machine

    machine = read_machine(source, tune=tune)
    if not machine.devices:
        raise explain_absence(source, machine)
    return machine


def find_device(machine: Machine, name: str | None) -> PttDevice:
    """The device called ``hisi_ptt0_2``, ``0_2``, or by its PCI address; without a name the only one there is.

    Raises DeviceError for a name that no device has, UsageError where one must be named.
    """
    names = [device.name for device in machine.devices]
    if name is None:
        if len(machine.devices) == 1:
            return machine.devices[0]
        raise UsageError("which PTT device?", hint=f"name one: {', '.join(names)}", code="device-needed")
    wanted = name.strip()
    address = PciAddress.try_parse(wanted)
    for device in machine.devices:
        if wanted in (device.name, device.name.removeprefix(PMU_PREFIX)) or (address is not None and address == device.pci):
            return device
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.8)
    seen_by = _tracing(machine, wanted)
    if seen_by is not None:
        raise DeviceError(f"{wanted} is no PTT device", hint=seen_by, code="unknown-device")
    raise DeviceError(
        f"no PTT device {wanted!r} on {machine.origin}",
        hint=f"did you mean {' or '.join(near)}?" if near else f"PTT devices: {', '.join(names)}",
        code="unknown-device",
    )


def _tracing(machine: Machine, name: str) -> str | None:
    """For what is no PTT device but a function behind one: a sentence that says which; else None."""
    from ptttool.errors import PtttoolError
    from ptttool.machine.resolve import resolve_root_port

    try:
        port, device, sentence = resolve_root_port(machine, name)
    except PtttoolError:
        return None
    return f"{sentence or f'{port} is a root port'}, of {device.name}"
