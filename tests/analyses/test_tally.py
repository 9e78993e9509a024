"""Sums of very many requesters: the same ways of adding up, and memory for what occurs."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from ptttool.analyses import tally
from ptttool.analyses.summary import Summary
from ptttool.analyses.tally import Tally
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.units import LoadedTlpUnit
from ptttool.tlp.direction import DirectionRule
from tests.support.plain import plain
from tests.support.records import four, loaded, packed

READ, WRITE, CPLD = 0x00, 0x40, 0x4A
REQUESTERS = range(0, 0x10000, 13)


def batch_of(requesters: range, *, length: int, buses: bool = True) -> Any:
    """A read, a write with disabled bytes, and a completion of each requester."""
    words = []
    for requester in requesters:
        words.append(four(READ, requester << 16 | 0xFF, 0x1000, 0, length=length))
        words.append(four(WRITE, requester << 16 | 0x03, 0x1000, 0))
        words.append(four(CPLD, 0x00000004, requester << 16, 0))
    array = np.frombuffer(packed(words), dtype="<u4").reshape(-1, 4)
    rule = DirectionRule(buses=((0, 3),) if buses else None)
    decoded, _ = LoadedTlpUnit(loaded(array, Layout(False), direction=rule)).decoded(0)
    return decoded.batch(Summary.columns)


def tally_of(*batches: Any) -> Tally:
    whole = Tally()
    for batch in batches:
        part = Tally()
        part.add(batch)
        whole.merge(pickle.loads(pickle.dumps(part)))
    return whole


@pytest.mark.parametrize("buses", [True, False])
def test_many_requesters_are_counted_in_any_order(buses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [batch_of(some, length=length, buses=buses) for some, length in ((REQUESTERS, 3), (REQUESTERS[::-2], 5), (range(7), 1))]
    cells = tally_of(*batches).cells()
    monkeypatch.setattr(tally, "count_kinds", plain("kinds").count_kinds)
    assert tally_of(*batches).cells() == cells
    assert tally_of(*reversed(batches)).cells() == cells
    counts: Counter[int] = Counter([*REQUESTERS, *REQUESTERS[::-2], *range(7)])
    reads = {cell.requester: (cell.records, cell.asked) for cell in cells if cell.kind == "MRd"}
    asked = Counter(dict.fromkeys(REQUESTERS, 12)) + Counter(dict.fromkeys(REQUESTERS[::-2], 20)) + Counter(dict.fromkeys(range(7), 4))
    assert reads == {each: (counts[each], asked[each]) for each in counts}


def test_memory_is_for_what_occurs() -> None:
    one = tally_of(batch_of(REQUESTERS, length=3))
    cells = len(one.cells())
    assert cells == 3 * len(REQUESTERS)
    # A key, a count and a sum of each; disabled bytes and directions of their own are of a third of them at most.
    assert len(pickle.dumps(one, 5)) < 2 * 20 * cells
    again = tally_of(*[batch_of(REQUESTERS, length=3)] * 3)
    assert len(pickle.dumps(again, 5)) == len(pickle.dumps(one, 5))
    assert list(again.records()) == [(requester, code, 3 * count) for requester, code, count in one.records()]
