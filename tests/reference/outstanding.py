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
        sent: Counter[int] = Counter()
        for number, row in enumerate(rows):
            level += begins[row["index"]] - ends[row["index"]]
            if begins[row["index"]]:
                sent[level] += 1
            if level > peak:
                peak, index = level, row["index"]
            levels[level] += times[number + 1] - times[number] if number + 1 < len(rows) else 0
        timed = [one["to_last"] for one in mine if one["to_last"] >= 0]
        found[name] = {"requests": len(mine), "timed": len(timed), "ticks": sum(timed), "peak": peak, "index": index, "levels": +levels}
        found[name]["sent"] = sent
        found[name]["bytes"] = sum(one["received"] for one in mine if one["to_last"] >= 0)
        found[name]["completions"] = sum(one["completions"] for one in mine if one["to_last"] >= 0)
    return found


def plateau(ticks: dict[int, int], sent: dict[int, int]) -> tuple[int, int, float, int] | None:
    """Level, lowest level that counts as it, share of the busy time, requests that came when another had ended; a tick at a time."""
    busy = sum(time for level, time in ticks.items() if level)
    top = min((level for level in ticks if level and 20 * sum(ticks[more] for more in ticks if more > level) <= busy), default=0)
    if not busy or top < 2:
        return None
    bottom = max(top - top // 8, 2)
    held = sum(time for level, time in ticks.items() if level >= bottom) / busy
    refills = 0
    climbs = min(sent.get(level, 0) for level in range(1, bottom))
    for level in range(bottom, max(sent) + 1):
        refills += sent.get(level, 0) - climbs
    is_one = held >= 0.25 and 4 * refills >= sum(sent.values()) and refills >= top
    return (top, bottom, held, refills) if is_one else None
