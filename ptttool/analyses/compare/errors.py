"""Errors of two sides of recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ptttool.analyses.errors.document import Errors
from ptttool.analyses.errors.kinds import KINDS
from ptttool.analyses.shown import Cell, Column, Table, Unit, text_column


class ErrorCounts(Struct, frozen=True):
    """Errors of one kind in the recordings of both sides.

    Parameters
    ----------
    code : str
        The kind, as in the analysis ``errors``.
    meaning : str
        What it is.
    of : str
        What the errors are counted among: ``TLPs``, ``completions``, ``requests``.
    counts : list of int or None
        Errors of the first and of the second side; null where a recording of it cannot show them.
    shares : list of float or None
        Their shares of what they are counted among, from 0 to 1; null likewise.
    indexes : list of int or None
        Numbers of the first error in the recording; null where there is none, and for several recordings.
    """

    code: str
    meaning: str
    of: str
    counts: tuple[int | None, int | None]
    shares: tuple[float | None, float | None]
    indexes: tuple[int | None, int | None]


def error_counts(first: Sequence[Errors], second: Sequence[Errors]) -> list[ErrorCounts]:
    """Return the kinds of errors that at least one recording has.

    Parameters
    ----------
    first, second : sequence of Errors
        The errors of the recordings of each side.
    """
    rows = []
    for code, kind in KINDS.items():
        if any(each.code == code for one in (*first, *second) for each in one.kinds):
            one, other = (_side(side, code, kind.of.value) for side in (first, second))
            rows.append(ErrorCounts(code, kind.meaning, kind.of.value, (one[0], other[0]), (one[1], other[1]), (one[2], other[2])))
    return rows


def _side(side: Sequence[Errors], code: str, of: str) -> tuple[int | None, float | None, int | None]:
    found = [next((kind for kind in one.kinds if kind.code == code), None) for one in side]
    if any(kind is None and code in one.not_seen for kind, one in zip(found, side, strict=True)):
        return None, None, None
    count = sum(kind.count for kind in found if kind is not None)
    whole = sum({"TLPs": one.tlps, "completions": one.completions, "requests": one.requests}[of] for one in side)
    return count, count / whole if whole else 0.0, found[0].index if len(side) == 1 and found[0] is not None else None


_COLUMNS: Final = (
    text_column("Error"),
    text_column("What", 2),
    Column("A"),
    Column("B"),
    Column("Share A", Unit.PERCENT, weight=1),
    Column("Share B", Unit.PERCENT, weight=1),
    text_column("Of", 2),
    Column("First A", Unit.INDEX, weight=3),
    Column("First B", Unit.INDEX, weight=3),
)


def error_table(errors: Sequence[ErrorCounts]) -> Table:
    """Return the table of errors; a count that is not known is empty."""
    rows: list[list[Cell]] = []
    for each in errors:
        shares = [None if share is None else 100 * share for share in each.shares]
        rows.append([each.code, each.meaning, *each.counts, *shares, each.of, *each.indexes])
    return Table("Errors", _COLUMNS, rows)
