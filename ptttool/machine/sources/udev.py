"""The running machine, through libudev (pyudev) and plain reads of sysfs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ptttool.errors import MissingPackageError


class UdevSource:
    """The machine this runs on, as a :class:`~.contract.Source`. Raises MissingPackageError without pyudev or libudev."""

    origin = "this machine"
    live = True

    def __init__(self) -> None:
        elsewhere = "or read a recorded machine with --sysfs DIR or --demo"
        try:
            import pyudev
        except ImportError as error:
            raise MissingPackageError(
                f"the Python package pyudev cannot be loaded: {error}", hint=f"pip install pyudev, {elsewhere}", code="no-pyudev"
            ) from None
        try:
            self._context: Any = pyudev.Context()
        except (ImportError, OSError) as error:
            raise MissingPackageError(
                f"the library libudev cannot be loaded: {error}",
                hint=f"install libudev1 (Debian, Ubuntu) or systemd-libs (openEuler, Fedora), {elsewhere}",
                code="no-libudev",
            ) from None
        self._pyudev: Any = pyudev

    def devices(self, subsystem: str) -> list[str]:
        """A subsystem's devices as libudev enumerates them."""
        found: list[str] = []
        for device in self._context.list_devices(subsystem=subsystem):
            try:
                found.append(str(device.sys_path))
            except UnicodeDecodeError:  # pyudev cannot tell a name that is no UTF-8, such as a renamed network device's
                continue
        return sorted(found, key=lambda path: (path.rsplit("/", 1)[1], path))

    def properties(self, path: str) -> Mapping[str, str]:
        """A device's properties from the udev database; empty for one that is gone."""
        try:
            device = self._pyudev.Devices.from_sys_path(self._context, path)
        except self._pyudev.DeviceNotFoundError:
            return {}
        found: dict[str, str] = {}
        for name in device.properties:
            try:
                found[str(name)] = str(device.properties[name])
            except (KeyError, UnicodeDecodeError):  # gone meanwhile, or no UTF-8
                continue
        return found

    def read(self, path: str) -> str:
        """A file's text without the final newline; bytes that are no UTF-8 as surrogates."""
        return Path(path).read_bytes().decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, path: str, text: str) -> None:
        """Write an attribute with one write(2); it is never created."""
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        return sorted(os.listdir(path))  # noqa: PTH208

    def resolve(self, path: str) -> str:
        """The path with every link followed."""
        os.lstat(path)
        return os.path.realpath(path)
