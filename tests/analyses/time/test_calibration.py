"""Ticks become nanoseconds where the timestamps of AUX records agree, and only there."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ptttool.analyses.shown import Facts, Note, Unit
from ptttool.analyses.time.calibration import CalibrationState, calibrate
from ptttool.analyses.time.clock import Clock
from ptttool.analyses.time.facts import time_facts
from ptttool.analyses.time.model import TimeEvidence, TimeModel, TimeSign
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.perfdata.model import AuxEvent
from ptttool.recording.auxtrace import DMA_BUFFER
from tests.analyses.time.test_clock import batch_of
from tests.support.records import eight, four


def stream(chunks: int, *, gap: int = 10, cpu: int = 0, eight_dw: bool = True, seed: int = 1, start: int = 0) -> tuple[Any, list[int]]:
    """A stream of few records, far apart in the buffers of which each holds one; and the ticks at their ends."""
    rng = random.Random(seed)
    size = 32 if eight_dw else 16
    pieces, ends, time = [], [], start
    for chunk in range(chunks):
        words = []
        for _ in range(4):
            time += rng.randint(1, 2 * gap)
            words.append(eight(0x60000001, 0, 0, 0, time=time & 0xFFFFFFFF) if eight_dw else four(0x60, 0, 0, 0, time=time & 0x7FF))
        pieces.append((cpu, chunk * 4 * size, words))
        ends.append(time)
    return pieces, ends


def events(ends: list[int], size: int, tick: float = 4.0, *, noise: tuple[float, ...] = (0.0,), cpu: int = 0) -> list[AuxEvent]:
    return [
        AuxEvent(4 * size * number, 4 * size, 0, cpu, int(10**9 + end * tick + noise[number % len(noise)]), 0)
        for number, end in enumerate(ends)
    ]


def clock_of(*pieces: Any, eight_dw: bool = True, model: TimeModel = TimeModel.COUNTER) -> Clock:
    clock = Clock(model, 32 if eight_dw else 11)
    clock.marks.shift = 4  # a point a record, as a whole buffer would have
    for each in pieces:
        clock.ticks(batch_of(Layout(eight_dw), each))
    return clock


def test_chunks_that_agree() -> None:
    pieces, ends = stream(5)
    found = calibrate(clock_of(pieces), events(ends, 32, 2.5))
    # The last one was committed at the end of the trace.
    assert (found.state, found.chunks) == (CalibrationState.USED, 4)
    assert found.tick_ns == pytest.approx(2.5, rel=0.01)
    assert found.error is not None
    assert found.error < 0.01


def test_a_last_buffer_that_is_full_counts() -> None:
    """Its end is a multiple of the buffer's size."""
    pieces, ends = stream(4)
    last = DMA_BUFFER - 4 * 32
    moved = [(cpu, offset + last, words) for cpu, offset, words in pieces[:1]]
    one = AuxEvent(last, 4 * 32, 0, 0, 5, 0)
    assert calibrate(clock_of(moved), [one]).chunks == 0  # one chunk alone is compared with nothing
    both = [*events(ends, 32)[:2], AuxEvent(8 * 32, DMA_BUFFER - 8 * 32, 0, 0, 99, 0)]
    assert calibrate(clock_of(pieces), both).chunks == 2  # the records of the last one are not there


@pytest.mark.parametrize("chunks", [0, 1, 2, 3])
def test_few_chunks_do_not_calibrate(chunks: int) -> None:
    pieces, ends = stream(chunks)
    found = calibrate(clock_of(pieces), events(ends, 32))
    assert (found.state, found.tick_ns) == (CalibrationState.TOO_FEW_CHUNKS, None)


def test_two_streams_have_an_origin_each() -> None:
    first, ends = stream(4)
    second, more = stream(4, cpu=1, seed=3, start=10**6)
    found = calibrate(clock_of(first, second), [*events(ends, 32), *events(more, 32, cpu=1)])
    assert (found.state, found.chunks) == (CalibrationState.USED, 6)
    assert found.tick_ns == pytest.approx(4, rel=0.01)


