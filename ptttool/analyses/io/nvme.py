"""The commands of an NVMe drive."""

from __future__ import annotations

import numpy as np

from ptttool.analyses.io.commands.summary import CommandSummary
from ptttool.analyses.io.counts import ENTRY, PAGE
from ptttool.analyses.io.requester import RequesterTrace, Rings
from ptttool.analyses.io.results import By, Count, DataBytes, Drive, InFlight
from ptttool.kernel.accesses import LEVEL_BIT
from ptttool.pci import format_id

# Bits of a Time field that does not wrap around unnoticed.
_WIDE = 32
# One fetch in so many may follow another one at once, and reads between fetches still are taken for one command's.
_IN_A_ROW = 8
# One fetch in so many may be of a command without data or without a list.
_WITHOUT_LIST = 8
_PAGES_WITHOUT_LIST = 2
# Bytes of a completion queue entry, and of the metadata of a block, at least.
_COMPLETION, _METADATA = 16, 8


def drive_of(trace: RequesterTrace, by: By, summary: CommandSummary) -> Drive:
    """Return what is to be said of a drive."""
    visible = trace.visible
    entries, records = trace.rings("entries"), trace.rings("records")
    submitted = entries.total("slots") if visible.reads else None
    # Several entries in one write: their pages are those in which others are written one by one.
    rows = trace.pages["completions"]
    is_metadata = rows["bytes"] == _METADATA * rows["accesses"]
    several = int(rows["bytes"][~is_metadata & np.isin(rows["key"], records.keys)].sum())
    metadata = int(rows["accesses"][is_metadata].sum())
    completed = records.total("slots") + several // _COMPLETION if visible.writes else None
    read = trace.sum("data_write_bytes") + records.others("bytes") - several if visible.writes else None
    is_active = completed or trace.sum("data_write_bytes") or trace.sum("read_bytes")
    is_fetched = not (submitted == 0 and is_active)
    if not is_fetched:
        submitted = None
    is_followed = is_fetched and not several and _is_followed(trace, entries, records)
    at_start = -trace.sum("lowest") if is_followed else 0
    counted_by, commands = _commands(trace, submitted, completed, at_start)
    in_flight = _in_flight(trace, entries, records, at_start) if is_followed else None
    data, lists, uncertain = None, None, 0
    if visible.reads and not is_fetched:
        # Lists are told from data by what is read between fetches.
        data = uncertain = trace.sum("read_bytes")
    elif visible.reads:
        data, lists, uncertain = _written(trace, entries, read, lone_lists=in_flight is not None and in_flight.is_whole)
    others = entries.others("exact")
    return Drive(
        requester=format_id(trace.sum("key")),
        by=by,
        commands=commands,
        counted_by=counted_by,
        submitted=submitted,
        completed=completed,
        data_bytes=DataBytes(read, data),
        uncertain_bytes=uncertain,
        list_bytes=lists,
        interrupts=trace.interrupts(beside=np.empty(0, dtype=np.int64)),
        submission_pages=len(entries.keys),
        completion_pages=len(records.keys),
        in_flight=in_flight,
        is_fetched=is_fetched,
        unexplained_tlps=others + metadata,
        unexplained_bytes=others * ENTRY + metadata * _METADATA,
        followed=summary.drive(trace.sum("key"), reads=visible.reads, writes=visible.writes, answers=visible.answers),
    )


def _commands(trace: RequesterTrace, submitted: int | None, completed: int | None, at_start: int) -> tuple[Count | None, int | None]:
    if submitted is not None:
        return Count.ENTRIES, max(submitted + at_start, completed or 0)
    if completed:
        return Count.COMPLETIONS, completed
    if completed is not None and not trace.visible.reads:
        return Count.COMPLETIONS, completed
    if trace.visible.answers and not trace.visible.reads:
        return Count.ANSWERS, trace.sum("entry_completions")
    return None, None


def _is_followed(trace: RequesterTrace, entries: Rings, records: Rings) -> bool:
    """Return whether the number of commands in flight was followed: what was taken for fetches and completions are all of them."""
    if trace.time.holes or not (trace.visible.reads and trace.visible.writes):
        return False
    is_whole = trace.left_out["entries"] == trace.left_out["records"] == 0
    fetched = entries.total("slots") == entries.total("exact") == int(entries.rows["exact"].sum())
    return is_whole and fetched and not records.others("slots")


