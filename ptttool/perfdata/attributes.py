"""The attributes (``perf_event_attr``) of a recording, and the trailers that their ``sample_type`` appends to records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ptttool.perfdata import layout
from ptttool.perfdata.model import Attribute

MAX_ATTRIBUTES = 1 << 16
MAX_IDS = 1 << 20


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


@dataclass(frozen=True)
class Trailer:
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
    listed : list of Attribute
        Where the attributes are put; the list of the contents.

    Attributes
    ----------
    common : Trailer or None
        The trailer, where all attributes have the same one (nearly always); None where the id in a trailer decides.
    """

    def __init__(self, listed: list[Attribute]) -> None:
        self.listed = listed
        self.common: Trailer | None = Trailer(0, 0, 0, 0, 0)
        self._trailers: list[Trailer] = []
        self._by_id: dict[int, int] = {}

    def add(self, attribute: Attribute) -> None:
        """Add an attribute. Raises ValueError where there are more than a recording can have."""
        if len(self.listed) >= MAX_ATTRIBUTES or len(self._by_id) + len(attribute.ids) > MAX_IDS:
            raise ValueError("more attributes or ids than a recording can have")
        self._by_id.update(dict.fromkeys(attribute.ids, len(self.listed)))
        self.listed.append(attribute)
        self._trailers.append(trailer_of(attribute))
        # Attributes without a trailer (sample_id_all is not set) say nothing of the trailers of the others.
        distinct = {trailer for trailer in self._trailers if trailer.size} or {self._trailers[0]}
        self.common = distinct.pop() if len(distinct) == 1 else None

    def trailer(self, buffer: memoryview | bytes, end: int, room: int) -> Trailer | None:
        """Return the trailer of the record that ends at ``end`` and has ``room`` bytes for one; None where it is not known."""
        if self.common is not None:
            return self.common if self.common.size <= room else None
        for trailer, attribute in zip(self._trailers, self.listed, strict=True):
            if not trailer.id or trailer.size > room:
                continue
            (found,) = layout.U64.unpack_from(buffer, end - trailer.id)
            if found in attribute.ids or (found in self._by_id and self._trailers[self._by_id[found]] == trailer):
                return trailer
        return None

    def name(self, number: int, name: str) -> None:
        """Set the name of an attribute by its number."""
        self.listed[number] = replace(self.listed[number], name=name)

    def name_by_id(self, id: int, name: str) -> None:
        """Set the name of the attribute that an id belongs to; an unknown id is ignored."""
        if id in self._by_id:
            self.name(self._by_id[id], name)

    def describe(self, events: Iterable[tuple[Attribute, str]]) -> None:
        """Take names from HEADER_EVENT_DESC: by id, or, where there are no ids, by number if type and config agree."""
        for number, (attribute, name) in enumerate(events):
            if attribute.ids:
                self.name_by_id(attribute.ids[0], name)
            elif number < len(self.listed):
                own = self.listed[number]
                if (own.type, own.config) == (attribute.type, attribute.config):
                    self.name(number, name)
