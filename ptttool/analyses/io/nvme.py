"""The commands of an NVMe drive."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptttool.analyses.io.counts import ENTRY, Sum
from ptttool.analyses.io.reads import PAGE, Lists
from ptttool.analyses.io.requester import RequesterTrace
from ptttool.analyses.io.results import By, Count, DataBytes, Drive, InFlight
from ptttool.analyses.io.rings import Rings, rings_of
from ptttool.analyses.io.tables import PageColumn
from ptttool.pci import format_id

# One fetch in so many may follow another one at once, and reads between fetches still are taken for one command's.
_IN_A_ROW = 8
# One fetch in so many may be of a command without data or without a list.
_WITHOUT_LIST = 8
_PAGES_WITHOUT_LIST = 2


@dataclass(frozen=True)
class Written:
    """Bytes that a drive asked memory for.

    Parameters
    ----------
    data, lists, uncertain : int
        Data, lists of addresses, and how much of the data may be lists.
    """

    data: int
    lists: int
    uncertain: int


def drive_of(seen: RequesterTrace, by: By) -> Drive:
    """Return what is to be said of a drive."""
    counts, requester, visible = seen.counts, seen.requester, seen.visible
    entries, records = rings_of(counts.entries, requester), rings_of(counts.records, requester)
    submitted = entries.total(PageColumn.SLOTS) if visible.reads else None
    completed = records.total(PageColumn.SLOTS) if visible.writes else None
    read = seen.sum(Sum.DATA_WRITE_BYTES) + records.others(PageColumn.BYTES) if visible.writes else None
    is_followed = _is_followed(seen, entries, records)
    at_start = -seen.edge.flight.lowest if is_followed else 0
    counted_by, commands = _commands(seen, submitted, completed, at_start)
    in_flight = _in_flight(seen, entries, records, at_start) if is_followed else None
    written = _written(seen, entries, read, lone_lists=in_flight is not None and in_flight.is_whole) if visible.reads else None
    others = entries.others(PageColumn.EXACT)
    return Drive(
        requester=format_id(requester),
        by=by,
        commands=commands,
        counted_by=counted_by,
        submitted=submitted,
        completed=completed,
        data_bytes=DataBytes(read, None if written is None else written.data),
        uncertain_bytes=0 if written is None else written.uncertain,
        list_bytes=None if written is None else written.lists,
        interrupts=seen.interrupts(beside=set()),
        submission_pages=entries.pages,
        completion_pages=records.pages,
        in_flight=in_flight,
        unexplained_tlps=others,
        unexplained_bytes=others * ENTRY,
    )


def _commands(seen: RequesterTrace, submitted: int | None, completed: int | None, at_start: int) -> tuple[Count | None, int | None]:
    if submitted is not None:
        return Count.ENTRIES, max(submitted + at_start, completed or 0)
    if completed is not None:
        return Count.COMPLETIONS, completed
    if seen.visible.answers:
        return Count.ANSWERS, seen.sum(Sum.ENTRY_COMPLETIONS)
    return None, None


def _is_followed(seen: RequesterTrace, entries: Rings, records: Rings) -> bool:
    """Return whether the number of commands in flight was followed: what was taken for fetches and completions are all of them."""
    if seen.ticker.has_holes or not (seen.visible.reads and seen.visible.writes):
        return False
    is_whole = seen.counts.entries.left_out == seen.counts.records.left_out == 0
    fetched = entries.total(PageColumn.SLOTS) == entries.total(PageColumn.EXACT) == int(entries.rows[:, PageColumn.EXACT].sum())
    return is_whole and fetched and not records.others(PageColumn.SLOTS)


def _in_flight(seen: RequesterTrace, entries: Rings, records: Rings, at_start: int) -> InFlight:
    flight, elapsed, tick_ns = seen.edge.flight, seen.ticker.elapsed, seen.ticker.tick_ns
    at_end = at_start + flight.change
    inside = records.total(PageColumn.SLOTS) - at_start
    is_whole = at_start == at_end == 0
    mean = least = most = None
    if elapsed is not None:
        # The sums of times are kept modulo 2^64; their difference fits.
        with np.errstate(over="ignore"):
            difference = records.rows[records.is_ring, PageColumn.TIMES].sum() - entries.rows[entries.is_ring, PageColumn.TIMES].sum()
        time_in_flight = int(difference) + elapsed * at_end
        mean = time_in_flight / elapsed if elapsed else None
        if inside > 0:
            # All that was in flight, also of commands that were not seen whole; and without those that may have been so the longest.
            most = time_in_flight / inside if is_whole or not seen.ticker.may_be_short else None
            if flight.fetched is not None and flight.ended is not None:
                least = (int(difference) - int(flight.ended.sum()) + int(flight.fetched.sum())) / inside
    ticks = most if is_whole else None
    return InFlight(
        at_start=at_start,
        at_end=at_end,
        peak=at_start + flight.highest,
        peak_index=flight.highest_index,
        mean=mean,
        ticks=ticks,
        ns=None if ticks is None or tick_ns is None else ticks * tick_ns,
        ticks_least=least,
        ticks_most=None if seen.ticker.may_be_short else most,
        is_whole=is_whole,
        is_exact=is_whole and not seen.ticker.may_be_short,
    )


def _written(seen: RequesterTrace, entries: Rings, read: int | None, *, lone_lists: bool) -> Written:
    """Tell data from lists of addresses, where that depends on the whole recording."""
    keys, rows = seen.counts.lists.of(seen.requester)
    data = seen.sum(Sum.READ_DATA)
    # What was read in several entries at a time was taken for lists.
    lists = seen.sum(Sum.READ_LISTS)
    several = entries.total(PageColumn.BYTES) - entries.total(PageColumn.EXACT) * ENTRY
    lists += int(rows[:, Lists.SURE_BYTES].sum()) - several
    fetches = int(entries.rows[:, PageColumn.EXACT].sum())
    one_by_one = not several and seen.sum(Sum.IN_A_ROW) * _IN_A_ROW <= fetches
    sure = rows[:, Lists.SURE] > 0
    if lone_lists:
        sure |= np.isin(keys, np.array(sorted(seen.edge.lone_lists), dtype=np.uint64))
    first_is_list = sure | one_by_one
    tail_is_list = sure | ((rows[:, Lists.FIRST_TAIL] > 0) & first_is_list) | (rows[:, Lists.DATA] == 0)
    is_first, is_tail = (rows[:, Lists.FIRST_PAGE] + rows[:, Lists.FIRST_TAIL]) > 0, rows[:, Lists.ALONE_TAIL] > 0
    holds_lists = sure | (is_first & first_is_list) | (is_tail & tail_is_list)
    left = rows[~holds_lists]
    alone = int(left[:, Lists.ALONE_PAGE].sum())
    all_are_lists = read is not None and _need_lists(read, seen.sum(Sum.EMPTY), alone)
    uncertain = 0
    for bytes_, is_list in (
        (rows[:, Lists.ALONE_TAIL_BYTES], tail_is_list),
        (rows[:, Lists.FIRST_PAGE_BYTES] + rows[:, Lists.FIRST_TAIL_BYTES], first_is_list),
        (rows[:, Lists.ALONE_PAGE_BYTES], holds_lists | all_are_lists),
    ):
        lists += int(bytes_[is_list].sum())
        data += int(bytes_[~is_list].sum())
    if read is None:
        uncertain = int(left[:, Lists.ALONE_PAGE_BYTES].sum())
    return Written(data, max(lists, 0), uncertain)


def _need_lists(read: int, without: int, alone: int) -> bool:
    """Return whether single reads of whole pages have to be lists: commands without any list cannot have moved so much."""
    return (
        alone > 0
        and without * _WITHOUT_LIST <= alone
        and read > without * _PAGES_WITHOUT_LIST * PAGE
        and read > alone * _PAGES_WITHOUT_LIST * PAGE
    )
