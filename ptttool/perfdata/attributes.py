"""The attributes (``perf_event_attr``) of a recording, and the trailers that their ``sample_type`` appends to records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from ptttool.perfdata import layout
from ptttool.perfdata.budget import MAX_ATTRIBUTES, MAX_IDS, OverBudgetError
from ptttool.perfdata.model import Attribute, Contents


def parse_attribute(buffer: memoryview, ids: tuple[int, ...] = ()) -> Attribute:
    """Parse the ``perf_event_attr`` at the start of a buffer.

    Raises
    ------
    ValueError
        If the buffer is too short for the size that the attribute states.
    """
    if len(buffer) < layout.ATTR.size:
        raise ValueError(f"an attribute of {len(buffer)} bytes is too short")
    kind, size, config, _, sample_type, _, flags = layout.ATTR.unpack_from(buffer)
    size = size or layout.ATTR_SIZE_VER0
    if not layout.ATTR_SIZE_VER0 <= size <= len(buffer):
        raise ValueError(f"an attribute states a size of {size} bytes, and there are {len(buffer)}")
    return Attribute(kind, config, size, sample_type, bool(flags & layout.SAMPLE_ID_ALL), ids)


class Trailer(NamedTuple):
    """The fields that sample_id_all appends to a record.

    Attributes
    ----------
    size : int
        Size in bytes.
    time, id, cpu : int
        Distances of the fields from the record's end, in bytes; 0 for a field that is absent.
    sample_time : int
        Distance of a PERF_RECORD_SAMPLE's time from the record's start, in bytes; 0 where it has none.
    """

    size: int
    time: int
    id: int
    cpu: int
    sample_time: int


def trailer_of(attribute: Attribute) -> Trailer:
    """Return the trailer that an attribute's ``sample_type`` describes."""
    at, size = {}, 0
    if attribute.sample_id_all:
        for field in reversed(layout.TRAILER_FIELDS):
            if attribute.sample_type & field:
                size += 8
                at[field] = size
    sample_time = 0
    if attribute.sample_type & layout.SAMPLE_TIME:
        before = (layout.SAMPLE_IDENTIFIER, layout.SAMPLE_IP, layout.SAMPLE_TID)
        sample_time = layout.RECORD.size + 8 * sum(bool(attribute.sample_type & field) for field in before)
    identity = at.get(layout.SAMPLE_IDENTIFIER) or at.get(layout.SAMPLE_ID, 0)
    return Trailer(size, at.get(layout.SAMPLE_TIME, 0), identity, at.get(layout.SAMPLE_CPU, 0), sample_time)


class AttributeTable:
    """The attributes, in the order in which they become known.

    Parameters
    ----------
    contents : Contents
        The list of its attributes is filled, and its revision counts the changes.

    Attributes
    ----------
    common : Trailer or None
        The trailer, where all attributes have the same one (nearly always); None where the id in a trailer decides.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.listed = contents.attributes
        self.common: Trailer | None = Trailer(0, 0, 0, 0, 0)
        self._trailers: list[Trailer] = []
        # Attributes without a trailer (sample_id_all is not set) say nothing of the trailers of the others.
        self._distinct: set[Trailer] = set()
        self._id_distances: dict[int, None] = {}  # a set that keeps the order
        self._by_id: dict[int, int] = {}
        self._ids = 0
        self._is_full = False

    def add(self, attribute: Attribute) -> None:
        """Add an attribute; without effect after an OverBudgetError.

        Raises
        ------
        OverBudgetError
            There are more attributes or ids than a recording can have.
        """
        if self._is_full:
            return
        if len(self.listed) >= MAX_ATTRIBUTES:
            self._is_full = True
            raise OverBudgetError(f"a recording may have {MAX_ATTRIBUTES} attributes: later ones are left out", MAX_ATTRIBUTES)
        self.check_ids(len(attribute.ids))
        self._ids += len(attribute.ids)
        number = len(self.listed)
        for id in attribute.ids:
            self._by_id[id] = number
        trailer = trailer_of(attribute)
        self.listed.append(attribute)
        self._trailers.append(trailer)
        self._contents.revision += 1
        if trailer.size:
            self._distinct.add(trailer)
        if trailer.id:
            self._id_distances.setdefault(trailer.id)
        if len(self._distinct) > 1:
            self.common = None
        else:
            self.common = next(iter(self._distinct), self._trailers[0])

    def check_ids(self, count: int) -> None:
        """Raise an OverBudgetError where the recording has no room for an attribute with so many ids."""
        if self._ids + count > MAX_IDS:
            self._is_full = True
            raise OverBudgetError(f"its {count} ids are too many, a recording may have {MAX_IDS}: later events are left out", MAX_IDS)

    def trailer(self, buffer: memoryview | bytes, end: int, room: int) -> Trailer | None:
        """Return the trailer of the record that ends at ``end`` and has ``room`` bytes for one; None where it is not known."""
        if self.common is not None:
            return self.common if self.common.size <= room else None
        # An id lies at one of six distances at most, however many attributes there are.
        for distance in self._id_distances:
            if distance > room:
                continue
            (found,) = layout.U64.unpack_from(buffer, end - distance)
            number = self._by_id.get(found)
            if number is not None:
                trailer = self._trailers[number]
                if trailer.id == distance and trailer.size <= room:
                    return trailer
        return None

    def name(self, number: int, name: str) -> None:
        """Set the name of an attribute by its number."""
        if self.listed[number].name != name:
            self.listed[number] = replace(self.listed[number], name=name)
            self._contents.revision += 1

    def name_by_id(self, id: int, name: str) -> None:
        """Set the name of the attribute that an id belongs to; an unknown id is ignored."""
        if id in self._by_id:
            self.name(self._by_id[id], name)

    def describe(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Take names from HEADER_EVENT_DESC: by id, or, where there are no ids, by number if type and config agree."""
        for number, event in enumerate(events):
            if event["ids"]:
                self.name_by_id(event["ids"][0], event["name"])
            elif number < len(self.listed):
                own = self.listed[number]
                if (own.type, own.config) == (event["type"], event["config"]):
                    self.name(number, event["name"])
