"""polars frames as pandas frames in which absent values stay nullable integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    import pandas as pd


def pandas_of(frame: pl.DataFrame) -> pd.DataFrame:
    """Return the frame for pandas: nullable integers and booleans, enums as categories, texts and bytes as objects.

    Raises
    ------
    MissingPackageError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        from ptttool.errors import MissingPackageError

        raise MissingPackageError("to_pandas() needs pandas", hint="install it: pip install pandas", package="pandas") from None
    return pd.DataFrame({column.name: _values(pd, column) for column in frame.iter_columns()})


def _values(pd: Any, column: pl.Series) -> Any:
    if isinstance(column.dtype, pl.Enum):
        codes = column.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return pd.Categorical.from_codes(codes, categories=column.dtype.categories.to_list())
    if column.dtype.is_integer() or column.dtype == pl.Boolean:
        missing = column.is_null().to_numpy()
        filled = column.fill_null(False if column.dtype == pl.Boolean else 0).to_numpy()
        kind = pd.arrays.BooleanArray if column.dtype == pl.Boolean else pd.arrays.IntegerArray
        return kind(np.array(filled), np.array(missing))
    return pd.Series(column.to_list(), dtype=object)
