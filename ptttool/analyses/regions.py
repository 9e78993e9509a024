"""Ranges of addresses that have a name: BARs of functions, and the ranges of ``/proc/iomem``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Region:
    """A range of addresses.

    Parameters
    ----------
    first, last : int
        Its first and its last byte.
    name : str
        What it is called: ``01:00.0 BAR 0``, ``System RAM``.
    """

    first: int
    last: int
    name: str
