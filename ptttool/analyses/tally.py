"""Number of TLPs, and their bytes, by requester, kind and direction: what several analyses are made of.

The inner loop counts by requester and kind alone. The direction follows from these for nearly all TLPs (see
:meth:`ptttool.tlp.direction.DirectionRule.implied`), and so do the bytes from the Length fields: what differs is counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ptttool.analyses.sums import SumTable, summed
from ptttool.kernel.kinds import count_kinds
from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT, Array, Values, plain
from ptttool.tlp.bulk import KIND_MASK
from ptttool.tlp.codes import TYPES
from ptttool.tlp.columns import DIRECTIONS, KINDS
from ptttool.tlp.direction import EITHER, DirectionRule

K = TypeVar("K", bound=Hashable)

# Kinds of a requester in a table; a power of two above len(KINDS).
_ROW = KIND_MASK + 1
_ROW_BITS = KIND_MASK.bit_length()
# A key has 22 bits. Above them stands what is summed: Length fields of all kinds; bytes that byte enables leave out; and for each direction
# the Length fields of TLPs with a direction of their own, which are among the first, too.
_KEY_BITS = 17 + _ROW_BITS
_DISABLED, _APART = 1, 2
# Their number, and their sum.
_HOW = (np.add, np.add)
# Sums that are looked at a time.
_CHUNK = 1 << 12

Array64 = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint32]

COLUMNS = ("kind", "requester", "length_dw", "disabled_bytes", "own_direction")
"""The columns that a tally adds up."""


def _bytes_of_a_dw() -> tuple[Array64, Array64]:
    """Return how many bytes a kind carries, and how many it asks for, for each DW of its Length: shapes (32,)."""
    carried, asked = np.zeros(_ROW, dtype=np.int64), np.zeros(_ROW, dtype=np.int64)
    for tlp_type in TYPES.values():
        kind = KINDS.index(tlp_type.kind)
        carried[kind] = 4 if tlp_type.has_data else 0
        if tlp_type.family == "atomic":
            asked[kind] = 2 if tlp_type.kind == "CAS" else 4
        elif tlp_type.tlp_class == "NP" and not tlp_type.has_data:
            asked[kind] = 4
    return carried, asked


_CARRIED, _ASKED = _bytes_of_a_dw()
_IS_READ = (_ASKED > 0) & (_CARRIED == 0)


CLASS_OF: dict[str, str | None] = {"Unknown": None, **{tlp_type.kind: tlp_type.tlp_class for tlp_type in TYPES.values()}}
"""The class of each kind."""


class Cell(NamedTuple):
    """Sums of TLPs of one direction, requester and kind.

    Parameters
    ----------
    direction : str or None
        None for unknown TLPs, which have none.
    requester : int or None
        Requester ID; None for unknown TLPs.
    kind : str
        Kind.
    records : int
        Number of TLPs.
    payload : int
        Bytes of data that they carried.
    asked : int
        Bytes that reads and atomics asked for; 0 for writes, which carry theirs.
    """

    direction: str | None
    requester: int | None
    kind: str
    records: int
    payload: int
    asked: int

    @property
    def tlp_class(self) -> str | None:
        """Class; None for unknown TLPs."""
        return CLASS_OF[self.kind]


def _keys(requesters: Array, codes: Array) -> Array:
    """Return a key for each TLP: the number of its requester above the code of its kind. Keys of TLPs without one are below."""
    keys = requesters.astype(np.uint32) + np.uint32(1)
    keys <<= np.uint32(_ROW_BITS)
    keys |= codes.astype(np.uint32, copy=False)
    return keys


def _of(table: SumTable, keys: Keys, what: int = 0) -> Array64:
    """Return number and sum of each key: shape (2, n)."""
    own_keys, *sums = table.rows()
    if not len(own_keys):
        return np.zeros((2, len(keys)), dtype=np.int64)
    keys = keys | np.uint32(what << _KEY_BITS)
    at = np.minimum(np.searchsorted(own_keys, keys), len(own_keys) - 1)
    key_sums: Array64 = np.stack([each[at] for each in sums]) * (own_keys[at] == keys)
    return key_sums


def _of_direction(table: SumTable, keys: Keys, direction: int, implied: Array) -> Array64:
    """Return records, DWs and disabled bytes of one direction: shape (3, n). `implied`: the direction that the rule implies, by key."""
    here = implied == direction
    sums = _of(table, keys) * here
    for apart in range(len(DIRECTIONS)):
        # They are among the others, too: with the direction that is implied.
        sums += _of(table, keys, _APART + apart) * (int(apart == direction) - here)
    # Disabled bytes are of requests, whose direction is always implied.
    return np.concatenate((sums, _of(table, keys, _DISABLED)[1:] * here))


class Tally:
    """Sums over TLPs; those of parts of a recording merge in any order.

    Attributes
    ----------
    completers : Counter of int, or None
        Number of completions by completer ID, without those whose completer is their requester; None where they are not counted.
    """

    def __init__(self) -> None:
        self.completers: Counter[int] | None = None
        # By the rule for the direction; nearly all recordings have one.
        self._tables: dict[DirectionRule, SumTable] = {}

    def records(self) -> Iterator[tuple[int | None, int, int]]:
        """Yield requester, code of the kind, and number of TLPs, ascending; None is before all requesters."""
        for keys in self._keys():
            counts = np.sum([_of(table, keys)[0] for table in self._tables.values()], axis=0)
            for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
                yield _requester_of(key), key & KIND_MASK, count

    def _keys(self) -> Iterator[Keys]:
        """Yield all keys, ascending, some at a time."""
        key_sets = [table.rows()[0] for table in self._tables.values()]
        keys = key_sets[0] if len(key_sets) == 1 else np.unique(np.concatenate(key_sets)) if key_sets else np.empty(0, dtype=np.uint32)
        keys = keys[: np.searchsorted(keys, 1 << _KEY_BITS)].astype(np.uint32, copy=False)
        for start in range(0, len(keys), _CHUNK):
            yield keys[start : start + _CHUNK]

    def add(self, batch: Batch) -> None:
        """Add TLPs.

        Parameters
        ----------
        batch : Batch
            TLPs with the columns ``kind`` and ``requester``; the others of :data:`COLUMNS` and ``completer`` are counted where they are
            among them. The fact ``direction`` is the rule for their
            direction.
        """
        rule = batch.facts.get("direction", EITHER)
        assert isinstance(rule, DirectionRule)
        sums = self._tables.setdefault(rule, SumTable(*_HOW))
        requesters = batch.values("requester")
        lengths = batch.values("length_dw") if "length_dw" in batch.columns else ABSENT
        codes, ids, dws = plain(batch.values("kind").array, np.uint8), plain(requesters.array, np.uint16), plain(lengths.array, np.uint16)
        # A row for each key that there may be: memory that is not written to costs nothing.
        table, keys = np.zeros(((1 << 16) + 1 << _ROW_BITS, 2), dtype=np.int64), np.empty(batch.size, dtype=np.int64)
        columns: tuple[Any, ...] = (codes, plain(requesters.valid, np.uint8), ids, dws, table, keys)
        keys = keys[: count_kinds(_ROW_BITS, *(memoryview(column) for column in columns))]
        sums.add(keys.astype(np.uint32), *table[keys].T)
        # What few TLPs have: disabled bytes, a direction of their own.
        for name in ("disabled_bytes", "own_direction"):
            values = batch.values(name) if name in batch.columns else ABSENT
            if values.array is None or values.rows is None or not len(values.rows):
                continue
            rows, numbers = values.rows, np.asarray(values.array)
            keys, what = _keys(ids[rows], codes[rows]), np.full(len(rows), _DISABLED)
            if name == "own_direction":
                what, numbers = _APART + numbers.astype(np.intp), dws[rows] if len(dws) else np.zeros(len(rows), dtype=np.uint16)
            sums.add(*summed(_HOW, keys | what.astype(np.uint32) << np.uint32(_KEY_BITS), None, numbers))
        if "completer" in batch.columns:
            self._add_completers(requesters, batch.values("completer"))

    def _add_completers(self, requesters: Values, completers: Values) -> None:
        self.completers = Counter() if self.completers is None else self.completers
        if completers.array is None or requesters.array is None:
            return
        differs: Any = completers.array != requesters.array
        if completers.valid is not None:
            differs &= completers.valid
        counts = np.bincount(np.asarray(completers.array)[differs])
        self.completers.update({each: int(counts[each]) for each in np.flatnonzero(counts).tolist()})

    def merge(self, other: Tally) -> None:
        """Add the sums of other TLPs."""
        for rule, more in other._tables.items():
            self._tables.setdefault(rule, SumTable(*_HOW)).merge(more)
        if other.completers is not None:
            self.completers = other.completers + (self.completers or Counter())

    def cells(self) -> list[Cell]:
        """Return the sums by direction, requester and kind, of those with TLPs."""
        return [
            cell for number, direction in enumerate(DIRECTIONS) for keys in self._keys() for cell in self._cells(keys, number, direction)
        ]

    def _cells(self, keys: Keys, number: int, direction: str) -> Iterator[Cell]:
        """Yield the sums of one direction of some requesters and kinds."""
        requesters, kinds = (np.maximum(keys >> _ROW_BITS, 1) - 1).astype(np.intp), keys & KIND_MASK
        every = np.arange(len(keys))
        records, dws, disabled = np.sum(
            [_of_direction(table, keys, number, rule.implied(requesters)[every, kinds]) for rule, table in self._tables.items()], axis=0
        )
        asked = dws * _ASKED[kinds] - disabled * _IS_READ[kinds]
        some = records.nonzero()[0]
        columns = (keys, kinds, records, dws * _CARRIED[kinds], asked)
        for key, kind, *sums in zip(*(column[some].tolist() for column in columns), strict=True):
            name = KINDS[kind]
            yield Cell(None if CLASS_OF[name] is None else direction, _requester_of(key), name, *sums)


def added(cells: Iterable[Cell], key: Callable[[Cell], K]) -> dict[K, list[int]]:
    """Return number of TLPs, bytes of data, and bytes that are asked for, of the cells with each key."""
    cell_sums: dict[K, list[int]] = {}
    for cell in cells:
        sums = cell_sums.setdefault(key(cell), [0, 0, 0])
        sums[0] += cell.records
        sums[1] += cell.payload
        sums[2] += cell.asked
    return cell_sums


def _requester_of(key: int) -> int | None:
    return (key >> _ROW_BITS) - 1 if key >> _ROW_BITS else None
