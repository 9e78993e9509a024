"""The front door: a condition's text in, an expression of polars out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ptttool.errors import UsageError
from ptttool.table.frame import type_of
from ptttool.table.schema import Column, DType, Schema
from ptttool.table.where.parser import parse


@dataclass(frozen=True)
class Where:
    """A condition. ``columns``: those that it looks at, in the order of the text. ``sql``: as polars was given it."""

    text: str
    sql: str
    expr: pl.Expr
    columns: tuple[str, ...]

    def mask(self, frame: pl.DataFrame, rows: int) -> npt.NDArray[np.bool_]:
        """Which rows it is true for. ``frame``: with its columns; ``rows``: of it, which a frame without columns does not tell.

        Raises UsageError where it cannot be worked out (a number too large to be cast).
        """
        # As a column of its own: where it filters, polars 2.1 takes NULL & 0 for 0.
        try:
            mask = frame.select(self.expr.alias("where")).to_series().fill_null(False)
        except pl.exceptions.PolarsError as error:
            raise _refused(error) from None
        return mask.to_numpy() if self.columns else np.full(rows, mask.to_list() == [True])

    def filter(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows for which the condition is true."""
        return frame.filter(pl.Series(self.mask(frame, frame.height)))


def compile_where(text: str, schema: Schema) -> Where:
    """Read and check a condition on columns of a schema. Raises UsageError with the place of whatever is wrong."""
    node, columns = parse(text, schema)
    try:
        expr = pl.sql_expr(node.sql)
    except pl.exceptions.PolarsError as error:
        raise _refused(error) from None
    where = Where(text, node.sql, expr, columns)
    for rows in (0, 2):
        frame = _frame(rows, columns, schema)
        try:
            found = frame.select(expr.alias("where")).schema
        except pl.exceptions.PolarsError as error:
            raise _refused(error) from None
        if found["where"] != pl.Boolean:
            raise UsageError(f"--where: it gives {found['where']}, not true or false", code="bad-where")
        where.filter(frame)
    return where


def _frame(rows: int, names: tuple[str, ...], schema: Schema) -> pl.DataFrame:
    """Rows of smallest values, one and null."""
    return pl.DataFrame({name: pl.Series(name, [_example(schema[name]), None][:rows], dtype=type_of(schema[name])) for name in names})


def _example(column: Column) -> object:
    match column.dtype:
        case DType.ENUM:
            return column.values[0]
        case DType.TEXT:
            return ""
        case DType.BYTES:
            return b""
        case DType.BOOL:
            return True
    return 1


def _refused(error: Exception) -> UsageError:
    """Something that polars alone knows to be wrong."""
    return UsageError(f"--where: {str(error).splitlines()[0][:200]}", code="bad-where")
