"""What joins two parts of a recording, for one requester: where the one ended, and where the other began."""

from __future__ import annotations

from dataclasses import dataclass, field

from ptttool.analyses.io.reads import Group


@dataclass
class Flight:
    """Commands that were fetched, less those that were completed: how far the difference went down and up.

    Parameters
    ----------
    change : int
        The difference at the end.
    lowest, highest : int
        Its extremes; the difference begins at 0.
    """

    change: int = 0
    lowest: int = 0
    highest: int = 0

    def merge(self, later: Flight) -> None:
        """Add the part behind."""
        self.lowest = min(self.lowest, self.change + later.lowest)
        self.highest = max(self.highest, self.change + later.highest)
        self.change += later.change


@dataclass
class Edge:
    """Both ends of a part.

    Parameters
    ----------
    has_reads, has_fetches : bool
        Whether anything was read, and whether entries of 64 bytes were.
    head, tail : Group
        What was read before the first fetch, and behind the last one. Without a fetch, all is in the head.
    begins_with_fetch, ends_with_fetch : bool
        Whether the first and the last read was a fetch.
    begins_with_descriptor : bool
        Whether the first read was of 16 bytes.
    open_descriptor : int or None
        Key of the page of the last read, if it was of 16 bytes.
    small_write : (int, int) or None
        Address and bytes of the first write, if it had less than 16 bytes: what it is depends on the write before.
    data_end : int or None
        The address behind the last write; None if it had less than 16 bytes, or nothing was written.
    has_writes : bool
        Whether anything was written.
    flight : Flight
        Commands under way.
    """

    has_reads: bool = False
    has_fetches: bool = False
    head: Group = field(default_factory=Group)
    tail: Group = field(default_factory=Group)
    begins_with_fetch: bool = False
    ends_with_fetch: bool = False
    begins_with_descriptor: bool = False
    open_descriptor: int | None = None
    small_write: tuple[int, int] | None = None
    data_end: int | None = None
    has_writes: bool = False
    flight: Flight = field(default_factory=Flight)


@dataclass(frozen=True)
class Joint:
    """What follows where two parts join.

    Parameters
    ----------
    group : Group or None
        Reads between two fetches that are complete now.
    fetches_in_a_row : bool
        Whether a fetch followed on a fetch.
    data_descriptor : int or None
        Key of the page of a descriptor that was followed by a read of data.
    small_write : (int, int) or None
        The small write that began the later part.
    is_data : bool
        Whether that one belongs to the data in front of it.
    """

    group: Group | None
    fetches_in_a_row: bool
    data_descriptor: int | None
    small_write: tuple[int, int] | None
    is_data: bool


def join(edge: Edge, later: Edge) -> Joint:
    """Make `edge` the one of both parts, and return what follows at their joint."""
    group = None
    if later.has_fetches:
        if edge.has_fetches:
            group = edge.tail.joined(later.head)
        else:
            edge.head = edge.head.joined(later.head)
        edge.tail = later.tail
    elif edge.has_fetches:
        edge.tail = edge.tail.joined(later.head)
    else:
        edge.head = edge.head.joined(later.head)
    in_a_row, descriptor = False, None
    if later.has_reads:
        if edge.has_reads:
            in_a_row = edge.ends_with_fetch and later.begins_with_fetch
            if edge.open_descriptor is not None and not later.begins_with_descriptor:
                descriptor = edge.open_descriptor
        else:
            edge.begins_with_fetch, edge.begins_with_descriptor = later.begins_with_fetch, later.begins_with_descriptor
        edge.ends_with_fetch, edge.open_descriptor = later.ends_with_fetch, later.open_descriptor
    edge.has_reads |= later.has_reads
    edge.has_fetches |= later.has_fetches
    small, is_data = None, False
    if later.has_writes:
        if edge.has_writes:
            small = later.small_write
            is_data = small is not None and edge.data_end == small[0]
        else:
            edge.small_write = later.small_write
        edge.data_end = later.data_end
        edge.has_writes = True
    edge.flight.merge(later.flight)
    return Joint(group, in_a_row, descriptor, small, is_data)
