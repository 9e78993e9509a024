"""The facts that checks look at, and how they are gathered."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from ptttool.capture.aux_area import aux_area
from ptttool.capture.checks.host import Host, gather
from ptttool.capture.event.build import TraceRequest, build
from ptttool.capture.event.choose import ChosenEvent
from ptttool.capture.perf.command import DEFAULT_AUX_SIZE
from ptttool.capture.plan import Plan, check_aux_size
from ptttool.machine.discovery import read_machine
from ptttool.machine.driver import distribution_names
from ptttool.machine.model import Machine, PciFunction, PttDevice
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.machine.read_device import first_line
from ptttool.machine.resolve import resolve_device
from ptttool.machine.sources.contract import Source, or_none
from ptttool.machine.unusable.old_kernels import ptt_functions
from ptttool.pci import PciAddress

# The configuration of a kernel, packed or not, and lists of its modules are not longer.
MAX_CONFIG_BYTES, MAX_LIST_BYTES = 4 << 20, 16 << 20
# Any root port: what the checks before a recording look at does not depend on the filter.
_ANY_PORT = PciAddress.parse("0000:00:00.0")
# Where distributions say on which stable release of Linux their kernel is based.
_PATCH_LEVELS = (
    ("/proc/version_signature", r" (\d{1,4})\.(\d{1,4})\.(\d{1,6})$"),
    ("/proc/version", r"\bDebian (\d{1,4})\.(\d{1,4})\.(\d{1,6})-"),
)
_RELEASE = re.compile(r"[\w.+~-]{1,200}", re.ASCII)


class Facts(Struct, frozen=True, dict=True):
    """What is known of a machine.

    Parameters
    ----------
    source : Source
        The machine.
    machine : Machine
        What was read of it; it may have no PTT device.
    devices : tuple of PttDevice
        The PTT devices to examine.
    host : Host or None
        perf, rights, disk and processes. None for a recorded machine: they are not recorded.
    aux_size : int
        Bytes of the AUX area of a trace.
    output : Path
        The file that a trace would write.
    explanation : str or None
        How the device was found, where its name was not given.
    """

    source: Source
    machine: Machine
    devices: tuple[PttDevice, ...]
    host: Host | None
    aux_size: int = DEFAULT_AUX_SIZE
    output: Path = Path("perf.data")
    explanation: str | None = None
    _memory: dict[str, bytes | None] = {}

    @property
    def live(self) -> bool:
        """Whether this is the machine that ptttool runs on."""
        return self.source.live

    @cached_property
    def functions(self) -> tuple[PciFunction, ...]:
        """The PCI functions with the ID of a PTT device."""
        return tuple(ptt_functions(self.machine.functions))

    @property
    def release(self) -> str | None:
        """Release of the kernel, if it can be part of a path."""
        release = self.machine.kernel
        return release if release is not None and _RELEASE.fullmatch(release) and ".." not in release else None

    @cached_property
    def version(self) -> tuple[tuple[int, int], int | None] | None:
        """Series and patch level of the kernel: ``6.6.23-rt`` is ((6, 6), 23).

        Releases of distributions such as ``6.1.0-18-arm64`` do not have the patch level: Debian and Ubuntu say it elsewhere.
        """
        match = re.match(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,6}))?(-?)", self.machine.kernel or "", re.ASCII)
        if match is None:
            return None
        series = int(match[1]), int(match[2])
        if match[3] is not None and (int(match[3]) or not match[4]):
            return series, int(match[3])
        for path, pattern in _PATCH_LEVELS:
            level = re.search(pattern, self.line(path) or "", re.ASCII)
            if level is not None and (int(level[1]), int(level[2])) == series:
                return series, int(level[3])
        return series, None if match[4] else 0

    def line(self, path: str) -> str | None:
        """Return the first line of a file; None where there is none."""
        return first_line(self.source, path)

    def number(self, path: str) -> int | None:
        """Return the number in a file; None where there is none."""
        text = self.line(path)
        return int(text) if text is not None and re.fullmatch(r"-?[0-9]{1,18}", text.strip(), re.ASCII) else None

    def content(self, path: str, limit: int) -> bytes | None:
        """Return the first bytes of a file; None where it cannot be read."""
        if path not in self._memory:
            self._memory[path] = or_none(self.source.read_bytes, path, limit)
        return self._memory[path]

    def names(self, path: str) -> list[str] | None:
        """Return the names in a folder; None where it cannot be listed."""
        return or_none(self.source.names, path)

    @cached_property
    def distribution(self) -> frozenset[str]:
        """Names of the distribution and of those it is like, such as ``ubuntu`` and ``debian``; empty where they are not known."""
        return frozenset(distribution_names(self.source))

    @cached_property
    def kernel_config(self) -> tuple[str, str] | None:
        """Path and text of the configuration that the kernel was built with; None where it cannot be read."""
        packed = self.content("/proc/config.gz", MAX_CONFIG_BYTES)
        if packed is not None:
            try:
                return "/proc/config.gz", zlib.decompressobj(31).decompress(packed, MAX_CONFIG_BYTES).decode("utf-8", "replace")
            except zlib.error:
                pass
        paths = ("/boot/config-{}", "/lib/modules/{}/config", "/lib/modules/{}/build/.config")
        for path in (path.format(self.release) for path in paths if self.release is not None):
            text = self.content(path, MAX_CONFIG_BYTES)
            if text is not None:
                return path, text.decode("utf-8", "replace")
        return None

    @cached_property
    def module_file(self) -> bool | None:
        """Whether the kernel's list of modules names the driver; None where the list cannot be read."""
        if self.release is None:
            return None
        modules = self.content(f"/lib/modules/{self.release}/modules.dep", MAX_LIST_BYTES)
        return None if modules is None else re.search(rb"(?m)^[^:\n]*/hisi_ptt\.ko(\.\w+)?:", modules) is not None

    @property
    def placeholders(self) -> tuple[PttDevice, ...]:
        """A device for checks that do not look at the device, on a machine without one."""
        return (PttDevice(PMU_PREFIX, None, None, f"/sys/devices/{PMU_PREFIX}"),)

    def plan(self, device: PttDevice) -> Plan:
        """Return the plan of a trace of a device, for the checks before a recording."""
        port = device.root_ports[0].address if device.root_ports else _ANY_PORT
        request = TraceRequest(device=device.name, root_ports=(port,))
        chosen = ChosenEvent(request, build(request), device, self.machine)
        return Plan(chosen, device.cpus[0] if device.cpus else 0, self.aux_size, self.output, force=True)


def look(
    source: Source,
    device: str | None = None,
    *,
    aux_size: int | None = None,
    output: Path = Path("perf.data"),
    gather_host: Callable[..., Host] = gather,
) -> Facts:
    """Gather the facts about a machine.

    Parameters
    ----------
    source : Source
        The machine.
    device : str, optional
        Examine this PTT device alone: its name, its PCI address, or what it traces.
    aux_size : int or None
        Bytes of the AUX area of a trace; None for what a trace has by itself.
    output : Path
        The file that a trace would write.
    gather_host : Callable
        Looks at perf, rights, disk and processes.

    Raises
    ------
    DeviceError
        The machine has PTT devices, and none of that name.
    UsageError
        The size of the AUX area is not possible.
    """
    if aux_size is not None:
        check_aux_size(aux_size)
    machine = read_machine(source, tune=False)
    devices, explanation = machine.devices, None
    if device is not None and devices:
        chosen, explanation = resolve_device(machine, device)
        devices = (chosen,)
    host = gather_host(source, output, ()) if source.live else None
    size = aux_size or DEFAULT_AUX_SIZE
    if devices:
        size, _ = aux_area(machine, devices[0], aux_size, output)
    return Facts(source, machine, devices, host, size, output, explanation)
