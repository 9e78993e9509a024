"""The clock that is kept beside a recording gives nanoseconds, unless the recording speaks against it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ptttool.analyses.shown import Unit
from ptttool.analyses.time.facts import TimeFacts, time_facts
from ptttool.analyses.time.kept import KeptTime, TickFloor
from ptttool.analyses.time.model import TimeEvidence, TimeModel, TimeSign
from ptttool.diagnostics import Severity
from ptttool.documents import dumps
from ptttool.machine.measured import ClockSource, KeptClock
from tests.analyses.time.test_calibration import clock_of, events, stream

CLOCK = KeptClock("counter", 32, 4.0, 3.999, 4.001, 61, ClockSource.SELF_TEST, "2026-11-20T10:00:00+00:00")
FLOOR = TickFloor(4.003, "inbound", 0, 1000, 7, 100_000, 65_536, ["16.0 GT/s PCIe x4"], 8e9)


def facts_of(clock: KeptClock | None = CLOCK, seconds: float | None = None, ticks: float | None = None, **more: Any) -> TimeFacts:
    """Facts of 4,000 s worth of few ticks; ``ticks``: what the timestamps of the AUX records say of one."""
    pieces, ends = stream(6, gap=1000)
    records = [] if ticks is None else events(ends, 32, ticks)
    return time_facts(clock_of(pieces), records, kept=KeptTime(clock, seconds), **more)


def reasons(facts: TimeFacts) -> list[object]:
    """Why a clock was dropped; then there are ticks only."""
    dropped = [note for note in facts.notes if note.code == "clock-dropped"]
    if dropped:
        assert (facts.tick_ns, facts.tick_from, facts.elapsed_ns, facts.unit) == (None, None, None, Unit.TICKS)
        assert (dropped[0].severity, dropped[0].details["clock"]) == (Severity.WARNING, facts.clock)
        dumps(facts)
    return [note.details["reason"] for note in dropped]


def test_it_gives_nanoseconds() -> None:
    facts = facts_of()
    assert (facts.tick_ns, facts.tick_from, facts.clock, facts.notes) == (4.0, "sidecar", CLOCK, [])
    assert facts.elapsed_ns == 4.0 * (facts.elapsed_ticks or 0) > 0
    assert facts.unit is Unit.NANOSECONDS
    # It is said where they come from.
    text = "".join(str(part) for part in facts.shown())
    assert all(word in text for word in ("2026-11-20", "61", "±0.025 %"))


def test_timestamps_that_agree() -> None:
    for ticks in (4.0, 4.003):
        facts = facts_of(ticks=ticks)
        assert (facts.tick_ns, facts.tick_from, facts.notes) == (4.0, "sidecar", [])
        assert facts.calibration is not None
        assert facts.calibration.state.value == "used"


@pytest.mark.parametrize("ticks", [3.9, 4.4, 8.0])
def test_timestamps_that_do_not(ticks: float) -> None:
    """Neither is believed: which of the two is wrong is not known."""
    facts = facts_of(ticks=ticks)
    assert reasons(facts) == ["timestamps"]
    seen = facts.notes[0].details["seen"]
    assert isinstance(seen, float)
    assert seen == pytest.approx(ticks, rel=1e-3)


def test_time_that_is_not_all_seen() -> None:
    """In 11 bits the timestamps say how long a tick is at most."""
    pieces, ends = stream(9, gap=900, eight_dw=False)
    clock = clock_of(pieces, eight_dw=False)
    kept = replace(CLOCK, bits=11)
    long, short = (time_facts(clock, events(ends, 16, ticks), kept=KeptTime(kept)) for ticks in (8.0, 1.0))
    assert (reasons(long), long.tick_ns) == ([], 4.0)
    assert reasons(short) == ["timestamps"]


def test_other_models() -> None:
    assert reasons(facts_of(replace(CLOCK, model="delta"))) == ["model"]
    assert reasons(facts_of(replace(CLOCK, bits=11))) == ["bits"]


def test_the_link() -> None:
    assert reasons(facts_of(floor=FLOOR)) == []
    facts = facts_of(floor=replace(FLOOR, tick_ns=4.02))
    assert (reasons(facts), facts.notes[0].details["seen"]) == (["link"], 4.02)


def test_a_recording_that_lasts_too_long() -> None:
    """Two gaps of less than 2^31 ticks are 15 s."""
    words, _ = stream(2)
    offset = 8 * 32
    word = list(words[-1][2][-1])
    further = [(0, offset + 32 * number, [[*word[:7], word[7] + number * 0x7000_0000 & 0xFFFF_FFFF]]) for number in (1, 2)]
    words += [(0, offset, [word]), *further]
    clock = clock_of(words)
    assert not clock.breaks
    lasted = clock.elapsed * 4e-9
    assert reasons(time_facts(clock, [], kept=KeptTime(CLOCK, lasted - 0.9))) == []
    assert reasons(time_facts(clock, [], kept=KeptTime(CLOCK, lasted * 0.8))) == ["duration"]
    assert reasons(time_facts(clock, [], kept=KeptTime(None, lasted * 0.8))) == []


def test_the_user_has_the_last_word() -> None:
    facts = facts_of(tick_ns=4.1, ticks=8.0, floor=replace(FLOOR, tick_ns=9))
    assert (facts.tick_ns, facts.tick_from, reasons(facts)) == (4.1, "asked", [])
    assert [note.code for note in facts.notes] == ["tick-doubtful"]  # of the timestamps; 4.1 is near enough to the kept one
    doubtful = facts_of(tick_ns=8.0)
    assert [note.code for note in doubtful.notes] == ["tick-doubtful"]
    assert doubtful.notes[0].details["clock"] == CLOCK


def test_which_model() -> None:
    def evidence(model: TimeModel, bits: int = 32) -> TimeEvidence:
        return TimeEvidence(TimeSign.TOO_FEW, model, 9, bits)

    kept = KeptTime(replace(CLOCK, model="delta"))
    assert kept.model(evidence(TimeModel.UNKNOWN)) is TimeModel.DELTA
    assert kept.model(evidence(TimeModel.UNKNOWN, 11)) is TimeModel.UNKNOWN
    assert kept.model(evidence(TimeModel.COUNTER)) is TimeModel.COUNTER
    assert kept.model(None) is TimeModel.UNKNOWN
    assert KeptTime().model(evidence(TimeModel.UNKNOWN)) is TimeModel.UNKNOWN


def test_nothing_to_speak_against_it() -> None:
    facts = time_facts(clock_of(), [], kept=KeptTime(replace(CLOCK, model="delta")))
    assert facts.notes == []
