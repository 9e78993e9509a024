"""``--where``: SQL conditions on the columns of decoded TLPs.

The condition is read and checked here, then written out as SQL that polars takes; polars evaluates it. What that adds to polars' own SQL:
hexadecimal numbers, IDs as ``'01:00.0'``, columns whose names are keywords, LIKE on kinds, arithmetic that does not wrap around at a
column's width, and an error, not an empty answer, where a condition can mean nothing.
"""

from ptttool.table.where.condition import Where, compile_where

__all__ = ["Where", "compile_where"]
