"""How directions and types are spelled."""

from __future__ import annotations

import pytest

from ptttool.capture.event.terms import Direction, TlpType, parse_direction, parse_types
from ptttool.errors import UsageError


@pytest.mark.parametrize(
    ("text", "direction"),
    [("in", "inbound"), ("Inbound", "inbound"), ("rx", "inbound"), ("RX", "inbound"), ("o", "outbound"), ("tx", "outbound"), ("b", "both")],
)
def test_direction(text: str, direction: str) -> None:
    assert parse_direction(text) is Direction(direction)


@pytest.mark.parametrize("text", ["", " ", "up", "inbounds", "r", "in,out"])
def test_no_direction(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_direction(text)
    assert caught.value.code == "bad-direction"


@pytest.mark.parametrize(
    ("text", "types"),
    [("p,np", "p np"), ("posted", "p"), ("Non-Posted, completions", "np cpl"), ("nonposted", "np"), ("completion", "cpl"), ("p,p", "p p")],
)
def test_types(text: str, types: str) -> None:
    assert parse_types(text) == tuple(TlpType(one) for one in types.split())


def test_reads_are_no_type_and_the_hint_names_theirs() -> None:
    with pytest.raises(UsageError) as caught:
        parse_types("p,reads")
    assert caught.value.code == "bad-type"
    assert TlpType.NON_POSTED in str(caught.value.hint).split()
