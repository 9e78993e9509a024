"""PTT records to columns: the arrays behind every output but sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import Records
from ptttool.table.batch import Batch
from ptttool.table.schema import DType, Schema
from ptttool.table.values import ABSENT, NUMPY_DTYPES, Array, Mask, Values
from ptttool.tlp.bulk import ANYTHING, KNOWN, RECORD, RULES, U32, Headers, Rule
from ptttool.tlp.columns import DW_COLUMNS, TLP_SCHEMA

# Records worked on at a time: the arrays of one step fit into a processor's second-level cache.
STEP = 1 << 14
# Columns that header words have no part in.
_OF_PLACE = ("index", "offset", "cpu")


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
    found: dict[str, Values] = {}
    for name in columns:
        match name:
            case "index":
                found[name] = Values(range(index, index + records.size))
            case "offset":
                found[name] = Values(records.offsets())
            case "cpu":
                found[name] = Values(*records.cpus())
            case _:
                found[name] = filled.values(name)
    return Batch(_selected(tuple(columns)), records.size, found)


@lru_cache(maxsize=16)
def _selected(columns: tuple[str, ...]) -> Schema:
    return TLP_SCHEMA.select(columns)


class _Filled:
    """The values of every column for every record, and the traits that say which of them count."""

    def __init__(self, records: Records, columns: Sequence[str]) -> None:
        self.layout = records.layout
        self.size = records.size
        self.traits: U32 = np.empty(self.size, dtype=np.uint32)
        self.codes: Array = np.empty(self.size, dtype=np.uint8)
        self.some, self.every = 0, 0xFFFFFFFF
        # Enums are looked up by their codes: every one must be a code, whether its row has one or not.
        self.arrays: dict[str, Array] = {
            name: (np.zeros if TLP_SCHEMA[name].dtype == DType.ENUM else np.empty)(self.size, dtype=NUMPY_DTYPES[TLP_SCHEMA[name].dtype])
            for name in columns
            if name not in _OF_PLACE
        }
        done = 0
        for words in records.words:
            for start in range(0, len(words), STEP):
                part = words[start : start + STEP]
                self._fill(done, part)
                done += len(part)
        self._masks: dict[int, Mask] = {}

    def _fill(self, start: int, records: U32) -> None:
        place = slice(start, start + len(records))
        headers = self.layout.headers(records)
        self.traits[place] = headers.traits
        self.some |= headers.some
        self.every &= headers.every
        if not headers.every & KNOWN:
            self.codes[place] = headers.dw0 >> 24
        for name, array in self.arrays.items():
            source = _SOURCES[name]
            if headers.some & source.traits and (headers.v1 or not source.v1_only):
                array[place] = source.values(headers, records, self.layout)

    def values(self, name: str) -> Values:
        """Return the values of a column."""
        array, source = self.arrays.get(name), _SOURCES[name]
        if array is None or not self.some & source.traits or (source.v1_only and self.layout.pattern != 1):
            return ABSENT
        if name == "prefix":
            valid = array != 0
            if not self.every & source.traits:
                valid &= self._mask(source.traits)
            return Values(array, valid) if valid.any() else ABSENT
        return Values(array, None if self.every & source.traits else self._mask(source.traits))

    def _mask(self, traits: int) -> Mask:
        """Which records have any of the traits; the same array each time."""
        mask = self._masks.get(traits)
        if mask is None:
            mask = self._masks[traits] = (self.traits & traits) != 0
        return mask


@dataclass(frozen=True)
class _Source:
    """Where a column's values come from; records with any of ``traits`` have it."""

    values: Callable[[Headers, U32, Layout], Array]
    traits: int
    v1_only: bool = False


def _from_rule(rule: Rule) -> _Source:
    return _Source(lambda headers, _records, _layout: rule.values(headers), rule.valid, rule.v1_only)


def _word_source(number: int) -> _Source:
    return _Source(lambda _headers, records, layout: layout.header_word(records, number), ANYTHING)


def _prefix(headers: Headers, _records: U32, _layout: Layout) -> Array:
    assert headers.prefix is not None, "a column of 8DW alone"
    return headers.prefix


_SOURCES: dict[str, _Source] = {
    **{name: _from_rule(rule) for name, rule in RULES.items()},
    "time": _Source(lambda _headers, records, layout: layout.times(records), RECORD),
    "prefix": _Source(_prefix, RECORD),
    "so": _Source(lambda _headers, records, _layout: (records[:, 0] >> 21) & 1, KNOWN),
    **{name: _word_source(number) for number, name in enumerate(DW_COLUMNS)},
}
