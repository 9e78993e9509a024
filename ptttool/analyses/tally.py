"""Number of TLPs, and their bytes, by requester, kind and direction: what several analyses are made of.

The inner loop counts by requester and kind alone. The direction follows from these for nearly all TLPs (see
:meth:`ptttool.tlp.direction.DirectionRule.implied`), and so do the bytes from the Length fields: what differs is counted apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ptttool.table.batch import Batch
from ptttool.table.values import ABSENT, Array, Values
from ptttool.tlp.bulk import KIND_MASK
from ptttool.tlp.codes import TYPES
from ptttool.tlp.columns import DIRECTIONS, KINDS
from ptttool.tlp.direction import EITHER, DirectionRule

# Rows worked on at a time: their arrays fit into a processor's second-level cache, and their sums into one table.
_STEP, _COUNT_BITS = 1 << 15, 21
# Kinds in a row of the tables; a power of two above len(KINDS).
_ROW = KIND_MASK + 1
_ROW_BITS = KIND_MASK.bit_length()
# A row for each requester, and one for TLPs without.
_MOST_ROWS = (1 << 16) + 1
# Cells of a table for each TLP above which sums are not made in a table of their own.
_MOST_CELLS = 4
# Rows of the tables that are worked on at a time.
_CHUNK = 1 << 12

Counts = npt.NDArray[np.int64]

COLUMNS = ("kind", "requester", "length_dw", "disabled_bytes", "own_direction")
"""The columns that a tally adds up."""


def _bytes_of_a_dw() -> tuple[Counts, Counts]:
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


@dataclass
class _Tables:
    """Sums by requester and kind, of TLPs that have their direction by one rule; arrays of shape (n, 32).

    ``dws`` are the Length fields of all kinds. ``disabled`` are bytes that byte enables leave out. ``apart`` has, by direction, the number
    of TLPs and the DWs of those with a direction of their own; they are in the other tables, too.
    """

    records: Counts = field(default_factory=lambda: _empty(1))
    dws: Counts = field(default_factory=lambda: _empty(1))
    disabled: Counts | None = None
    apart: dict[int, tuple[Counts, Counts]] = field(default_factory=dict)

    def grow(self, rows: int) -> None:
        """Make all tables have at least so many rows."""
        if len(self.records) >= rows:
            return
        rows = max(rows, min(2 * len(self.records), _MOST_ROWS))
        self.records, self.dws = _longer(self.records, rows), _longer(self.dws, rows)
        if self.disabled is not None:
            self.disabled = _longer(self.disabled, rows)
        self.apart = {number: (_longer(pair[0], rows), _longer(pair[1], rows)) for number, pair in self.apart.items()}

    def apart_of(self, direction: int) -> tuple[Counts, Counts]:
        """Return the tables of the TLPs with a direction of their own."""
        if direction not in self.apart:
            self.apart[direction] = _empty(len(self.records)), _empty(len(self.records))
        return self.apart[direction]

    def add(self, rows: Array, other: _Tables) -> None:
        """Add the sums of other TLPs: ``rows`` are the rows here of the rows there."""
        count = len(rows)
        pairs = [(self.records, other.records), (self.dws, other.dws)]
        if other.disabled is not None:
            self.disabled = _empty(len(self.records)) if self.disabled is None else self.disabled
            pairs.append((self.disabled, other.disabled))
        for direction, tables in other.apart.items():
            pairs += zip(self.apart_of(direction), tables, strict=True)
        for start in range(0, count, _CHUNK):
            some = slice(start, min(start + _CHUNK, count))
            for mine, theirs in pairs:
                mine[rows[some]] += theirs[some]

    def add_to(self, records: Counts, dws: Counts, disabled: Counts, direction: int, implied: Array, start: int) -> None:
        """Add the sums of one direction, from a row on, to tables; ``implied``: the direction that the rule implies, by row and kind."""
        count = min(len(self.records) - start, len(records))
        if count <= 0:
            return
        rows = slice(start, start + count)
        here = implied[:count] == direction
        for number, (into, table) in enumerate(((records, self.records), (dws, self.dws))):
            into[:count] += table[rows] * here
            for apart, pair in self.apart.items():
                # They are in the table, too: with the direction that is implied.
                into[:count] += pair[number][rows] * (int(apart == direction) - here)
        if self.disabled is not None:  # of requests, whose direction is always implied
            disabled[:count] += self.disabled[rows] * here


def _empty(rows: int) -> Counts:
    return np.zeros((rows, _ROW), dtype=np.int64)


def _longer(table: Counts, rows: int) -> Counts:
    return np.concatenate((table, _empty(rows - len(table))))


class Tally:
    """Sums over TLPs; those of parts of a recording merge in any order.

    Attributes
    ----------
    requesters : ndarray of intp, shape (n,)
        The requester ID of each row of the tables. Row 0 is for TLPs without one; its number means nothing.
    completers : Counter of int, or None
        Number of completions by completer ID, without those whose completer is their requester; None where they are not counted.
    """

    def __init__(self) -> None:
        # Requesters get a row of the tables as they turn up.
        self.requesters: npt.NDArray[np.intp] = np.zeros(1, dtype=np.intp)
        self.completers: Counter[int] | None = None
        # By the rule for the direction; nearly all recordings have one.
        self._tables: dict[DirectionRule, _Tables] = {}
        self._place_of = self._places_of_all()

    def _places_of_all(self) -> npt.NDArray[np.intp]:
        """Return where each requester's row begins in the tables, 0 for those without one: shape (65536,)."""
        places = np.zeros(1 << 16, dtype=np.intp)
        places[self.requesters[1:]] = np.arange(1, len(self.requesters)) << _ROW_BITS
        return places

    def __getstate__(self) -> dict[str, object]:
        """Leave out the one table that follows from another one and is larger than all the rest."""
        return {name: value for name, value in self.__dict__.items() if name != "_place_of"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._place_of = self._places_of_all()

    @property
    def records(self) -> Counts:
        """Number of TLPs by row and by the code of their kind: shape (n, 32)."""
        count = len(self.requesters)
        found = _empty(count)
        for tables in self._tables.values():
            found[: len(tables.records)] += tables.records[:count]
        return found

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
        tables = self._tables.setdefault(rule, _Tables())
        kinds, requesters = batch.values("kind"), batch.values("requester")
        lengths = batch.values("length_dw") if "length_dw" in batch.columns else ABSENT
        for start in range(0, batch.size, _STEP):
            self._add(tables, *(_part(values, start, min(start + _STEP, batch.size)) for values in (kinds, requesters, lengths)))
        self._add_sparse(tables, batch, kinds, requesters, lengths)
        if "completer" in batch.columns:
            self._add_completers(requesters, batch.values("completer"))

    def _add(self, tables: _Tables, kinds: Values, requesters: Values, lengths: Values) -> None:
        codes: Any = kinds.array
        places = self._places(requesters, len(codes))
        places |= codes
        tables.grow(len(self.requesters))
        if tables.records.size > _MOST_CELLS * len(places):  # where requesters are very many
            np.add.at(tables.records.reshape(-1), places, 1)
            if lengths.array is not None:
                np.add.at(tables.dws.reshape(-1), places, np.asarray(lengths.array).astype(np.int64))
            return
        # One table for both sums, which doubles hold exactly: DWs above the count, below 2^18 TLPs of at most 2^10 DWs.
        weights = None
        if lengths.array is not None:
            dws: Any = lengths.array
            weights = dws.astype(np.float64)
            weights *= 1 << _COUNT_BITS
            weights += 1.0
        both = np.bincount(places, weights=weights, minlength=tables.records.size).astype(np.int64, copy=False).reshape(-1, _ROW)
        tables.records += both & ((1 << _COUNT_BITS) - 1)
        tables.dws += both >> _COUNT_BITS

    def _add_sparse(self, tables: _Tables, batch: Batch, kinds: Values, requesters: Values, lengths: Values) -> None:
        """Add what few TLPs have: disabled bytes, a direction of their own."""
        codes: Any = kinds.array
        numbers: Any = requesters.array
        for name in ("disabled_bytes", "own_direction"):
            values = batch.values(name) if name in batch.columns else ABSENT
            if values.array is None or values.rows is None:
                continue
            rows, found = values.rows, np.asarray(values.array)
            places = self._places_of(numbers[rows]) | codes[rows]
            if name == "disabled_bytes":
                tables.disabled = _empty(len(tables.records)) if tables.disabled is None else tables.disabled
                np.add.at(tables.disabled.reshape(-1), places, found.astype(np.int64))
                continue
            dws: Any = np.zeros(len(rows)) if lengths.array is None else np.asarray(lengths.array)[rows]
            for direction in np.unique(found).tolist():
                some = found == direction
                count, carried = tables.apart_of(direction)
                np.add.at(count.reshape(-1), places[some], 1)
                np.add.at(carried.reshape(-1), places[some], dws[some].astype(np.int64))

    def _add_completers(self, requesters: Values, completers: Values) -> None:
        self.completers = Counter() if self.completers is None else self.completers
        if completers.array is None or requesters.array is None:
            return
        wanted: Any = completers.array != requesters.array
        if completers.valid is not None:
            wanted &= completers.valid
        counts = np.bincount(np.asarray(completers.array)[wanted])
        self.completers.update({each: int(counts[each]) for each in np.flatnonzero(counts).tolist()})

    def _places(self, requesters: Values, count: int) -> npt.NDArray[np.intp]:
        """Return where the rows of requesters begin in the tables."""
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
            new = np.zeros(1 << 16, dtype=np.bool_)  # quicker than to sort or to hash them
            new[indexes] = True
            self._add_rows(np.flatnonzero(new & (self._place_of == 0)))
            places = self._place_of.take(indexes, mode="wrap")
        return places

    def _add_rows(self, requesters: npt.NDArray[np.intp]) -> None:
        """Make rows for requesters that have none."""
        count = len(self.requesters)
        self._place_of[requesters] = np.arange(count, count + len(requesters)) << _ROW_BITS
        self.requesters = np.concatenate((self.requesters, requesters))

    def merge(self, other: Tally) -> None:
        """Add the sums of other TLPs."""
        theirs = other.requesters[1:]
        self._add_rows(theirs[self._place_of[theirs] == 0])
        rows = np.concatenate(([0], self._place_of[theirs] >> _ROW_BITS))
        for rule, more in other._tables.items():
            tables = self._tables.setdefault(rule, _Tables())
            tables.grow(len(self.requesters))
            tables.add(rows[: len(more.records)], more)
        if other.completers is not None:
            self.completers = other.completers + (self.completers or Counter())

    def cells(self) -> list[Cell]:
        """Return the sums by direction, requester and kind, of those with TLPs."""
        found: list[Cell] = []
        for number, direction in enumerate(DIRECTIONS):
            for start in range(0, len(self.requesters), _CHUNK):
                found += self._cells(number, direction, start)
        return found

    def _cells(self, number: int, direction: str, start: int) -> Iterator[Cell]:
        """Yield the sums of one direction of some requesters."""
        requesters = self.requesters[start : start + _CHUNK]
        records, dws, disabled = (_empty(len(requesters)) for _ in range(3))
        for rule, tables in self._tables.items():
            tables.add_to(records, dws, disabled, number, rule.implied(requesters), start)
        rows, kinds = np.nonzero(records)
        lengths = dws[rows, kinds]
        asked = lengths * _ASKED[kinds] - disabled[rows, kinds] * _IS_READ[kinds]
        columns = (rows, requesters[rows], kinds, records[rows, kinds], lengths * _CARRIED[kinds], asked)
        for row, requester, kind, *sums in zip(*(column.tolist() for column in columns), strict=True):
            name = KINDS[kind]
            yield Cell(None if CLASS_OF[name] is None else direction, requester if row + start else None, name, *sums)


def _part(values: Values, start: int, stop: int) -> Values:
    array: Any = values.array
    return Values(None if array is None else array[start:stop], None if values.valid is None else values.valid[start:stop])
