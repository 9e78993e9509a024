"""A fake machine as the tests of tuning speak of it: attributes by ``DEVICE/ATTRIBUTE``, one hook for all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, MutableMapping
from functools import partial

from ptttool.machine.discovery import read_machine
from ptttool.machine.model import PttDevice
from ptttool.machine.sources.udev import UdevSource
from ptttool.testing import FakeMachine, FakeTuneAttribute
from tests import ROOT

MACHINES = ROOT / "fixtures" / "machines"
ATTRIBUTES = ("qos_tx_cpl", "qos_tx_np", "qos_tx_p", "rx_alloc_buf_level", "tx_alloc_buf_level")
Hook = Callable[[str, str], "str | None"]


def failure(code: int) -> OSError:
    return OSError(code, os.strerror(code))


class Values(MutableMapping[str, int]):
    """What the hardware holds."""

    def __init__(self, attributes: dict[str, FakeTuneAttribute]) -> None:
        self._attributes = attributes

    def __getitem__(self, name: str) -> int:
        return self._attributes[name].value

    def __setitem__(self, name: str, value: int) -> None:
        self._attributes[name].value = value

    def __delitem__(self, name: str) -> None:
        raise TypeError("a driver keeps its attributes")

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)


class Driver(UdevSource):
    """The mounted fake machine through libudev and plain files. ``writes``: every write, as ``DEVICE/ATTRIBUTE=TEXT``.

    ``on_read`` gets the attribute and what it would read, ``on_write`` the attribute and the text; each may raise OSError, or
    return another text to be read or stored instead.
    """

    def __init__(self, machine: FakeMachine) -> None:
        super().__init__()
        self.machine = machine
        self.writes = machine.writes
        self._attributes = {f"{ptt.name}/{name}": one for ptt in machine.ptts.values() for name, one in ptt.tune.items()}
        self.attributes = Values(self._attributes)

    def device(self, name: str = "hisi_ptt0_0") -> PttDevice:
        return next(device for device in read_machine(self, tune=False).devices if device.name == name)

    @property
    def on_read(self) -> Hook | None:
        return None

    @on_read.setter
    def on_read(self, hook: Hook) -> None:
        for name, attribute in self._attributes.items():
            attribute.on_read = partial(hook, name)

    @property
    def on_write(self) -> Hook | None:
        return None

    @on_write.setter
    def on_write(self, hook: Hook) -> None:
        for name, attribute in self._attributes.items():
            attribute.on_write = partial(hook, name)
