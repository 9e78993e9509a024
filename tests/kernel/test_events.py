"""Events of commands: the compiled loop, the same file as plain Python, and a literal reference find the same."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.kernel import events as ev
from ptttool.kernel import is_compiled
from tests.support.plain import plain

needs_compiler = pytest.mark.skipif(not is_compiled(), reason="the loops are not compiled: pip install -e . with a C compiler does it")
# The kind of a TLP is its role here; 0 is any other TLP.
ROLES = np.arange(256, dtype=np.uint8) % 4
BLOCK = 1 << ev.BLOCK_BITS

rows = st.tuples(
    st.integers(0, 3), st.sampled_from((True, True, True, False)), st.sampled_from((0x0, 0x100, 0xFFFF)),
    st.sampled_from((0x1000, 0x1004, 0x1010, 0x1040)), st.sampled_from((0, 1, 4, 8, 16, 32, 128, 1024)), st.booleans(),
    st.integers(0, 3), st.sampled_from((0, 0, 0, 0, 1)),
)  # fmt: skip


def collected(module: ModuleType, table: list[Any], first: int, *, is_timed: bool) -> tuple[list[list[int]], list[int]]:
    """Return the events of rows, and the segments of the first and the last one."""
    kinds, valid, requesters, addresses, lengths, whole, steps, breaks = (list(column) for column in zip(*table, strict=True))
    counts = [4 * length if is_whole else 1 for length, is_whole in zip(lengths, whole, strict=True)]
    numbers = np.arange(first, first + len(table), dtype=np.int64)
    columns: tuple[Any, ...] = (
        ROLES, np.array(kinds, dtype=np.uint8), np.array(valid, dtype=np.uint8), np.array(requesters, dtype=np.uint16),
        np.array(addresses, dtype=np.int64), np.array(lengths, dtype=np.uint16), np.array(counts, dtype=np.uint16),
        np.array(lengths, dtype=np.uint16).astype(np.uint8), numbers, np.cumsum(steps if is_timed else []).astype(np.int64),
        np.cumsum(breaks).astype(np.int64),
    )  # fmt: skip
    found, ends = np.zeros((2 * len(table), 4), dtype=np.int64), np.zeros(2, dtype=np.int64)
    used = module.collect(*(memoryview(column) for column in (*columns, found, ends)))
    return found[:used].tolist(), ends.tolist() if used else []


def what_of(kind: int, address: int, length: int, *, is_whole: bool) -> tuple[int, int]:
    """Return what a TLP is, and its slots or bytes; 0 for no event."""
    size = 4 * length
    if kind == ev.READ:
        if size == 4:
            return ev.SMALL_READ, size
        return (ev.FETCH, size // 64) if size < 512 and not size % 64 and not address % 64 else (ev.DATA_READ, size)
    if kind == ev.WRITE:
        if size == 4:
            return ev.SMALL_WRITE, size
        return (ev.RECORD, size // 16) if size <= 64 and not size % 16 and not address % 16 else (ev.DATA_WRITE, size)
    return ({64: ev.ANSWER, 4: ev.SMALL_ANSWER}.get(size, 0) if is_whole else 0), size


def reference(table: list[Any], first: int, *, is_timed: bool) -> list[list[int]]:
    """Return the events, literally: runs of data are looked for again at each row."""
    events: list[list[int]] = []
    places: list[tuple[int, int, int]] = []  # segment, block, row of each
    seen: list[tuple[int, int, int, int, int]] = []  # requester, segment, block, what, event of the run
    now = segment = 0
    for row, (kind, is_valid, requester, address, length, is_whole, step, breaks) in enumerate(table):
        now, segment = now + step, segment + breaks
        what, size = what_of(kind, address, length, is_whole=is_whole) if kind and is_valid else (0, 0)
        if not what:
            continue
        number = first + row
        block, at = number // BLOCK, now if is_timed else 0
        where = length % 256 if what in (ev.ANSWER, ev.SMALL_ANSWER) else address
        if places and places[-1][0] != segment:
            events.append([ev.BREAK, 0, 0, number])
        places.append((segment, block, row))
        run = None
        if what in (ev.DATA_READ, ev.DATA_WRITE):
            for other in reversed(seen):
                if other[:3] == (requester, segment, block):
                    if other[3] not in (ev.DATA_READ, ev.DATA_WRITE):
                        break
                    if other[3] == what:
                        run = other[4]
                        break
                elif other[0] == requester:
                    break
        if run is None:
            seen.append((requester, segment, block, what, len(events)))
            events.append([what | requester << 4 | size << 20, where, at, number])
            continue
        events[run][0] += size << 20
        end = (ev.DATA_READ_END if what == ev.DATA_READ else ev.DATA_WRITE_END) | requester << 4
        last = next((each for each in range(len(events) - 1, run, -1) if events[each][0] == end), None)
        if last is None:
            events.append([end, where, at, number])
        else:
            events[last][1:] = [where, at, number]
    return events


@pytest.mark.parametrize("module", [pytest.param(ev, id="compiled", marks=needs_compiler), pytest.param(plain("events"), id="plain")])
@given(table=st.lists(rows, min_size=1, max_size=40), before=st.integers(0, 40), is_timed=st.booleans())
def test_events_of_rows(module: ModuleType, table: list[Any], before: int, is_timed: bool) -> None:
    first = BLOCK - before
    events, ends = collected(module, table, first, is_timed=is_timed)
    assert events == reference(table, first, is_timed=is_timed)
    assert len(ends) == 2 * bool(events)
