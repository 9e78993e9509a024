"""Ordering and placement attributes of TLPs: relaxed ordering, no snoop, hints, address types, PASID, traffic classes, by requester."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ptttool.analyses.budget import MAX_ATTRIBUTE_SUMS, MAX_REQUESTERS
from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.needs import Need
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.analyses.shown import Column, Facts, Names, Note, Part, Table, Unit, named, text_column
from ptttool.analyses.sums import SumTable, summed
from ptttool.capture.event.terms import Format
from ptttool.diagnostics import Severity
from ptttool.documents import document
from ptttool.pci import format_id
from ptttool.table.batch import Batch
from ptttool.tlp.codes import PROCESSING_HINTS
from ptttool.tlp.columns import DIRECTIONS, KINDS

# PCIe 6.x, 2.2.10.4: the first byte of an end-end prefix with a Process Address Space ID.
PASID_PREFIX: Final = 0x91
# Rows of steering tags that people see.
_SHOWN: Final = 20
# Fields of the key that TLPs are counted by: name of the column, bits. A field that a TLP does not have is 0.
_FIELDS: Final = (("requester", 16), ("kind", 5), ("direction", 2), ("attr", 3), ("at", 2), ("th", 1), ("tc", 3), ("so", 1), ("pasid", 1))
_SHIFTS: Final = {name: sum(bits for _, bits in _FIELDS[:at]) for at, (name, _) in enumerate(_FIELDS)}
_MASKS: Final = {name: (1 << bits) - 1 for name, bits in _FIELDS}
# Attributes by the name of what counts them: the head of the column, what it is, and the field with the bits that it is in and their value.
# Address types (AT): PCIe 6.x, Table 10-1.
_ATTRIBUTES: Final = {
    "relaxed_ordering": ("RO", "Relaxed ordering", "attr", 2, 2),
    "no_snoop": ("NS", "No snoop", "attr", 1, 1),
    "id_based_ordering": ("IDO", "ID-based ordering", "attr", 4, 4),
    "hints": ("TH", "TLP Hints", "th", 1, 1),
    "translation_requests": ("AT request", "Translation request", "at", 3, 1),
    "translated": ("AT translated", "Translated address", "at", 3, 2),
    "pasid": ("PASID", "PASID", "pasid", 1, 1),
    "so": ("SO", "SO", "so", 1, 1),
}
# What a result names the first TLP of, in its order.
_WORDS: Final = {name: words for name, (_, words, *_) in _ATTRIBUTES.items()} | {"tc": "Traffic Class other than 0"}

Array = npt.NDArray[Any]

# A key of steering tags: requester, kind, direction, processing hint, and the tag, which has one bit more where it stands for all of them.
_TAG_BITS: Final = 17
_STEERED: Final = (("requester", 16), ("kind", 5), ("direction", 2), ("ph", 2), ("st", _TAG_BITS))
_ANY_TAG: Final = 1 << _TAG_BITS - 1


class SteeringCount(Struct, frozen=True):
    """TLPs with one Processing Hint and one Steering Tag (TPH): where in the caches of a host the data shall go.

    Parameters
    ----------
    requester : str
        Requester ID.
    kind : str
        Kind of TLP.
    direction : str
        ``inbound``, ``outbound``, ``unknown``.
    hint : str
        The Processing Hint (PH): bidirectional, requester, target, target with priority.
    tag : int or None
        The Steering Tag (ST), 8 bits, or 16 where pattern v1 or a TPH prefix gives them, which 4DW records do not keep; 0: no preference.
        None where there are too many different ones: for all of them.
    tlps : int
        TLPs.
    index : int
        Number of the first one.
    """

    requester: str
    kind: str
    direction: str
    hint: str
    tag: int | None
    tlps: int
    index: int


class AttributeCounts(Struct, frozen=True):
    """TLPs of one requester, kind and direction, and how many of them have each attribute.

    Parameters
    ----------
    requester : str
        Requester ID; that of the request for a completion.
    kind : str
        Kind of TLP.
    direction : str
        ``inbound``, ``outbound``, ``unknown``.
    tlps : int
        TLPs.
    relaxed_ordering, no_snoop, id_based_ordering : int or None
        TLPs with the attribute; None where the records do not hold it (4DW).
    hints : int
        TLPs with TLP Hints (TH).
    translation_requests, translated : int or None
        TLPs with that Address Type (ATS); None where the records do not hold it.
    pasid : int or None
        TLPs with a PASID prefix; None where the records do not hold it.
    traffic_classes : Mapping[str, int] or None
        TLPs by Traffic Class; None where the records do not hold it.
    so : int or None
        TLPs with the bit SO, which no document explains; None where the records do not hold it (8DW).
    """

    requester: str
    kind: str
    direction: str
    tlps: int
    relaxed_ordering: int | None
    no_snoop: int | None
    id_based_ordering: int | None
    hints: int
    translation_requests: int | None
    translated: int | None
    pasid: int | None
    traffic_classes: Mapping[str, int] | None
    so: int | None


@document("attributes")
class Attributes(Shown, Struct, frozen=True):
    """Ordering and placement attributes of TLPs.

    Parameters
    ----------
    tlps : int
        TLPs that were looked at.
    rows : list of AttributeCounts
        By requester, kind and direction; those with most TLPs first, at most 2,048.
    more_rows : int
        Further rows that are not listed.
    first : Mapping[str, int]
        Number of the first TLP with each attribute that was seen, by the name of its field; ``tc``: a Traffic Class other than 0.
    undecodable : int
        Records that are not TLPs.
    left_out : int
        TLPs that are in no row, as there are too many different ones.
    steering : list of SteeringCount
        TLPs with hints by requester, kind, direction, Processing Hint and Steering Tag, most first, at most 2,048.
    more_steering : int
        Further ones that are not listed.
    """

    tlps: int
    rows: list[AttributeCounts]
    more_rows: int
    first: dict[str, int]
    undecodable: int
    left_out: int
    steering: list[SteeringCount]
    more_steering: int

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield what is to be seen."""
        columns = [
            text_column("Requester"),
            text_column("Name", 3),
            text_column("Kind"),
            text_column("Direction"),
            Column("TLPs", Unit.TLPS),
        ]
        fields = [(title, field) for field, (title, *_) in _ATTRIBUTES.items() if any(getattr(row, field) is not None for row in self.rows)]
        columns += [Column(title, Unit.TLPS, weight=1) for title, _ in fields]
        has_classes = any(row.traffic_classes is not None for row in self.rows)
        rows: list[list[str | int | None]] = []
        for row in self.rows:
            name = names(row.requester)
            cells: list[str | int | None] = [row.requester, "" if name == row.requester else name, row.kind, row.direction, row.tlps]
            cells += [getattr(row, field) for _, field in fields]
            if has_classes:
                cells.append(", ".join(f"TC{number} {count:,}" for number, count in (row.traffic_classes or {}).items() if number != "0"))
            rows.append(cells)
        if has_classes:
            columns.append(text_column("Other traffic classes", 2))
        yield Table("Attributes by requester, kind and direction", columns, rows, more=self.more_rows, note="TLPs that have the attribute.")
        if self.steering:
            yield self._steering(names)
        if self.first:
            yield Facts([(_WORDS[field], f"TLP {index}") for field, index in self.first.items()], "First TLP with it")
        if self.undecodable:
            yield Note(f"{self.undecodable:,} records are not TLPs and are not counted", Severity.WARNING)
        if self.left_out:
            yield Note(f"{self.left_out:,} TLPs are in no row: there are too many different requesters and attributes", Severity.WARNING)

    def _steering(self, names: Names) -> Table:
        heads = text_column("Requester"), text_column("Name", 3), text_column("Kind"), text_column("Direction"), text_column("Hint", 1)
        columns = (*heads, text_column("Steering tag"), Column("TLPs", Unit.TLPS), Column("First", Unit.INDEX, weight=1))
        rows = [
            (
                row.requester, named(names, row.requester), row.kind, row.direction, row.hint,
                "any" if row.tag is None else f"{row.tag:#x}", row.tlps, row.index,
            )
            for row in self.steering[:_SHOWN]
        ]  # fmt: skip
        more = max(len(self.steering) - _SHOWN, 0) + self.more_steering
        return Table("Steering tags", columns, rows, more=more, note="Where data shall go in the host's caches. 0x0: no preference.")


