"""Elements as arrays, one entry an element: what the decoders of packets make.

:meth:`Elements.batch` gives them the form that the filter, the analyses and the exporters take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ptttool.decoders.elements.model import (
    CUSTOM,
    FIELDS_BY_NAME,
    FLAG_NAMES,
    KIND_NAMES,
    NO_SYNC,
    REASON_CODES,
    STRICT_FLAGS,
    UNKNOWN,
    Element,
    Flags,
)
from ptttool.table.batch import Batch
from ptttool.table.schema import Column, DType, Schema
from ptttool.table.values import ABSENT, NO_BYTES, NUMPY_DTYPES, Array, Strings, Texts, Values

U8: TypeAlias = NDArray[np.uint8]
I64: TypeAlias = NDArray[np.int64]
U64: TypeAlias = NDArray[np.uint64]
Bool: TypeAlias = NDArray[np.bool_]

__all__ = ["I64", "NO_BYTES", "U8", "U64", "Array", "Bool", "Elements", "FieldPart", "Strings"]

_STRICT_REASONS = [REASON_CODES[name] for name in ("bad_packet", "bad_image", "not_followed")]


class FieldPart(NamedTuple):
    """Values of one field for some elements.

    Parameters
    ----------
    rows : ndarray of int64 or None
        The elements, ascending; None for all of them.
    values : ndarray or Strings
        One value for each of `rows`.
    """

    rows: I64 | None
    values: Array | Strings


class Elements:
    """Elements of one feed, in order.

    A field is kept only for the elements that have it, see :meth:`put`. All other arrays have one entry an element.

    Parameters
    ----------
    protocol : str
        Name of the protocol of all elements.
    index, size : ndarray of uint64
        Offset of the packet in its stream, and the bytes that the element stands for.
    kind : ndarray of uint8 or int
        Positions in :data:`~.model.KIND_NAMES`.
    channel : ndarray of int32 or int
        Source ID or trace ID; -1 for none.
    flags : ndarray of uint32 or int
        :class:`~.model.Flags`.
    timestamp : ndarray of uint64, optional
        Timestamps; any value where `timed` is false.
    timed : ndarray of bool, optional
        Which elements have a timestamp; by default all, if there are timestamps.
    raw : Strings, optional
        Bytes of the packets.

    Attributes
    ----------
    protocols : tuple of str
        Names of the protocols.
    protocol : ndarray of uint8
        Position of each element's protocol in `protocols`.
    parts : dict of str to list of FieldPart
        Fields by name, in the order in which they were put.
    """

    def __init__(
        self,
        protocol: str,
        index: Array,
        size: Array,
        *,
        kind: Array | int = CUSTOM,
        channel: Array | int = -1,
        flags: Array | int = 0,
        timestamp: Array | None = None,
        timed: Bool | None = None,
        raw: Strings | None = None,
    ) -> None:
        count = len(index)
        self.protocols: tuple[str, ...] = (protocol,)
        self.protocol: U8 = np.zeros(count, dtype=np.uint8)
        self.index: U64 = np.asarray(index, dtype=np.uint64)
        self.size: U64 = np.asarray(size, dtype=np.uint64)
        self.kind: U8 = _filled(kind, count, np.uint8)
        self.channel: NDArray[np.int32] = _filled(channel, count, np.int32)
        self.flags: NDArray[np.uint32] = _filled(flags, count, np.uint32)
        self.timestamp: U64 = np.zeros(count, dtype=np.uint64) if timestamp is None else np.asarray(timestamp, dtype=np.uint64)
        self.timed: Bool = np.full(count, timestamp is not None) if timed is None else timed
        self.raw = Strings.none(count) if raw is None else raw
        self.parts: dict[str, list[FieldPart]] = {}

    def __len__(self) -> int:
        return len(self.index)

    @staticmethod
    def empty(protocol: str = "") -> Elements:
        """Return no elements."""
        return Elements(protocol, np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64))

    def put(self, name: str, values: Array | Strings | int, rows: Array | None = None) -> None:
        """Give elements a field.

        A field may be put several times; where two values are for the same element, the last one counts.

        Parameters
        ----------
        name : str
            Name of the field.
        values : ndarray, Strings or int
            One value for each row; an integer is the value of all of them. Enum fields take the codes of their values.
        rows : ndarray of int64, optional
            The elements, ascending; by default all of them.
        """
        if isinstance(values, int):
            values = np.full(len(self) if rows is None else len(rows), values, dtype=np.int64 if values < 0 else np.uint64)
        if len(values):
            self.parts.setdefault(name, []).append(FieldPart(rows, values))

    def column(self, name: str, dtype: DType | None = None) -> tuple[Array, Bool]:
        """Return a field for every element.

        Parameters
        ----------
        name : str
            Name of the field.
        dtype : DType, optional
            Type of its values, where the field is not one of :data:`~.model.FIELDS`.

        Returns
        -------
        values : ndarray, shape (len(self),)
            Values; 0 where an element does not have the field.
        valid : ndarray of bool, shape (len(self),)
            Which elements have the field.
        """
        kind = NUMPY_DTYPES[dtype or FIELDS_BY_NAME[name].dtype]
        parts = self.parts.get(name, [])
        if len(parts) == 1 and parts[0].rows is None and not isinstance(parts[0].values, Strings):
            return parts[0].values.astype(kind, copy=False), np.ones(len(self), dtype=np.bool_)
        values, valid = np.zeros(len(self), dtype=kind), np.zeros(len(self), dtype=np.bool_)
        for part in parts:
            rows = slice(None) if part.rows is None else part.rows
            assert not isinstance(part.values, Strings), f"{name} holds bytes"
            values[rows] = part.values
            valid[rows] = True
        return values, valid

    def strings(self, name: str) -> Strings:
        """Return a field of bytes or text for every element."""
        parts = self.parts.get(name, [])
        if len(parts) == 1 and parts[0].rows is None:
            assert isinstance(parts[0].values, Strings)
            return parts[0].values
        whole = Strings.join([part.values for part in parts if isinstance(part.values, Strings)] or [Strings.none(0)])
        start, length = np.full(len(self), -1, dtype=np.int64), np.zeros(len(self), dtype=np.int64)
        at = 0
        for part in parts:
            rows = slice(None) if part.rows is None else part.rows
            start[rows] = whole.start[at : at + len(part.values)]
            length[rows] = whole.length[at : at + len(part.values)]
            at += len(part.values)
        return Strings(whole.data, start, length)

    def batch(
        self, schema: Schema, *, names: Sequence[str] | None = None, cpu: int | Array | None = None, file: str | None = None
    ) -> Batch:
        """Return the elements as rows of a table; arrays are shared where possible.

        Parameters
        ----------
        schema : Schema
            Columns of the elements' stack, see :func:`~.model.schema_of`.
        names : sequence of str, optional
            The columns that are wanted; by default all.
        cpu : int, ndarray of int32 or None
            CPU of all elements or of each (-1 for none).
        file : str or None
            Name of the recording.

        Returns
        -------
        Batch
            Fields that elements have in the same rows share their `rows` array.
        """
        chosen = schema if names is None else schema.select(names)
        rows = _Rows(len(self))
        return Batch(chosen, len(self), {column.name: self._values(column, rows, cpu, file) for column in chosen})

    def _values(self, column: Column, rows: _Rows, cpu: int | Array | None, file: str | None) -> Values:
        """Return one column of a table."""
        match column.name:
            case "index" | "size" | "kind" | "raw":
                return Values(getattr(self, column.name))
            case "file":
                return ABSENT if file is None else Values(Texts(np.zeros(len(self), dtype=np.uint8), (file,)))
            case "cpu":
                if cpu is None:
                    return ABSENT
                cpus = np.full(len(self), cpu, dtype=np.int32) if isinstance(cpu, int) else cpu
                return _where(cpus, cpus >= 0)
            case "channel":
                return _where(self.channel, self.channel >= 0)
            case "timestamp":
                return _where(self.timestamp, self.timed)
            case "protocol":
                return Values(Texts(self.protocol, self.protocols))
            case "flags":
                odd = np.flatnonzero(self.flags)
                return Values(Texts((self.flags[odd] - 1).astype(np.uint8), FLAG_NAMES[1:]), None, odd) if len(odd) else ABSENT
        parts = self.parts.get(column.name)
        if not parts:
            return ABSENT
        if column.dtype not in (DType.BYTES, DType.TEXT):
            return rows.values([(part.rows, _cast(part.values, column.dtype)) for part in parts])
        if len(parts) == 1 and parts[0].rows is not None and rows.ascends(parts[0].rows):
            strings = parts[0].values
            assert isinstance(strings, Strings)
            if not (strings.start < 0).any():
                return Values(strings, None, parts[0].rows)
        return Values(self.strings(column.name))

    def take(self, rows: Array) -> Elements:
        """Return some elements, in the order of `rows` (positions, each once) or those where a mask is true."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        chosen = Elements(
            "", self.index[rows], self.size[rows], kind=self.kind[rows], channel=self.channel[rows], flags=self.flags[rows],
            timestamp=self.timestamp[rows], timed=self.timed[rows], raw=self.raw.take(rows),
        )  # fmt: skip
        chosen.protocols, chosen.protocol = self.protocols, self.protocol[rows]
        position = np.full(len(self), -1, dtype=np.int64)
        position[rows] = np.arange(len(rows))
        moves: dict[int, tuple[Array, Array]] = {}  # fields of one group of elements share their rows
        for name, parts in self.parts.items():
            for part in parts:
                if id(part.rows) not in moves:
                    moved = position if part.rows is None else position[part.rows]
                    kept = np.flatnonzero(moved >= 0)
                    kept = kept[np.argsort(moved[kept], kind="stable")]
                    moves[id(part.rows)] = kept, moved[kept]
                kept, moved = moves[id(part.rows)]
                chosen.put(name, part.values.take(kept) if isinstance(part.values, Strings) else part.values[kept], moved)
        return chosen

    @staticmethod
    def join(several: Sequence[Elements], *, by_index: bool = False) -> Elements:
        """Join elements of several feeds.

        Parameters
        ----------
        several : sequence of Elements
            What is joined, one after the other.
        by_index : bool
            Sort them by their index; elements of the same index keep their order.
        """
        several = [each for each in several if len(each)]
        if len(several) < 2:
            return several[0] if several else Elements.empty()
        index = np.concatenate([each.index for each in several])
        order = np.argsort(index, kind="stable") if by_index and (index[1:] < index[:-1]).any() else None
        position: I64 | None = None  # of each element among the sorted ones
        if order is not None:
            position = np.empty(len(order), dtype=np.int64)
            position[order] = np.arange(len(order))

        def sorted_(whole: Any) -> Any:
            return whole if order is None else whole[order]

        names = ("size", "kind", "channel", "flags", "timestamp", "timed")
        arrays = {name: sorted_(np.concatenate([getattr(each, name) for each in several])) for name in names}
        raw = Strings.join([each.raw for each in several])
        whole = Elements("", sorted_(index), **arrays, raw=raw if order is None else raw.take(order))
        whole.protocols = tuple(dict.fromkeys(name for each in several for name in each.protocols))
        codes = {name: code for code, name in enumerate(whole.protocols)}
        whole.protocol = sorted_(
            np.concatenate([np.array([codes[name] for name in each.protocols], dtype=np.uint8)[each.protocol] for each in several])
        )
        at = 0
        for each in several:
            moves: dict[int, I64] = {}  # fields of one group of elements share their rows
            for name, parts in each.parts.items():
                for part in parts:
                    if id(part.rows) not in moves:
                        rows = np.arange(at, at + len(each)) if part.rows is None else part.rows + at
                        moves[id(part.rows)] = rows if position is None else position[rows]
                    whole.parts.setdefault(name, []).append(FieldPart(moves[id(part.rows)], part.values))
            at += len(each)
        return whole

    def first_violation(self) -> int | None:
        """Return the position of the first element that strict decoding does not accept; None where all are fine.

        Not accepted are reserved values, bytes that are not a packet, and packets that do not fit the program.
        """
        bad = (self.flags & np.uint32(STRICT_FLAGS)) != 0
        bad |= (self.kind == UNKNOWN) & ((self.flags & np.uint32(Flags.TRUNCATED)) == 0)
        reasons, valid = self.column("reason")
        bad |= (self.kind == NO_SYNC) & valid & np.isin(reasons, _STRICT_REASONS)
        return int(np.argmax(bad)) if bad.any() else None

    def objects(self, columns: Sequence[Column] | Schema = ()) -> Iterator[Element]:
        """Yield the elements as objects, for messages and tests.

        Parameters
        ----------
        columns : sequence of Column or Schema
            Fields of the protocol; those of :data:`~.model.FIELDS` are known.
        """
        columns_by_name = {**{column.name: column for column in columns}, **FIELDS_BY_NAME}
        own: list[dict[str, Any]] = [{} for _ in range(len(self))]
        for name in sorted(self.parts, key=list(columns_by_name).index):
            for part in self.parts[name]:
                rows = range(len(self)) if part.rows is None else part.rows.tolist()
                for row, value in zip(rows, _plain(part.values, columns_by_name[name]), strict=True):
                    if value is not None:
                        own[row][name] = value
        for row, fields in enumerate(own):
            yield Element(
                index=int(self.index[row]),
                size=int(self.size[row]),
                channel=int(self.channel[row]) if self.channel[row] >= 0 else None,
                timestamp=int(self.timestamp[row]) if self.timed[row] else None,
                protocol=self.protocols[self.protocol[row]],
                kind=KIND_NAMES[self.kind[row]],
                fields=fields,
                raw=self.raw[row],
                flags=Flags(int(self.flags[row])),
            )


