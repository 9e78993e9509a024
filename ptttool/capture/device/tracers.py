"""Processes that may be tracing a PTT device: what their arguments say, and how far that is believed.

Linux shows that a process holds perf events, and not of which device. Any user can start a process with any arguments, so arguments of
others are only a hint. The kernel alone says that a device is busy, when perf opens the event.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ptttool.capture.budget import MAX_ARGUMENTS
from ptttool.files.locks import user_name
from ptttool.machine.pmu import PMU_PREFIX
from ptttool.wording import clean

# How /proc/PID/fd shows the descriptor of a perf event.
_PERF_EVENT = "anon_inode:[perf_event]"
# Programs that have an event string among their arguments and do not trace.
_READERS = frozenset("ptttool grep egrep fgrep rg ag pgrep pkill vi vim nvim nano emacs less more man".split())
_INTERPRETERS = re.compile(r"(python|perl|(ba|da|z|k)?sh)[\d.]*")
_LONGEST_COMMAND = 120


class Process(Struct, frozen=True):
    """A running process.

    Parameters
    ----------
    pid : int
        Its number.
    arguments : tuple of str
        Its arguments, with its name; the process itself chooses them.
    uid : int or None
        Its real user: a set-user-ID program has the rights of another one. None where it has ended.
    holds_events : bool or None
        Whether it holds perf events; None where its descriptors may not be read, or were not.
    """

    pid: int
    arguments: tuple[str, ...]
    uid: int | None = None
    holds_events: bool | None = None

    @property
    def program(self) -> str:
        """Name of its program: of the script, where an interpreter runs one."""
        name = Path(self.arguments[0]).name if self.arguments else ""
        if not _INTERPRETERS.fullmatch(name):
            return name
        return next((Path(word).name for word in self.arguments[1:] if not word.startswith("-")), name)

    @property
    def user(self) -> str:
        """Name of its user."""
        return "unknown" if self.uid is None else user_name(self.uid)

    def __str__(self) -> str:
        """Describe the process in a message."""
        return f"process {self.pid} of {self.user} ({clean(' '.join(self.arguments))[:_LONGEST_COMMAND]})"


def names_device(process: Process, device: str) -> bool:
    """Tell whether a process has an event of a device among its arguments: of any program but ptttool, searchers and editors.

    A path of sysfs (``/sys/…/hisi_ptt0_2/type``) is not an event.
    """
    event = re.compile(rf"(?:^|^-e|[\s='\"{{,]){re.escape(device)}/")
    return process.program not in _READERS and any(event.search(word) for word in process.arguments[1:])


def is_believed(process: Process) -> bool:
    """Tell whether the arguments of a process are believed: its own user's or root's, and it holds perf events.

    Where the descriptors may not be read, root's arguments are believed.
    """
    if process.uid not in (0, os.geteuid()):
        return False
    return process.uid == 0 if process.holds_events is None else process.holds_events


def tracers_of(processes: Iterable[Process], device: str) -> list[Process]:
    """Return the processes that name a device, those that are believed first."""
    return sorted((one for one in processes if names_device(one, device)), key=lambda one: (not is_believed(one), one.pid))


def running_processes(*, holders: bool = False) -> tuple[Process, ...]:
    """Return all processes but this one, with their arguments.

    Parameters
    ----------
    holders : bool
        Find out of all processes whether they hold perf events, not only of those that name a PTT device.
    """
    processes = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            with (folder / "cmdline").open("rb") as file:
                text = file.read(MAX_ARGUMENTS)
            uid = _real_user(folder)
            words = text.removesuffix(b"\0").split(b"\0")
        except OSError:  # it has ended
            continue
        if not text:
            continue
        arguments = tuple(word.decode(errors="replace") for word in words)
        holds = holds_perf_events(int(folder.name)) if holders or any(PMU_PREFIX in word for word in arguments) else None
        processes.append(Process(int(folder.name), arguments, uid, holds))
    return tuple(processes)


def _real_user(folder: Path) -> int | None:
    """Return the real user of a process; the owner of its folder is the effective one, which is root for many set-user-ID programs."""
    for line in (folder / "status").read_bytes().splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return None


def holds_perf_events(pid: int) -> bool | None:
    """Tell whether a process holds perf events; None where its descriptors may not be read."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        names = list(folder.iterdir())
    except OSError:
        return None
    for name in names:
        with suppress(OSError):  # it was closed meanwhile
            if os.readlink(name) == _PERF_EVENT:  # noqa: PTH115 - text, not a path
                return True
    return False
