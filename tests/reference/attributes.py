"""A slow and literal count of attributes, a TLP at a time. Shares no code with ptttool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.reference.hisi_ptt import Record

NAMES = ("relaxed_ordering", "no_snoop", "id_based_ordering", "hints", "translation_requests", "translated", "pasid", "so")


def identity(number: int) -> str:
    """A requester ID as people write it."""
    return f"{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"


def attributes_of(record: Record) -> set[str]:
    """The attributes of one TLP."""
    attr, prefix = record["attr"] or 0, record["prefix"] or 0
    found = set()
    if attr & 0b010:
        found.add("relaxed_ordering")
    if attr & 0b001:
        found.add("no_snoop")
    if attr & 0b100:
        found.add("id_based_ordering")
    if record["th"]:
        found.add("hints")
    if record["at"] == 1:
        found.add("translation_requests")
    if record["at"] == 2:
        found.add("translated")
    if prefix >> 24 == 0x91:
        found.add("pasid")
    if record["so"]:
        found.add("so")
    return found


def attributes(records: Sequence[Record]) -> dict[str, Any]:
    """Counts by requester, kind and direction, and the first TLP with each attribute."""
    rows: dict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(("tlps", *NAMES), 0))
    classes: dict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    first: dict[str, int] = {}
    undecodable = 0
    steering: dict[tuple[str, str, str, int, int], list[int]] = {}
    for record in records:
        if record["class"] is None:
            undecodable += 1
            continue
        place = (identity(record["requester"]), record["kind"], record["direction"])
        rows[place]["tlps"] += 1
        classes[place][str(record["tc"] or 0)] += 1
        for name in attributes_of(record):
            rows[place][name] += 1
            first.setdefault(name, record["index"])
        if record["st"] is not None:
            steering.setdefault((*place, record["ph"], record["st"]), []).append(record["index"])
        if record["tc"]:
            first.setdefault("tc", record["index"])
    return {
        "rows": dict(rows),
        "classes": {place: dict(counts) for place, counts in classes.items()},
        "first": first,
        "steering": {key: (len(indexes), indexes[0]) for key, indexes in steering.items()},
        "undecodable": undecodable,
    }
