"""What is checked before perf starts: the first thing that fails is the root cause, told with what to do about it.

:func:`gather` looks at the machine; :func:`check` is pure over what it found.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ptttool.capture.perf.command import MINIMUM_AUX_SIZE, records_device
from ptttool.capture.perf.errors import RIGHTS_HINT
from ptttool.capture.perf.tool import PerfTool, find_perf
from ptttool.errors import AccessError, DeviceError, OutputError, PerfError, PtttoolError, UsageError
from ptttool.machine.cpus import format_cpus, parse_cpu_list
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import Source

# Bits of the kernel's capability sets (capability.h).
CAP_IPC_LOCK, CAP_SYS_ADMIN, CAP_PERFMON = 14, 21, 38
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_MLOCK_KB = "/proc/sys/kernel/perf_event_mlock_kb"


@dataclass(frozen=True)
class Rights:
    """What this process may do; None where the system does not say.

    ``capabilities``: the effective set as a bit mask. ``paranoid``: kernel.perf_event_paranoid. ``mlock_kb``: kernel.perf_event_mlock_kb,
    per CPU. ``memlock``: RLIMIT_MEMLOCK in bytes, None where unlimited.
    """

    capabilities: int
    paranoid: int | None = None
    mlock_kb: int | None = None
    memlock: int | None = None
    cpus: int = 1

    def can(self, capability: int) -> bool:
        """Whether the effective set has that capability."""
        return bool(self.capabilities >> capability & 1)

    @property
    def may_trace(self) -> bool:
        """May open an event on a CPU, whatever perf_event_paranoid says."""
        return self.can(CAP_PERFMON) or self.can(CAP_SYS_ADMIN)


@dataclass(frozen=True)
class Place:
    """Where the recording shall go. ``kind``: ``file``, ``directory``, ``other``, None where there is nothing yet."""

    path: str
    folder: str
    folder_exists: bool
    folder_writable: bool
    kind: str | None = None
    old_is_directory: bool = False
    free: int | None = None


@dataclass(frozen=True)
class Process:
    """A running process."""

    pid: int
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Host:
    """The facts. ``perf``: as found, or the error that finding it gave. ``online``: CPUs, None where unknown."""

    perf: PerfTool | PtttoolError
    rights: Rights
    place: Place
    command: str | None = None
    online: tuple[int, ...] | None = None
    processes: tuple[Process, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What shall be recorded. ``cpu``: as chosen by :func:`choose_cpu`."""

    device: PttDevice
    cpu: int
    aux_size: int
    command: tuple[str, ...] = ()


def check_aux_size(size: int) -> None:
    """The driver needs four buffers of 4 MiB, and a power of two."""
    if size < MINIMUM_AUX_SIZE:
        raise UsageError("--aux-size: the driver needs at least 16 MiB", hint="64M is a good size", code="aux-too-small")
    if size & (size - 1):
        raise UsageError("--aux-size: the driver needs a power of two", hint="such as 16M, 32M, 64M, 128M", code="aux-no-power-of-two")


def choose_cpu(device: PttDevice, wanted: int | None, online: Sequence[int] | None) -> int:
    """The CPU to record on: ``wanted``, else the first one of the device's cpumask that is online."""
    if wanted is None:
        if not device.cpus:
            raise DeviceError(
                f"{device.name} names no CPU that may record it (its cpumask is empty or unreadable)",
                hint="give one of its NUMA node with --cpu",
                code="no-cpumask",
            )
        return next((cpu for cpu in device.cpus if online is None or cpu in online), device.cpus[0])
    if device.cpus and wanted not in device.cpus:
        raise UsageError(
            f"CPU {wanted} is none of {device.name}'s ({format_cpus(device.cpus)}): nothing would be recorded, and perf would not say so",
            hint="leave --cpu out, or give one of these",
            code="cpu-not-in-cpumask",
        )
    if online is not None and wanted not in online:
        raise UsageError(f"CPU {wanted} is offline", hint=f"online are {format_cpus(online)}", code="cpu-offline")
    return wanted


def check(host: Host, plan: Plan) -> list[str]:
    """Raise the first thing that is in the way; return what deserves a warning."""
    if plan.command and host.command is None:
        raise UsageError(f"there is no command {plan.command[0]!r}", hint="check its name and PATH", code="command-missing")
    if isinstance(host.perf, PtttoolError):
        raise host.perf
    host.perf.check_can_record()
    _check_rights(host.rights, plan)
    check_place(host.place)
    _check_busy(host.processes, plan.device.name)
    return list(_warnings(host, plan))