def _filled(value: Array | int, count: int, dtype: type[np.generic]) -> Any:
    return np.full(count, value, dtype=dtype) if isinstance(value, int) else np.asarray(value, dtype=dtype)


def _plain(values: Array | Strings, column: Column) -> list[Any]:
    """Return Python values of a part of a field."""
    if isinstance(values, Strings):
        texts = [values[row] for row in range(len(values))]
        return [None if each is None else each.decode() for each in texts] if column.dtype == DType.TEXT else list(texts)
    plain: list[Any] = values.astype(NUMPY_DTYPES[column.dtype], copy=False).tolist()
    return [column.values[code] for code in plain] if column.dtype == DType.ENUM else plain


def _where(array: Array, valid: Bool) -> Values:
    """Return dense values with a validity mask, in its shortest form."""
    if valid.all():
        return Values(array)
    return Values(array, valid) if valid.any() else ABSENT


def _cast(values: Array | Strings, dtype: DType) -> Array:
    assert not isinstance(values, Strings)
    return values.astype(NUMPY_DTYPES[dtype], copy=False)


class _Rows:
    """The rows of fields, put together once for all fields that have the same.

    Parameters
    ----------
    count : int
        Number of elements.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._known: dict[tuple[int, ...], tuple[I64, I64 | None]] = {}

    def values(self, parts: Sequence[tuple[I64 | None, Array]]) -> Values:
        """Return the values of a field that was put in parts, at least one."""
        if len(parts) == 1 and parts[0][0] is None:
            return Values(parts[0][1])
        rows, order = self._merged([rows for rows, _ in parts])
        array = parts[0][1] if len(parts) == 1 else np.concatenate([values for _, values in parts])
        if order is not None:
            array = array[order]
        return Values(array) if len(rows) == self._count else Values(array, None, rows)

    def ascends(self, rows: I64 | None) -> bool:
        """Whether the rows of a part are ascending and each of them occurs once."""
        return self._merged([rows])[1] is None

    def _merged(self, several: Sequence[I64 | None]) -> tuple[I64, I64 | None]:
        """Return ascending rows, each once, and the positions of their values; None where they are in order as they are."""
        key = tuple(id(rows) for rows in several)
        if key not in self._known:
            each = [np.arange(self._count) if rows is None else rows for rows in several]
            rows = each[0] if len(each) == 1 else np.concatenate(each)
            self._known[key] = (rows, None) if bool((rows[1:] > rows[:-1]).all()) else self._sorted(rows)
        return self._known[key]

    def _sorted(self, rows: I64) -> tuple[I64, I64]:
        """Sort rows; of several values for one row the last counts."""
        last = np.full(self._count, -1, dtype=np.int64)
        last[rows] = np.arange(len(rows))
        places = np.flatnonzero(last >= 0)
        return places, last[places]
