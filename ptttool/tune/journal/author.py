"""Who changes tune attributes, where and when: the facts by which a change that was cut off is judged later."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ptttool.files.locks import process_start, user_name, utc_now
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.contract import RUNNING, Source

# Characters of a command that are kept.
LONGEST_COMMAND = 500
# The kernel's number for a process without a login, such as a service.
NO_LOGIN = 0xFFFFFFFF


Natural = Annotated[int, Meta(ge=0)]


class Author(Struct, frozen=True):
    """Who makes a change, where and when.

    Parameters
    ----------
    command : str
        The command, such as ``tune apply p.toml``.
    started : str
        Date and time in UTC, ISO 8601.
    pid : int
        The process.
    process_start : int or None
        When the process started, in clock ticks since boot: see :func:`ptttool.files.locks.process_start`.
    uid : int
        The user's number.
    user : str
        The user's name.
    login : str or None
        The user who logged in, where that is another one (sudo, su).
    machine : str
        Identity of the machine: ``machine`` for the running one.
    origin : str
        The machine in words.
    boot_id : str or None
        The kernel's number of this boot; None for a machine in a folder.
    kernel : str or None
        The kernel's release.
    driver : dict of str to int
        What identifies the driver's devices, by device: another number after the driver was loaded again. Empty for a machine in a folder.
    """

    command: str
    started: str
    pid: Natural
    process_start: Natural | None
    uid: Natural
    user: str
    login: str | None
    machine: str
    origin: str
    boot_id: str | None
    kernel: str | None
    driver: dict[str, Natural]

    @classmethod
    def of_this_process(cls, source: Source, command: str, devices: Sequence[PttDevice]) -> Author:
        """Return the facts about this process, the machine and some devices of it."""
        return cls(
            command=command[:LONGEST_COMMAND],
            started=utc_now(),
            pid=os.getpid(),
            process_start=process_start(os.getpid()),
            uid=os.geteuid(),
            user=user_name(os.geteuid()),
            login=_login_user(),
            machine=source.identity or "",
            origin=source.origin,
            boot_id=boot_id(source),
            kernel=_first_line("/proc/sys/kernel/osrelease") if source.identity == RUNNING else None,
            driver=driver_identity(devices),
        )

    @property
    def runs(self) -> bool:
        """True while the process that makes the change runs."""
        return self.process_start is not None and process_start(self.pid) == self.process_start

    @property
    def who(self) -> str:
        """The user, and who logged in."""
        return self.user if self.login is None else f"{self.user} (login {self.login})"


def boot_id(source: Source) -> str | None:
    """Return the kernel's number of this boot; None for a machine in a folder."""
    return _first_line("/proc/sys/kernel/random/boot_id") if source.identity == RUNNING else None


def driver_identity(devices: Sequence[PttDevice]) -> dict[str, int]:
    """Return what identifies the driver's devices: the number of each folder in sysfs, new whenever the driver is loaded."""
    inodes: dict[str, int] = {}
    for device in devices:
        if device.source is not None and device.source.live and device.source.identity == RUNNING:
            with suppress(OSError):
                inodes[device.name] = Path(device.sysfs).stat().st_ino
    return inodes


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").partition("\n")[0][:200]
    except (OSError, ValueError):
        return None


def _login_user() -> str | None:
    """Return the user who logged in, if that is not the one who runs this; the kernel keeps it over sudo and su."""
    text = _first_line("/proc/self/loginuid")
    number = int(text) if text and text.isascii() and text.isdigit() else NO_LOGIN
    return None if number in (NO_LOGIN, os.geteuid()) else user_name(number)
