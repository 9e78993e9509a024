"""What reads of devices waited for, counted TLP by TLP: slow, literal, and without any code of ptttool."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.reference.matching import Row, is_hole, match, ticks_between

WITH_DATA = ("MWr", "IOWr", "CfgWr0", "CfgWr1", "DMWr", "MsgD", "CplD", "CplDLk", "FetchAdd", "Swap", "CAS")


def wire(row: Row) -> int:
    """Bytes on the link: a header of three DWs, framing and LCRC, and the data."""
    return 20 + (4 * row["length_dw"] if row["kind"] in WITH_DATA else 0)


def leaves(row: Row) -> bool:
    """Whether it goes to devices."""
    return bool(row["direction"] == "outbound" or (row["direction"] == "unknown" and row["class"] == "CPL"))


def ends(row: Row) -> bool:
    """Whether a completion is the last one of its request."""
    brings = row["kind"] in ("CplD", "CplDLk") and row["status"] == "SC"
    return not brings or row["byte_count"] <= 4 * row["length_dw"] - (row["lower_address"] & 3)


def asks(row: Row) -> bool:
    """Whether it is a request of devices that is to be answered."""
    return bool(row["class"] == "NP" and row["direction"] != "outbound")


def quiet(rows: list[Row], times: list[tuple[int, int]], begin: int) -> int | None:
    """The longest time without any TLP since the last request of devices, or completion for one; None where it is not known."""
    longest = 0
    for place in range(begin, 0, -1):
        if times[place][1] != times[place - 1][1]:
            return None
        longest = max(longest, times[place][0] - times[place - 1][0])
        if asks(rows[place - 1]) or (rows[place - 1]["class"] == "CPL" and leaves(rows[place - 1])):
            return longest
    return None


def reads(rows: list[Row], model: str) -> list[Row]:
    """The reads of devices whose time is known, each with what left while it was open. Rows have a direction."""
    places = {row["index"]: place for place, row in enumerate(rows)}
    times = ticks_between(rows, model)
    levels, level = [], 0
    for row in rows:
        levels.append(level)
        level += asks(row)
        level -= row["class"] == "CPL" and leaves(row) and ends(row)
    lowest = min([*levels, level], default=0)
    found = []
    for one in match(rows, model).transactions:
        begin, first, last = (places[one[name]] for name in ("request", "first", "last"))
        own = [rows[places[index]] for index in one["rows"] if leaves(rows[places[index]])]
        if one["to_last"] < 0 or one["kind"] not in ("MRd", "MRdLk") or rows[begin]["direction"] == "outbound" or not own:
            continue
        meanwhile = [row for row in rows[begin + 1 : last + 1] if leaves(row)]
        completions = [row for row in meanwhile if row["class"] == "CPL"]
        posted, before = 0, begin
        while before and not is_hole(rows[before - 1], rows[before]) and not leaves(rows[before - 1]):
            before -= 1
            posted += wire(rows[before]) if rows[before]["class"] == "P" else 0
        found.append(
            {
                "requester": one["requester"], "to_first": one["to_first"], "to_last": one["to_last"], "requested": one["requested"],
                "sent": sum(map(wire, meanwhile)), "own": sum(map(wire, own)),
                "mine": sum(wire(row) for row in completions if row["requester"] == one["requester"]),
                "others": max(len(completions) - len(one["rows"]), 0),
                "front": sum(row["class"] == "CPL" and leaves(row) for row in rows[begin + 1 : first]),
                "level": levels[begin] - lowest, "posted": posted, "quiet": quiet(rows, times, begin),
            }
        )  # fmt: skip
    return found


def line(x: list[int], y: list[int]) -> tuple[Fraction | None, Fraction | None]:
    """Slope and R² of a line through points."""
    n = len(x)
    across = sum((each - Fraction(sum(x), n)) ** 2 for each in x)
    along = sum((each - Fraction(sum(y), n)) ** 2 for each in y)
    both = sum((one - Fraction(sum(x), n)) * (other - Fraction(sum(y), n)) for one, other in zip(x, y, strict=True))
    return (both / across if across else None), (both**2 / (across * along) if across and along else None)


def mean(values: list[Any]) -> Fraction:
    """The mean."""
    return Fraction(sum(values), len(values))
