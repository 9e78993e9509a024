"""``--for``: the purposes that completion knows."""

from __future__ import annotations

from ptttool.analyses.contract import ANALYSES
from ptttool.cli.options.purpose import PURPOSES, _purposes
from ptttool.errors import UsageError
from ptttool.planner.runs import parse_purposes


def _is_purpose(name: str) -> bool:
    try:
        return bool(parse_purposes(name))
    except UsageError:
        return False


def test_completion_knows_every_built_in_purpose() -> None:
    built_in = [name for name in ANALYSES.names() if ANALYSES.get(name).__module__.startswith("ptttool.")]
    assert PURPOSES.split() == [name for name in built_in if _is_purpose(name)]


def test_the_last_word_is_completed() -> None:
    assert _purposes("lat") == ["latency"]
    assert _purposes("latency,l") == ["latency,loss"]
    assert _purposes("x") == []
