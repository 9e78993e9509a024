"""Compile the text of a condition into a polars expression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl
from msgspec import Struct

from ptttool.errors import UsageError
from ptttool.table.frame import type_of
from ptttool.table.schema import Column, DType, Schema
from ptttool.table.where.parser import parse


class Where(Struct, frozen=True):
    """A condition.

    Parameters
    ----------
    text : str
        The condition as the user wrote it.
    expr : polars.Expr
        The expression.
    columns : tuple of str
        The columns that it uses, in the order of the text.
    """

    text: str
    expr: pl.Expr
    columns: tuple[str, ...]

    def mask(self, frame: pl.DataFrame, rows: int) -> npt.NDArray[np.bool_]:
        """Return the rows for which the condition is true.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows, with the condition's columns.
        rows : int
            Number of rows; a frame without columns does not have it.

        Returns
        -------
        ndarray of bool, shape (rows,)
            True where the condition is true; false where it is false or null.

        Raises
        ------
        UsageError
            The condition cannot be evaluated, for example because a number is too large for a cast.
        """
        # The condition is computed as a column: as a filter, polars 2.1 treats NULL & 0 as 0.
        try:
            mask = frame.select(self.expr.alias("where")).to_series()
            if mask.null_count():
                mask = mask.fill_null(False)
        except pl.exceptions.PolarsError as error:
            raise _refused(error) from None
        # polars gives one row for what is the same for all.
        return mask.to_numpy() if mask.len() == rows else np.full(rows, mask.to_list() == [True])

    def filter(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows for which the condition is true."""
        return frame.filter(pl.Series(self.mask(frame, frame.height)))


def compile_where(text: str, schema: Schema, find_id: Callable[[str], int | None] = lambda _: None) -> Where:
    """Parse and check a condition on columns of a schema.

    Parameters
    ----------
    text : str
        The condition.
    schema : Schema
        The columns.
    find_id : callable, optional
        Returns the ID of the device with a name, or None: ``requester = 'nvme0'``.

    Raises
    ------
    UsageError
        The condition is wrong; ``position`` in its details is the character, counted from 1.
    """
    node, columns = parse(text, schema, find_id)
    where = Where(text, node.expr, columns)
    for rows in (0, 2):
        frame = _frame(rows, columns, schema)
        try:
            types = frame.select(node.expr.alias("where")).schema
        except pl.exceptions.PolarsError as error:
            raise _refused(error) from None
        if types["where"] != pl.Boolean:
            raise UsageError(f"--where: the result is {types['where']}, not true or false", code="bad-where")
        where.filter(frame)
    return where


def _frame(rows: int, names: tuple[str, ...], schema: Schema) -> pl.DataFrame:
    """Make a frame of up to two rows to try the condition on: one of example values, one of nulls."""
    return pl.DataFrame({name: pl.Series(name, [_example(schema[name]), None][:rows], dtype=type_of(schema[name])) for name in names})


def _example(column: Column) -> object:
    if column.dtype == DType.ENUM:
        return column.values[0]
    return {DType.TEXT: "", DType.BYTES: b"", DType.BOOL: True}.get(column.dtype, 1)


def _refused(error: Exception) -> UsageError:
    """Make the error for a condition that polars rejects."""
    return UsageError(f"--where: {str(error).splitlines()[0][:200]}", code="bad-where")
