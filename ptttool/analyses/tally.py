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
from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT, Array, Values
from ptttool.tlp.bulk import KIND_MASK
from ptttool.tlp.codes import TYPES
from ptttool.tlp.columns import DIRECTIONS, KINDS
from ptttool.tlp.direction import EITHER, DirectionRule

K = TypeVar("K", bound=Hashable)

# Rows worked on at a time: their arrays fit into a processor's second-level cache, and their sums into one table.
_STEP, _COUNT_BITS = 1 << 15, 21
# Kinds in a row of a table; a power of two above len(KINDS).
_ROW = KIND_MASK + 1
_ROW_BITS = KIND_MASK.bit_length()
# Requesters of a batch that have rows in a table; TLPs of more are sorted.
_MOST_ROWS = 1 << 12
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
    for known in TYPES.values():
        kind = KINDS.index(known.kind)
        carried[kind] = 4 if known.has_data else 0
        if known.family == "atomic":
            asked[kind] = 2 if known.kind == "CAS" else 4
        elif known.tlp_class == "NP" and not known.has_data:
            asked[kind] = 4
    return carried, asked


_CARRIED, _ASKED = _bytes_of_a_dw()
_IS_READ = (_ASKED > 0) & (_CARRIED == 0)


CLASS_OF: dict[str, str | None] = {"Unknown": None, **{known.kind: known.tlp_class for known in TYPES.values()}}
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
    known, *sums = table.rows()
    if not len(known):
        return np.zeros((2, len(keys)), dtype=np.int64)
    keys = keys | np.uint32(what << _KEY_BITS)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Array64 = np.stack([each[at] for each in sums]) * (known[at] == keys)
    return found


def _of_direction(table: SumTable, keys: Keys, direction: int, implied: Array) -> Array64:
    """Return records, DWs and disabled bytes of one direction: shape (3, n). `implied`: the direction that the rule implies, by key."""
    here = implied == direction
    sums = _of(table, keys) * here
    for apart in range(len(DIRECTIONS)):
        # They are among the others, too: with the direction that is implied.
        sums += _of(table, keys, _APART + apart) * (int(apart == direction) - here)
    # Disabled bytes are of requests, whose direction is always implied.
    return np.concatenate((sums, _of(table, keys, _DISABLED)[1:] * here))


