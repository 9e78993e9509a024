"""The rows of a batch as dictionaries, one value at a time: what is read off its arrays as the documentation of tables says."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptttool.table.batch import Batch
from ptttool.table.schema import DType
from ptttool.table.values import Strings, Texts


def rows_of(batch: Batch) -> list[dict[str, Any]]:
    """Each row with the columns of which it has a value, in the order of the schema."""
    rows: list[dict[str, Any]] = [{} for _ in range(len(batch))]
    for column in batch.schema:
        array, valid, some = batch.values(column.name)
        if array is None:
            continue
        if some is not None:
            assert valid is None
            assert (some[1:] > some[:-1]).all()
            assert len(some) == len(array)
        else:
            assert len(array) == len(batch)
            assert valid is None or len(valid) == len(batch)
        for position, row in enumerate(range(len(batch)) if some is None else some.tolist()):
            if valid is not None and not valid[row]:
                continue
            value: Any
            if isinstance(array, Strings):
                value = array[position]
                value = value.decode() if value is not None and column.dtype == DType.TEXT else value
                assert value is not None or some is None
            elif isinstance(array, Texts):
                value = array.texts[int(array.codes[position])]
            else:
                number = array[position]
                value = column.values[int(number)] if column.dtype == DType.ENUM else np.asarray(number).item()
            if value is not None:
                rows[row][column.name] = value
    return rows
