"""Errors of a recording, one record at a time: slow, literal, and without any code of ptttool.

Rows and transactions are those of :mod:`tests.reference.matching`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.reference import matching

Row = dict[str, Any]
Found = dict[str, list[tuple[int | None, int]]]
"""(requester, number of the TLP) of every error, by kind."""

MEMORY = ("MRd", "MRdLk", "MWr", "DMWr")
CONFIG_AND_IO = ("IORd", "IOWr", "CfgRd0", "CfgWr0", "CfgRd1", "CfgWr1", "TCfgRd")


def of_headers(rows: list[Row]) -> Found:
    """Errors that headers show by themselves."""
    found: Found = defaultdict(list)
    for row in rows:
        for code in codes_of(row):
            found[code].append((None if code == "unknown-tlp" else row["requester"], row["index"]))
    return found


def codes_of(row: Row) -> list[str]:
    """The errors of one header."""
    kind, length = row["kind"], row["length_dw"]
    if kind == "Unknown":
        return ["unknown-tlp"]
    codes = []
    if row["status"] not in (None, "SC"):
        codes.append("completion-" + row["status"].lower())
    if row["ep"]:
        codes.append("poisoned")
    if kind in ("Msg", "MsgD"):
        code = {0x30: "cor", 0x31: "nonfatal", 0x33: "fatal"}.get(row["message"])
        if code is not None:
            codes.append(f"message-err-{code}")
    if row["first_be"] is not None and not are_legal(row):
        codes.append("byte-enables")
    if kind in CONFIG_AND_IO and (length != 1):
        codes.append("length")
    if (kind in ("FetchAdd", "Swap") and length not in (1, 2)) or (kind == "CAS" and length not in (2, 4, 8)):
        codes.append("length")
    if kind in MEMORY and row["address"] // 4096 != (row["address"] + 4 * length - 1) // 4096:
        codes.append("crosses-4k")
    if kind in CONFIG_AND_IO and (row["attr"] or row["tc"]):
        codes.append("attributes")
    return codes


def are_legal(row: Row) -> bool:
    """Whether byte enables follow the rules."""
    first = [bool(row["first_be"] >> bit & 1) for bit in range(4)]
    last = [bool(row["last_be"] >> bit & 1) for bit in range(4)]
    if row["length_dw"] == 1:
        return not any(last)
    if not any(first) or not any(last):
        return False
    if row["length_dw"] == 2 and row["kind"] in MEMORY and row["address"] % 8 == 0:
        return True
    starts_without_gap = all(first[first.index(True) :])
    ends_without_gap = all(last[: 4 - last[::-1].index(True)])
    return starts_without_gap and ends_without_gap


def of_transactions(result: matching.Result, ticks: list[tuple[int, int]] | None) -> Found:
    """Errors of transactions: all completions are traced. ``ticks``: of each row; None where time is not known."""
    found: Found = defaultdict(list)
    longest = max((one["to_last"] for one in result.transactions if one["to_last"] >= 0), default=-1) if ticks is not None else -1
    upper = set()
    for one in result.transactions:
        who = (one["requester"], one["request"])
        is_unanswered = one["ending"] == matching.INSIDE and not one["cut"]
        if one["ending"] == matching.SHORT and not one["cut"]:
            if not one["ended"]:
                found["tag-reused"].append(who)
            else:
                found["answered-without-data" if one["received"] == 0 else "short"].append(who)
        if one["ending"] == matching.END and one["at_end"] and not one["completions"] and ticks is not None and longest >= 0:
            is_unanswered = ticks[-1][0] - one["at"] > longest
        if is_unanswered:
            found["unanswered"].append(who)
            if one["tag"] >> 8 & 3:
                upper.add((one["requester"], one["tag"] & 0xFF))
    for requester, tag, index in result.without_request:
        found["completion-without-request"].append((requester, index))
        if not tag >> 8 & 3 and (requester, tag & 0xFF) in upper:
            found["completion-tag-bits"].append((requester, index))
    for requester, tag, index in result.at_start:
        if not tag >> 8 & 3 and (requester, tag & 0xFF) in upper:
            found["completion-tag-bits"].append((requester, index))
    return found
