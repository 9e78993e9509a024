"""The compiled loops and the same file as plain Python: both find what the reference does, and the same in any arrays."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.kernel import LOOPS, is_compiled, loops, matching
from ptttool.kernel.matching import Found, Limits, Rows, State, join, match
from ptttool.tlp.transactions import Ending
from tests.analyses.matching.test_matching import check, in_one
from tests.reference import matching as reference
from tests.support.plain import plain
from tests.support.traffic import Traffic, traffic


def test_what_has_c_types_is_compiled_and_counts_as_compiled() -> None:
    assert {path.stem for path in Path(loops.__file__).parent.glob("*.pxd")} == {*LOOPS}


FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
LIMITS = Limits(rows=12, keys=24)
needs_compiler = pytest.mark.skipif(not is_compiled(), reason="the loops are not compiled: pip install -e . with a C compiler does it")


PLAIN = plain("loops")


@pytest.fixture(params=[pytest.param(loops, id="compiled", marks=needs_compiler), pytest.param(PLAIN, id="plain")])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(matching, "loops", request.param)
    yield request.param


@FIXTURES
@given(made=traffic(), cuts=st.lists(st.integers(0, 60), max_size=6), tree=st.booleans())
def test_like_the_reference(either: ModuleType, made: Traffic, cuts: list[int], tree: bool) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    check(in_one(made, scope, tuple(cuts), tree=tree), reference.match(made.rows()), TimeModel.COUNTER)


def test_the_numbers_of_endings_are_the_same() -> None:
    assert [each.value for each in Ending] == list(loops.ENDINGS) == [reference.COMPLETE, reference.ERROR, reference.SHORT, 3, 4]
    assert Ending.INSIDE == loops.INSIDE


@st.composite
def any_rows(draw: st.DrawFn) -> Rows:
    """Any numbers in any column, in rows with few keys."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    count = draw(st.integers(0, 60))

    def column(most: int, dtype: type[np.generic]) -> Any:
        return random.integers(0, most + 1, count).astype(dtype)

    def some() -> Any:
        return np.flatnonzero(random.integers(0, 12, count) == 0)

    sizes = (1 << 16) - 1 if draw(st.booleans()) else 80
    holes = some()
    return Rows(
        kind=column(draw(st.sampled_from((20, 255))), np.uint8), requester=column(1, np.uint16),
        tag=column(draw(st.sampled_from((3, 40))), np.uint16),
        segment=column(1, np.uint8) if draw(st.booleans()) else np.empty(0, np.uint8), length_dw=column(sizes, np.uint16),
        requested_bytes=column(sizes, np.uint16), status=column(1, np.uint8), byte_count=column(sizes, np.uint16),
        lower_address=column(255, np.uint8), is_hidden=column(1, np.uint8) if draw(st.booleans()) else np.empty(0, np.uint8),
        number=np.cumsum(column(3, np.uint64)) + np.uint64(1 << 40) if draw(st.booleans()) else np.empty(0, np.uint64),
        start=draw(st.integers(0, 1 << 40)), at=np.cumsum(column(1 << 32, np.int64)) if draw(st.booleans()) else np.empty(0, np.int64),
        breaks=np.union1d(some(), holes).astype(np.int64), holes=holes.astype(np.int64),
        gaps=random.integers(loops.INSIDE, loops.END + 1, len(holes)).astype(np.uint8),
    )  # fmt: skip


def everything(parts: list[Rows], gaps: list[int | None], roles: Any) -> list[Any]:
    """All that is found in parts, and where they join."""
    seen: list[tuple[Found, Any]] = []
    whole: State | None = None
    for number, rows in enumerate(parts):
        state, found, slots = match(roles, rows, LIMITS)
        seen.append((found, slots))
        state = pickle.loads(pickle.dumps(state))
        if whole is not None:
            state, found, slots = join(whole, state, 1000 * number, number, gaps[number], LIMITS)
            seen.append((found, slots))
        whole = state
        assert len(whole.opened) <= LIMITS.rows and len(whole.back) <= LIMITS.keys
        assert len(whole.answers) <= LIMITS.rows and len(whole.front) <= LIMITS.keys
    assert whole is not None
    seen.append((whole.rest(), whole.before()))
    return [
        (found.ended.tolist(), found.orphans.tolist(), found.early, found.early_ends, found.left_out, numbers.tolist())
        for found, numbers in seen
    ]


@needs_compiler
@given(
    st.lists(any_rows(), min_size=1, max_size=5), st.lists(st.sampled_from((None, None, loops.INSIDE, loops.END)), min_size=5, max_size=5)
)
def test_both_find_the_same_in_any_arrays(parts: list[Rows], gaps: list[int | None]) -> None:
    roles = np.zeros(256, dtype=np.uint8)
    roles[:21] = np.arange(21) % 32 | np.array([loops.COMPLETION, loops.REQUEST, 0]).repeat(7)
    found = []
    for module in (loops, PLAIN):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matching, "loops", module)
            found.append(everything(parts, gaps, roles))
    assert found[0] == found[1]


