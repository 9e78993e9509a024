"""Find a machine's PTT devices.

Sources: the driver's sysfs ABI (Documentation/ABI/testing/sysfs-bus-event_source-devices-hisi_ptt) and its kernel documentation
(Documentation/trace/hisi-ptt.rst).
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ptttool.budget import over_budget
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import UsageError
from ptttool.machine.budget import MAX_DEVICES, MAX_FILTERS
from ptttool.machine.driver import Driver, read_driver
from ptttool.machine.functions.read import read_functions, readable
from ptttool.machine.model import Machine, PciFunction, PciFunctions, PttDevice
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.machine.read_device import explain_refusal, first_line, read_device
from ptttool.machine.sources.contract import DEMO_PREFIX, Source
from ptttool.machine.sources.recorded import DemoSource
from ptttool.machine.sources.tree import TreeSource
from ptttool.machine.sources.udev import UdevSource
from ptttool.machine.unusable.offline_cpus import with_offline_cpus
from ptttool.machine.unusable.old_kernels import match_pci, with_filters
from ptttool.machine.unusable.without_driver import explain_absence, report_functions
from ptttool.pci import PciAddress
from ptttool.wording import in_words, shortened


def open_source(sysfs: Path | str | None = None, demo: bool = False) -> Source:
    """Open a machine's sysfs and udev.

    Parameters
    ----------
    sysfs : Path or str, optional
        The folder of a recorded or mounted machine, or a tar archive of one; ``demo:NAME`` for a demo machine of that name.
    demo : bool
        Open the recorded machine that comes with ptttool. With neither: the machine this runs on.

    Raises
    ------
    UsageError
        Both are given, or there is no demo machine of that name.
    InputError
        Neither the folder nor the archive holds a sysfs.
    AccessError
        It cannot be read.
    MissingPackageError
        There is no libudev.
    """
    if sysfs is not None and demo:
        raise UsageError("--sysfs and --demo exclude each other")
    if demo:
        return DemoSource()
    if sysfs is None:
        return UdevSource()
    if str(sysfs).startswith(DEMO_PREFIX):
        return DemoSource(str(sysfs).removeprefix(DEMO_PREFIX))
    if Path(sysfs).is_file():
        from ptttool.machine.sources.archive import ArchiveSource

        return ArchiveSource(sysfs)
    return TreeSource(sysfs)


def list_devices(source: Source) -> tuple[PttDevice, ...]:
    """List a machine's PTT devices without reading more than their names, which is enough to tune them.

    Returns
    -------
    tuple of PttDevice
        The devices by the numbers in their names; nothing but name, path and source is set. A device that is gone is left out.
    """
    devices: list[PttDevice] = []
    for path in _paths(source):
        with suppress(OSError):
            source.names(path)
            devices.append(PttDevice(path.rpartition("/")[2], None, None, path).read_from(source))
    return tuple(sorted(devices, key=lambda device: [int(digits) for digits in re.findall("[0-9]+", device.name)]))


def read_machine(source: Source, *, tune: bool = True) -> Machine:
    """Read a machine's PTT devices and PCI functions.

    What cannot be read is left out, and a diagnostic says so. A machine without PTT devices has no devices.

    Parameters
    ----------
    source : Source
        The machine.
    tune : bool
        Read the values of the tune attributes, too. A device that does not answer takes a second.
    """
    functions, diagnostics = read_functions(source)
    if not functions:
        what = "were found" if source.live else "are recorded"
        diagnostics.append(Diagnostic(Severity.WARNING, "no-pci-functions", f"no PCI functions {what}"))
    devices: list[PttDevice] = []
    for path in _paths(source):
        try:
            devices.append(read_device(source, path, functions, tune=tune))
        except OSError as error:
            reason = "gone" if error.errno in (errno.ENOENT, errno.ENODEV) else explain_refusal(error)
            shown = readable(path)
            diagnostics.append(Diagnostic(Severity.WARNING, "device-left-out", f"{shown}: listed, but {reason}: left out", where=shown))
    devices = with_filters(source, match_pci(source, devices, functions), functions)
    if sum(len(device.root_ports) + len(device.requesters) for device in devices) > MAX_FILTERS:
        raise over_budget(source.origin, "filters of the PTT devices", MAX_FILTERS, "filters", hint="is it a copy of a real machine?")
    # Where a device's function is not known (before 6.5), it may be any.
    if devices and all(device.pci is not None for device in devices):
        diagnostics += report_functions(functions, devices)
    diagnostics += _unrecorded_ports(source, devices, functions)
    devices = with_offline_cpus(source, sorted(devices, key=lambda one: (one.sicl is None, one.sicl, one.core, one.name)))
    kernel, hostname = (first_line(source, f"/proc/sys/kernel/{name}") for name in ("osrelease", "hostname"))
    if kernel is None and not source.live:  # an sosreport
        words = (first_line(source, "/sos_commands/kernel/uname_-a") or "").split(" ")
        hostname, kernel = words[1:3] if words[0] == "Linux" and len(words) > 2 else (hostname, None)
    return Machine(
        origin=readable(source.origin),
        kernel=kernel,
        hostname=hostname,
        driver=_driver(source, kernel, devices[0].sysfs) if devices else None,
        diagnostics=tuple(diagnostics),
        devices=tuple(device.read_from(source) for device in devices),
        functions=PciFunctions(functions),
    )


def _driver(source: Source, kernel: str | None, path: str) -> Driver:
    """Read which driver a machine has; what was measured on the machine that this runs on counts more than names."""
    measured = None
    if source.live:
        from ptttool.machine.measured import measured_here

        measured, _ = measured_here(source)
    return read_driver(source, kernel, path, measured=None if measured is None else measured.commits_early)


def _unrecorded_ports(source: Source, devices: list[PttDevice], functions: dict[PciAddress, PciFunction]) -> list[Diagnostic]:
    """Report root ports that are not among the functions, where there are functions."""
    missing = sorted({str(port.address) for device in devices for port in device.root_ports if port.address not in functions})
    if not missing or not functions:
        return []
    was = "found" if source.live else "recorded"
    message = f"no PCI function is {was} for {shortened(in_words(missing), 400)}: what is behind is not known"
    return [Diagnostic(Severity.WARNING, "ports-not-recorded", message, details={"ports": missing})]


def require_devices(source: Source) -> tuple[PttDevice, ...]:
    """List a machine's PTT devices as :func:`list_devices`; raise DeviceError, with the cause, where there are none."""
    devices = list_devices(source)
    if not devices:
        raise explain_absence(source, read_machine(source, tune=False))
    return devices


def require_machine(source: Source, *, tune: bool = True) -> Machine:
    """Read a machine as :func:`read_machine`; raise DeviceError, with the cause, for one without PTT devices."""
    machine = read_machine(source, tune=tune)
    if not machine.devices:
        raise explain_absence(source, machine)
    return machine


def _paths(source: Source) -> Iterator[str]:
    count = 0
    for path in source.devices("event_source"):
        if path.rpartition("/")[2].startswith(PMU_PREFIX):
            count += 1
            if count > MAX_DEVICES:
                raise over_budget(source.origin, "PTT devices in sysfs", MAX_DEVICES, "devices", hint="is it a copy of a real machine?")
            yield path
