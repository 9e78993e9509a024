"""Requests outstanding at the same time, counted at every row: slow, literal, and without any code of ptttool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

from tests.reference.matching import Row, match, ticks_between

Series = Hashable


def outstanding(rows: list[Row], model: str) -> dict[Series, dict[str, Any]]:
    """By requester and by direction: requests, their time, peak and where, ticks by level. Only requests that were seen whole count."""
    times = [ticks if model != "unknown" else 0 for ticks, _ in ticks_between(rows, model)]
    by_index = {row["index"]: row for row in rows}
    whole = [one for one in match(rows, model).transactions if one["ended"]]
    found: dict[Series, dict[str, Any]] = {}
    named = [(one, (one["requester"], by_index[one["request"]]["direction"] or "unknown")) for one in whole]
    for name in {name for _, names in named for name in names}:
        mine = [one for one, names in named if name in names]
        begins, ends = Counter(one["request"] for one in mine), Counter(one["last"] for one in mine)
        level, peak, index = 0, 0, rows[0]["index"]
        levels: Counter[int] = Counter()
        for number, row in enumerate(rows):
            level += begins[row["index"]] - ends[row["index"]]
            if level > peak:
                peak, index = level, row["index"]
            levels[level] += times[number + 1] - times[number] if number + 1 < len(rows) else 0
        timed = [one["to_last"] for one in mine if one["to_last"] >= 0]
        found[name] = {"requests": len(mine), "timed": len(timed), "ticks": sum(timed), "peak": peak, "index": index, "levels": +levels}
    return found
