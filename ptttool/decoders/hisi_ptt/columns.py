"""PTT records to columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.records import Records
from ptttool.table.batch import HOLES, Batch
from ptttool.table.schema import DType, Schema
from ptttool.table.values import ABSENT, NUMPY_DTYPES, Array, Mask, Values
from ptttool.tlp.bulk import ANYTHING, KNOWN, RECORD, RULES, U32, Headers, Rule, disabled_of
from ptttool.tlp.columns import DW_COLUMNS, SPARSE, TLP_SCHEMA

# Records worked on at a time: the arrays of one step fit into a processor's second-level cache.
STEP = 1 << 14
# Columns that do not depend on the header DWs.
_POSITION = ("index", "offset", "cpu")
DIRECTION = "direction"
_SPARSE = frozenset(column.name for column in SPARSE)


def decode(records: Records, columns: Sequence[str], *, index: int = 0, findings: Findings | None = None) -> Batch:
    """Decode records to columns, just those asked for and in that order.

    Parameters
    ----------
    records : Records
        The records.
    columns : sequence of str
        Names of :data:`~ptttool.tlp.columns.TLP_SCHEMA`.
    index : int
        Number of the first TLP in the recording.
    findings : Findings or None
        Records of unknown kind are added to it.

    Returns
    -------
    Batch
        One row a record.
    """
    filled = _Filled(records, [name for name in columns if name not in records.layout.absent])
    if findings is not None and not filled.every & KNOWN:
        findings.count_unknown(filled.traits, filled.codes)
    values: dict[str, Values] = {}
    for name in columns:
        match name:
            case "index":
                values[name] = Values(range(index, index + records.size))
            case "offset":
                values[name] = Values(records.offsets())
            case "cpu":
                values[name] = Values(*records.cpus())
            case _:
                values[name] = filled.values(name)
    return Batch(_selected(tuple(columns)), records.size, values, facts={DIRECTION: records.direction, HOLES: records.holes})


@lru_cache(maxsize=16)
def _selected(columns: tuple[str, ...]) -> Schema:
    return TLP_SCHEMA.select(columns)


class _Filled:
    """The values of every column for every record, and the traits that say which of them are valid."""

    def __init__(self, records: Records, columns: Sequence[str]) -> None:
        self._records = records
        self.size = records.size
        self.traits: U32 = np.empty(self.size, dtype=np.uint32)
        self.codes: Array = np.empty(self.size, dtype=np.uint8)
        self.some, self.every = 0, 0xFFFFFFFF
        # Enums are looked up by their codes, so null rows need a valid code, too.
        self.arrays: dict[str, Array] = {
            name: (np.zeros if TLP_SCHEMA[name].dtype == DType.ENUM else np.empty)(self.size, dtype=NUMPY_DTYPES[TLP_SCHEMA[name].dtype])
            for name in columns
            if name not in _POSITION and name not in _SPARSE
        }
        self._sparse: dict[str, list[tuple[Array, Array]]] = {name: [] for name in columns if name in _SPARSE}
        done = 0
        for dws in records.dws:
            for start in range(0, len(dws), STEP):
                part = dws[start : start + STEP]
                self._fill(done, part)
                done += len(part)
        self._masks: dict[int, Mask] = {}

    def _fill(self, start: int, dws: U32) -> None:
        rows = slice(start, start + len(dws))
        headers = self._records.layout.headers(dws)
        self.traits[rows] = headers.traits
        self.some |= headers.some
        self.every &= headers.every
        if not headers.every & KNOWN:
            self.codes[rows] = headers.dw0 >> 24
        for name, array in self.arrays.items():
            source = _SOURCES[name]
            if headers.some & source.traits and (headers.v1 or not source.v1_only):
                array[rows] = source.values(headers, dws, self._records)
        for name, parts in self._sparse.items():
            positions, values = disabled_of(headers) if name == "disabled_bytes" else self._records.direction.own(headers)
            if len(positions):
                parts.append((positions + start, values))

    def values(self, name: str) -> Values:
        """Return the values of a column."""
        if name in _SPARSE:
            parts = self._sparse.get(name)
            if not parts:
                return ABSENT
            rows, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
            return Values(numbers.astype(np.uint8), None, rows)
        array, source = self.arrays.get(name), _SOURCES[name]
        if array is None or not self.some & source.traits or (source.v1_only and self._records.layout.pattern != 1):
            return ABSENT
        if name == "prefix":
            valid = array != 0
            if not self.every & source.traits:
                valid &= self._mask(source.traits)
            return Values(array, valid) if valid.any() else ABSENT
        return Values(array, None if self.every & source.traits else self._mask(source.traits))

    def _mask(self, traits: int) -> Mask:
        """Return which records have any of the traits; the array is made once."""
        mask = self._masks.get(traits)
        if mask is None:
            mask = self._masks[traits] = (self.traits & traits) != 0
        return mask


class _Source(NamedTuple):
    """Where a column's values come from; they are valid for records with any of ``traits``."""

    values: Callable[[Headers, U32, Records], Array | np.uint8]
    traits: int
    v1_only: bool = False


def _from_rule(rule: Rule) -> _Source:
    return _Source(lambda headers, _dws, _records: rule.values(headers), rule.valid, rule.v1_only)


def _dw_source(number: int) -> _Source:
    return _Source(lambda _headers, dws, records: records.layout.header_dw(dws, number), ANYTHING)


def _prefix(headers: Headers, _dws: U32, _records: Records) -> Array:
    assert headers.prefix is not None, "only 8DW records have this column"
    return headers.prefix


def _layout_code(_headers: Headers, _dws: U32, records: Records) -> np.uint8:
    return np.uint8(records.layout.eight_dw + 2 * (records.layout.pattern == 1))


_SOURCES: dict[str, _Source] = {
    **{name: _from_rule(rule) for name, rule in RULES.items()},
    "time": _Source(lambda _headers, dws, records: records.layout.times(dws), RECORD),
    "prefix": _Source(_prefix, RECORD),
    DIRECTION: _Source(lambda headers, _dws, records: records.direction.codes(headers), KNOWN),
    "so": _Source(lambda _headers, dws, _records: (dws[:, 0] >> 21) & 1, KNOWN),
    **{name: _dw_source(number) for number, name in enumerate(DW_COLUMNS)},
    "layout": _Source(_layout_code, ANYTHING),
}
