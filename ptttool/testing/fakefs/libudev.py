"""The part of libudev, through pyudev, that shows a fake machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import pyudev

Database = Mapping[str, Mapping[str, str]]


class FakeDevice:
    """A device of sysfs; it has the part of ``pyudev.Device`` that names it.

    Parameters
    ----------
    database
        Path of a device to its udev properties.
    path
        Its path in sysfs, links followed.
    """

    def __init__(self, database: Database, path: str) -> None:
        self._database = database
        self.sys_path = path

    @property
    def sys_name(self) -> str:
        """The last part of the path."""
        return self.sys_path.rpartition("/")[2]

    @property
    def device_path(self) -> str:
        """The path below /sys."""
        return self.sys_path.removeprefix("/sys")

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties in the udev database."""
        return self._database.get(self.sys_path, {})

    @property
    def subsystem(self) -> str | None:
        """The subsystem."""
        return self.properties.get("SUBSYSTEM")

    @property
    def driver(self) -> str | None:
        """The driver that is bound to it."""
        return self.properties.get("DRIVER")


class FakeContext:
    """What ``pyudev.Context()`` is while a fake machine is mounted.

    Parameters
    ----------
    database
        Path of a device to its udev properties.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_devices(self, subsystem: str | None = None) -> Iterator[FakeDevice]:
        """Yield the devices of a subsystem, or all that are in a bus or a class."""
        subsystems = [subsystem] if subsystem is not None else sorted({one["SUBSYSTEM"] for one in self.database.values()})
        for name in subsystems:
            for folder in (f"/sys/bus/{name}/devices", f"/sys/class/{name}"):
                if os.path.isdir(folder):  # noqa: PTH112 - the fake file system's
                    for entry in sorted(os.listdir(folder)):  # noqa: PTH208
                        # Links of the kernel lead to the folder itself: no need of realpath(), which takes ten times as long.
                        target = os.path.join(folder, os.readlink(os.path.join(folder, entry)))  # noqa: PTH115, PTH118
                        yield FakeDevice(self.database, os.path.normpath(target))


def device_at(context: Any, path: str) -> FakeDevice:
    """Return the device at a path, as ``pyudev.Devices`` does. Raises pyudev.DeviceNotFoundAtPathError for none."""
    if not os.path.isdir(path):  # noqa: PTH112
        raise pyudev.DeviceNotFoundAtPathError(path)
    return FakeDevice(context.database, path if path in context.database else os.path.realpath(path))