def _in_flight(trace: RequesterTrace, entries: Rings, records: Rings, at_start: int) -> InFlight:
    elapsed = None if trace.time.breaks else trace.time.elapsed_ticks
    may_be_short, tick_ns = trace.time.bits < _WIDE, trace.time.tick_ns
    at_end = at_start + trace.sum("level")
    inside = records.total("slots") - at_start
    is_whole = at_start == at_end == 0
    mean = least = most = None
    if elapsed is not None:
        # The sums of times are kept modulo 2^64; their difference fits.
        with np.errstate(over="ignore"):
            difference = records.rows["times"][records.is_ring].sum() - entries.rows["times"][entries.is_ring].sum()
        time_in_flight = int(difference) + elapsed * at_end
        mean = time_in_flight / elapsed if elapsed else None
        if inside > 0:
            # All that was in flight, also of commands that were not seen whole; and without those that may have been so the longest.
            most = time_in_flight / inside if is_whole or not may_be_short else None
            if not trace.sum("is_lost"):
                least = (int(difference) + _open_ticks(trace)) / inside
    ticks = most if is_whole else None
    return InFlight(
        at_start=at_start,
        at_end=at_end,
        peak=at_start + trace.sum("highest"),
        peak_index=trace.sum("highest_index") if trace.sum("highest") else None,
        mean=mean,
        ticks=ticks,
        ns=None if ticks is None or tick_ns is None else ticks * tick_ns,
        ticks_least=least,
        ticks_most=None if may_be_short else most,
        is_whole=is_whole,
        is_exact=is_whole and not may_be_short,
    )


def _open_ticks(trace: RequesterTrace) -> int:
    """Return the ticks of fetches without a completion, less those of completions without a fetch.

    Each completion ends the newest command: no order lets those that are left open be earlier.
    """
    rows = trace.pages["levels"]
    levels = rows["key"] - (trace.sum("key") << LEVEL_BIT) - (1 << LEVEL_BIT - 1)
    is_crossed = levels > trace.sum("lowest")
    return int(rows["fetched"][is_crossed & (levels <= trace.sum("level"))].sum() - rows["ended"][is_crossed & (levels <= 0)].sum())


def _written(trace: RequesterTrace, entries: Rings, read: int | None, *, lone_lists: bool) -> tuple[int, int, int]:
    """Tell data from lists of addresses, where that depends on the whole recording.

    Returns
    -------
    data, lists, uncertain : int
        Bytes of data and of lists that a drive asked memory for, and how many of the data may be lists.
    """
    rows = trace.pages["lists"]
    # What was read in several entries at a time was taken for lists.
    several = entries.total("bytes") - entries.total("exact") * ENTRY
    data, lists = trace.sum("read_data"), trace.sum("read_lists") + int(rows["sure"].sum()) - several
    one_by_one = not several and trace.sum("in_a_row") * _IN_A_ROW <= int(entries.rows["exact"].sum())
    sure = rows["sure"] > 0
    if lone_lists:
        sure |= rows["lone"] == 1 - trace.sum("lowest")
    first = rows["first_page"] + rows["first_tail"]
    first_is_list = sure | one_by_one
    tail_is_list = sure | ((rows["first_tail"] > 0) & first_is_list) | (rows["data"] == 0)
    holds_lists = sure | ((first > 0) & first_is_list) | ((rows["alone_tail"] > 0) & tail_is_list)
    left = int(rows["alone_page"][~holds_lists].sum())
    all_are_lists = read is not None and _need_lists(read, trace.sum("empty"), left // PAGE)
    for bytes_, is_list in (
        (rows["alone_tail"], tail_is_list),
        (first, first_is_list),
        (rows["alone_page"], holds_lists | all_are_lists),
    ):
        lists += int(bytes_[is_list].sum())
        data += int(bytes_[~is_list].sum())
    return data, max(lists, 0), left if read is None else 0


def _need_lists(read: int, without: int, alone: int) -> bool:
    """Return whether single reads of whole pages have to be lists: commands without any list cannot have moved so much."""
    return (
        alone > 0
        and without * _WITHOUT_LIST <= alone
        and read > without * _PAGES_WITHOUT_LIST * PAGE
        and read > alone * _PAGES_WITHOUT_LIST * PAGE
    )
