"""Latencies by block: percentiles of their histograms, and how many there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.compare.latency import BINS, EDGES, percentiles
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-4dw-port10-type7-dir2.data"


def test_bins() -> None:
    assert len(EDGES) == BINS + 1 and (np.diff(EDGES) > 0).all()
    assert EDGES[:9].tolist() == list(range(9)) and EDGES[-1] == 1 << 20


@given(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=300), st.sampled_from([50.0, 90.0, 99.0]))
def test_percentiles_are_near(values: list[int], percent: float) -> None:
    bins = np.minimum(np.searchsorted(EDGES, values, side="right") - 1, BINS - 1)
    counts = np.bincount(bins, minlength=BINS).reshape(1, -1)
    (found,) = percentiles(counts, percent).tolist()
    # The smallest value that so many per cent of the values do not exceed; the histogram knows it to one bin.
    exact = sorted(values)[max(int(np.ceil(len(values) * percent / 100)) - 1, 0)]
    assert found == pytest.approx(exact, rel=0.1, abs=1e-9)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_slower_side_is_found(jobs: int) -> None:
    """The same traffic with every tick twice as long has twice the latency, in ticks the same."""
    plain = ptttool.compare(TLPS, TLPS, time_model="counter", jobs=jobs)
    latencies = [each for each in plain.measures if each.name == "latency-p50"]
    assert latencies and all(each.unit == "ticks" and each.medians[0] == each.medians[1] > 0 for each in latencies)
    known = ptttool.compare(TLPS, TLPS, time_model="counter", tick_ns=4, jobs=jobs)
    scaled = [each for each in known.measures if each.name == "latency-p50"]
    assert [each.medians[0] for each in scaled] == pytest.approx([4 * each.medians[0] for each in latencies])
    assert all(each.unit == "ns" for each in scaled)
    unknown = ptttool.compare(TLPS, TLPS, time_model="unknown", jobs=jobs)
    assert not [each for each in unknown.measures if each.name.startswith(("latency", "tlp-rate", "data-rate"))]
