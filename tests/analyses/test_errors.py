"""Errors held against a slow reference, and those of real recordings."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.errors import sums
from ptttool.analyses.errors.analysis import ErrorsAnalysis
from ptttool.analyses.errors.document import Errors
from ptttool.analyses.errors.kinds import KINDS
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Table, no_names
from ptttool.analyses.time.model import TimeModel
from ptttool.generate import tlps
from ptttool.pci import format_id
from ptttool.perfdata.model import Contents, Mode
from tests.reference import errors as reference
from tests.reference import hisi_ptt as decoded
from tests.reference import matching
from tests.support import captures
from tests.support.records import records_4dw, records_8dw
from tests.support.traffic import Traffic, merged, traffic

CONTEXT = AnalysisContext("made", contents=Contents(Mode.FILE))
GROUPED = ("completion-without-request", "completion-tag-bits")


def errors_of(made: Traffic, cuts: tuple[int, ...] = (), model: TimeModel = TimeModel.COUNTER, *, tree: bool = False) -> Errors:
    scope = Scope(time_model=model, time_bits=32 if made.eight_dw else 11)
    found = merged(ErrorsAnalysis, made.batches(cuts, ErrorsAnalysis.columns), scope, tree=tree).result(CONTEXT)
    assert isinstance(found, Errors)
    return found


def expected_of(rows: list[reference.Row], model: TimeModel = TimeModel.COUNTER) -> reference.Found:
    result = matching.match(rows, model.value)
    ticks = None if model is TimeModel.UNKNOWN else matching.ticks_between(rows, model.value)
    return {**reference.of_headers(rows), **reference.of_transactions(result, ticks)}


def messages_of(rows: list[reference.Row]) -> dict[tuple[int, str], list[int]]:
    """Indexes of messages by code and requester."""
    found: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        if row.get("message") is not None:
            found.setdefault((int(row["message"]), format_id(row["requester"])), []).append(int(row["index"]))
    return found


def check(found: Errors, expected: reference.Found) -> None:
    """All errors are found, and no others."""
    kinds = {kind.code: kind for kind in found.kinds}
    assert {code: kind.count for code, kind in kinds.items()} == {code: len(errors) for code, errors in expected.items() if errors}
    for code, kind in kinds.items():
        errors = expected[code]
        indexes = sorted(index for _, index in errors)
        assert kind.index == indexes[0]
        assert kind.indexes == (indexes[:1] if code in GROUPED else indexes[: len(kind.indexes)])
        assert code in GROUPED or len(kind.indexes) == min(len(indexes), sums.EXAMPLES)
        by_requester = Counter(None if who is None else format_id(who) for who, _ in errors)
        assert {each.requester: each.count for each in kind.requesters} == by_requester
        for each in kind.requesters:
            assert each.index == min(index for who, index in errors if (None if who is None else format_id(who)) == each.requester)
    assert found.errors == sum(kind.count for kind in found.kinds)


@given(traffic(), st.lists(st.integers(0, 60), max_size=8), st.booleans(), st.sampled_from(list(TimeModel)))
def test_transactions_for_any_cutting(made: Traffic, cuts: list[int], tree: bool, model: TimeModel) -> None:
    found = errors_of(made, model=model)
    check(found, expected_of(made.rows(), model))
    assert errors_of(made, tuple(cuts), model, tree=tree) == found
    assert errors_of(made, tuple(range(60)), model, tree=tree) == found


@given(st.one_of(st.lists(records_8dw(), max_size=40), st.lists(records_4dw(), max_size=40)), st.integers(0, 40), st.sampled_from((0, 1)))
def test_any_header(records: list[tuple[int, ...]], cut: int, pattern: int) -> None:
    made = Traffic(eight_dw=bool(records) and len(records[0]) == 8, pattern=pattern)
    for words in records:
        made.add_words(words)
    found = errors_of(made)
    rows = made.rows()
    check(found, expected_of(rows))
    messages = messages_of(rows)
    assert [int(each.code, 16) for each in found.messages] == sorted({code for code, _ in messages})
    for each in found.messages:
        mine = {who: indexes for (code, who), indexes in messages.items() if code == int(each.code, 16)}
        assert {one.requester: (one.count, one.index) for one in each.requesters} == {who: (len(at), at[0]) for who, at in mine.items()}
        assert (each.count, each.index) == (sum(map(len, mine.values())), min(at[0] for at in mine.values()))
        assert [one.count for one in each.requesters] == sorted((len(at) for at in mine.values()), reverse=True)
    assert errors_of(made, (cut,)) == found
    assert found.tlps == len(rows)


@given(traffic(), st.integers(0, 60))
def test_sums_go_through_pickle(made: Traffic, cut: int) -> None:
    scope = Scope(time_model=TimeModel.COUNTER, time_bits=32 if made.eight_dw else 11)
    whole = ErrorsAnalysis(scope)
    for batch in made.batches((cut,), ErrorsAnalysis.columns):
        part = ErrorsAnalysis(scope)
        part.update(batch)
        whole.merge(pickle.loads(pickle.dumps(part)))
    assert whole.result(CONTEXT) == errors_of(made)


def test_a_completer_without_ten_bit_tags() -> None:
    made = Traffic(eight_dw=False)
    for time in range(3):
        made.add(tlps.request(tlps.MRD, 0x100, 0x312, 0x1000, 64), 100 * time)
        made.add(tlps.completion(tlps.CPLD, 0, 0x100, 0x12, size=64, byte_count=64), 100 * time + 50)
    made.add(tlps.request(tlps.MRD, 0x100, 0x201, 0x1000, 64), 400)
    made.add(tlps.completion(tlps.CPLD, 0, 0x100, 0x201, size=64, byte_count=64), 450)
    found = errors_of(made)
    assert {kind.code: kind.count for kind in found.kinds} == {"unanswered": 3, "completion-tag-bits": 3}
    assert found.guard_ticks == 50


def test_too_many_requesters_are_not_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Traffic(eight_dw=False)
    for number in range(40):
        made.add(tlps.message(0x30, tlps.TO_ROOT, 0x100 + number), number)
    monkeypatch.setattr(sums, "MAX_ERROR_SUMS", 8)
    for cuts in ((), (10, 20), tuple(range(40))):
        found = errors_of(made, cuts)
        (kind,) = found.kinds
        assert (kind.code, kind.count, kind.index) == ("message-err-cor", 40, 0)
        assert [each.requester for each in kind.requesters] == [None]
        assert "too-many-requesters" in [note.code for note in found.notes]


@pytest.mark.parametrize(
    "name", ["6.12/s-4dw-ports-dir0", "6.12/s-8dw-ports-dir2", "6.12/m-4dw-port10-type7-dir2", "workloads/w-config-dir3-4dw"]
)
def test_real_recordings(name: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    with ptttool.open(path) as recording:
        found = recording.analyze("errors")
        assert recording.analyze("errors", jobs=2) == found
    size = 32 if "8dw" in name else 16
    expected = reference.of_headers([row | {"size": size} for row in decoded.read_recording(path)])
    of_headers = {kind.code: kind.count for kind in found.kinds if kind.code in expected}
    assert of_headers == {code: len(errors) for code, errors in expected.items()}


def test_unseen_completions_are_no_errors(tmp_path: Path) -> None:
    with ptttool.open(captures.path_of("workloads/w-download-8dw", tmp_path)) as recording:
        found = recording.analyze("errors")
    assert found.errors == 0
    assert "unanswered" in found.not_seen
    assert "completions-not-traced" in {note.code for note in found.notes}


def test_what_is_shown() -> None:
    made = Traffic(eight_dw=False)
    made.add(tlps.message(0x33, tlps.TO_ROOT, 0x100), 0)
    tables = [part for part in errors_of(made).shown(no_names) if isinstance(part, Table)]
    assert [len(table.rows) for table in tables] == [1, 1, 1]
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
    assert not [part for part in errors_of(Traffic(eight_dw=False)).shown(no_names) if isinstance(part, Table)]
    assert len(KINDS) == len({kind.meaning for kind in KINDS.values()})


def test_requests_of_too_many_requesters_are_not_said_to_be_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where requesters are not kept, those whose completions are not traced cannot be told from the others."""
    numbers = np.arange(4)
    for limit, kept in ((8, 3), (2, 0)):
        monkeypatch.setattr(sums, "MAX_ERROR_SUMS", limit)
        found = sums.ErrorSums()
        found.add("unanswered", numbers, numbers)
        assert found.leave_out(np.array([1])) == bool(kept)
        assert (len(found.of("unanswered")), len(found.examples("unanswered"))) == (kept, kept)
