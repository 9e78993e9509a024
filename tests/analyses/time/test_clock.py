"""Clocks say what a plain reading of the records says, wherever the recording is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.time.clock import CLOCK_COLUMNS, Clock
from ptttool.analyses.time.model import TimeModel
from ptttool.analyses.time.ticks import Ticks
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.records import Piece
from ptttool.decoders.hisi_ptt.units import TlpUnit
from ptttool.pipeline.jobs import load
from ptttool.table.batch import Batch, SourceRows
from tests.reference.time import Mark, moments
from tests.support.records import Words, eight, four, packed

MODELS = tuple(TimeModel)


@st.composite
def traces(draw: st.DrawFn) -> tuple[Layout, list[tuple[int, int, list[Words]]]]:
    """Pieces of AUX streams: CPU, offset, and records with times near each other, near a wrap, or anywhere; some of them are no records."""
    layout = Layout(draw(st.booleans()))
    top = 2**32 if layout.eight_dw else 2**11
    time = draw(st.integers(0, top - 1))
    offset, pieces = 0, []
    for _ in range(draw(st.integers(1, 4))):
        offset += draw(st.sampled_from((0, 0, 16, 32, 64, 1 << 20)))
        cpu = draw(st.sampled_from((-1, 0, 0, 0, 1)))
        words: list[Words] = []
        for _ in range(draw(st.integers(0, 8))):
            time = (time + draw(st.sampled_from((0, 1, 5, 100, 2000, top // 2 - 1, top // 2, top - 1)))) % top
            what = draw(st.integers(0, 11))
            if what == 0:
                words.append((0,) * layout.dws)
            elif layout.eight_dw:
                words.append(eight(0x60000001, 0, 0, 0, time=time, check=0 if what == 1 else 0xFFFFFFFF))
            else:
                words.append(four(0x60, 0, 0, 0, time=time))
        pieces.append((cpu, offset, words))
        offset += len(words) * layout.record_size
    return layout, pieces


def batch_of(layout: Layout, pieces: list[tuple[int, int, list[Words]]]) -> Batch:
    """The rows of some pieces as one unit of work."""
    parts = []
    for cpu, offset, words in pieces:
        data = packed(words)
        parts.append(Piece("", 0, len(data), offset, cpu, memoryview(data)))
    rows, _ = load(TlpUnit(layout, tuple(parts))).decoded(0)
    return rows.batch(CLOCK_COLUMNS)


def marks_of(layout: Layout, pieces: list[tuple[int, int, list[Words]]]) -> list[Mark]:
    """What the reference takes."""
    size = layout.record_size
    return [
        Mark((word[7] if word[0] >> 11 == 0x1FFFFF else None) if layout.eight_dw else word[0] & 0x7FF, cpu, offset + number * size, size)
        for cpu, offset, words in pieces
        for number, word in enumerate(words)
        if any(word)
    ]


def cut(pieces: list[tuple[int, int, list[Words]]], at: int, size: int) -> tuple[list[Any], list[Any]]:
    """Cut pieces behind `at` records."""
    before: list[Any] = []
    behind: list[Any] = []
    for cpu, offset, words in pieces:
        here = min(max(at, 0), len(words))
        before.append((cpu, offset, words[:here]))
        behind.append((cpu, offset + here * size, words[here:]))
        at -= len(words)
    return before, behind


@given(trace=traces(), model=st.sampled_from(MODELS), data=st.data())
def test_any_cutting_gives_what_the_reference_says(trace: Any, model: TimeModel, data: st.DataObject) -> None:
    layout, pieces = trace
    bits = 32 if layout.eight_dw else 11
    wanted = moments(marks_of(layout, pieces), model.value)
    whole, rest = Clock(model, bits), pieces
    ticks: list[int] = []
    segments: list[int] = []
    holes: list[int] = []
    for _ in range(data.draw(st.integers(0, 3), label="parts")):
        part, rest = cut(rest, data.draw(st.integers(0, 12), label="records"), layout.record_size)
        _add(whole, layout, part, data.draw(st.integers(0, 12), label="rows"), ticks, segments, holes)
    _add(whole, layout, rest, 0, ticks, segments, holes)
    assert ticks == ([] if model is TimeModel.UNKNOWN else [moment.ticks for moment in wanted])
    assert segments == [moment.breaks for moment in wanted]
    assert holes == [row for row in range(1, len(wanted)) if wanted[row].holes > wanted[row - 1].holes]
    assert whole.rows == len(wanted)
    if wanted:
        assert (whole.elapsed, whole.breaks, whole.holes) == wanted[-1]


def _add(whole: Clock, layout: Layout, part: Any, rows: int, ticks: list[int], segments: list[int], holes: list[int]) -> None:
    """Add a part, in two batches, and what its numbers are in the whole."""
    clock = Clock(whole.model, 32 if layout.eight_dw else 11)
    batch = batch_of(layout, part)
    found = [(clock.rows, clock.ticks(each), each.size) for each in (batch.part(0, rows), batch.part(rows, batch.size))]
    seam = whole.merge(clock)
    if clock.rows and seam.is_hole:
        holes.append(seam.rows)
    for first, each, size in found:
        if each.at is not None:
            ticks.extend((each.at + seam.ticks).tolist())
        numbers = np.broadcast_to(each.segments(np.arange(size)), size) + seam.segments
        segments.extend(numbers.tolist())
        holes.extend((each.holes + first + seam.rows).tolist())


@given(trace=traces(), model=st.sampled_from((TimeModel.COUNTER, TimeModel.DELTA)), data=st.data())
def test_time_passes_in_rows_that_a_condition_leaves_out(trace: Any, model: TimeModel, data: st.DataObject) -> None:
    layout, pieces = trace
    whole = batch_of(layout, pieces)
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=whole.size, max_size=whole.size)), dtype=np.bool_)
    some = whole.take(wanted)
    taken = Batch(some.schema, some.size, some.columns, SourceRows(whole, wanted))
    bits = 32 if layout.eight_dw else 11
    all_of_it, part = Clock(model, bits), Clock(model, bits)
    ticks, found = all_of_it.ticks(whole), part.ticks(taken)
    assert (part.rows, part.elapsed, part.breaks) == (all_of_it.rows, all_of_it.elapsed, all_of_it.breaks)
    assert ticks.at is not None
    assert found.at is not None
    assert found.at.tolist() == ticks.at[wanted].tolist()
    assert found.numbers(np.arange(taken.size)).tolist() == np.flatnonzero(wanted).tolist()
    mine = np.broadcast_to(found.segments(), taken.size)
    theirs = np.broadcast_to(ticks.segments(), whole.size)[wanted]
    assert (mine[1:] == mine[:-1]).tolist() == (theirs[1:] == theirs[:-1]).tolist()


def test_a_counter_that_goes_back_is_counted() -> None:
    batch = batch_of(Layout(True), [(0, 0, [eight(0x60000001, 0, 0, 0, time=time) for time in (7, 0xFFFFFFFF, 3, 2, 90)])])
    counter = Clock(TimeModel.COUNTER)
    counter.ticks(batch)
    assert (counter.back, counter.breaks, counter.elapsed, counter.wide) == (2, 2, 4 + 88, 0)


@pytest.mark.parametrize(("model", "wide"), [(TimeModel.COUNTER, 3), (TimeModel.DELTA, 2)])
@pytest.mark.parametrize("at", [0, 1, 3, 5])
def test_steps_that_11_bits_can_hardly_say_are_counted(model: TimeModel, wide: int, at: int) -> None:
    words = [four(0x60, 0, 0, 0, time=time) for time in (0, 1024, 2047, 2047, 2046, 2045)]
    first, later = Clock(model, 11), Clock(model, 11)
    first.ticks(batch_of(Layout(False), [(0, 0, words[:at])]))
    later.ticks(batch_of(Layout(False), [(0, 16 * at, words[at:])]))
    first.merge(later)
    assert first.wide == wide


def test_taken_rows_keep_the_segments_of_all_rows() -> None:
    """Two breaks in front of one taken row count twice, so that the segments of the part behind go on from them."""
    every = Ticks(np.arange(6, dtype=np.int64), np.array([1, 2, 5]), np.array([2]), segment=4)
    some = every.taken(np.array([True, False, False, True, True, False]))
    numbers = every.segments()
    assert np.asarray(some.segments()).tolist() == np.asarray(numbers)[[0, 3, 4]].tolist() == [4, 6, 6]
    assert some.holes.tolist() == [1]
