"""What analyses name in a recording: places that are worth a look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.tlp.columns import KINDS

if TYPE_CHECKING:
    from ptttool.analyses.time.facts import TimeFacts
    from ptttool.api.viewing.pages import Pages, Step
    from ptttool.pipeline.recording import OpenRecording

_ASKED = ("latency", "bandwidth", "outstanding", "errors")
# Requesters that are named.
_MOST = 8


class Extreme(Struct, frozen=True):
    """A place that is worth a look.

    Parameters
    ----------
    index : int
        Number of the TLP.
    text : str
        What is there.
    """

    index: int
    text: str


def extremes(recording: OpenRecording, ask: Ask) -> tuple[list[Extreme], TimeFacts | None]:
    """Return the extremes that the analyses of a recording of TLPs name, and what they say of time."""
    results = run(recording, ask, _ASKED).results
    found = [each for name, result in results.items() for each in _FROM[name](result)]
    return found, next((result.time for result in results.values() if hasattr(result, "time")), None)


def first_of_kinds(pages: Pages, step: Step) -> list[Extreme]:
    """Return the first TLP of each kind."""
    first: dict[str, Extreme] = {}
    for part in range(pages.parts):
        step(part)
        decoded = pages.decoded(part)
        pages.count(part, decoded.size)
        if decoded.size:
            kinds = decoded.batch(("kind",)).values("kind").filled(decoded.size, len(KINDS) - 1)
            for code, row in zip(*np.unique(kinds, return_index=True), strict=True):
                name = KINDS[int(code)]
                first.setdefault(name, Extreme(pages.begin_of(part) + int(row), f"first {name}"))
    return sorted(first.values(), key=lambda each: each.index)


def _latency(result: Any) -> Iterator[Extreme]:
    for groups, noun in ((result.kinds, "slowest"), (result.requesters[:_MOST], "slowest of")):
        for group in groups:
            if group.ticks is not None and group.ticks.max_index is not None:
                took = f"{result.time.scaled(group.ticks.max):,.0f} {_unit(result)}, median {result.time.scaled(group.ticks.p50):,.0f}"
                yield Extreme(group.ticks.max_index, f"{noun} {group.key}: {took}")


def _bandwidth(result: Any) -> Iterator[Extreme]:
    for direction, burst in result.bursts.items():
        mean = "" if burst.times_mean is None else f", {burst.times_mean:.3g} times the mean"
        yield Extreme(burst.index, f"busiest interval, {_way(direction)}: {burst.flow.wire_bytes:,} bytes on the link{mean}")
    for direction, full in (result.saturation or {}).items():
        if full.index is not None:
            took = f"{result.time.scaled(full.longest):,.0f} {_unit(result)}"
            yield Extreme(full.index, f"link full for longest, {_way(direction)}: {took}")
    if result.idle is not None and result.idle.longest:
        least = "at least " if result.time.is_at_least else ""
        yield Extreme(
            result.idle.index, f"longest gap, in front of it: {least}{result.time.scaled(result.idle.longest):,.0f} {_unit(result)}"
        )


def _outstanding(result: Any) -> Iterator[Extreme]:
    for load in (*result.directions, *result.requesters[:_MOST]):
        yield Extreme(load.index, f"most requests outstanding, {load.requester or _way(load.direction)}: {load.peak:,}")


def _errors(result: Any) -> Iterator[Extreme]:
    for kind in result.kinds:
        yield Extreme(kind.index, f"{kind.severity.value}: {kind.code}: {kind.meaning} ({kind.count:,}; this is the first)")
        for index in kind.indexes[1:_MOST]:
            yield Extreme(index, f"{kind.severity.value}: {kind.code}")


def _way(direction: str) -> str:
    return "direction unknown" if direction == "unknown" else direction


def _unit(result: Any) -> str:
    return "ns" if result.time.tick_ns is not None else "ticks"


_FROM = {"latency": _latency, "bandwidth": _bandwidth, "outstanding": _outstanding, "errors": _errors}
