"""Elements of packet traces as row groups of a Parquet file, straight from the arrays of their batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptttool.decoders.element_batch import I64, Array, Elements, FieldPart
from ptttool.decoders.elements import FLAG_NAMES, KIND_NAMES
from ptttool.exporters.packet_rows import Rows
from ptttool.parquet.file import RowGroup
from ptttool.parquet.pages import ABSENT, Cells, Strings, Texts, chunk_of, levels_of
from ptttool.parquet.schema import Column
from ptttool.table import batch as table
from ptttool.table import schema

_FIXED = (
    Column("file", "text"), Column("cpu", "i32"), Column("index", "u64", near=True), Column("size", "u64"), Column("channel", "i32"),
    Column("timestamp", "u64", near=True), Column("protocol", "text"), Column("kind", "enum", KIND_NAMES), Column("flags", "text"),
)  # fmt: skip
_RAW = Column("raw", "bytes")


def columns_of(fields: Sequence[schema.Column], *, raw: bool) -> tuple[Column, ...]:
    """Columns of the file: where an element comes from, what every element has, fields, bytes."""
    own = (Column(field.name, field.dtype, field.values, near=field.dtype in ("u32", "u64", "i64")) for field in fields)
    return (*_FIXED, *own, *((_RAW,) if raw else ()))


class Groups:
    """Makes row groups with the columns of :func:`columns_of`."""

    def __init__(self, fields: Sequence[schema.Column], *, raw: bool) -> None:
        self.columns = columns_of(fields, raw=raw)
        self._fields = tuple(fields)
        self._raw = raw

    def group_of(self, rows: Sequence[Rows]) -> RowGroup:
        """All rows, in order."""
        batch = Elements.join([part.batch for part in rows])
        count = len(batch)
        cells = [*_places(rows), *_fixed(batch)]
        shared = _Shared(count)
        for field in self._fields:
            parts = batch.parts.get(field.name)
            if not parts:
                cells.append(ABSENT)
            elif field.dtype in ("bytes", "text"):
                cells.append(_strings(batch.strings(field.name)))
            else:
                cells.append(shared.cells(parts, table.NUMPY_DTYPES[field.dtype]))
        if self._raw:
            cells.append(_strings(batch.raw))
        return RowGroup(count, tuple(chunk_of(column, cell, count) for column, cell in zip(self.columns, cells, strict=True)))


def _places(rows: Sequence[Rows]) -> list[Cells]:
    """Where elements come from: file and CPU."""
    counts = [len(part) for part in rows]
    cpus = np.repeat(np.array([-1 if part.cpu is None else part.cpu for part in rows], dtype=np.int32), counts)
    names = tuple(dict.fromkeys(part.file for part in rows if part.file is not None))
    if not names:
        return [ABSENT, _some(cpus, cpus >= 0)]
    codes = np.repeat(np.array([names.index(part.file or "") for part in rows], dtype=np.uint16), counts)
    return [Cells(Texts(codes, names)), _some(cpus, cpus >= 0)]


def _fixed(batch: Elements) -> list[Cells]:
    """What every element has."""
    flagged = batch.flags != 0
    flags = _some(batch.flags, flagged)
    if flags.present is not None:
        flags = Cells(Texts((batch.flags[flagged] - 1).astype(np.uint8), FLAG_NAMES[1:]), flags.levels)
    return [
        Cells(batch.index),
        Cells(batch.size),
        _some(batch.channel, batch.channel >= 0),
        _some(batch.timestamp, batch.timed),
        Cells(Texts(batch.protocol, batch.protocols)),
        Cells(batch.kind),
        flags,
    ]


def _some(values: Array, having: Array) -> Cells:
    """The values of those rows that have one."""
    if having.all():
        return Cells(values)
    return Cells(values[having], levels_of(having)) if having.any() else ABSENT


def _strings(spans: table.Strings) -> Cells:
    having = spans.start >= 0
    if having.all():
        return Cells(Strings(spans.data, spans.start, spans.length))
    return Cells(Strings(spans.data, spans.start[having], spans.length[having]), levels_of(having)) if having.any() else ABSENT


class _Shared:
    """Which rows have a value: fields of one group of elements have theirs in the same rows."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._known: dict[tuple[int, ...], tuple[I64, Array, bytes | None, bool]] = {}

    def cells(self, parts: Sequence[FieldPart], dtype: np.dtype[np.generic]) -> Cells:
        """A field's values. ``parts``: at least one."""
        arrays = [part.values.astype(dtype, copy=False) for part in parts if not isinstance(part.values, table.Strings)]
        values: Array = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        if len(parts) == 1 and parts[0].rows is None:
            return Cells(values)
        rows, having, levels, in_order = self._rows(parts)
        if in_order:
            return Cells(values, levels)
        whole = np.zeros(self._count, dtype=dtype)
        whole[rows] = values  # of several for one row the last
        return Cells(whole if levels is None else whole[having], levels)

    def _rows(self, parts: Sequence[FieldPart]) -> tuple[I64, Array, bytes | None, bool]:
        """Rows of all parts, a mask of them, their levels, and whether they are in order, each once."""
        key = tuple(id(part.rows) for part in parts)
        if key not in self._known:
            each = [np.arange(self._count) if part.rows is None else part.rows for part in parts]
            rows = each[0] if len(each) == 1 else np.concatenate(each)
            having = np.zeros(self._count, dtype=np.bool_)
            having[rows] = True
            levels = None if having.all() else levels_of(having)
            self._known[key] = rows, having, levels, bool((rows[1:] > rows[:-1]).all())
        return self._known[key]
