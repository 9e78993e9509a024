"""What PCIe links can carry, and what TLPs take of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from ptttool.machine.model import Link, PciFunction

FRAMING: Final = 8
"""Bytes around a TLP on a link without flits: 4 before it (STP with the sequence number), 4 behind it (LCRC), with 128b/130b encoding. With
8b/10b encoding they are 1 + 2 and 4 + 1."""
# Of what a lane sends, the share that bytes of packets can take: 8b/10b, 128b/130b, and 242 of the 256 bytes of a flit.
_ENCODINGS: Final = ((5.0, 8 / 10), (32.0, 128 / 130), (float("inf"), 242 / 256))
# Of the bytes of packets, what DLLPs (acknowledgements, flow control) and SKP ordered sets leave to TLPs: about 57.9 of 63.0 Gb/s at 8 GT/s
# x8 (Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018); with flits, 236 of the 242 bytes.
_USABLE: Final = ((32.0, 0.92), (float("inf"), 236 / 242))
_SPEED: Final = re.compile(r"(\d+(?:\.\d+)?) GT/s")
_FASTEST, _WIDEST = 1000.0, 32


class LinkRate(Struct, frozen=True):
    """What the links of the traced root ports can carry in each direction.

    Parameters
    ----------
    ports : list of str
        The root ports.
    links : list of str
        The speed and the width of each.
    bytes_per_second : float
        Bytes of packets in a second, of all of them together.
    usable_per_second : float
        What DLLPs and ordered sets leave of them to TLPs, about: what a full link carries.
    """

    ports: list[str]
    links: list[str]
    bytes_per_second: float
    usable_per_second: float


def rate_of(link: Link | None) -> float | None:
    """Return the bytes of packets that a link can carry in a second in each direction; None where its speed or width is not known.

    Parameters
    ----------
    link : Link or None
        The link as it is set now.
    """
    if link is None or link.width is None:
        return None
    speed = speed_of(link)
    if not (0 < speed <= _FASTEST and 0 < link.width <= _WIDEST):
        return None
    share = next(share for fastest, share in _ENCODINGS if speed <= fastest)
    return speed * 1e9 / 8 * share * link.width


def speed_of(link: Link) -> float:
    """Return the GT/s of a link; 0 where they are not known."""
    match = None if link.speed is None else _SPEED.match(link.speed)
    return 0.0 if match is None else float(match[1])


def rate_of_ports(ports: Iterable[PciFunction], *, fastest: bool = False) -> LinkRate | None:
    """Return what the links below root ports can carry together; None where there are none, or one is not known.

    Parameters
    ----------
    ports : iterable of PciFunction
        The root ports.
    fastest : bool
        With the fastest speed and the most lanes that each port supports: what a link is set to can change while it is traced.
    """
    names, links, whole, usable = [], [], 0.0, 0.0
    for port in ports:
        link = port.link
        if fastest and link is not None:
            link = Link(link.max_speed, link.max_width, None, None)
        rate = rate_of(link)
        if rate is None or link is None:
            return None
        names.append(str(port.address))
        links.append(f"{link.speed} x{link.width}")
        whole += rate
        usable += rate * next(share for fastest, share in _USABLE if speed_of(link) <= fastest)
    return LinkRate(names, links, whole, usable) if names else None


def rates_unknown(link: LinkRate | None, tick_ns: float | None) -> str | None:
    """Say why nothing can be held against the link; None where it can."""
    lacks = (["the speed and the width of the link"] if link is None else []) + (["the length of a tick"] if tick_ns is None else [])
    return f"without {' and '.join(lacks)}" if lacks else None
