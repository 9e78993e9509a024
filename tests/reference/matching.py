"""Requests matched to completions, one record at a time: slow, literal, and without any code of ptttool.

Rows are dicts with the fields of :mod:`tests.reference.hisi_ptt` and ``index``, ``cpu``, ``offset``, ``size`` (bytes of the record).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

Row = dict[str, Any]
COMPLETE, ERROR, SHORT, INSIDE, END = range(5)
FIXED = ("IORd", "IOWr", "CfgRd0", "CfgWr0", "CfgRd1", "CfgWr1", "TCfgRd")
WRITES = ("IOWr", "CfgWr0", "CfgWr1", "DMWr")


def ticks_between(rows: list[Row], model: str) -> list[tuple[int, int]]:
    """(ticks since the first row, number of the segment in which time is known) of each row."""
    found = []
    ticks = segment = 0
    for number, row in enumerate(rows):
        if number:
            before = rows[number - 1]
            bits = 32 if row["size"] == 32 else 11
            if is_hole(before, row) or row["time"] is None:
                segment += 1
            elif model == "delta":
                ticks += row["time"]
            elif before["time"] is None:
                segment += 1
            else:
                step = (row["time"] - before["time"]) % (1 << bits)
                if bits == 32 and step >= 1 << 31:
                    segment += 1
                else:
                    ticks += step
        found.append((ticks, segment))
    return found


def is_hole(before: Row, row: Row) -> bool:
    """Whether records may be missing between two rows."""
    return bool(before["cpu"] != row["cpu"] or before["offset"] + before["size"] != row["offset"] or before["size"] != row["size"])


class Result:
    """What matching finds: the transactions in the order of their requests, and completions without a request."""

    def __init__(self) -> None:
        self.transactions: list[Row] = []
        self.early = 0
        self.early_ends = 0
        # Their numbers, and whether each ends a request.
        self.early_rows: list[tuple[int, bool]] = []
        self.orphans: Counter[tuple[int, int]] = Counter()
        self.first_orphan: int | None = None
        # (requester, tag, number) of completions without a request; of those in front of all requests with their key, without a hole.
        self.without_request: list[tuple[int, int, int]] = []
        self.at_start: list[tuple[int, int, int]] = []
        self.has_hole = False


def match(rows: Iterable[Row], model: str = "counter") -> Result:
    """Match all rows of a recording."""
    rows = list(rows)
    times = ticks_between(rows, model)
    result = Result()
    open_: dict[tuple[Any, ...], Row] = {}
    seen: set[tuple[Any, ...]] = set()

    def close(key: tuple[Any, ...], ending: int, *, ended: bool = False, cut: bool = False, at_end: bool = False) -> None:
        one = open_.pop(key)
        if ending == INSIDE and one["completions"]:
            ending = SHORT
        result.transactions.append(one | {"ending": ending, "ended": ended, "cut": cut, "at_end": at_end})

    for number, row in enumerate(rows):
        if number and is_hole(rows[number - 1], row):
            for key in list(open_):
                close(key, INSIDE if rows[number - 1]["cpu"] == row["cpu"] else END, cut=True)
            seen.clear()
            result.has_hole = True
        if row["class"] not in ("NP", "CPL"):
            continue
        key = (row["segment"] or 0, row["requester"], row["tag"])
        if row["class"] == "NP":
            if key in open_:
                close(key, INSIDE)
            seen.add(key)
            open_[key] = _opened(row, times[number])
        else:
            _complete(row, times[number], key, open_, seen, result, close)
    for key in list(open_):
        close(key, END, cut=True, at_end=True)
    result.transactions.sort(key=lambda one: one["request"])
    return result


def _opened(row: Row, time: tuple[int, int]) -> Row:
    requested = row["requested_bytes"]
    is_write = row["kind"] in WRITES
    return {
        "request": row["index"], "first": row["index"], "last": row["index"], "requester": row["requester"], "tag": row["tag"],
        "kind": row["kind"], "requested": requested, "received": 0, "completions": 0, "status": "SC", "to_first": -1, "to_last": -1,
        "at": time[0], "address": row["address"], "rows": [],
        "_time": time, "_bytes": 0, "_expected": 0 if is_write else 4 if row["kind"] in FIXED else max(requested, 1),
        "_limit": 4 if row["kind"] in FIXED else 4 * row["length_dw"],
    }  # fmt: skip


def _complete(
    row: Row,
    time: tuple[int, int],
    key: tuple[Any, ...],
    open_: dict[tuple[Any, ...], Row],
    seen: set[tuple[Any, ...]],
    result: Result,
    close: Callable[..., None],
) -> None:
    brings = row["kind"] in ("CplD", "CplDLk") and row["status"] == "SC"
    room = 4 * row["length_dw"] - (row["lower_address"] & 3)
    piece = min(row["byte_count"], room) if brings else 0
    ends = not brings or row["byte_count"] <= room
    one = open_.get(key)
    if one is not None and brings and one["_bytes"] + row["byte_count"] > one["_limit"]:
        close(key, INSIDE)
        one = None
    if one is None:
        if key in seen:
            result.orphans[key[1], key[2]] += 1
            result.without_request.append((key[1], key[2], row["index"]))
            if result.first_orphan is None:
                result.first_orphan = row["index"]
        else:
            if not result.has_hole:
                result.at_start.append((key[1], key[2], row["index"]))
            result.early += 1
            result.early_ends += ends
            result.early_rows.append((row["index"], ends))
        return
    since = time[0] - one["_time"][0] if time[1] == one["_time"][1] else -1
    if not one["completions"]:
        one["first"], one["to_first"] = row["index"], since
    one["completions"] += 1
    one["rows"] = [*one["rows"], row["index"]]
    one["last"], one["status"] = row["index"], row["status"]
    one["_bytes"] += piece
    one["received"] = min(one["_bytes"], one["requested"])
    if ends:
        one["to_last"] = since
        close(key, ERROR if row["status"] != "SC" else COMPLETE if one["_bytes"] >= one["_expected"] else SHORT, ended=True)