class _Table:
    """Sums of a batch in a table with a row of 32 kinds for each requester: the quickest way, where requesters are few."""

    def __init__(self) -> None:
        # Requesters get a row as they turn up. Row 0 is for TLPs without one.
        self._requesters: npt.NDArray[np.intp] = np.zeros(1, dtype=np.intp)
        self._place_of: npt.NDArray[np.intp] = np.zeros(1 << 16, dtype=np.intp)
        self._sums: Array64 = np.zeros((2, _ROW), dtype=np.int64)

    def add(self, codes: Array, requesters: Values, dws: Array | None) -> bool:
        """Add TLPs; return False, and add none, if there are too many requesters."""
        places = self._places(requesters, len(codes))
        size = len(self._requesters) << _ROW_BITS
        if len(self._requesters) > _MOST_ROWS:
            return False
        places |= codes
        # One table for both sums, which doubles hold exactly: DWs above the count, below 2^18 TLPs of at most 2^10 DWs.
        weights = None
        if dws is not None:
            weights = dws.astype(np.float64)
            weights *= 1 << _COUNT_BITS
            weights += 1.0
        both = np.bincount(places, weights=weights, minlength=size).astype(np.int64, copy=False)
        if self._sums.shape[1] < size:
            self._sums = np.concatenate((self._sums, np.zeros((2, size - self._sums.shape[1]), dtype=np.int64)), axis=1)
        self._sums[0] += both & ((1 << _COUNT_BITS) - 1)
        self._sums[1] += both >> _COUNT_BITS
        return True

    def sums(self) -> tuple[Array, Array, Array]:
        """Return keys, numbers and sums."""
        places = self._sums[0].nonzero()[0]
        rows = places >> _ROW_BITS
        keys = _keys(self._requesters[rows], places & KIND_MASK)
        keys[rows == 0] &= np.uint32(KIND_MASK)
        return keys, *self._sums[:, places]

    def _places(self, requesters: Values, count: int) -> npt.NDArray[np.intp]:
        """Return where the rows of requesters begin in the table."""
        if requesters.array is None:
            return np.zeros(count, dtype=np.intp)
        array: Any = requesters.array
        if requesters.valid is None:
            return self._places_of(array)
        places = np.zeros(count, dtype=np.intp)
        places[requesters.valid] = self._places_of(array[requesters.valid])
        return places

    def _places_of(self, requesters: Array) -> npt.NDArray[np.intp]:
        indexes = requesters.astype(np.intp)
        places = self._place_of.take(indexes, mode="wrap")
        if not places.all():
            is_new = np.zeros(1 << 16, dtype=np.bool_)  # quicker than to sort or to hash them
            is_new[indexes] = True
            new = np.flatnonzero(is_new & (self._place_of == 0))
            count = len(self._requesters)
            self._place_of[new] = np.arange(count, count + len(new)) << _ROW_BITS
            self._requesters = np.concatenate((self._requesters, new))
            places = self._place_of.take(indexes, mode="wrap")
        return places


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
        known = [table.rows()[0] for table in self._tables.values()]
        keys = known[0] if len(known) == 1 else np.unique(np.concatenate(known)) if known else np.empty(0, dtype=np.uint32)
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
        kinds, requesters = batch.values("kind"), batch.values("requester")
        lengths = batch.values("length_dw") if "length_dw" in batch.columns else ABSENT
        codes: Any = kinds.array
        dws: Any = None if lengths.array is None else np.asarray(lengths.array)
        table = _Table()
        for start in range(0, batch.size, _STEP):
            rows = slice(start, min(start + _STEP, batch.size))
            if not table.add(codes[rows], _part(requesters, rows), None if dws is None else dws[rows]):
                rows = slice(start, batch.size)
                keys = _keys_of(codes[rows], _part(requesters, rows))
                sums.add(*summed(_HOW, keys, None, np.zeros(len(keys), dtype=np.uint64) if dws is None else dws[rows]))
                break
        sums.add(*table.sums())
        self._add_sparse(sums, batch, codes, requesters, dws)
        if "completer" in batch.columns:
            self._add_completers(requesters, batch.values("completer"))

    def _add_sparse(self, sums: SumTable, batch: Batch, codes: Array, requesters: Values, dws: Array | None) -> None:
        """Add what few TLPs have: disabled bytes, a direction of their own."""
        numbers: Any = requesters.array
        for name in ("disabled_bytes", "own_direction"):
            values = batch.values(name) if name in batch.columns else ABSENT
            if values.array is None or values.rows is None or not len(values.rows):
                continue
            rows, found = values.rows, np.asarray(values.array)
            keys, what = _keys(numbers[rows], codes[rows]), np.full(len(rows), _DISABLED)
            if name == "own_direction":
                what, found = _APART + found.astype(np.intp), np.zeros(len(rows), dtype=np.uint64) if dws is None else dws[rows]
            sums.add(*summed(_HOW, keys | what.astype(np.uint32) << np.uint32(_KEY_BITS), None, found))

    def _add_completers(self, requesters: Values, completers: Values) -> None:
        self.completers = Counter() if self.completers is None else self.completers
        if completers.array is None or requesters.array is None:
            return
        wanted: Any = completers.array != requesters.array
        if completers.valid is not None:
            wanted &= completers.valid
        counts = np.bincount(np.asarray(completers.array)[wanted])
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
    found: dict[K, list[int]] = {}
    for cell in cells:
        sums = found.setdefault(key(cell), [0, 0, 0])
        sums[0] += cell.records
        sums[1] += cell.payload
        sums[2] += cell.asked
    return found


def _requester_of(key: int) -> int | None:
    return (key >> _ROW_BITS) - 1 if key >> _ROW_BITS else None


def _keys_of(codes: Array, requesters: Values) -> Array:
    """Return the keys of TLPs that may have no requester."""
    if requesters.array is None:
        return codes.astype(np.uint32)
    keys = _keys(np.asarray(requesters.array), codes)
    if requesters.valid is not None:
        keys[~requesters.valid] &= np.uint32(KIND_MASK)
    return keys


def _part(values: Values, rows: slice) -> Values:
    array: Any = values.array
    return Values(None if array is None else array[rows], None if values.valid is None else values.valid[rows])