def test_interrupts_that_are_late_make_the_error_larger() -> None:
    pieces, ends = stream(12, gap=1000)
    found = calibrate(clock_of(pieces), events(ends, 32, noise=(0.0, 900.0, 200.0, 1500.0)))
    assert found.state is CalibrationState.USED
    assert found.tick_ns == pytest.approx(4, rel=0.02)
    assert found.error is not None
    assert found.error > 1e-4
    assert found.residual_ns is not None
    assert 200 < found.residual_ns < 1500


def test_chunks_that_do_not_agree_are_not_used() -> None:
    pieces, ends = stream(9)
    found = calibrate(clock_of(pieces), events([end + 500 * number**2 for number, end in enumerate(ends)], 32))
    assert found.state is CalibrationState.BAD_FIT
    facts = time_facts(clock_of(pieces), events([end + 500 * number**2 for number, end in enumerate(ends)], 32))
    assert (facts.tick_ns, facts.elapsed_ns, facts.unit) == (None, None, Unit.TICKS)
    assert "calibration-bad-fit" in [note.code for note in facts.notes]


def test_eleven_bits_with_long_gaps_are_not_calibrated() -> None:
    pieces, ends = stream(9, gap=900, eight_dw=False)
    clock = clock_of(pieces, eight_dw=False)
    assert clock.wide
    found = calibrate(clock, events(ends, 16))
    assert found.state is CalibrationState.TIME_UNSEEN
    facts = time_facts(clock, events(ends, 16))
    assert facts.tick_ns is None
    assert {"time-11-bits", "calibration-time-unseen"} <= {note.code for note in facts.notes}


def test_what_the_user_says_of_a_tick_comes_first() -> None:
    pieces, ends = stream(6)
    facts = time_facts(clock_of(pieces), events(ends, 32), tick_ns=4.05)
    assert (facts.tick_ns, facts.tick_from, facts.notes) == (4.05, "asked", [])
    assert facts.elapsed_ticks is not None
    assert facts.elapsed_ns == 4.05 * facts.elapsed_ticks
    doubtful = time_facts(clock_of(pieces), events(ends, 32), tick_ns=8)
    assert [note.code for note in doubtful.notes] == ["tick-doubtful"]


def test_without_a_model_nothing_is_said() -> None:
    pieces, ends = stream(6)
    facts = time_facts(clock_of(pieces, model=TimeModel.UNKNOWN), events(ends, 32), tick_ns=4)
    assert (facts.elapsed_ticks, facts.tick_ns, facts.tick_from, facts.calibration) == (None, None, None, None)
    assert [note.code for note in facts.notes] == ["time-unknown"]
    assert time_facts(Clock(), []).notes == []


def test_a_model_that_the_data_speak_against() -> None:
    pieces, _ = stream(3)
    evidence = TimeEvidence(TimeSign.JUMPS, TimeModel.DELTA, 900, 32, 0.5, 2.0, 3.0)
    facts = time_facts(clock_of(pieces), [], asked=True, evidence=evidence)
    assert [note.code for note in facts.notes] == ["time-model-doubtful"]
    assert time_facts(clock_of(pieces), [], asked=False, evidence=evidence).notes == []


def test_holes_and_steps_back_are_said() -> None:
    words = [eight(0x60000001, 0, 0, 0, time=time) for time in (50, 60, 10, 20)]
    clock = clock_of([(0, 0, words), (1, 0, words)])
    facts = time_facts(clock, [])
    assert (facts.breaks, facts.holes, facts.back) == (3, 1, 2)
    assert {note.code for note in facts.notes} == {"time-holes", "time-back"}
    parts = list(facts.shown())
    assert isinstance(parts[0], Facts)
    assert [type(part) for part in parts[1:]] == [Note, Note]
