"""The interface to what sets tune attributes at every start of a machine. To add one is to add a file to ``targets``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from msgspec import Struct

from ptttool.registry import Registry


class PermanentValues(Struct, frozen=True):
    """The values that are to be permanent. All of its texts are plain: a target can write them as they are.

    Parameters
    ----------
    profile : str
        Name of the profile: ASCII letters and digits, ``.``, ``_`` and ``-``.
    devices : Mapping[str, Mapping[str, int]]
        Values, 0 to 2, by device and attribute. The names are ASCII letters, digits and ``_``.
    program : tuple of str
        The command that runs ptttool, the first one an absolute path; only these texts may hold any letter.
    """

    profile: str
    devices: Mapping[str, Mapping[str, int]]
    program: tuple[str, ...]

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """Iterate over device, attribute and value."""
        return ((device, attribute, value) for device, values in self.devices.items() for attribute, value in values.items())


class PermanentFile(Struct, frozen=True):
    """A file to be installed.

    Parameters
    ----------
    path : str
        Its absolute path.
    text : str
        Its content.
    is_link : bool
        True for a symbolic link: ``text`` is what it leads to.
    """

    path: str
    text: str
    is_link: bool = False


class Target(ABC):
    """What can set tune attributes at every start of a machine.

    Attributes
    ----------
    name : str
        Name on the command line.
    meaning : str
        What it is, in one line.
    limits : str
        What to know about it, in a sentence.
    installable : bool
        False for one whose files do not belong to this machine.
    """

    name: ClassVar[str]
    meaning: ClassVar[str]
    limits: ClassVar[str]
    installable: ClassVar[bool] = True

    @abstractmethod
    def files(self, values: PermanentValues) -> tuple[PermanentFile, ...]:
        """Return the files; the first one is what is printed. The same values always give the same text."""

    @abstractmethod
    def activation(self, values: PermanentValues) -> tuple[str, ...]:
        """Return the commands, for root, after which the values are set without a restart."""


TARGETS: Registry[Target] = Registry("target", "ptttool.tune.persist.targets", entry_points="ptttool.tune_targets")


def attribute_path(device: str, attribute: str) -> str:
    """Return the path of an attribute; it is the same on all kernels."""
    return f"/sys/bus/event_source/devices/{device}/tune/{attribute}"
