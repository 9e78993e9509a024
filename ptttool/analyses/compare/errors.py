"""Errors of two recordings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ptttool.analyses.errors.document import ErrorKind, Errors
from ptttool.analyses.errors.kinds import KINDS
from ptttool.analyses.shown import Cell, Column, Table, Unit, text_column


class ErrorCounts(Struct, frozen=True):
    """Errors of one kind in both recordings.

    Parameters
    ----------
    code : str
        The kind, as in the analysis ``errors``.
    meaning : str
        What it is.
    of : str
        What the errors are counted among: ``TLPs``, ``completions``, ``requests``.
    counts : list of int or None
        Errors in the first and in the second recording; null where the recording cannot show them.
    shares : list of float or None
        Their shares of what they are counted among, from 0 to 1; null likewise.
    indexes : list of int or None
        Numbers of the first error in each recording; null where there is none.
    """

    code: str
    meaning: str
    of: str
    counts: tuple[int | None, int | None]
    shares: tuple[float | None, float | None]
    indexes: tuple[int | None, int | None]


def error_counts(first: Errors, second: Errors) -> list[ErrorCounts]:
    """Return the kinds of errors that at least one of two recordings has.

    Parameters
    ----------
    first, second : Errors
        The errors of each recording.
    """
    sides = first, second
    side_kinds = [{kind.code: kind for kind in side.kinds} for side in sides]
    rows = []
    for code, kind in KINDS.items():
        if any(code in kinds for kinds in side_kinds):
            one, other = (_side(side, kinds.get(code), code) for side, kinds in zip(sides, side_kinds, strict=True))
            rows.append(ErrorCounts(code, kind.meaning, kind.of.value, (one[0], other[0]), (one[1], other[1]), (one[2], other[2])))
    return rows


def _side(side: Errors, kind: ErrorKind | None, code: str) -> tuple[int | None, float | None, int | None]:
    if kind is not None:
        return kind.count, kind.share, kind.index
    return (None, None, None) if code in side.not_seen else (0, 0.0, None)


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
