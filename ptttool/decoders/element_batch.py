"""Elements as arrays: what decoders make. Objects of single elements are made by :meth:`Batch.elements` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ptttool.decoders.elements import CUSTOM, FIELDS_BY_NAME, KIND_NAMES, Element, Field, Flags

Array: TypeAlias = NDArray[Any]
U8: TypeAlias = NDArray[np.uint8]
I64: TypeAlias = NDArray[np.int64]
U64: TypeAlias = NDArray[np.uint64]
Bool: TypeAlias = NDArray[np.bool_]
DTYPES: dict[str, type[np.generic]] = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "i64": np.int64, "bool": np.bool_, "enum": np.uint8,
}  # fmt: skip
NO_BYTES: U8 = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True)
class Spans:
    """Byte strings of any length: string i is ``data[start[i] : start[i] + length[i]]``; a negative start is none at all."""

    data: U8
    start: I64
    length: I64

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, row: int) -> bytes | None:
        start = int(self.start[row])
        return None if start < 0 else self.data[start : start + int(self.length[row])].tobytes()

    def take(self, rows: I64 | Bool) -> Spans:
        """Those of some rows."""
        return Spans(self.data, self.start[rows], self.length[rows])

    @staticmethod
    def none(count: int) -> Spans:
        """As many absent ones."""
        return Spans(NO_BYTES, np.full(count, -1, dtype=np.int64), np.zeros(count, dtype=np.int64))

    @staticmethod
    def join(parts: Sequence[Spans]) -> Spans:
        """One after the other."""
        shift, starts = 0, []
        for part in parts:
            starts.append(np.where(part.start < 0, -1, part.start + shift))
            shift += len(part.data)
        data = np.concatenate([part.data for part in parts])
        return Spans(data, np.concatenate(starts), np.concatenate([part.length for part in parts]))


@dataclass(frozen=True)
class Part:
    """Values of one field for some elements. ``rows``: which, ascending; None for all of them."""

    rows: I64 | None
    values: Array | Spans


class Batch:
    """Elements of one feed, in order. All arrays have one entry an element.

    ``protocol``: u8, into ``protocols``. ``index``, ``size``: u64, bytes. ``kind``: u8, a number of :data:`~.elements.KIND_NAMES`.
    ``channel``: i32, -1 for none. ``flags``: u32, of :class:`~.elements.Flags`. ``timestamp``: u64, where ``timed`` says so. ``raw``: the
    packets' bytes. Fields are kept for the elements that have them: :meth:`put` takes their rows.
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
        raw: Spans | None = None,
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
        # Timestamps without a mask are all there.
        self.timed: Bool = np.full(count, timestamp is not None) if timed is None else timed
        self.raw = Spans.none(count) if raw is None else raw
        self.parts: dict[str, list[Part]] = {}

    def __len__(self) -> int:
        return len(self.index)

    @staticmethod
    def empty(protocol: str = "") -> Batch:
        """No elements."""
        return Batch(protocol, np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64))

    def put(self, name: str, values: Array | Spans | int, rows: Array | None = None) -> None:
        """Give elements a field: ``rows`` (ascending; a mask is none) or all. A number is the same for all of them.

        Enum fields take the numbers of their names. A field may be put several times, for different rows.
        """
        if isinstance(values, int):
            values = np.full(len(self) if rows is None else len(rows), values, dtype=np.int64 if values < 0 else np.uint64)
        if len(values):
            self.parts.setdefault(name, []).append(Part(rows, values))

    def column(self, name: str, dtype: str | None = None) -> tuple[Array, Bool]:
        """A field for every element, and which of them have it. ``dtype``: of the field, where it is not one of OpenCSD's."""
        kind = DTYPES[dtype or FIELDS_BY_NAME[name].dtype]
        parts = self.parts.get(name, [])
        if len(parts) == 1 and parts[0].rows is None and not isinstance(parts[0].values, Spans):
            return parts[0].values.astype(kind, copy=False), np.ones(len(self), dtype=np.bool_)
        values, valid = np.zeros(len(self), dtype=kind), np.zeros(len(self), dtype=np.bool_)
        for part in parts:
            rows = slice(None) if part.rows is None else part.rows
            assert not isinstance(part.values, Spans), f"{name} holds bytes"
            values[rows] = part.values
            valid[rows] = True
        return values, valid

    def spans(self, name: str) -> Spans:
        """A field of bytes or text for every element."""
        parts = self.parts.get(name, [])
        if len(parts) == 1 and parts[0].rows is None:
            assert isinstance(parts[0].values, Spans)
            return parts[0].values
        whole = Spans.join([part.values for part in parts if isinstance(part.values, Spans)] or [Spans.none(0)])
        start, length = np.full(len(self), -1, dtype=np.int64), np.zeros(len(self), dtype=np.int64)
        at = 0
        for part in parts:
            rows = slice(None) if part.rows is None else part.rows
            start[rows] = whole.start[at : at + len(part.values)]
            length[rows] = whole.length[at : at + len(part.values)]
            at += len(part.values)
        return Spans(whole.data, start, length)

    def take(self, rows: Array) -> Batch:
        """Some elements, in the order of ``rows`` (numbers, each once, or a mask)."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        chosen = Batch(
            "", self.index[rows], self.size[rows], kind=self.kind[rows], channel=self.channel[rows], flags=self.flags[rows],
            timestamp=self.timestamp[rows], timed=self.timed[rows], raw=self.raw.take(rows),
        )  # fmt: skip
        chosen.protocols, chosen.protocol = self.protocols, self.protocol[rows]
        place = np.full(len(self), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        for name, parts in self.parts.items():
            for part in parts:
                moved = place if part.rows is None else place[part.rows]
                kept = np.flatnonzero(moved >= 0)
                order = kept[np.argsort(moved[kept], kind="stable")]
                values = part.values.take(order) if isinstance(part.values, Spans) else part.values[order]
                chosen.put(name, values, moved[order])
        return chosen

    @staticmethod
    def join(batches: Sequence[Batch], *, by_index: bool = False) -> Batch:
        """Batches one after the other, or in the order of their indexes; those of the same index stay as they come."""
        batches = [batch for batch in batches if len(batch)]
        if len(batches) < 2:
            return batches[0] if batches else Batch.empty()
        index = np.concatenate([batch.index for batch in batches])
        order: I64 | None = np.argsort(index, kind="stable") if by_index and (index[1:] < index[:-1]).any() else None

        def joined(arrays: list[Any]) -> Any:
            whole = np.concatenate(arrays)
            return whole if order is None else whole[order]

        raw = Spans.join([batch.raw for batch in batches])
        whole = Batch(
            "",
            index if order is None else index[order],
            joined([batch.size for batch in batches]),
            kind=joined([batch.kind for batch in batches]),
            channel=joined([batch.channel for batch in batches]),
            flags=joined([batch.flags for batch in batches]),
            timestamp=joined([batch.timestamp for batch in batches]),
            timed=joined([batch.timed for batch in batches]),
            raw=raw if order is None else raw.take(order),
        )
        whole.protocols = tuple(dict.fromkeys(name for batch in batches for name in batch.protocols))
        numbers = [np.array([whole.protocols.index(name) for name in batch.protocols], dtype=np.uint8) for batch in batches]
        whole.protocol = joined([number[batch.protocol] for number, batch in zip(numbers, batches, strict=True)])
        place = None
        if order is not None:
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
        at = 0
        for batch in batches:
            # Fields of one group of elements share their rows: they are moved once.
            moved: dict[int, Array] = {}
            for name, parts in batch.parts.items():
                for part in parts:
                    if id(part.rows) not in moved:
                        rows = np.arange(at, at + len(batch)) if part.rows is None else part.rows + at
                        moved[id(part.rows)] = rows if place is None else place[rows]
                    whole.parts.setdefault(name, []).append(Part(moved[id(part.rows)], part.values))
            at += len(batch)
        return whole

    def elements(self, fields: Sequence[Field] = ()) -> Iterator[Element]:
        """The elements as objects, for people and tests. ``fields``: the protocol's own; OpenCSD's are known."""
        known = {**{field.name: field for field in fields}, **FIELDS_BY_NAME}
        own: list[dict[str, Any]] = [{} for _ in range(len(self))]
        for name in sorted(self.parts, key=list(known).index):
            for part in self.parts[name]:
                rows = range(len(self)) if part.rows is None else part.rows.tolist()
                for row, value in zip(rows, _plain(part.values, known[name]), strict=True):
                    if value is not None:
                        own[row][name] = value
        timed = self.timed.tolist()
        for row, (protocol, index, size, kind, channel, flags, timestamp) in enumerate(
            zip(
                self.protocol.tolist(), self.index.tolist(), self.size.tolist(), self.kind.tolist(), self.channel.tolist(),
                self.flags.tolist(), self.timestamp.tolist(), strict=True,
            )
        ):  # fmt: skip
            yield Element(
                index=index,
                size=size,
                channel=None if channel < 0 else channel,
                timestamp=timestamp if timed[row] else None,
                protocol=self.protocols[protocol],
                kind=KIND_NAMES[kind],
                fields=own[row],
                raw=self.raw[row],
                flags=Flags(flags),
            )


def _filled(value: Array | int, count: int, dtype: type[np.generic]) -> Any:
    return np.full(count, value, dtype=dtype) if isinstance(value, int) else np.asarray(value, dtype=dtype)


def _plain(values: Array | Spans, field: Field) -> list[Any]:
    """Python values of a part."""
    if isinstance(values, Spans):
        found = [values[row] for row in range(len(values))]
        return [None if each is None else each.decode() for each in found] if field.dtype == "text" else list(found)
    plain: list[Any] = values.astype(DTYPES[field.dtype], copy=False).tolist()
    return [field.values[code] for code in plain] if field.dtype == "enum" else plain
