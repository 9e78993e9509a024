"""Shares that add up."""

from __future__ import annotations

from collections.abc import Sequence


def percentages(parts: Sequence[int], digits: int = 1) -> list[float]:
    """Return the shares of parts in their sum in percent, rounded so that they add up to 100 exactly.

    Parameters
    ----------
    parts : sequence of int
        The parts, none below 0.
    digits : int
        Digits behind the point.

    Returns
    -------
    list of float
        As many shares; all 0 where the sum is 0. The largest remainders are rounded up.
    """
    total, units = sum(parts), 100 * 10**digits
    if not total:
        return [0.0] * len(parts)
    floors = [part * units // total for part in parts]
    remainders = sorted(range(len(parts)), key=lambda index: (-(parts[index] * units % total), index))
    for index in remainders[: units - sum(floors)]:
        floors[index] += 1
    return [floor / 10**digits for floor in floors]
