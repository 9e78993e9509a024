"""Profiles of traffic: a module each, which registers itself with :data:`PROFILES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ptttool.generate.functions import Host
from ptttool.pci import PciAddress
from ptttool.registry import Registry

Start = Callable[[Host], None]


@dataclass(frozen=True)
class Profile:
    """``text``: what goes over the link, in words. ``port``: the root port. ``rate``: of each direction, bytes per nanosecond.

    ``payload``: the host's largest completion, bytes. ``start``: begins the traffic on the host's link.
    """

    name: str
    text: str
    port: PciAddress
    rate: float
    start: Start
    payload: int = 256


PROFILES: Registry[Profile] = Registry("profile", __name__)


def profile(
    name: str, text: str, port: str, rate: float, *, payload: int = 256
) -> Callable[[Callable[[Host], None]], Callable[[Host], None]]:
    """Register the decorated function as a profile's start."""

    def add(start: Callable[[Host], None]) -> Callable[[Host], None]:
        PROFILES.add(name, Profile(name, text, PciAddress.parse(port), rate, start, payload))
        return start

    return add
