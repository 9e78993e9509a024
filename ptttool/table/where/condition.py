"""The front door: a condition's text in, an expression of polars out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ptttool.errors import UsageError
from ptttool.table.where.parser import parse
from ptttool.tlp.columns import BY_NAME, ENUMS

_DTYPES: dict[str, pl.DataType] = {"u8": pl.UInt8(), "u16": pl.UInt16(), "u32": pl.UInt32(), "u64": pl.UInt64(), "i32": pl.Int32()}


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
        """The rows for which it is true."""
        return frame.filter(pl.Series(self.mask(frame, frame.height)))


def compile_where(text: str) -> Where:
    """Read and check a condition. Raises UsageError with the place of whatever is wrong."""
    node, columns = parse(text)
    try:
        expr = pl.sql_expr(node.sql)
    except pl.exceptions.PolarsError as error:
        raise _refused(error) from None
    where = Where(text, node.sql, expr, columns)
    for rows in (0, 2):
        frame = _frame(rows)
        try:
            schema = frame.select(expr.alias("where")).schema
        except pl.exceptions.PolarsError as error:
            raise _refused(error) from None
        if schema["where"] != pl.Boolean:
            raise UsageError(f"--where: it gives {schema['where']}, not true or false", code="bad-where")
        where.filter(frame)
    return where


def _frame(rows: int) -> pl.DataFrame:
    """Rows of smallest values, one and none."""
    return pl.DataFrame(
        {
            name: pl.Series(name, [ENUMS[name][0] if column.dtype == "enum" else 1, None][:rows], dtype=_dtype(name))
            for name, column in BY_NAME.items()
        }
    )


def _dtype(name: str) -> pl.DataType:
    return pl.Enum(ENUMS[name]) if name in ENUMS else _DTYPES[BY_NAME[name].dtype]


def _refused(error: Exception) -> UsageError:
    """Something that polars alone knows to be wrong."""
    return UsageError(f"--where: {str(error).splitlines()[0][:200]}", code="bad-where")