def test_columns_that_are_too_short_are_an_error(either: ModuleType) -> None:
    short = np.empty(0, dtype=np.uint16)
    bytes_ = np.empty(0, dtype=np.uint8)
    numbers = np.empty(0, dtype=np.int64)
    rows = Rows(
        np.zeros(3, np.uint8), short, short, bytes_, short, short, bytes_, short, bytes_, bytes_, short.astype(np.uint64), 0, numbers,
        numbers, numbers, bytes_,
    )  # fmt: skip
    with pytest.raises(IndexError):
        match(np.full(256, loops.REQUEST, dtype=np.uint8), rows, LIMITS)


def test_keys_beyond_the_first_table(either: ModuleType) -> None:
    """Each of 5,000 requests has its completion, although the table grows in between."""
    count = 5000
    keys = np.arange(count, dtype=np.uint16)
    kind = np.repeat(np.array([0, 1], np.uint8), count)
    both = np.concatenate((keys, keys))
    four = np.full(2 * count, 4, np.uint16)
    empty = np.empty(0, np.uint8)
    rows = Rows(
        kind, both, both, empty, four, four, np.zeros(2 * count, np.uint8), four, np.zeros(2 * count, np.uint8), empty,
        np.empty(0, np.uint64), 0, np.arange(2 * count), np.empty(0, np.int64), np.empty(0, np.int64), empty,
    )  # fmt: skip
    roles = np.zeros(256, np.uint8)
    roles[:2] = loops.REQUEST, loops.COMPLETION | loops.HAS_DATA
    state, found, _ = match(roles, rows, Limits(count, count))
    assert len(state.opened) == found.early == len(found.orphans) == 0
    columns = dict(zip(loops.ENDED, found.ended, strict=True))
    assert (columns["ending"] == loops.COMPLETE).all()
    assert (columns["last"] - columns["request"] == count).all()
    assert (columns["to_last"] == count).all()


LEVELS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9)), max_size=30)
SHIFT = 12


def events_of(spans: list[tuple[int, int, int]], borders: list[tuple[int, int]]) -> Any:
    """Events of spans and borders, by series and row, in ascending order; each series begins with a border."""
    found = {(series, row, 0) for series, row in borders} | {(series, 0, 0) for series, *_ in [*spans, *borders]}
    changes = [(series, row, what) for series, one, other in spans for row, what in ((min(one, other), 1), (max(one, other), 2))]
    return np.array(sorted((series << SHIFT - 2 | row) << 2 | what for series, row, what in [*found, *changes]), dtype=np.int64)


@FIXTURES
@given(spans=LEVELS, borders=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=5))
def test_levels(either: ModuleType, spans: list[tuple[int, int, int]], borders: list[tuple[int, int]]) -> None:
    """Row by row: how many spans are open, and for how long."""
    events = events_of(spans, borders)
    rows = events >> 2 & 1023
    entries = np.empty((len(events), 5), dtype=np.int64)
    used = either.sum_levels(events, 3 * rows, 100, SHIFT, entries)
    expected: dict[tuple[int, int], list[int]] = {}
    places = sorted({event >> 2 for event in events.tolist()})
    for place, behind in zip(places, [*places, 1 << 40][1:], strict=True):
        series, row = place >> SHIFT - 2, place & 1023
        level = sum(1 for each, one, other in spans if each == series and min(one, other) <= row < max(one, other))
        block = max(event >> 2 for event in events.tolist() if event & 3 == 0 and event >> 2 <= place)
        end = 3 * (behind & 1023) if behind >> SHIFT - 2 == series else 100
        sums = expected.setdefault((block, level), [0, place, 0])
        sums[0] += end - 3 * row
        sums[2] += sum(1 for event in events.tolist() if event >> 2 == place and event & 3 == 1)
    assert {(block, level): sums for block, level, *sums in entries[:used].tolist()} == expected


def test_levels_that_cannot_be_are_an_error(either: ModuleType) -> None:
    times, entries = np.zeros(2, dtype=np.int64), np.empty((2, 5), dtype=np.int64)
    with pytest.raises(IndexError):
        either.sum_levels(np.array([0, 6]), times, 0, SHIFT, entries)
    two, three = np.array([0, 5]), np.array([0, 5, 10])
    for events, sums in ((three, entries), (two, entries[:1]), (two, np.empty((2, 4), dtype=np.int64))):
        with pytest.raises(IndexError):
            either.sum_levels(events, times, 0, SHIFT, sums)
