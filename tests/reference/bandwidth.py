"""A slow and literal account of what goes over a link, a TLP at a time. Shares no code with ptttool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tests.reference.hisi_ptt import Record
from tests.reference.time import Mark, moments

Sums = list[int]


def wire_bytes(record: Record, *, eight_dw: bool) -> int:
    """Bytes on the link: framing, header, prefix, data, digest."""
    fmt_bit = 29 if eight_dw else 30
    size = 8 + (16 if record["dw0"] >> fmt_bit & 1 else 12) + record["payload_bytes"]
    if eight_dw:
        size += 4 * (record["td"] == 1) + 4 * bool(record["prefix"])
    return int(size)


def bandwidth(records: Sequence[Record], model: str, *, eight_dw: bool, width: int | None = None, idle: int = 256) -> dict[str, Any]:
    """Sums by direction and class, gaps, and sums by interval of so many ticks, of records with index, offset and cpu."""
    marks = [Mark(each["time"], -1 if each["cpu"] is None else each["cpu"], each["offset"], 32 if eight_dw else 16) for each in records]
    times = [moment.ticks for moment in moments(marks, model)]
    flows: dict[tuple[str, str], Sums] = defaultdict(lambda: [0, 0, 0])
    intervals: dict[tuple[str, int], Sums] = defaultdict(lambda: [0, 0, 0])
    undecodable = 0
    for record, time in zip(records, times, strict=True):
        if record["class"] is None:
            undecodable += 1
            continue
        amounts = (1, record["payload_bytes"], wire_bytes(record, eight_dw=eight_dw))
        rows = [flows[record["direction"], record["class"]]]
        if width is not None:
            rows.append(intervals[record["direction"], time // width])
        for row in rows:
            for column, amount in enumerate(amounts):
                row[column] += amount
    gaps = [later - before for before, later in pairwise(times)]
    long = [gap for gap in gaps if gap >= idle]
    longest = max(gaps, default=0)
    return {
        "flows": dict(flows),
        "intervals": dict(intervals),
        "undecodable": undecodable,
        "elapsed": times[-1] if times else 0,
        "gaps": len(long),
        "gap_ticks": sum(long),
        "longest": longest,
        "longest_index": records[gaps.index(longest) + 1]["index"] if longest else 0,
    }


def full_ticks(records: Sequence[Record], model: str, *, eight_dw: bool, window: int, per_tick: float, direction: str) -> int:
    """Ticks of windows of so many ticks or more that have at least so many bytes a tick in one direction; a record at a time."""
    marks = [Mark(each["time"], -1 if each["cpu"] is None else each["cpu"], each["offset"], 32 if eight_dw else 16) for each in records]
    found, wire, begin = 0, 0, 0
    times = moments(marks, model)
    for number, record in enumerate(records):
        if record["class"] is not None and record["direction"] == direction:
            wire += wire_bytes(record, eight_dw=eight_dw)
        following = times[number + 1] if number + 1 < len(times) else None
        is_known_behind = following is not None and following.breaks == times[number].breaks
        end = following.ticks if following is not None and is_known_behind else times[number].ticks
        ticks = end - times[begin].ticks
        if is_known_behind and ticks < window:
            continue
        if ticks >= window and wire >= per_tick * ticks:
            found += ticks
        wire, begin = 0, number + 1
    return found
