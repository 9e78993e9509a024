"""Sums by block: the same wherever a recording is cut, and those of plain counting."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.budget import MAX_BLOCKS
from ptttool.analyses.compare import blocks
from ptttool.analyses.compare.blocks import BlockAnalysis
from ptttool.analyses.compare.grid import Grid
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.table.batch import Batch
from ptttool.tlp.columns import CLASSES, DIRECTIONS
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-4dw-port10-type7-dir2.data"
SCOPE = Scope(time_model=TimeModel.COUNTER, time_bits=11)


@given(st.lists(st.integers(1, 4000), min_size=1, max_size=12), st.lists(st.booleans(), min_size=12, max_size=12))
def test_a_grid_is_the_same_however_it_is_cut(sizes: list[int], merged: list[bool]) -> None:
    """Parts are added one by one, or merged as grids of their own."""
    whole, cut = Grid(1), Grid(1)
    count = sum(sizes)
    found = whole.blocks(np.arange(count))
    np.add.at(whole.sums[:, 0], found, 1)
    at = 0
    for size, apart in zip(sizes, merged, strict=False):
        part = Grid(1) if apart else cut
        places = part.blocks(np.arange(at, at + size, dtype=np.uint64))
        np.add.at(part.sums[:, 0], places, 1)
        if apart:
            cut.merge(part)
        at += size
    assert (cut.shift, cut.first, cut.sums.tolist()) == (whole.shift, whole.first, whole.sums.tolist())
    assert len(cut.sums) <= MAX_BLOCKS < 2 * len(cut.sums) + (0 if cut.shift else 2 * MAX_BLOCKS)
    assert cut.parts(1).tolist() == [[count]]


@cache
def batch() -> Batch:
    with ptttool.open(TLPS, parameters={"downstream": "01"}) as recording:
        (found,) = recording.batches(BlockAnalysis.columns)
    return found


def analysis_of(*parts: tuple[int, int]) -> BlockAnalysis:
    analysis = BlockAnalysis(SCOPE)
    for start, stop in parts:
        analysis.update(batch().part(start, stop))
    return analysis


@given(st.lists(st.integers(0, 6722), max_size=6), st.lists(st.booleans(), min_size=7, max_size=7))
def test_blocks_are_the_same_however_a_recording_is_cut(cuts: list[int], merged: list[bool]) -> None:
    edges = [0, *sorted(cuts), batch().size]
    whole, cut = analysis_of((0, batch().size)), analysis_of()
    for start, stop, apart in zip(edges, edges[1:], merged, strict=False):
        if apart:
            cut.merge(analysis_of((start, stop)))
        else:
            cut.update(batch().part(start, stop))
    assert cut._grid.sums.tolist() == whole._grid.sums.tolist()
    assert cut._clock.elapsed == whole._clock.elapsed


def test_the_sums_are_those_of_the_rows() -> None:
    grid = analysis_of((0, batch().size))._grid
    rows = batch().to_polars().to_dicts()
    tlps: Counter[tuple[str, str | None]] = Counter()
    data: Counter[tuple[str, str | None]] = Counter()
    asked: Counter[tuple[str, str | None]] = Counter()
    for row in rows:
        key = row["direction"] or "unknown", row["class"]
        tlps[key] += 1
        data[key] += row["payload_bytes"] or 0
        asked[key] += row["requested_bytes"] or 0
    sums = grid.sums.sum(axis=0)
    for direction, direction_name in enumerate(DIRECTIONS):
        for class_, class_name in enumerate((*CLASSES, None)):
            at, key = blocks.cell(direction, class_), (direction_name, class_name)
            assert (sums[blocks.TLPS + at], sums[blocks.DATA + at], sums[blocks.ASKED + at]) == (tlps[key], data[key], asked[key])
    assert sums[blocks.COMPLETIONS] == sum(row["status"] is not None for row in rows)
    assert sums[blocks.ERRORS] == sum(row["status"] not in (None, "SC") for row in rows)
    first = [row for row in rows if row["index"] >> grid.shift == 0]
    assert sum(grid.sums[0, blocks.TLPS : blocks.TLPS + blocks.CELLS]) == len(first)
    # Within one block of one stream, time passes by the counter's differences.
    passed = sum((after["time"] - before["time"]) % 2048 for before, after in pairwise(first))
    assert grid.sums[0, blocks.TICKS] == passed


@pytest.mark.parametrize("jobs", [1, 2])
def test_any_number_of_jobs_gives_the_same(jobs: int) -> None:
    once = ptttool.compare(TLPS, TLPS, time_model="counter")
    again = ptttool.compare(TLPS, TLPS, time_model="counter", jobs=jobs)
    assert again == once and once.changes == [] and once.measures
