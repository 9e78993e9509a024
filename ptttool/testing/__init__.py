"""Fake machines with PTT devices, for tests on computers that have none.

``ptttool.testing.plugin`` is a pytest plug-in: its fixture ``ptt_machine`` shows the code under test a machine through pyfakefs.
The classes here describe such a machine; :func:`kunpeng` is a ready one. `docs/testing.md` is the guide.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptttool.testing.attribute import FakeTuneAttribute as FakeTuneAttribute
    from ptttool.testing.attribute import parse_as_the_driver as parse_as_the_driver
    from ptttool.testing.description import FakeFunction as FakeFunction
    from ptttool.testing.description import FakePort as FakePort
    from ptttool.testing.description import FakePtt as FakePtt
    from ptttool.testing.hardware import Hardware as Hardware
    from ptttool.testing.kernel import Kernel as Kernel
    from ptttool.testing.machine import FakeMachine as FakeMachine
    from ptttool.testing.presets import kunpeng as kunpeng

# pytest imports this package at every start, for the plug-in: the rest waits until it is asked for.
_MODULES = {
    "FakeFunction": "description",
    "FakeMachine": "machine",
    "FakePort": "description",
    "FakePtt": "description",
    "FakeTuneAttribute": "attribute",
    "Hardware": "hardware",
    "Kernel": "kernel",
    "kunpeng": "presets",
    "parse_as_the_driver": "attribute",
}
__all__ = list(_MODULES)


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
