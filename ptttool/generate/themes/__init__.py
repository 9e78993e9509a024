"""Themes: the parts of the profile ``mixed``. Each is a process that does one thing once.

A request and its completions, or a message and its answer, are one theme.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct

from ptttool.generate.functions import PAGE, Function, Host
from ptttool.generate.link import Link, Process
from ptttool.registry import Registry

LOW_BUFFERS, BUFFERS, REGISTERS = 0x7000_0000, 0x38_0000_0000, 0x80_4000_0000
# Max_Payload_Size of the endpoint: the largest that there is.
LONGEST_PAYLOAD = 4096


class Scene(Struct, frozen=True, eq=False):
    """An endpoint of two functions, and one behind a switch."""

    host: Host
    endpoint: Function
    second: Function
    remote: Function

    @property
    def link(self) -> Link:
        """The link between host and functions."""
        return self.host.link

    def buffer(self) -> int:
        """Return the address of a random page of memory, above or below 4 GiB."""
        rng = self.link.rng
        return (BUFFERS if rng.random() < 0.7 else LOW_BUFFERS) + rng.randrange(1 << 14) * PAGE


Act = Callable[[Scene], Process]


class Theme(NamedTuple):
    """What is done once, and the mean time until it is done again, in nanoseconds."""

    act: Act
    gap: float


THEMES: Registry[Theme] = Registry("theme", __name__)


def theme(gap: float) -> Callable[[Act], Act]:
    """Register the decorated function as a theme with a mean gap in nanoseconds."""

    def add(act: Act) -> Act:
        THEMES.add(act.__name__, Theme(act, gap))
        return act

    return add
