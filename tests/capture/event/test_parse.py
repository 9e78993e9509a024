"""Reading event strings; what the real perf makes of them is in test_against_perf.py."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.capture.event.parse import parse_event, parse_number, pmu_of
from ptttool.capture.event.terms import DEFAULT_TERMS, PATTERN_TERM
from ptttool.errors import UsageError

READ = [
    ("hisi_ptt0_2/filter=0x80005,type=6,direction=2/", 0x6280005, []),
    ("hisi_ptt0_2/filter=524544,type=7,direction=2,format=1/", 0x107280100, []),
    ("  hisi_ptt0_2/ filter = 0x80100,\ttype=7, direction=2, format=1/ ", 0x107280100, []),
    ("hisi_ptt0_2//", 0, []),
    ("hisi_ptt0_2/ /", 0, []),
    ("hisi_ptt0_2/config=0x107280001/", 0x107280001, []),
    ("hisi_ptt0_2/filter=0x80100,type=7,name=mine,period=3,no-inherit/S", 0x7080100, []),
    ("hisi_ptt0_2/config=0x100000000,type=1/", 0x101000000, ["config-and-terms"]),
    ("hisi_ptt0_2/filter=0x80100,filter=0x600,type=7/", 0x7080700, ["term-twice"]),
    ("hisi_ptt0_2/type=7,type=7/", 0x7000000, []),
    ("hisi_ptt0_2/type=7,config2=1/", 0x7000000, ["other-config"]),
    ("hisi_ptt0_2/type=7/uk", 0x7000000, ["modifier"]),
    ("hisi_ptt0/type=7/", 0x7000000, ["no-single-device"]),
    ("hisi_ptt*/type=7/", 0x7000000, ["no-single-device"]),
    ("hisi_ptt0_2/filter=0x180100,tpye=1/", 0x80100, ["value-too-big", "unknown-term"]),
]


@pytest.mark.parametrize(("text", "config", "codes"), READ)
def test_read(text: str, config: int, codes: list[str]) -> None:
    parsed = parse_event(text, DEFAULT_TERMS)
    assert parsed.config == config
    assert [one.code for one in parsed.diagnostics] == codes


WRONG = [
    ("hisi_ptt0_2", "bad-event"),
    ("hisi_ptt0_2/type=7", "bad-event"),
    ("hisi_ptt0_2/type=7/,cycles", "bad-event-modifier"),
    ("hisi_ptt0_2/type=7/x", "bad-event-modifier"),
    ("hisi_ptt0_2/type=7/,hisi_ptt0_0/type=7/", "several-events"),
    ("{hisi_ptt0_2/type=7/}", "several-events"),
    ("cycles/type=7/", "not-a-ptt-event"),
    ("/type=7/", "not-a-ptt-event"),
    ("hisi_ptt0_2/type=7,/", "empty-term"),
    ("hisi_ptt0_2/,type=7/", "empty-term"),
    ("hisi_ptt0_2/=7/", "empty-term"),
    ("hisi_ptt0_2/type/", "term-without-value"),
    ("hisi_ptt0_2/type=/", "term-without-value"),
    ("hisi_ptt0_2/name=/", "term-without-value"),
    ("hisi_ptt0_2/type=abc/", "not-a-number"),
    ("hisi_ptt0_2/type=-1/", "not-a-number"),
    ("hisi_ptt0_2/type=0X1/", "not-a-number"),
    ("hisi_ptt0_2/type=١/", "not-a-number"),
    ("hisi_ptt0_2/filter=0000:00:14.0/", "not-a-number"),
    (f"hisi_ptt0_2/filter={'9' * 10000}/", "over-budget"),
    ("", "bad-event"),
]


@pytest.mark.parametrize(("text", "code"), WRONG)
def test_wrong(text: str, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_event(text, DEFAULT_TERMS)
    assert refused.value.code == code
    assert refused.value.hint


def test_near_misses_are_offered() -> None:
    (near,) = parse_event("hisi_ptt0_2/diretion=1/", DEFAULT_TERMS).diagnostics
    assert near.hint == "did you mean direction?"
    (far,) = parse_event("hisi_ptt0_2/pattern=1/", DEFAULT_TERMS).diagnostics
    assert (far.code, far.details) == ("unknown-term", {"term": "pattern"})
    assert "filter, type, direction and format" in str(far.hint)
    assert parse_event("hisi_ptt0_2/pattern=1/", {**DEFAULT_TERMS, "pattern": PATTERN_TERM}).config == 1 << 36


def test_small_parts() -> None:
    parsed = parse_event("hisi_ptt0_2/type=7,name=mine/S", DEFAULT_TERMS)
    assert (parsed.pmu, parsed.config, parsed.diagnostics) == ("hisi_ptt0_2", 7 << 24, ())
    assert pmu_of(" hisi_ptt0_2 /type=7/") == "hisi_ptt0_2"
    assert [parse_number(text) for text in ("10", "010", "0x10", "0X10", "0x", "", "1_0")] == [10, 10, 16, None, None, None, None]


@given(st.text(alphabet="hisi_ptt0/=,x19 {}u*", max_size=40).map(lambda tail: f"hisi_ptt0_0/{tail}"))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert 0 <= parse_event(text, DEFAULT_TERMS).config < 1 << 64
