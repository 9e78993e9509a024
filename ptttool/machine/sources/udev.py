"""The running machine, through libudev (pyudev) and plain reads of sysfs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ptttool.errors import MissingPackageError
from ptttool.machine.budget import MAX_ATTRIBUTE_BYTES
from ptttool.machine.sources.contract import RUNNING


class UdevSource:
    """The :class:`~ptttool.machine.sources.contract.Source` of the machine this runs on.

    Raises
    ------
    MissingPackageError
        There is no pyudev or no libudev.
    """

    origin = "this machine"
    live = True
    identity = RUNNING

    def __init__(self) -> None:
        elsewhere = "or read a recorded machine with --sysfs PATH or --demo"
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
        """List a subsystem's devices as libudev enumerates them."""
        paths: list[str] = []
        for device in self._context.list_devices(subsystem=subsystem):
            try:
                paths.append(str(device.sys_path))
            except UnicodeDecodeError:  # pyudev cannot give a name that is not UTF-8, such as that of a renamed network device
                continue
        return sorted(paths, key=lambda path: (path.rsplit("/", 1)[1], path))

    def properties(self, path: str) -> Mapping[str, str]:
        """Return a device's properties from the udev database; none for a device that is gone."""
        try:
            device = self._pyudev.Devices.from_sys_path(self._context, path)
        except self._pyudev.DeviceNotFoundError:
            return {}
        properties: dict[str, str] = {}
        for name in device.properties:
            try:
                properties[str(name)] = str(device.properties[name])
            except (KeyError, UnicodeDecodeError):  # gone meanwhile, or not UTF-8
                continue
        return properties

    def read(self, path: str) -> str:
        """Read a file's text without the final newline; bytes that are not UTF-8 are surrogates."""
        with Path(path).open("rb") as file:
            return file.read(MAX_ATTRIBUTE_BYTES).decode("utf-8", "surrogateescape").removesuffix("\n")

    def read_bytes(self, path: str, limit: int) -> bytes:
        """Read the first `limit` bytes of a file, and no more."""
        content = bytearray()
        with Path(path).open("rb", buffering=0) as file:
            while len(content) < limit and (piece := file.read(limit - len(content))):
                content += piece
        return bytes(content)

    def write(self, path: str, text: str) -> None:
        """Write an existing attribute with one write(2)."""
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def names(self, path: str) -> list[str]:
        """List the names in a folder, sorted."""
        return sorted(os.listdir(path))  # noqa: PTH208

    def resolve(self, path: str) -> str:
        """Follow every link of a path."""
        os.lstat(path)
        return os.path.realpath(path)
