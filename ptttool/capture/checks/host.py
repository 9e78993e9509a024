"""The facts that checks look at: perf, rights, the output file, CPUs, processes; and how they are gathered."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from ptttool.capture.device.tracers import Process, tracers_of
from ptttool.capture.device.tracers import running_processes as running_processes
from ptttool.capture.perf.tool import PerfTool, find_perf
from ptttool.errors import PtttoolError
from ptttool.machine.cpus import parse_cpu_list
from ptttool.machine.sources.contract import Source

# Bits of the kernel's capability sets (capability.h).
CAP_IPC_LOCK, CAP_SYS_ADMIN, CAP_PERFMON = 14, 21, 38
_KINDS = {"file": stat.S_ISREG, "directory": stat.S_ISDIR, "link": stat.S_ISLNK}
_PARANOID = "/proc/sys/kernel/perf_event_paranoid"
_MLOCK_KB = "/proc/sys/kernel/perf_event_mlock_kb"


class Rights(Struct, frozen=True):
    """What this process may do; None where the system does not say.

    Parameters
    ----------
    capabilities : int
        The effective set, a bit mask.
    paranoid : int or None
        kernel.perf_event_paranoid.
    mlock_kb : int or None
        kernel.perf_event_mlock_kb: KiB for each CPU.
    memlock : int or None
        RLIMIT_MEMLOCK in bytes; None for no limit.
    cpus : int
        Number of CPUs that are online.
    """

    capabilities: int
    paranoid: int | None = None
    mlock_kb: int | None = None
    memlock: int | None = None
    cpus: int = 1

    def can(self, capability: int) -> bool:
        """Tell whether the effective set has a capability."""
        return bool(self.capabilities >> capability & 1)

    @property
    def lockable(self) -> int | None:
        """Bytes of an AUX area that the process may lock (``perf_mmap``); None for no limit, or one that is not known."""
        if self.can(CAP_IPC_LOCK) or self.paranoid is None or self.paranoid < 0 or self.mlock_kb is None or self.memlock is None:
            return None
        return self.mlock_kb * 1024 * self.cpus + self.memlock

    @property
    def may_trace(self) -> bool:
        """Whether the process may open an event on a CPU, regardless of perf_event_paranoid."""
        return self.can(CAP_PERFMON) or self.can(CAP_SYS_ADMIN)


class OutputFile(Struct, frozen=True):
    """The file that the recording goes to.

    Parameters
    ----------
    path, folder : str
        The file, and the absolute path of its folder.
    folder_exists, folder_writable : bool
        What the folder is like.
    kind : str or None
        ``file``, ``directory``, ``link``, ``other``; None where nothing has that name yet.
    old_kind : str or None
        Likewise for the name that an old recording gets.
    free : int or None
        Free bytes in the folder.
    target : str or None
        The absolute path that a link leads to.
    read_only : bool
        Whether the folder is on a file system that is mounted read-only.
    """

    path: str
    folder: str
    folder_exists: bool
    folder_writable: bool
    kind: str | None = None
    old_kind: str | None = None
    free: int | None = None
    target: str | None = None
    read_only: bool = False


class Host(Struct, frozen=True):
    """The facts about the machine that is to record.

    Parameters
    ----------
    perf : PerfTool or PtttoolError
        perf as found, or why there is none.
    rights : Rights
        What this process may do.
    output : OutputFile
        The file that the recording goes to.
    command : str or None
        The path of the command to run while recording.
    online : tuple of int or None
        The CPUs that are online; None where that is unknown.
    processes : tuple of Process
        The running processes but this one.
    """

    perf: PerfTool | PtttoolError
    rights: Rights
    output: OutputFile
    command: str | None = None
    online: tuple[int, ...] | None = None
    processes: tuple[Process, ...] = ()


def gather(source: Source, output: Path, command: Sequence[str]) -> Host:
    """Look at the running machine."""
    online = online_cpus(source)
    return Host(
        perf=_perf(),
        rights=read_rights(online),
        output=look_at(output),
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
    """Read the rights of this process from /proc and its limits."""
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
    """Return the CPUs that are online; None where sysfs does not say."""
    try:
        return parse_cpu_list(source.read("/sys/devices/system/cpu/online"))
    except (OSError, ValueError):
        return None


def look_at(output: Path) -> OutputFile:
    """Look at the file that the recording goes to, and at its folder."""
    folder = output.absolute().parent
    kind = _kind(output)
    exists = folder.is_dir()
    return OutputFile(
        path=str(output),
        folder=str(folder),
        folder_exists=exists,
        folder_writable=exists and os.access(folder, os.W_OK | os.X_OK),
        kind=kind,
        old_kind=_kind(Path(f"{output}.old")),
        free=free_bytes(folder),
        target=os.path.realpath(output) if kind == "link" else None,
        read_only=exists and _is_read_only(folder),
    )


def _kind(path: Path) -> str | None:
    """Return what has a name; a link is not followed."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return None
    return next((kind for kind, test in _KINDS.items() if test(mode)), "other")


def _is_read_only(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def tracers_now(device: str) -> list[Process]:
    """Return the processes that name a PTT device now, those that are believed first."""
    return tracers_of(running_processes(), device)


def free_bytes(folder: Path) -> int | None:
    """Return the bytes that this user can write in a folder; None where they cannot be read."""
    try:
        about = os.statvfs(folder)
    except OSError:
        return None
    return about.f_frsize * (about.f_bfree if os.geteuid() == 0 else about.f_bavail)
