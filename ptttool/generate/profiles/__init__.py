"""Profiles of traffic: one module each, which registers itself in :data:`PROFILES`."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ptttool.generate.functions import Host
from ptttool.pci import PciAddress
from ptttool.registry import Registry

Start = Callable[[Host], None]


class Profile(Struct, frozen=True):
    """A kind of traffic.

    Attributes
    ----------
    name : str
        Its name.
    text : str
        What goes over the link, for people.
    port : PciAddress
        The root port.
    rate : float
        Bytes per nanosecond in each direction.
    start : callable
        Starts the traffic on the host's link.
    payload : int
        Largest payload of the host's completions in bytes.
    """

    name: str
    text: str
    port: PciAddress
    rate: float
    start: Start
    payload: int = 256


PROFILES: Registry[Profile] = Registry("profile", __name__)


def profile(name: str, text: str, port: str, rate: float, *, payload: int = 256) -> Callable[[Start], Start]:
    """Register the decorated function as the start of a profile."""

    def add(start: Start) -> Start:
        PROFILES.add(name, Profile(name, text, PciAddress.parse(port), rate, start, payload))
        return start

    return add
