"""Where facts about a machine come from: one small interface, above which all code is the same.

Paths are absolute, as the kernel spells them (``/sys/bus/event_source/devices/hisi_ptt0_2``); a source maps them to where they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Source(Protocol):
    """A machine, running or recorded."""

    @property
    def origin(self) -> str:
        """In words: ``this machine``, or the folder."""

    @property
    def live(self) -> bool:
        """True for the running machine: only there can a trace be recorded."""

    def devices(self, subsystem: str) -> list[str]:
        """The sysfs paths (links followed) of a subsystem's devices, sorted by name."""

    def properties(self, path: str) -> Mapping[str, str]:
        """A device's udev properties; empty where there is no udev database."""

    def read(self, path: str) -> str:
        """A file's text, stripped of the final newline. Raises OSError as the operating system does."""

    def write(self, path: str, text: str) -> None:
        """Write a file in place with one write(2). Raises OSError as the operating system does."""

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted. Raises OSError as the operating system does."""

    def resolve(self, path: str) -> str:
        """The path with every link followed, still as the kernel spells it."""
