"""Shares that add up, and tables of TLPs and bytes with theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptttool.analyses.shown import Cell, Column, Table

Amounts = Sequence[int]
"""TLPs, bytes that they carried, bytes that they asked for."""


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


def amounts_table(
    title: str,
    heads: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    amounts: Sequence[Amounts],
    total: Amounts,
    more: int = 0,
    note: str = "",
) -> Table:
    """Return a table of TLPs and bytes with their shares.

    Parameters
    ----------
    title, more, note
        As of :class:`~ptttool.analyses.shown.Table`.
    heads : sequence of Column
        The first columns.
    rows : sequence of sequence of Cell
        Their cells, as many rows as are shown.
    amounts : sequence of Amounts
        What the rows amount to, and behind them what further ones do that are not shown.
    total : Amounts
        What all of them amount to.
    """
    from ptttool.analyses.shown import Column, Table, Unit

    share = Column("Share", Unit.PERCENT, weight=1)
    columns = (*heads, Column("TLPs", Unit.TLPS), share, Column("Bytes carried", Unit.BYTES), share, Column("Asked for", Unit.BYTES))
    numbers, sizes = (percentages([each[at] for each in amounts]) for at in (0, 1))
    cells = [
        (*row, tlps, number, carried, size, asked)
        for row, (tlps, carried, asked), number, size in zip(rows, amounts, numbers, sizes, strict=False)
    ]
    last = ("total", *(None for _ in heads[1:]), total[0], 100.0, total[1], 100.0 if total[1] else 0.0, total[2])
    return Table(title, columns, cells, last, more, note)
