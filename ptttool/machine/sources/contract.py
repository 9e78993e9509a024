"""The interface to a machine's sysfs and udev, above which all code is the same for running and recorded machines.

Paths are absolute, as the kernel spells them (``/sys/bus/event_source/devices/hisi_ptt0_2``); a source maps them to its files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, ParamSpec, Protocol, TypeVar, runtime_checkable

P = ParamSpec("P")
T = TypeVar("T")

DEMO: Final = "the demo machine"
"""Origin of the machine that comes with ptttool."""
DEMO_PREFIX: Final = "demo:"
"""What the folder of a machine begins with that comes with ptttool under a name."""


RUNNING: Final = "machine"
"""Identity of the machine that this runs on."""


@runtime_checkable
class Source(Protocol):
    """Where facts about a machine come from. Methods that read or write raise OSError as the operating system does."""

    @property
    def origin(self) -> str:
        """In words: ``this machine``, or the folder."""

    @property
    def live(self) -> bool:
        """True for the running machine: only there can a trace be recorded."""

    @property
    def identity(self) -> str | None:
        """Name of the machine's attributes: the same in every process that writes the same ones. None: this process alone has them."""

    def devices(self, subsystem: str) -> list[str]:
        """List the sysfs paths of a subsystem's devices, links followed, sorted by name."""

    def properties(self, path: str) -> Mapping[str, str]:
        """Return a device's udev properties; none where there is no udev database."""

    def read(self, path: str) -> str:
        """Read a file's text, without the final newline."""

    def read_bytes(self, path: str, limit: int) -> bytes:
        """Read the first `limit` bytes of a file, and no more: of a configuration space, reading each byte reaches the device."""

    def write(self, path: str, text: str) -> None:
        """Write an existing file in place with one write(2)."""

    def names(self, path: str) -> list[str]:
        """List the names in a folder, sorted."""

    def resolve(self, path: str) -> str:
        """Follow every link of a path; the result is spelled as the kernel does."""


def or_none(ask: Callable[P, T], *args: P.args, **options: P.kwargs) -> T | None:
    """Ask a source; None where it raises OSError: what is asked for is not there, or cannot be read."""
    try:
        return ask(*args, **options)
    except OSError:
        return None
