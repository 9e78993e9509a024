"""The first records speak for the right model of time, or for none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.time.evidence import Look, entropy, evidence_of
from ptttool.analyses.time.model import TimeModel, TimeSign
from ptttool.decoders.hisi_ptt.layout import Layout
from tests.analyses.time.test_clock import batch_of
from tests.support.records import Words, eight, four


def fields(gaps: list[int], model: TimeModel, bits: int, start: int = 12345) -> np.ndarray:
    """The Time fields of records with these gaps."""
    steps = np.array(gaps, dtype=np.uint64)
    values = np.minimum(steps, (1 << bits) - 1) if model is TimeModel.DELTA else np.cumsum(steps) + np.uint64(start)
    return (values & np.uint64((1 << bits) - 1)).astype(np.uint32)


def found(times: np.ndarray, bits: int) -> TimeModel:
    return evidence_of(times, np.ones(len(times), dtype=np.bool_), bits).model


GAPS = {
    "steady with bursts": [18, 18, 18, 2, 2, 300, 18, 18, 17, 18, 40] * 60,
    "long idle times": [2, 3, 2, 700, 2, 2, 1900, 2, 3, 3, 5, 2, 2, 4, 60] * 60,
    "phases": [18] * 200 + [2] * 200 + [70, 71, 69] * 80 + [18, 17] * 90,
}


@pytest.mark.parametrize("gaps", GAPS.values(), ids=GAPS)
@pytest.mark.parametrize("bits", [11, 32])
@pytest.mark.parametrize("model", [TimeModel.COUNTER, TimeModel.DELTA])
def test_what_made_the_times_is_found(gaps: list[int], bits: int, model: TimeModel) -> None:
    assert found(fields(gaps, model, bits), bits) is model


@pytest.mark.parametrize("bits", [11, 32])
@pytest.mark.parametrize("times", [[], [5], [5] * 900, [5, 6, 5, 9], [1, 2] * 3], ids=["none", "one", "same", "four", "six"])
def test_too_few_records_say_nothing(bits: int, times: list[int]) -> None:
    evidence = evidence_of(np.array(times, dtype=np.uint32), np.ones(len(times), dtype=np.bool_), bits)
    assert (evidence.sign, evidence.model) == (TimeSign.TOO_FEW, TimeModel.UNKNOWN)


@pytest.mark.parametrize("bits", [11, 32])
def test_random_times_are_ambiguous(bits: int) -> None:
    times = np.random.default_rng(7).integers(0, 1 << bits, 5000, dtype=np.uint32)
    assert found(times, bits) in (TimeModel.UNKNOWN, TimeModel.DELTA if bits == 32 else TimeModel.UNKNOWN)
    assert evidence_of(times, np.ones(5000, dtype=np.bool_), bits).falls == pytest.approx(0.5, abs=0.03)


def test_a_counter_a_little_out_of_order_is_not_taken_for_differences() -> None:
    times = np.cumsum(np.full(4000, 20, dtype=np.uint32), dtype=np.uint32)
    times[1::3] -= np.uint32(30)
    assert found(times, 32) is TimeModel.UNKNOWN


@given(gaps=st.lists(st.integers(0, 2000), min_size=100, max_size=300), wide=st.booleans())
def test_generated_gaps_are_never_taken_for_the_other_model(gaps: list[int], wide: bool) -> None:
    bits = 32 if wide else 11
    assert found(fields(gaps, TimeModel.COUNTER, bits), bits) is not TimeModel.DELTA
    delta = found(fields(gaps, TimeModel.DELTA, bits), bits)
    assert delta is not TimeModel.COUNTER or sorted(gaps) == gaps


def test_steps_over_holes_do_not_count() -> None:
    """A counter that is begun anew in each of 60 small streams, of 9 records."""
    words: list[Words] = [eight(0x60000001, 0, 0, 0, time=time) for time in range(500, 590, 10)]
    look = Look()
    for stream in range(60):
        look.add(batch_of(Layout(True), [(stream % 2, stream * 10000, words)]))
    evidence = look.evidence
    assert evidence is not None
    assert (evidence.model, evidence.records, evidence.falls) == (TimeModel.COUNTER, 540, 0.0)


def test_rows_of_another_format_are_passed_over() -> None:
    look = Look()
    look.add(batch_of(Layout(False), [(0, 0, [four(0x60, 0, 0, 0, time=18 * row % 2048) for row in range(200)])]))
    look.add(batch_of(Layout(True), [(0, 3200, [eight(0x60000001, 0, 0, 0, time=row % 7) for row in range(900)])]))
    evidence = look.evidence
    assert evidence is not None
    assert (evidence.bits, evidence.records, evidence.model) == (11, 200, TimeModel.COUNTER)


def test_no_records_no_evidence() -> None:
    look = Look()
    look.add(batch_of(Layout(True), []))
    look.add(batch_of(Layout(True), [(0, 0, [eight(0, 0, 0, 0, check=0)] * 3)]))
    assert look.evidence is None


def test_entropy() -> None:
    assert entropy(np.array([1, 1, 2, 2])) == 1.0
    assert entropy(np.array([3])) == 0.0
    assert entropy(np.arange(8)) == 3.0