class AttributesAnalysis(TlpAnalysis[Attributes]):
    """Counts TLPs by everything that tells attributes apart: few different keys."""

    name = "attributes"
    meaning = "ordering and placement: relaxed ordering, no snoop, steering tags, address types, PASID, traffic classes, by requester"
    columns = ("index", "requester", "kind", "direction", "attr", "at", "th", "tc", "so", "prefix", "ph", "st")
    needs = (Need("relaxed ordering, no snoop, address types, PASID and traffic classes", "--format 8dw", format=Format.DW8),)

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        # Number of TLPs and index of the first one, by key.
        self._sums: dict[int, tuple[int, int]] = {}
        # Whether there are records of 8DW, and records that hold SO.
        self._held = {"8dw": False, "so": False}
        self._undecodable = 0
        self._left_out = 0
        # TLPs with hints by their key: how many, and the number of the first one.
        self._steering = SumTable(np.add, np.minimum, most=MAX_ATTRIBUTE_SUMS, fewer=_any_tag)

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        if not batch.size:
            return
        mask = batch.values("requester").mask(batch.size)
        count = batch.size if mask is None else int(np.count_nonzero(mask))
        self._undecodable += batch.size - count
        for held, name in (("8dw", "tc"), ("so", "so")):
            self._held[held] |= batch.values(name).array is not None
        if not count:
            return
        keys = np.zeros(batch.size, dtype=np.uint64)
        for name, shift in _SHIFTS.items():
            array = batch.values("prefix" if name == "pasid" else name).filled(batch.size)
            if name == "pasid":
                array = array >> 24 == PASID_PREFIX
            if array.any():
                keys |= (array & _MASKS[name]).astype(np.uint64) << np.uint64(shift)
        rows = np.arange(batch.size) if mask is None else np.flatnonzero(mask)
        keys, counts, first = summed((np.add, np.minimum), keys[rows], None, rows)
        numbers = batch.values("index").filled(batch.size)[first]
        order = first.argsort()
        self._add_steering(batch)
        self._add(zip(*(each.take(order).tolist() for each in (keys, counts, numbers)), strict=True))

    def _add_steering(self, batch: Batch) -> None:
        mask = batch.values("st").mask(batch.size)
        rows = np.arange(batch.size) if mask is None else np.flatnonzero(mask)
        if len(rows):
            keys = np.zeros(len(rows), dtype=np.int64)
            for name, bits in _STEERED:
                keys = keys << bits | batch.values(name).filled(batch.size).take(rows).astype(np.int64)
            numbers = batch.values("index").filled(batch.size).take(rows).astype(np.int64)
            self._steering.add(*summed((np.add, np.minimum), keys, None, numbers))

    def _add(self, sums: Iterable[tuple[int, int, int]]) -> None:
        for key, count, index in sums:
            pair = self._sums.get(key)
            if pair is None and len(self._sums) >= MAX_ATTRIBUTE_SUMS:
                self._left_out += count
            else:
                before, first = pair or (0, index)
                self._sums[key] = before + count, min(first, index)

    def merge(self, later: AttributesAnalysis) -> None:
        """Add the TLPs behind."""
        self._add((key, count, index) for key, (count, index) in later._sums.items())
        for name, held in later._held.items():
            self._held[name] |= held
        self._steering.merge(later._steering)
        self._undecodable += later._undecodable
        self._left_out += later._left_out

    def result(self, context: AnalysisContext) -> Attributes:
        """Return the counts."""
        rows: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        first: dict[str, int] = {}
        for key, (count, index) in self._sums.items():
            rows.setdefault((_field(key, "requester"), _field(key, "kind"), _field(key, "direction")), []).append((key, count))
            for name in _attributes(key):
                first[name] = min(first.get(name, index), index)
        tlps = {place: sum(count for _, count in sums) for place, sums in rows.items()}
        listed = heapq.nsmallest(MAX_REQUESTERS, rows, key=lambda place: (-tlps[place], place[0], KINDS[place[1]], DIRECTIONS[place[2]]))
        return Attributes(
            tlps=sum(tlps.values()),
            rows=[self._row(*place, rows[place]) for place in listed],
            more_rows=len(rows) - len(listed),
            first={name: first[name] for name in _WORDS if name in first},
            undecodable=self._undecodable,
            left_out=self._left_out,
            steering=self._steering_counts(),
            more_steering=max(len(self._steering) - MAX_REQUESTERS, 0),
        )

    def _steering_counts(self) -> list[SteeringCount]:
        """Return the steering tags that most TLPs have, and these first."""
        keys, counts, numbers = self._steering.rows()
        listed = np.argsort(-counts, kind="stable")[:MAX_REQUESTERS]
        rows = []
        for key, count, index in zip(*(each.take(listed).tolist() for each in (keys, counts, numbers)), strict=True):
            fields: dict[str, int] = {}
            for name, bits in reversed(_STEERED):
                fields[name], key = key & (1 << bits) - 1, key >> bits
            tag = None if fields["st"] == _ANY_TAG else fields["st"]
            hint = PROCESSING_HINTS[fields["ph"]]
            place = format_id(fields["requester"]), KINDS[fields["kind"]], DIRECTIONS[fields["direction"]]
            rows.append(SteeringCount(*place, hint, tag, count, index))
        return rows

    def _row(self, requester: int, kind: int, direction: int, sums: list[tuple[int, int]]) -> AttributeCounts:
        held = dict.fromkeys(_ATTRIBUTES, self._held["8dw"]) | {"hints": True, "so": self._held["so"]}
        having: Counter[str] = Counter()
        for key, count in sums:
            having.update(dict.fromkeys(_attributes(key), count))
        classes = {f"{number}": sum(count for key, count in sums if _field(key, "tc") == number) for number in range(8)}
        return AttributeCounts(
            requester=format_id(requester),
            kind=KINDS[kind],
            direction=DIRECTIONS[direction],
            tlps=sum(count for _, count in sums),
            traffic_classes={name: count for name, count in classes.items() if count} if self._held["8dw"] else None,
            **{name: having[name] if held[name] else None for name in held},  # type: ignore[arg-type]  # hints are held in any format
        )


def _any_tag(keys: Array) -> Array:
    return keys >> _TAG_BITS << _TAG_BITS | _ANY_TAG


def _field(key: int, name: str) -> int:
    return key >> _SHIFTS[name] & _MASKS[name]


def _attributes(key: int) -> list[str]:
    """Return the names of the attributes that a key stands for."""
    names = [name for name, (_, _, field, bits, value) in _ATTRIBUTES.items() if _field(key, field) & bits == value]
    return [*names, "tc"] if _field(key, "tc") else names


ANALYSES.add("attributes", AttributesAnalysis)
