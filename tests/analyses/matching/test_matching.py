"""Matching held against a slow reference: generated traffic cut anywhere, and real recordings."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.matching import part
from ptttool.analyses.matching.analysis import MatchingAnalysis, Transactions
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.generate import tlps
from ptttool.table.batch import Batch, SourceRows
from ptttool.tlp.columns import KINDS, STATUSES
from ptttool.tlp.transactions import Ending, Orphans
from tests.reference import hisi_ptt as decoded
from tests.reference import matching as reference
from tests.support import captures
from tests.support.traffic import Traffic, merged, traffic

CONTEXT = AnalysisContext("made", contents=None)  # type: ignore[arg-type]
FIELDS = (
    "request", "first", "last", "requester", "tag", "requested", "received", "completions", "ending", "at", "to_first", "to_last",
)  # fmt: skip


class Listed(MatchingAnalysis[list[dict[str, Any]]]):
    """Every transaction, in the order of the requests."""

    name = "listed"
    meaning = "every transaction"
    carried = ("address",)

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self.found: list[dict[str, Any]] = []
        self.orphans: Counter[tuple[int, int]] = Counter()
        self.first_orphan: int | None = None

    def add(self, ended: Transactions) -> None:
        rows = [dict(zip(FIELDS, row, strict=True)) for row in zip(*(getattr(ended, name).tolist() for name in FIELDS), strict=True)]
        address = ended.extra["address"]
        for number, row in enumerate(rows):
            row["kind"], row["status"] = KINDS[ended.kind[number]], STATUSES[ended.status[number]]
            has = address.array is not None and (address.valid is None or bool(address.valid[number]))
            row["address"] = int(address.array[number]) if has else None  # type: ignore[index,arg-type]
        self.found += rows

    def add_orphans(self, orphans: Orphans) -> None:
        for requester, tag, index, count in zip(
            orphans.requester.tolist(), orphans.tag.tolist(), orphans.index.tolist(), orphans.count.tolist(), strict=True
        ):
            self.orphans[requester, tag] += count
            self.first_orphan = index if self.first_orphan is None else min(index, self.first_orphan)

    def merge_sums(self, later: Listed) -> None:
        self.found += [row | {"at": row["at"] + self.shift if row["at"] >= 0 else -1} for row in later.found]
        self.orphans += later.orphans
        firsts = [first for first in (self.first_orphan, later.first_orphan) if first is not None]
        self.first_orphan = min(firsts, default=None)

    def finish(self, context: AnalysisContext) -> list[dict[str, Any]]:
        return sorted(self.found, key=lambda row: row["request"])


def check(analysis: Listed, expected: reference.Result, model: TimeModel) -> None:
    """The analysis has found what the reference has."""
    found = analysis.result(CONTEXT)
    wanted = [{name: one[name] for name in (*FIELDS, "kind", "status", "address")} for one in expected.transactions]
    if model is TimeModel.UNKNOWN:
        wanted = [one | {"at": -1, "to_first": -1, "to_last": -1} for one in wanted]
    assert found == wanted
    assert analysis.orphans == expected.orphans
    assert analysis.first_orphan == expected.first_orphan
    totals = analysis.totals
    assert (totals.early, totals.early_ends) == (expected.early, expected.early_ends)
    assert totals.orphans == sum(expected.orphans.values())
    assert totals.requests == len(wanted) == totals.matched + totals.inside + totals.open_at_end
    assert totals.left_out == 0


def in_one(made: Traffic, scope: Scope, cuts: tuple[int, ...] = (), *, tree: bool = False) -> Listed:
    analysis = merged(Listed, made.batches(cuts, Listed.columns), scope, tree=tree)
    assert isinstance(analysis, Listed)
    return analysis


@given(traffic(), st.lists(st.integers(0, 60), max_size=12), st.booleans(), st.sampled_from(list(TimeModel)))
def test_like_the_reference_for_any_cutting(made: Traffic, cuts: list[int], tree: bool, model: TimeModel) -> None:
    scope = Scope(time_model=model, time_bits=32 if made.eight_dw else 11)
    expected = reference.match(made.rows(), model.value)
    check(in_one(made, scope), expected, model)
    check(in_one(made, scope, tuple(cuts), tree=tree), expected, model)
    check(in_one(made, scope, tuple(range(60)), tree=tree), expected, model)


@given(traffic(holes=False), st.integers(0, 60))
def test_one_part_may_see_several_batches(made: Traffic, cut: int) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    analysis = Listed(scope)
    for batch in made.batches((cut,), Listed.columns):
        analysis.update(batch)
    check(analysis, reference.match(made.rows()), TimeModel.COUNTER)


@given(traffic(), st.lists(st.integers(0, 60), max_size=4))
def test_parts_go_through_pickle(made: Traffic, cuts: list[int]) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    whole = Listed(scope)
    for batch in made.batches(tuple(cuts), Listed.columns):
        one = Listed(scope)
        one.update(batch)
        whole.merge(pickle.loads(pickle.dumps(one)))
    check(whole, reference.match(made.rows()), TimeModel.COUNTER)


@given(traffic(), st.lists(st.integers(0, 60), max_size=4))
def test_analyses_of_a_pass_share_their_matching(made: Traffic, cuts: list[int]) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    one, other = Listed(scope), Listed(scope)
    for batch in made.batches(tuple(cuts), Listed.columns):
        parts = Listed(scope), Listed(scope)
        for each in parts:
            each.update(batch)
        assert parts[0]._part is parts[1]._part
        one.merge(parts[0])
        other.merge(parts[1])
        assert one._part is other._part
    check(one, reference.match(made.rows()), TimeModel.COUNTER)
    check(other, reference.match(made.rows()), TimeModel.COUNTER)


def capture_rows(path: Path, *, eight_dw: bool) -> list[dict[str, Any]]:
    """The rows of a recording as the reference decodes them."""
    return [row | {"size": 32 if eight_dw else 16} for row in decoded.read_recording(path)]


@pytest.mark.parametrize(
    "name",
    [
        "6.12/s-4dw-ports-dir0", "6.12/s-4dw-ports-dir1", "6.12/s-8dw-ports-dir2", "6.12/s-8dw-ports-dir3", "6.12/s-8dw-delta-time",
        "6.12/m-4dw-port10-type7-dir2", "6.12/m-8dw-port10-type7-dir1", "6.12/m-8dw-port10-type7-dir2", "6.1/x-control",
        "workloads/w-config-dir3-4dw", "workloads/w-download-8dw",
    ],
)  # fmt: skip
def test_real_recordings(name: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    with ptttool.open(path) as recording:
        assert recording.attribute is not None
        eight_dw = recording.attribute.config >> 32 == 1
        model = TimeModel.DELTA if "delta" in name else TimeModel.COUNTER
        batches = list(recording.batches(Listed.columns))
    scope = Scope(time_model=model, time_bits=32 if eight_dw else 11)
    small = [batch.part(start, start + 500) for batch in batches for start in range(0, batch.size, 500)]
    for parts in (batches, small):
        analysis = merged(Listed, parts, scope)
        assert isinstance(analysis, Listed)
        check(analysis, reference.match(capture_rows(path, eight_dw=eight_dw), model.value), model)


@given(traffic(), st.lists(st.integers(0, 60), max_size=6), st.integers(0, (1 << 60) - 1))
def test_a_condition_says_what_counts_of_all_that_is_matched(made: Traffic, cuts: list[int], chosen: int) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    parts = []
    for batch in made.batches(tuple(cuts), Listed.columns):
        indexes: Any = batch.values("index").array
        wanted = np.array([bool(chosen >> index & 1) for index in indexes], dtype=np.bool_)
        taken = batch.take(wanted)
        parts.append(Batch(taken.schema, taken.size, taken.columns, SourceRows(batch, wanted)))
    analysis = merged(Listed, parts, scope)
    assert isinstance(analysis, Listed)
    every = reference.match(made.rows())
    assert analysis.result(CONTEXT) == [
        {name: one[name] for name in (*FIELDS, "kind", "status", "address")} for one in every.transactions if chosen >> one["request"] & 1
    ]
    early = [ends for index, ends in every.early_rows if chosen >> index & 1]
    assert (analysis.totals.early, analysis.totals.early_ends) == (len(early), sum(early))
    orphans = [(requester, tag) for requester, tag, index in every.without_request if chosen >> index & 1]
    assert analysis.orphans == Counter(orphans)
    first = min((index for _, _, index in every.without_request if chosen >> index & 1), default=None)
    assert analysis.first_orphan == first


def test_too_many_open_requests_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "MAX_BORDER_ROWS", 16)
    made = Traffic(eight_dw=True)
    for number in range(200):
        made.add(tlps.request(tlps.MRD, number, 0, 0x1000, 64), number)
    for cuts in (tuple(range(0, 200, 4)), tuple(range(0, 200, 7)), (50, 60), ()):
        for tree in (False, True):
            analysis = in_one(made, Scope(time_model=TimeModel.COUNTER), cuts, tree=tree)
            found = analysis.result(CONTEXT)
            assert [row["request"] for row in found] == list(range(200))
            assert {row["ending"] for row in found} == {Ending.END}
            assert 0 < analysis.totals.left_out <= 200
            assert analysis.totals.requests == analysis.totals.open_at_end == 200