def _check_rights(rights: Rights, plan: Plan) -> None:
    paranoid = rights.paranoid
    # A CPU-wide event needs CAP_PERFMON unless perf_event_paranoid is 0 or less (perf_allow_cpu).
    if not rights.may_trace and paranoid is not None and paranoid > 0:
        raise AccessError(
            f"you may not trace a whole CPU: kernel.perf_event_paranoid is {paranoid}",
            hint=RIGHTS_HINT,
            code="perf-not-permitted",
            perf_event_paranoid=paranoid,
        )
    if rights.can(CAP_IPC_LOCK) or paranoid is None or paranoid < 0 or rights.mlock_kb is None or rights.memlock is None:
        return
    # perf_mmap: perf_event_mlock_kb per online CPU and user, and RLIMIT_MEMLOCK beyond it.
    limit = rights.mlock_kb * 1024 * rights.cpus + rights.memlock
    if plan.aux_size > limit:
        raise AccessError(
            f"an AUX area of {plan.aux_size >> 20} MiB is more than the {limit >> 10} KiB that you may lock "
            f"(kernel.perf_event_mlock_kb is {rights.mlock_kb}, times {rights.cpus} CPUs)",
            hint="run it as root, or give CAP_IPC_LOCK, or raise kernel.perf_event_mlock_kb",
            code="mlock-limit",
            perf_event_mlock_kb=rights.mlock_kb,
        )


def check_place(place: Place) -> None:
    if place.kind == "directory":
        raise OutputError(f"{place.path} is a directory", hint="name a file with -o", code="output-is-directory")
    if place.kind == "other":
        raise OutputError(f"{place.path} is no regular file: perf writes back and forth in its output", code="output-not-a-file")
    if not place.folder_exists:
        raise OutputError(f"there is no folder {place.folder}", hint="make it, or name another file with -o", code="output-folder-missing")
    if not place.folder_writable:
        raise AccessError(f"you may not write in {place.folder}", hint="name another file with -o", code="output-not-permitted")
    if place.old_is_directory:
        raise OutputError(
            f"{place.path}.old is a directory: {place.path} cannot be kept under that name",
            hint="move one of them away, or name another file with -o",
            code="old-is-directory",
        )


def _check_busy(processes: Sequence[Process], device: str) -> None:
    """A second perf on the same CPU is refused (EBUSY), but one on another CPU silently records nothing: so look before."""
    for process in processes:
        if records_device(process.arguments, device):
            raise PerfError(
                f"{device} is busy: process {process.pid} is tracing it ({' '.join(process.arguments)[:120]})",
                hint="wait for it or stop it; a PTT device serves one trace at a time",
                code="device-busy",
                pid=process.pid,
            )


def _warnings(host: Host, plan: Plan) -> list[str]:
    found = []
    if host.place.free is not None and host.place.free < 4 * plan.aux_size:
        found.append(f"{host.place.folder} has room for {host.place.free >> 20} MiB only: a busy link fills that in less than a second")
    if host.online is not None and plan.cpu not in host.online:
        found.append(f"CPU {plan.cpu} is offline, as are all of {plan.device.name}'s CPUs: perf will record nothing")
    return found


def gather(source: Source, output: Path, command: Sequence[str]) -> Host:
    """Look at the running machine."""
    online = online_cpus(source)
    return Host(
        perf=_perf(),
        rights=read_rights(online),
        place=look_at(output),
        command=shutil.which(command[0]) if command else None,
        online=online,
        processes=running_processes(),
    )


def _perf() -> PerfTool | PtttoolError:
    try:
        return find_perf()
    except PtttoolError as error:
        return error


def read_rights(online: Sequence[int] | None = None) -> Rights:
    """The rights of this process, from /proc and its limits."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return Rights(
        capabilities=_capabilities(),
        paranoid=_number(_PARANOID),
        mlock_kb=_number(_MLOCK_KB),
        memlock=None if soft == resource.RLIM_INFINITY else soft,
        cpus=len(online) if online else os.cpu_count() or 1,
    )


def _capabilities() -> int:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    except (OSError, StopIteration, ValueError):
        return -1 if os.geteuid() == 0 else 0


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def online_cpus(source: Source) -> tuple[int, ...] | None:
    """The CPUs that are online; None where sysfs does not say."""
    try:
        return parse_cpu_list(source.read("/sys/devices/system/cpu/online"))
    except (OSError, ValueError):
        return None


def look_at(output: Path) -> Place:
    """What there is where the recording shall go."""
    folder = output.parent
    try:
        mode = output.stat().st_mode
        kind = "file" if stat.S_ISREG(mode) else "directory" if stat.S_ISDIR(mode) else "other"
    except OSError:
        kind = None
    exists = folder.is_dir()
    try:
        free = shutil.disk_usage(folder).free if exists else None
    except OSError:
        free = None
    return Place(
        path=str(output),
        folder=str(folder),
        folder_exists=exists,
        folder_writable=exists and os.access(folder, os.W_OK | os.X_OK),
        kind=kind,
        old_is_directory=Path(f"{output}.old").is_dir(),
        free=free,
    )


def running_processes() -> tuple[Process, ...]:
    """All processes but this one, with their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended since
            continue
        if words[:-1]:
            found.append(Process(int(folder.name), tuple(word.decode(errors="replace") for word in words[:-1])))
    return tuple(found)
