"""What joins two parts of a recording, for one requester: where the one ended, and where the other began."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from ptttool.analyses.budget import MAX_IN_FLIGHT, MAX_LONE_LISTS
from ptttool.analyses.io.reads import Group
from ptttool.analyses.io.tables import Numbers, page_key

_NONE: Final[Numbers] = np.empty(0, dtype=np.int64)


@dataclass
class Flight:
    """Commands that were fetched, less those that were completed: how far the difference went down and up.

    Parameters
    ----------
    change : int
        The difference at the end.
    lowest, highest : int
        Its extremes; the difference begins at 0.
    highest_index : int or None
        Number of the fetch in the recording at which it was highest, the first one of several; None where it was highest at the start.
    fetched, ended : ndarray of int64 or None
        Ticks of the fetches without a completion, and of the completions without a fetch, where each completion ends the newest command. No
        order lets those that are left open be earlier. None where ticks are not known, or they were too many.
    """

    change: int = 0
    lowest: int = 0
    highest: int = 0
    highest_index: int | None = None
    fetched: Numbers | None = field(default_factory=lambda: _NONE)
    ended: Numbers | None = field(default_factory=lambda: _NONE)

    @classmethod
    def of(cls, levels: Numbers, at: Numbers | None) -> Flight:
        """Return how far commands went, without the highest index; `levels`: behind each fetch and completion; `at`: their ticks."""
        flight = cls(int(levels[-1]), min(int(levels.min()), 0))
        if at is None:
            flight.fetched = flight.ended = None
            return flight
        before = np.concatenate(([0], levels[:-1]))
        is_open = (levels > before) & (np.minimum.accumulate(levels[::-1])[::-1] == levels)
        is_early = levels < np.minimum(np.minimum.accumulate(before), 0)
        flight._keep(at[is_open], at[is_early])
        return flight

    def _keep(self, fetched: Numbers | None, ended: Numbers | None) -> None:
        if fetched is None or ended is None or max(len(fetched), len(ended)) > MAX_IN_FLIGHT:
            fetched = ended = None
        self.fetched, self.ended = fetched, ended

    def shift(self, ticks: int) -> None:
        """Begin to count ticks so many earlier."""
        if self.fetched is not None and self.ended is not None:
            self.fetched, self.ended = self.fetched + ticks, self.ended + ticks

    def merge(self, later: Flight) -> None:
        """Add the part behind, whose ticks begin where those of this one do."""
        if self.fetched is None or self.ended is None or later.fetched is None or later.ended is None:
            self._keep(None, None)
        else:
            both = min(len(self.fetched), len(later.ended))
            self._keep(
                np.concatenate((self.fetched[: len(self.fetched) - both], later.fetched)), np.concatenate((self.ended, later.ended[both:]))
            )
        self.lowest = min(self.lowest, self.change + later.lowest)
        if self.change + later.highest > self.highest:
            self.highest, self.highest_index = self.change + later.highest, later.highest_index
        self.change += later.change


@dataclass
class Window:
    """What a drive did between a fetch, or the start of the part, and the next fetch or completion.

    Parameters
    ----------
    has_written : bool
        Whether it wrote data.
    is_over : bool
        Whether the next fetch or completion has come.
    completes : bool
        Whether that was a completion.
    level : int
        Commands in flight before the fetch, less those at the start of the part.
    """

    has_written: bool = False
    is_over: bool = False
    completes: bool = False
    level: int = 0

    def add(self, later: Window) -> None:
        """Add what came before the first fetch or completion of the part behind."""
        if not self.is_over:
            self.has_written |= later.has_written
            self.is_over, self.completes = later.is_over, later.completes


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
    first_window, last_window : Window
        From the start of the part, and from its last fetch.
    lone_lists : set of int
        Keys of pages that were read as a whole by commands that then wrote data and completed, with nothing else in between, when fewest
        commands were in flight. Where these were none, those pages hold lists.
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
    first_window: Window = field(default_factory=Window)
    last_window: Window = field(default_factory=Window)
    lone_lists: set[int] = field(default_factory=set)

    def see_end(self, requester: int, group: Group, window: Window) -> None:
        """Note what a command did, all of which was seen; the flight is already that of the whole."""
        if window.completes and window.has_written and window.level == self.flight.lowest and group.is_whole_page:
            self.lone_lists.add(page_key(requester, group.first))


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


def join(requester: int, edge: Edge, later: Edge) -> Joint:
    """Make `edge` the one of both parts, and return what follows at their joint."""
    group = None
    change = edge.flight.change
    _keep_lowest(edge, later)
    edge.flight.merge(later.flight)
    (edge.last_window if edge.has_fetches else edge.first_window).add(later.first_window)
    if edge.has_fetches:
        edge.first_window.add(later.first_window)
    if later.has_fetches:
        if edge.has_fetches:
            group = edge.tail.joined(later.head)
            edge.see_end(requester, group, edge.last_window)
        else:
            edge.head = edge.head.joined(later.head)
        edge.tail = later.tail
        edge.last_window = replace(later.last_window, level=later.last_window.level + change)
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
    return Joint(group, in_a_row, descriptor, small, is_data)


def _keep_lowest(edge: Edge, later: Edge) -> None:
    """Keep the pages of those moments when fewest commands were in flight."""
    mine, theirs = edge.flight.lowest, edge.flight.change + later.flight.lowest
    if theirs < mine:
        edge.lone_lists = later.lone_lists
    elif theirs == mine:
        edge.lone_lists |= later.lone_lists
    if len(edge.lone_lists) > MAX_LONE_LISTS:
        edge.lone_lists = set(sorted(edge.lone_lists)[:MAX_LONE_LISTS])
