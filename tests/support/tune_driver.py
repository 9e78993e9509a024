"""A recorded machine whose tune files behave as the driver's do, and fail as a test tells them to.

``tests/tune/test_driver.py`` holds :func:`driver_parses` against a transcript of the real driver.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping

from ptttool.machine.discovery import read_machine
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.tree import TreeSource
from tests import ROOT

MACHINES = ROOT / "fixtures" / "machines"
ATTRIBUTES = ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
Hook = Callable[[str, str], "str | None"]


def failure(code: int) -> OSError:
    return OSError(code, os.strerror(code))


def driver_parses(text: str) -> int:
    """What the driver stores for a text that is written: kstrtou16 with base 10, and no more than 2. Raises OSError EINVAL."""
    if not re.fullmatch(r"\+?[0-9]+\n?", text) or int(text) > 0xFFFF:
        raise failure(errno.EINVAL)
    return min(int(text), 2)


class DriverSource:
    """Tune attributes that all hold 1 at first. ``writes``: every write that reached a tune attribute, as ``DEVICE/ATTRIBUTE=TEXT``.

    ``on_read`` gets the attribute and what it would read, ``on_write`` the attribute and the text; each may raise OSError, or
    return another text to be read or stored instead.
    """

    origin = "a test machine"
    live = True

    def __init__(self, machine: str = "kunpeng-6.12") -> None:
        self._tree = TreeSource(MACHINES / machine)
        self.attributes: dict[str, int] = {}
        self.writes: list[str] = []
        self.on_read: Hook | None = None
        self.on_write: Hook | None = None

    def device(self, name: str = "hisi_ptt0_0") -> PttDevice:
        return next(device for device in read_machine(self, tune=False).devices if device.name == name)

    def _attribute(self, path: str) -> str | None:
        match = re.search(r"/(hisi_ptt\w+)/tune/(\w+)$", path)
        return f"{match[1]}/{match[2]}" if match else None

    def read(self, path: str) -> str:
        text = self._tree.read(path)
        attribute = self._attribute(path)
        if attribute is None:
            return text
        text = str(self.attributes.setdefault(attribute, 1))
        changed = self.on_read(attribute, text) if self.on_read is not None else None
        return text if changed is None else changed

    def write(self, path: str, text: str) -> None:
        attribute = self._attribute(path)
        assert attribute is not None, f"{path} is no tune attribute"
        self._tree.read(path)
        self.writes.append(f"{attribute}={text.strip()}")
        changed = self.on_write(attribute, text) if self.on_write is not None else None
        self.attributes[attribute] = driver_parses(text if changed is None else changed)

    def devices(self, subsystem: str) -> list[str]:
        return self._tree.devices(subsystem)

    def properties(self, path: str) -> Mapping[str, str]:
        return self._tree.properties(path)

    def names(self, path: str) -> list[str]:
        return self._tree.names(path)

    def resolve(self, path: str) -> str:
        return self._tree.resolve(path)
