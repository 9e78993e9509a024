"""``--where``: SQL conditions on the columns of decoded rows.

A condition is parsed and checked here, and becomes an expression of polars, which evaluates it. This adds to polars' own SQL: hexadecimal
numbers, IDs as ``'01:00.0'``, columns that have the name of a keyword, LIKE on enums, and arithmetic that does not wrap around at a
column's width. A condition that cannot be true for any row, such as an unknown kind, is an error instead of an empty result.
"""

from ptttool.table.where.condition import Where, compile_where

__all__ = ["Where", "compile_where"]
